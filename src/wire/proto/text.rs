//! The text of JSON comes in; its strings, numbers and words go out, one token at a time, judged strictly.

use std::borrow::Cow;

use memchr::memchr2;

use super::MAX_DEPTH;
use super::loss::Shape;
use super::number::{self, Number};

/// A place in a text of JSON.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn of(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// The next byte that is no white space, which is not taken.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    /// Takes this byte, if it is next.
    #[inline]
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let next = self.peek() == Some(byte);
        self.at += usize::from(next);
        next
    }

    /// Takes a string, which has to be next.
    #[inline]
    pub(super) fn string(&mut self) -> Option<Quoted<'a>> {
        if !self.eat(b'"') {
            return None;
        }
        let start = self.at;
        self.at += plain_length(&self.text[start..]);
        if self.text.get(self.at) == Some(&b'"') {
            self.at += 1;
            return Some(Quoted { inner: &self.text[start..self.at - 1], is_plain: true });
        }
        self.rest_of_string(start)
    }

    /// Takes the rest of a string that does not stand for itself, and began at `start`.
    #[inline(never)]
    fn rest_of_string(&mut self, start: usize) -> Option<Quoted<'a>> {
        loop {
            self.at += memchr2(b'"', b'\\', self.text.get(self.at..)?)?;
            if self.text[self.at] == b'"' {
                break;
            }
            self.at += match self.text.get(self.at + 1)? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
                b'u' if hex(self.text.get(self.at + 2..self.at + 6)?).is_some() => 6,
                _ => return None,
            };
        }
        let inner = &self.text[start..self.at];
        self.at += 1;
        // A fold over all bytes, without an early end, is what the compiler makes wide instructions of.
        let control = inner.iter().fold(false, |control, byte| control | (*byte < 0x20));
        (!control).then_some(Quoted { inner, is_plain: false })
    }

    /// Takes a number, if one is next.
    pub(super) fn number(&mut self) -> Option<Number> {
        self.peek();
        let (number, length) = number::read(&self.text[self.at..])?;
        self.at += length;
        Some(number)
    }

    /// Takes this word, if it is next.
    pub(super) fn word(&mut self, word: &str) -> bool {
        self.peek();
        let next = self.text[self.at..].starts_with(word.as_bytes());
        self.at += if next { word.len() } else { 0 };
        next
    }

    /// Takes a whole value and gives its text.
    ///
    /// # Errors
    ///
    /// [`Shape::NoJson`] if it is none, [`Shape::Nesting`] if it is nested too deeply to tell.
    pub(super) fn value(&mut self) -> Result<&'a [u8], Shape> {
        self.peek();
        let start = self.at;
        let mut nest = Nest::default();
        loop {
            match self.peek() {
                Some(b'{') => {
                    nest.open(true)?;
                    self.at += 1;
                    if self.peek() != Some(b'}') {
                        self.name()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    nest.open(false)?;
                    self.at += 1;
                    if self.peek() != Some(b']') {
                        continue;
                    }
                }
                Some(b'"') => self.string().map(|_| ()).ok_or(Shape::NoJson)?,
                Some(b'-' | b'0'..=b'9') => self.number().map(|_| ()).ok_or(Shape::NoJson)?,
                _ if self.word("true") || self.word("false") || self.word("null") => {}
                _ => return Err(Shape::NoJson),
            }
            // A value is over; what follows are ends, or the next one.
            while let Some(is_object) = nest.inner() {
                if self.eat(b',') {
                    if is_object {
                        self.name()?;
                    }
                    break;
                }
                if !self.eat(if is_object { b'}' } else { b']' }) {
                    return Err(Shape::NoJson);
                }
                nest.close();
            }
            if nest.inner().is_none() {
                return Ok(&self.text[start..self.at]);
            }
        }
    }

    /// Takes a member's name and its colon.
    #[inline]
    pub(super) fn name(&mut self) -> Result<Quoted<'a>, Shape> {
        let name = self.string().ok_or(Shape::NoJson)?;
        if self.eat(b':') { Ok(name) } else { Err(Shape::NoJson) }
    }
}

