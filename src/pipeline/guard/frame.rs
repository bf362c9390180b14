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
    if foreign && (event.is_named_error() || (is_json && foreign_message(text).is_some())) {
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

/// What a failure in another protocol's frame says: `{"type":"error",…}`, or an object without a type that has an
/// `error`, a `detail` or a `message`.
pub fn foreign_message(text: &[u8]) -> Option<String> {
    let mut found: [Option<String>; 4] = Default::default();
    for member in Members::of(text) {
        let name = member.name()?;
        let at = match &*name {
            "type" if json::string(member.value).as_deref() == Some("error") => continue,
            "type" => return None,
            "error" => 0,
            "errorText" => 1,
            "message" => 2,
            "detail" => 3,
            _ => continue,
        };
        if let Some(slot) = found.get_mut(at) {
            *slot = message_in(member.value, at == 0 || at == 3);
        }
    }
    found.into_iter().flatten().next()
}

/// The text of a message: a string, or what an object says as its own message.
fn message_in(value: &[u8], may_nest: bool) -> Option<String> {
    match value.first()? {
        b'"' => json::string(value).map(std::borrow::Cow::into_owned).filter(|text| !text.is_empty()),
        b'{' if may_nest => {
            let inner = |name| Members::of(value).find(|m| m.is(name)).and_then(|m| message_in(m.value, false));
            let found = ["message", "detail", "error", "type"].into_iter().find_map(inner);
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
            (r#"{"type":"error"}"#, None),
            (r#"{"type":"Error","message":"x"}"#, None),
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
    fn the_message_of_a_foreign_failure_is_found() {
        for (text, message) in [
            (r#"{"error":"quota"}"#, Some("quota")),
            (r#"{"error":{"message":"quota","code":1}}"#, Some("quota")),
            (r#"{"type":"error","error":{"type":"overloaded"}}"#, Some("overloaded")),
            (r#"{"detail":[{"msg":"no"}]}"#, Some(r#"[{"msg":"no"}]"#)),
            (r#"{"error":{"code":1}}"#, Some(r#"{"code":1}"#)),
            (r#"{"message":"quota","detail":"x"}"#, Some("quota")),
            (r#"{"error":null}"#, None),
            (r#"{"message":{"content":"hi"}}"#, None),
            (r#"{"type":"x","error":"quota"}"#, None),
        ] {
            assert_eq!(foreign_message(text.as_bytes()).as_deref(), message, "{text}");
        }
    }
}
