//! A `RUN_FINISHED` whose outcome is `interrupt` comes in, a `CUSTOM` event named `on_interrupt` with the interrupts, as
//! they came, and the `RUN_FINISHED` without an outcome go out. Clients before 0.0.54 learn of interrupts that way.

use std::time::Instant;

use super::{outcome::kind_of, wrap::custom};
use crate::{
    agui::{
        Event, EventKind, Kinds,
        json::{Elements, Members},
    },
    pipeline::{Loss, Out, Stage, Way},
};

/// Tells interrupts by `CUSTOM`.
#[derive(Debug)]
pub struct OnInterrupt;

impl Stage for OnInterrupt {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[EventKind::RunFinished])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let interrupts = event.member("outcome").and_then(interrupts).map(|list| custom(b"\"on_interrupt\"", list));
        let (Some(interrupts), Some(finished)) = (interrupts, event.without(|m| m.is("outcome"))) else {
            return out.send(event, at);
        };
        out.converted(Way::Down, EventKind::RunFinished, Loss::None);
        out.send(interrupts, at);
        out.send(finished, at);
    }
}

/// The interrupts of an outcome, if it is one that interrupts.
fn interrupts(outcome: &[u8]) -> Option<&[u8]> {
    kind_of(outcome).filter(|kind| kind == "interrupt")?;
    let list = Members::of(outcome).find(|m| m.is("interrupts"))?.value;
    let mut elements = Elements::of(list);
    (elements.by_ref().count() > 0 && elements.is_complete()).then_some(list)
}

#[cfg(test)]
mod tests {
    use super::{super::trial::Trial, *};

    #[test]
    fn interrupts_are_told_before_the_run_is_finished() {
        let event = r#"{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"r"}]},"runId":"r"}"#;
        let trial = Trial::of(OnInterrupt, &[event]);
        assert_eq!(
            trial.texts,
            [
                r#"{"type":"CUSTOM","name":"on_interrupt","value":[{"id":"i","reason":"r"}]}"#,
                r#"{"type":"RUN_FINISHED","runId":"r"}"#,
            ]
        );
        assert_eq!(trial.losses, [Loss::None]);
    }

    #[test]
    fn what_a_client_ignores_stays() {
        let events = [
            r#"{"type":"RUN_FINISHED"}"#,
            r#"{"type":"RUN_FINISHED","outcome":{"type":"success","pendingToolCallIds":["c"]}}"#,
            r#"{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[]}}"#,
            r#"{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":1}}"#,
            r#"{"type":"RUN_FINISHED","outcome":"interrupt"}"#,
        ];
        Trial::of(OnInterrupt, &events).assert_untouched(&events);
    }
}
