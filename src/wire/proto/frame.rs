//! Chunks of a protobuf body come in, cut anywhere; its frames go out, each a length in four bytes, big-endian, and one
//! message. What a message means is not asked here.

use bytes::{Buf, Bytes};

/// The bytes of a frame's length.
const PREFIX: usize = 4;

/// One frame of the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Length and message, as they go over the wire.
    pub whole: Bytes,
    /// The message alone, which may be empty.
    pub message: Bytes,
}

impl Frame {
    /// The frame of these bytes, which begin with a length.
    pub(super) fn of(whole: Bytes) -> Self {
        let message = whole.slice(PREFIX..);
        Self { whole, message }
    }
}

/// A body that cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A frame says that its message is longer than the limit. The decoder reads no further.
    #[error("a frame's message of {length} bytes is longer than {limit} bytes")]
    TooLarge {
        /// What the frame says, in bytes.
        length: usize,
        /// The limit, in bytes.
        limit: usize,
    },
}

/// Reads the frames of one body.
///
/// A frame that lies whole in one chunk is a slice of it; one that does not is put together, in a buffer that never
/// gets larger than the frame.
#[derive(Debug)]
pub struct Decoder {
    limit: usize,
    chunk: Bytes,
    /// The beginning of a frame whose rest is to come; empty between frames.
    partial: Vec<u8>,
    failed: Option<FrameError>,
}

