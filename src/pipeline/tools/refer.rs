//! Events that only refer to tool calls come in; they go out without what refers to a denied one, or not at all.

use std::{borrow::Cow, time::Instant};

use super::{
    STAGE, Stop, Tools,
    calls::Stand,
    input,
    messages::{self, Judge, Known, fields},
    policy::ByName,
    seen::{Name, Seen, Unread},
};
use crate::{
    agui::{
        Event, EventKind, Losses,
        edit::{self, Change},
        json,
    },
    pipeline::Out,
};

/// The name of a custom event that tells interrupts, as older agents do.
const ON_INTERRUPT: &str = "on_interrupt";

impl Tools {
    /// Takes an event that is not of a call itself.
    pub(super) fn refer(&mut self, event: Event, seen: &Seen<'_>, at: Instant, out: &mut Out<'_>) -> Result<(), Stop> {
        match event.kind() {
            EventKind::Raw if self.policy.drops_raw() => {
                out.dropped(STAGE, "raw", event.kind());
                Ok(())
            }
            EventKind::Raw => {
                self.send(event, seen, at, out);
                Ok(())
            }
            EventKind::Other => self.unknown(event, seen, at, out),
            EventKind::MessagesSnapshot => self.snapshot(event, seen, at, out),
            EventKind::RunStarted => self.run_started(event, seen, at, out),
            EventKind::RunFinished => self.run_finished(event, seen, at, out),
            EventKind::ReasoningEncryptedValue => self.encrypted(event, seen, at, out),
            EventKind::SubagentStarted => self.subagent(event, seen, at, out),
            EventKind::Custom => self.custom(event, seen, at, out),
            _ => self.known(event, seen, at, out),
        }
    }

    /// Whether a call is shown with all that is its own.
    fn is_shown(&self, id: &str) -> bool {
        matches!(self.calls.get(id).map(|call| &call.stand), Some(Stand::Shown { .. }))
    }

    /// Whether a call is shown at all.
    fn is_seen(&self, id: &str) -> bool {
        matches!(self.calls.get(id).map(|call| &call.stand), Some(Stand::Shown { .. } | Stand::Masked))
    }

    /// An event of which the protocol does not describe that it names a call.
    fn known(&mut self, event: Event, seen: &Seen<'_>, at: Instant, out: &mut Out<'_>) -> Result<(), Stop> {
        let is_bad = |name: Name| -> Result<bool, Stop> {
            let Some(text) = seen.text(name)? else { return Ok(false) };
            Ok(if name == Name::Tool { self.policy.by_name(&text) != ByName::Allowed } else { !self.is_shown(&text) })
        };
        let mut bad = Vec::new();
        for name in [Name::Call, Name::ParentCall, Name::Tool] {
            if is_bad(name)? {
                bad.push(name.as_str());
            }
        }
        if bad.is_empty() {
            self.send(event, seen, at, out);
            return Ok(());
        }
        let kind = event.kind();
        out.dropped(STAGE, "denied", kind);
        let rest = event.without(|member| bad.iter().any(|name| member.is(name))).unwrap_or(event);
        self.send(rest, seen, at, out);
        Ok(())
    }

    /// An event of a type that nobody here knows. If it names a call, it is about it.
    fn unknown(&mut self, event: Event, seen: &Seen<'_>, at: Instant, out: &mut Out<'_>) -> Result<(), Stop> {
        // What is no text names no call.
        let named = |name: Name| seen.text(name).ok().flatten();
        let (call, parent, tool) = (named(Name::Call), named(Name::ParentCall), named(Name::Tool));
        let denied = [&parent, &call].into_iter().flatten().find(|id| !self.is_shown(id));
        let is_denied_tool = || tool.as_deref().is_some_and(|tool| self.policy.by_name(tool) == ByName::Denied);
        match denied {
            Some(id) => self.with_call(event, seen, id, at, out),
            None if is_denied_tool() => {
                out.dropped(STAGE, "denied", event.kind());
                Ok(())
            }
            None => {
                self.send(event, seen, at, out);
                Ok(())
            }
        }
    }

    /// An event about a call that is not shown: it waits for one that is held, and goes else.
    fn with_call(
        &mut self,
        event: Event,
        seen: &Seen<'_>,
        id: &str,
        at: Instant,
        out: &mut Out<'_>,
    ) -> Result<(), Stop> {
        let Some(event) = self.calls.hold(id, event)? else { return Ok(()) };
        if self.is_shown(id) {
            self.send(event, seen, at, out);
            return Ok(());
        }
        let reason = if self.calls.get(id).is_some() { "denied" } else { "unknown_call" };
        out.dropped(STAGE, reason, event.kind());
        Ok(())
    }

