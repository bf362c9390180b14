//! A stream of several runs comes in, one run goes out: the client takes no second start. It holds a `RUN_FINISHED`
//! until it is known whether another run follows, and must not touch what is inside the runs.

use std::time::Instant;

use crate::{
    agui::{Event, EventKind},
    pipeline::{End, Loss, Out, Stage, Way},
};

/// Joins the runs of a stream: it starts with the first one's start and finishes with the last one's finish.
#[derive(Debug, Default)]
pub struct OneRun {
    finished: Option<Event>,
}

impl OneRun {
    fn release(&mut self, at: Instant, out: &mut Out<'_>) {
        if let Some(finished) = self.finished.take() {
            out.send(finished, at);
        }
    }
}

impl Stage for OneRun {
    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        match event.kind() {
            EventKind::RunStarted if self.finished.take().is_some() => {
                out.converted(Way::Down, EventKind::RunFinished, Loss::Whole("run_boundary"));
                out.converted(Way::Down, EventKind::RunStarted, Loss::Whole("run_boundary"));
            }
            EventKind::RunFinished => {
                self.release(at, out);
                self.finished = Some(event);
            }
            _ => {
                self.release(at, out);
                out.send(event, at);
            }
        }
    }

    fn end(&mut self, _: End, at: Instant, out: &mut Out<'_>) {
        self.release(at, out);
    }

    fn held(&self) -> usize {
        self.finished.as_ref().map_or(0, Event::size)
    }

    fn holds_an_end(&self) -> bool {
        self.finished.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{run, texts};
    use super::*;

    const START: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"1"}"#;
    const AGAIN: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"2"}"#;
    const RAW: &str = r#"{"type":"RAW","event":1}"#;
    const FINISH: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"1"}"#;
    const LAST: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"2"}"#;
    const ERROR: &str = r#"{"type":"RUN_ERROR","message":"m"}"#;

    fn joined(list: &[&str]) -> Vec<String> {
        texts(&run(vec![Box::new(OneRun::default())], list))
    }

    #[test]
    fn two_runs_become_one_with_the_first_start_and_the_last_finish() {
        let sink = run(vec![Box::new(OneRun::default())], &[START, RAW, FINISH, AGAIN, RAW, LAST]);
        assert_eq!(texts(&sink), [START, RAW, RAW, LAST]);
        assert_eq!(sink.converted.len(), 2);
        assert!(sink.converted.iter().all(|c| c.loss == Loss::Whole("run_boundary")));
    }

    #[test]
    fn a_finish_comes_out_at_the_end_or_before_what_else_follows() {
        assert_eq!(joined(&[START, FINISH]), [START, FINISH]);
        assert_eq!(joined(&[START, FINISH, ERROR]), [START, FINISH, ERROR]);
        assert_eq!(joined(&[START, FINISH, FINISH]), [START, FINISH, FINISH], "the client judges it");
    }

    #[test]
    fn a_start_inside_a_run_is_left_to_the_client() {
        assert_eq!(joined(&[START, AGAIN, LAST]), [START, AGAIN, LAST]);
    }
}
