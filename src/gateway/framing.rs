//! The bytes that a client sends over HTTP/1.1 come in as they are read, cut anywhere; how many heads of requests were seen
//! whole goes out, as long as there is one way to read them. The server takes the length away where there is a transfer
//! coding too, before anyone sees it. Bodies are followed to their end, so that no head is missed; nothing of them is kept.

/// Longer than the names that count, in bytes.
const LONGEST_NAME: usize = 18;
/// The request line that HTTP/2 begins with.
const HTTP2: &[u8] = b"PRI * HTTP/2.0";

/// Follows one connection from head to head.
#[derive(Debug, Default)]
pub struct Framing {
    place: Place,
    heads: u64,
}

/// Where the next byte belongs.
#[derive(Debug)]
enum Place {
    Head(Head),
    /// A body of which so many bytes are to come.
    Body(u64),
    /// The line that tells the size of a chunk.
    Size(Line, u64),
    /// So many bytes of a chunk, with the end of its line.
    Chunk(u64),
    /// The lines after the last chunk.
    Trailer(Line),
    /// Where readers may differ, or it is HTTP/2.
    Lost,
}

impl Default for Place {
    fn default() -> Self {
        Self::Head(Head::default())
    }
}

/// What was read of a line in a chunked body, whose end is CR LF and nothing else.
#[derive(Debug, Default)]
struct Line {
    /// It has bytes other than its end.
    said: bool,
    /// No digit of a size comes any more.
    told: bool,
    cr: bool,
}

impl Framing {
    /// Takes the next bytes of the connection.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let plain = usize::try_from(self.plain()).unwrap_or(usize::MAX).min(bytes.len());
            self.skip(plain as u64);
            bytes = &bytes[plain..];
            if let Some((byte, rest)) = bytes.split_first()
                && self.plain() == 0
            {
                self.take(*byte);
                bytes = rest;
            }
        }
    }

    /// How many of the next bytes say nothing of where anything ends.
    fn plain(&self) -> u64 {
        match self.place {
            Place::Body(left) | Place::Chunk(left) => left,
            Place::Lost => u64::MAX,
            _ => 0,
        }
    }

    /// So many bytes came, of those that say nothing.
    fn skip(&mut self, bytes: u64) {
        self.place = match self.place {
            Place::Body(left) if left == bytes => Place::default(),
            Place::Chunk(left) if left == bytes => Place::Size(Line::default(), 0),
            Place::Body(ref mut left) | Place::Chunk(ref mut left) => {
                *left = left.saturating_sub(bytes);
                return;
            }
            _ => return,
        }
    }

    /// How many heads there were, each with one way to read it; none is counted any more after one that is otherwise.
    pub fn heads(&self) -> u64 {
        self.heads
    }

    /// Whether the connection is not followed any further.
    pub fn is_lost(&self) -> bool {
        matches!(self.place, Place::Lost)
    }

    /// Whether some of the next head was read.
    pub fn has_begun(&self) -> bool {
        matches!(&self.place, Place::Head(head) if head.has_begun())
    }

    fn take(&mut self, byte: u8) {
        let next = match &mut self.place {
            Place::Head(head) => match head.take(byte) {
                None => return,
                Some(body) => {
                    self.heads += u64::from(!matches!(body, Place::Lost));
                    body
                }
            },
            Place::Size(line, size) => match byte {
                b'\n' if !line.cr => Place::Lost,
                b'\n' if *size == 0 => Place::Trailer(Line::default()),
                b'\n' => size.checked_add(2).map_or(Place::Lost, Place::Chunk),
                _ => {
                    let digit = char::from(byte).to_digit(16).filter(|_| !line.told);
                    (line.told, line.cr) = (digit.is_none(), byte == b'\r');
                    let Some(digit) = digit else { return };
                    match size.checked_mul(16) {
                        Some(more) => *size = more + u64::from(digit),
                        None => self.place = Place::Lost,
                    }
                    return;
                }
            },
            Place::Trailer(line) => match byte {
                b'\n' if !line.cr => Place::Lost,
                b'\n' if !line.said => Place::default(),
                b'\n' => Place::Trailer(Line::default()),
                _ => {
                    line.cr = byte == b'\r';
                    line.said |= !line.cr;
                    return;
                }
            },
            Place::Body(_) | Place::Chunk(_) | Place::Lost => return,
        };
        self.place = next;
    }
}

/// The head of one request, read for the names of its headers.
#[derive(Debug, Default)]
struct Head {
    name: [u8; LONGEST_NAME],
    /// How much of the line's name is there; the name is over, or too long to count, at [`LONGEST_NAME`].
    len: usize,
    /// The line has bytes other than CR.
    said: bool,
    /// A line was read, so that a blank one is the end.
    begun: bool,
    /// The line tells the length.
    counts: Option<Digits>,
    length: Option<u64>,
    coding: bool,
    /// No server takes it, or each its own way.
    odd: bool,
}

/// A number, as far as it was read.
#[derive(Clone, Copy, Debug, Default)]
struct Digits {
    value: Option<u64>,
    over: bool,
}

