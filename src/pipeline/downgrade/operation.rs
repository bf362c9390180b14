//! A patch comes in, the same without operations of kinds that nobody knows goes out: a current client leaves those out
//! and applies the rest, one before 1.0 refuses the whole patch.

use std::time::Instant;

use crate::{
    agui::{
        Event, EventKind, Kinds,
        edit::{self, Change},
        json::{self, Members},
    },
    pipeline::{Loss, Out, Stage, Way},
};

/// The operations of RFC 6902.
const KNOWN: [&str; 6] = ["add", "remove", "replace", "move", "copy", "test"];

/// Leaves out operations of unknown kinds.
#[derive(Debug)]
pub struct Operation;

impl Stage for Operation {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[EventKind::StateDelta, EventKind::ActivityDelta])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let name = if event.kind() == EventKind::StateDelta { "delta" } else { "patch" };
        let edited = event.edited(|member| match member.is(name) {
            true => {
                edit::elements(member.value, |one| if is_unknown(one) { Change::Drop } else { Change::Keep }).into()
            }
            false => Change::Keep,
        });
        let Some(edited) = edited else { return out.send(event, at) };
        out.converted(Way::Down, event.kind(), Loss::Part("patch_operation"));
        out.send(edited, at);
    }
}

/// Whether an operation says that it is of another kind. One that says nothing is malformed, and stays.
fn is_unknown(operation: &[u8]) -> bool {
    let op = Members::of(operation).filter(|member| member.is("op")).last();
    op.and_then(|op| json::string(op.value)).is_some_and(|op| !KNOWN.contains(&&*op))
}

#[cfg(test)]
mod tests {
    use super::{super::trial::Trial, *};

    #[test]
    fn the_rest_of_the_patch_stays_as_it_is_spelled() {
        let trial = Trial::of(
            Operation,
            &[
                r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a","value":1.0}, {"op":"merge","path":"/b"}]}"#,
                r#"{"type":"ACTIVITY_DELTA","messageId":"m","patch":[{"op":"","path":""}]}"#,
            ],
        );
        assert_eq!(trial.texts[0], r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a","value":1.0}]}"#);
        assert_eq!(trial.texts[1], r#"{"type":"ACTIVITY_DELTA","messageId":"m","patch":[]}"#);
        assert_eq!(trial.losses, [Loss::Part("patch_operation"); 2]);
    }

    #[test]
    fn what_is_known_or_malformed_stays() {
        let events = [
            r#"{"type":"STATE_DELTA","delta":[{"op":"test","path":"","value":1},{"op":"remove","path":"/x"}]}"#,
            r#"{"type":"STATE_DELTA","delta":[{"path":"/x"},{"op":1},7]}"#,
            r#"{"type":"STATE_DELTA","delta":{"op":"merge"}}"#,
            r#"{"type":"STATE_DELTA"}"#,
        ];
        Trial::of(Operation, &events).assert_untouched(&events);
    }
}
