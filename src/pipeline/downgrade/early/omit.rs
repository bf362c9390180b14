//! Events come in; those of types that the client does not know go out as `CUSTOM`, or not at all. It reads nothing
//! but their type.

use std::time::Instant;

use crate::{
    agui::{Event, EventKind, Kinds},
    pipeline::{
        Loss, Out, Stage, Way,
        downgrade::{Unrepresentable, wrap::wrapped},
    },
};

/// Leaves out the types of one shape, or wraps them.
#[derive(Debug)]
pub struct Omit {
    kinds: Kinds,
    shape: &'static str,
    instead: Unrepresentable,
}

impl Omit {
    /// Leaves out these kinds, whose loss has this name, or puts this in their place.
    pub fn new(kinds: &[EventKind], shape: &'static str, instead: Unrepresentable) -> Self {
        Self { kinds: Kinds::of(kinds), shape, instead }
    }
}

impl Stage for Omit {
    fn kinds(&self) -> Kinds {
        self.kinds
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let kind = event.kind();
        match self.instead {
            Unrepresentable::Custom => {
                out.converted(Way::Down, kind, Loss::None);
                out.send(wrapped(&event, kind.as_str()), at);
            }
            Unrepresentable::Drop => out.converted(Way::Down, kind, Loss::Whole(self.shape)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::tests::{run, texts};
    use super::*;
    use crate::pipeline::Converted;

    const ACTIVITY: &str = r#"{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"P","patch":[]}"#;
    const CUSTOM: &str = r#"{"type":"CUSTOM","name":"n","value":1}"#;

    fn omit(instead: Unrepresentable) -> Vec<Box<dyn Stage>> {
        vec![Box::new(Omit::new(&[EventKind::ActivityDelta], "activity", instead))]
    }

    #[test]
    fn a_type_that_the_client_does_not_know_is_left_out_and_named() {
        let sink = run(omit(Unrepresentable::Drop), &[ACTIVITY, CUSTOM]);
        assert_eq!(texts(&sink), [CUSTOM]);
        let loss = Loss::Whole("activity");
        assert_eq!(sink.converted, [Converted { way: Way::Down, kind: EventKind::ActivityDelta, loss }]);
    }

    #[test]
    fn or_it_is_wrapped_and_nothing_is_lost() {
        let sink = run(omit(Unrepresentable::Custom), &[ACTIVITY]);
        let name = r#"{"type":"CUSTOM","name":"ag-ui.unknown.ACTIVITY_DELTA","value":"#;
        assert_eq!(texts(&sink), [format!("{name}{ACTIVITY}}}")]);
        assert_eq!(sink.converted[0].loss, Loss::None);
    }
}
