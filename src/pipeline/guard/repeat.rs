//! An event comes in; whether it differs from the one before in nothing but its delta goes out. Such an event breaks no
//! rule that the one before did not break, and changes nothing that is known.

use crate::agui::{
    Event, EventKind,
    json::{Members, is_bare, is_utf8},
};

/// What the event before said up to its delta, if that came last in it.
#[derive(Debug, Default)]
pub struct Repeat {
    head: Vec<u8>,
}

impl Repeat {
    /// Something else came.
    pub fn forget(&mut self) {
        self.head.clear();
    }

    /// This event was judged and breaks no rule.
    pub fn remember(&mut self, event: &Event) {
        self.head.clear();
        if !matches!(
            event.kind(),
            EventKind::TextMessageContent | EventKind::ToolCallArgs | EventKind::ReasoningMessageContent
        ) {
            return;
        }
        let last =
            Members::of(event.text()).last().filter(|member| member.is("delta") && member.value.starts_with(b"\""));
        if let Some(last) = last.filter(|last| last.span.end + 1 == event.text().len()) {
            self.head.extend_from_slice(&event.text()[..=last.value_span().start]);
        }
    }

    /// Whether this event only goes on with the one before. Deltas with escapes are looked at more closely, and so are
    /// those that are no text.
    pub fn is_all_of(&self, event: &Event) -> bool {
        if self.head.is_empty() {
            return false;
        }
        let delta = event.text().strip_prefix(&*self.head).and_then(|rest| rest.strip_suffix(b"\"}"));
        delta.is_some_and(|delta| event.plain().is_some() || (is_bare(delta) && is_utf8(delta)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str) -> Event {
        Event::made(text.to_owned())
    }

    const FIRST: &str = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}"#;

    #[test]
    fn only_the_delta_may_differ() {
        let mut repeat = Repeat::default();
        assert!(!repeat.is_all_of(&event(FIRST)));
        repeat.remember(&event(FIRST));
        for (text, same) in [
            (FIRST, true),
            (r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"ü b"}"#, true),
            (r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a\n"}"#, false),
            (r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a","subagentRunId":"s"}"#, false),
            (r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"n","delta":"a"}"#, false),
            (r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"} "#, false),
            ("{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"a\tb\"}", false),
            (r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":1}"#, false),
        ] {
            assert_eq!(repeat.is_all_of(&event(text)), same, "{text}");
        }
        repeat.forget();
        assert!(!repeat.is_all_of(&event(FIRST)));
    }

    #[test]
    fn a_delta_that_is_no_text_is_looked_at() {
        for spaced in [FIRST.to_owned(), FIRST.replace(',', ", ")] {
            let mut repeat = Repeat::default();
            repeat.remember(&event(&spaced));
            let head = spaced.trim_end_matches("a\"}").as_bytes();
            let delta = |bytes: &[u8]| Event::made([head, bytes, b"\"}"].concat());
            assert!(repeat.is_all_of(&delta("é🌍".as_bytes())));
            for broken in [&b"caf\xe9"[..], b"\xf0\x9f\x8c", b"\x8d", b"\xed\xa0\x80", b"\xc0\x80"] {
                assert!(!repeat.is_all_of(&delta(broken)), "{broken:x?}");
            }
        }
    }

    #[test]
    fn nothing_is_remembered_of_what_is_no_plain_delta_at_the_end() {
        let mut repeat = Repeat::default();
        for text in [
            r#"{"type":"TEXT_MESSAGE_CONTENT","delta":"a","messageId":"m"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a" }"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":null}"#,
            r#"{"type":"CUSTOM","name":"n","delta":"a"}"#,
        ] {
            repeat.remember(&event(text));
            assert!(!repeat.is_all_of(&event(text)), "{text}");
        }
    }
}
