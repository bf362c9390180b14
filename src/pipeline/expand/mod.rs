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
    lanes::{Lanes, Open, Place},
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
        self.lanes.follow(&event, |open| close(open, at, out));
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
                if let Some(open) = self.lanes.close(lane.as_deref()) {
                    close(open, at, out);
                }
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

    fn close_all(&mut self, at: Instant, out: &mut Out<'_>) {
        self.lanes.close_all().into_iter().for_each(|open| close(open, at, out));
    }
}

fn close(open: Open<Opener>, at: Instant, out: &mut Out<'_>) {
    out.send(Event::made(Bytes::from(open.data.end())), at);
}
