//! Deltas come in, those that are not empty go out: clients before 0.0.50 refuse an empty one, and it says nothing. In
//! chunks and in arguments they take it.

use std::time::Instant;

use crate::{
    agui::{Event, EventKind, Kinds, Word},
    pipeline::{Loss, Out, Stage, Way},
};

static EMPTY: Word = Word::new("\"\"");

/// Leaves out empty deltas.
#[derive(Debug)]
pub struct EmptyDelta;

impl Stage for EmptyDelta {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[
            EventKind::TextMessageContent,
            EventKind::ReasoningMessageContent,
            EventKind::ThinkingTextMessageContent,
        ])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        if EMPTY.is_in(event.text()) && event.member("delta") == Some(b"\"\"") {
            return out.converted(Way::Down, event.kind(), Loss::None);
        }
        out.send(event, at);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::trial::Trial, *};

    #[test]
    fn only_what_is_exactly_empty_goes() {
        let kept = [
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"","delta":" "}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","delta":null}"#,
            r#"{"type":"TOOL_CALL_ARGS","delta":""}"#,
            r#"{"type":"TEXT_MESSAGE_CHUNK","delta":""}"#,
        ];
        Trial::of(EmptyDelta, &kept).assert_untouched(&kept);
        let empty = [
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":""}"#,
            r#"{"type":"REASONING_MESSAGE_CONTENT","delta": "" ,"metadata":{}}"#,
        ];
        let trial = Trial::of(EmptyDelta, &empty);
        assert_eq!(trial.texts, [""; 0]);
        assert_eq!(trial.losses, [Loss::None, Loss::None]);
    }
}
