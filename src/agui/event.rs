//! The payload of a frame comes in, an [`Event`] goes out: its kind and the text it arrived as. Members are
//! read when someone asks; an edit takes members out and leaves every other byte as it was spelled.

use std::borrow::Cow;

use bytes::Bytes;

use super::{
    Encoding, EventKind, Plain, Word,
    edit::{self, Change},
    json::{self, Member, Members},
    plain::Places,
};

/// One event of a stream.
///
/// Payloads that are no JSON, or have no `type`, are events too, of kind [`EventKind::Other`]: what this
/// build does not know is not an error.
#[derive(Clone, Debug)]
pub struct Event {
    kind: EventKind,
    text: Bytes,
    frame: Option<(Encoding, Bytes)>,
    /// It came as an SSE event named `error`.
    named_error: bool,
    /// The gateway made it to end a run.
    own: bool,
    /// Where its identifier and its delta stand, if it says nothing else.
    plain: Option<Places>,
}

impl Event {
    /// The event in this payload.
    ///
    /// `frame` is the event's whole frame on the wire it came by, if that is spelled as this gateway would spell
    /// it; it is forwarded instead of encoding the event again, as long as nothing changes the event.
    pub fn new(text: Bytes, frame: Option<(Encoding, Bytes)>) -> Self {
        let (kind, plain) = read(&text);
        Self { kind, text, frame, named_error: false, own: false, plain }
    }

    /// An event of which nobody will ask more than its kind: it has a frame and no text.
    pub fn unread(kind: EventKind, frame: Option<(Encoding, Bytes)>) -> Self {
        Self { kind, text: Bytes::new(), frame, named_error: false, own: false, plain: None }
    }

    /// A `RUN_STARTED` of the gateway's own.
    pub fn run_started(thread_id: &str, run_id: &str) -> Self {
        let text = serde_json::json!({ "type": "RUN_STARTED", "threadId": thread_id, "runId": run_id });
        Self { kind: EventKind::RunStarted, own: true, ..Self::made(text.to_string()) }
    }

    /// A `RUN_ERROR` of the gateway's own.
    pub fn run_error(message: &str, code: &str) -> Self {
        let text = serde_json::json!({ "type": "RUN_ERROR", "message": message, "code": code });
        let text = text.to_string().into();
        Self { kind: EventKind::RunError, text, frame: None, named_error: false, own: true, plain: None }
    }

    /// This event, which came as an SSE event named `error`.
    pub fn named_error(self) -> Self {
        Self { named_error: true, plain: None, ..self }
    }

    /// Whether it came as an SSE event named `error`, which is what some servers call their own failures.
    pub fn is_named_error(&self) -> bool {
        self.named_error
    }

    /// Whether the gateway made it to end a run.
    pub fn is_own(&self) -> bool {
        self.own
    }

