//! A `RUN_FINISHED` or `SUBAGENT_FINISHED` comes in, the same with an outcome of exactly the members that 0.0.54 to 0.0.59
//! know goes out. Those clients refuse an outcome with one member more, and kinds that came later.

use std::{borrow::Cow, time::Instant};

use crate::{
    agui::{
        Event, EventKind, Kinds,
        edit::{self, Change},
        json::{self, Members},
    },
    pipeline::{Loss, Out, Stage, Way},
};

/// Fits the outcome of a run.
#[derive(Debug)]
pub struct Outcome;

/// Fits the outcome of a subagent.
#[derive(Debug)]
pub struct SubagentOutcome;

impl Stage for Outcome {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[EventKind::RunFinished])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        fit(event, at, out, |kind| match kind {
            "success" => Some(&["type"]),
            "interrupt" => Some(&["type", "interrupts"]),
            _ => None,
        });
    }
}

impl Stage for SubagentOutcome {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[EventKind::SubagentFinished])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        fit(event, at, out, |kind| match kind {
            "success" => Some(&["type"]),
            "suspended" => Some(&["type", "interruptIds"]),
            _ => None,
        });
    }
}

/// The `type` of an outcome; `None` if it is malformed, which is for the client to find.
pub fn kind_of(outcome: &[u8]) -> Option<Cow<'_, str>> {
    json::string(Members::of(outcome).find(|m| m.is("type"))?.value)
}

/// Sends the event on with an outcome of the members that its kind `has`, or with none if that kind is not known.
fn fit(event: Event, at: Instant, out: &mut Out<'_>, has: impl Fn(&str) -> Option<&'static [&'static str]>) {
    let mut loss = Loss::None;
    let edited = event.edited(|member| {
        let Some(kind) = kind_of(member.value).filter(|_| member.is("outcome")) else { return Change::Keep };
        let Some(known) = has(&kind) else {
            loss = Loss::Part("outcome");
            return Change::Drop;
        };
        let exact = edit::members(member.value, |part| {
            if known.iter().any(|name| part.is(name)) {
                return Change::Keep;
            }
            let pending = part.is("pendingToolCallIds");
            // An empty list says no more than none.
            if !(pending && json::elements(part.value).next().is_none()) {
                loss = Loss::Part(if pending { "pending_tool_calls" } else { "outcome" });
            }
            Change::Drop
        });
        exact.into()
    });
    let Some(edited) = edited else { return out.send(event, at) };
    out.converted(Way::Down, event.kind(), loss);
    out.send(edited, at);
}

#[cfg(test)]
mod tests {
    use super::{super::trial::Trial, *};

    fn finished(outcome: &str) -> String {
        format!(r#"{{"type":"RUN_FINISHED","outcome":{outcome},"runId":"r"}}"#)
    }

    #[test]
    fn an_outcome_keeps_only_what_the_client_knows() {
        let interrupt = r#"{"type":"interrupt","interrupts":[{"id":"i","x":1}]}"#;
        for (outcome, after, loss) in [
            (r#"{"type":"success","pendingToolCallIds":["c"]}"#, r#"{"type":"success"}"#, "pending_tool_calls"),
            (r#"{"x":1,"type":"success"}"#, r#"{"type":"success"}"#, "outcome"),
            (r#"{"type":"interrupt","interrupts":[{"id":"i","x":1}],"y":2}"#, interrupt, "outcome"),
        ] {
            let trial = Trial::of(Outcome, &[&finished(outcome)]);
            assert_eq!(trial.texts, [finished(after)]);
            assert_eq!(trial.losses, [Loss::Part(loss)]);
        }
        let trial = Trial::of(Outcome, &[&finished(r#"{"type":"success","pendingToolCallIds":[]}"#)]);
        assert_eq!((trial.texts, trial.losses), (vec![finished(r#"{"type":"success"}"#)], vec![Loss::None]));
    }

    #[test]
    fn a_kind_that_came_later_goes() {
        let trial = Trial::of(Outcome, &[&finished(r#"{"type":"paused"}"#)]);
        assert_eq!(trial.texts, [r#"{"type":"RUN_FINISHED","runId":"r"}"#]);
        assert_eq!(trial.losses, [Loss::Part("outcome")]);
        let suspended = r#"{"type":"SUBAGENT_FINISHED","outcome":{"type":"suspended","interruptIds":[],"x":1}}"#;
        let trial =
            Trial::of(SubagentOutcome, &[suspended, r#"{"type":"SUBAGENT_FINISHED","outcome":{"type":"new"}}"#]);
        assert_eq!(trial.texts[0], r#"{"type":"SUBAGENT_FINISHED","outcome":{"type":"suspended","interruptIds":[]}}"#);
        assert_eq!(trial.texts[1], r#"{"type":"SUBAGENT_FINISHED"}"#);
    }

    #[test]
    fn exact_and_malformed_outcomes_stay() {
        let events = [
            r#"{"type":"success"}"#,
            r#"{ "type" : "interrupt", "interrupts" : [] }"#,
            "null",
            "[]",
            r#""success""#,
            "{}",
            r#"{"type":1,"x":2}"#,
        ]
        .map(finished);
        let events = events.each_ref().map(String::as_str);
        Trial::of(Outcome, &events).assert_untouched(&events);
    }
}
