//! A `traceparent` header comes in, a trace identifier goes out, as W3C Trace Context defines them.

use std::{fmt, num::NonZero};

/// How long version 00 is: version, trace, parent, flags and three dashes.
const LENGTH: usize = 55;
/// The flag that says that the caller records this trace.
const SAMPLED: u8 = 1;

/// The place of a request in a trace. Written out, it is a `traceparent` of version 00.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    trace: NonZero<u128>,
    parent: NonZero<u64>,
    sampled: bool,
}

impl TraceParent {
    /// Reads the header's value; `None` if it is not valid, and then it must be ignored.
    ///
    /// Versions after 00 may carry more after the flags, which is not read.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(value).ok()?;
        let (known, more) = text.split_at_checked(LENGTH)?;
        let mut fields = known.split('-');
        let version = fields.next().filter(|field| field.len() == 2).and_then(hex)?;
        let trace = fields.next().filter(|field| field.len() == 32).and_then(hex)?;
        let parent = fields.next().filter(|field| field.len() == 16).and_then(hex)?;
        let flags = fields.next().filter(|field| field.len() == 2).and_then(hex)?;
        let length_fits = match version {
            0 => more.is_empty(),
            0xff => false,
            _ => more.is_empty() || more.starts_with('-'),
        };
        if fields.next().is_some() || !length_fits {
            return None;
        }
        Some(Self {
            trace: NonZero::new(trace)?,
            parent: NonZero::new(u64::try_from(parent).ok()?)?,
            sampled: u8::try_from(flags).ok()? & SAMPLED != 0,
        })
    }

    /// A new trace, sampled, for a request that came without a valid one.
    pub fn start() -> Self {
        Self {
            trace: NonZero::new(fastrand::u128(1..)).unwrap_or(NonZero::<u128>::MIN),
            parent: NonZero::new(fastrand::u64(1..)).unwrap_or(NonZero::<u64>::MIN),
            sampled: true,
        }
    }

    /// The trace's identifier: 32 hexadecimal digits in lower case.
    pub fn trace_id(&self) -> String {
        format!("{:032x}", self.trace)
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace, self.parent, u8::from(self.sampled))
    }
}

/// Only lower case counts, and no sign.
fn hex(digits: &str) -> Option<u128> {
    let plain = digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    plain.then(|| u128::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    fn parse(text: &str) -> Option<TraceParent> {
        TraceParent::parse(text.as_bytes())
    }

    #[test]
    fn a_valid_header_is_read_and_written_again() {
        for flags in ["00", "01"] {
            let text = format!("00-{TRACE}-00f067aa0ba902b7-{flags}");
            let parent = parse(&text).unwrap();
            assert_eq!(parent.trace_id(), TRACE);
            assert_eq!(parent.to_string(), text);
        }
    }

    #[test]
    fn flags_that_nobody_knows_are_not_passed_on() {
        let parent = parse(&format!("00-{TRACE}-00f067aa0ba902b7-fb")).unwrap();
        assert!(parent.to_string().ends_with("-01"));
    }

    #[test]
    fn later_versions_are_read_as_far_as_they_are_known() {
        for more in ["", "-", "-what-ever"] {
            assert_eq!(parse(&format!("cc-{TRACE}-00f067aa0ba902b7-01{more}")).unwrap().trace_id(), TRACE);
        }
        assert_eq!(parse(&format!("cc-{TRACE}-00f067aa0ba902b7-01.more")), None);
    }

    #[test]
    fn what_is_not_valid_is_nothing() {
        for text in [
            String::new(),
            "00".to_owned(),
            format!("ff-{TRACE}-00f067aa0ba902b7-01"),
            format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
            format!("00-{TRACE}-{}-01", "0".repeat(16)),
            format!("00-{}-00f067aa0ba902b7-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-00f067aa0ba902b7-01-more"),
            format!("00-{TRACE}-00f067aa0ba902b7-1"),
            format!("00-{TRACE}-00f067aa0ba902b7-0g"),
            format!("0-0{TRACE}-00f067aa0ba902b7-01"),
            format!("00_{TRACE}_00f067aa0ba902b7_01"),
            format!("00-+{}-00f067aa0ba902b7-01", &TRACE[1..]),
            format!(" 00-{TRACE}-00f067aa0ba902b7-01"),
            format!("00-{TRACE}-00f067aa0ba902b7-é"),
            "é".repeat(40),
        ] {
            assert_eq!(parse(&text), None, "{text}");
        }
        assert_eq!(TraceParent::parse(&[0xff; LENGTH]), None);
    }

    #[test]
    fn a_new_trace_is_valid_and_its_own() {
        let (one, other) = (TraceParent::start(), TraceParent::start());
        assert_ne!(one.trace_id(), other.trace_id());
        assert_eq!(parse(&one.to_string()), Some(one));
        assert!(one.to_string().ends_with("-01"));
    }
}