    /// What it says, if it is a delta that says nothing but that.
    #[inline]
    pub fn plain(&self) -> Option<Plain<'_>> {
        self.plain_in(&self.text)
    }

    /// The same, borrowed from another handle of the event's text.
    #[inline]
    pub fn plain_in<'a>(&self, text: &'a [u8]) -> Option<Plain<'a>> {
        self.plain.as_ref()?.read(text)
    }

    /// What it is, by the last `type` of the object.
    pub fn kind(&self) -> EventKind {
        self.kind
    }

    /// Exactly the JSON it arrived as, or what an edit made of it.
    pub fn text(&self) -> &Bytes {
        &self.text
    }

    /// The frame it arrived in, if that is of this encoding and no edit changed the event.
    pub fn frame(&self, encoding: Encoding) -> Option<&Bytes> {
        self.frame.as_ref().filter(|(of, _)| *of == encoding).map(|(_, frame)| frame)
    }

    /// Whether its text is UTF-8.
    pub fn is_utf8(&self) -> bool {
        // What is plain was looked at when it was read.
        self.plain.is_some() || json::is_utf8(&self.text)
    }

    /// This event with U+FFFD for what is no UTF-8, as readers have it who take what comes.
    pub fn in_utf8(&self) -> Self {
        let text = String::from_utf8_lossy(&self.text).into_owned();
        Self { named_error: self.named_error, ..Self::made(text) }
    }

    /// Its length in bytes, as it came or as it will be written: its payload, or its whole frame if it is binary.
    pub fn size(&self) -> usize {
        self.frame(Encoding::Protobuf).unwrap_or(&self.text).len()
    }

    /// The name of its type, also one that this build does not know; `None` if it has none.
    pub fn type_name(&self) -> Option<Cow<'_, str>> {
        self.string("type")
    }

    /// The top-level member of this name, spelled as it came. If it is there more than once the last one counts, as it
    /// does for those who read JSON.
    pub fn member(&self, name: &str) -> Option<&[u8]> {
        Members::of(&self.text).filter(|m| m.is(name)).last().map(|m| m.value)
    }

    /// The top-level member of this name, if it is a string.
    pub fn string(&self, name: &str) -> Option<Cow<'_, str>> {
        json::string(self.member(name)?)
    }

    /// This event without the top-level members that `leaves` picks; `None` if it picks none.
    ///
    /// Payloads that are no whole JSON object are left alone: what a reader would make of them is not known.
    pub fn without(&self, leaves: impl Fn(&Member<'_>) -> bool) -> Option<Self> {
        self.edited(|member| if leaves(member) { Change::Drop } else { Change::Keep })
    }

    /// This event with its top-level members changed so; `None` if that changes nothing, or if the payload is no whole
    /// JSON object.
    pub fn edited(&self, change: impl FnMut(&Member<'_>) -> Change) -> Option<Self> {
        edit::members(&self.text, change).map(Self::made)
    }

    /// This event with the value of this top-level member, JSON, in place of any it had; as it is if the payload is no
    /// whole JSON object.
    pub fn with(&self, name: &str, value: &[u8]) -> Self {
        edit::with(&self.text, name, value).map_or_else(|| self.clone(), Self::made)
    }

    /// An event of the gateway's own making, from its JSON.
    pub fn made(text: impl Into<Bytes>) -> Self {
        Self::new(text.into(), None)
    }
}

static TYPE: Word = Word::new("\"type\"");
/// What may spell a name so that it is not found by its letters.
static ESCAPE: Word = Word::new("\\u");

/// The kind of the event in `text`, by its last `type`, and whether it is a plain delta. Reads no further than the first
/// `type`, which comes first nearly always, unless another may follow.
fn read(text: &[u8]) -> (EventKind, Option<Places>) {
    let mut members = Members::of(text);
    let Some(mut member) = members.next() else { return (EventKind::Other, None) };
    if member.is("type") {
        let kind = named(&member);
        if let Some(places) = Places::of(kind, text, member.span.end) {
            return (kind, Some(places));
        }
    } else {
        match members.find(|m| m.is("type")) {
            Some(found) => member = found,
            None => return (EventKind::Other, None),
        }
    }
    let rest = &text[member.span.end..];
    if (TYPE.is_in(rest) || ESCAPE.is_in(rest))
        && let Some(last) = Members::of(text).filter(|m| m.is("type")).last()
    {
        member = last;
    }
    (named(&member), None)
}

/// The kind that a `type` names.
fn named(member: &Member<'_>) -> EventKind {
    match member.value {
        [b'"', name @ .., b'"'] if !name.contains(&b'\\') => EventKind::from_name(name),
        _ => member.string().map_or(EventKind::Other, |name| EventKind::from_name(name.as_bytes())),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn event(text: &str) -> Event {
        Event::new(Bytes::copy_from_slice(text.as_bytes()), None)
    }

    #[test]
    fn the_kind_is_read_wherever_the_type_stands() {
        assert_eq!(event(r#"{"type":"RAW"}"#).kind(), EventKind::Raw);
        assert_eq!(event("{\n \"x\": {\"type\":\"RAW\"},\n \"type\" : \"CUSTOM\"\n}").kind(), EventKind::Custom);
        assert_eq!(event(r#"{"type":"RUN\u005fERROR"}"#).kind(), EventKind::RunError);
        for odd in ["", "[DONE]", "{}", r#"{"type":1}"#, r#"{"type":"run_error"}"#, r#"["type"]"#, "\u{fffd}"] {
            assert_eq!(event(odd).kind(), EventKind::Other, "{odd}");
        }
    }

    #[test]
    fn of_a_member_given_often_the_last_one_counts() {
        for text in [
            r#"{"type":"VENDOR","type":"RUN_FINISHED","id":1,"id":2}"#,
            r#"{"type":"VENDOR","id":1,"\u0074ype":"RUN_FINISHED","\u0069d":2}"#,
            r#"{"type":"RAW","event":{"type":"RAW"},"id":1,"type":"RUN_FINISHED","id":2}"#,
        ] {
            assert_eq!(event(text).kind(), EventKind::RunFinished, "{text}");
            assert_eq!(event(text).member("id"), Some(&b"2"[..]), "{text}");
        }
        assert_eq!(event(r#"{"type":"CUSTOM","value":{"type":"RAW"},"t":"\u0074ype"}"#).kind(), EventKind::Custom);
    }

    #[test]
    fn an_edit_keeps_the_spelling_of_the_rest() {
        let strip = |text: &str| {
            event(text).without(|m| m.is("rawEvent")).map(|e| String::from_utf8(e.text().to_vec()).unwrap())
        };
        let cases = [
            (r#"{"type":"RAW","rawEvent":{"a":[1,"}"]},"n":1.50}"#, r#"{"type":"RAW","n":1.50}"#),
            (r#"{"rawEvent":1,"type":"RAW"}"#, r#"{"type":"RAW"}"#),
            (r#"{"type":"RAW","rawEvent":null}"#, r#"{"type":"RAW"}"#),
            (r#"{ "rawEvent" : 1 , "rawEvent":2, "u":"\u00e9" , "rawEvent" : 3 }"#, r#"{ "u":"\u00e9" }"#),
            (r#"{"rawEvent":1}"#, "{}"),
            ("{\n  \"a\": 1,\n  \"rawEvent\": 2,\n  \"b\": 3\n}", "{\n  \"a\": 1,\n  \"b\": 3\n}"),
        ];
        for (before, after) in cases {
            assert_eq!(strip(before).as_deref(), Some(after), "{before}");
        }
        assert_eq!(strip(r#"{"type":"RAW","event":{"rawEvent":1}}"#), None);
    }

    #[test]
    fn what_is_no_utf8_is_known_and_read_as_a_lenient_reader_does() {
        let plain = |delta: &[u8]| {
            Event::made(
                [&b"{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\""[..], delta, b"\"}"].concat(),
            )
        };
        assert!(plain("é🌍".as_bytes()).is_utf8() && event(r#"{"type":"RAW","event":"é"}"#).is_utf8());
        for (broken, read) in [
            (&b"caf\xe9"[..], "caf\u{fffd}"),
            (b"\xf0\x9f\x8c x", "\u{fffd} x"),
            (b"\xed\xa0\x80", "\u{fffd}\u{fffd}\u{fffd}"),
            (b"\xc0\x80", "\u{fffd}\u{fffd}"),
        ] {
            let event = plain(broken).named_error();
            assert!(!event.is_utf8(), "{broken:x?}");
            let event = event.in_utf8();
            assert!(event.is_utf8() && event.is_named_error());
            assert_eq!(event.string("delta").unwrap(), read);
        }
        assert_eq!(Event::made(&b"{\"\xff\":1,\"type\":\"RAW\"}"[..]).in_utf8().kind(), EventKind::Raw);
    }

    #[test]
    fn what_is_no_whole_object_is_not_edited() {
        for text in [r#"{"rawEvent":1"#, r#"[{"rawEvent":1}]"#, "{\"rawEvent\":1}\n{\"rawEvent\":2}"] {
            assert!(event(text).without(|m| m.is("rawEvent")).is_none(), "{text}");
        }
    }

    #[test]
    fn the_gateways_own_error_is_valid_json() {
        let error = Event::run_error("a \"quoted\"\nmessage", "IDLE_TIMEOUT");
        let value: serde_json::Value = serde_json::from_slice(error.text()).unwrap();
        assert_eq!(
            value,
            serde_json::json!({"type":"RUN_ERROR","message":"a \"quoted\"\nmessage","code":"IDLE_TIMEOUT"})
        );
        assert_eq!(Event::new(error.text().clone(), None).kind(), EventKind::RunError);
    }
}
