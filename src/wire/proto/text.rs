//! The text of JSON comes in; its strings, numbers and words go out, one token at a time, judged strictly.

use std::borrow::Cow;

use memchr::memchr2;

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
    pub(super) fn peek(&mut self) -> Option<u8> {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    /// Takes this byte, if it is next.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let next = self.peek() == Some(byte);
        self.at += usize::from(next);
        next
    }

    /// Takes a string, which has to be next. What stands between its quotes.
    pub(super) fn string(&mut self) -> Option<&'a [u8]> {
        if !self.eat(b'"') {
            return None;
        }
        let start = self.at;
        loop {
            let found = self.at + memchr2(b'"', b'\\', self.text.get(self.at..)?)?;
            if self.text[found] == b'"' {
                self.at = found + 1;
                let inner = &self.text[start..found];
                // A fold over all bytes, without an early end, is what the compiler makes wide instructions of.
                let control = inner.iter().fold(false, |control, byte| control | (*byte < 0x20));
                return (!control).then_some(inner);
            }
            self.at = found + 2;
        }
    }

    /// Takes a word or a number: everything up to white space or punctuation.
    pub(super) fn word(&mut self) -> &'a [u8] {
        self.peek();
        let start = self.at;
        while let Some(b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'+' | b'-' | b'.') = self.text.get(self.at) {
            self.at += 1;
        }
        &self.text[start..self.at]
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

/// What stands between a string's quotes, unescaped; `None` if an escape is none.
pub(super) fn unescape(inner: &[u8]) -> Option<Unescaped<'_>> {
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
            assert!(unescape(inner).unwrap().replaced, "{inner:x?}");
        }
    }

    #[test]
    fn words_end_where_punctuation_begins() {
        let mut cursor = Cursor::of(b" true ,-1.5e+3]");
        assert_eq!(cursor.word(), b"true");
        assert!(cursor.eat(b',') && !cursor.eat(b','));
        assert_eq!(cursor.word(), b"-1.5e+3");
        assert_eq!(cursor.peek(), Some(b']'));
        assert_eq!(cursor.word(), b"");
    }

    proptest! {
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
