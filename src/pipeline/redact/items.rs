//! The items of a stream that something is known of: where in their text they are, what is held of it, and how it was
//! spelled whose it is. What is held leaves as one more delta of the form that the others had.

use std::hash::{Hash, Hasher};

use indexmap::{Equivalent, IndexMap};

use super::{reader::Reader, sieve::Work};
use crate::agui::{Event, EventKind, lanes::Item};

/// How many items are known at once at most, and how many bytes are kept of all of them. The run is ended past it: what
/// could not be judged any more must not leave.
pub const ITEMS_MAX: usize = 1024;
/// See [`ITEMS_MAX`].
pub const BYTES_MAX: usize = 1 << 20;
/// How many items are known that have ended with the beginning of a match, in case they are opened again. Of more, those
/// that ended first are forgotten: what a later delta adds to them is judged alone.
const ENDED_MAX: usize = 64;

/// What an item is streamed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// By its kind and identifier.
    Of(Item),
    /// Reasoning under the name that 1.0 has retired, which has no identifier.
    Thinking,
}

/// Which item this is. Those without an identifier are one for each kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    stream: Stream,
    id: Option<Box<str>>,
}

/// The same, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    pub stream: Stream,
    pub id: Option<&'a str>,
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.stream, self.id.as_deref()).hash(state);
    }
}

impl Hash for Named<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.stream, self.id).hash(state);
    }
}

impl Equivalent<Key> for Named<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.stream == key.stream && self.id == key.id.as_deref()
    }
}

/// One item.
#[derive(Debug)]
pub struct Known {
    pub reader: Reader,
    /// The kind of its last delta.
    pub kind: EventKind,
    /// Its identifier and its owner, as they are spelled.
    pub id: Option<Box<[u8]>>,
    pub tag: Option<Box<[u8]>>,
    ended: bool,
}

impl Known {
    /// An item that a delta of this kind tells of.
    pub fn new(reader: Reader, kind: EventKind, id: Option<&[u8]>, tag: Option<&[u8]>) -> Self {
        Self { reader, kind, id: id.map(Box::from), tag: tag.map(Box::from), ended: false }
    }

    fn held(&self) -> usize {
        let len = |text: &Option<Box<[u8]>>| text.as_ref().map_or(0, |text| text.len());
        // Once in the key, too.
        self.reader.held() + 2 * len(&self.id) + len(&self.tag) + size_of::<Self>() + size_of::<Key>()
    }

    /// A delta of this item.
    fn delta(&self, inner: &[u8]) -> Event {
        let mut text = format!("{{\"type\":\"{}\"", self.kind.as_str()).into_bytes();
        let name = match self.kind {
            EventKind::ToolCallArgs | EventKind::ToolCallChunk => "toolCallId",
            _ => "messageId",
        };
        let mut put = |name: &str, value: &[u8]| {
            text.extend_from_slice(format!(",\"{name}\":").as_bytes());
            text.extend_from_slice(value);
        };
        if let Some(id) = &self.id {
            put(name, id);
        }
        put("delta", &[b"\"", inner, b"\""].concat());
        if let Some(tag) = &self.tag {
            put("subagentRunId", tag);
        }
        text.push(b'}');
        Event::made(text)
    }
}

/// The items of a stream.
#[derive(Debug, Default)]
pub struct Items {
    known: IndexMap<Key, Known>,
    bytes: usize,
    ended: usize,
}

impl Items {
    /// Bytes kept.
    pub fn held(&self) -> usize {
        self.bytes
    }

    /// Whether nothing is known of any item.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Whether something is known of this item.
    pub fn knows(&self, item: Named<'_>) -> bool {
        !self.known.is_empty() && self.known.contains_key(&item)
    }

    /// Lends this item; [`Items::back`] takes it back.
    pub fn lend(&mut self, item: Named<'_>) -> Option<&mut Known> {
        let known = self.known.get_mut(&item)?;
        self.bytes -= known.held();
        if std::mem::take(&mut known.ended) {
            self.ended -= 1;
        }
        Some(known)
    }

    /// Takes back an item that was lent; it is forgotten if nothing of it matters.
    pub fn back(&mut self, item: Named<'_>, matters: bool) {
        if !matters {
            self.known.shift_remove(&item);
        } else if let Some(known) = self.known.get(&item) {
            self.bytes += known.held();
        }
    }

    /// Remembers an item of which nothing was known.
    pub fn add(&mut self, item: Named<'_>, known: Known) {
        self.bytes += known.held();
        self.known.insert(Key { stream: item.stream, id: item.id.map(Box::from) }, known);
    }

    /// Whether no more can be kept, though what has ended is forgotten.
    pub fn is_full(&mut self) -> bool {
        while self.known.len() > ITEMS_MAX || self.bytes > BYTES_MAX {
            if !self.forget_an_ended_one() {
                return true;
            }
        }
        false
    }

    /// Those of which something is known that `which` picks, in the order in which they became known.
    pub fn picked(&self, which: impl Fn(Named<'_>, &Known) -> bool) -> Vec<(Stream, Option<Box<str>>)> {
        let named = |key: &Key| (key.stream, key.id.clone());
        let picks = |key: &Key, known: &Known| which(Named { stream: key.stream, id: key.id.as_deref() }, known);
        self.known.iter().filter(|(key, known)| picks(key, known)).map(|(key, _)| named(key)).collect()
    }

    /// The delta with what is held of this item, if anything is. It may go on.
    pub fn shown(&mut self, item: Named<'_>, work: &mut Work<'_>) -> Option<Event> {
        let known = self.known.get_mut(&item)?;
        self.bytes -= known.held();
        known.reader.show(work);
        self.bytes += known.held();
        (!work.out.is_empty()).then(|| known.delta(work.out))
    }

    /// The same of an item that is over. It may be opened again.
    pub fn ended(&mut self, item: Named<'_>, work: &mut Work<'_>) -> Option<Event> {
        let delta = self.shown(item, work);
        let (at, _, known) = self.known.get_full_mut(&item)?;
        if item.id.is_none() || !known.reader.may_go_on() {
            self.bytes -= known.held();
            self.ended -= usize::from(known.ended);
            self.known.shift_remove_index(at);
            return delta;
        }
        if !std::mem::replace(&mut known.ended, true) {
            self.ended += 1;
            // Behind all others, so that the first to have ended is the first to be forgotten.
            self.known.move_index(at, self.known.len() - 1);
            if self.ended > ENDED_MAX {
                self.forget_an_ended_one();
            }
        }
        delta
    }

    fn forget_an_ended_one(&mut self) -> bool {
        let Some(at) = self.known.values().position(|known| known.ended) else { return false };
        if let Some((_, known)) = self.known.shift_remove_index(at) {
            self.bytes -= known.held();
            self.ended -= 1;
        }
        true
    }
}
