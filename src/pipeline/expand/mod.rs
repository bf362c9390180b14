//! Chunks come in, the start, content and end events that they stand for go out, lane by lane. It invents no
//! identifier and mends nothing: a chunk that breaks the rules goes on as it is, and whoever reads it judges it.
//!
//! What a chunk says of its item (role, name, parent message, owner, metadata, raw event) and its delta are copied as
//! they are spelled. Its timestamp and the members that no version describes stay behind, as the protocol has it.

mod chunk;
#[cfg(test)]
mod tests;

use std::time::Instant;

use bytes::Bytes;

use self::chunk::{Chunk, Opener, Shape};
use super::{End, Out, Stage};
use crate::agui::{
    Event, EventKind, Kinds,
    lanes::{Item, Lanes, Open, Place},
    word::SUBAGENT_RUN_ID,
};

/// Turns chunks into start, content and end.
///
/// At most [`OPEN_MAX`](crate::agui::lanes::OPEN_MAX) streams are open at once: a chunk that would open another goes on
/// as it is, and so do those that continue it.
#[derive(Debug, Default)]
pub struct Expand {
    lanes: Lanes<Opener>,
}

/// Everything but what stands aside from assembly: `RAW`, activities, encrypted values, the announcement of a subagent,
/// and types that nobody knows. Of thinking, too: current clients read it as reasoning before they expand.
const KINDS: Kinds = Kinds::of(&[
    EventKind::TextMessageStart,
    EventKind::TextMessageContent,
    EventKind::TextMessageEnd,
    EventKind::TextMessageChunk,
    EventKind::ToolCallStart,
    EventKind::ToolCallArgs,
    EventKind::ToolCallEnd,
    EventKind::ToolCallChunk,
    EventKind::ToolCallResult,
    EventKind::StateSnapshot,
    EventKind::StateDelta,
    EventKind::MessagesSnapshot,
    EventKind::Custom,
    EventKind::RunStarted,
    EventKind::RunFinished,
    EventKind::RunError,
    EventKind::StepStarted,
    EventKind::StepFinished,
    EventKind::ReasoningStart,
    EventKind::ReasoningEnd,
    EventKind::ReasoningMessageStart,
    EventKind::ReasoningMessageContent,
    EventKind::ReasoningMessageEnd,
    EventKind::ReasoningMessageChunk,
    EventKind::SubagentFinished,
    EventKind::SubagentError,
])
.and(Kinds::THINKING);

impl Stage for Expand {
    fn kinds(&self) -> Kinds {
        KINDS
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        if let Some(shape) = Shape::of(event.kind()) {
            return self.chunk(shape, event, at, out);
        }
        match event.kind() {
            EventKind::RunStarted | EventKind::RunFinished | EventKind::RunError => {
                self.close_all(at, out);
                self.lanes.forget();
            }
            EventKind::MessagesSnapshot => self.close_all(at, out),
            EventKind::SubagentFinished | EventKind::SubagentError => {
                if let Some(owner) = event.string("subagentRunId") {
                    close(self.lanes.close(Some(&owner)), at, out);
                }
            }
            _ => self.explicit(&event, at, out),
        }
        out.send(event, at);
    }

    fn end(&mut self, _how: End, at: Instant, out: &mut Out<'_>) {
        self.close_all(at, out);
        self.lanes.forget();
    }

    fn held(&self) -> usize {
        self.lanes.held() + self.lanes.iter().map(|open| open.data.held()).sum::<usize>()
    }
}

