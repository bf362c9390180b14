//! A payload comes in, what it is besides an event of a known kind goes out: text that is no JSON, several events in one,
//! a sentinel, the failure of a server that speaks something else. Also the text that was meant, where that is certain.

use std::ops::Range;

use serde::de::IgnoredAny;

use super::rule::Rule;
use crate::agui::{
    Encoding, Event, EventKind, Word,
    json::{self, Members},
};

static NAN: Word = Word::new("NaN");
static INFINITY: Word = Word::new("Infinity");

/// How many payloads may be glued together in one frame.
const PIECES_MAX: usize = 1024;

/// The rule that this payload breaks as a payload. `closely`: every byte is looked at; else those of events whose kind
/// is known only where they look odd. `foreign`: the failures of other protocols are told apart.
pub fn breach(event: &Event, closely: bool, foreign: bool) -> Option<Rule> {
    let text: &[u8] = event.text();
    let is_utf8 = event.is_utf8();
    if event.kind() != EventKind::Other {
        if !is_utf8 {
            return Some(Rule::InvalidEncoding);
        }
        return (is_suspicious(text, closely) && !is_json(text)).then(|| of_broken(text));
    }
    if event.frame(Encoding::Protobuf).is_some() {
        // An event of a later version, which nobody can read here.
        return None;
    }
    let is_json = is_utf8 && is_json(text);
    if foreign && (event.is_named_error() || (is_json && self::foreign(text).is_some())) {
        return Some(Rule::ForeignError);
    }
    if !is_utf8 {
        return Some(Rule::InvalidEncoding);
    }
    if !is_json {
        return Some(of_broken(text));
    }
    if !text.trim_ascii_start().starts_with(b"{") {
        return Some(Rule::NotAnObject);
    }
    let has_type = event.type_name().is_some_and(|name| !name.is_empty());
    (!has_type).then_some(Rule::MissingType)
}

fn is_suspicious(text: &[u8], closely: bool) -> bool {
    closely || NAN.is_in(text) || INFINITY.is_in(text)
}

/// Whether a text in UTF-8 is one JSON value; depth costs no stack.
fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(text).is_ok()
}

fn of_broken(text: &[u8]) -> Rule {
    match text.trim_ascii() {
        b"[DONE]" => Rule::DoneSentinel,
        _ if pieces(text).is_some() => Rule::GluedFrames,
        _ => Rule::MalformedJson,
    }
}

/// Where the objects lie that a text is made of; `None` if it is not made of several, or of something else too. A
/// `[DONE]` behind them is nothing.
pub fn pieces(text: &[u8]) -> Option<Vec<Range<usize>>> {
    let text = text.strip_suffix(b"[DONE]").unwrap_or(text);
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    let mut list = Vec::new();
    let mut from = 0;
    while let Some(value) = values.next() {
        value.ok()?;
        let piece = text.get(from..values.byte_offset())?;
        let skipped = piece.len() - piece.trim_ascii_start().len();
        if piece.get(skipped) != Some(&b'{') || list.len() == PIECES_MAX {
            return None;
        }
        list.push(from + skipped..values.byte_offset());
        from = values.byte_offset();
    }
    (!list.is_empty()).then_some(list)
}

/// A text with `null` for what is no number and no JSON, as JavaScript writes it; `None` if it has none of that.
pub fn without_non_numbers(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let (mut from, mut at, mut in_string) = (0, 0, false);
    while let Some(byte) = text.get(at) {
        match (in_string, byte) {
            (true, b'\\') => at += 1,
            (_, b'"') => in_string = !in_string,
            (false, b'N' | b'I' | b'-') => {
                let rest = text.get(at..).unwrap_or_default();
                let word = [&b"NaN"[..], b"Infinity", b"-Infinity"].into_iter().find(|word| rest.starts_with(word));
                if let Some(word) = word {
                    out.extend_from_slice(text.get(from..at)?);
                    out.extend_from_slice(b"null");
                    at += word.len();
                    from = at;
                    continue;
                }
            }
            _ => {}
        }
        at += 1;
    }
    if from == 0 {
        return None;
    }
    out.extend_from_slice(text.get(from..)?);
    Some(out)
}

/// How sure it is that a payload is a failure in another protocol's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// It says so.
    Surely,
    /// It may be anything that a person would read, unless the stream is over after it.
    IfLast,
}

