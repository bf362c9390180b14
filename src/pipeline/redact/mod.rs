//! Events come in, the same go out with what matches a pattern replaced: in text, reasoning, tool arguments, results,
//! snapshots, state, and whatever else an event carries. Also where the match is cut over several deltas, chunks or
//! escapes. Identifiers, types, roles, paths and the names of members stay as they are, and so do encrypted values.
//!
//! Of a streamed item the end is held back that a match could still need ([`HOLD_MAX`](sieve::HOLD_MAX) letters at most),
//! until it cannot, or until the item ends. An item never waits for another. What came whole is judged whole, each string
//! by itself; so a match does not span two strings, nor a string and the brackets around it.
//!
//! What is no UTF-8 is read as U+FFFD and leaves as what was read: else a client could read what was not judged.
//!
//! An event from which something was held back or replaced loses its `rawEvent`, which has a piece of it that nobody can
//! judge. `RAW` events with such pieces are not joined: leave them out by `select` where an agent sends them.

mod chunks;
mod items;
mod reader;
mod rules;
mod sieve;
mod spell;
#[cfg(test)]
mod tests;
mod value;

use std::{ops::Range, sync::Arc, time::Instant};

pub use self::rules::{Fault, Rules};
use self::{
    chunks::{About, Chunks, Ended},
    items::{Items, Known, Named, Stream},
    reader::Reader,
    rules::Set,
    sieve::{Scratch, Work},
    value::{Shape, Values, inside},
};
use super::{End, Fault as RunFault, Out, Refused, Stage};
use crate::agui::{
    Event, EventKind,
    edit::{Change, quoted},
    follow::{is_chunk, item_of},
    json::{self, Member, Members},
    lanes::Item,
};

/// Replaces what must not leave.
///
/// What is kept is bounded by the number and the bytes of the items that are open at once; past either the run is ended.
/// A payload that is no JSON object and yet has something to replace ends the run too.
#[derive(Debug)]
pub struct Redact {
    rules: Arc<Set>,
    items: Items,
    chunks: Chunks,
    scratch: Scratch,
    /// What a delta became, between two events empty.
    out: Vec<u8>,
}

/// How many bytes `out` keeps for the next delta.
const OUT_MAX: usize = 16 * 1024;

/// A delta of an item, as far as it says whose it is. Of a member that stands twice the last counts.
#[derive(Debug, Default)]
struct Delta<'a> {
    id: Option<&'a [u8]>,
    tag: Option<&'a [u8]>,
    /// Where the member lies that carries the delta, and what it holds between its quotes.
    span: Range<usize>,
    inner: Option<&'a [u8]>,
    /// There is more in it than its type, time and owner.
    more: bool,
    /// Of that, something must reach the client whether or not there is a delta.
    carries: bool,
}

impl<'a> Delta<'a> {
    /// `None` if this is no whole object.
    fn read(text: &'a [u8], id: &str) -> Option<Self> {
        let mut delta = Self::default();
        let mut members = Members::of(text);
        for member in members.by_ref() {
            match member.name().as_deref() {
                Some("delta") => {
                    // One that does not count is judged with the rest.
                    delta.more |= !delta.span.is_empty() || inside(member.value).is_none();
                    delta.carries |= inside(member.value).is_none();
                    (delta.span, delta.inner) = (member.span.clone(), inside(member.value));
                }
                Some("type" | "timestamp") => {}
                Some("subagentRunId") => delta.tag = Some(member.value),
                Some(name) if name == id => delta.id = Some(member.value),
                name => {
                    delta.more = true;
                    delta.carries |= name != Some("rawEvent");
                }
            }
        }
        members.is_complete().then_some(delta)
    }
}

impl Redact {
    /// A stage for one stream.
    pub fn new(rules: &Rules) -> Self {
        let rules = rules.set();
        let (items, chunks, scratch) = (Items::default(), Chunks::default(), Scratch::default());
        Self { rules, items, chunks, scratch, out: Vec::new() }
    }

    /// An event that is judged as it stands.
    fn whole(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        if event.is_own() {
            return out.send(event, at);
        }
        let mut values = Values { rules: &self.rules, scratch: &mut self.scratch, replaced: 0 };
        if values.is_clean(event.text()) {
            return out.send(event, at);
        }
        let kind = event.kind();
        let edited = event.edited(|member| values.value(member.value, Shape::of(kind, member)).into());
        let mut shows = || self.rules.is_in(event.text()) || values.any(event.text()).is_some();
        if edited.is_none() && !is_object(event.text()) && shows() {
            return out.refuse(unreadable());
        }
        (0..values.replaced).for_each(|_| out.dropped("redact", "secret", kind));
        send(edited, event, at, out);
    }

