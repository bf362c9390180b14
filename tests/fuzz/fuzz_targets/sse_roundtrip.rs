//! Any payloads: what the encoder writes, the decoder reads as the same payloads, and escapes change no meaning.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tidegate::wire::Batch;
use tidegate::wire::sse::{Decoder, Encoder, Escape};

fn roundtrip(escape: Escape, payloads: &[Vec<u8>], size: usize) -> Vec<Vec<u8>> {
    let encoder = Encoder::new(escape);
    let mut out = Batch::new();
    let mut written = 0;
    for payload in payloads {
        encoder.event(&Bytes::from(payload.clone()), None, &mut out);
        assert!(out.len() > written);
        written = out.len();
        encoder.keepalive(&mut out);
    }
    let body: Vec<u8> = std::iter::from_fn(|| out.pop()).flatten().collect();
    let mut decoder = Decoder::new(1 << 20);
    let mut found = Vec::new();
    for piece in body.chunks(size) {
        decoder.feed(Bytes::copy_from_slice(piece));
        while let Some(frame) = decoder.next().unwrap() {
            assert!(!frame.unterminated);
            found.push(frame.data.to_vec());
        }
    }
    assert_eq!(decoder.finish(), Ok(None));
    found
}

/// The line ends of a payload as `data` lines give them back.
fn normal(payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = payload.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte == b'\r' {
            bytes.next_if_eq(&b'\n');
            out.push(b'\n');
        } else {
            out.push(byte);
        }
    }
    out
}

fuzz_target!(|input: (u8, Vec<Vec<u8>>)| {
    let (size, payloads) = input;
    let size = usize::from(size).max(1);
    let expected: Vec<_> = payloads.iter().map(|payload| normal(payload)).collect();
    assert_eq!(roundtrip(Escape::Off, &payloads, size), expected);
    for escape in [Escape::LineSeparators, Escape::NonAscii] {
        let found = roundtrip(escape, &payloads, size);
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            if let Ok(value) = serde_json::from_slice::<Value>(expected) {
                assert_eq!(serde_json::from_slice::<Value>(found).unwrap(), value);
            }
        }
    }
});
