//! State snapshots and deltas come in, the same or shorter ones go out, and of those that do not apply what the policy
//! says. The state that they lead to is followed, so that a delta can be judged; an event that need not change is
//! passed on as it came, and a delta that cannot be judged always is.
//!
//! The state is kept as the text it came in and taken apart only where a delta leads: a double would lose digits, and
//! a tree of everything would cost each snapshot a full parse.

mod diff;
mod document;
mod equal;
mod followed;
mod patch;
#[cfg(test)]
mod tests;
mod tree;

use std::time::Instant;

use bytes::Bytes;
use serde::de::IgnoredAny;

pub(super) use self::followed::{Followed, Verdict};
use self::{document::Document, patch::Operation};
use super::{Out, PatchResult, Stage};
use crate::agui::{
    Event, EventKind, Kinds,
    edit::{self, Change},
    json::Members,
};

/// What a route wants of the shared state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether a snapshot becomes a delta where that is shorter.
    pub compact: bool,
    /// What becomes of a delta that does not apply.
    pub on_mismatch: OnMismatch,
    /// The bytes that a state may take, with what a change to it needs. Past it the state is not followed any more,
    /// until a snapshot that fits: everything is passed on, and nothing is judged.
    pub limit: usize,
}

impl Policy {
    /// Whether it ever changes a stream, rather than only watching it.
    pub fn acts(&self) -> bool {
        self.compact || self.on_mismatch != OnMismatch::Forward
    }
}

/// What becomes of a well-formed delta that does not apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnMismatch {
    /// It is passed on.
    #[default]
    Forward,
    /// It is left out.
    Drop,
    /// The client is told the state as it is instead, unless that was the last thing it was told.
    Resync,
    /// A `replace` of a member that is missing is read as `add`, and passed on as that. What does not apply even so is
    /// passed on as it is.
    Lenient,
}

/// Why a delta is not applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// It is no JSON Patch.
    Malformed,
    /// It is one, but not for this state.
    Mismatch,
    /// It or the state is past a bound, or holds what cannot be told here: nothing is known of it.
    Beyond,
}

/// Follows the shared state of one stream, from its first snapshot on. Runs do not reset it.
#[derive(Debug)]
pub struct State {
    policy: Policy,
    /// The state, while it is known.
    known: Option<Document>,
    /// Whether the client is sure to hold the same.
    shared: bool,
    /// Whether the client was told this very state in place of a delta.
    told: bool,
}

impl State {
    /// A stage for one stream.
    pub fn new(policy: Policy) -> Self {
        Self { policy, known: None, shared: false, told: false }
    }

    fn snapshot(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let value = value(&event, "snapshot");
        let compacted = value.as_ref().and_then(|value| self.compacted(&event, value));
        self.told = false;
        // Clients before 1.0 keep their state when they are told `null`.
        self.shared = value.as_deref().is_some_and(|value| value != b"null");
        self.known = value.map(|value| Document::of(&value)).filter(|document| document.held() <= self.policy.limit);
        if compacted.is_some() {
            out.patched(PatchResult::Compacted);
        }
        out.send(compacted.unwrap_or(event), at);
    }

    /// The delta that says the same as this snapshot, if it is shorter.
    fn compacted(&self, event: &Event, value: &Bytes) -> Option<Event> {
        let known = self.known.as_ref().filter(|_| self.policy.compact && self.shared)?;
        let delta = diff::diff(known.root(), value, self.policy.limit)?;
        retold(event, "STATE_DELTA", "snapshot", "delta", &delta)
            .filter(|delta| delta.text().len() < event.text().len())
    }

