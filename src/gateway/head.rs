//! The bytes of a request's head come in as they are read, cut anywhere; whether it has both a length and a transfer
//! coding goes out. The server takes the length away before anyone sees it. Nothing else of the head is its business.

/// Longer than the names that count, in bytes.
const LONGEST_NAME: usize = 18;

/// Reads one head for the names of its headers.
#[derive(Debug, Default)]
pub struct HeadScan {
    name: [u8; LONGEST_NAME],
    /// How much of the line's name is there; the name is over, or too long to count, at [`LONGEST_NAME`].
    len: usize,
    /// The line has bytes other than CR.
    said: bool,
    /// A line was read, so that a blank one is the end.
    begun: bool,
    over: bool,
    length: bool,
    coding: bool,
}

impl HeadScan {
    /// Takes the next bytes of the connection; those after the head say nothing any more.
    pub fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                _ if self.over => return,
                b'\n' => {
                    self.over = self.begun && !self.said;
                    self.begun |= self.said;
                    self.said = false;
                    self.len = 0;
                }
                b'\r' => {}
                b':' if self.len < LONGEST_NAME => {
                    let name = &self.name[..self.len];
                    self.length |= name.eq_ignore_ascii_case(b"content-length");
                    self.coding |= name.eq_ignore_ascii_case(b"transfer-encoding");
                    self.len = LONGEST_NAME;
                }
                _ => {
                    self.said = true;
                    if let Some(place) = self.name.get_mut(self.len) {
                        *place = *byte;
                        self.len += 1;
                    }
                }
            }
        }
    }

    /// Whether the whole head was read.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Whether any of the head was read.
    pub fn has_begun(&self) -> bool {
        self.begun || self.said || self.len > 0
    }

    /// Whether the head has a length and a transfer coding, which two readers may follow differently.
    pub fn has_both(&self) -> bool {
        self.length && self.coding
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(head: &str) -> bool {
        let [whole, cut] = [head.len(), 1].map(|size| {
            let mut scan = HeadScan::default();
            head.as_bytes().chunks(size).for_each(|piece| scan.feed(piece));
            assert!(scan.is_over(), "{head}");
            scan.has_both()
        });
        assert_eq!(whole, cut, "{head}");
        whole
    }

    #[test]
    fn a_length_beside_a_coding_is_found_in_either_order_and_spelling() {
        assert!(both("POST / HTTP/1.1\r\nContent-Length: 3\r\nTRANSFER-ENCODING:chunked\r\n\r\n"));
        assert!(both("POST / HTTP/1.1\ntransfer-encoding: chunked\na: b\ncontent-length:3\n\n"));
        assert!(both("\r\n\r\nPOST / HTTP/1.1\r\ntransfer-encoding: x\r\ncontent-length:\r\n\r\n"));
    }

    #[test]
    fn one_of_them_is_none_wherever_the_other_is_named() {
        for lines in [
            "content-length: 3",
            "transfer-encoding: chunked",
            "content-length: 3\r\nx-transfer-encoding: chunked\r\ntransfer-encodings: a",
            "transfer-encoding: content-length: 3",
            "transfer-encoding: chunked\r\nte: content-length:3\r\n content-length: 3",
        ] {
            assert!(!both(&format!("POST /content-length: HTTP/1.1\r\n{lines}\r\n\r\n")), "{lines}");
        }
        assert!(!both("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\ncontent-length: 3\r\n\r\n"));
    }
}
