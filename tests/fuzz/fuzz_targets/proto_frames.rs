//! Any body: its frames do not depend on how it is cut, together they are the body, and what is held is bounded.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use tidegate::wire::proto::{Decoder, Frame, FrameError, arm};

const LIMIT: usize = 4096;

fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Frame>, Option<FrameError>, bool) {
    let mut decoder = Decoder::new(LIMIT);
    let mut frames = Vec::new();
    for piece in pieces {
        decoder.feed(Bytes::copy_from_slice(piece));
        loop {
            match decoder.next() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Some(error), decoder.is_mid_frame()),
            }
        }
        assert!(decoder.held() < 4 + LIMIT);
    }
    (frames, None, decoder.is_mid_frame())
}

fuzz_target!(|input: (u8, &[u8])| {
    let (size, body) = input;
    let whole = read(std::iter::once(body));
    assert_eq!(read(body.chunks(usize::from(size).max(1))), whole);
    assert_eq!(read(body.chunks(1)), whole);
    let (frames, error, is_mid_frame) = whole;
    let bytes: Vec<u8> = frames.iter().flat_map(|frame| frame.whole.to_vec()).collect();
    assert!(body.starts_with(&bytes));
    assert_eq!(is_mid_frame, error.is_none() && bytes.len() < body.len());
    for frame in frames {
        assert_eq!(frame.message, frame.whole[4..]);
        arm(&frame.message);
    }
});
