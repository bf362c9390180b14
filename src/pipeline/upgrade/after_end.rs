//! A run's events come in, the same without what follows its end go out: older frameworks send `RUN_FINISHED` behind
//! `RUN_ERROR`, or an afterthought, and a current client fails at either. It adds nothing.

use std::time::Instant;

use crate::{
    agui::{Event, EventKind},
    pipeline::{Loss, Out, Stage, Way},
};

/// Leaves out what follows a terminal event, but for another run, and for one `RUN_ERROR` behind `RUN_FINISHED`.
#[derive(Debug, Default)]
pub(super) struct AfterEnd {
    ended: Option<EventKind>,
}

impl Stage for AfterEnd {
    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let kind = event.kind();
        match (self.ended, kind) {
            (_, EventKind::RunStarted) => self.ended = None,
            (None, _) | (Some(EventKind::RunFinished), EventKind::RunError) => {}
            (Some(_), _) => return out.converted(Way::Up, kind, Loss::Whole("after_end")),
        }
        if kind.is_terminal() {
            self.ended = Some(kind);
        }
        out.send(event, at);
    }
}
