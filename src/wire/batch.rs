//! Pieces of a body come in, in order; as few writes as sensible go out. Nothing is known of what the bytes mean.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// From this length on, a piece is written from where it lies: copying it would cost more than a write of its own.
const OWN_WRITE: usize = 16 * 1024;
/// What a write of several pieces has room for at first, in bytes.
const FIRST_ROOM: usize = 1024;

/// The bytes that leave together.
///
/// A piece that stays alone is passed on as it is, without a copy; several small ones are copied into one buffer,
/// and a large one stays a write of its own between its neighbours. An empty batch holds no memory to speak of.
#[derive(Debug, Default)]
pub struct Batch {
    /// Writes that are complete.
    ready: VecDeque<Bytes>,
    /// A small piece after them, as long as it is alone.
    alone: Bytes,
    /// Several small pieces after them, copied; not both this and `alone` have content.
    joined: BytesMut,
    len: usize,
}

impl Batch {
    /// A batch without bytes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a piece at the end.
    pub fn push(&mut self, piece: Bytes) {
        self.len += piece.len();
        if piece.len() >= OWN_WRITE {
            let before = self.take_last();
            self.ready.extend(before);
            self.ready.push_back(piece);
        } else if self.alone.is_empty() && self.joined.is_empty() {
            self.alone = piece;
        } else {
            self.copy(&piece);
        }
    }

    /// Adds a copy of these bytes at the end; meant for a few of them.
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.len += bytes.len();
        self.copy(bytes);
    }

    /// Takes the bytes of the next write.
    pub fn pop(&mut self) -> Option<Bytes> {
        let next = self.ready.pop_front().or_else(|| self.take_last())?;
        self.len -= next.len();
        if self.ready.is_empty() {
            self.ready = VecDeque::new();
        }
        Some(next)
    }

    /// How many bytes are waiting.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no byte is waiting.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn copy(&mut self, bytes: &[u8]) {
        if self.joined.capacity() == 0 {
            self.joined.reserve(FIRST_ROOM.max(self.alone.len() + bytes.len()));
        }
        self.joined.extend_from_slice(&std::mem::take(&mut self.alone));
        self.joined.extend_from_slice(bytes);
    }

    /// Takes the small pieces at the end, if there are any.
    fn take_last(&mut self) -> Option<Bytes> {
        let last = if self.joined.is_empty() {
            std::mem::take(&mut self.alone)
        } else {
            std::mem::take(&mut self.joined).freeze()
        };
        (!last.is_empty()).then_some(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writes(batch: &mut Batch) -> Vec<Bytes> {
        std::iter::from_fn(|| batch.pop()).collect()
    }

    #[test]
    fn a_piece_that_stays_alone_is_not_copied() {
        for length in [1, OWN_WRITE - 1, OWN_WRITE, 3 * OWN_WRITE] {
            let piece = Bytes::from(vec![b'x'; length]);
            let mut batch = Batch::new();
            batch.push(piece.clone());
            let out = writes(&mut batch);
            assert_eq!(out.len(), 1);
            assert_eq!(out[0].as_ptr(), piece.as_ptr());
            assert_eq!(out[0].len(), length);
        }
    }

    #[test]
    fn small_pieces_become_one_write_and_large_ones_keep_their_place() {
        let large = Bytes::from(vec![b'L'; OWN_WRITE]);
        let mut batch = Batch::new();
        batch.push(Bytes::from_static(b"one "));
        batch.extend_from_slice(b"two");
        batch.push(Bytes::new());
        batch.push(large.clone());
        batch.push(large.clone());
        batch.extend_from_slice(b"three ");
        batch.push(Bytes::from_static(b"four"));
        assert_eq!(batch.len(), 7 + 2 * OWN_WRITE + 10);

        let out = writes(&mut batch);
        assert_eq!(out.len(), 4);
        assert_eq!(&out[0][..], b"one two");
        assert_eq!(out[1].as_ptr(), large.as_ptr());
        assert_eq!(out[2].as_ptr(), large.as_ptr());
        assert_eq!(&out[3][..], b"three four");
        assert!(batch.is_empty());
    }

    #[test]
    fn an_emptied_batch_starts_anew_and_holds_no_memory() {
        let mut batch = Batch::new();
        assert_eq!(batch.pop(), None);
        batch.push(Bytes::new());
        assert!(batch.is_empty());
        assert_eq!(batch.pop(), None);
        batch.extend_from_slice(b"a");
        batch.push(Bytes::from(vec![0; OWN_WRITE]));
        while batch.pop().is_some() {}
        assert_eq!((batch.ready.capacity(), batch.joined.capacity(), batch.len()), (0, 0, 0));
        batch.push(Bytes::from_static(b"b"));
        assert_eq!(batch.pop().as_deref(), Some(&b"b"[..]));
    }
}
