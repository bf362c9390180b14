//! An event comes in, and what is to stand at the end of one of its values, a string or an array; the event with that
//! value goes out. As long as nothing was added it is the very event that came.

use bytes::Bytes;

use crate::agui::{Encoding, Event};

/// Larger events are kept in the memory they came in, with what came beside them; smaller ones are copied out of it, or
/// a few of them could keep alive far more than they are.
const COPIED: usize = 16 << 10;

/// An event with a value that grows.
#[derive(Debug)]
pub(super) struct Grown {
    first: Event,
    /// Where in its text the value ends, before what closes it.
    end: usize,
    /// The text up to there and what was added; empty as long as nothing was.
    text: Vec<u8>,
    /// How many of the events that it is made of carry what they were made from.
    raw_events: usize,
}

impl Grown {
    /// This event, with a value that ends before `end`.
    pub(super) fn of(first: &Event, end: usize, raw_event: bool) -> Self {
        Self { first: copied(first), end, text: Vec::new(), raw_events: raw_event.into() }
    }

    /// The text of the event that came first.
    pub(super) fn first(&self) -> &[u8] {
        self.first.text()
    }

    /// Adds the value of another event, behind these bytes.
    pub(super) fn push(&mut self, glue: &[u8], value: &[u8], raw_event: bool) {
        if self.text.is_empty() {
            let head = self.first.text().get(..self.end).unwrap_or_default();
            self.text.reserve(self.first.text().len() + 4 * value.len() + 64);
            self.text.extend_from_slice(head);
        }
        self.text.extend_from_slice(glue);
        self.text.extend_from_slice(value);
        self.raw_events += usize::from(raw_event);
    }

    /// The bytes it takes.
    pub(super) fn held(&self) -> usize {
        self.first.size().max(self.first.text().len()) + self.text.capacity()
    }

    /// How many events it would lose the origin of.
    pub(super) fn raw_events(&self) -> usize {
        self.raw_events
    }

    /// Whether it is one event.
    pub(super) fn is_alone(&self) -> bool {
        self.text.is_empty()
    }

    /// What it has become.
    pub(super) fn finish(mut self) -> Event {
        if self.is_alone() {
            return self.first;
        }
        self.text.extend_from_slice(self.first.text().get(self.end..).unwrap_or_default());
        let event = Event::made(self.text);
        match self.raw_events {
            0 => event,
            _ => event.without(|member| member.is("rawEvent")).unwrap_or(event),
        }
    }
}

/// The same event in memory of its own.
pub(super) fn copied(event: &Event) -> Event {
    let text = event.text();
    if text.len() > COPIED {
        return event.clone();
    }
    if let Some(frame) = event.frame(Encoding::Sse) {
        const FIELD: usize = "data: ".len();
        let frame = Bytes::copy_from_slice(frame);
        let place = FIELD..FIELD + text.len();
        if frame.get(place.clone()) == Some(text) {
            return Event::new(frame.slice(place), Some((Encoding::Sse, frame)));
        }
        return Event::new(Bytes::copy_from_slice(text), Some((Encoding::Sse, frame)));
    }
    let frame = event.frame(Encoding::Protobuf).map(|frame| (Encoding::Protobuf, Bytes::copy_from_slice(frame)));
    Event::new(Bytes::copy_from_slice(text), frame)
}
