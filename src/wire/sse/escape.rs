//! A JSON text comes in; it goes out with some characters within its strings written as `\uXXXX`, which means the same.
//! Nothing else in it changes, also where it is not JSON or not UTF-8.

use memchr::memchr2_iter;

use super::Escape;

/// The text with its characters escaped, or `None` if there is nothing to escape in it.
pub(super) fn escaped(text: &[u8], escape: Escape) -> Option<Vec<u8>> {
    if !may_need_it(text, escape) {
        return None;
    }
    let mut out = Vec::new();
    let mut copied = 0; // How much of `text` is in `out`.
    let mut at = 0;
    let mut state = State::Outside;
    for part in text.utf8_chunks() {
        for char in part.valid().chars() {
            let end = at + char.len_utf8();
            if state == State::String && chosen(char, escape) {
                out.extend_from_slice(&text[copied..at]);
                write_escape(char, &mut out);
                copied = end;
            }
            state = state.after(char);
            at = end;
        }
        if !part.invalid().is_empty() {
            at += part.invalid().len();
            state = state.after(char::REPLACEMENT_CHARACTER);
        }
    }
    if copied == 0 {
        return None;
    }
    out.extend_from_slice(&text[copied..]);
    Some(out)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Outside,
    String,
    /// Within a string, after a backslash: the next character is not touched, whatever it is.
    Backslash,
}

impl State {
    fn after(self, char: char) -> Self {
        match (self, char) {
            (Self::Outside, '"') => Self::String,
            (Self::Outside, _) | (Self::String, '"') => Self::Outside,
            (Self::String, '\\') => Self::Backslash,
            (Self::String | Self::Backslash, _) => Self::String,
        }
    }
}

/// A quick look, so that a text without such characters costs next to nothing.
fn may_need_it(text: &[u8], escape: Escape) -> bool {
    match escape {
        Escape::Off => false,
        Escape::LineSeparators => memchr2_iter(0xC2, 0xE2, text).any(|at| {
            let rest = &text[at..];
            [&b"\xC2\x85"[..], b"\xE2\x80\xA8", b"\xE2\x80\xA9"].iter().any(|char| rest.starts_with(char))
        }),
        Escape::NonAscii => !text.is_ascii(),
    }
}

fn chosen(char: char, escape: Escape) -> bool {
    match escape {
        Escape::Off => false,
        Escape::LineSeparators => matches!(char, '\u{85}' | '\u{2028}' | '\u{2029}'),
        Escape::NonAscii => !char.is_ascii(),
    }
}

fn write_escape(char: char, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for unit in char.encode_utf16(&mut [0; 2]) {
        out.extend_from_slice(b"\\u");
        for shift in [12, 8, 4, 0] {
            out.push(HEX[usize::from(*unit >> shift & 0xF)]);
        }
    }
}
