//! The inside of a JSON string comes in as it is spelled, its letters go out one by one, each with how many bytes it is
//! spelled in. What is spelled badly is read all the same: nothing may hide behind it.

use crate::agui::edit::quoted;

/// The letter that this spelling begins with and the bytes that it takes; `None` if the rest of it is not there yet.
///
/// Half of a surrogate pair without the other half is read as U+FFFD. With `last`, nothing follows.
pub fn letter(raw: &[u8], last: bool) -> Option<(char, usize)> {
    let (first, rest) = raw.split_first()?;
    match (first, rest.first()) {
        (b'\\', Some(b'u')) => pair(|from| code(raw.get(from..)?), 6, raw.len(), last),
        (b'\\', Some(escaped)) if escaped.is_ascii() => Some((named(char::from(*escaped)), 2)),
        (b'\\', _) => Some(('\\', 1)),
        (byte, _) if byte.is_ascii() => Some((char::from(*byte), 1)),
        _ => {
            let head = raw.get(..raw.len().min(4)).unwrap_or_default();
            let valid = match std::str::from_utf8(head) {
                Ok(text) => text,
                Err(error) => std::str::from_utf8(head.get(..error.valid_up_to())?).ok()?,
            };
            Some(valid.chars().next().map_or((char::REPLACEMENT_CHARACTER, 1), |letter| (letter, letter.len_utf8())))
        }
    }
}

/// The same for a JSON string whose text is itself spelled in a JSON string. Whether it is escaped there comes third.
pub fn nested(raw: &[u8], last: bool) -> Option<(char, usize, bool)> {
    let (outer, len) = letter(raw, last)?;
    if outer != '\\' {
        return Some((outer, len, false));
    }
    let Some((escaped, more)) = raw.get(len..).filter(|rest| !rest.is_empty()).and_then(|rest| letter(rest, last))
    else {
        return last.then_some((outer, len, true));
    };
    if escaped != 'u' {
        return Some((named(escaped), len + more, true));
    }
    // A code spelled in letters that are themselves spelled.
    let mut ends = [0; 2];
    let codes = [0, 1].map(|n| {
        let from = if n == 0 { 0 } else { ends[0] };
        let read = nested_code(raw.get(from..).unwrap_or_default(), last);
        if let Read::Code(_, len) = read {
            ends[n] = from + len;
        }
        read
    });
    match codes {
        [Read::Cut, _] if !last => None,
        [Read::Cut | Read::Other, _] => Some((char::REPLACEMENT_CHARACTER, len + more, true)),
        [Read::Code(high @ 0xD800..0xDC00, _), Read::Code(low @ 0xDC00..0xE000, _)] => {
            Some((joined(high, low), ends[1], true))
        }
        [Read::Code(0xD800..0xDC00, _), Read::Cut] if !last => None,
        [Read::Code(code, _), _] => Some((char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), ends[0], true)),
    }
}

enum Read {
    Code(u32, usize),
    Cut,
    Other,
}

/// The code of `\uXXXX`, each of its letters read.
fn nested_code(raw: &[u8], last: bool) -> Read {
    let (mut at, mut code) = (0, 0);
    for n in 0..6 {
        let rest = raw.get(at..).unwrap_or_default();
        let Some((read, len)) = letter(rest, last) else { return Read::Cut };
        match (n, read, read.to_digit(16)) {
            (0, '\\', _) | (1, 'u', _) => {}
            (2.., _, Some(digit)) => code = code * 16 + digit,
            _ => return Read::Other,
        }
        at += len;
    }
    Read::Code(code, at)
}

/// The letter of the code that `code` reads at 0, with that which it reads behind it if it is the first half of a pair.
fn pair(code: impl Fn(usize) -> Option<u32>, len: usize, there: usize, last: bool) -> Option<(char, usize)> {
    match code(0) {
        None => Some((char::REPLACEMENT_CHARACTER, 2)),
        Some(high @ 0xD800..0xDC00) => match code(len) {
            Some(low @ 0xDC00..0xE000) => Some((joined(high, low), 2 * len)),
            None if there == len && !last => None,
            _ => Some((char::REPLACEMENT_CHARACTER, len)),
        },
        Some(code) => Some((char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), len)),
    }
}

fn joined(high: u32, low: u32) -> char {
    char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The code of the `\uXXXX` that stands here.
fn code(raw: &[u8]) -> Option<u32> {
    let digits = raw.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |code, digit| Some(code * 16 + char::from(*digit).to_digit(16)?))
}

/// What a backslash and this letter stand for.
fn named(escaped: char) -> char {
    match escaped {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        other => other,
    }
}

/// This text as it is spelled inside a JSON string.
pub fn bare(text: &str) -> String {
    let quoted = String::from_utf8(quoted(text)).unwrap_or_default();
    quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or_default().to_owned()
}
