//! A `RUN_FINISHED` whose outcome is `cancelled` comes in, a `RUN_ERROR` with the code `cancelled` goes out. Before 1.0 a
//! run that finished had succeeded, whatever its outcome said.

use std::time::Instant;

use super::outcome::kind_of;
use crate::{
    agui::{Event, EventKind, Kinds, edit::Change},
    pipeline::{Loss, Out, Stage, Way},
};

/// Tells a cancelled run as a failed one.
#[derive(Debug)]
pub struct Cancelled;

/// What stands in the place of the outcome; an error has to have a message.
const SAID: &[u8] = br#""message":"The run was cancelled.","code":"cancelled""#;

impl Stage for Cancelled {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[EventKind::RunFinished])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        if event.member("outcome").and_then(kind_of).as_deref() != Some("cancelled") {
            return out.send(event, at);
        }
        let (mut loss, mut said) = (Loss::None, false);
        let edited = event.edited(|member| {
            if member.is("type") {
                Change::text("RUN_ERROR")
            } else if member.is("outcome") && !std::mem::replace(&mut said, true) {
                Change::Whole(SAID.to_vec())
            } else if member.is("result") {
                if !member.is_null() {
                    loss = Loss::Part("result");
                }
                Change::Drop
            } else if ["threadId", "runId", "outcome"].iter().any(|name| member.is(name)) {
                Change::Drop
            } else {
                Change::Keep
            }
        });
        let Some(edited) = edited else { return out.send(event, at) };
        out.converted(Way::Down, EventKind::RunFinished, loss);
        out.send(edited, at);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::trial::Trial, *};

    #[test]
    fn a_cancelled_run_does_not_read_as_a_success() {
        let event = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"cancelled"},"usage":[{"inputTokens":1}]}"#;
        let trial = Trial::of(Cancelled, &[event]);
        let error =
            r#"{"type":"RUN_ERROR","message":"The run was cancelled.","code":"cancelled","usage":[{"inputTokens":1}]}"#;
        assert_eq!(trial.texts, [error]);
        assert_eq!(trial.losses, [Loss::None]);
        let trial = Trial::of(Cancelled, &[r#"{"type":"RUN_FINISHED","result":1,"outcome":{"type":"cancelled"}}"#]);
        assert_eq!(trial.losses, [Loss::Part("result")]);
    }

    #[test]
    fn other_outcomes_stay() {
        let events = [
            r#"{"type":"RUN_FINISHED"}"#,
            r#"{"type":"RUN_FINISHED","outcome":"cancelled"}"#,
            r#"{"type":"RUN_FINISHED","outcome":{"type":"success"}}"#,
        ];
        Trial::of(Cancelled, &events).assert_untouched(&events);
    }
}