    fn encrypted(&mut self, event: Event, seen: &Seen<'_>, at: Instant, out: &mut Out<'_>) -> Result<(), Stop> {
        let is_of_message = seen.text(Name::Subtype)?.is_some_and(|subtype| subtype == "message");
        match seen.text(Name::Entity)? {
            Some(id) if !is_of_message => self.with_call(event, seen, &id, at, out),
            _ => self.known(event, seen, at, out),
        }
    }

    fn snapshot(&mut self, event: Event, seen: &Seen<'_>, at: Instant, out: &mut Out<'_>) -> Result<(), Stop> {
        let Some(list) = seen.value(Name::Messages) else { return self.known(event, seen, at, out) };
        if !self.calls.is_decided() {
            // What has its answer is whole.
            for message in messages::list(list)? {
                let [answers] = fields(message, [&["toolCallId", "tool_call_id"]])?;
                if let Some(id) = answers.and_then(json::string).filter(|id| self.calls.is_held(id)) {
                    self.decide(&id, None, event.is_own(), at, out)?;
                }
            }
        }
        let (edited, known) = self.judge_with(&event, true, out, |judge| judge.messages(list))?;
        self.learn(&known)?;
        self.changed(event, Name::Messages, edited, seen, at, out)
    }

    fn run_started(&mut self, event: Event, seen: &Seen<'_>, at: Instant, out: &mut Out<'_>) -> Result<(), Stop> {
        let Some(input) = seen.value(Name::Input) else { return self.known(event, seen, at, out) };
        let (edited, known) = self.judge_with(&event, false, out, |judge| input::judged(input, judge))?;
        self.learn(&known)?;
        self.changed(event, Name::Input, edited, seen, at, out)
    }