impl Expand {
    fn chunk(&mut self, shape: &'static Shape, event: Event, at: Instant, out: &mut Out<'_>) {
        let Some(chunk) = Chunk::read(shape, event.text()) else { return out.send(event, at) };
        match self.lanes.place(shape.item, chunk.id_text(), chunk.tag_text()) {
            Place::Continues(open) if open.data.agrees(&chunk) => {
                if let Some(content) = chunk.continued(&open.data) {
                    out.send(Event::made(content), at);
                }
            }
            Place::Opens(lane)
                if chunk.can_open() && self.lanes.has_room(lane.as_deref(), chunk.id_text().unwrap_or_default()) =>
            {
                close(self.lanes.close(lane.as_deref()), at, out);
                let opener = chunk.opener();
                out.send(Event::made(chunk.start()), at);
                if let Some(content) = chunk.first_content() {
                    out.send(Event::made(content), at);
                }
                self.lanes.open(lane, shape.item, chunk.id_text().unwrap_or_default(), opener);
            }
            _ => out.send(event, at),
        }
    }

    /// What an event that is no chunk closes, and what it tells of who owns its item.
    fn explicit(&mut self, event: &Event, at: Instant, out: &mut Out<'_>) {
        let about = item_of(event.kind());
        let opens = matches!(
            event.kind(),
            EventKind::TextMessageStart
                | EventKind::ToolCallStart
                | EventKind::ReasoningStart
                | EventKind::ReasoningMessageStart
        );
        let tells = opens && (!self.lanes.is_unowned() || SUBAGENT_RUN_ID.is_in(event.text()));
        if self.lanes.is_idle() && !tells {
            return;
        }
        let tag = event.string("subagentRunId");
        let id = about.and_then(|(_, name)| event.string(name));
        let (Some((item, _)), Some(id)) = (about, id) else {
            return close(self.lanes.close(tag.as_deref()), at, out);
        };
        if !is_span(event.kind()) {
            close(self.lanes.close_item(item, &id), at, out);
        }
        if event.kind() == EventKind::ToolCallResult {
            // It makes a message of its own, that belongs to whom it says.
            return close(self.lanes.close(tag.as_deref()), at, out);
        }
        if opens && let Some(owner) = self.told(event, tag.as_deref()) {
            self.lanes.own(item, &id, &owner);
        }
        let lane = self.lanes.lane_of(item, &id, tag.as_deref()).map(str::to_owned);
        close(self.lanes.close(lane.as_deref()), at, out);
    }

    /// The owner that the opener of an item names: itself, or, of a tool call, by the message that carries it.
    fn told(&self, event: &Event, tag: Option<&str>) -> Option<String> {
        if let Some(tag) = tag {
            return Some(tag.to_owned());
        }
        if event.kind() != EventKind::ToolCallStart {
            return None;
        }
        let parent = event.string("parentMessageId")?;
        self.lanes.owner(Item::Text, &parent).map(str::to_owned)
    }

    fn close_all(&mut self, at: Instant, out: &mut Out<'_>) {
        for open in self.lanes.close_all() {
            close(Some(open), at, out);
        }
    }
}

fn close(open: Option<Open<Opener>>, at: Instant, out: &mut Out<'_>) {
    if let Some(open) = open {
        out.send(Event::made(Bytes::from(open.data.end())), at);
    }
}

/// A span is no item of its own here, though it may have a reasoning message's identifier, and its owner.
const fn is_span(kind: EventKind) -> bool {
    matches!(kind, EventKind::ReasoningStart | EventKind::ReasoningEnd)
}

/// Which item an event is about, and the member that names it.
const fn item_of(kind: EventKind) -> Option<(Item, &'static str)> {
    match kind {
        EventKind::TextMessageStart | EventKind::TextMessageContent | EventKind::TextMessageEnd => {
            Some((Item::Text, "messageId"))
        }
        EventKind::ToolCallStart | EventKind::ToolCallArgs | EventKind::ToolCallEnd | EventKind::ToolCallResult => {
            Some((Item::ToolCall, "toolCallId"))
        }
        EventKind::ReasoningStart
        | EventKind::ReasoningEnd
        | EventKind::ReasoningMessageStart
        | EventKind::ReasoningMessageContent
        | EventKind::ReasoningMessageEnd => Some((Item::Reasoning, "messageId")),
        _ => None,
    }
}
