//! The kinds of a stream's events come in, in order; where its run stands goes out. Breaches are not judged.

use super::EventKind;

/// Where the run on a stream stands, by what was sent so far. A stream may carry several, one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Life {
    /// No run has begun.
    #[default]
    Fresh,
    /// `RUN_STARTED` was sent, or something else that only a run sends.
    Active,
    /// `RUN_FINISHED` was sent; a late `RUN_ERROR` or another `RUN_STARTED` may follow.
    Finished,
    /// `RUN_ERROR` was sent; only another `RUN_STARTED` may follow.
    Failed,
}

impl Life {
    /// Where the run stands after an event of this kind.
    pub fn after(self, kind: EventKind) -> Self {
        match (self, kind) {
            (_, EventKind::RunStarted) => Self::Active,
            (_, EventKind::RunError) => Self::Failed,
            (Self::Fresh | Self::Active, EventKind::RunFinished) => Self::Finished,
            (Self::Fresh, _) => Self::Active,
            (was, _) => was,
        }
    }

    /// Whether the stream may not end here: it has sent no terminal event for its last run.
    pub fn owes_an_end(self) -> bool {
        matches!(self, Self::Fresh | Self::Active)
    }
}

#[cfg(test)]
mod tests {
    use super::{EventKind::*, *};

    fn after(kinds: &[EventKind]) -> Life {
        kinds.iter().fold(Life::Fresh, |life, kind| life.after(*kind))
    }

    #[test]
    fn a_run_owes_an_end_until_its_terminal_event() {
        assert!(after(&[]).owes_an_end());
        assert!(after(&[RunStarted, TextMessageStart]).owes_an_end());
        assert!(after(&[TextMessageStart]).owes_an_end());
        assert!(!after(&[RunStarted, RunFinished]).owes_an_end());
        assert!(!after(&[RunError]).owes_an_end());
    }

    #[test]
    fn a_run_after_a_run_owes_its_own_end() {
        assert!(after(&[RunStarted, RunFinished, RunStarted]).owes_an_end());
        assert_eq!(after(&[RunError, RunStarted, RunFinished]), Life::Finished);
    }

    #[test]
    fn a_late_error_fails_a_finished_run() {
        assert_eq!(after(&[RunStarted, RunFinished, RunError]), Life::Failed);
    }

    #[test]
    fn what_follows_an_end_begins_nothing() {
        assert_eq!(after(&[RunStarted, RunFinished, TextMessageContent, Other]), Life::Finished);
        assert_eq!(after(&[RunError, RunFinished]), Life::Failed);
    }
}