impl Head {
    /// What comes after the head, if this byte is its last.
    fn take(&mut self, byte: u8) -> Option<Place> {
        match byte {
            b'\n' => {
                if self.begun && !self.said {
                    return Some(self.body());
                }
                self.end_line();
            }
            b'\r' => {}
            b':' if self.len < LONGEST_NAME => {
                let name = &self.name[..self.len];
                self.coding |= name.eq_ignore_ascii_case(b"transfer-encoding");
                self.counts = name.eq_ignore_ascii_case(b"content-length").then(Digits::default);
                self.len = LONGEST_NAME;
            }
            _ => {
                self.said = true;
                if let Some(digits) = &mut self.counts {
                    self.odd |= !digits.take(byte);
                } else if let Some(place) = self.name.get_mut(self.len) {
                    *place = byte;
                    self.len += 1;
                }
            }
        }
        None
    }

    fn end_line(&mut self) {
        if let Some(Digits { value, .. }) = self.counts.take() {
            self.odd |= value.is_none() || self.length.is_some_and(|length| Some(length) != value);
            self.length = value;
        }
        self.odd |= !self.begun && self.name[..self.len] == *HTTP2;
        self.begun |= self.said;
        self.said = false;
        self.len = 0;
    }

    /// What comes after this head.
    fn body(&self) -> Place {
        match (self.length, self.coding) {
            _ if self.odd => Place::Lost,
            (Some(_), true) => Place::Lost,
            (None, true) => Place::Size(Line::default(), 0),
            (None | Some(0), false) => Place::default(),
            (Some(length), false) => Place::Body(length),
        }
    }

    fn has_begun(&self) -> bool {
        self.begun || self.said || self.len > 0
    }
}

impl Digits {
    /// Takes a byte of the value; whether it may be there.
    fn take(&mut self, byte: u8) -> bool {
        match byte {
            b'0'..=b'9' if !self.over => {
                let more = self.value.unwrap_or(0).checked_mul(10);
                self.value = more.and_then(|more| more.checked_add(u64::from(byte - b'0')));
                self.value.is_some()
            }
            b' ' | b'\t' => {
                self.over = self.value.is_some();
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many heads of these bytes count, and whether the connection is followed after them.
    fn heads(bytes: &str) -> (u64, bool) {
        let [whole, cut, halves] = [bytes.len(), 1, bytes.len() / 2].map(|size| {
            let mut framing = Framing::default();
            bytes.as_bytes().chunks(size).for_each(|piece| framing.feed(piece));
            (framing.heads(), !framing.is_lost())
        });
        assert!(whole == cut && whole == halves, "{bytes:?}");
        whole
    }

    const GET: &str = "GET /a HTTP/1.1\r\nhost: g\r\n\r\n";

    fn post(headers: &str, body: &str) -> String {
        format!("POST /content-length: HTTP/1.1\r\nhost: g\r\n{headers}\r\n\r\n{body}")
    }

    #[test]
    fn a_length_beside_a_coding_is_found_in_either_order_and_spelling() {
        for headers in [
            "Content-Length: 3\r\nTRANSFER-ENCODING:chunked",
            "transfer-encoding: chunked\na: b\ncontent-length:3",
            "transfer-encoding: x\r\ncontent-length: 0",
        ] {
            assert_eq!(heads(&(post(headers, "0\r\n\r\n") + GET)), (0, false), "{headers}");
        }
    }

    #[test]
    fn every_head_is_seen_whatever_comes_before_it() {
        let bodies = [
            post("content-length: 5", "a\r\n\r\n"),
            post("content-length: 5 \r\ncontent-length:5", "GET /"),
            post("content-length: 0", ""),
            post("transfer-encoding: chunked", "0\r\n\r\n"),
            post(
                "Transfer-Encoding: chunked",
                "3\r\n\r\n\r\r\n00A ;a=\"b\"\r\n0123456789\r\n0;\r\nx-sum: 5\r\na: b\r\n\r\n",
            ),
            post("x-transfer-encoding: chunked\r\ncontent-lengths: 4", ""),
            post("te: content-length: 3\r\ntransfer-encoding: content-length: 3", "0\r\n\r\n"),
            "\r\n\r\n".to_owned() + GET,
            GET.replace("\r\n", "\n"),
        ];
        for body in &bodies {
            assert_eq!(heads(&(body.clone() + GET)), (2, true), "{body:?}");
            assert_eq!(
                heads(&(body.clone() + &post("content-length: 5\r\ntransfer-encoding: chunked", ""))),
                (1, false)
            );
        }
        assert_eq!(heads(&bodies.concat()), (bodies.len() as u64, true));
    }

    #[test]
    fn what_is_read_in_several_ways_is_not_followed() {
        for headers in ["content-length: 3, 3", "content-length:", "content-length: 3\r\ncontent-length: 4"] {
            assert_eq!(heads(&post(headers, GET)), (0, false), "{headers}");
        }
        for body in ["3\nabc\r\n0\r\n\r\n", "0\n\n", "0\r\na: b\n\r\n", "11111111111111111\r\n", "ffffffffffffffff\r\n"]
        {
            assert_eq!(heads(&(post("transfer-encoding: chunked", body) + GET)), (1, false), "{body:?}");
        }
    }

    #[test]
    fn http2_is_not_followed() {
        assert_eq!(heads("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), (0, false));
    }
}
