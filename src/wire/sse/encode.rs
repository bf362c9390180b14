//! Payloads of events come in, the text of a `text/event-stream` body goes out in its canonical spelling: LF only,
//! `data: ` with its space, a blank line after each event. A payload's bytes are not changed unless an escape is asked for.

use bytes::Bytes;
use memchr::memchr2;

use super::escape::escaped;
use crate::wire::Batch;

/// From this length on, a payload is handed on as a slice instead of being copied behind its `data: `.
const OWN_SLICE: usize = 4 * 1024;

/// Which characters within JSON strings are written as `\uXXXX`, for readers that stumble over them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Escape {
    /// None.
    #[default]
    Off,
    /// U+2028, U+2029 and U+0085, which some readers take for line ends.
    LineSeparators,
    /// Every character beyond ASCII; those beyond U+FFFF as a surrogate pair.
    NonAscii,
}

/// Writes the events of one body.
#[derive(Clone, Copy, Debug, Default)]
pub struct Encoder {
    escape: Escape,
}

impl Encoder {
    /// An encoder that escapes so much and no more.
    pub fn new(escape: Escape) -> Self {
        Self { escape }
    }

    /// Writes one event with this payload. `canonical` is the event as it came, if [`super::Frame::canonical`] had it
    /// and the payload is still the same: then it is passed on instead of being spelled again.
    ///
    /// A line end within the payload, be it LF, CR or both, begins another `data` line.
    pub fn event(&self, data: &Bytes, canonical: Option<Bytes>, out: &mut Batch) {
        if let Some(data) = escaped(data, self.escape) {
            write(&data.into(), out);
        } else if let Some(frame) = canonical {
            out.push(frame);
        } else {
            write(data, out);
        }
    }

    /// Writes a comment for people who look at the stream, as a line of its own. What would end the line is left out.
    pub fn comment(&self, text: &str, out: &mut Batch) {
        let line: String = text.chars().filter(|c| !c.is_control()).collect();
        out.push(Bytes::from(format!(": {line}\n")));
    }

    /// Writes a comment that readers ignore: a single line, so that it fits between any two events and ends none.
    pub fn keepalive(&self, out: &mut Batch) {
        out.push(Bytes::from_static(b":\n"));
    }
}

fn write(data: &Bytes, out: &mut Batch) {
    let mut start = 0;
    while let Some(length) = memchr2(b'\n', b'\r', &data[start..]) {
        let end = start + length;
        write_line(data, start, end, out);
        start = end + if data[end..].starts_with(b"\r\n") { 2 } else { 1 };
    }
    write_line(data, start, data.len(), out);
    out.extend_from_slice(b"\n");
}

fn write_line(data: &Bytes, start: usize, end: usize, out: &mut Batch) {
    out.extend_from_slice(b"data: ");
    if end - start >= OWN_SLICE {
        out.push(data.slice(start..end));
    } else {
        out.extend_from_slice(&data[start..end]);
    }
    out.extend_from_slice(b"\n");
}
