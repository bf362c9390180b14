//! The events of a tool call come in as it is made; what the policy leaves of them goes out.

use std::time::Instant;

use super::{
    STAGE, Stop, Tools,
    calls::{Call, Stand},
    follow::Placed,
    mask,
    policy::{ByName, OnDenied},
    seen::{Name, Seen, Unread},
};
use crate::{
    agui::{Event, EventKind, json},
    pipeline::{Decision, Out},
};

/// What may be done with an event of a call, by what becomes of the call.
enum May {
    Pass,
    Hold,
    /// It goes, for this reason.
    Drop(&'static str),
    /// The call is masked.
    Mask,
}

fn may(call: Option<&Call>) -> May {
    match call.map(|call| &call.stand) {
        None => May::Drop("unknown_call"),
        Some(Stand::Dropped) => May::Drop("denied"),
        Some(Stand::Held(_)) => May::Hold,
        Some(Stand::Masked) => May::Mask,
        Some(Stand::Shown { .. }) => May::Pass,
    }
}

impl Tools {
    pub(super) fn start(&mut self, event: Event, seen: &Seen<'_>, at: Instant, out: &mut Out<'_>) -> Result<(), Stop> {
        let (id, name) = (seen.needed(Name::Call)?, seen.needed(Name::Tool)?);
        self.decide(&id, None, event.is_own(), at, out)?;
        self.begin(event, seen, &id, &name, at, out)
    }

    pub(super) fn arguments(
        &mut self,
        event: Event,
        seen: &Seen<'_>,
        at: Instant,
        out: &mut Out<'_>,
    ) -> Result<(), Stop> {
        let id = seen.needed(Name::Call)?;
        self.more(event, seen, &id, None, at, out)
    }

    /// One more piece of a call's arguments; a chunk's lane is known.
    fn more(
        &mut self,
        event: Event,
        seen: &Seen<'_>,
        id: &str,
        lane: Option<&str>,
        at: Instant,
        out: &mut Out<'_>,
    ) -> Result<(), Stop> {
        let call = self.calls.get(id);
        // What comes after the arguments were judged was not.
        let late = matches!(call.map(|call| &call.stand), Some(Stand::Shown { judged: true }));
        match may(call) {
            // The client would have the call with other arguments than it was made with.
            May::Pass if late && self.calls.is_open(id) && seen.value(Name::Delta).is_some_and(|d| d != b"\"\"") => {
                return Err(Stop::Unread("late_arguments"));
            }
            May::Pass if late => out.dropped(STAGE, "late_arguments", event.kind()),
            May::Pass => self.send_piece(event, seen, id, lane, at, out),
            May::Hold => {
                if seen.value(Name::Delta).is_some_and(|delta| delta.first() != Some(&b'"')) {
                    return Err(Unread("unreadable").into());
                }
                self.calls.hold(id, event)?;
            }
            May::Drop(reason) => out.dropped(STAGE, reason, event.kind()),
            May::Mask => out.dropped(STAGE, "masked", event.kind()),
        }
        Ok(())
    }

    pub(super) fn finish(&mut self, event: Event, seen: &Seen<'_>, at: Instant, out: &mut Out<'_>) -> Result<(), Stop> {
        let id = seen.needed(Name::Call)?;
        let own = event.is_own();
        match may(self.calls.get(&id)) {
            May::Pass => self.send(event, seen, at, out),
            May::Hold => {
                self.calls.hold(&id, event)?;
                self.decide(&id, None, own, at, out)?;
            }
            // Whatever was heard of it since, the client waits for the end of what it saw begin.
            May::Mask | May::Drop(_) if self.calls.is_open(&id) => self.send(mask::event(&event), seen, at, out),
            May::Mask => out.dropped(STAGE, "masked", event.kind()),
            May::Drop(reason) => out.dropped(STAGE, reason, event.kind()),
        }
        Ok(())
    }

    pub(super) fn result(&mut self, event: Event, seen: &Seen<'_>, at: Instant, out: &mut Out<'_>) -> Result<(), Stop> {
        let id = seen.needed(Name::Call)?;
        self.decide(&id, None, event.is_own(), at, out)?;
        let call = self.calls.get(&id);
        match may(call) {
            May::Pass => {
                let name = call.map(|call| &*call.name);
                let content = seen.value(Name::Content).unwrap_or(b"null");
                if !self.policy.denies_result(name, content) {
                    self.send(event, seen, at, out);
                    return Ok(());
                }
                self.refuses()?;
                out.dropped(STAGE, "result", event.kind());
                self.send(mask::event(&event), seen, at, out);
            }
            May::Mask => {
                out.dropped(STAGE, "masked", event.kind());
                self.send(mask::event(&event), seen, at, out);
            }
            May::Drop(reason @ "denied") => {
                self.refuses()?;
                out.dropped(STAGE, reason, event.kind());
            }
            May::Drop(reason) => out.dropped(STAGE, reason, event.kind()),
            // It was decided.
            May::Hold => return Err(Stop::Unread("unreadable")),
        }
        Ok(())
    }

    pub(super) fn chunk(
        &mut self,
        event: Event,
        seen: &Seen<'_>,
        placed: &Placed,
        at: Instant,
        out: &mut Out<'_>,
    ) -> Result<(), Stop> {
        let id = &*placed.id;
        let said = seen.text(Name::Tool)?;
        let known = self.calls.get(id).map(|call| call.name.clone());
        if !placed.opens {
            if said.is_some_and(|said| known.as_deref() != Some(&*said)) {
                return Err(Stop::Unread("renamed_call"));
            }
            return self.more(event, seen, id, placed.lane.as_deref(), at, out);
        }
        self.decide(id, None, event.is_own(), at, out)?;
        // One that takes up a call again need not name it.
        match said.as_deref().or(known.as_deref()) {
            Some(name) => self.begin(event, seen, id, name, at, out),
            None => self.more(event, seen, id, placed.lane.as_deref(), at, out),
        }
    }

