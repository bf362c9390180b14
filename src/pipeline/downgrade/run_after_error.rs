//! The events of several runs come in, those up to the first run that failed go out: clients before 0.0.59 refuse a
//! `RUN_STARTED` after a `RUN_ERROR`. What no client takes after an error passes, to be refused.

use std::time::Instant;

use crate::{
    agui::{Event, EventKind, Kinds},
    pipeline::{Loss, Out, Stage, Way},
};

/// Leaves out runs that follow a failed one.
#[derive(Debug, Default)]
pub struct RunAfterError {
    stands: Stands,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stands {
    #[default]
    Open,
    Failed,
    Over,
}

impl Stage for RunAfterError {
    fn kinds(&self) -> Kinds {
        Kinds::ALL
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        self.stands = match (self.stands, event.kind()) {
            (Stands::Open, EventKind::RunError) => Stands::Failed,
            (Stands::Failed, EventKind::RunStarted) => Stands::Over,
            (stands, _) => stands,
        };
        match self.stands {
            Stands::Over => out.converted(Way::Down, event.kind(), Loss::Whole("run_after_error")),
            _ => out.send(event, at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::trial::Trial, *};

    const START: &str = r#"{"type":"RUN_STARTED"}"#;
    const ERROR: &str = r#"{"type":"RUN_ERROR","message":"m"}"#;
    const END: &str = r#"{"type":"RUN_FINISHED"}"#;

    #[test]
    fn a_run_after_a_failed_one_is_not_shown() {
        let trial = Trial::of(RunAfterError::default(), &[START, END, START, ERROR, START, END]);
        assert_eq!(trial.texts, [START, END, START, ERROR]);
        assert_eq!(trial.losses, [Loss::Whole("run_after_error"); 2]);
    }

    #[test]
    fn runs_that_finish_follow_each_other() {
        let events = [START, END, START, END, ERROR];
        Trial::of(RunAfterError::default(), &events).assert_untouched(&events);
    }
}
