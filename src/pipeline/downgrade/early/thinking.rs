//! Reasoning comes in, the thinking of older clients goes out: one span at a time with one message at a time in it,
//! each closed before the next. It must not merge the texts of two messages, nor say anything that was not reasoned.

#[cfg(test)]
mod tests;

use std::time::Instant;

use crate::{
    agui::{
        Event, EventKind, Kinds,
        edit::{self, Change},
        json::{self, Members},
    },
    pipeline::{End, Loss, Out, Stage, Way},
};

/// Where the title of a span is kept among the metadata, by those who translate it there.
const TITLE: &str = "tidegate.title";

/// Translates `REASONING_*` for clients that know `THINKING_*`, and keeps to one order what came as that already.
///
/// Such clients show no thinking among the messages, so it opens what a delta needs rather than fail a run: a message
/// that another one interrupted goes on in a new bracket, and so does one that outlives its span.
#[derive(Debug, Default)]
pub struct Thinking {
    /// Whether the client has a span open.
    span: bool,
    /// How many spans the agent has open.
    spans: usize,
    /// The message that the client has open.
    message: Option<String>,
    /// The message that the last chunk was of; a chunk without an identifier continues it.
    chunk: Option<String>,
}

impl Thinking {
    fn span_starts(&mut self, event: &Event, at: Instant, out: &mut Out<'_>) {
        self.close(at, out);
        out.send(titled(event), at);
        self.span = true;
        self.spans += 1;
    }

    fn span_ends(&mut self, event: &Event, at: Instant, out: &mut Out<'_>) {
        self.spans = self.spans.saturating_sub(1);
        if self.spans > 0 || !self.span {
            return;
        }
        self.message_ends(None, at, out);
        out.send(retyped(event, EventKind::ThinkingEnd), at);
        self.span = false;
    }

    /// Opens the message of this identifier, with the agent's own event if there is one, unless it is open.
    fn open(&mut self, id: &str, start: Option<&Event>, at: Instant, out: &mut Out<'_>) {
        if self.message.as_deref() == Some(id) {
            return;
        }
        self.message_ends(None, at, out);
        if !std::mem::replace(&mut self.span, true) {
            out.send(bare(EventKind::ThinkingStart), at);
        }
        let kind = EventKind::ThinkingTextMessageStart;
        out.send(start.map_or_else(|| bare(kind), |event| retyped(event, kind)), at);
        self.message = Some(id.to_owned());
    }

    fn message_ends(&mut self, end: Option<&Event>, at: Instant, out: &mut Out<'_>) {
        if self.message.take().is_some() {
            let kind = EventKind::ThinkingTextMessageEnd;
            out.send(end.map_or_else(|| bare(kind), |event| retyped(event, kind)), at);
        }
    }

    /// Closes the message, and the span if the agent has none open.
    fn settle(&mut self, end: Option<&Event>, at: Instant, out: &mut Out<'_>) {
        self.message_ends(end, at, out);
        if self.spans == 0 && std::mem::take(&mut self.span) {
            out.send(bare(EventKind::ThinkingEnd), at);
        }
    }

    fn close(&mut self, at: Instant, out: &mut Out<'_>) {
        self.message_ends(None, at, out);
        if std::mem::take(&mut self.span) {
            out.send(bare(EventKind::ThinkingEnd), at);
        }
    }

    fn delta(&mut self, event: &Event, at: Instant, out: &mut Out<'_>) {
        if !matches!(event.member("delta"), None | Some(b"\"\"")) {
            out.send(retyped(event, EventKind::ThinkingTextMessageContent), at);
        }
    }

    fn chunk(&mut self, event: &Event, at: Instant, out: &mut Out<'_>) {
        if let Some(id) = event.string("messageId") {
            self.chunk = Some(id.into_owned());
        }
        if let Some(id) = self.chunk.clone() {
            self.open(&id, None, at, out);
        }
        self.delta(event, at, out);
    }