    /// A call begins, or goes on after its end: its start, or its first chunk.
    fn begin(
        &mut self,
        event: Event,
        seen: &Seen<'_>,
        id: &str,
        name: &str,
        at: Instant,
        out: &mut Out<'_>,
    ) -> Result<(), Stop> {
        let before = match self.calls.live(id).map(|call| &call.stand) {
            Some(Stand::Dropped) => {
                self.refuses()?;
                out.dropped(STAGE, "denied", event.kind());
                return Ok(());
            }
            Some(Stand::Masked) => {
                out.dropped(STAGE, "masked", event.kind());
                return Ok(());
            }
            Some(_) => true,
            None => false,
        };
        match self.policy.by_name(name) {
            ByName::Allowed => {
                if !before {
                    self.count(name, Decision::Allowed, out);
                }
                self.calls.set(id, name, Stand::Shown { judged: false })?;
                self.send(event, seen, at, out);
                Ok(())
            }
            ByName::Open => {
                self.calls.set(id, name, Stand::Held(Vec::new()))?;
                self.calls.hold(id, event).map(drop)
            }
            ByName::Denied => self.deny(id, name, vec![event], at, out),
        }
    }

    /// Decides a call that is held, by the arguments there are. `lane` is that of its chunk stream.
    pub(super) fn decide(
        &mut self,
        id: &str,
        lane: Option<&str>,
        own: bool,
        at: Instant,
        out: &mut Out<'_>,
    ) -> Result<(), Stop> {
        let Some(events) = self.calls.release(id) else { return Ok(()) };
        let Some(name) = self.calls.get(id).map(|call| call.name.clone()) else { return Ok(()) };
        let arguments = arguments(&events);
        let is_denied = self.policy.denies_arguments(&name, arguments.as_deref());
        let says = arguments.is_none_or(|text| !text.trim_ascii().is_empty());
        // It was shown and goes on: what is added can neither be left out nor be judged without what it is added to.
        let before = self.calls.sight(id).arguments;
        if before.is_some() && (is_denied || (says && before == Some(true))) {
            if own {
                events.iter().for_each(|event| out.dropped(STAGE, "late_arguments", event.kind()));
                return Ok(());
            }
            return Err(Stop::Unread("late_arguments"));
        }
        if is_denied {
            if own && self.policy.on_denied() == OnDenied::Error {
                // The run ends anyway.
                events.iter().for_each(|event| out.dropped(STAGE, "denied", event.kind()));
                self.count(&name, Decision::Dropped, out);
                return Ok(());
            }
            return self.deny(id, &name, events, at, out);
        }
        self.count(&name, Decision::Allowed, out);
        self.calls.set(id, &name, Stand::Shown { judged: true })?;
        self.calls.judged(id, says);
        for event in events {
            let seen = Seen::of(&event)?;
            self.send_piece(event.clone(), &seen, id, lane, at, out);
        }
        Ok(())
    }

    /// Denies a call of which these events are there.
    fn deny(&mut self, id: &str, name: &str, events: Vec<Event>, at: Instant, out: &mut Out<'_>) -> Result<(), Stop> {
        match self.policy.on_denied() {
            OnDenied::Error => {
                self.count(name, Decision::Refused, out);
                Err(Stop::Denied)
            }
            OnDenied::Drop => {
                self.count(name, Decision::Dropped, out);
                events.iter().for_each(|event| out.dropped(STAGE, "denied", event.kind()));
                self.calls.set(id, name, Stand::Dropped)
            }
            OnDenied::Mask => {
                self.count(name, Decision::Masked, out);
                self.calls.set(id, name, Stand::Masked)?;
                for (n, event) in events.iter().enumerate() {
                    out.dropped(STAGE, "masked", event.kind());
                    let seen = Seen::of(event)?;
                    match event.kind() {
                        EventKind::ToolCallStart => {
                            self.send(mask::event(event), &seen, at, out);
                            self.send(mask::arguments(event), &seen, at, out);
                        }
                        // One that does not name the call shows nothing.
                        EventKind::ToolCallChunk if n == 0 && event.string("toolCallName").is_some() => {
                            self.send(mask::event(event), &seen, at, out);
                        }
                        EventKind::ToolCallEnd if self.calls.is_open(id) => {
                            self.send(mask::event(event), &seen, at, out);
                        }
                        _ => {}
                    }
                }
                Ok(())
            }
        }
    }

    /// Ends the run if a denied call is an error.
    pub(super) fn refuses(&self) -> Result<(), Stop> {
        if self.policy.on_denied() == OnDenied::Error { Err(Stop::Denied) } else { Ok(()) }
    }

    fn count(&self, name: &str, decision: Decision, out: &mut Out<'_>) {
        out.called(self.policy.label(name), decision);
    }
}

/// Whether the arguments that these events bring are JSON as a whole.
pub fn are_whole(events: &[Event]) -> bool {
    arguments(events).is_some_and(|text| json::is_whole(text.as_bytes()))
}

/// The arguments that these events bring, if they can be read. The pieces are put together before they are read: a
/// character may be cut in two.
fn arguments(events: &[Event]) -> Option<String> {
    let mut text = vec![b'"'];
    for delta in events.iter().filter_map(|event| match event.kind() {
        EventKind::ToolCallArgs | EventKind::ToolCallChunk => event.member("delta"),
        _ => None,
    }) {
        if delta != b"null" {
            text.extend_from_slice(delta.strip_prefix(b"\"")?.strip_suffix(b"\"")?);
        }
    }
    text.push(b'"');
    serde_json::from_slice(&text).ok()
}
