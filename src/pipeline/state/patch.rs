//! The text of a JSON Patch comes in, its operations go out, each with everything it needs. Whether they apply is not
//! asked here.

use bytes::Bytes;

use super::{Fault, tree::DEPTH};
use crate::agui::json::{self, Elements, Members};

/// More operations than this are not followed.
const OPERATIONS: usize = 1 << 16;

/// The way to a value: the names and indices of RFC 6901, unescaped. Empty is the whole.
pub(super) type Pointer = Vec<String>;

/// An operation of RFC 6902.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Add(Pointer, Bytes),
    Remove(Pointer),
    Replace(Pointer, Bytes),
    Move {
        from: Pointer,
        to: Pointer,
    },
    Copy {
        from: Pointer,
        to: Pointer,
    },
    Test(Pointer, Bytes),
    /// Of another name: left out, as the protocol wants it.
    Unknown,
}

/// The operations in `text`, in order: as many as it has elements.
pub(super) fn read(text: &[u8]) -> Result<Vec<Operation>, Fault> {
    let mut elements = Elements::of(text);
    let mut operations = Vec::new();
    for place in elements.by_ref() {
        if operations.len() == OPERATIONS {
            return Err(Fault::Beyond);
        }
        operations.push(operation(&text[place])?);
    }
    if elements.is_complete() { Ok(operations) } else { Err(Fault::Malformed) }
}

fn operation(text: &[u8]) -> Result<Operation, Fault> {
    let (mut op, mut path, mut from, mut value) = (None, None, None, None);
    let mut members = Members::of(text);
    for member in members.by_ref() {
        // Of members with the same name the last one counts.
        for (name, slot) in [("op", &mut op), ("path", &mut path), ("from", &mut from), ("value", &mut value)] {
            if member.is(name) {
                *slot = Some(member.value);
            }
        }
    }
    if !members.is_complete() {
        return Err(Fault::Malformed);
    }
    // A value outlives the event that brought it, and must not hold the rest of that in memory.
    let value = || value.map(Bytes::copy_from_slice).ok_or(Fault::Malformed);
    Ok(match &*string(op)? {
        "add" => Operation::Add(pointer(path)?, value()?),
        "remove" => Operation::Remove(pointer(path)?),
        "replace" => Operation::Replace(pointer(path)?, value()?),
        "move" => Operation::Move { from: pointer(from)?, to: pointer(path)? },
        "copy" => Operation::Copy { from: pointer(from)?, to: pointer(path)? },
        "test" => Operation::Test(pointer(path)?, value()?),
        _ => Operation::Unknown,
    })
}

fn string(value: Option<&[u8]>) -> Result<std::borrow::Cow<'_, str>, Fault> {
    let text = value.filter(|text| text.starts_with(b"\"")).ok_or(Fault::Malformed)?;
    // A string that cannot be read holds half of a surrogate pair.
    json::string(text).ok_or(Fault::Beyond)
}

fn pointer(value: Option<&[u8]>) -> Result<Pointer, Fault> {
    let text = string(value)?;
    if text.is_empty() {
        return Ok(Pointer::new());
    }
    let rest = text.strip_prefix('/').ok_or(Fault::Malformed)?;
    let tokens = rest.split('/').map(unescaped).collect::<Result<Pointer, _>>()?;
    if tokens.len() > DEPTH { Err(Fault::Beyond) } else { Ok(tokens) }
}

fn unescaped(token: &str) -> Result<String, Fault> {
    let mut parts = token.split('~');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (character, rest) = match part.as_bytes().first() {
            Some(b'0') => ('~', &part[1..]),
            Some(b'1') => ('/', &part[1..]),
            _ => return Err(Fault::Malformed),
        };
        out.push(character);
        out.push_str(rest);
    }
    Ok(out)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn path(tokens: &[&str]) -> Pointer {
        tokens.iter().map(|token| (*token).to_owned()).collect()
    }

    #[test]
    fn operations_are_read_with_what_they_need() {
        let text = br#"[{"op":"add","path":"/a~1b/~0/","value":1.50,"x":1},{"path":"","op":"replace","value":{}},
            {"op":"move","from":"/a","path":"/b/-"},{"op":"test","path":"/~01","value":null,"value":2},{"op":"merge"}]"#;
        let expected = [
            Operation::Add(path(&["a/b", "~", ""]), Bytes::from_static(b"1.50")),
            Operation::Replace(path(&[]), Bytes::from_static(b"{}")),
            Operation::Move { from: path(&["a"]), to: path(&["b", "-"]) },
            Operation::Test(path(&["~1"]), Bytes::from_static(b"2")),
            Operation::Unknown,
        ];
        assert_eq!(read(text).unwrap(), expected);
        assert_eq!(read(b"[]").unwrap(), []);
    }

    #[test]
    fn what_lacks_something_is_malformed() {
        for text in [
            "{}",
            "null",
            "[1]",
            r#"[{"path":"/a"}]"#,
            r#"[{"op":1,"path":"/a"}]"#,
            r#"[{"op":"add","path":"/a"}]"#,
            r#"[{"op":"remove"}]"#,
            r#"[{"op":"remove","path":null}]"#,
            r#"[{"op":"remove","path":"a"}]"#,
            r#"[{"op":"remove","path":"/~"}]"#,
            r#"[{"op":"remove","path":"/~2"}]"#,
            r#"[{"op":"copy","path":"/a"}]"#,
        ] {
            assert_eq!(read(text.as_bytes()), Err(Fault::Malformed), "{text}");
        }
    }

    #[test]
    fn what_is_beyond_any_bound_is_not_judged() {
        let deep = format!(r#"[{{"op":"remove","path":"{}"}}]"#, "/a".repeat(DEPTH + 1));
        let many = format!("[{}]", vec![r#"{"op":"x"}"#; OPERATIONS + 1].join(","));
        for text in [&deep, &many, r#"[{"op":"remove","path":"/\ud800"}]"#] {
            assert_eq!(read(text.as_bytes()), Err(Fault::Beyond));
        }
    }
}
