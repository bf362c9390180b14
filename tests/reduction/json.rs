//! JSON text comes in, a [`Value`] goes out that can hold what a client holds: a half of a surrogate pair, which a Rust
//! string cannot, stands as a private character until its other half comes.
//!
//! Numbers that are equal are equal here however they are spelled.

use serde_json::{Map, Number, Value};

/// The private character that stands for the first half of a pair; the others follow in order.
const HALF: u32 = 0x10_F800;

/// The private character for this half.
pub fn half(unit: u16) -> char {
    char::from_u32(HALF + u32::from(unit) - 0xD800).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The half that this private character stands for.
pub fn unit(char: char) -> Option<u16> {
    u32::from(char).checked_sub(HALF).and_then(|at| u16::try_from(at + 0xD800).ok())
}

/// The value of this text; `None` if it is no JSON.
pub fn parse(text: &str) -> Option<Value> {
    serde_json::from_str(&with_halves(text)).ok().map(plain)
}

/// The text with each lone half as its private character.
fn with_halves(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (taken, written) = match escaped(rest) {
            Some(0xD800..=0xDBFF) if matches!(rest.get(6..).and_then(escaped), Some(0xDC00..=0xDFFF)) => (12, None),
            Some(lone @ 0xD800..=0xDFFF) => (6, Some(half(lone))),
            Some(_) => (6, None),
            None => (1 + rest[1..].chars().next().map_or(0, char::len_utf8), None),
        };
        match written {
            Some(half) => out.push(half),
            None => out.push_str(&rest[..taken]),
        }
        rest = &rest[taken..];
    }
    out + rest
}

/// The code unit that `text` begins with, if it is spelled `\uXXXX`.
fn escaped(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

/// The text with neighbouring halves as the character that they make.
pub fn joined(text: &str) -> String {
    if !text.chars().any(|char| unit(char).is_some()) {
        return text.into();
    }
    let units = text.chars().flat_map(|char| match unit(char) {
        Some(unit) => vec![unit],
        None => char.encode_utf16(&mut [0; 2]).to_vec(),
    });
    char::decode_utf16(units).map(|char| char.unwrap_or_else(|lone| half(lone.unpaired_surrogate()))).collect()
}

/// The text in pieces that nothing has to be cut in: a character outside the first plane is two halves.
pub fn units(text: &str) -> Vec<char> {
    let units = |char: char| match char.len_utf16() {
        1 => vec![char],
        _ => char.encode_utf16(&mut [0; 2]).iter().map(|unit| half(*unit)).collect(),
    };
    text.chars().flat_map(units).collect()
}

/// The value with halves joined and numbers in one spelling.
pub fn plain(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(number_of(number)),
        Value::String(text) => Value::String(joined(&text)),
        Value::Array(list) => list.into_iter().map(plain).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (joined(&name), plain(value))).collect::<Map<_, _>>().into()
        }
        other => other,
    }
}

fn number_of(number: Number) -> Number {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match number.as_f64() {
        #[allow(clippy::cast_possible_truncation)]
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < EXACT => (float as i64).into(),
        _ => number,
    }
}

#[test]
fn halves_are_told_apart_and_joined() {
    let cases = [
        (r#""\ud83d\ude00""#, "😀".to_owned()),
        (r#""\\ud83d""#, "\\ud83d".to_owned()),
        (r#""a\uD83Db""#, format!("a{}b", half(0xD83D))),
        (r#""\ude00\ud83d""#, [half(0xDE00), half(0xD83D)].iter().collect()),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text), Some(Value::String(expected)), "{text}");
    }
    assert_eq!(joined(&units("a😀é").into_iter().collect::<String>()), "a😀é");
    assert_eq!(parse("[1.0,-0.0,1e2,0.5]"), parse("[1,0,100,0.5]"));
}
