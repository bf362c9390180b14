//! The little of HTTP/1.1 that both ends need: bytes of a connection come in, heads and body pieces go out.
//!
//! It reads what a correct peer sends and reports everything else; it never guesses.

use std::io;

use tokio::{io::AsyncReadExt, net::TcpStream};

/// Heads larger than this many bytes are an error.
const HEAD_LIMIT: usize = 64 * 1024;

/// A connection and the bytes that were read from it but not yet used.
pub struct Wire {
    /// The connection, to write to.
    pub stream: TcpStream,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl Wire {
    /// Wraps a connection; `buffer` is the most that one read takes, in bytes.
    ///
    /// # Errors
    /// What the socket says when small writes are to be sent at once.
    pub fn new(stream: TcpStream, buffer: usize) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; buffer], start: 0, end: 0 })
    }

    /// Bytes read but not used.
    pub fn pending(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Marks `n` pending bytes as used.
    pub fn used(&mut self, n: usize) {
        self.start += n;
    }

    /// Reads more; 0 means that the peer has closed.
    ///
    /// # Errors
    /// What the socket says, or pending bytes that fill the whole buffer.
    pub async fn fill(&mut self) -> io::Result<usize> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            if self.end == self.buffer.len() {
                let larger = self.buffer.len() * 2;
                if larger > HEAD_LIMIT {
                    return Err(invalid("a head that is too large"));
                }
                self.buffer.resize(larger, 0);
            }
        }
        let n = self.stream.read(&mut self.buffer[self.end..]).await?;
        self.end += n;
        Ok(n)
    }

    /// Reads one head. `None`: the peer closed before one began.
    ///
    /// # Errors
    /// What the socket says, or a connection that ended inside the head.
    pub async fn head(&mut self) -> io::Result<Option<Head>> {
        loop {
            if let Some(at) = memchr::memmem::find(self.pending(), b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&self.pending()[..at]).into_owned();
                self.used(at + 4);
                return Ok(Some(Head(head)));
            }
            if self.fill().await? == 0 {
                return if self.pending().is_empty() { Ok(None) } else { Err(invalid("a head that was cut off")) };
            }
        }
    }
}

/// A request or response head without its last blank line.
pub struct Head(String);

impl Head {
    /// The first line.
    pub fn first(&self) -> &str {
        self.0.lines().next().unwrap_or_default()
    }

    /// The value of a header, by its name in any case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// Whether `name` has `value`, in any case.
    pub fn is(&self, name: &str, value: &str) -> bool {
        self.get(name).is_some_and(|v| v.eq_ignore_ascii_case(value))
    }
}

/// Takes a body in `transfer-encoding: chunked` apart.
#[derive(Default)]
pub struct Chunks {
    at: At,
}

#[derive(Default, Clone, Copy)]
enum At {
    /// In the line with a chunk's size, which is this so far.
    #[default]
    Begin,
    Size(usize),
    /// After the size, in an extension or before the LF.
    SizeEnd(usize),
    /// In the data of a chunk, of which so much is missing.
    Data(usize),
    /// Before the line end that follows a chunk's data.
    DataEnd,
    /// In a line after the last chunk; whether it has any characters.
    Trailer(bool),
    Done,
}

impl Chunks {
    /// Whether the body has ended.
    pub fn done(&self) -> bool {
        matches!(self.at, At::Done)
    }

    /// Hands pieces of the body to `body`, and says how many bytes of `input` it used: all, or up to the body's end.
    ///
    /// # Errors
    /// A chunk that is malformed, or what `body` says.
    pub fn feed(&mut self, input: &[u8], mut body: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<usize> {
        let mut used = 0;
        while used < input.len() && !self.done() {
            if let At::Data(missing) = self.at {
                let n = missing.min(input.len() - used);
                body(&input[used..used + n])?;
                used += n;
                self.at = if n == missing { At::DataEnd } else { At::Data(missing - n) };
                continue;
            }
            self.at = self.at.step(input[used])?;
            used += 1;
        }
        Ok(used)
    }
}

impl At {
    fn step(self, byte: u8) -> io::Result<Self> {
        let ended = |size| {
            if size == 0 { At::Trailer(false) } else { At::Data(size) }
        };
        Ok(match (self, byte) {
            (At::Begin | At::Size(_), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                let size = if let At::Size(size) = self { size } else { 0 };
                let digit = usize::from(match byte {
                    b'0'..=b'9' => byte - b'0',
                    _ => (byte | 0x20) - b'a' + 10,
                });
                match size.checked_mul(16) {
                    Some(size) => At::Size(size + digit),
                    None => return Err(invalid("a chunk that is too large")),
                }
            }
            (At::Size(size) | At::SizeEnd(size), b'\n') => ended(size),
            (At::Size(size), b'\r' | b';' | b' ') | (At::SizeEnd(size), _) => At::SizeEnd(size),
            (At::DataEnd, b'\r') => At::DataEnd,
            (At::DataEnd, b'\n') => At::Begin,
            (At::Trailer(false), b'\n') => At::Done,
            (At::Trailer(true), b'\n') => At::Trailer(false),
            (At::Trailer(any), b'\r') => At::Trailer(any),
            (At::Trailer(_), _) => At::Trailer(true),
            _ => return Err(invalid("a malformed chunk")),
        })
    }
}

/// The error for a peer that broke a rule.
pub fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    const WIRE: &[u8] = b"5\r\nhello\r\n1b;ext=1\r\n, this is a longer chunk...\r\n0\r\nx-trailer: 1\r\n\r\nNEXT";

    fn read(cuts: &[&[u8]]) -> (Vec<u8>, usize, bool) {
        let (mut chunks, mut body, mut used) = (Chunks::default(), Vec::new(), 0);
        for cut in cuts {
            let keep = |piece: &[u8]| {
                body.extend_from_slice(piece);
                Ok(())
            };
            used += chunks.feed(cut, keep).unwrap();
        }
        (body, used, chunks.done())
    }

    #[test]
    fn a_body_is_the_same_wherever_it_is_cut() {
        let whole = read(&[WIRE]);
        assert_eq!(whole.0, b"hello, this is a longer chunk...");
        assert_eq!((whole.1, whole.2), (WIRE.len() - 4, true));
        for at in 0..WIRE.len() {
            assert_eq!(read(&[&WIRE[..at], &WIRE[at..]]), whole, "cut at {at}");
        }
    }

    #[test]
    fn a_body_that_was_cut_off_is_not_done() {
        assert!(!read(&[b"5\r\nhello\r\n0\r\n"]).2);
    }

    #[test]
    fn malformed_chunks_are_errors() {
        for bad in [&b"zz\r\n"[..], b"\r\n", b"2\r\nabc", b"fffffffffffffffff\r\n"] {
            assert!(Chunks::default().feed(bad, |_| Ok(())).is_err(), "{bad:?}");
        }
    }
}
