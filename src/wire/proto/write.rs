//! Fields come in, a frame goes out. A message's length stands before it and is known after it: lengths are put in
//! once everything is written, so that deep nesting costs no more than flat fields do.

use bytes::{BufMut, Bytes, BytesMut};

/// A frame in the making.
#[derive(Debug)]
pub(super) struct Writer {
    /// Everything but the lengths of messages.
    bytes: Vec<u8>,
    /// Where a length belongs, and what it is; in the order of the places.
    marks: Vec<(usize, usize)>,
    /// How many bytes the lengths known so far take.
    lengths: usize,
}

/// A message that is not over yet.
#[derive(Debug)]
#[must_use]
pub(super) struct Open {
    mark: usize,
    lengths: usize,
}

impl Writer {
    /// A frame for which this many bytes will probably do.
    pub(super) fn new(room: usize) -> Self {
        Self { bytes: Vec::with_capacity(room), marks: Vec::with_capacity(8), lengths: 0 }
    }

    /// Begins a message in this field.
    pub(super) fn open(&mut self, number: u32) -> Open {
        self.tag(number, 2);
        self.marks.push((self.bytes.len(), 0));
        Open { mark: self.marks.len() - 1, lengths: self.lengths }
    }

    /// Ends a message; all that were opened after it are over.
    pub(super) fn close(&mut self, open: Open) {
        let (start, length) = &mut self.marks[open.mark];
        *length = self.bytes.len() - *start + self.lengths - open.lengths;
        self.lengths += varint_len(*length as u64);
    }

    /// A varint field.
    pub(super) fn varint(&mut self, number: u32, value: u64) {
        self.tag(number, 0);
        put_varint(&mut self.bytes, value);
    }

    /// A string field.
    pub(super) fn text(&mut self, number: u32, text: &[u8]) {
        self.tag(number, 2);
        self.sized(text);
    }

    /// A `google.protobuf.Value` with a string.
    pub(super) fn any_text(&mut self, number: u32, text: &[u8]) {
        self.tag(number, 2);
        put_varint(&mut self.bytes, (1 + varint_len(text.len() as u64) + text.len()) as u64);
        self.tag(3, 2);
        self.sized(text);
    }

    /// A `google.protobuf.Value` with a number.
    pub(super) fn any_number(&mut self, number: u32, value: f64) {
        self.tag(number, 2);
        self.bytes.extend_from_slice(&[9, 2 << 3 | 1]);
        self.bytes.put_f64_le(value);
    }

    /// A `google.protobuf.Value` with a bool.
    pub(super) fn any_flag(&mut self, number: u32, value: bool) {
        self.tag(number, 2);
        self.bytes.extend_from_slice(&[2, 4 << 3, u8::from(value)]);
    }

    /// A `google.protobuf.Value` with null.
    pub(super) fn any_null(&mut self, number: u32) {
        self.tag(number, 2);
        self.bytes.extend_from_slice(&[2, 1 << 3, 0]);
    }

    /// The frame: its length, and what was written.
    pub(super) fn finish(self) -> Bytes {
        let length = self.bytes.len() + self.lengths;
        let mut frame = BytesMut::with_capacity(4 + length);
        // A message longer than its length can say would need 4 GiB of JSON; no limit on frames is that high.
        frame.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
        let mut from = 0;
        for (place, length) in self.marks {
            frame.extend_from_slice(&self.bytes[from..place]);
            put_varint(&mut frame, length as u64);
            from = place;
        }
        frame.extend_from_slice(&self.bytes[from..]);
        frame.freeze()
    }

    fn tag(&mut self, number: u32, wire: u32) {
        put_varint(&mut self.bytes, u64::from(number << 3 | wire));
    }

    fn sized(&mut self, text: &[u8]) {
        put_varint(&mut self.bytes, text.len() as u64);
        self.bytes.extend_from_slice(text);
    }
}

fn put_varint(out: &mut impl BufMut, mut value: u64) {
    while value >= 0x80 {
        out.put_u8(value as u8 | 0x80);
        value >>= 7;
    }
    out.put_u8(value as u8);
}

/// How many bytes a varint takes.
fn varint_len(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_count_the_lengths_within_them() {
        let mut writer = Writer::new(0);
        let outer = writer.open(1);
        let inner = writer.open(2);
        writer.text(1, &[b'x'; 126]);
        writer.close(inner);
        writer.varint(3, u64::MAX);
        writer.close(outer);
        let text = [b'x'; 126];
        let expected = [&[0, 0, 0, 145, 0x0a, 142, 1, 0x12, 128, 1, 0x0a, 126][..], &text, &[0x18], &[255; 9], &[1]];
        assert_eq!(writer.finish(), expected.concat());
    }

    #[test]
    fn a_varint_takes_as_many_bytes_as_it_says() {
        for shift in 0..64 {
            for value in [1_u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                let mut out = Vec::new();
                put_varint(&mut out, value);
                assert_eq!(out.len(), varint_len(value), "{value}");
            }
        }
    }
}