impl Decoder {
    /// A decoder at the beginning of a body, for messages of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, chunk: Bytes::new(), partial: Vec::new(), failed: None }
    }

    /// Takes the next bytes of the body. The chunk before should have been read to its end with [`Self::next`];
    /// if it was not, its rest is copied.
    pub fn feed(&mut self, chunk: Bytes) {
        if self.failed.is_some() {
            return;
        }
        self.chunk = if self.chunk.is_empty() { chunk } else { [&self.chunk[..], &chunk[..]].concat().into() };
    }

    /// The next frame that is whole, or `None` when more bytes are needed.
    ///
    /// # Errors
    ///
    /// [`FrameError::TooLarge`] as soon as a frame's length has arrived, and at every call after that.
    #[allow(clippy::should_implement_trait)] // `None` means "feed me", not "over".
    pub fn next(&mut self) -> Result<Option<Frame>, FrameError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if self.partial.is_empty()
            && let Some(prefix) = self.chunk.first_chunk()
        {
            let length = self.length(*prefix)?;
            if self.chunk.len() >= length {
                return Ok(Some(Frame::of(self.chunk.split_to(length))));
            }
        }
        self.join()
    }

    /// How many bytes are buffered now: the frame under way, and input not read yet.
    pub fn held(&self) -> usize {
        self.partial.len() + self.chunk.len()
    }

    /// Whether the body is within a frame, so that its end here would be a truncation.
    pub fn is_mid_frame(&self) -> bool {
        self.held() > 0
    }

    /// Moves bytes from the chunk to the frame under way, and takes it once it is whole.
    fn join(&mut self) -> Result<Option<Frame>, FrameError> {
        let missing = PREFIX.saturating_sub(self.partial.len());
        self.take(missing, PREFIX);
        let Some(prefix) = self.partial.first_chunk() else {
            self.chunk = Bytes::new();
            return Ok(None);
        };
        let length = self.length(*prefix)?;
        self.take(length - self.partial.len(), length);
        if self.partial.len() < length {
            self.chunk = Bytes::new();
            return Ok(None);
        }
        Ok(Some(Frame::of(std::mem::take(&mut self.partial).into())))
    }

    /// Moves up to `count` bytes from the chunk to the frame under way, which is `whole` bytes long in the end. The
    /// buffer is doubled, never beyond that: what a frame says of its length costs no memory before the bytes are there.
    fn take(&mut self, count: usize, whole: usize) {
        let count = count.min(self.chunk.len());
        let needed = self.partial.len() + count;
        if needed > self.partial.capacity() {
            self.partial.reserve_exact((needed * 2).min(whole).max(needed) - self.partial.len());
        }
        self.partial.extend_from_slice(&self.chunk[..count]);
        self.chunk.advance(count);
    }

    /// The length of a whole frame with this prefix.
    fn length(&mut self, prefix: [u8; PREFIX]) -> Result<usize, FrameError> {
        let length = u32::from_be_bytes(prefix) as usize;
        if length > self.limit {
            let error = FrameError::TooLarge { length, limit: self.limit };
            self.failed = Some(error);
            self.chunk = Bytes::new();
            self.partial = Vec::new();
            return Err(error);
        }
        Ok(PREFIX + length)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn framed(messages: &[Vec<u8>]) -> Vec<u8> {
        let frame = |m: &Vec<u8>| [&u32::try_from(m.len()).unwrap().to_be_bytes()[..], m].concat();
        messages.iter().flat_map(frame).collect()
    }

    fn read(decoder: &mut Decoder, pieces: &[&[u8]]) -> Result<Vec<Frame>, FrameError> {
        let mut frames = Vec::new();
        for piece in pieces {
            decoder.feed(Bytes::copy_from_slice(piece));
            while let Some(frame) = decoder.next()? {
                frames.push(frame);
            }
        }
        Ok(frames)
    }

    #[test]
    fn frames_in_one_chunk_are_slices_of_it() {
        let chunk = Bytes::from(framed(&[b"one".to_vec(), vec![], b"three".to_vec()]));
        let mut decoder = Decoder::new(5);
        decoder.feed(chunk.clone());
        let one = decoder.next().unwrap().unwrap();
        assert_eq!((&one.message[..], one.whole.as_ptr()), (&b"one"[..], chunk.as_ptr()));
        let empty = decoder.next().unwrap().unwrap();
        assert_eq!((empty.message.len(), &empty.whole[..]), (0, &[0; 4][..]));
        assert_eq!(&decoder.next().unwrap().unwrap().message[..], b"three");
        assert_eq!(decoder.next(), Ok(None));
        assert!(!decoder.is_mid_frame());
    }

    #[test]
    fn a_frame_past_the_limit_is_refused_by_its_length_alone() {
        let error = FrameError::TooLarge { length: 6, limit: 5 };
        let mut decoder = Decoder::new(5);
        assert_eq!(read(&mut decoder, &[&[0, 0, 0], &[6]]), Err(error));
        decoder.feed(Bytes::from_static(&[0, 0, 0, 0]));
        assert_eq!(decoder.next(), Err(error));
        assert_eq!(decoder.held(), 0);
    }

    #[test]
    fn a_declared_length_costs_no_memory_before_its_bytes_are_there() {
        let mut decoder = Decoder::new(1 << 30);
        assert_eq!(read(&mut decoder, &[&[0x3f, 0, 0, 0, 1]]), Ok(vec![]));
        assert!(decoder.is_mid_frame());
        assert!(decoder.partial.capacity() < 64, "{}", decoder.partial.capacity());
    }

    #[test]
    fn the_end_within_a_length_is_within_a_frame() {
        let mut decoder = Decoder::new(5);
        assert_eq!(read(&mut decoder, &[&[0, 0]]), Ok(vec![]));
        assert!(decoder.is_mid_frame());
        assert_eq!(read(&mut decoder, &[&[0, 0]]).unwrap().len(), 1);
        assert!(!decoder.is_mid_frame());
    }

    #[test]
    fn what_was_not_read_is_kept_when_more_is_fed() {
        let mut decoder = Decoder::new(5);
        decoder.feed(framed(&[b"a".to_vec(), b"b".to_vec()]).into());
        decoder.feed(framed(&[b"c".to_vec()]).into());
        let messages: Vec<_> = std::iter::from_fn(|| decoder.next().unwrap()).map(|f| f.message).collect();
        assert_eq!(messages, [&b"a"[..], b"b", b"c"]);
    }

    proptest! {
        #[test]
        fn a_body_has_the_same_frames_however_it_is_cut(
            messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8),
            sizes in prop::collection::vec(1..30_usize, 1..6),
        ) {
            let body = framed(&messages);
            let mut pieces = Vec::new();
            let mut rest = &body[..];
            for size in sizes.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, after) = rest.split_at((*size).min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            for pieces in [vec![&body[..]], pieces, body.chunks(1).collect()] {
                let mut decoder = Decoder::new(40);
                let frames = read(&mut decoder, &pieces).unwrap();
                prop_assert!(!decoder.is_mid_frame());
                let whole: Vec<u8> = frames.iter().flat_map(|frame| frame.whole.to_vec()).collect();
                prop_assert_eq!(&whole, &body);
                let found: Vec<_> = frames.into_iter().map(|frame| frame.message.to_vec()).collect();
                prop_assert_eq!(&found, &messages);
            }
        }

        #[test]
        fn no_body_makes_the_decoder_hold_more_than_a_frame(
            body in prop::collection::vec(prop_oneof![3 => Just(0), 2 => 0..12_u8, 1 => any::<u8>()], 0..120),
            size in 1..20_usize,
            limit in 0..12_usize,
        ) {
            let mut decoder = Decoder::new(limit);
            for piece in body.chunks(size) {
                let read = read(&mut decoder, &[piece]);
                prop_assert!(decoder.held() < PREFIX + limit.max(1));
                prop_assert!(decoder.partial.capacity() <= PREFIX + limit);
                for frame in read.into_iter().flatten() {
                    prop_assert!(frame.message.len() <= limit);
                }
            }
        }
    }
}
