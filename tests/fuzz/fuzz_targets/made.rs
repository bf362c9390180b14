//! Bytes come in, JSON of a given shape goes out: mostly as the protocol has it, now and then not, and it always comes to
//! an end. It is no judge of what it makes.

use libfuzzer_sys::arbitrary::Unstructured;

/// What a value looks like.
#[derive(Debug)]
pub enum Shape {
    /// One of these texts as it stands, but for `@`, which is a long one.
    One(&'static [&'static str]),
    /// A list of some such values.
    Each(&'static Shape),
    /// An object with some of these members.
    Object(&'static [Member]),
    /// A value of one of these shapes.
    Any(&'static [Shape]),
}

/// A member: its name and its value.
pub type Member = (&'static str, Shape);

/// Values that few members take.
const ODD: &[&str] = &[
    "null",
    "0",
    "-1.50e300",
    "true",
    r#""""#,
    r#""x\n\"\u00e9""#,
    r#""\ud83d""#,
    "[]",
    "[ ]",
    "{}",
    "{ }",
    "[null]",
    r#"[1,"x",{}]"#,
    r#"{"type":"RAW","a":[{"subagentRunId":null}]}"#,
    r#"{"a":1,"a":2}"#,
    "[[[[[[[[]]]]]]]]",
    "1e999",
];

/// How long a long text is, and how often a member is there that is there often: a copy of the one for each of the other
/// is far more than both.
const LONG: usize = 600;
const OFTEN: usize = 32;

/// The next byte; zero where there is none, which always is the plain choice.
pub fn byte(bytes: &mut Unstructured<'_>) -> u8 {
    bytes.arbitrary().unwrap_or_default()
}

/// One of these.
pub fn pick<'a, T>(bytes: &mut Unstructured<'_>, from: &'a [T]) -> &'a T {
    &from[usize::from(byte(bytes)) % from.len()]
}

/// Writes a value of this shape.
pub fn value(bytes: &mut Unstructured<'_>, shape: &Shape, out: &mut String) {
    if byte(bytes) >= 248 {
        return out.push_str(pick(bytes, ODD));
    }
    match shape {
        Shape::One(texts) => out.push_str(&pick(bytes, texts).replace('@', &"p".repeat(LONG))),
        Shape::Any(shapes) => {
            let shape = pick(bytes, shapes);
            value(bytes, shape, out);
        }
        Shape::Object(members) => {
            out.push('{');
            self::members(bytes, members, false, out);
            out.push('}');
        }
        Shape::Each(shape) => {
            out.push('[');
            for n in 0..byte(bytes) % 5 {
                out.push_str(if n == 0 { "" } else { "," });
                value(bytes, shape, out);
            }
            out.push(']');
        }
    }
}

/// Writes some of these members, behind a comma if they `follow` others. Few are there twice, or oddly spelled; few
/// objects begin with another than the first.
pub fn members(bytes: &mut Unstructured<'_>, members: &[Member], follow: bool, out: &mut String) {
    let mut comma = if follow { "," } else { "" };
    let first = match byte(bytes) {
        turn @ 200.. => usize::from(turn - 200) % members.len().max(1),
        _ => 0,
    };
    for (name, shape) in members[first..].iter().chain(&members[..first]) {
        let (times, spelled) = match byte(bytes) {
            0..=167 => (1, format!("\"{name}\":")),
            168..=231 => (0, String::new()),
            232..=238 => (2, format!("\"{name}\":")),
            239 => (OFTEN, format!("\"{name}\":")),
            240..=247 => (1, format!("\n  \"{name}\" : ")),
            248.. => (1, escaped(name)),
        };
        for _ in 0..times {
            out.push_str(comma);
            out.push_str(&spelled);
            value(bytes, shape, out);
            comma = ",";
        }
    }
}

/// A name with its first letter as an escape.
fn escaped(name: &str) -> String {
    match name.chars().next() {
        Some(first) => format!("\"\\u{:04x}{}\":", u32::from(first), &name[first.len_utf8()..]),
        None => "\"\":".to_owned(),
    }
}
