//! What is held back comes in and goes out in the order of its first piece, or one item before its turn. It knows how many
//! bytes it holds, and no time.

use std::time::Instant;

use super::{changes::Changes, delta::Delta};
use crate::agui::Event;

/// What is held of one item, or an event that only keeps its place.
#[derive(Debug)]
pub(super) enum Body {
    /// Deltas of text, reasoning or a tool call.
    Delta(Delta),
    /// Snapshots and deltas of the state, or of an activity.
    Changes(Changes),
    /// A `RAW`.
    Raw(Event),
}

/// One place in the queue.
#[derive(Debug)]
pub(super) struct Entry {
    /// The place of its item's window.
    pub(super) item: Option<usize>,
    pub(super) body: Body,
    /// When its first piece came.
    pub(super) since: Instant,
}

/// All that is held.
#[derive(Debug, Default)]
pub(super) struct Queue {
    list: Vec<Entry>,
    bytes: usize,
}

impl Entry {
    fn held(&self) -> usize {
        let body = match &self.body {
            Body::Delta(delta) => delta.held(),
            Body::Changes(changes) => changes.held(),
            Body::Raw(event) => event.size().max(event.text().len()),
        };
        size_of::<Self>() + body
    }

    /// Whether it should wait for what completes it, if that is not long in coming.
    pub(super) fn is_cut(&self) -> bool {
        matches!(&self.body, Body::Delta(delta) if delta.half)
    }
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The bytes that are held.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.list.iter()
    }

    /// The place in the queue of what is held of this item.
    pub(super) fn place(&self, item: usize) -> Option<usize> {
        self.list.iter().position(|entry| entry.item == Some(item))
    }

    pub(super) fn get(&self, place: usize) -> Option<&Entry> {
        self.list.get(place)
    }

    /// Puts this last, and says at which place that is.
    pub(super) fn push(&mut self, entry: Entry) -> usize {
        self.bytes += entry.held();
        self.list.push(entry);
        self.list.len() - 1
    }

    /// Changes what stands at this place.
    pub(super) fn change<T>(&mut self, place: usize, change: impl FnOnce(&mut Body) -> T) -> Option<T> {
        let entry = self.list.get_mut(place)?;
        let before = entry.held();
        let result = change(&mut entry.body);
        self.bytes = self.bytes - before + entry.held();
        Some(result)
    }

    /// Takes what stands at this place.
    pub(super) fn take(&mut self, place: usize) -> Option<Entry> {
        (place < self.list.len()).then(|| {
            let entry = self.list.remove(place);
            self.bytes -= entry.held();
            entry
        })
    }

    /// Takes what stands first and is of no item.
    pub(super) fn take_loose(&mut self) -> Vec<Entry> {
        let count = self.list.iter().take_while(|entry| entry.item.is_none()).count();
        if count == 0 {
            return Vec::new();
        }
        let rest = self.list.split_off(count);
        let first = std::mem::replace(&mut self.list, rest);
        self.bytes -= first.iter().map(Entry::held).sum::<usize>();
        first
    }

    /// Takes everything.
    pub(super) fn take_all(&mut self) -> Vec<Entry> {
        self.bytes = 0;
        std::mem::take(&mut self.list)
    }
}
