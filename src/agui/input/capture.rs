//! The bytes of a JSON string after its opening quote come in, cut anywhere; its beginning goes out unescaped. What does
//! not fit is passed over and flagged; what is not UTF-8 or no character is replaced, never refused.

use memchr::memchr2;

use super::Text;

/// Where in an escape the next byte stands.
#[derive(Clone, Copy, Debug, Default)]
enum Escape {
    #[default]
    None,
    Backslash,
    /// After `\u` and so many digits, which make this number.
    Unicode {
        digits: u8,
        number: u16,
    },
}

/// Keeps the first bytes of one string.
#[derive(Debug, Default)]
pub(super) struct Capture {
    limit: usize,
    kept: Vec<u8>,
    cut: bool,
    escape: Escape,
    /// The first half of a surrogate pair.
    high: Option<u16>,
}

impl Capture {
    /// Keeps so many bytes of UTF-8.
    pub(super) fn up_to(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Takes bytes up to and with the closing quote. Says how many it took, and whether the quote was among them.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> (usize, bool) {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match self.escape {
                Escape::None => {
                    let end = memchr2(b'"', b'\\', &bytes[at..]).map(|length| at + length);
                    let plain = &bytes[at..end.unwrap_or(bytes.len())];
                    if !plain.is_empty() {
                        self.drop_high();
                        self.push(plain);
                    }
                    let Some(end) = end else { break };
                    at = end + 1;
                    if bytes[end] == b'"' {
                        self.drop_high();
                        return (at, true);
                    }
                    self.escape = Escape::Backslash;
                }
                Escape::Backslash => {
                    at += 1;
                    self.escape = self.escaped(byte);
                }
                Escape::Unicode { digits, number } => match char::from(byte).to_digit(16) {
                    Some(digit) => {
                        at += 1;
                        let number = (number << 4) | digit as u16;
                        if digits == 3 {
                            self.escape = Escape::None;
                            self.unit(number);
                        } else {
                            self.escape = Escape::Unicode { digits: digits + 1, number };
                        }
                    }
                    None => {
                        self.escape = Escape::None;
                        self.drop_high();
                        self.push_char(char::REPLACEMENT_CHARACTER);
                    }
                },
            }
        }
        (bytes.len(), false)
    }

    /// What was kept.
    pub(super) fn finish(mut self) -> Text {
        if self.cut
            && let Err(error) = std::str::from_utf8(&self.kept)
            && error.error_len().is_none()
        {
            self.kept.truncate(error.valid_up_to()); // The limit fell within a character.
        }
        let mut value = String::from_utf8_lossy(&self.kept).into_owned();
        if value.len() > self.limit {
            value.truncate(value.floor_char_boundary(self.limit));
            self.cut = true;
        }
        Text { value, cut: self.cut }
    }

    fn escaped(&mut self, byte: u8) -> Escape {
        if byte == b'u' {
            return Escape::Unicode { digits: 0, number: 0 };
        }
        self.drop_high();
        self.push(&[match byte {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 0x08,
            b'f' => 0x0C,
            other => other,
        }]);
        Escape::None
    }

    /// One UTF-16 unit, from an escape.
    fn unit(&mut self, unit: u16) {
        if let (Some(high), 0xDC00..0xE000) = (self.high, unit) {
            self.high = None;
            for char in char::decode_utf16([high, unit]) {
                self.push_char(char.unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            return;
        }
        self.drop_high();
        match unit {
            0xD800..0xDC00 => self.high = Some(unit),
            _ => self.push_char(char::from_u32(unit.into()).unwrap_or(char::REPLACEMENT_CHARACTER)),
        }
    }

    /// Half a pair that the other half did not follow.
    fn drop_high(&mut self) {
        if self.high.take().is_some() {
            self.push_char(char::REPLACEMENT_CHARACTER);
        }
    }

    fn push_char(&mut self, char: char) {
        let mut utf8 = [0; 4];
        let utf8 = char.encode_utf8(&mut utf8).as_bytes();
        if self.kept.len() + utf8.len() > self.limit {
            self.cut = true;
        } else if !self.cut {
            self.kept.extend_from_slice(utf8);
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        if self.cut {
            return;
        }
        let room = self.limit - self.kept.len();
        self.cut = bytes.len() > room;
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}
