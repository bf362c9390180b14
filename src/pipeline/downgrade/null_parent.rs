//! A tool call comes in, the same without a `parentMessageId` of `null` goes out: the one null that the current protocol
//! forgives and clients before 0.0.58 do not.

use std::time::Instant;

use crate::{
    agui::{Event, EventKind, Kinds},
    pipeline::{Loss, Out, Stage, Way},
};

/// Takes out a parent that is `null`.
#[derive(Debug)]
pub struct NullParent;

impl Stage for NullParent {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[EventKind::ToolCallStart, EventKind::ToolCallChunk])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let Some(edited) = event.without(|m| m.is("parentMessageId") && m.is_null()) else {
            return out.send(event, at);
        };
        out.converted(Way::Down, event.kind(), Loss::None);
        out.send(edited, at);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::trial::Trial, *};

    #[test]
    fn a_null_is_taken_out_and_a_name_stays() {
        let trial = Trial::of(NullParent, &[r#"{"type":"TOOL_CALL_CHUNK","parentMessageId":null,"delta":"{}"}"#]);
        assert_eq!(trial.texts, [r#"{"type":"TOOL_CALL_CHUNK","delta":"{}"}"#]);
        assert_eq!(trial.losses, [Loss::None]);
        let events = [r#"{"type":"TOOL_CALL_START","parentMessageId":"null","toolCallId":null}"#];
        Trial::of(NullParent, &events).assert_untouched(&events);
    }
}