/// Whether a payload is another protocol's failure: an object of type `error`, in whatever case, or one without a type
/// that is called so or has an `error`; and one with a `detail` or a `message` alone, if nothing comes after it.
pub fn foreign(text: &[u8]) -> Option<Foreign> {
    let (mut typed, mut fails, mut tells) = (None, false, false);
    let is_error = |value| json::string(value).is_some_and(|name| name.eq_ignore_ascii_case("error"));
    for member in Members::of(text) {
        let value = member.value;
        match &*member.name()? {
            "type" if !member.is_null() => typed = Some(is_error(value)),
            "event" => fails |= is_error(value),
            "error" | "errorText" => fails |= !matches!(value, b"null" | b"false" | b"0" | b"\"\""),
            "message" => tells |= message_in(value, false).is_some(),
            "detail" => tells |= message_in(value, true).is_some(),
            _ => {}
        }
    }
    match typed {
        Some(false) => None,
        Some(true) => Some(Foreign::Surely),
        None if fails => Some(Foreign::Surely),
        None => tells.then_some(Foreign::IfLast),
    }
}

/// Where servers write what went wrong; the first that has words is heard.
const WORDS: [&str; 8] = ["error", "errorText", "message", "detail", "content", "text", "data", "reason"];

/// What a failure says went wrong, or all of it if that is not told from the rest; `None` if it says no more than that
/// it is one.
pub fn words(text: &[u8]) -> Option<String> {
    let text = text.trim_ascii();
    let spelled = || match text.starts_with(b"{") {
        true => {
            let says_more = Members::of(text).any(|member| !member.is("type") && !member.is("event"));
            says_more.then(|| String::from_utf8_lossy(text).into_owned())
        }
        false => Some(said(text)),
    };
    words_beside(text).or_else(spelled)
}

/// What the members of an object say went wrong.
pub fn words_beside(text: &[u8]) -> Option<String> {
    let mut found: [Option<String>; WORDS.len()] = Default::default();
    for member in Members::of(text) {
        let at = WORDS.iter().position(|word| member.is(word));
        if let Some(slot) = at.and_then(|at| found.get_mut(at)) {
            *slot = message_in(member.value, true);
        }
    }
    found.into_iter().flatten().next()
}

/// A value as words: its text, its own message, or else how it is spelled.
pub fn said(value: &[u8]) -> String {
    let value = value.trim_ascii();
    message_in(value, true).unwrap_or_else(|| String::from_utf8_lossy(value).into_owned())
}

