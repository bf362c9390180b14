//! A JSON value comes in, the values at a pointer in it, or whether an expression finds something in it, go out. Where
//! readers of JSON may disagree, each of their readings counts.

use std::borrow::Cow;

use memchr::{memchr, memchr2};
use regex::Regex;

use crate::agui::json::{self, Elements, Members};

/// The parts of a JSON pointer; `None` if it is none.
pub fn pointer(text: &str) -> Option<Vec<String>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let part = |part: &str| {
        let whole = part.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
        whole.then(|| part.replace("~1", "/").replace("~0", "~"))
    };
    text.strip_prefix('/')?.split('/').map(part).collect()
}

/// The values at this pointer: several if a member on the way to them is given more than once.
pub fn at<'a>(value: &'a [u8], path: &[String]) -> Vec<&'a [u8]> {
    let mut found = vec![value.trim_ascii()];
    for part in path {
        found = found.into_iter().flat_map(|value| step(value, part)).collect();
    }
    found
}

fn step<'a>(value: &'a [u8], part: &str) -> Vec<&'a [u8]> {
    match value.first() {
        Some(b'{') => Members::of(value).filter(|member| member.is(part)).map(|member| member.value).collect(),
        Some(b'[') => {
            let plain = part == "0" || !part.starts_with(['0', '+']);
            let index = part.parse::<usize>().ok().filter(|_| plain);
            let place = index.and_then(|index| Elements::of(value).nth(index));
            place.and_then(|place| value.get(place)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Whether the expression matches a value: the text of a string; of anything else its JSON, each string in it, and the
/// texts of content parts, one behind the other. A string that cannot be read counts as a match.
pub fn is_match(value: &[u8], regex: &Regex) -> bool {
    if value.first() == Some(&b'"') {
        return json::string(value).is_none_or(|text| regex.is_match(&text));
    }
    let Ok(raw) = std::str::from_utf8(value) else { return true };
    if regex.is_match(raw) {
        return true;
    }
    let mut strings = strings(value);
    if strings.any(|text| text.is_none_or(|text| regex.is_match(&text))) {
        return true;
    }
    let parts = Elements::of(value).filter_map(|place| value.get(place));
    let texts = parts.flat_map(|part| Members::of(part).filter(|member| member.is("text")).collect::<Vec<_>>());
    let joined: String = texts.filter_map(|member| member.string().map(Cow::into_owned)).collect();
    !joined.is_empty() && regex.is_match(&joined)
}

/// Every string in a value, names too, at whatever depth; `None` for one that cannot be read.
fn strings(value: &[u8]) -> impl Iterator<Item = Option<Cow<'_, str>>> {
    let mut rest = value;
    std::iter::from_fn(move || {
        let start = memchr(b'"', rest)?;
        rest = rest.get(start..)?;
        let mut end = 1;
        loop {
            let Some(found) = rest.get(end..).and_then(|text| memchr2(b'"', b'\\', text)) else {
                rest = &[];
                return Some(None);
            };
            end += found + 1;
            if rest.get(end - 1) == Some(&b'"') {
                break;
            }
            end += 1;
        }
        let (string, behind) = rest.split_at_checked(end)?;
        rest = behind;
        Some(json::string(string))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn found(value: &str, path: &str) -> Vec<String> {
        let path = pointer(path).unwrap();
        at(value.as_bytes(), &path).into_iter().map(|value| String::from_utf8(value.to_vec()).unwrap()).collect()
    }

    #[test]
    fn a_pointer_finds_members_and_elements() {
        let value = r#" {"a":{"b/c":[1,{"~":"x"}]},"":2} "#;
        assert_eq!(found(value, "/a/b~1c/1/~0"), [r#""x""#]);
        assert_eq!(found(value, "/a/b~1c/0"), ["1"]);
        assert_eq!(found(value, "/"), ["2"]);
        assert_eq!(found(value, ""), [value.trim()]);
        for missing in ["/b", "/a/b~1c/2", "/a/b~1c/00", "/a/b~1c/-", "/a/b~1c/+1", "/a/b~1c/0/x"] {
            assert!(found(value, missing).is_empty(), "{missing}");
        }
        assert_eq!(found(r#"{"a":1,"\u0061":2}"#, "/a"), ["1", "2"], "each of a member given often");
    }

    #[test]
    fn what_is_no_pointer_is_none() {
        for text in ["a", "a/b", "/~", "/a~2", "/~/x"] {
            assert_eq!(pointer(text), None, "{text}");
        }
    }

    #[test]
    fn an_expression_looks_at_every_reading_of_a_value() {
        let is = |value: &str, regex: &str| is_match(value.as_bytes(), &Regex::new(regex).unwrap());
        assert!(is("17", "^17$") && is("true", "true") && is("null", "null"));
        assert!(is(r#""a\u0062c""#, "^abc$"));
        assert!(is(r#"{"x":["a\u0062c"]}"#, "^abc$"), "a string within");
        assert!(is(r#"{"x\u0079":1}"#, "^xy$"), "a name within");
        assert!(is(r#"[{"text":"ab"},{"text":"cd"}]"#, "bc"));
        assert!(!is(r#"[{"text":"ab"},{"text":"cd"}]"#, "bd"));
        assert!(is(r#""\ud83d""#, "x") && is(r#"["\ud83d"]"#, "x"), "what cannot be read");
        assert!(!is(r#""abc""#, "^b"));
    }
}