    /// Judges messages by what is known of the stream.
    fn judge_with<T>(
        &self,
        event: &Event,
        is_strict: bool,
        out: &mut Out<'_>,
        judge: impl FnOnce(&mut Judge<'_>) -> Result<T, Stop>,
    ) -> Result<(T, Known), Stop> {
        let stream = Some((&self.calls, &self.hidden, &self.begun));
        let (known, losses) = (Known::default(), Losses::default());
        let mut by = Judge { policy: &self.policy, stream, is_strict, known, losses };
        let judged = judge(&mut by)?;
        by.losses.into_vec().into_iter().for_each(|loss| out.dropped(STAGE, loss, event.kind()));
        Ok((judged, by.known))
    }

    /// Sends an event with another value for a member, if that changed.
    fn changed(
        &mut self,
        event: Event,
        name: Name,
        value: Option<Vec<u8>>,
        seen: &Seen<'_>,
        at: Instant,
        out: &mut Out<'_>,
    ) -> Result<(), Stop> {
        let event = value.map_or(event.clone(), |value| event.with(name.as_str(), &value));
        self.known(event, seen, at, out)
    }

    fn run_finished(&mut self, event: Event, seen: &Seen<'_>, at: Instant, out: &mut Out<'_>) -> Result<(), Stop> {
        let mut changes = Vec::new();
        if let Some(outcome) = seen.value(Name::Outcome).filter(|value| value.first() == Some(&b'{')) {
            let [interrupts, pending] = fields(outcome, [&["interrupts"], &["pendingToolCallIds"]])?;
            let interrupts = interrupts.map(|list| self.interrupts(list)).transpose()?.unwrap_or(Change::Keep);
            let pending = pending.map(|list| self.pending(list)).transpose()?.unwrap_or(Change::Keep);
            changes.push((
                Name::Outcome,
                // Interrupted by nothing that anybody could answer.
                if interrupts == Change::Drop {
                    Change::Drop
                } else {
                    edit::members(outcome, |member| match member {
                        _ if member.is("interrupts") => interrupts.clone(),
                        _ if member.is("pendingToolCallIds") && !member.is_null() => pending.clone(),
                        _ => Change::Keep,
                    })
                    .into()
                },
            ));
        }
        if let Some(list) = seen.value(Name::Interrupts) {
            let interrupts = self.interrupts(list)?;
            if interrupts == Change::Drop {
                changes.retain(|(name, _)| *name != Name::Outcome);
                changes.push((Name::Outcome, Change::Drop));
            }
            changes.push((Name::Interrupts, interrupts));
        }
        if let Some(list) = seen.value(Name::Pending) {
            changes.push((Name::Pending, self.pending(list)?));
        }
        let edited = event.edited(|member| {
            let change = changes.iter().find(|(name, _)| member.is(name.as_str()));
            change.map_or(Change::Keep, |(_, change)| change.clone())
        });
        let Some(edited) = edited else { return self.known(event, seen, at, out) };
        out.dropped(STAGE, "denied", event.kind());
        self.known(edited, seen, at, out)
    }

    /// Interrupts without those that a call raised that is not shown with all that is its own; none are left if all of
    /// them go. What is no object names no call.
    fn interrupts(&self, list: &[u8]) -> Result<Change, Stop> {
        self.left(list, |interrupt| {
            if interrupt.first() != Some(&b'{') {
                return Ok(true);
            }
            let [id] = fields(interrupt, [&["toolCallId", "tool_call_id"]])?;
            let Some(id) = id else { return Ok(true) };
            Ok(self.is_shown(&messages::text(Some(id))?))
        })
    }

    /// The calls that the client has to answer, without those that it does not see.
    fn pending(&self, list: &[u8]) -> Result<Change, Stop> {
        self.left(list, |id| Ok(self.is_seen(&json::string(id).ok_or(Unread("unreadable"))?)))
    }

    /// The elements that stay; a list of which nothing stays goes.
    fn left(&self, list: &[u8], stays: impl Fn(&[u8]) -> Result<bool, Stop>) -> Result<Change, Stop> {
        messages::list(list)?;
        let mut left = 0;
        let edited = messages::edited(list, |element| {
            let stays = stays(element)?;
            left += usize::from(stays);
            Ok::<_, Stop>(if stays { Change::Keep } else { Change::Drop })
        })?;
        Ok(match edited {
            Some(_) if left == 0 => Change::Drop,
            edited => edited.into(),
        })
    }

    fn subagent(&mut self, event: Event, seen: &Seen<'_>, at: Instant, out: &mut Out<'_>) -> Result<(), Stop> {
        let tag = seen.text(Name::Tag)?;
        let (call, above) = (seen.text(Name::ParentCall)?, seen.text(Name::ParentTag)?);
        let run = self.calls.run();
        if let Some(tag) = &tag {
            self.hidden.forget(tag, run);
        }
        let is_hidden = call.as_deref().is_some_and(|call| !self.is_shown(call))
            || above.as_deref().is_some_and(|above| self.hidden.has(above))
            || tag.as_deref().is_some_and(|tag| self.hidden.has(tag));
        if !is_hidden {
            return self.known(event, seen, at, out);
        }
        out.dropped(STAGE, "subagent", event.kind());
        tag.map_or(Ok(()), |tag| self.hidden.add(&tag, run))
    }

    /// Custom values are not read, but for interrupts told by them.
    fn custom(&mut self, event: Event, seen: &Seen<'_>, at: Instant, out: &mut Out<'_>) -> Result<(), Stop> {
        let is_interrupt = seen.value(Name::Title).and_then(json::string).is_some_and(|name| name == ON_INTERRUPT);
        let value = seen.value(Name::Value).filter(|_| is_interrupt);
        let change = match value {
            None => Change::Keep,
            // JSON in a text, as some agents have it.
            Some(value) if value.first() == Some(&b'"') => {
                let text = json::string(value).unwrap_or(Cow::Borrowed(""));
                match self.told(text.trim_ascii().as_bytes())? {
                    Change::Value(value) => Change::text(&String::from_utf8_lossy(&value)),
                    change => change,
                }
            }
            Some(value) => self.told(value)?,
        };
        match change {
            Change::Keep => self.known(event, seen, at, out),
            Change::Value(value) => {
                out.dropped(STAGE, "denied", event.kind());
                self.changed(event, Name::Value, Some(value), seen, at, out)
            }
            Change::Drop | Change::Whole(_) => {
                out.dropped(STAGE, "denied", event.kind());
                Ok(())
            }
        }
    }

    /// Interrupts as the value of a custom event: a list of them, or one.
    fn told(&self, value: &[u8]) -> Result<Change, Stop> {
        match value.first() {
            Some(b'[') => self.interrupts(value),
            Some(b'{') => {
                let one = self.interrupts(&[b"[", value, b"]"].concat())?;
                Ok(if one == Change::Keep { Change::Keep } else { Change::Drop })
            }
            _ => Ok(Change::Keep),
        }
    }
}