    fn delta(&mut self, stream: Stream, id_name: &str, event: Event, at: Instant, out: &mut Out<'_>) {
        let kind = event.kind();
        let Some(delta) = Delta::read(event.text(), id_name) else { return self.whole(event, at, out) };
        let (id, tag) = match stream {
            Stream::Of(_) => (delta.id.and_then(json::string), delta.tag.and_then(json::string)),
            Stream::Thinking => (None, None),
        };
        let is_chunk = is_chunk(kind);
        let about = match stream {
            Stream::Of(item) if is_chunk => self.chunks.chunk(item, id.as_deref(), tag.as_deref()),
            _ => About::default(),
        };
        if let Some(ended) = about.ended {
            self.end_item(ended, at, out);
        }
        let named = Named { stream, id: if is_chunk { about.id.as_deref() } else { id.as_deref() } };
        let Some(inner) = delta.inner else { return self.whole(event, at, out) };
        let known = self.items.knows(named);
        let arguments = stream == Stream::Of(Item::ToolCall);
        if !known && !arguments && !self.rules.looks && self.is_plain(inner) {
            return if delta.more { self.whole(event, at, out) } else { out.send(event, at) };
        }

        self.out.clear();
        let mut work =
            Work { rules: &self.rules, scratch: &mut self.scratch, out: &mut self.out, replaced: 0, twice: false };
        match self.items.lend(named) {
            Some(known) => {
                known.reader.feed(inner, false, &mut work);
                known.kind = kind;
                let matters = !known.reader.is_blank(&work);
                self.items.back(named, matters);
            }
            None => {
                let mut reader = if arguments { Reader::arguments() } else { Reader::text() };
                reader.feed(inner, false, &mut work);
                if !reader.is_blank(&work) {
                    let id = about.id.as_deref().map(quoted);
                    let id = delta.id.or(id.as_deref());
                    let tag = about.lane.as_deref().map(quoted);
                    let tag = delta.tag.or(tag.as_deref());
                    self.items.add(named, Known::new(reader, kind, id, tag));
                }
            }
        }
        let replaced = work.replaced;
        (0..replaced).for_each(|_| out.dropped("redact", "secret", kind));
        if self.items.is_full() {
            return out.refuse(full());
        }
        let changed = self.out != inner;
        if !changed && !delta.more {
            return out.send(event, at);
        }
        if changed && self.out.is_empty() && !delta.carries && !about.opens {
            if delta.more {
                out.dropped("redact", "raw_event", kind);
            }
            return;
        }
        let edited = self.edited(&event, &delta, changed, out);
        send(edited, event, at, out);
        if self.out.capacity() > OUT_MAX {
            self.out = Vec::new();
        }
    }

