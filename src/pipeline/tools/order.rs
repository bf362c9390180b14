//! Events come in, with where they stand in the lanes; they are taken at once, or when the held call is decided that they
//! tell of. What follows one that waits waits too, but for what is of a held call itself.

use std::{collections::VecDeque, time::Instant};

use super::{
    Stop, Tools,
    live::are_whole,
    seen::{Name, Seen},
    waiting::{Entry, Spot},
};
use crate::{
    agui::{Event, EventKind},
    pipeline::Out,
};

impl Tools {
    /// Takes an event, unless it has to wait.
    pub(super) fn waits(
        &mut self,
        event: Event,
        seen: &Seen<'_>,
        spot: Spot,
        at: Instant,
        out: &mut Out<'_>,
    ) -> Result<Option<Entry>, Stop> {
        let on = self.tells_of(event.kind(), seen, &spot);
        if on.is_some() || !(self.waiting.is_empty() || self.is_of_held(event.kind(), seen, &spot)) {
            return Ok(Some(Entry { event, spot, on }));
        }
        self.act(event, seen, &spot, at, out).map(|()| None)
    }

    /// The held call that an event tells of, though it is not of the call itself.
    fn tells_of(&self, kind: EventKind, seen: &Seen<'_>, spot: &Spot) -> Option<Box<str>> {
        if self.calls.is_decided() {
            return None;
        }
        let is_aside = matches!(
            kind,
            EventKind::Raw | EventKind::Other | EventKind::ReasoningEncryptedValue | EventKind::ToolCallStart
        );
        if is_aside || kind == EventKind::ToolCallChunk || self.is_of_held(kind, seen, spot) {
            return None;
        }
        let mut named = [Name::Call, Name::ParentCall].into_iter().filter_map(|name| seen.text(name).ok().flatten());
        // A result comes when a call is over, so if the arguments look it they are taken for whole. Some agents send no end.
        let waits = |id: &str| kind != EventKind::ToolCallResult || !self.calls.events(id).is_some_and(are_whole);
        named.find(|id| self.calls.is_held(id) && waits(id)).map(|id| Box::from(&*id))
    }

    /// Whether an event is a piece of a held call, or its end.
    fn is_of_held(&self, kind: EventKind, seen: &Seen<'_>, spot: &Spot) -> bool {
        match kind {
            EventKind::ToolCallArgs | EventKind::ToolCallEnd => {
                seen.text(Name::Call).ok().flatten().is_some_and(|id| self.calls.is_held(&id))
            }
            EventKind::ToolCallChunk => {
                spot.placed.as_ref().is_some_and(|placed| !placed.opens && self.calls.is_held(&placed.id))
            }
            _ => false,
        }
    }

    /// Takes what waits for no call any more, in the order in which it came.
    pub(super) fn take_waiting(&mut self, at: Instant, out: &mut Out<'_>) -> Result<(), Stop> {
        let mut work = VecDeque::new();
        loop {
            if self.is_free() {
                let mut first = self.waiting.take();
                first.append(&mut work);
                work = first;
            }
            let Some(Entry { event, spot, .. }) = work.pop_front() else { return Ok(()) };
            for open in spot.closed_calls() {
                self.decide(&open.id, open.lane(), event.is_own(), at, out)?;
            }
            let seen = Seen::of(&event)?;
            if self.is_free() {
                work.push_front(Entry { event: event.clone(), spot, on: None });
                continue;
            }
            if let Some(entry) = self.waits(event.clone(), &seen, spot, at, out)? {
                self.waiting.push(entry)?;
            }
        }
    }

    /// Whether something waits, and for no call any more.
    fn is_free(&self) -> bool {
        !self.waiting.is_empty() && !self.waiting.on().is_some_and(|id| self.calls.is_held(id))
    }

    /// Decides every call that is held, and takes all that waits.
    pub(super) fn decide_all(&mut self, own: bool, at: Instant, out: &mut Out<'_>) -> Result<(), Stop> {
        loop {
            self.calls.waiting().iter().try_for_each(|id| self.decide(id, None, own, at, out))?;
            if self.waiting.is_empty() {
                return Ok(());
            }
            match self.take_waiting(at, out) {
                // The run ends anyway.
                Err(_) if own => drop(self.waiting.take()),
                taken => taken?,
            }
        }
    }
}