/// The members of an object, each judged to its end; after an error it is over.
#[derive(Clone, Debug)]
pub(super) struct Members<'a> {
    /// Where the walk is; a value that [`Self::name`] led to is taken from here.
    pub(super) cursor: Cursor<'a>,
    is_first: bool,
    is_over: bool,
}

impl<'a> Members<'a> {
    pub(super) fn of(text: &'a [u8]) -> Self {
        Self { cursor: Cursor::of(text), is_first: true, is_over: false }
    }

    /// The name of the next member, whose value then has to be taken; `None` at the end of the text.
    ///
    /// # Errors
    ///
    /// [`Shape::NoJson`] if something else comes next.
    pub(super) fn name(&mut self) -> Result<Option<Quoted<'a>>, Shape> {
        let is_first = std::mem::replace(&mut self.is_first, false);
        if is_first && !self.cursor.eat(b'{') {
            return Err(Shape::NoJson);
        }
        if self.cursor.eat(b'}') {
            return if self.cursor.peek().is_none() { Ok(None) } else { Err(Shape::NoJson) };
        }
        if !is_first && !self.cursor.eat(b',') {
            return Err(Shape::NoJson);
        }
        self.cursor.name().map(Some)
    }

    fn member(&mut self) -> Result<Option<(Quoted<'a>, &'a [u8])>, Shape> {
        let Some(name) = self.name()? else { return Ok(None) };
        Ok(Some((name, self.cursor.value()?)))
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Result<(Quoted<'a>, &'a [u8]), Shape>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let member = self.member().transpose();
        self.is_over = !matches!(member, Some(Ok(_)));
        member
    }
}

/// Which of the brackets around a place are those of objects: a stack of bits.
#[derive(Default)]
struct Nest {
    bits: [u64; Self::WORDS],
    depth: usize,
}

impl Nest {
    /// Enough for any JSON in an event, and the members that hold it.
    const WORDS: usize = MAX_DEPTH / 64 + 1;

    fn open(&mut self, is_object: bool) -> Result<(), Shape> {
        let (word, bit) = (self.depth / 64, self.depth % 64);
        let bits = self.bits.get_mut(word).ok_or(Shape::Nesting)?;
        *bits = *bits & !(1 << bit) | u64::from(is_object) << bit;
        self.depth += 1;
        Ok(())
    }

    fn close(&mut self) {
        self.depth -= 1;
    }

    /// Whether the innermost bracket is that of an object, if there is any.
    fn inner(&self) -> Option<bool> {
        let place = self.depth.checked_sub(1)?;
        Some(self.bits[place / 64] >> (place % 64) & 1 == 1)
    }
}

/// How many bytes come first that stand for themselves in a string: ASCII without quotes, backslashes and controls.
#[inline]
fn plain_length(text: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let mut length = 0;
    while let Some(eight) = text[length..].first_chunk() {
        let eight = u64::from_le_bytes(*eight);
        // The high bit of each byte that is zero; a carry may set it in later bytes as well, never in earlier ones.
        let zero = |bytes: u64| bytes.wrapping_sub(ONES) & !bytes;
        let control = eight.wrapping_sub(ONES * 0x20) & !eight;
        let special = (zero(eight ^ (ONES * 0x22)) | zero(eight ^ (ONES * 0x5c)) | control | eight) & HIGH;
        if special != 0 {
            return length + special.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    let rest = &text[length..];
    length + rest.iter().take_while(|byte| matches!(byte, 0x20..0x80) && !matches!(byte, b'"' | b'\\')).count()
}

/// What stands between the quotes of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quoted<'a> {
    inner: &'a [u8],
    /// Whether it stands for itself: ASCII, without an escape.
    is_plain: bool,
}

impl Quoted<'_> {
    /// Whether this is its text.
    pub(super) fn is(self, text: &str) -> bool {
        if self.is_plain {
            return self.inner == text.as_bytes();
        }
        unescape(self).is_some_and(|unescaped| *unescaped.text == *text.as_bytes())
    }
}