    /// The event with what became of its delta.
    fn edited(&mut self, event: &Event, delta: &Delta<'_>, changed: bool, out: &mut Out<'_>) -> Option<Event> {
        let kind = event.kind();
        let mut values = Values { rules: &self.rules, scratch: &mut self.scratch, replaced: 0 };
        let mut raw_event = false;
        let edited = event.edited(|member: &Member<'_>| {
            if member.span == delta.span {
                return match changed {
                    false => Change::Keep,
                    // A chunk without a delta says what it says of its item.
                    true if self.out.is_empty() && is_chunk(kind) => Change::Drop,
                    true => Change::Value([b"\"", &self.out[..], b"\""].concat()),
                };
            }
            if changed && member.is("rawEvent") {
                raw_event = true;
                return Change::Drop;
            }
            values.value(member.value, Shape::of(kind, member)).into()
        });
        (0..values.replaced).for_each(|_| out.dropped("redact", "secret", kind));
        if raw_event {
            out.dropped("redact", "raw_event", kind);
        }
        edited
    }

    /// Whether no match can begin in this delta, and nothing in it has to be read closer.
    fn is_plain(&self, inner: &[u8]) -> bool {
        let next = inner.iter().skip(1).map(Some).chain([None]);
        inner.iter().zip(next).all(|(byte, next)| *byte != b'\\' && !self.rules.begins_before(*byte, next.copied()))
    }

    fn end_item(&mut self, (item, id): Ended, at: Instant, out: &mut Out<'_>) {
        self.let_go(Named { stream: Stream::Of(item), id: Some(&id) }, true, at, out);
    }

    /// Sends what is held of an item.
    fn let_go(&mut self, item: Named<'_>, ended: bool, at: Instant, out: &mut Out<'_>) {
        if !self.items.knows(item) {
            return;
        }
        self.out.clear();
        let mut work =
            Work { rules: &self.rules, scratch: &mut self.scratch, out: &mut self.out, replaced: 0, twice: false };
        let delta = match ended {
            true => self.items.ended(item, &mut work),
            false => self.items.shown(item, &mut work),
        };
        if let Some(delta) = delta {
            (0..work.replaced).for_each(|_| out.dropped("redact", "secret", delta.kind()));
            out.send(delta, at);
        }
    }

    fn let_all_go(&mut self, ended: bool, at: Instant, out: &mut Out<'_>) {
        for (stream, id) in self.items.picked(|_, _| true) {
            self.let_go(Named { stream, id: id.as_deref() }, ended, at, out);
        }
    }

    /// Sends what must leave before an event that is no delta.
    fn before(&mut self, event: &Event, at: Instant, out: &mut Out<'_>) {
        use EventKind as Kind;
        let mut ended = Vec::new();
        self.chunks.other(event, |item| ended.push(item));
        ended.into_iter().for_each(|item| self.end_item(item, at, out));
        if self.items.is_empty() {
            return;
        }
        match event.kind() {
            Kind::RunStarted | Kind::RunFinished | Kind::RunError => self.let_all_go(true, at, out),
            Kind::MessagesSnapshot => self.let_all_go(false, at, out),
            Kind::SubagentFinished | Kind::SubagentError => {
                let Some(owner) = event.string("subagentRunId") else { return };
                let theirs =
                    |known: &Known| known.tag.as_deref().and_then(json::string).is_some_and(|tag| tag == owner);
                for (stream, id) in self.items.picked(|_, known| theirs(known)) {
                    self.let_go(Named { stream, id: id.as_deref() }, false, at, out);
                }
            }
            Kind::ThinkingEnd | Kind::ThinkingTextMessageEnd => {
                self.let_go(Named { stream: Stream::Thinking, id: None }, true, at, out);
            }
            kind @ (Kind::TextMessageEnd | Kind::ToolCallEnd | Kind::ToolCallResult | Kind::ReasoningMessageEnd) => {
                let Some(item) = item_of(kind) else { return };
                let id = event.string(item.member());
                let ended = kind != Kind::ToolCallResult;
                self.let_go(Named { stream: Stream::Of(item), id: id.as_deref() }, ended, at, out);
            }
            _ => {}
        }
    }
}

impl Stage for Redact {
    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        if let Some(plain) = event.plain()
            && event.kind() != EventKind::ToolCallArgs
            && self.items.is_empty()
            && self.chunks.is_idle()
            && !self.rules.looks
            && self.is_plain(plain.delta)
        {
            return out.send(event, at);
        }
        let event = if event.is_utf8() {
            event
        } else {
            out.dropped("redact", "invalid_encoding", event.kind());
            event.in_utf8()
        };
        let kind = event.kind();
        if !is_chunk(kind) {
            self.before(&event, at, out);
        }
        if kind == EventKind::ThinkingTextMessageContent {
            return self.delta(Stream::Thinking, "", event, at, out);
        }
        match item_of(kind).filter(|_| kind.is_content()) {
            Some(item) => self.delta(Stream::Of(item), item.member(), event, at, out),
            None => self.whole(event, at, out),
        }
    }

    fn end(&mut self, _how: End, at: Instant, out: &mut Out<'_>) {
        self.let_all_go(true, at, out);
        self.items = Items::default();
        self.chunks = Chunks::default();
    }

    fn held(&self) -> usize {
        self.items.held() + self.chunks.held() + self.out.capacity()
    }
}

fn send(edited: Option<Event>, event: Event, at: Instant, out: &mut Out<'_>) {
    let Some(edited) = edited else { return out.send(event, at) };
    out.send(if event.is_named_error() { edited.named_error() } else { edited }, at);
}

fn is_object(text: &[u8]) -> bool {
    let mut members = Members::of(text);
    members.by_ref().for_each(drop);
    members.is_complete()
}

fn unreadable() -> Refused {
    let message = "The agent sent what is no event, with something in it that must not be shown.".to_owned();
    Refused { fault: RunFault::Malformed, rule: "redact_unreadable", message }
}

fn full() -> Refused {
    let message = "The agent has more messages and tool calls open at once than can be judged.".to_owned();
    Refused { fault: RunFault::Budget, rule: "redact_held", message }
}
