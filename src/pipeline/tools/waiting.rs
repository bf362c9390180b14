//! Events that tell of a held call come in, and what follows them; they go out in their order when the call is decided. A
//! plain queue: it judges nothing and sends nothing.

use std::collections::VecDeque;

use super::{Stop, follow::Placed};
use crate::agui::{
    Event,
    lanes::{Item, Open},
};

/// How many bytes the events may take that wait, each with what it takes to keep one. Past it the run ends.
pub const WAITING_BYTES: usize = 4 << 20;

/// How many events may wait. Past it the run ends: each call that is decided may have them looked at again.
pub const WAITING_MAX: usize = 4096;

/// About what an entry takes beside its text.
const ENTRY: usize = 160;

/// Where an event stands in the agent's lanes.
#[derive(Debug, Default)]
pub struct Spot {
    /// Where a chunk belongs, if anybody wanted to know.
    pub placed: Option<Placed>,
    /// It is a chunk that has no place.
    pub is_astray: bool,
    /// What it closes.
    pub closed: Vec<Open<()>>,
}

impl Spot {
    /// The tool calls that it closes.
    pub fn closed_calls(&self) -> impl Iterator<Item = &Open<()>> {
        self.closed.iter().filter(|open| open.item == Item::ToolCall)
    }
}

/// An event that waits.
#[derive(Debug)]
pub struct Entry {
    pub event: Event,
    pub spot: Spot,
    /// The held call for which it waits; none if it only follows one that does.
    pub on: Option<Box<str>>,
}

impl Entry {
    fn size(&self) -> usize {
        let names = self.spot.placed.as_ref().map_or(0, |placed| placed.id.len());
        let closed: usize = self.spot.closed.iter().map(|open| open.id.len()).sum();
        self.event.text().len() + names + closed + ENTRY
    }
}

/// The events that wait, the first of them for a call.
#[derive(Debug, Default)]
pub struct Waiting {
    entries: VecDeque<Entry>,
    bytes: usize,
}

impl Waiting {
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The call that the first of them waits for.
    pub fn on(&self) -> Option<&str> {
        self.entries.front()?.on.as_deref()
    }

    /// One more waits.
    pub fn push(&mut self, entry: Entry) -> Result<(), Stop> {
        self.bytes += entry.size();
        self.entries.push_back(entry);
        let full = self.bytes > WAITING_BYTES || self.entries.len() > WAITING_MAX;
        if full { Err(Stop::Full("waiting_events")) } else { Ok(()) }
    }

    /// None waits any more; those that did, in their order.
    pub fn take(&mut self) -> VecDeque<Entry> {
        self.bytes = 0;
        std::mem::take(&mut self.entries)
    }

    /// The bytes that are kept.
    pub fn held(&self) -> usize {
        self.bytes
    }
}
