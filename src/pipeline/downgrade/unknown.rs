//! Events of any type come in, those of types that have a name in this build go out. Older clients end the run at a type
//! they do not know, so an unknown one is left out, or wrapped as `CUSTOM` while a run is open to carry it. A payload
//! that is no object or has no type passes: it is malformed for every client.

use std::time::Instant;

use super::{Unrepresentable, wrap::wrapped};
use crate::{
    agui::{Event, EventKind, Kinds, json::Members},
    pipeline::{Loss, Out, Stage, Way},
};

/// Leaves out or wraps events of unknown types.
#[derive(Debug)]
pub struct Unknown {
    wraps: bool,
    running: bool,
}

impl Unknown {
    pub fn new(unrepresentable: Unrepresentable) -> Self {
        Self { wraps: unrepresentable == Unrepresentable::Custom, running: false }
    }
}

impl Stage for Unknown {
    fn kinds(&self) -> Kinds {
        match self.wraps {
            true => Kinds::of(&[EventKind::Other, EventKind::RunStarted, EventKind::RunFinished, EventKind::RunError]),
            false => Kinds::of(&[EventKind::Other]),
        }
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        if event.kind() != EventKind::Other {
            self.running = event.kind() == EventKind::RunStarted;
            return out.send(event, at);
        }
        match event.type_name().filter(|_| is_object(&event)) {
            None => out.send(event, at),
            Some(name) if self.running => {
                out.converted(Way::Down, EventKind::Other, Loss::None);
                let wrapped = wrapped(&event, &name);
                out.send(wrapped, at);
            }
            Some(_) => out.converted(Way::Down, EventKind::Other, Loss::Whole("event_type")),
        }
    }
}

fn is_object(event: &Event) -> bool {
    let mut members = Members::of(event.text());
    members.by_ref().for_each(drop);
    members.is_complete()
}

#[cfg(test)]
mod tests {
    use super::{super::trial::Trial, *};

    const START: &str = r#"{"type":"RUN_STARTED"}"#;
    const NEW: &str = r#"{"type":"NEW","a":1.0}"#;

    #[test]
    fn an_unknown_type_is_left_out_and_named() {
        let trial = Trial::of(Unknown::new(Unrepresentable::Drop), &[START, NEW]);
        assert_eq!(trial.texts, [START]);
        assert_eq!(trial.losses, [Loss::Whole("event_type")]);
    }

    #[test]
    fn it_is_wrapped_while_a_run_is_open() {
        let end = r#"{"type":"RUN_FINISHED"}"#;
        let trial = Trial::of(Unknown::new(Unrepresentable::Custom), &[NEW, START, NEW, end, NEW]);
        let custom = r#"{"type":"CUSTOM","name":"ag-ui.unknown.NEW","value":{"type":"NEW","a":1.0}}"#;
        assert_eq!(trial.texts, [START, custom, end]);
        assert_eq!(trial.losses, [Loss::Whole("event_type"), Loss::None, Loss::Whole("event_type")]);
    }

    #[test]
    fn what_is_malformed_passes() {
        let malformed =
            ["[DONE]", "{}", r#"{"type":1}"#, r#"{"type":"NEW""#, r#"["NEW"]"#, "null", r#"{"type":"RAW"}"#];
        for unrepresentable in [Unrepresentable::Drop, Unrepresentable::Custom] {
            Trial::of(Unknown::new(unrepresentable), &malformed).assert_untouched(&malformed);
        }
    }
}
