//! A `TOOL_CALL_RESULT` comes in, the same with a string for its content goes out: before 1.0 there were no parts.

use std::time::Instant;

use super::send;
use crate::{
    agui::{Event, EventKind, Kinds, Losses, content::flattened, edit::Change},
    pipeline::{Out, Stage},
};

/// Makes one string of a result's content parts.
#[derive(Debug)]
pub struct ToolResult;

impl Stage for ToolResult {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[EventKind::ToolCallResult])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let mut losses = Losses::default();
        let edited = event.edited(|member| match member.is("content") {
            true => flattened(member.value, &mut losses).into(),
            false => Change::Keep,
        });
        send(event, edited, losses, at, out);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::trial::Trial, *};
    use crate::pipeline::Loss;

    #[test]
    fn parts_become_their_text() {
        let trial = Trial::of(
            ToolResult,
            &[
                r#"{"type":"TOOL_CALL_RESULT","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"toolCallId":"c"}"#,
                r#"{"type":"TOOL_CALL_RESULT","content":[{"type":"text","text":"a"},{"type":"audio"}]}"#,
            ],
        );
        assert_eq!(trial.texts[0], r#"{"type":"TOOL_CALL_RESULT","content":"ab","toolCallId":"c"}"#);
        assert_eq!(trial.texts[1], r#"{"type":"TOOL_CALL_RESULT","content":"a"}"#);
        assert_eq!(trial.losses, [Loss::None, Loss::Part("audio_part")]);
    }

    #[test]
    fn a_string_and_what_is_malformed_stay() {
        let events = [
            r#"{"type":"TOOL_CALL_RESULT","content":"[1]"}"#,
            r#"{"type":"TOOL_CALL_RESULT","content":[1]}"#,
            r#"{"type":"TOOL_CALL_RESULT"}"#,
        ];
        Trial::of(ToolResult, &events).assert_untouched(&events);
    }
}
