//! Events of an older agent come in, the current ones that say the same go out: one small stage for each shape that
//! time has changed. A run that declares a current version is left alone, and so is what no version describes.
//!
//! Types of old drafts (`META_EVENT` and the like) pass as they are: current clients leave out what they do not know.

mod absent;
mod after_end;
mod bracket;
mod media;
mod nulls;
mod optional;
mod outcome;
mod patch;
mod payload;
mod role;
#[cfg(test)]
mod tests;
mod thinking;
mod timestamp;
mod usage;
mod version;

use std::time::Instant;

use super::{End, Loss, Out, Stage, Way};
use crate::agui::{Event, EventKind, Kinds, Version, word::PROTOCOL_VERSION};

/// What an older agent's stream passes through. `always`: also the runs that declare a current version.
pub fn shims(always: bool) -> Vec<Box<dyn Stage>> {
    fn gated(shim: impl Stage + 'static, always: bool) -> Box<dyn Stage> {
        Box::new(OldRuns { shim, always, old: true })
    }
    vec![
        gated(payload::Payload, always),
        gated(after_end::AfterEnd::default(), always),
        gated(nulls::Nulls, always),
        gated(timestamp::Timestamp, always),
        gated(absent::Absent, always),
        gated(patch::Patch, always),
        gated(role::Role, always),
        gated(outcome::Outcome, always),
        gated(usage::Usage, always),
        gated(media::Media, always),
        gated(thinking::Thinking::default(), always),
        // Sees what the one before makes, too.
        gated(bracket::Bracket::default(), always),
        // Last: the others go by what the agent declared.
        gated(version::Declared, always),
    ]
}

/// Keeps a shim away from the runs that declare a current version.
#[derive(Debug)]
struct OldRuns<S> {
    shim: S,
    always: bool,
    /// Whether the run is an old one: until a run says otherwise it is.
    old: bool,
}

impl<S: Stage> Stage for OldRuns<S> {
    fn kinds(&self) -> Kinds {
        let asked = self.shim.kinds();
        let wanted = |kind: &&EventKind| **kind == EventKind::RunStarted || asked.contains(**kind);
        Kinds::of(&EventKind::ALL.iter().filter(wanted).copied().collect::<Vec<_>>())
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        if event.kind() == EventKind::RunStarted {
            self.old = self.always || !declares_current(&event);
        }
        if self.old && self.shim.kinds().contains(event.kind()) {
            return self.shim.event(event, at, out);
        }
        out.send(event, at);
    }

    fn deadline(&self) -> Option<Instant> {
        self.shim.deadline()
    }

    fn wake(&mut self, at: Instant, out: &mut Out<'_>) {
        self.shim.wake(at, out);
    }

    fn end(&mut self, how: End, at: Instant, out: &mut Out<'_>) {
        self.shim.end(how, at, out);
    }

    fn held(&self) -> usize {
        self.shim.held()
    }
}

fn declares_current(event: &Event) -> bool {
    PROTOCOL_VERSION.is_in(event.text())
        && event.string("protocolVersion").is_some_and(|version| !Version::declared(&version).is_old())
}

/// Sends the changed event and names what that cost; or the event as it is, if nothing changed.
fn send(event: Event, changed: Option<Event>, loss: Loss, at: Instant, out: &mut Out<'_>) {
    if let Some(changed) = changed {
        out.converted(Way::Up, event.kind(), loss);
        return out.send(changed, at);
    }
    out.send(event, at);
}

/// A reasoning event of this type and identifier, with more members as they are given, and of this owner.
fn reasoning(name: &str, id: &[u8], more: &str, tag: Option<&[u8]>) -> Event {
    let mut text = format!("{{\"type\":\"{name}\",\"messageId\":").into_bytes();
    text.extend_from_slice(id);
    text.extend_from_slice(more.as_bytes());
    if let Some(tag) = tag {
        text.extend_from_slice(b",\"subagentRunId\":");
        text.extend_from_slice(tag);
    }
    text.push(b'}');
    Event::made(text)
}

/// Whether this is a whole number of those that every reader can hold, spelled as one.
fn is_safe_integer(value: &[u8]) -> bool {
    const SAFE: u64 = (1 << 53) - 1;
    let text = std::str::from_utf8(value).ok();
    text.and_then(|text| text.parse::<i64>().ok()).is_some_and(|number| number.unsigned_abs() <= SAFE)
}
