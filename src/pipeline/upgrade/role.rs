//! Openers of messages come in, the same with a role that a current client knows go out. A role of another JSON kind is
//! malformed in every version and stays.

use std::time::Instant;

use super::send;
use crate::{
    agui::{Event, EventKind, Kinds, edit},
    pipeline::{Loss, Out, Stage},
};

/// Gives text of an unknown role to the assistant, and reasoning the one role that it can have.
#[derive(Debug)]
pub(super) struct Role;

impl Stage for Role {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[EventKind::TextMessageStart, EventKind::TextMessageChunk, EventKind::ReasoningMessageStart])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let role = event.string("role");
        let (named, loss) = match (event.kind(), role.as_deref()) {
            (EventKind::ReasoningMessageStart, Some("reasoning")) => return out.send(event, at),
            (EventKind::ReasoningMessageStart, None) if event.member("role").is_some() => return out.send(event, at),
            (EventKind::ReasoningMessageStart, _) => ("\"reasoning\"", Loss::None),
            (_, None | Some("developer" | "system" | "assistant" | "user")) => return out.send(event, at),
            (_, Some(_)) => ("\"assistant\"", Loss::Part("role")),
        };
        let changed = edit::with(event.text(), "role", named.as_bytes()).map(Event::made);
        send(event, changed, loss, at, out);
    }
}
