//! The decoder and the encoder against each other, and the decoder against the standard's rules.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use bytes::Bytes;

use super::*;
use crate::wire::Batch;

const LIMIT: usize = 1 << 20;

/// The frames of a body that comes in these pieces.
fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Frame> {
    let mut decoder = Decoder::new(LIMIT);
    let mut frames = Vec::new();
    for piece in pieces {
        decoder.feed(Bytes::copy_from_slice(piece));
        while let Some(frame) = decoder.next().unwrap() {
            frames.push(frame);
        }
    }
    while let Some(frame) = decoder.finish().unwrap() {
        frames.push(frame);
    }
    assert_eq!(decoder.held(), 0);
    frames
}

fn payloads<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<(String, bool)> {
    let text = |frame: Frame| {
        (
            String::from_utf8_lossy(&frame.data).into_owned(),
            frame.unterminated,
        )
    };
    decode(pieces).into_iter().map(text).collect()
}

#[test]
fn the_grammar_of_the_standard() {
    let cases: &[(&str, &[&str])] = &[
        ("data: one\n\ndata: two\n\n", &["one", "two"]),
        (
            "data: one\r\n\r\ndata: two\r\rdata: three\n\r\n",
            &["one", "two", "three"],
        ),
        ("\u{feff}data: one\n\n\u{feff}data: two\n\n", &["one"]),
        ("data:one\n\ndata:  two\n\n", &["one", " two"]),
        (
            "data: a\ndata: b\n\ndata\ndata\n\ndata: a\ndata\n\n",
            &["a\nb", "\n", "a\n"],
        ),
        ("data\n\ndata:\n\ndata: \n\n", &["", "", ""]),
        ("\n\n\r\n:x\n\nid: 1\n\nevent: x\n\n", &[]),
        (
            ": hi\nid: 1\nevent: x\nretry: 5\ndata: one\nfoo: bar\ndata: two\n:\n\n",
            &["one\ntwo"],
        ),
        ("datax: 1\ndat: 2\n data: 3\nData: 4\ndata : 5\n\n", &[]),
    ];
    for (input, expected) in cases {
        let expected: Vec<_> = expected
            .iter()
            .map(|data| (data.to_string(), false))
            .collect();
        assert_eq!(payloads([input.as_bytes()]), expected, "{input:?}");
        for cut in 0..=input.len() {
            let (a, b) = input.as_bytes().split_at(cut);
            assert_eq!(payloads([a, b]), expected, "{input:?} cut at {cut}");
        }
    }
}

#[test]
fn a_frame_goes_out_as_it_came_when_it_was_canonical() {
    let input = Bytes::from_static(
        b": hi\ndata: one\n\ndata:two\n\nid: 1\ndata: three\n\ndata: four\nid: 2\n\n",
    );
    let mut decoder = Decoder::new(LIMIT);
    decoder.feed(input.clone());
    let mut out = Batch::new();
    let mut spelled = Vec::new();
    while let Some(frame) = decoder.next().unwrap() {
        assert!(input.as_ptr_range().contains(&frame.data.as_ptr()));
        spelled.push(frame.canonical.is_some());
        Encoder::default().event(&frame.data, frame.canonical, &mut out);
    }
    assert_eq!(spelled, [true, false, true, false]);
    assert_eq!(
        out.pop().unwrap(),
        "data: one\n\ndata: two\n\ndata: three\n\ndata: four\n\n"
    );
}
