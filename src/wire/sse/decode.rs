//! Chunks of a `text/event-stream` body come in, cut anywhere; the payloads of its events go out, one frame each.
//! A payload is handed on as the bytes it came in: it is neither decoded nor judged.

use bytes::Bytes;
use memchr::memchr2;

/// The byte order mark that a stream may begin with.
const BOM: &[u8] = b"\xEF\xBB\xBF";
/// The only field that counts, with its colon.
const DATA: &[u8] = b"data:";
/// The only name of an event that counts, spelled without the space that may follow the colon.
const ERROR: &[u8] = b"event:error";
/// Where in [`ERROR`] the value begins.
const ERROR_VALUE: usize = 6;
/// How a canonical frame begins.
const CANONICAL: &[u8] = b"data: ";

/// One event of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The payload: the values of the event's `data` lines, joined with LF. It may be empty and need not be UTF-8.
    pub data: Bytes,
    /// The whole frame as it came, if it was spelled `data: …` with one line, LF, and a blank line with LF.
    pub canonical: Option<Bytes>,
    /// Whether the body ended within a line of this event, so that its payload may be cut.
    pub unterminated: bool,
    /// Whether the event is named `error`, in whatever case; other names are ignored.
    pub named_error: bool,
}

/// An event's payload is longer than the limit. The decoder reads no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event's data is longer than {limit} bytes")]
pub struct FrameTooLarge {
    /// The limit, in bytes.
    pub limit: usize,
}

/// Where in a line the next byte stands.
#[derive(Clone, Copy, Debug)]
enum Line {
    /// At the beginning of the stream, after so many bytes of a byte order mark.
    Bom(usize),
    /// After so many bytes of [`DATA`], all of which matched; 0 is the beginning of a line.
    Name(usize),
    /// After so many bytes of [`ERROR`], all of which matched.
    Event(usize),
    /// Within the value of a `data` line.
    Value,
    /// Within a line that says nothing: a comment or another field.
    Ignored,
}

/// What is known of the payload of the event under way.
#[derive(Debug)]
enum Payload {
    /// No `data` line yet: a blank line here ends nothing but an event named `error`.
    None,
    /// All of it lay in one chunk.
    Slice(Bytes),
    /// It was put together from several lines or chunks.
    Joined(Vec<u8>),
}

impl Payload {
    fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Slice(slice) => slice.len(),
            Self::Joined(joined) => joined.len(),
        }
    }
}

/// Reads the frames of one body.
///
/// The grammar is that of the WHATWG's HTML standard, over bytes, but for two things. What is pending at the end of the
/// body becomes a last frame instead of being thrown away. And an event that is named `error` and has no `data` line is
/// a frame without a payload: some servers say no more of their failures. Every byte is looked at once.
#[derive(Debug)]
pub struct Decoder {
    limit: usize,
    chunk: Bytes,
    /// The first byte of `chunk` not read yet.
    at: usize,
    line: Line,
    /// The last line ended in CR, so that an LF now is the rest of that line end.
    after_cr: bool,
    payload: Payload,
    /// Where in `chunk` the event's only line began, while its spelling is canonical.
    canonical: Option<usize>,
    /// The event under way is named `error`.
    named_error: bool,
    failed: bool,
}

