//! The text of a JSON object comes in, the places of its members go out. Values are skipped, never parsed,
//! without recursion: depth costs nothing. Text that is no JSON ends the walk; it is never an error here.

use std::{borrow::Cow, ops::Range};

use memchr::memchr2;

/// One member of an object, as it was spelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// The name between its quotes, escapes unread.
    key: &'a [u8],
    /// The value, without the white space around it.
    pub value: &'a [u8],
    /// Where the member lies in the text, from the quote of its name to the end of its value.
    pub span: Range<usize>,
}

impl Member<'_> {
    /// The name, unescaped; `None` if it is badly escaped.
    pub fn name(&self) -> Option<Cow<'_, str>> {
        match self.key.contains(&b'\\') {
            false => std::str::from_utf8(self.key).ok().map(Cow::Borrowed),
            true => unescape(self.key).map(Cow::Owned),
        }
    }

    /// Where the value lies in the text.
    pub fn value_span(&self) -> Range<usize> {
        self.span.end - self.value.len()..self.span.end
    }

    /// Whether the value is `null`.
    pub fn is_null(&self) -> bool {
        self.value == b"null"
    }

    /// Whether this is the name of the member, also if it was spelled with escapes.
    pub fn is(&self, name: &str) -> bool {
        if !self.key.contains(&b'\\') {
            return self.key == name.as_bytes();
        }
        unescape(self.key).is_some_and(|key| key == name)
    }

    /// The value as text, if it is a string.
    pub fn string(&self) -> Option<Cow<'_, str>> {
        string(self.value)
    }
}

/// A walk over what stands between two brackets at the start of a text.
#[derive(Clone, Debug)]
struct Walk<'a> {
    text: &'a [u8],
    at: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Start,
    Inside,
    Closed,
    Malformed,
}

impl<'a> Walk<'a> {
    fn of(text: &'a [u8]) -> Self {
        Self { text, at: 0, state: State::Start }
    }

    /// Whether the walk came to the closing bracket and nothing but white space follows.
    fn is_complete(&self) -> bool {
        self.state == State::Closed && space(self.text, self.at) == self.text.len()
    }

    /// What `read` makes of the next item from its place, with the place where it ends; `None` ends the walk.
    #[inline]
    fn next<T>(&mut self, brackets: [u8; 2], read: impl FnOnce(&'a [u8], usize) -> Option<(T, usize)>) -> Option<T> {
        if matches!(self.state, State::Closed | State::Malformed) {
            return None;
        }
        match self.item(brackets).and_then(|at| read(self.text, at)) {
            Some((item, end)) => {
                (self.at, self.state) = (end, State::Inside);
                Some(item)
            }
            None => {
                if self.state != State::Closed {
                    self.state = State::Malformed;
                }
                None
            }
        }
    }

    /// Where the next item begins; `None` if there is none, or something else stands there.
    #[inline]
    fn item(&mut self, [open, close]: [u8; 2]) -> Option<usize> {
        let at = space(self.text, self.at);
        let next = *self.text.get(at)?;
        let last = match self.state {
            State::Start if next == open => {
                let first = space(self.text, at + 1);
                if self.text.get(first) != Some(&close) {
                    return Some(first);
                }
                first
            }
            State::Inside if next == b',' => return Some(space(self.text, at + 1)),
            State::Inside if next == close => at,
            _ => return None,
        };
        (self.at, self.state) = (last + 1, State::Closed);
        None
    }
}

/// A walk over the members of the object at the start of a text.
#[derive(Clone, Debug)]
pub struct Members<'a>(Walk<'a>);

impl<'a> Members<'a> {
    /// A walk over the object that `text` holds.
    pub fn of(text: &'a [u8]) -> Self {
        Self(Walk::of(text))
    }

    /// Whether the walk came to the end of the object and nothing but white space follows.
    pub fn is_complete(&self) -> bool {
        self.0.is_complete()
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Member<'a>;

    #[inline]
    fn next(&mut self) -> Option<Member<'a>> {
        self.0.next(*b"{}", |text, start| {
            let key_end = skip_string(text, start)?;
            let colon = space(text, key_end);
            if text.get(colon) != Some(&b':') {
                return None;
            }
            let value = space(text, colon + 1);
            let end = skip_value(text, value)?;
            Some((Member { key: &text[start + 1..key_end - 1], value: &text[value..end], span: start..end }, end))
        })
    }
}

/// Whether `text` is one whole JSON value by its brackets and quotes; its numbers and words are not judged.
pub fn is_whole(text: &[u8]) -> bool {
    let start = space(text, 0);
    skip_value(text, start).is_some_and(|end| space(text, end) == text.len())
}

/// The elements of the array that `text` holds, as they were spelled; nothing if it is no array.
pub fn elements(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    Elements::of(text).map(|place| &text[place])
}

/// A walk over the places of the elements of the array at the start of a text.
#[derive(Clone, Debug)]
pub struct Elements<'a>(Walk<'a>);

impl<'a> Elements<'a> {
    /// A walk over the array that `text` holds.
    pub fn of(text: &'a [u8]) -> Self {
        Self(Walk::of(text))
    }

    /// Whether the walk came to the end of the array and nothing but white space follows.
    pub fn is_complete(&self) -> bool {
        self.0.is_complete()
    }
}

impl Iterator for Elements<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        self.0.next(*b"[]", |text, at| {
            let end = skip_value(text, at)?;
            Some((at..end, end))
        })
    }
}

