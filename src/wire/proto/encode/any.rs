//! Any JSON comes in, a `google.protobuf.Value` goes out, in one walk.

use super::{Encoder, NotCarried};
use crate::wire::proto::MAX_DEPTH;
use crate::wire::proto::loss::Shape;
use crate::wire::proto::text::Cursor;
use crate::wire::proto::write::Scalar;

impl Encoder {
    /// A field that is any JSON. `depth` counts the arrays and objects around it, and itself.
    pub(super) fn any(&mut self, number: u32, cursor: &mut Cursor<'_>, depth: usize) -> Result<(), NotCarried> {
        if let Some(scalar) = self.scalar(cursor)? {
            self.writer.scalar(number, &scalar);
            return Ok(());
        }
        let open = self.writer.open(number);
        self.nest(cursor, depth)?;
        self.writer.close(open);
        Ok(())
    }

    /// The members of an object, as the entries of a `google.protobuf.Struct`.
    pub(super) fn entries(&mut self, cursor: &mut Cursor<'_>, depth: usize) -> Result<(), NotCarried> {
        self.deeper(depth)?;
        cursor.eat(b'{');
        if cursor.eat(b'}') {
            return Ok(());
        }
        loop {
            let name = cursor.name()?;
            let name = self.unescape(name)?;
            self.entry(&name, cursor, depth)?;
            if cursor.eat(b'}') {
                return Ok(());
            }
            if !cursor.eat(b',') {
                return Err(Shape::NoJson.into());
            }
        }
    }

    /// One entry, whose value comes next.
    pub(super) fn entry(&mut self, name: &[u8], cursor: &mut Cursor<'_>, depth: usize) -> Result<(), NotCarried> {
        if let Some(scalar) = self.scalar(cursor)? {
            self.writer.entry(name, &scalar);
            return Ok(());
        }
        let entry = self.writer.open_entry(name);
        let value = self.writer.open(2);
        self.nest(cursor, depth + 1)?;
        self.writer.close(value);
        self.writer.close(entry);
        Ok(())
    }

    /// What is no array and no object; `None` if one of them comes next.
    fn scalar<'a>(&mut self, cursor: &mut Cursor<'a>) -> Result<Option<Scalar<'a>>, NotCarried> {
        Ok(Some(match cursor.peek() {
            Some(b'"') => Scalar::Text(self.text_of(cursor)?),
            Some(b'{' | b'[') => return Ok(None),
            Some(b'-' | b'0'..=b'9') => {
                let number = cursor.number().ok_or(Shape::NoJson)?;
                if number.changed {
                    self.losses.insert(Shape::LargeNumber);
                }
                Scalar::Number(number.value)
            }
            _ if cursor.word("null") => Scalar::Null,
            _ if cursor.word("true") => Scalar::Flag(true),
            _ if cursor.word("false") => Scalar::Flag(false),
            _ => return Err(Shape::NoJson.into()),
        }))
    }

    /// What is in a value that is an object or an array.
    fn nest(&mut self, cursor: &mut Cursor<'_>, depth: usize) -> Result<(), NotCarried> {
        const OBJECT: u32 = 5;
        const ARRAY: u32 = 6;
        if cursor.peek() == Some(b'{') {
            let open = self.writer.open(OBJECT);
            self.entries(cursor, depth)?;
            self.writer.close(open);
        } else {
            let open = self.writer.open(ARRAY);
            self.elements_of_any(cursor, depth)?;
            self.writer.close(open);
        }
        Ok(())
    }

    /// The elements of an array, as those of a `google.protobuf.ListValue`.
    fn elements_of_any(&mut self, cursor: &mut Cursor<'_>, depth: usize) -> Result<(), NotCarried> {
        self.deeper(depth)?;
        cursor.eat(b'[');
        if cursor.eat(b']') {
            return Ok(());
        }
        loop {
            self.any(1, cursor, depth + 1)?;
            if cursor.eat(b']') {
                return Ok(());
            }
            if !cursor.eat(b',') {
                return Err(Shape::NoJson.into());
            }
        }
    }

    fn deeper(&self, depth: usize) -> Result<(), NotCarried> {
        if depth > MAX_DEPTH { Err(Shape::Nesting.into()) } else { Ok(()) }
    }
}
