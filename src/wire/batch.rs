//! Pieces of a body come in, in order; as few writes as sensible go out. Nothing is known of what the bytes mean.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// From this length on, a piece is written from where it lies: copying it would cost more than a write of its own.
const OWN_WRITE: usize = 16 * 1024;
/// Up to this length, a piece is copied even if it stays alone: it lets go of the buffer that it lies in, so that
/// the next read can use that again instead of a new one.
const SMALL: usize = 512;
/// The room that a batch keeps for small pieces, in bytes.
const ROOM: usize = 1024;
/// The most that is set aside at once for a batch like the one before.
const MOST_ROOM: usize = 64 * 1024;

/// The bytes that leave together.
///
/// Several pieces are copied into one buffer, and so is a small one that stays alone; a larger one that stays alone
/// is passed on as it is, and a large one stays a write of its own between its neighbours. An empty batch holds a
/// kibibyte at most.
#[derive(Debug, Default)]
pub struct Batch {
    /// Writes that are complete.
    ready: VecDeque<Bytes>,
    /// A small piece after them, as long as it is alone.
    alone: Bytes,
    /// Several small pieces after them, copied; not both this and `alone` have content.
    joined: BytesMut,
    /// How long the last write of copied pieces was.
    last: usize,
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
        } else if piece.len() > SMALL && self.alone.is_empty() && self.joined.is_empty() {
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
        if self.joined.is_empty() && self.joined.capacity() < self.alone.len() + bytes.len() {
            let like_last = self.last.next_power_of_two().min(MOST_ROOM);
            self.joined.reserve(like_last.max(ROOM).max(self.alone.len() + bytes.len()));
        }
        self.joined.extend_from_slice(&std::mem::take(&mut self.alone));
        self.joined.extend_from_slice(bytes);
    }

    /// Takes the small pieces at the end, if there are any.
    fn take_last(&mut self) -> Option<Bytes> {
        let last = if self.joined.is_empty() {
            std::mem::take(&mut self.alone)
        } else {
            self.last = self.joined.len();
            let last = self.joined.split().freeze();
            if self.last > ROOM || self.joined.capacity() > ROOM {
                self.joined = BytesMut::new();
            }
            last
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
        for length in [SMALL + 1, OWN_WRITE - 1, OWN_WRITE, 3 * OWN_WRITE] {
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
    fn small_pieces_let_go_of_where_they_lay_and_share_one_room() {
        let mut batch = Batch::new();
        let read = Bytes::from(vec![b'x'; 8192]);
        batch.push(read.slice(100..200));
        let out = writes(&mut batch);
        assert_eq!((out.len(), out[0].len()), (1, 100));
        assert!(read.is_unique(), "the buffer of the read is free again");
        let room = out[0].as_ptr();
        drop(out);
        for _ in 0..1000 {
            batch.push(Bytes::from_static(&[b'y'; 100]));
            let out = writes(&mut batch);
            let at = out[0].as_ptr() as usize - room as usize;
            assert!(at < ROOM, "nothing new is set aside for each event");
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
    fn an_emptied_batch_starts_anew_and_holds_next_to_nothing() {
        let mut batch = Batch::new();
        assert_eq!(batch.pop(), None);
        batch.push(Bytes::new());
        assert!(batch.is_empty());
        assert_eq!(batch.pop(), None);
        batch.extend_from_slice(b"a");
        batch.push(Bytes::from(vec![0; OWN_WRITE]));
        while batch.pop().is_some() {}
        assert_eq!((batch.ready.capacity(), batch.len()), (0, 0));
        assert!(batch.joined.capacity() <= ROOM);
        batch.extend_from_slice(&[0; 10 * ROOM]);
        while batch.pop().is_some() {}
        assert!(batch.joined.capacity() <= ROOM, "what a rush needed is given back");
        batch.push(Bytes::from_static(b"b"));
        assert_eq!(batch.pop().as_deref(), Some(&b"b"[..]));
    }
}
