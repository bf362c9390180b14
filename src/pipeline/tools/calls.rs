//! What was decided about each tool call goes in and comes out by the call's identifier, with the events that are held
//! until it is decided. A plain table: it judges nothing and sends nothing.

use std::collections::HashMap;

use super::Stop;
use crate::agui::Event;

/// How many bytes the identifiers and names of a stream's calls may take, each with what a table needs for it. Past it the
/// run ends: a call that is forgotten could not be kept out of what comes later.
pub const CALLS_BYTES: usize = 1 << 20;

/// How many bytes the events may take that are held, each with what it takes to hold one. Past it the run ends.
pub const HELD_BYTES: usize = 4 << 20;

/// About what an entry takes beside its text.
const ENTRY: usize = 128;

/// What becomes of a call.
#[derive(Debug)]
pub enum Stand {
    /// It goes on. If it was judged by its arguments, those that come after that are not.
    Shown { judged: bool },
    /// Its arguments have to be judged first; these events wait.
    Held(Vec<Event>),
    /// It is nowhere.
    Dropped,
    /// It is shown without its arguments.
    Masked,
}

/// A call that was seen.
#[derive(Debug)]
pub struct Call {
    pub name: Box<str>,
    pub stand: Stand,
    /// In which run it was begun; zero if only the history of a thread named it.
    run: u32,
    sight: Sight,
}

/// What the client saw of a call in this run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    /// Its start and not its end.
    pub is_open: bool,
    /// What its arguments were when they were judged: none, or some.
    pub arguments: Option<bool>,
}

/// The calls of a stream.
#[derive(Debug)]
pub struct Calls {
    calls: HashMap<Box<str>, Call>,
    /// Those that are held, in the order in which they began.
    waiting: Vec<Box<str>>,
    run: u32,
    bytes: usize,
    held: usize,
}

impl Default for Calls {
    fn default() -> Self {
        Self { calls: HashMap::new(), waiting: Vec::new(), run: 1, bytes: 0, held: 0 }
    }
}

impl Calls {
    /// Another run begins: calls of the one before may be begun anew, and are what they were until then.
    pub fn next_run(&mut self) {
        self.run = self.run.saturating_add(1);
    }

    /// The number of this run.
    pub fn run(&self) -> u32 {
        self.run
    }

    pub fn get(&self, id: &str) -> Option<&Call> {
        self.calls.get(id)
    }

    /// This call, if it was begun in this run.
    pub fn live(&self, id: &str) -> Option<&Call> {
        self.calls.get(id).filter(|call| call.run == self.run)
    }

