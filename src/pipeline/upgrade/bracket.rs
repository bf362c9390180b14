//! Reasoning comes in, each span and message of it opened before anything in it, closed before the run ends, and closed
//! only if open, goes out. Older clients did not ask for that; current ones fail without.

use std::time::Instant;

use super::reasoning;
use crate::{
    agui::{Event, EventKind, Kinds, edit::quoted},
    pipeline::{Loss, Out, Stage, Way},
};

/// How many spans and messages are followed at once. Past it the rest of the run goes on as it is.
const OPEN_MAX: usize = 256;

/// Opens and closes reasoning where its agent did not.
#[derive(Debug, Default)]
pub(super) struct Bracket {
    open: Vec<Part>,
    /// Whether there was too much to follow in this run.
    lost: bool,
}

/// A span or a message that is open.
#[derive(Debug)]
struct Part {
    span: bool,
    id: String,
    /// Whose it is, as it was spelled.
    tag: Option<Vec<u8>>,
}

impl Part {
    fn of(event: &Event) -> Option<Self> {
        let span = matches!(event.kind(), EventKind::ReasoningStart | EventKind::ReasoningEnd);
        let tag = event.member("subagentRunId").map(<[u8]>::to_vec);
        Some(Self { span, id: event.string("messageId")?.into_owned(), tag })
    }

    fn is(&self, other: &Self) -> bool {
        self.span == other.span && self.id == other.id
    }

    fn made(&self, name: &str, more: &str) -> Event {
        reasoning(name, &quoted(&self.id), more, self.tag.as_deref())
    }

    fn end(&self) -> Event {
        self.made(if self.span { "REASONING_END" } else { "REASONING_MESSAGE_END" }, "")
    }
}

impl Stage for Bracket {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[
            EventKind::RunStarted,
            EventKind::RunFinished,
            EventKind::RunError,
            EventKind::ReasoningStart,
            EventKind::ReasoningEnd,
            EventKind::ReasoningMessageStart,
            EventKind::ReasoningMessageContent,
            EventKind::ReasoningMessageEnd,
        ])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        match event.kind() {
            EventKind::RunStarted | EventKind::RunError => *self = Self::default(),
            EventKind::RunFinished => self.finish(event.kind(), at, out),
            _ if self.lost => {}
            _ => {
                if let Some(part) = Part::of(&event)
                    && !self.follow(part, event.kind(), at, out)
                {
                    return out.converted(Way::Up, event.kind(), Loss::None);
                }
            }
        }
        out.send(event, at);
    }

    fn held(&self) -> usize {
        self.open.iter().map(|part| part.id.len() + part.tag.as_ref().map_or(0, Vec::len)).sum()
    }
}

impl Bracket {
    /// Does what has to come before this event; whether the event itself still says anything.
    fn follow(&mut self, part: Part, kind: EventKind, at: Instant, out: &mut Out<'_>) -> bool {
        let open = self.open.iter().position(|open| open.is(&part));
        match (kind, open) {
            (EventKind::ReasoningEnd | EventKind::ReasoningMessageEnd, Some(open)) => {
                self.open.remove(open);
            }
            (EventKind::ReasoningEnd | EventKind::ReasoningMessageEnd, None) => return false,
            (EventKind::ReasoningMessageContent, Some(_)) => {}
            (EventKind::ReasoningMessageContent, None) => {
                out.converted(Way::Up, kind, Loss::None);
                out.send(part.made("REASONING_MESSAGE_START", ",\"role\":\"reasoning\""), at);
                self.push(part);
            }
            // Opened again: what follows is appended.
            (_, Some(open)) => {
                out.converted(Way::Up, kind, Loss::None);
                out.send(self.open.remove(open).end(), at);
                self.push(part);
            }
            (_, None) => self.push(part),
        }
        true
    }

    fn push(&mut self, part: Part) {
        self.lost = self.open.len() >= OPEN_MAX;
        if self.lost {
            return self.open.clear();
        }
        self.open.push(part);
    }

    /// Closes the messages, then the spans around them.
    fn finish(&mut self, kind: EventKind, at: Instant, out: &mut Out<'_>) {
        self.open.sort_by_key(|part| part.span);
        for part in self.open.drain(..) {
            out.converted(Way::Up, kind, Loss::None);
            out.send(part.end(), at);
        }
        self.lost = false;
    }
}
