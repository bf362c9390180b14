//! Values of `content-type` and `accept` come in, what they say about a media type goes out. Odd values are no errors:
//! they name nothing.

/// The media type of an SSE body.
pub const EVENT_STREAM: &str = "text/event-stream";

/// Whether a `content-type` is that of an event stream, with any parameters.
pub fn is_event_stream(content_type: &[u8]) -> bool {
    essence(content_type).eq_ignore_ascii_case(EVENT_STREAM.as_bytes())
}

/// Whether a `content-type` is JSON: `application/json`, or a type with the suffix `+json`.
pub fn is_json(content_type: &[u8]) -> bool {
    let essence = essence(content_type).to_ascii_lowercase();
    essence == b"application/json" || (essence.ends_with(b"+json") && essence.contains(&b'/'))
}

/// What a client's `accept` says about one media type. `q` is its weight in thousandths; 0 refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accept {
    /// There is no `accept`, or nothing in it: anything will do.
    Unsaid,
    /// The type is named itself.
    Named {
        /// Its weight, 0 to 1000.
        q: u16,
    },
    /// Only a wildcard covers the type.
    Wildcard {
        /// The wildcard's weight, 0 to 1000.
        q: u16,
    },
    /// Only other types are named.
    Missing,
}

impl Accept {
    /// Reads all lines of a request's `accept` for what they say about `media`, which is written `type/subtype` in
    /// lower case. Its name beats `type/*`, which beats `*/*`; of equals, the highest weight counts.
    pub fn of<'a>(lines: impl IntoIterator<Item = &'a [u8]>, media: &str) -> Self {
        let kind = media.split('/').next().unwrap_or_default();
        let mut said = false;
        let (mut named, mut kind_wildcard, mut wildcard) = (None, None, None);
        for range in ranges(lines) {
            let mut parts = split(range, b';');
            let name = parts.next().unwrap_or_default().trim_ascii().to_ascii_lowercase();
            if name.is_empty() {
                continue;
            }
            said = true;
            let best = match name.strip_suffix(b"/*") {
                Some(b"*") => &mut wildcard,
                Some(other) if other == kind.as_bytes() => &mut kind_wildcard,
                _ if name == media.as_bytes() => &mut named,
                _ => continue,
            };
            *best = (*best).max(Some(weight(parts)));
        }
        match (named, kind_wildcard.or(wildcard)) {
            (Some(q), _) => Self::Named { q },
            (None, Some(q)) => Self::Wildcard { q },
            (None, None) if said => Self::Missing,
            (None, None) => Self::Unsaid,
        }
    }

    /// Whether the type is named itself and not refused.
    pub fn is_named(self) -> bool {
        matches!(self, Self::Named { q: 1.. })
    }

    /// Whether the type may be sent: it is not refused, and named, covered by a wildcard, or nothing was said.
    pub fn admits(self) -> bool {
        matches!(self, Self::Unsaid | Self::Named { q: 1.. } | Self::Wildcard { q: 1.. })
    }
}

/// The media ranges of all lines of an `accept`, each with its parameters.
pub(super) fn ranges<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> impl Iterator<Item = &'a [u8]> {
    lines.into_iter().flat_map(|line| split(line, b','))
}

/// The type without its parameters.
pub(super) fn essence(content_type: &[u8]) -> &[u8] {
    content_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii()
}

/// The weight among a range's parameters, in thousandths; 1000 if there is none, or none that can be read.
fn weight<'a>(parameters: impl Iterator<Item = &'a [u8]>) -> u16 {
    for parameter in parameters {
        let mut halves = parameter.splitn(2, |byte| *byte == b'=');
        let name = halves.next().unwrap_or_default().trim_ascii();
        if name.eq_ignore_ascii_case(b"q") {
            return halves.next().and_then(|value| thousandths(value.trim_ascii())).unwrap_or(1000);
        }
    }
    1000
}