/// The text of a message: a string, or what an object says as its own message.
fn message_in(value: &[u8], may_nest: bool) -> Option<String> {
    match value.first()? {
        b'"' => json::string(value).map(std::borrow::Cow::into_owned).filter(|text| !text.is_empty()),
        b'{' if may_nest => {
            let inner = |name| Members::of(value).find(|m| m.is(name)).and_then(|m| message_in(m.value, false));
            let found = ["message", "detail", "error", "content", "text", "reason", "type"].into_iter().find_map(inner);
            Some(found.unwrap_or_else(|| String::from_utf8_lossy(value).into_owned()))
        }
        b'[' if may_nest => Some(String::from_utf8_lossy(value).into_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<&'static str> {
        let event = Event::made(text.as_bytes().to_vec());
        breach(&event, true, true).map(Rule::as_str)
    }

    #[test]
    fn payloads_are_told_apart() {
        for (text, rule) in [
            (r#"{"type":"RAW","event":1}"#, None),
            (r#"{"type":"heartbeat"}"#, None),
            (r#"{"type":"errors","message":"x"}"#, None),
            (r#"{"type":"RUN_ERRORED","error":"x"}"#, None),
            (r#"{"type":"error"}"#, Some("foreign_error")),
            (r#"{"type":"ERROR","error":{"message":"x"}}"#, Some("foreign_error")),
            (r#"{"type":null,"error":"x"}"#, Some("foreign_error")),
            (r#"{"event":"error","message":"x"}"#, Some("foreign_error")),
            (r#"{"event":"message","data":"x"}"#, Some("missing_type")),
            (r#"{"detail":"x"}"#, Some("foreign_error")),
            (r#"{"error":null}"#, Some("missing_type")),
            (" [DONE] ", Some("done_sentinel")),
            ("null", Some("not_an_object")),
            ("[{}]", Some("not_an_object")),
            ("{}", Some("missing_type")),
            (r#"{"type":1}"#, Some("missing_type")),
            (r#"{"type":"","message":"x"}"#, Some("missing_type")),
            (r#"{"error":"x"}"#, Some("foreign_error")),
            (r#"{"type":"error","errorText":"x"}"#, Some("foreign_error")),
            ("{\"type\":\"RAW\"}\n{\"type\":\"RAW\"}", Some("glued_frames")),
            ("{\"type\":\"RAW\"}{\"x\":1}\n[DONE]", Some("glued_frames")),
            (r#"{"type":"RAW","event":NaN}"#, Some("malformed_json")),
            (r#"{"type":"RAW","event":{"a":"#, Some("malformed_json")),
            (r#"{"type":"RAW"}[1]"#, Some("malformed_json")),
            ("oops", Some("malformed_json")),
        ] {
            assert_eq!(of(text), rule, "{text}");
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!(r#"{{"type":"RAW","event":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(of(&deep), None);
        assert_eq!(of(&deep[..deep.len() - 2]), Some("malformed_json"));
        assert_eq!(of(&[&*deep, &*deep].concat()), Some("glued_frames"));
    }

    #[test]
    fn what_is_no_number_is_null_outside_of_strings() {
        let healed =
            |text: &str| without_non_numbers(text.as_bytes()).map(|text| String::from_utf8_lossy(&text).into_owned());
        assert_eq!(
            healed(r#"{"a":NaN,"b":[-Infinity,Infinity , -1],"c":"NaN \" NaN"}"#).as_deref(),
            Some(r#"{"a":null,"b":[null,null , -1],"c":"NaN \" NaN"}"#)
        );
        assert_eq!(healed(r#"{"a":"NaN"}"#), None);
    }

    #[test]
    fn a_failure_is_told_from_what_may_be_one() {
        for (text, expected) in [
            (r#"{"type":"error"}"#, Some(Foreign::Surely)),
            (r#"{"message":"x","type":"Error"}"#, Some(Foreign::Surely)),
            (r#"{"error":{"code":1}}"#, Some(Foreign::Surely)),
            (r#"{"error":true,"message":"x"}"#, Some(Foreign::Surely)),
            (r#"{"error":false,"message":"x"}"#, Some(Foreign::IfLast)),
            (r#"{"event":"ERROR"}"#, Some(Foreign::Surely)),
            (r#"{"message":"x"}"#, Some(Foreign::IfLast)),
            (r#"{"detail":[{"msg":"no"}]}"#, Some(Foreign::IfLast)),
            (r#"{"message":{"content":"hi"}}"#, None),
            (r#"{"type":"x","error":"quota"}"#, None),
            (r#"{"type":"","message":"x"}"#, None),
            ("{}", None),
            ("quota", None),
        ] {
            assert_eq!(foreign(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn what_a_failure_says_is_found() {
        for (text, message) in [
            (r#"{"error":"quota"}"#, Some("quota")),
            (r#"{"error":{"message":"quota","code":1}}"#, Some("quota")),
            (r#"{"type":"error","error":{"type":"overloaded"}}"#, Some("overloaded")),
            (r#"{"type":"error","content":"boom"}"#, Some("boom")),
            (r#"{"type":"error","data":{"message":"boom"}}"#, Some("boom")),
            (r#"{"type":"error","data":"boom"}"#, Some("boom")),
            (r#"{"type":"error","message":{"text":"boom"}}"#, Some("boom")),
            (r#"{"detail":[{"msg":"no"}]}"#, Some(r#"[{"msg":"no"}]"#)),
            (r#"{"error":{"code":1}}"#, Some(r#"{"code":1}"#)),
            (r#"{"message":"quota","detail":"x"}"#, Some("quota")),
            (r#"{"type":"error","error":null,"reason":"quota"}"#, Some("quota")),
            (r#"{"type":"error","code":500}"#, Some(r#"{"type":"error","code":500}"#)),
            (r#" "quota" "#, Some("quota")),
            ("quota ", Some("quota")),
            (r#"{"type":"error"}"#, None),
            (r#"{"event":"error","type":"error"}"#, None),
        ] {
            assert_eq!(words(text.as_bytes()).as_deref(), message, "{text}");
        }
    }
}