/// The text of a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unescaped<'a> {
    /// Its bytes, in UTF-8.
    pub(super) text: Cow<'a, [u8]>,
    /// Whether U+FFFD stands for something that is no text: half a surrogate pair, or bytes that are no UTF-8.
    pub(super) replaced: bool,
}

/// The text of a string; `None` if an escape is none.
#[inline]
pub(super) fn unescape(quoted: Quoted<'_>) -> Option<Unescaped<'_>> {
    if quoted.is_plain {
        return Some(Unescaped { text: Cow::Borrowed(quoted.inner), replaced: false });
    }
    unescape_inner(quoted.inner)
}

#[inline(never)]
fn unescape_inner(inner: &[u8]) -> Option<Unescaped<'_>> {
    let Some(first) = memchr::memchr(b'\\', inner) else {
        return Some(match String::from_utf8_lossy(inner) {
            Cow::Borrowed(text) => Unescaped { text: Cow::Borrowed(text.as_bytes()), replaced: false },
            Cow::Owned(text) => Unescaped { text: Cow::Owned(text.into_bytes()), replaced: true },
        });
    };
    let mut text = Vec::with_capacity(inner.len());
    let mut replaced = false;
    let (mut from, mut escape) = (0, Some(first));
    while let Some(at) = escape {
        text.extend_from_slice(&inner[from..at]);
        from = at + 2;
        match *inner.get(at + 1)? {
            byte @ (b'"' | b'\\' | b'/') => text.push(byte),
            b'b' => text.push(8),
            b'f' => text.push(12),
            b'n' => text.push(b'\n'),
            b'r' => text.push(b'\r'),
            b't' => text.push(b'\t'),
            b'u' => {
                let (character, after) = unicode(inner, from)?;
                replaced |= character.is_none();
                let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
                text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                from = after;
            }
            _ => return None,
        }
        escape = memchr::memchr(b'\\', &inner[from..]).map(|length| from + length);
    }
    text.extend_from_slice(&inner[from..]);
    Some(match String::from_utf8_lossy(&text) {
        Cow::Borrowed(_) => Unescaped { text: Cow::Owned(text), replaced },
        Cow::Owned(text) => Unescaped { text: Cow::Owned(text.into_bytes()), replaced: true },
    })
}

/// The character of the `\u` escape whose digits begin at `at`, and the place after it; no character if it is half of
/// a surrogate pair. `None` if there are not four digits.
fn unicode(inner: &[u8], at: usize) -> Option<(Option<char>, usize)> {
    let unit = hex(inner.get(at..at + 4)?)?;
    let after = at + 4;
    if let 0xd800..0xdc00 = unit
        && let Some([b'\\', b'u', low @ ..]) = inner.get(after..after + 6)
        && let Some(low @ 0xdc00..0xe000) = hex(low)
    {
        let scalar = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        return Some((char::from_u32(scalar), after + 6));
    }
    Some((char::from_u32(unit), after))
}

fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |value, digit| Some(value << 4 | char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Option<(String, bool)> {
        let mut cursor = Cursor::of(text.as_bytes());
        let string = unescape(cursor.string()?)?;
        (cursor.peek().is_none()).then(|| (String::from_utf8(string.text.into_owned()).unwrap(), string.replaced))
    }

    #[test]
    fn escapes_are_read() {
        let all = r#""\"\\\/\b\f\n\r\t\u0041\u00e9\u2028\ud83d\uDE00""#;
        assert_eq!(read(all), Some(("\"\\/\u{8}\u{c}\n\r\tAé\u{2028}😀".into(), false)));
        for bad in [r#""\x""#, r#""\u12g4""#, r#""\u12""#, r#""\"#, "\"a", "\"a\nb\"", "\"a\0\"", r#""\u+123""#] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn half_a_pair_is_replaced_and_said_so() {
        for (text, expected) in [
            (r#""\ud800""#, "\u{fffd}"),
            (r#""\ud800x""#, "\u{fffd}x"),
            (r#""\udc00\ud800""#, "\u{fffd}\u{fffd}"),
            (r#""\ud800\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""\ud800\n""#, "\u{fffd}\n"),
        ] {
            assert_eq!(read(text), Some((expected.into(), true)), "{text}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_and_said_so() {
        for inner in [&b"a\xff"[..], b"\\na\xff", b"\xed\xa0\x80"] {
            assert!(unescape(Quoted { inner, is_plain: false }).unwrap().replaced, "{inner:x?}");
        }
    }

    #[test]
    fn a_value_is_taken_to_its_end() {
        for value in ["{\"a\" : [ 1 , {} , [ ] ,\"]\"] , \"b\":{\"c\":null}}", "\"x\\\"\"", "-1.5e+3", "true", "[]"] {
            let text = format!(" {value} ,1");
            let mut cursor = Cursor::of(text.as_bytes());
            assert_eq!(cursor.value(), Ok(value.as_bytes()));
            assert!(cursor.eat(b',') && cursor.word("1") && cursor.peek().is_none());
        }
    }

    #[test]
    fn members_end_with_the_object_and_nothing_may_follow() {
        let walk = |text: &'static str| Members::of(text.as_bytes()).collect::<Result<Vec<_>, _>>();
        let found = walk(" {\"a\" : [1] ,\"\\u0062\":2 } ").unwrap();
        assert!(found[0].0.is("a") && found[1].0.is("b") && !found[1].0.is("c"));
        assert_eq!((found[0].1, found[1].1), (&b"[1]"[..], &b"2"[..]));
        assert_eq!(walk("{}").unwrap(), []);
        for text in ["", "[]", "{", "{\"a\":1", "{\"a\":1,}", "{,}", "{\"a\":1}}", "{\"a\":1} x", "{\"a\" 1}", "{} {}"]
        {
            assert_eq!(walk(text), Err(Shape::NoJson), "{text}");
        }
    }

    #[test]
    fn a_value_that_is_none_is_refused() {
        for text in
            ["", "[1,]", "[1 2]", "{\"a\":1,}", "{\"a\"}", "{a:1}", "{1:1}", "{\"a\":1]", "[}", "tru", "01", "]"]
        {
            let mut cursor = Cursor::of(text.as_bytes());
            let taken = cursor.value();
            assert!(taken == Err(Shape::NoJson) || cursor.peek().is_some(), "{text}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(Cursor::of(deep.as_bytes()).value(), Err(Shape::Nesting));
    }

    proptest! {
        #[test]
        fn values_are_those_of_a_json_parser(
            text in r#"([\[\]{},:0 1\-.e]|"a"|"a":|"[é\\n\x00-\x7f]{0,12}"|true|null|"abcdefgh\\u00e9"){0,12}"#,
        ) {
            let mut cursor = Cursor::of(text.as_bytes());
            let taken = cursor.value().is_ok() && cursor.peek().is_none();
            prop_assert_eq!(taken, serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok());
        }

        #[test]
        fn strings_are_those_of_a_json_parser(text in r#""([a-zé😀/ ]|\\["\\/bfnrtux]|\\u[0-9a-fA-F]{4}){0,6}""#) {
            let expected: Option<String> = serde_json::from_str(&text).ok();
            match read(&text) {
                Some((_, true)) => prop_assert_eq!(expected, None), // The parser refuses half a pair.
                found => prop_assert_eq!(found.map(|(text, _)| text), expected),
            }
        }
    }
}
