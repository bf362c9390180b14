//! Two values come in; whether they are the same to RFC 6902 goes out: numbers by value, strings by their characters,
//! objects whatever the order of their members.

use super::{
    Fault,
    tree::{Allowance, DEPTH, Node},
};
use crate::agui::json;

/// Whether these are the same.
pub(super) fn equal(a: &Node, b: &Node, allowance: &mut Allowance) -> Result<bool, Fault> {
    at_depth(a, b, allowance, 0)
}

fn at_depth(a: &Node, b: &Node, allowance: &mut Allowance, depth: usize) -> Result<bool, Fault> {
    if depth > DEPTH {
        return Err(Fault::Beyond);
    }
    if let (Node::Text(a), Node::Text(b)) = (a, b) {
        allowance.work(a.len().min(b.len()))?;
        if a == b {
            return Ok(true);
        }
    }
    let (a, b) = (a.opened(allowance)?, b.opened(allowance)?);
    match (&*a, &*b) {
        (Node::Array(a), Node::Array(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (a, b) in a.iter().zip(b) {
                if !at_depth(a, b, allowance, depth + 1)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Node::Object(a), Node::Object(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (name, a) in a.iter() {
                let Some(b) = b.get(name) else { return Ok(false) };
                if !at_depth(a, b, allowance, depth + 1)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Node::Text(a), Node::Text(b)) => Ok(scalars(a, b)),
        _ => Ok(false),
    }
}

/// Whether two texts that are no array and no object mean the same.
fn scalars(a: &[u8], b: &[u8]) -> bool {
    match (a.first(), b.first()) {
        (Some(b'"'), Some(b'"')) => match (json::string(a), json::string(b)) {
            (Some(a), Some(b)) => a == b,
            _ => a == b,
        },
        (Some(b'-' | b'0'..=b'9'), Some(b'-' | b'0'..=b'9')) => numbers(a, b).unwrap_or(false),
        _ => a == b,
    }
}

/// Whole numbers are compared digit by digit as far as 128 bits reach, all others as clients hold them.
fn numbers(a: &[u8], b: &[u8]) -> Option<bool> {
    let (a, b) = (std::str::from_utf8(a).ok()?, std::str::from_utf8(b).ok()?);
    if let (Ok(a), Ok(b)) = (a.parse::<i128>(), b.parse::<i128>()) {
        return Some(a == b);
    }
    let (a, b) = (a.parse::<f64>().ok()?, b.parse::<f64>().ok()?);
    Some(a == b)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn same(a: &'static str, b: &'static str) -> bool {
        let node = |text: &'static str| Node::Text(Bytes::from_static(text.as_bytes()));
        let forth = equal(&node(a), &node(b), &mut Allowance::with(1 << 20)).unwrap();
        assert_eq!(forth, equal(&node(b), &node(a), &mut Allowance::with(1 << 20)).unwrap(), "{a} {b}");
        forth
    }

    #[test]
    fn spelling_does_not_count() {
        for (a, b) in [
            ("1", "1.0"),
            ("1e21", "1000000000000000000000"),
            ("0", "-0.0"),
            (r#""é\n""#, r#""\u00e9\u000a""#),
            (r#"{"a":1,"b":[2]}"#, r#"{ "b" : [ 2.0 ], "a" : 1 }"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            (r#""\ud800""#, r#""\ud800""#),
            ("[]", "[ ]"),
        ] {
            assert!(same(a, b), "{a} {b}");
        }
    }

    #[test]
    fn values_do() {
        for (a, b) in [
            ("1", "2"),
            ("9007199254740993", "9007199254740992"),
            ("12345678901234567890123", "12345678901234567890124"),
            ("1", "\"1\""),
            ("null", "false"),
            ("{}", "[]"),
            ("{\"a\":null}", "{}"),
            ("[1,2]", "[2,1]"),
            ("\"a\"", "\"A\""),
        ] {
            assert!(!same(a, b), "{a} {b}");
        }
    }

    #[test]
    fn what_is_too_deep_is_not_judged() {
        let nest = |inner: &str| Node::Text(format!("{}{inner}{}", "[".repeat(4000), "]".repeat(4000)).into());
        assert_eq!(equal(&nest("1"), &nest("2"), &mut Allowance::with(1 << 20)), Err(Fault::Beyond));
        assert_eq!(equal(&nest("1"), &nest("1"), &mut Allowance::with(1 << 20)), Ok(true));
    }
}
