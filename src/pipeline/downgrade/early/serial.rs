//! Events of messages and tool calls that run side by side come in, one bracket after another goes out: what comes
//! while one is open waits until it closes. It must not lose or change a delta, nor keep the open bracket's waiting.

mod bracket;
#[cfg(test)]
mod tests;
mod waiting;

use std::time::Instant;

use bracket::Key;
use waiting::{Unit, Waiting};

use crate::{
    agui::{Event, EventKind},
    pipeline::{End, Fault, Loss, Out, Refused, Stage, Way},
};

/// How many bytes may wait behind an open bracket, with what each event costs besides its text.
///
/// Past it a text message is ended early and its rest follows in its turn as a message of the same id: such a client
/// shows two, and every word of them. (So it is where the messages are stated anew beside one.) A tool call cannot be
/// cut, as half of its arguments could be acted on: the run is ended, after all that waited.
const WAITING_LIMIT: usize = 1024 * 1024;

const MESSAGE: &str = "Too much of the run came beside one tool call, for a client that takes one thing at a time.";

/// Lets one text message or tool call be open at a time.
#[derive(Debug)]
pub struct Serial {
    /// The bracket that the client has open. Nothing waits without one.
    open: Option<Key>,
    /// It is the rest of a message, and nothing of that has come yet.
    unbegun: bool,
    waiting: Waiting,
    limit: usize,
    /// This stage has ended the run.
    ended: bool,
}

impl Default for Serial {
    fn default() -> Self {
        Self::with_limit(WAITING_LIMIT)
    }
}

impl Serial {
    /// Lets so many bytes wait.
    pub fn with_limit(limit: usize) -> Self {
        Self { open: None, unbegun: false, waiting: Waiting::default(), limit, ended: false }
    }

    fn beside(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let key = Key::of(&event);
        let starts = bracket::starts(event.kind());
        if self.open.is_none() {
            if starts {
                self.open = key;
            }
            return out.send(event, at);
        }
        if key.is_some() && key == self.open && !starts {
            let ends = bracket::ends(event.kind());
            self.part(event, at, out);
            if ends {
                self.open = None;
                self.next(at, out);
            }
            return;
        }
        out.converted(Way::Down, event.kind(), Loss::Part("order"));
        let restates = event.kind() == EventKind::MessagesSnapshot;
        self.waiting.push(event, key);
        if restates {
            self.restate(at, out);
        }
        if self.waiting.bytes() > self.limit {
            self.relieve(at, out);
        }
    }

    /// The messages are stated anew: what comes of a message after that would be gone if it came before.
    fn restate(&mut self, at: Instant, out: &mut Out<'_>) {
        let end = self.waiting.end();
        while self.waiting.start() < end && self.cut(at, out) {}
    }

    /// Sends what waits, as far as the next bracket whose end has not come.
    fn next(&mut self, at: Instant, out: &mut Out<'_>) {
        while self.open.is_none()
            && let Some(unit) = self.waiting.pop()
        {
            self.open = self.unit(unit, at, out);
        }
    }

    /// Sends what has come of a unit; the bracket that it leaves open.
    fn unit(&mut self, unit: Unit, at: Instant, out: &mut Out<'_>) -> Option<Key> {
        self.unbegun = unit.resumes;
        unit.events.into_iter().for_each(|event| self.part(event, at, out));
        unit.open
    }

    fn part(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        if std::mem::take(&mut self.unbegun) {
            if bracket::ends(event.kind()) {
                return;
            }
            if let Some(key) = Key::of(&event) {
                out.converted(Way::Down, event.kind(), Loss::Part("one_message"));
                out.send(key.start(), at);
            }
        }
        out.send(event, at);
    }

    /// Ends the open bracket early, if that is a message, and lets its rest wait behind all that waits now.
    fn cut(&mut self, at: Instant, out: &mut Out<'_>) -> bool {
        let Some(key) = self.open.take_if(|key| !key.is_tool_call()) else { return false };
        self.ends(&key, at, out);
        self.waiting.resume(key);
        self.next(at, out);
        true
    }

    /// Too much waits: the open message makes room, or the run is over.
    fn relieve(&mut self, at: Instant, out: &mut Out<'_>) {
        self.cut(at, out);
        if self.waiting.bytes() > self.limit {
            self.close(at, out);
            out.converted(Way::Down, EventKind::ToolCallArgs, Loss::Whole("waiting"));
            out.refuse(Refused { fault: Fault::Budget, rule: "waiting", message: MESSAGE.into() });
            self.ended = true;
        }
    }

    /// Closes the open bracket, then sends all that waits, each bracket closed.
    fn close(&mut self, at: Instant, out: &mut Out<'_>) {
        if let Some(key) = self.open.take() {
            self.ends(&key, at, out);
        }
        while let Some(unit) = self.waiting.pop() {
            if let Some(key) = self.unit(unit, at, out) {
                self.ends(&key, at, out);
            }
        }
    }

    fn ends(&mut self, key: &Key, at: Instant, out: &mut Out<'_>) {
        if !std::mem::take(&mut self.unbegun) {
            out.send(key.end(), at);
        }
    }
}

impl Stage for Serial {
    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        if self.ended && event.is_own() {
            return out.send(event, at);
        }
        if self.ended {
            return out.converted(Way::Down, event.kind(), Loss::Whole("waiting"));
        }
        match event.kind() {
            // The one event that such a client takes inside a bracket.
            EventKind::Raw => out.send(event, at),
            EventKind::RunError => {
                self.close(at, out);
                out.send(event, at);
            }
            // What is still open is the agent's breach, which the client judges.
            EventKind::RunFinished => {
                while let Some(unit) = self.waiting.pop() {
                    self.unit(unit, at, out);
                }
                self.open = None;
                out.send(event, at);
            }
            _ => self.beside(event, at, out),
        }
    }

    fn end(&mut self, _: End, at: Instant, out: &mut Out<'_>) {
        self.close(at, out);
    }

    fn held(&self) -> usize {
        self.waiting.bytes()
    }
}