/// `0.25` as 250. More than three decimals are cut, what is above 1 is 1.
fn thousandths(value: &[u8]) -> Option<u16> {
    let mut halves = value.splitn(2, |byte| *byte == b'.');
    let whole = halves.next().unwrap_or_default();
    let decimals = halves.next().unwrap_or_default();
    if !value.iter().any(u8::is_ascii_digit) || !whole.iter().chain(decimals).all(u8::is_ascii_digit) {
        return None;
    }
    if whole.iter().any(|digit| *digit != b'0') {
        return Some(1000);
    }
    let digits = decimals.iter().copied().chain(std::iter::repeat(b'0')).take(3);
    Some(digits.fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0')))
}

/// The parts between separators that do not stand in a quoted string.
fn split(text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let (mut quoted, mut backslash) = (false, false);
    text.split(move |byte| {
        let escaped = backslash;
        backslash = quoted && !escaped && *byte == b'\\';
        if *byte == b'"' && !escaped {
            quoted = !quoted;
        }
        *byte == separator && !quoted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types_are_told_apart_by_their_essence() {
        for (value, stream, json) in [
            ("text/event-stream", true, false),
            ("Text/Event-Stream;charset=UTF-8", true, false),
            (" text/event-stream ; charset=utf-8 ; x=\"a;b\"", true, false),
            ("\ttext/event-stream\t", true, false),
            ("text/event-streams", false, false),
            ("text/event-stream, application/json", false, false),
            ("x-text/event-stream", false, false),
            ("application/json", false, true),
            ("APPLICATION/JSON; charset=utf-8", false, true),
            ("application/problem+json", false, true),
            ("application/json-seq", false, false),
            ("+json", false, false),
            ("text/html; x=application/json", false, false),
            ("", false, false),
        ] {
            assert_eq!(is_event_stream(value.as_bytes()), stream, "{value}");
            assert_eq!(is_json(value.as_bytes()), json, "{value}");
        }
    }

    #[test]
    fn an_accept_is_read_for_one_type() {
        use Accept::{Missing, Named, Unsaid, Wildcard};
        let cases: &[(&[&str], Accept)] = &[
            (&[], Unsaid),
            (&["", " , "], Unsaid),
            (&["text/event-stream"], Named { q: 1000 }),
            (&["TEXT/Event-Stream ; Q = 0.5"], Named { q: 500 }),
            (&["application/json", "text/event-stream;q=0.123456"], Named { q: 123 }),
            (&["text/event-stream;charset=utf-8;q=1.0, */*;q=0"], Named { q: 1000 }),
            (&["text/event-stream;q=0, */*"], Named { q: 0 }),
            (&["text/event-stream;q=.3", "text/event-stream;q=0.7"], Named { q: 700 }),
            (&["text/event-stream;q=2"], Named { q: 1000 }),
            (&["text/event-stream;q=high"], Named { q: 1000 }),
            (&["text/event-stream;q"], Named { q: 1000 }),
            (&["*/*"], Wildcard { q: 1000 }),
            (&["*/*;q=0.8, text/*;q=0.1"], Wildcard { q: 100 }),
            (&["application/*, */*;q=0"], Wildcard { q: 0 }),
            (&["application/json, text/html"], Missing),
            (&["application/*"], Missing),
            (&["a/b;x=\"text/event-stream, text/event-stream\""], Missing),
            (&["a/b;x=\"\\\", c/d\", text/event-stream"], Named { q: 1000 }),
        ];
        for (lines, expected) in cases {
            let found = Accept::of(lines.iter().map(|line| line.as_bytes()), EVENT_STREAM);
            assert_eq!(found, *expected, "{lines:?}");
        }
    }

    #[test]
    fn a_weight_of_nothing_refuses() {
        assert!(Accept::Named { q: 1 }.is_named() && Accept::Named { q: 1 }.admits());
        assert!(!Accept::Named { q: 0 }.is_named() && !Accept::Named { q: 0 }.admits());
        assert!(!Accept::Wildcard { q: 1000 }.is_named() && Accept::Wildcard { q: 1000 }.admits());
        assert!(!Accept::Wildcard { q: 0 }.admits() && !Accept::Missing.admits());
        assert!(!Accept::Unsaid.is_named() && Accept::Unsaid.admits());
    }
}
