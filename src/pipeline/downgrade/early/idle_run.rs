//! A run comes in; if it changes neither messages nor state, a state that says nothing goes out before its end, without
//! which the client cannot read it.

use std::time::Instant;

use crate::{
    agui::{Event, EventKind, Kinds},
    pipeline::{Out, Stage},
};

/// A snapshot of no state: clients of this age keep the state they have.
const NOTHING: &str = r#"{"type":"STATE_SNAPSHOT","snapshot":null}"#;

/// Lets a run that changes nothing come to its end.
#[derive(Debug, Default)]
pub struct IdleRun {
    changed: bool,
}

impl Stage for IdleRun {
    /// A patch is not among them, as it may turn out to change nothing.
    fn kinds(&self) -> Kinds {
        Kinds::of(&[
            EventKind::TextMessageStart,
            EventKind::ToolCallStart,
            EventKind::StateSnapshot,
            EventKind::MessagesSnapshot,
            EventKind::RunStarted,
            EventKind::RunFinished,
            EventKind::RunError,
        ])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        match event.kind() {
            EventKind::RunStarted => self.changed = false,
            EventKind::RunFinished | EventKind::RunError => {
                if !std::mem::replace(&mut self.changed, true) {
                    out.send(Event::made(NOTHING), at);
                }
            }
            _ => self.changed = true,
        }
        out.send(event, at);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{run, texts};
    use super::*;

    const START: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"1"}"#;
    const CUSTOM: &str = r#"{"type":"CUSTOM","name":"n","value":1}"#;
    const TEXT: &str = r#"{"type":"TEXT_MESSAGE_START","messageId":"a","role":"assistant"}"#;
    const FINISH: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"1"}"#;
    const ERROR: &str = r#"{"type":"RUN_ERROR","message":"m"}"#;

    fn through(list: &[&str]) -> Vec<String> {
        texts(&run(vec![Box::new(IdleRun::default())], list))
    }

    #[test]
    fn a_run_that_changes_nothing_gets_a_snapshot_of_nothing() {
        assert_eq!(through(&[START, CUSTOM, FINISH]), [START, CUSTOM, NOTHING, FINISH]);
    }

    #[test]
    fn a_run_that_changes_something_stays_as_it_is() {
        assert_eq!(through(&[START, TEXT, FINISH]), [START, TEXT, FINISH]);
    }

    #[test]
    fn a_failed_run_is_read_to_its_end_too() {
        assert_eq!(through(&[START, ERROR]), [START, NOTHING, ERROR]);
        assert_eq!(through(&[START, TEXT, ERROR]), [START, TEXT, ERROR]);
    }
}
