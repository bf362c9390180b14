//! The text of a JSON object or array comes in, the same with some members or elements changed goes out. Every byte
//! that is not part of a change stays as it was spelled.

use std::ops::Range;

use super::json::{Elements, Member, Members, after_comma};

/// What becomes of a member or an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It stays as it is spelled.
    Keep,
    /// It goes, with its comma.
    Drop,
    /// It gets this value, JSON.
    Value(Vec<u8>),
    /// This stands in its place: for a member `"name":value`, for an element a value, or several of either with commas.
    /// Of members with one name only the first is replaced, and the others go: else a name given often would multiply
    /// what stands in its place.
    Whole(Vec<u8>),
}

impl Change {
    /// The value that is this text.
    pub fn text(text: &str) -> Self {
        Self::Value(quoted(text))
    }
}

/// A nested change: what an edit of the value came to.
impl From<Option<Vec<u8>>> for Change {
    fn from(edited: Option<Vec<u8>>) -> Self {
        edited.map_or(Self::Keep, Self::Value)
    }
}

/// This text as a JSON string, with its quotes.
pub fn quoted(text: &str) -> Vec<u8> {
    // Writing a string into memory cannot fail.
    serde_json::to_vec(text).unwrap_or_else(|_| b"\"\"".to_vec())
}

/// The object in `text` with its members changed; `None` if nothing changes, or if it is no whole object.
pub fn members(text: &[u8], mut change: impl FnMut(&Member<'_>) -> Change) -> Option<Vec<u8>> {
    let mut members = Members::of(text);
    let mut splice = Splice::of(text);
    let mut replaced: Vec<String> = Vec::new();
    for member in members.by_ref() {
        let change = match change(&member) {
            Change::Whole(text) => match member.name() {
                Some(name) if replaced.iter().any(|other| *other == name) => Change::Drop,
                name => {
                    replaced.extend(name.map(std::borrow::Cow::into_owned));
                    Change::Whole(text)
                }
            },
            change => change,
        };
        splice.item(member.span.clone(), member.value_span(), change);
    }
    splice.finish(members.is_complete())
}

/// The array in `text` with its elements changed; `None` if nothing changes, or if it is no whole array.
pub fn elements(text: &[u8], mut change: impl FnMut(&[u8]) -> Change) -> Option<Vec<u8>> {
    let mut elements = Elements::of(text);
    let mut splice = Splice::of(text);
    for place in elements.by_ref() {
        splice.item(place.clone(), place.clone(), change(&text[place]));
    }
    splice.finish(elements.is_complete())
}

/// The object in `text` with this value for this member: once, where it stood first, or at its end. `None` if it is no
/// whole object.
pub fn with(text: &[u8], name: &str, value: &[u8]) -> Option<Vec<u8>> {
    let mut found = false;
    let edited = members(text, |member| match member.is(name) {
        // Once, or a name given often would multiply the value.
        true if std::mem::replace(&mut found, true) => Change::Drop,
        true => Change::Value(value.to_vec()),
        false => Change::Keep,
    });
    if found { edited } else { appended(text, name, value) }
}

/// The object in `text` with one more member at its end; `None` if it is no whole object.
pub fn appended(text: &[u8], name: &str, value: &[u8]) -> Option<Vec<u8>> {
    let mut members = Members::of(text);
    let last = members.by_ref().last().map(|member| member.span.end);
    if !members.is_complete() {
        return None;
    }
    inserted(text, last, b'{', &[&quoted(name), b":", value])
}

/// The array in `text` with these values, JSON with commas between them, at its end; `None` if it is no whole array.
pub fn extended(text: &[u8], values: &[u8]) -> Option<Vec<u8>> {
    let mut elements = Elements::of(text);
    let last = elements.by_ref().last().map(|place| place.end);
    if !elements.is_complete() {
        return None;
    }
    inserted(text, last, b'[', &[values])
}

/// The text with these pieces behind the end of the `last` item, or behind the opening bracket if there is none.
fn inserted(text: &[u8], last: Option<usize>, open: u8, pieces: &[&[u8]]) -> Option<Vec<u8>> {
    let at = match last {
        Some(end) => end,
        None => text.iter().position(|byte| *byte == open)? + 1,
    };
    let comma: &[u8] = if last.is_some() { b"," } else { b"" };
    Some([&[&text[..at], comma], pieces, &[&text[at..]]].concat().concat())
}

/// Copies a text up to each change, and goes on behind it.
struct Splice<'a> {
    text: &'a [u8],
    out: Vec<u8>,
    changed: bool,
    from: usize,
    kept_before: bool,
    end_of_last: usize,
}

impl<'a> Splice<'a> {
    fn of(text: &'a [u8]) -> Self {
        Self { text, out: Vec::new(), changed: false, from: 0, kept_before: false, end_of_last: 0 }
    }