/// The text of a JSON string with its quotes, or `None` if it is something else or badly escaped.
pub fn string(value: &[u8]) -> Option<Cow<'_, str>> {
    let inner = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if !inner.contains(&b'\\') {
        return std::str::from_utf8(inner).ok().map(Cow::Borrowed);
    }
    serde_json::from_slice(value).ok().map(Cow::Owned)
}

/// Whether what stands between two quotes is what it says: no escape, no quote, nothing that JSON forbids.
#[inline]
pub fn is_bare(inner: &[u8]) -> bool {
    let bare = |byte: &u8| *byte >= 0x20 && !matches!(byte, b'"' | b'\\');
    // A fold over all bytes, without an early end, is what the compiler makes wide instructions of.
    inner.iter().fold(true, |all, byte| all & bare(byte))
}

/// Whether a text is UTF-8, as JSON has to be.
#[inline]
pub fn is_utf8(text: &[u8]) -> bool {
    text.is_ascii() || std::str::from_utf8(text).is_ok()
}

fn unescape(inner: &[u8]) -> Option<String> {
    let mut quoted = Vec::with_capacity(inner.len() + 2);
    quoted.push(b'"');
    quoted.extend_from_slice(inner);
    quoted.push(b'"');
    serde_json::from_slice(&quoted).ok()
}

/// The place after the comma, and the white space behind it, that follows `at`; `at` if there is none.
pub(super) fn after_comma(text: &[u8], at: usize) -> usize {
    let comma = space(text, at);
    if text.get(comma) != Some(&b',') {
        return at;
    }
    space(text, comma + 1)
}

/// The first place at or after `at` that is no white space.
fn space(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// The place after the string that begins at `at`.
fn skip_string(text: &[u8], at: usize) -> Option<usize> {
    if text.get(at) != Some(&b'"') {
        return None;
    }
    let mut at = at + 1;
    loop {
        let found = at + memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[found] == b'"' {
            return Some(found + 1);
        }
        at = found + 2;
    }
}

/// The place after the value that begins at `at`.
fn skip_value(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at)? {
        b'"' => skip_string(text, at),
        b'{' | b'[' => skip_nest(text, at),
        b',' | b':' | b'}' | b']' => None,
        _ => {
            let end = text[at..].iter().position(|b| matches!(b, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r'));
            Some(end.map_or(text.len(), |n| at + n))
        }
    }
}

fn skip_nest(text: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0usize;
    loop {
        match text.get(at)? {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            b'"' => {
                at = skip_string(text, at)?;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn walk(text: &str) -> (Vec<(String, String)>, bool) {
        let mut members = Members::of(text.as_bytes());
        let list = members
            .by_ref()
            .map(|m| (String::from_utf8_lossy(m.key).into(), String::from_utf8_lossy(m.value).into()))
            .collect();
        (list, members.is_complete())
    }

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.into(), value.into())
    }

    #[test]
    fn members_keep_their_spelling() {
        let (list, complete) = walk("{ \"a\" : 1.50e3,\n\"b\":{\"c\":[\"}\",\"\\\"]\"]} , \"d\":\"x\" }\n");
        assert_eq!(list, [pair("a", "1.50e3"), pair("b", "{\"c\":[\"}\",\"\\\"]\"]}"), pair("d", "\"x\"")]);
        assert!(complete);
    }

    #[test]
    fn what_is_no_object_has_no_members() {
        for text in ["", "[1]", "[DONE]", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "{a:1}", "{,}", "{\"a\":}", "null"] {
            assert!(!walk(text).1, "{text}");
        }
        assert_eq!(walk("{}"), (vec![], true));
    }

    #[test]
    fn what_follows_the_object_makes_it_incomplete() {
        assert!(!walk("{\"a\":1}\n{\"a\":2}").1);
        assert!(walk("{\"a\":1} \n").1);
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!("{{\"d\":{}{},\"e\":1}}", "[".repeat(200_000), "]".repeat(200_000));
        let (list, complete) = walk(&deep);
        assert_eq!(list[1], pair("e", "1"));
        assert!(complete && is_whole(deep.as_bytes()));
    }

    #[test]
    fn a_name_is_compared_unescaped() {
        let mut members = Members::of(br#"{"t\u0079pe":"A\u0042"}"#);
        let member = members.next().unwrap();
        assert!(member.is("type") && !member.is("t\\u0079pe"));
        assert_eq!(member.string().unwrap(), "AB");
    }

    #[test]
    fn elements_are_cut_at_their_commas() {
        let list: Vec<_> = elements(br#" [1, {"a":[2,3]} ,"x,y"]"#).map(String::from_utf8_lossy).collect();
        assert_eq!(list, ["1", "{\"a\":[2,3]}", "\"x,y\""]);
        assert_eq!(elements(b"{}").count(), 0);
        assert_eq!(elements(b"[]").count(), 0);
    }

    #[test]
    fn a_cut_value_is_not_whole() {
        assert!(is_whole(b" {\"a\":\"b\"} ") && is_whole(b"1") && is_whole(b"\"x\""));
        for cut in ["", "{\"a\":\"b\"", "{\"a\":\"b", "[1,2", "\"x", "{}{}", "{\"a\\"] {
            assert!(!is_whole(cut.as_bytes()), "{cut}");
        }
    }
}