impl Decoder {
    /// A decoder at the beginning of a body, for payloads of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            chunk: Bytes::new(),
            at: 0,
            line: Line::Bom(0),
            after_cr: false,
            payload: Payload::None,
            canonical: None,
            named_error: false,
            failed: false,
        }
    }

    /// Takes the next bytes of the body. The chunk before should have been read to its end with [`Self::next`];
    /// if it was not, its rest is copied.
    pub fn feed(&mut self, chunk: Bytes) {
        if self.failed {
            return;
        }
        let rest = self.chunk.len() - self.at;
        if rest == 0 {
            self.chunk = chunk;
        } else {
            let mut both = Vec::with_capacity(rest + chunk.len());
            both.extend_from_slice(&self.chunk[self.at..]);
            both.extend_from_slice(&chunk);
            self.chunk = both.into();
        }
        self.at = 0;
    }

    /// The next frame that is whole, or `None` when more bytes are needed.
    ///
    /// # Errors
    ///
    /// [`FrameTooLarge`] as soon as the payload under way passes the limit, and at every call after that.
    #[allow(clippy::should_implement_trait)] // `None` means "feed me", not "over".
    pub fn next(&mut self) -> Result<Option<Frame>, FrameTooLarge> {
        if self.failed {
            return Err(FrameTooLarge { limit: self.limit });
        }
        while let Some(&byte) = self.chunk.get(self.at) {
            if std::mem::take(&mut self.after_cr) && byte == b'\n' {
                self.at += 1;
                continue;
            }
            match self.line {
                Line::Name(0) if self.chunk[self.at..].starts_with(CANONICAL) => {
                    self.canonical = matches!(self.payload, Payload::None).then_some(self.at);
                    self.at += CANONICAL.len();
                    self.begin_value()?;
                }
                Line::Name(0) if is_line_end(byte) => {
                    self.at += 1;
                    self.after_cr = byte == b'\r';
                    if let Some(frame) = self.dispatch(byte) {
                        return Ok(Some(frame));
                    }
                }
                Line::Bom(seen) => self.bom(seen, byte),
                Line::Name(0) if byte == ERROR[0] => {
                    self.at += 1;
                    self.line = Line::Event(1);
                    self.canonical = None;
                }
                Line::Name(seen) => self.name(seen, byte)?,
                Line::Event(seen) => self.event_name(seen, byte),
                Line::Value | Line::Ignored => self.rest_of_line()?,
            }
        }
        self.release_chunk();
        Ok(None)
    }

    /// Takes the end of the body: first the frames not read yet, then what is pending, then `None`.
    ///
    /// # Errors
    ///
    /// [`FrameTooLarge`] as in [`Self::next`].
    pub fn finish(&mut self) -> Result<Option<Frame>, FrameTooLarge> {
        if let Some(frame) = self.next()? {
            return Ok(Some(frame));
        }
        if matches!(self.line, Line::Name(4..)) {
            self.begin_value()?; // The last line is `data` or `data:`, without a line end.
        }
        let unterminated = !matches!(self.line, Line::Name(0) | Line::Bom(0));
        if let Line::Event(seen @ ERROR_VALUE..) = self.line {
            self.named_error = seen == ERROR.len();
        }
        self.line = Line::Name(0);
        Ok(self.take_event(None, unterminated))
    }

    /// How many bytes are buffered now: the payload under way, and input not read yet.
    pub fn held(&self) -> usize {
        self.payload.len() + self.chunk.len() - self.at
    }

    fn bom(&mut self, seen: usize, byte: u8) {
        if byte == BOM[seen] {
            self.at += 1;
            self.line = if seen + 1 == BOM.len() { Line::Name(0) } else { Line::Bom(seen + 1) };
        } else if seen == 0 {
            self.line = Line::Name(0);
        } else {
            self.line = Line::Ignored; // A line that begins with part of a mark is no field we know.
        }
    }

    /// One byte of a field's name, for names that are not spelled [`CANONICAL`] within one chunk.
    fn name(&mut self, seen: usize, byte: u8) -> Result<(), FrameTooLarge> {
        if seen == DATA.len() {
            self.at += usize::from(byte == b' ');
            return self.begin_value();
        }
        if byte == DATA[seen] {
            self.at += 1;
            self.line = Line::Name(seen + 1);
        } else if seen == DATA.len() - 1 && is_line_end(byte) {
            return self.begin_value(); // `data` without a colon is `data` without a value.
        } else {
            self.line = Line::Ignored;
            self.canonical = None;
        }
        Ok(())
    }

    /// One byte of a line that may name the event `error`. The last such line of an event counts.
    fn event_name(&mut self, seen: usize, byte: u8) {
        if seen >= ERROR_VALUE && is_line_end(byte) {
            self.named_error = seen == ERROR.len();
            self.line = Line::Ignored; // Which ends at this very byte.
        } else if ERROR.get(seen).is_some_and(|error| *error == byte || (seen >= ERROR_VALUE && *error == byte | 0x20))
        {
            self.at += 1;
            self.line = Line::Event(seen + 1);
        } else if seen == ERROR_VALUE && byte == b' ' {
            self.at += 1;
        } else {
            self.named_error &= seen < ERROR_VALUE; // Another name takes the place of this one.
            self.line = Line::Ignored;
        }
    }

    /// The rest of a value or of an ignored line, to its end or to the end of the chunk.
    fn rest_of_line(&mut self) -> Result<(), FrameTooLarge> {
        let start = self.at;
        let end = memchr2(b'\n', b'\r', &self.chunk[start..]).map(|length| start + length);
        self.at = end.unwrap_or(self.chunk.len());
        if matches!(self.line, Line::Value) {
            self.append(start, self.at)?;
        }
        if let Some(end) = end {
            self.at = end + 1;
            self.after_cr = self.chunk[end] == b'\r';
            if self.after_cr {
                self.canonical = None;
            }
            self.line = Line::Name(0);
        }
        Ok(())
    }

    /// Begins the value of a `data` line; from the second line on, an LF joins it to the one before.
    fn begin_value(&mut self) -> Result<(), FrameTooLarge> {
        self.line = Line::Value;
        if matches!(self.payload, Payload::None) {
            self.payload = Payload::Slice(Bytes::new());
            return Ok(());
        }
        self.canonical = None;
        self.join(b"\n")
    }

    /// Adds a piece of `chunk` to the value.
    fn append(&mut self, start: usize, end: usize) -> Result<(), FrameTooLarge> {
        if start == end {
            return Ok(());
        }
        match &mut self.payload {
            Payload::Slice(slice) if slice.is_empty() => {
                if end - start > self.limit {
                    return Err(self.fail());
                }
                *slice = self.chunk.slice(start..end);
                Ok(())
            }
            _ => {
                let chunk = self.chunk.clone();
                self.join(&chunk[start..end])
            }
        }
    }

    fn join(&mut self, piece: &[u8]) -> Result<(), FrameTooLarge> {
        let length = self.payload.len();
        let needed = length + piece.len();
        if needed > self.limit {
            return Err(self.fail());
        }
        // Doubled, so that bytes that trickle in are not copied over and over, but never past the limit.
        let room = needed.saturating_mul(2).min(self.limit);
        let mut joined = match std::mem::replace(&mut self.payload, Payload::None) {
            Payload::None => Vec::with_capacity(room),
            Payload::Slice(slice) => {
                let mut joined = Vec::with_capacity(room);
                joined.extend_from_slice(&slice);
                joined
            }
            Payload::Joined(mut joined) => {
                if needed > joined.capacity() {
                    joined.reserve_exact(room - length);
                }
                joined
            }
        };
        joined.extend_from_slice(piece);
        self.payload = Payload::Joined(joined);
        Ok(())
    }

    /// A blank line, ended by `byte`: the event is complete, if it is one.
    fn dispatch(&mut self, byte: u8) -> Option<Frame> {
        let start = self.canonical.take().filter(|_| byte == b'\n');
        let canonical = start.map(|start| self.chunk.slice(start..self.at));
        self.take_event(canonical, false)
    }

    /// The event under way, if it has data or is named `error`.
    fn take_event(&mut self, canonical: Option<Bytes>, unterminated: bool) -> Option<Frame> {
        let named_error = std::mem::take(&mut self.named_error);
        let data = match std::mem::replace(&mut self.payload, Payload::None) {
            Payload::None if named_error => Bytes::new(),
            Payload::None => return None,
            Payload::Slice(slice) => slice,
            Payload::Joined(joined) => joined.into(),
        };
        Some(Frame { data, canonical, unterminated, named_error })
    }

    /// The chunk is read: lets go of it, also where a pending payload is but a small part of it.
    fn release_chunk(&mut self) {
        if let Payload::Slice(slice) = &self.payload
            && slice.len() < self.chunk.len() / 2
        {
            self.payload = Payload::Slice(Bytes::copy_from_slice(slice));
        }
        self.chunk = Bytes::new();
        self.at = 0;
        self.canonical = None;
    }

    fn fail(&mut self) -> FrameTooLarge {
        *self = Self { failed: true, ..Self::new(self.limit) };
        FrameTooLarge { limit: self.limit }
    }
}

fn is_line_end(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}