    fn delta(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let Some(known) = &mut self.known else { return out.send(event, at) };
        let patch = value(&event, "delta").ok_or(Fault::Malformed).and_then(|delta| patch::read(&delta));
        let lenient = self.policy.on_mismatch == OnMismatch::Lenient;
        let applied = patch.and_then(|patch| {
            // Older clients refuse the whole patch.
            self.shared &= !patch.contains(&Operation::Unknown);
            known.apply(&patch, lenient, self.policy.limit)
        });
        match applied {
            Ok(added) => {
                self.told = false;
                out.patched(PatchResult::Applied);
                out.send(with_add(event, &added), at);
            }
            Err(Fault::Beyond) => {
                self.known = None;
                out.send(event, at);
            }
            Err(Fault::Malformed) => {
                out.patched(PatchResult::Failed);
                self.pass(event, at, out);
            }
            Err(Fault::Mismatch) => self.mismatch(event, at, out),
        }
    }

    fn mismatch(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let Some(known) = &self.known else { return out.send(event, at) };
        match self.policy.on_mismatch {
            OnMismatch::Forward | OnMismatch::Lenient => {
                out.patched(PatchResult::Failed);
                self.pass(event, at, out);
            }
            OnMismatch::Resync if !self.told => {
                out.patched(PatchResult::Resynced);
                out.dropped("state", "mismatch", event.kind());
                let state = known.text();
                let snapshot = retold(&event, "STATE_SNAPSHOT", "delta", "snapshot", &state);
                self.told = true;
                self.shared = state != b"null";
                out.send(snapshot.unwrap_or_else(|| made_of(&state)), at);
            }
            OnMismatch::Drop | OnMismatch::Resync => {
                out.patched(PatchResult::Failed);
                out.dropped("state", "mismatch", event.kind());
            }
        }
    }

    /// Passes on what clients may read in different ways.
    fn pass(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        self.shared = false;
        self.told = false;
        out.send(event, at);
    }
}

impl Stage for State {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[EventKind::StateSnapshot, EventKind::StateDelta])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        match event.kind() {
            EventKind::StateSnapshot => self.snapshot(event, at, out),
            EventKind::StateDelta => self.delta(event, at, out),
            _ => out.send(event, at),
        }
    }

    fn held(&self) -> usize {
        self.known.as_ref().map_or(0, Document::held)
    }
}

/// The value of this member, the last of its name as in every client, if the whole event is valid JSON.
fn value(event: &Event, name: &str) -> Option<Bytes> {
    let text = std::str::from_utf8(event.text()).ok()?;
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    let member = Members::of(text.as_bytes()).filter(|member| member.is(name)).last()?;
    Some(event.text().slice(member.value_span()))
}

/// This event as one of another type, with the member `to` in place of `from`; `None` if it has a member `to` already.
fn retold(event: &Event, kind: &str, from: &str, to: &str, value: &[u8]) -> Option<Event> {
    let mut whole = edit::quoted(to);
    whole.push(b':');
    whole.extend_from_slice(value);
    let mut whole = Some(whole);
    event.member(to).is_none().then(|| {
        event.edited(|member| match () {
            () if member.is("type") => Change::text(kind),
            () if member.is(from) => whole.take().map_or(Change::Drop, Change::Whole),
            () => Change::Keep,
        })
    })?
}

fn made_of(state: &[u8]) -> Event {
    let mut text = br#"{"type":"STATE_SNAPSHOT","snapshot":"#.to_vec();
    text.extend_from_slice(state);
    text.push(b'}');
    Event::made(text)
}

/// This delta with the operations at these places as `add`.
fn with_add(event: Event, places: &[usize]) -> Event {
    if places.is_empty() {
        return event;
    }
    let edited = event.edited(|member| match member.is("delta") {
        false => Change::Keep,
        true => {
            let mut place = 0;
            let operations = edit::elements(member.value, |operation| {
                let added = places.binary_search(&place).is_ok();
                place += 1;
                match added {
                    true => edit::with(operation, "op", b"\"add\"").into(),
                    false => Change::Keep,
                }
            });
            operations.into()
        }
    });
    edited.unwrap_or(event)
}
