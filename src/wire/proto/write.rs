//! Fields come in, a frame goes out. A message's length stands before it and is known after it: lengths are put in
//! once everything is written, so that deep nesting costs no more than flat fields do.

use std::borrow::Cow;

use bytes::Bytes;

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
    #[inline]
    pub(super) fn open(&mut self, number: u32) -> Open {
        self.tag(number, 2);
        self.marks.push((self.bytes.len(), 0));
        Open { mark: self.marks.len() - 1, lengths: self.lengths }
    }

    /// Ends a message; all that were opened after it are over.
    #[inline]
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
    #[inline]
    pub(super) fn text(&mut self, number: u32, text: &[u8]) {
        self.tag(number, 2);
        self.sized(text);
    }

    /// A field that is a `google.protobuf.Value`.
    pub(super) fn scalar(&mut self, number: u32, scalar: &Scalar<'_>) {
        self.tag(number, 2);
        self.sized_scalar(scalar);
    }

    /// An entry of a `google.protobuf.Struct`, all at once: most entries are no longer than this.
    pub(super) fn entry(&mut self, name: &[u8], scalar: &Scalar<'_>) {
        let value = scalar.size();
        let name_size = if name.is_empty() { 0 } else { 1 + varint_len(name.len() as u64) + name.len() };
        self.tag(1, 2);
        put_varint(&mut self.bytes, (name_size + 1 + varint_len(value as u64) + value) as u64);
        self.name(name);
        self.scalar(2, scalar);
    }

    /// Begins an entry of a `google.protobuf.Struct` whose value is to come.
    pub(super) fn open_entry(&mut self, name: &[u8]) -> Open {
        let open = self.open(1);
        self.name(name);
        open
    }

    /// Adds what was written elsewhere.
    pub(super) fn append(&mut self, piece: Self) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&piece.bytes);
        self.marks.extend(piece.marks.iter().map(|(place, length)| (start + place, *length)));
        self.lengths += piece.lengths;
    }

    /// The frame: its length, and what was written.
    pub(super) fn finish(self) -> Bytes {
        let length = self.bytes.len() + self.lengths;
        let mut frame = Vec::with_capacity(4 + length);
        // A message longer than its length can say would need 4 GiB of JSON; no limit on frames is that high.
        frame.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
        let mut from = 0;
        for (place, length) in self.marks {
            frame.extend_from_slice(&self.bytes[from..place]);
            put_varint(&mut frame, length as u64);
            from = place;
        }
        frame.extend_from_slice(&self.bytes[from..]);
        frame.into()
    }

    #[inline]
    fn tag(&mut self, number: u32, wire: u32) {
        put_varint(&mut self.bytes, u64::from(number << 3 | wire));
    }

    /// An entry's name, which is not written if it is empty.
    fn name(&mut self, name: &[u8]) {
        if !name.is_empty() {
            self.text(1, name);
        }
    }

    #[inline]
    fn sized(&mut self, text: &[u8]) {
        put_varint(&mut self.bytes, text.len() as u64);
        self.bytes.extend_from_slice(text);
    }

    fn sized_scalar(&mut self, scalar: &Scalar<'_>) {
        put_varint(&mut self.bytes, scalar.size() as u64);
        match scalar {
            Scalar::Null => self.bytes.extend_from_slice(&[1 << 3, 0]),
            Scalar::Number(value) => {
                let [a, b, c, d, e, f, g, h] = value.to_le_bytes();
                self.bytes.extend_from_slice(&[2 << 3 | 1, a, b, c, d, e, f, g, h]);
            }
            Scalar::Text(text) => self.text(3, text),
            Scalar::Flag(value) => self.bytes.extend_from_slice(&[4 << 3, u8::from(*value)]),
        }
    }
}

/// A `google.protobuf.Value` that is no array and no object.
#[derive(Clone, Debug)]
pub(super) enum Scalar<'a> {
    Null,
    Number(f64),
    Text(Cow<'a, [u8]>),
    Flag(bool),
}

impl Scalar<'_> {
    /// How many bytes it takes, without its length.
    #[inline]
    fn size(&self) -> usize {
        match self {
            Self::Null | Self::Flag(_) => 2,
            Self::Number(_) => 9,
            Self::Text(text) => 1 + varint_len(text.len() as u64) + text.len(),
        }
    }
}

#[inline]
fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// How many bytes a varint takes.
#[inline]
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
    fn what_was_written_elsewhere_fits_in() {
        let message = |writer: &mut Writer| {
            let open = writer.open(2);
            writer.text(1, &[b'x'; 200]);
            writer.close(open);
        };
        let (mut whole, mut pieces, mut piece) = (Writer::new(0), Writer::new(0), Writer::new(0));
        let outer = whole.open(1);
        message(&mut whole);
        message(&mut whole);
        whole.close(outer);
        let outer = pieces.open(1);
        message(&mut pieces);
        message(&mut piece);
        pieces.append(piece);
        pieces.close(outer);
        assert_eq!(whole.finish(), pieces.finish());
    }

    #[test]
    fn an_entry_at_once_is_an_entry_in_pieces() {
        let long = vec![b'y'; 300];
        for name in [&b""[..], b"n", &long] {
            for scalar in [Scalar::Null, Scalar::Number(0.5), Scalar::Flag(true), Scalar::Text(long[..].into())] {
                let (mut once, mut pieces) = (Writer::new(0), Writer::new(0));
                once.entry(name, &scalar);
                let open = pieces.open_entry(name);
                pieces.scalar(2, &scalar);
                pieces.close(open);
                assert_eq!(once.finish(), pieces.finish());
            }
        }
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
