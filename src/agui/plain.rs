//! The text of an event comes in; whether it is a delta that says nothing but what it is of and what it adds, and where
//! both stand, goes out. Most events of a stream are such deltas: what is known of one need not be read again.

use std::ops::Range;

use super::{
    EventKind,
    json::{is_bare, is_utf8},
};

/// A delta of text, reasoning or a tool call that has a type, an identifier and a delta, each once, in this order, and
/// nothing else, spelled without an escape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain<'a> {
    /// The identifier of the message or the tool call, in UTF-8.
    pub id: &'a [u8],
    /// What is added, in UTF-8.
    pub delta: &'a [u8],
    /// Where in the text of the event that ends.
    pub end: usize,
}

/// Where identifier and delta stand in the text of a plain delta.
#[derive(Clone, Debug)]
pub(super) struct Places {
    id: Range<u32>,
    delta: Range<u32>,
}

impl Places {
    /// The places in this text of an event of this kind whose `type` came first and ends at `from`, if what follows it is
    /// spelled as nearly everybody spells it: the identifier, the delta, no white space.
    pub(super) fn of(kind: EventKind, text: &[u8], from: usize) -> Option<Self> {
        let before: &[u8] = match kind {
            EventKind::TextMessageContent | EventKind::ReasoningMessageContent => b",\"messageId\":\"",
            EventKind::ToolCallArgs => b",\"toolCallId\":\"",
            _ => return None,
        };
        let rest = text.get(from..)?.strip_prefix(before)?;
        let id = rest.get(..memchr::memchr(b'"', rest)?)?;
        let delta = rest.get(id.len()..)?.strip_prefix(DELTA)?.strip_suffix(b"\"}")?;
        let begin = from + before.len();
        let place = |at: usize, part: &[u8]| Some(u32::try_from(at).ok()?..u32::try_from(at + part.len()).ok()?);
        let places = Self { id: place(begin, id)?, delta: place(begin + id.len() + DELTA.len(), delta)? };
        (is_plain(id) && is_plain(delta)).then_some(places)
    }

    /// What stands there.
    pub(super) fn read<'a>(&self, text: &'a [u8]) -> Option<Plain<'a>> {
        let (id, delta) = (slice(text, &self.id)?, slice(text, &self.delta)?);
        Some(Plain { id, delta, end: self.delta.end as usize })
    }
}

fn slice<'a>(text: &'a [u8], place: &Range<u32>) -> Option<&'a [u8]> {
    text.get(place.start as usize..place.end as usize)
}

/// What stands between the identifier and the delta.
const DELTA: &[u8] = b"\",\"delta\":\"";

/// Whether what stands between two quotes needs no reading, and is UTF-8.
fn is_plain(inner: &[u8]) -> bool {
    is_bare(inner) && is_utf8(inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::agui::Event;

    fn plain(text: &str) -> Option<(String, String)> {
        let event = Event::made(text.to_owned());
        let plain = event.plain()?;
        assert!(text.as_bytes()[..plain.end].ends_with(plain.delta) && text.as_bytes()[plain.end] == b'"');
        let text = |part: &[u8]| String::from_utf8(part.to_vec()).unwrap();
        Some((text(plain.id), text(plain.delta)))
    }

    #[test]
    fn a_delta_that_says_nothing_else_is_known_by_its_identifier() {
        for (text, id, delta) in [
            (r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a 🌍"}"#, "m", "a 🌍"),
            (r#"{ "type" : "TEXT_MESSAGE_CONTENT","messageId":"","delta":""}"#, "", ""),
            (r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"x"}"#, "c", "x"),
            (r#"{"type":"REASONING_MESSAGE_CONTENT","messageId":"k","delta":"x"}"#, "k", "x"),
        ] {
            assert_eq!(plain(text), Some((id.into(), delta.into())), "{text}");
        }
    }

    #[test]
    fn whatever_says_more_or_has_to_be_read_closer_is_not_plain() {
        for text in [
            r#"{"type":"TEXT_MESSAGE_CONTENT","delta":"a","messageId":"m"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT", "messageId":"m","delta":"a"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a" }"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a\n"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"\u006d","delta":"a"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","\u006dessageId":"m","delta":"a"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a","delta":"b"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a","type":"RAW"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a","rawEvent":{}}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a","timestamp":1}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":1}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":null,"delta":"a"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","delta":"a"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a""#,
            r#"{"messageId":"m","type":"TEXT_MESSAGE_CONTENT","delta":"a"}"#,
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"a"}"#,
            r#"{"type":"TOOL_CALL_ARGS","messageId":"m","delta":"a"}"#,
            r#"{"type":"CUSTOM","messageId":"m","delta":"a"}"#,
            "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"a\tb\"}",
        ] {
            assert_eq!(plain(text), None, "{text}");
        }
        let broken = [b"{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"", &b"\xff\"}"[..]].concat();
        assert!(Event::made(broken).plain().is_none());
    }
}
