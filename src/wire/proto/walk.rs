//! The bytes of a protobuf message come in, its fields go out, unread. Without recursion and without an allocation.

use super::Malformed;

/// How deeply groups may nest in a field that is skipped. Groups are retired; nothing on this wire has one.
const GROUPS: usize = 16;

/// One field of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Field<'a> {
    pub(super) number: u32,
    pub(super) value: Value<'a>,
}

/// What a field holds, by its wire type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    /// A varint.
    Varint(u64),
    /// Eight bytes.
    Fixed(u64),
    /// A string, or a message.
    Bytes(&'a [u8]),
    /// Four bytes or a group, which nothing on this wire is.
    Skipped,
}

/// A walk over the fields of a message; after an error it is over.
#[derive(Clone, Debug)]
pub(super) struct Walk<'a> {
    rest: &'a [u8],
}

impl<'a> Walk<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn field(&mut self) -> Result<Field<'a>, Malformed> {
        let (number, wire) = self.tag()?;
        let value = match wire {
            3 => self.skip_group(number)?,
            _ => self.value(wire)?,
        };
        Ok(Field { number, value })
    }

    /// A field's number and wire type.
    fn tag(&mut self) -> Result<(u32, u32), Malformed> {
        let tag = u32::try_from(self.varint()?).map_err(|_| Malformed::new("a tag is out of range"))?;
        if tag >> 3 == 0 {
            return Err(Malformed::new("a field has number 0"));
        }
        Ok((tag >> 3, tag & 7))
    }

    fn value(&mut self, wire: u32) -> Result<Value<'a>, Malformed> {
        Ok(match wire {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed(self.fixed().map(u64::from_le_bytes)?),
            2 => {
                let length = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
                let (bytes, rest) = self.rest.split_at_checked(length).ok_or(Malformed::CUT)?;
                self.rest = rest;
                Value::Bytes(bytes)
            }
            5 => {
                self.fixed::<4>()?;
                Value::Skipped
            }
            _ => return Err(Malformed::new("a field has no such wire type")),
        })
    }

    /// The rest of a group, with the groups in it, each ended by its own number.
    fn skip_group(&mut self, number: u32) -> Result<Value<'a>, Malformed> {
        let mut open = [0; GROUPS];
        open[0] = number;
        let mut depth = 1;
        while depth > 0 {
            match self.tag()? {
                (number, 3) => {
                    *open.get_mut(depth).ok_or(Malformed::DEPTH)? = number;
                    depth += 1;
                }
                (number, 4) if open[depth - 1] == number => depth -= 1,
                (_, wire) => {
                    self.value(wire)?;
                }
            }
        }
        Ok(Value::Skipped)
    }

    fn varint(&mut self) -> Result<u64, Malformed> {
        if let [byte @ ..0x80, rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(u64::from(*byte));
        }
        let mut value = 0;
        for (i, byte) in self.rest.iter().enumerate().take(10) {
            value |= u64::from(byte & 0x7f) << (7 * i); // What the last byte has beyond 64 bits goes unread, as in any reader.
            if *byte < 0x80 {
                self.rest = &self.rest[i + 1..];
                return Ok(value);
            }
        }
        Err(if self.rest.len() < 10 { Malformed::CUT } else { Malformed::new("a varint is too long") })
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(Malformed::CUT)?;
        self.rest = rest;
        Ok(*bytes)
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Result<Field<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(message: &[u8]) -> Result<Vec<(u32, Value<'_>)>, Malformed> {
        Walk::of(message).map(|field| field.map(|f| (f.number, f.value))).collect()
    }

    #[test]
    fn every_wire_type_is_read() {
        let message = b"\x08\x96\x01\x11\0\0\0\0\0\0\xf0\x3f\x1a\x02hi\x25\0\0\0\0\x2b\x08\x01\x33\x34\x2c";
        let expected = [
            (1, Value::Varint(150)),
            (2, Value::Fixed(1f64.to_bits())),
            (3, Value::Bytes(b"hi")),
            (4, Value::Skipped),
            (5, Value::Skipped),
        ];
        assert_eq!(walk(message), Ok(expected.to_vec()));
        assert_eq!(walk(b""), Ok(vec![]));
        assert_eq!(walk(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), Ok(vec![(1, Value::Varint(u64::MAX))]));
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        for message in [
            &b"\x08"[..],
            b"\x08\x80",
            b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x00\x01",
            b"\x0a\x02x",
            b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x11\0\0\0",
            b"\x0d\0\0\0",
            b"\x0e",
            b"\x0f",
            b"\x0c",
            b"\x0b",
            b"\x0b\x14",
            b"\xff\xff\xff\xff\x1f\x00",
            &[0x0b; GROUPS + 1],
        ] {
            assert!(walk(message).is_err(), "{message:x?}");
        }
    }
}