    fn item(&mut self, span: Range<usize>, value: Range<usize>, change: Change) {
        match change {
            Change::Keep => self.kept_before = true,
            Change::Drop => {
                // The comma that goes is the one before, or, with nothing before, the one after.
                let cut = if self.kept_before { self.end_of_last } else { span.start };
                let behind = if self.kept_before { span.end } else { after_comma(self.text, span.end) };
                self.put(cut..behind, &[]);
            }
            Change::Value(text) => {
                self.put(value, &text);
                self.kept_before = true;
            }
            Change::Whole(text) => {
                self.put(span.clone(), &text);
                self.kept_before = true;
            }
        }
        self.end_of_last = span.end.max(self.from);
    }

    fn put(&mut self, place: Range<usize>, text: &[u8]) {
        if !std::mem::replace(&mut self.changed, true) {
            self.out.reserve(self.text.len() + text.len());
        }
        if place.start > self.from {
            self.out.extend_from_slice(&self.text[self.from..place.start]);
        }
        self.out.extend_from_slice(text);
        self.from = place.end;
    }

    fn finish(mut self, complete: bool) -> Option<Vec<u8>> {
        if !self.changed || !complete {
            return None;
        }
        self.out.extend_from_slice(&self.text[self.from..]);
        Some(self.out)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn text(edited: Option<Vec<u8>>) -> Option<String> {
        edited.map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_value_is_replaced_and_the_rest_keeps_its_spelling() {
        let change = |m: &Member<'_>| if m.is("b") { Change::text("x\"") } else { Change::Keep };
        let edited = members(br#"{ "a" : 1.50 , "b" : {"c":[1]}, "d":"\u00e9" }"#, change);
        assert_eq!(text(edited).unwrap(), r#"{ "a" : 1.50 , "b" : "x\"", "d":"\u00e9" }"#);
        assert_eq!(members(br#"{"a":1}"#, change), None);
        assert_eq!(members(br#"{"b":1"#, change), None, "what is no whole object is left alone");
    }

    #[test]
    fn members_are_dropped_and_replaced_whole_in_one_pass() {
        let edited = members(br#"{"a":1,"b":2,"c":3,"d":4}"#, |m| match m.name().unwrap().as_ref() {
            "a" | "c" => Change::Drop,
            "d" => Change::Whole(br#""e":5,"f":6"#.to_vec()),
            _ => Change::Keep,
        });
        assert_eq!(text(edited).unwrap(), r#"{"b":2,"e":5,"f":6}"#);
    }

    #[test]
    fn every_choice_of_elements_can_be_dropped() {
        for mask in 0..16u32 {
            for (open, comma, close) in [("[", ",", "]"), ("[ ", " , ", " ]")] {
                let array = format!("{open}{}{close}", ["0", "1", "2", "3"].join(comma));
                let edited = elements(array.as_bytes(), |value| {
                    let n: u32 = std::str::from_utf8(value).unwrap().parse().unwrap();
                    if mask & (1 << n) != 0 { Change::Drop } else { Change::Keep }
                });
                let left: Vec<u32> = (0..4).filter(|n| mask & (1 << n) == 0).collect();
                let edited = text(edited).unwrap_or(array);
                assert_eq!(serde_json::from_str::<Vec<u32>>(&edited).unwrap(), left, "{edited}");
            }
        }
    }

    #[test]
    fn a_member_is_set_or_appended() {
        for (before, after) in [
            (r#"{"a":1}"#, r#"{"a":1,"n":0}"#),
            (r#"{"n":1,"a":2}"#, r#"{"n":0,"a":2}"#),
            ("{ }", r#"{"n":0 }"#),
            ("{\n \"a\": 1\n}", "{\n \"a\": 1,\"n\":0\n}"),
        ] {
            assert_eq!(text(with(before.as_bytes(), "n", b"0")).unwrap(), after);
        }
        assert_eq!(with(b"[1]", "n", b"0"), None);
    }

    #[test]
    fn a_member_given_often_is_set_once() {
        assert_eq!(text(with(br#"{"n":1,"a":2,"n":3, "\u006e":4}"#, "n", b"[0]")).unwrap(), r#"{"n":[0],"a":2}"#);
    }

    #[test]
    fn a_member_given_often_is_replaced_once() {
        let whole = |member: &Member<'_>| match member.is("n") {
            true => Change::Whole(br#""m":0"#.to_vec()),
            false => Change::Keep,
        };
        let edited = members(br#"{"n":1,"a":2,"n":3, "\u006e":4}"#, whole);
        assert_eq!(text(edited).unwrap(), r#"{"m":0,"a":2}"#);
    }

    #[test]
    fn an_array_is_extended() {
        assert_eq!(text(extended(b"[ ]", b"1,2")).unwrap(), "[1,2 ]");
        assert_eq!(text(extended(b"[0]", b"1,2")).unwrap(), "[0,1,2]");
        assert_eq!(extended(b"{}", b"1"), None);
    }
}