    fn reasoning(&mut self, event: &Event, at: Instant, out: &mut Out<'_>) {
        let id = event.string("messageId").unwrap_or_default();
        match event.kind() {
            EventKind::ReasoningStart | EventKind::ThinkingStart => self.span_starts(event, at, out),
            EventKind::ReasoningEnd | EventKind::ThinkingEnd => self.span_ends(event, at, out),
            EventKind::ReasoningMessageStart | EventKind::ThinkingTextMessageStart => {
                self.open(&id, Some(event), at, out);
            }
            EventKind::ReasoningMessageContent | EventKind::ThinkingTextMessageContent => {
                self.open(&id, None, at, out);
                self.delta(event, at, out);
            }
            EventKind::ReasoningMessageEnd | EventKind::ThinkingTextMessageEnd
                if self.message.as_deref() == Some(&*id) =>
            {
                self.settle(Some(event), at, out)
            }
            _ => {}
        }
    }
}

impl Stage for Thinking {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[
            EventKind::ReasoningStart,
            EventKind::ReasoningEnd,
            EventKind::ReasoningMessageStart,
            EventKind::ReasoningMessageContent,
            EventKind::ReasoningMessageEnd,
            EventKind::ReasoningMessageChunk,
            EventKind::ReasoningEncryptedValue,
            // What follows the thinking: a chunk has no end of its own.
            EventKind::TextMessageStart,
            EventKind::TextMessageChunk,
            EventKind::ToolCallStart,
            EventKind::ToolCallChunk,
            EventKind::RunFinished,
            EventKind::RunError,
        ])
        .and(Kinds::THINKING)
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        match event.kind() {
            EventKind::ReasoningEncryptedValue => {
                return out.converted(Way::Down, event.kind(), Loss::Whole("encrypted_value"));
            }
            EventKind::RunFinished | EventKind::RunError => {
                self.close(at, out);
                *self = Self::default();
                return out.send(event, at);
            }
            EventKind::TextMessageStart
            | EventKind::TextMessageChunk
            | EventKind::ToolCallStart
            | EventKind::ToolCallChunk => {
                if self.chunk.is_some() && self.chunk == self.message {
                    self.settle(None, at, out);
                }
                return out.send(event, at);
            }
            kind if Kinds::THINKING.contains(kind) => {}
            kind => out.converted(Way::Down, kind, Loss::None),
        }
        match event.kind() {
            EventKind::ReasoningMessageChunk => self.chunk(&event, at, out),
            _ => {
                if self.chunk.take().is_some_and(|chunk| self.message.as_ref() == Some(&chunk)) {
                    self.settle(None, at, out);
                }
                self.reasoning(&event, at, out);
            }
        }
    }

    fn end(&mut self, _: End, at: Instant, out: &mut Out<'_>) {
        self.close(at, out);
    }

    fn held(&self) -> usize {
        [&self.message, &self.chunk].into_iter().flatten().map(String::len).sum()
    }
}

/// An event of this kind that says no more.
fn bare(kind: EventKind) -> Event {
    Event::made(format!(r#"{{"type":"{}"}}"#, kind.as_str()))
}

/// The same event as one of this kind.
fn retyped(event: &Event, kind: EventKind) -> Event {
    if event.kind() == kind {
        return event.clone();
    }
    let edited = event.edited(|member| match () {
        () if member.is("type") => Change::text(kind.as_str()),
        () if member.is("role") => Change::Drop,
        () => Change::Keep,
    });
    edited.unwrap_or_else(|| bare(kind))
}

/// The start of a span, with its title where such a client looks for it.
fn titled(event: &Event) -> Event {
    let start = retyped(event, EventKind::ThinkingStart);
    if event.kind() == EventKind::ThinkingStart {
        return start;
    }
    let Some(metadata) = event.member("metadata") else { return start };
    let value = |name| Members::of(metadata).find(|m| m.is(name) && json::string(m.value).is_some()).map(|m| m.value);
    if let Some(title) = value(TITLE) {
        let rest = edit::members(metadata, |m| if m.is(TITLE) { Change::Drop } else { Change::Keep });
        let rest = rest.filter(|rest| Members::of(rest).next().is_some());
        let metadata = || rest.clone().map_or(Change::Drop, Change::Value);
        let start = start.edited(|m| if m.is("metadata") { metadata() } else { Change::Keep }).unwrap_or(start);
        return start.with("title", title);
    }
    value("title").map_or(start.clone(), |title| start.with("title", title))
}
