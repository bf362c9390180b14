//! The events of an agent's stream come in, judged by the grammar of the protocol. `observe` counts breaches and passes
//! everything on as it is; `repair` sends on a stream that breaks no rule; `refuse` stops before the first event that
//! does. Event types and members that this build does not know are never judged, nor is what only a reader of values
//! could tell: whether a patch applies, whether arguments are JSON.

mod frame;
mod last;
mod members;
mod memory;
mod nested;
mod refuse;
mod repair;
mod repeat;
mod rule;
mod shape;
mod state;
#[cfg(test)]
mod tests;

use std::time::Instant;

use last::Last;
use memory::Memory;
use nested::Nested;
use repeat::Repeat;
pub use rule::{Rule, Weight};
use state::{Breach, State};

use self::{members::Seen, shape::Fit};
use super::{End, Out, Stage};
use crate::agui::{Encoding, Event, EventKind};

/// What the guard does about a breach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It is not there.
    #[default]
    Off,
    /// It counts.
    Observe,
    /// It mends, and ends the run where nothing can be mended.
    Repair,
    /// It ends the run.
    Refuse,
}

/// Judges one stream.
#[derive(Debug)]
pub struct Guard {
    mode: Mode,
    state: State,
    memory: Memory,
    repeat: Repeat,
    nested: Nested,
    last: Last,
    /// The run was ended here; nothing more goes out.
    is_over: bool,
}

impl Guard {
    /// A guard at the beginning of a stream.
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            state: State::default(),
            memory: Memory::default(),
            repeat: Repeat::default(),
            nested: Nested::default(),
            last: Last::default(),
            is_over: false,
        }
    }

    /// The first rule that an event breaks, with what was seen of it.
    fn judge<'a>(&self, event: &'a Event) -> (Seen<'a>, Option<Breach>) {
        let (closely, foreign) = (self.mode != Mode::Observe, self.mode != Mode::Refuse);
        if let Some(rule) = frame::breach(event, closely, foreign) {
            return (Seen::nothing(event.kind()), Some(Breach { rule, member: "type" }));
        }
        if event.kind() == EventKind::Other {
            return (Seen::nothing(event.kind()), None);
        }
        let (seen, fit) = Seen::of(event.kind(), event.text());
        let breach = match fit {
            Fit::Wrong(fault) => Some(Breach { rule: fault.rule, member: fault.member }),
            Fit::Fits | Fit::Unknown => unnamed(event, &seen).or_else(|| self.state.breach(&seen)),
        };
        (seen, breach)
    }

    fn observe(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let (seen, breach) = self.judge(&event);
        self.state.apply(&seen);
        match breach {
            Some(breach) => out.violated(breach.rule.as_str()),
            None => self.repeat.remember(&event),
        }
        out.send(event, at);
    }

    fn refuse(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let (seen, breach) = self.judge(&event);
        if let Some(breach) = breach {
            out.violated(breach.rule.as_str());
            if breach.rule.weight() != Weight::Advice {
                self.is_over = true;
                return out.refuse(refuse::refusal(&breach, &seen));
            }
        }
        self.state.apply(&seen);
        self.repeat.remember(&event);
        out.send(event, at);
    }
}

/// An identifier that protobuf has no value for arrives as an empty text: it is a missing one.
fn unnamed(event: &Event, seen: &Seen<'_>) -> Option<Breach> {
    event.frame(Encoding::Protobuf)?;
    let is_empty = |member: &&str| seen.value(member) == Some(b"\"\"");
    let member = ["messageId", "toolCallId"].into_iter().find(is_empty)?;
    Some(Breach { rule: Rule::MissingMember, member })
}

impl Stage for Guard {
    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        if self.is_over {
            // What the run ends with is the gateway's.
            if event.is_own() {
                out.send(event, at);
            }
            return;
        }
        if self.last.is_none() && self.repeat.is_all_of(&event) {
            return out.send(event, at);
        }
        self.repeat.forget();
        match self.mode {
            Mode::Off => out.send(event, at),
            Mode::Observe => self.observe(event, at, out),
            Mode::Repair => self.repair(event, at, out),
            Mode::Refuse => self.refuse(event, at, out),
        }
    }

    fn end(&mut self, _how: End, at: Instant, out: &mut Out<'_>) {
        self.let_last_go(at, out);
    }

    fn held(&self) -> usize {
        self.state.held() + self.memory.held() + self.nested.held() + self.last.held()
    }

    fn holds_an_end(&self) -> bool {
        !self.is_over && !self.last.is_none()
    }
}
