//! Activity and reasoning come in and pass; a `MESSAGES_SNAPSHOT` without any comes in, one that states again what this
//! stream has shown goes out. Clients from 0.0.41 to 0.0.45 delete activity, and those from 0.0.45 to 0.0.49 reasoning,
//! that a snapshot does not carry, where the current protocol keeps it.
//!
//! What is stated is what was sent, each message in its place between its neighbours. Past [`kept::HELD_MAX`] nothing is
//! stated any more, and each snapshot that deletes something names it.

mod kept;
mod place;

use std::time::Instant;

use kept::{Kept, Role};

use crate::{
    agui::{Event, EventKind, Kinds, Version, json},
    pipeline::{Loss, Out, Stage, Way},
};

/// States activity and reasoning again.
#[derive(Debug)]
pub struct Restate {
    kept: Kept,
}

impl Restate {
    /// The stage, if a client of this version deletes either.
    pub fn needed_by(client: Version) -> Option<Self> {
        let activity = client >= Version::npm(41) && client < Version::npm(46);
        let reasoning = client >= Version::npm(45) && client < Version::npm(50);
        (activity || reasoning).then(|| Self { kept: Kept::new(activity, reasoning) })
    }

    /// The snapshot with what the client is to keep; `None` if nothing is missing in it.
    fn snapshot(&mut self, event: &Event) -> Option<Event> {
        let messages = event.member("messages")?;
        let stated = place::stated(messages, &self.kept);
        self.kept.adopt(stated.as_deref().unwrap_or(messages));
        let stated = stated?;
        Some(event.with("messages", &stated))
    }
}

impl Stage for Restate {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[
            EventKind::TextMessageStart,
            EventKind::TextMessageChunk,
            EventKind::ToolCallStart,
            EventKind::ToolCallChunk,
            EventKind::ToolCallResult,
            EventKind::ReasoningMessageStart,
            EventKind::ReasoningMessageContent,
            EventKind::ReasoningMessageChunk,
            EventKind::ReasoningEncryptedValue,
            EventKind::ActivitySnapshot,
            EventKind::ActivityDelta,
            EventKind::MessagesSnapshot,
        ])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let id = |name| event.string(name);
        match event.kind() {
            EventKind::MessagesSnapshot => {
                for role in self.kept.given_up(event.member("messages").unwrap_or_default()) {
                    out.converted(Way::Down, event.kind(), Loss::Part(role.as_str()));
                }
                if let Some(edited) = self.snapshot(&event) {
                    out.converted(Way::Down, event.kind(), Loss::None);
                    return out.send(edited, at);
                }
            }
            EventKind::TextMessageStart | EventKind::TextMessageChunk | EventKind::ToolCallResult => {
                id("messageId").iter().for_each(|id| self.kept.neighbour(id));
            }
            EventKind::ToolCallStart | EventKind::ToolCallChunk => {
                let id = id("parentMessageId").or_else(|| id("toolCallId"));
                id.iter().for_each(|id| self.kept.neighbour(id));
            }
            EventKind::ReasoningMessageStart => {
                id("messageId").iter().for_each(|id| self.kept.reasoning(id));
            }
            EventKind::ReasoningMessageContent => {
                id("messageId").iter().for_each(|id| self.kept.delta(id, event.member("delta")));
            }
            EventKind::ReasoningMessageChunk => self.kept.chunk(id("messageId").as_deref(), event.member("delta")),
            EventKind::ReasoningEncryptedValue if id("subtype").is_some_and(|of| of == "message") => {
                id("entityId").iter().for_each(|id| self.kept.encrypted(id, event.member("encryptedValue")));
            }
            EventKind::ActivitySnapshot => {
                let replace = event.member("replace") != Some(b"false");
                if let (Some(id), Some(kind), Some(content)) =
                    (id("messageId"), event.member("activityType"), event.member("content"))
                {
                    self.kept.activity(&id, kind, content, replace);
                }
            }
            EventKind::ActivityDelta => {
                if let (Some(id), Some(kind), Some(patch)) =
                    (id("messageId"), event.member("activityType"), event.member("patch"))
                {
                    self.kept.patch(&id, kind, patch);
                }
            }
            _ => {}
        }
        out.send(event, at);
    }

    fn held(&self) -> usize {
        self.kept.held()
    }
}

/// The roles that the messages of a snapshot have.
fn roles(messages: &[u8]) -> impl Iterator<Item = Role> {
    json::elements(messages).filter_map(Role::of)
}

#[cfg(test)]
mod tests;
