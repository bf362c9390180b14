//! Whether a stream is the run that was asked for: pieces of an SSE body come in, counted events go out.
//!
//! It accepts what a proxy may do to the framing, comments and other cuts, and nothing that changes an event.

use std::{
    io,
    sync::LazyLock,
    time::{SystemTime, UNIX_EPOCH},
};

use memchr::memmem::{Finder, find};

use crate::http::invalid;

/// The time stamp at the head of each delta, in microseconds since 1970: so many digits.
pub const STAMP_DIGITS: usize = 16;

/// The time as it is stamped. Source and sink are two processes on one machine: this is the clock that they share.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

static BLANK_LINE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\n\n"));

/// One run, from `RUN_STARTED` to `RUN_FINISHED`, with an exact number of content events between.
pub struct Check {
    /// The beginning of a frame whose end has not come yet.
    carry: Vec<u8>,
    expected: u64,
    seen: u64,
    next: Next,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    RunStarted,
    MessageStart,
    Content,
    RunFinished,
    Nothing,
}

impl Check {
    /// Expects a run of so many content events.
    pub fn new(expected: u64) -> Self {
        Self { carry: Vec::new(), expected, seen: 0, next: Next::RunStarted }
    }

    /// Content events so far.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Takes a piece of the body; `content` gets the time stamp of each content event.
    ///
    /// # Errors
    /// The first event that this run should not have at this place.
    pub fn feed(&mut self, piece: &[u8], content: &mut impl FnMut(u64)) -> io::Result<()> {
        if self.carry.is_empty() {
            let used = self.frames(piece, content)?;
            self.carry.extend_from_slice(&piece[used..]);
        } else {
            let mut carry = std::mem::take(&mut self.carry);
            carry.extend_from_slice(piece);
            let used = self.frames(&carry, content)?;
            carry.drain(..used);
            self.carry = carry;
        }
        Ok(())
    }

    /// The body is over.
    ///
    /// # Errors
    /// A run that has not finished, or anything after the last frame.
    pub fn end(&self) -> io::Result<()> {
        match self.next {
            Next::Nothing if self.carry.is_empty() => Ok(()),
            Next::Nothing => Err(invalid("bytes after RUN_FINISHED")),
            _ => Err(invalid("a stream that ended without RUN_FINISHED")),
        }
    }

    fn frames(&mut self, bytes: &[u8], content: &mut impl FnMut(u64)) -> io::Result<usize> {
        let mut used = 0;
        while let Some(n) = BLANK_LINE.find(&bytes[used..]) {
            self.frame(&bytes[used..used + n], content)?;
            used += n + 2;
        }
        Ok(used)
    }

    fn frame(&mut self, mut frame: &[u8], content: &mut impl FnMut(u64)) -> io::Result<()> {
        // A keep-alive comment is a line of its own, without a blank line after it.
        while frame.first() == Some(&b':') {
            frame = memchr::memchr(b'\n', frame).map_or(&[], |at| &frame[at + 1..]);
        }
        if frame.is_empty() {
            return Ok(());
        }
        let event = frame.strip_prefix(b"data: {\"type\":\"").ok_or_else(|| unexpected(frame))?;
        let kind = &event[..memchr::memchr(b'"', event).unwrap_or(0)];
        self.next = match (self.next, kind) {
            (Next::Content, b"TEXT_MESSAGE_CONTENT") => {
                self.seen += 1;
                if self.seen > self.expected {
                    return Err(invalid("more events than the run has"));
                }
                content(stamp(event).ok_or_else(|| unexpected(frame))?);
                Next::Content
            }
            (Next::RunStarted, b"RUN_STARTED") => Next::MessageStart,
            (Next::MessageStart, b"TEXT_MESSAGE_START") => Next::Content,
            (Next::Content, b"TEXT_MESSAGE_END") if self.seen == self.expected => Next::RunFinished,
            (Next::Content, b"TEXT_MESSAGE_END") => {
                return Err(invalid(&format!("{} events where the run has {}", self.seen, self.expected)));
            }
            (Next::RunFinished, b"RUN_FINISHED") => Next::Nothing,
            _ => return Err(unexpected(frame)),
        };
        Ok(())
    }
}

fn stamp(event: &[u8]) -> Option<u64> {
    let at = find(event, b"\"delta\":\"")? + 9;
    let digits = event.get(at..at + STAMP_DIGITS)?;
    digits.iter().try_fold(0, |sum, d| d.is_ascii_digit().then(|| sum * 10 + u64::from(d - b'0')))
}

fn unexpected(frame: &[u8]) -> io::Error {
    let shown = String::from_utf8_lossy(&frame[..frame.len().min(160)]).replace(['\n', '\r'], " ");
    invalid(&format!("unexpected: {shown}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    const STARTED: &str = "data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n";
    const START: &str = "data: {\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"m\"}\n\n";
    const CONTENT: &str =
        "data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"1796000000000042 tide\"}\n\n";
    const END: &str = "data: {\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"m\"}\n\n";
    const FINISHED: &str = "data: {\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n";

    /// The outcome for a body cut into pieces of `size` bytes, expecting two events, and the stamps seen.
    fn check(parts: &[&str], size: usize) -> (Result<(), String>, Vec<u64>) {
        let (mut check, mut stamps) = (Check::new(2), Vec::new());
        let body = parts.concat();
        let outcome = body.as_bytes().chunks(size).try_for_each(|c| check.feed(c, &mut |s| stamps.push(s)));
        (outcome.and_then(|()| check.end()).map_err(|e| e.to_string()), stamps)
    }

    #[test]
    fn an_exact_run_passes_however_it_is_cut() {
        for size in 1..400 {
            let run = [STARTED, START, CONTENT, ": still here\n", CONTENT, END, FINISHED];
            assert_eq!(check(&run, size), (Ok(()), vec![1_796_000_000_000_042; 2]), "pieces of {size}");
        }
    }

    #[test]
    fn a_run_with_too_few_or_too_many_events_fails() {
        let few = check(&[STARTED, START, CONTENT, END, FINISHED], 64).0.unwrap_err();
        assert_eq!(few, "1 events where the run has 2");
        let many = check(&[STARTED, START, CONTENT, CONTENT, CONTENT, END, FINISHED], 64).0.unwrap_err();
        assert_eq!(many, "more events than the run has");
    }

    #[test]
    fn a_run_without_its_last_event_fails() {
        let cut = check(&[STARTED, START, CONTENT, CONTENT, END], 64).0.unwrap_err();
        assert_eq!(cut, "a stream that ended without RUN_FINISHED");
        let glued = check(&[STARTED, START, CONTENT, CONTENT, END, FINISHED, "data"], 64).0.unwrap_err();
        assert_eq!(glued, "bytes after RUN_FINISHED");
    }

    #[test]
    fn an_error_of_the_run_and_a_lost_stamp_fail() {
        let error = "data: {\"type\":\"RUN_ERROR\",\"message\":\"gone\"}\n\n";
        assert!(check(&[STARTED, START, CONTENT, error], 64).0.unwrap_err().contains("RUN_ERROR"));
        let bare = "data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"tide\"}\n\n";
        assert!(check(&[STARTED, START, bare], 64).0.is_err());
    }
}
