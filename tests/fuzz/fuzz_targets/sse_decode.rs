//! Any body: cut anywhere it has the same frames as in one piece, and the decoder never holds more than its limit.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use tidegate::wire::sse::{Decoder, FrameTooLarge};

type Frames = (Vec<(Vec<u8>, bool)>, Option<FrameTooLarge>);

fn decode<'a>(pieces: impl Iterator<Item = &'a [u8]>, limit: usize) -> Frames {
    let mut decoder = Decoder::new(limit);
    let mut frames = Vec::new();
    for piece in pieces {
        decoder.feed(Bytes::copy_from_slice(piece));
        loop {
            match decoder.next() {
                Ok(Some(frame)) => {
                    assert!(frame.data.len() <= limit);
                    if let Some(canonical) = frame.canonical {
                        assert_eq!(canonical, [b"data: ", &frame.data[..], b"\n\n"].concat());
                    }
                    frames.push((frame.data.to_vec(), frame.unterminated));
                }
                Ok(None) => break,
                Err(error) => return (frames, Some(error)),
            }
        }
        assert!(decoder.held() <= limit);
    }
    loop {
        match decoder.finish() {
            Ok(Some(frame)) => frames.push((frame.data.to_vec(), frame.unterminated)),
            Ok(None) => break,
            Err(error) => return (frames, Some(error)),
        }
    }
    assert_eq!(decoder.held(), 0);
    (frames, None)
}

fuzz_target!(|input: (Vec<u8>, u8, Vec<u8>)| {
    let (cuts, limit, body) = input;
    let limit = usize::from(limit);
    let whole = decode(std::iter::once(&body[..]), limit);
    assert_eq!(decode(body.chunks(1), limit), whole);
    let mut rest = &body[..];
    let mut cuts = cuts.iter().cycle();
    let pieces = std::iter::from_fn(|| {
        let size = usize::from(*cuts.next().unwrap_or(&1)).clamp(1, rest.len().max(1));
        let (piece, after) = rest.split_at_checked(size)?;
        rest = after;
        Some(piece)
    });
    assert_eq!(decode(pieces, limit), whole);
});