    /// Whether no call is held.
    pub fn is_decided(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether this call is held.
    pub fn is_held(&self, id: &str) -> bool {
        !self.is_decided() && matches!(self.calls.get(id).map(|call| &call.stand), Some(Stand::Held(_)))
    }

    /// The events of a call that is held.
    pub fn events(&self, id: &str) -> Option<&[Event]> {
        match &self.calls.get(id)?.stand {
            Stand::Held(events) => Some(events),
            _ => None,
        }
    }

    /// The client sees the start of a call, or its end.
    pub fn seen(&mut self, id: &str, is_open: bool) {
        if let Some(call) = self.calls.get_mut(id) {
            call.sight.is_open = is_open;
        }
    }

    /// Whether the client saw the start of this call in this run, and not its end.
    pub fn is_open(&self, id: &str) -> bool {
        self.sight(id).is_open
    }

    /// What the client saw of this call.
    pub fn sight(&self, id: &str) -> Sight {
        self.live(id).map(|call| call.sight).unwrap_or_default()
    }

    /// The arguments of a call were judged and are shown: none, or some.
    pub fn judged(&mut self, id: &str, some: bool) {
        if let Some(call) = self.calls.get_mut(id) {
            call.sight.arguments = Some(some || call.sight.arguments == Some(true));
        }
    }

    /// The calls that are held, in the order in which they began.
    pub fn waiting(&self) -> Vec<Box<str>> {
        self.waiting.clone()
    }

    /// What becomes of a call that was begun in this run.
    pub fn set(&mut self, id: &str, name: &str, stand: Stand) -> Result<(), Stop> {
        let run = self.run;
        self.put(id, name, stand, run)
    }

    /// What becomes of a call that the history of the thread names. It may be begun anew, whatever it is. Of a history
    /// that is too long some are forgotten: what is of a call that is not known is left out, so that is safe.
    pub fn learn(&mut self, id: &str, name: &str, stand: Stand) {
        if self.bytes + entry(id, name) <= CALLS_BYTES / 2 {
            let _ = self.put(id, name, stand, 0);
        } else {
            self.remove(id);
        }
    }

    /// Forgets a call; what was seen of it, and in which run.
    fn remove(&mut self, id: &str) -> Option<(Sight, u32)> {
        let old = self.calls.remove(id)?;
        self.bytes -= entry(id, &old.name);
        if let Stand::Held(events) = old.stand {
            self.held -= size(&events);
            self.waiting.retain(|other| **other != *id);
        }
        Some((old.sight, old.run))
    }

    fn put(&mut self, id: &str, name: &str, stand: Stand, run: u32) -> Result<(), Stop> {
        let before = self.remove(id).filter(|(_, of)| *of == run);
        let sight = before.map(|(sight, _)| sight).unwrap_or_default();
        if matches!(stand, Stand::Held(_)) {
            self.waiting.push(id.into());
        }
        self.bytes += entry(id, name);
        self.calls.insert(id.into(), Call { name: name.into(), stand, run, sight });
        if self.bytes > CALLS_BYTES { Err(Stop::Full("tool_calls")) } else { Ok(()) }
    }

    /// Holds one more event of a call; gives it back if the call is not held.
    pub fn hold(&mut self, id: &str, event: Event) -> Result<Option<Event>, Stop> {
        let Some(Call { stand: Stand::Held(events), .. }) = self.calls.get_mut(id) else { return Ok(Some(event)) };
        self.held += size(std::slice::from_ref(&event));
        events.push(event);
        if self.held > HELD_BYTES { Err(Stop::Full("held_arguments")) } else { Ok(None) }
    }

    /// The events of a call that is held no longer.
    pub fn release(&mut self, id: &str) -> Option<Vec<Event>> {
        let at = self.waiting.iter().position(|other| **other == *id)?;
        self.waiting.remove(at);
        let call = self.calls.get_mut(id)?;
        let Stand::Held(events) = std::mem::replace(&mut call.stand, Stand::Dropped) else { return None };
        self.held -= size(&events);
        Some(events)
    }

    /// The bytes that are kept.
    pub fn held(&self) -> usize {
        self.bytes + self.held
    }
}

/// What it takes to hold these.
fn size(events: &[Event]) -> usize {
    events.iter().map(|event| event.text().len() + ENTRY).sum()
}

fn entry(id: &str, name: &str) -> usize {
    id.len() + name.len() + ENTRY
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_live_in_its_run_and_known_after_it() {
        let mut calls = Calls::default();
        calls.set("c", "rm", Stand::Dropped).unwrap();
        assert!(calls.live("c").is_some());
        calls.next_run();
        assert!(calls.live("c").is_none() && calls.get("c").is_some());
        calls.learn("h", "ls", Stand::Shown { judged: false });
        assert!(calls.live("h").is_none() && calls.get("h").is_some());
    }

    #[test]
    fn names_and_events_are_bounded() {
        let mut calls = Calls::default();
        let long = "x".repeat(10_000);
        let full = (0..1000).find_map(|n| calls.set(&format!("{n}{long}"), "ls", Stand::Dropped).err());
        assert_eq!(full, Some(Stop::Full("tool_calls")));
        assert!(calls.held() < CALLS_BYTES + 20_000);

        let mut calls = Calls::default();
        calls.set("c", "f", Stand::Held(Vec::new())).unwrap();
        let event = || Event::made(format!(r#"{{"type":"TOOL_CALL_ARGS","delta":"{long}"}}"#));
        let full = (0..1000).find_map(|_| calls.hold("c", event()).err());
        assert_eq!(full, Some(Stop::Full("held_arguments")));
        assert!(calls.held() < HELD_BYTES + 20_000);
        calls.release("c").unwrap();
        assert!(calls.held() < 1000 && calls.waiting().is_empty());
    }

    #[test]
    fn of_a_long_history_some_are_forgotten_and_there_is_room_for_the_run() {
        let mut calls = Calls::default();
        for n in 0..100_000 {
            calls.learn(&format!("call-{n}"), "ls", Stand::Dropped);
        }
        assert!(calls.held() <= CALLS_BYTES / 2);
        assert!(calls.get("call-0").is_some() && calls.get("call-99999").is_none());
        calls.set("live", "rm", Stand::Dropped).unwrap();
        assert!(calls.live("live").is_some());
    }
}
