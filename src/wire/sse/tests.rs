//! The decoder and the encoder against each other, and the decoder against the standard's rules.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod properties;

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
    let text = |frame: Frame| (String::from_utf8_lossy(&frame.data).into_owned(), frame.unterminated);
    decode(pieces).into_iter().map(text).collect()
}

#[test]
fn the_grammar_of_the_standard() {
    let cases: &[(&str, &[&str])] = &[
        ("data: one\n\ndata: two\n\n", &["one", "two"]),
        ("data: one\r\n\r\ndata: two\r\rdata: three\n\r\n", &["one", "two", "three"]),
        ("\u{feff}data: one\n\n\u{feff}data: two\n\n", &["one"]),
        ("data:one\n\ndata:  two\n\n", &["one", " two"]),
        ("data: a\ndata: b\n\ndata\ndata\n\ndata: a\ndata\n\n", &["a\nb", "\n", "a\n"]),
        ("data\n\ndata:\n\ndata: \n\n", &["", "", ""]),
        ("\n\n\r\n:x\n\nid: 1\n\nevent: x\n\n", &[]),
        (": hi\nid: 1\nevent: x\nretry: 5\ndata: one\nfoo: bar\ndata: two\n:\n\n", &["one\ntwo"]),
        ("datax: 1\ndat: 2\n data: 3\nData: 4\ndata : 5\n\n", &[]),
    ];
    for (input, expected) in cases {
        let expected: Vec<_> = expected.iter().map(|data| (data.to_string(), false)).collect();
        assert_eq!(payloads([input.as_bytes()]), expected, "{input:?}");
        for cut in 0..=input.len() {
            let (a, b) = input.as_bytes().split_at(cut);
            assert_eq!(payloads([a, b]), expected, "{input:?} cut at {cut}");
        }
    }
}

#[test]
fn a_frame_goes_out_as_it_came_when_it_was_canonical() {
    let input = Bytes::from_static(b": hi\ndata: one\n\ndata:two\n\nid: 1\ndata: three\n\ndata: four\nid: 2\n\n");
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
    assert_eq!(out.pop().unwrap(), "data: one\n\ndata: two\n\ndata: three\n\ndata: four\n\n");
}

#[test]
fn the_end_of_the_body_ends_the_last_event() {
    let cases: &[(&str, &[(&str, bool)])] = &[
        ("data: one\n\n", &[("one", false)]),
        ("data: one\n", &[("one", false)]),
        ("data: one\r", &[("one", false)]),
        ("data: one", &[("one", true)]),
        ("data: one\ndata: tw", &[("one\ntw", true)]),
        ("data: one\nid: 1\n", &[("one", false)]),
        ("data: one\nda", &[("one", true)]),
        ("data: one\n\ndata", &[("one", false), ("", true)]),
        ("data:", &[("", true)]),
        ("data: ", &[("", true)]),
        ("dat", &[]),
        (": comment", &[]),
        ("\u{feff}", &[]),
        ("", &[]),
    ];
    for (input, expected) in cases {
        for cut in 0..=input.len() {
            let (a, b) = input.as_bytes().split_at(cut);
            let found = payloads([a, b]);
            let found: Vec<_> = found.iter().map(|(data, open)| (data.as_str(), *open)).collect();
            assert_eq!(found, *expected, "{input:?} cut at {cut}");
        }
    }
}

#[test]
fn tricky_bytes_may_be_cut_anywhere() {
    let inputs: &[&[u8]] = &[
        b"\xEF\xBB\xBFdata: a\r\n\r\ndata: b\r\rdata: c\n\n",
        "data: \u{e9}\u{2028}\u{1f600}\r\ndata: \u{1f600}\r\n\r\n\r\n".as_bytes(),
        b"data: a\r\n: x\r\ndata\r\ndata:b\r\n\r\ndata: c\rdata: d\r\r",
        b"\xEF\xBBdata: lost\n\ndata: \xFF\xEF\xBB\xBF\n\n\xEF\xBB\xBFdata: lost\n\n",
        b"\r\n\n\rdata: a\n\r\ndata: b\r\n\rdata: c",
    ];
    for input in inputs {
        let whole = reference(input);
        assert!(!whole.is_empty());
        for i in 0..=input.len() {
            for j in i..=input.len() {
                let pieces = [&input[..i], &input[i..j], &input[j..]];
                assert_eq!(plain(decode(pieces)), whole, "{:?}", pieces.map(String::from_utf8_lossy));
            }
        }
        assert_eq!(plain(decode(input.chunks(1))), whole);
    }
}

#[test]
fn other_spellings_are_not_canonical() {
    for input in [
        "data:a\n\n",
        "data: a\r\n\r\n",
        "data: a\r\n\n",
        "data: a\n\r\n",
        "data: a\n\r",
        "data: a\r\r",
        "data: a\ndata: b\n\n",
        "data: a\ndata:b\n\n",
        "data: a\ndata\n\n",
        "data\ndata: a\n\n",
        "data: a\n:\n\n",
        "data: a\nid: 1\n\n",
        "data: a\ndatax\n\n",
        "data: a\n",
        "data: a",
    ] {
        let frames = decode([input.as_bytes()]);
        assert_eq!(frames.len(), 1);
        assert_eq!(frames[0].canonical, None, "{input:?}");
    }
}

#[test]
fn a_carriage_return_at_the_end_of_a_chunk_ends_the_event_at_once() {
    let mut decoder = Decoder::new(LIMIT);
    decoder.feed(Bytes::from_static(b"data: a\r\n\r"));
    assert_eq!(decoder.next().unwrap().unwrap().data, "a");
    assert_eq!(decoder.next().unwrap(), None);
    decoder.feed(Bytes::from_static(b"\ndata: b\n\n"));
    let frame = decoder.next().unwrap().unwrap();
    assert_eq!((&frame.data[..], frame.canonical.as_deref()), (&b"b"[..], Some(&b"data: b\n\n"[..])));
}

#[test]
fn a_payload_that_lies_in_one_chunk_is_not_copied() {
    let canonical = Bytes::from_static(b"data: 0123456789\n\n");
    for cut in 0..=canonical.len() {
        let pieces = [canonical.slice(..cut), canonical.slice(cut..)];
        let mut decoder = Decoder::new(LIMIT);
        let mut found = None;
        for piece in pieces {
            decoder.feed(piece);
            found = found.or(decoder.next().unwrap());
        }
        let frame = found.unwrap();
        let whole = cut <= 6 || cut >= 16;
        assert_eq!(frame.data.as_ptr() == canonical[6..].as_ptr(), whole, "cut at {cut}");
        assert_eq!(frame.canonical.is_some(), cut == 0 || cut == canonical.len(), "cut at {cut}");
    }
}

#[test]
fn a_chunk_is_not_kept_for_a_small_part_of_it() {
    let mut decoder = Decoder::new(LIMIT);
    let chunk = Bytes::from([&b"data: "[..], &[b'x'; 10_000], b"\n\ndata: y"].concat());
    decoder.feed(chunk.clone());
    assert_eq!(decoder.next().unwrap().unwrap().data.len(), 10_000);
    assert_eq!(decoder.next().unwrap(), None);
    assert_eq!(decoder.held(), 1);
    assert!(chunk.is_unique());
}

#[test]
fn a_payload_may_be_as_long_as_the_limit_and_no_longer() {
    let limit = 64;
    let frame = |lines: &[usize]| {
        lines.iter().map(|length| format!("data: {}\n", "x".repeat(*length))).collect::<String>() + "\n"
    };
    for (body, fits) in [
        (frame(&[64]), true),
        (frame(&[65]), false),
        (frame(&[31, 32]), true),
        (frame(&[32, 32]), false),
        (frame(&[0; 65]), true),
        (frame(&[0; 66]), false),
        (frame(&[40]) + &frame(&[40]) + &frame(&[64]), true),
        (format!(":{}\nid: {}\n{}", "c".repeat(500), "i".repeat(500), frame(&[64])), true),
    ] {
        for size in [1, 7, 64, body.len()] {
            let mut decoder = Decoder::new(limit);
            let mut failed = None;
            for piece in body.as_bytes().chunks(size) {
                decoder.feed(Bytes::copy_from_slice(piece));
                failed = failed.or(std::iter::from_fn(|| decoder.next().transpose()).find_map(Result::err));
            }
            assert_eq!(failed, (!fits).then_some(FrameTooLarge { limit }), "{body:?} in pieces of {size}");
            assert_eq!(decoder.finish().is_err(), !fits);
            assert_eq!(decoder.held(), 0);
        }
    }
}

#[test]
fn an_endless_line_is_refused_or_skipped_in_little_memory() {
    let filler = Bytes::from(vec![b'x'; 1000]);
    for (start, refused) in [("data: ", true), (": ", false), ("id: ", false), ("x", false)] {
        let mut decoder = Decoder::new(10_000);
        decoder.feed(Bytes::from_static(start.as_bytes()));
        let mut failed = decoder.next().is_err();
        for _ in 0..1000 {
            decoder.feed(filler.clone());
            failed |= decoder.next().is_err();
            assert!(decoder.held() <= if refused { 10_000 } else { 0 });
        }
        assert_eq!(failed, refused, "{start:?}");
    }
}

#[test]
fn what_was_not_read_before_the_next_chunk_is_not_lost() {
    let mut decoder = Decoder::new(LIMIT);
    for piece in ["data: a\n\ndata: b\n\nda", "ta: c\n", "\ndata: d"] {
        decoder.feed(Bytes::from_static(piece.as_bytes()));
    }
    let mut found = Vec::new();
    while let Some(frame) = decoder.finish().unwrap() {
        found.push((frame.data, frame.unterminated));
    }
    let expected = [("a", false), ("b", false), ("c", false), ("d", true)];
    assert_eq!(found, expected.map(|(data, open)| (Bytes::from(data), open)));
}

#[test]
fn line_ends_in_a_payload_begin_new_lines() {
    for (payload, text) in [
        ("", "data: \n\n"),
        ("a\nb", "data: a\ndata: b\n\n"),
        ("\n", "data: \ndata: \n\n"),
        ("a\r\nb\rc\n\rd", "data: a\ndata: b\ndata: c\ndata: \ndata: d\n\n"),
        (" a", "data:  a\n\n"),
    ] {
        assert_eq!(encode(Escape::Off, payload.as_bytes()), text.as_bytes(), "{payload:?}");
    }
}

#[test]
fn a_keep_alive_is_one_comment_line() {
    let mut out = Batch::new();
    Encoder::default().keepalive(&mut out);
    assert_eq!(out.pop().unwrap(), ":\n");
    assert_eq!(plain(decode([&b"data: a\n\n:\ndata: b\n\n"[..]])).len(), 2);
}

#[test]
fn a_long_payload_leaves_without_a_copy() {
    let payload = Bytes::from(vec![b'x'; 100_000]);
    let mut out = Batch::new();
    Encoder::default().event(&payload, None, &mut out);
    let writes: Vec<_> = std::iter::from_fn(|| out.pop()).collect();
    assert_eq!(writes.len(), 3);
    assert_eq!(writes[1].as_ptr(), payload.as_ptr());
}

#[test]
fn characters_are_escaped_within_strings_only() {
    use Escape::{LineSeparators, NonAscii};
    for (escape, payload, expected) in [
        (LineSeparators, "{\"é\":\"a\u{2028}b\u{2029}\u{85}—\"}", "{\"é\":\"a\\u2028b\\u2029\\u0085—\"}"),
        (LineSeparators, "\u{2028}\"\\\u{2028}\\\"\u{2028}\"\u{2028}", "\u{2028}\"\\\u{2028}\\\"\\u2028\"\u{2028}"),
        (NonAscii, "\"é\u{1f600}\u{ffff}\u{7f}\"é", "\"\\u00e9\\ud83d\\ude00\\uffff\u{7f}\"é"),
        (NonAscii, "plain", "plain"),
    ] {
        let frame = String::from_utf8(encode(escape, payload.as_bytes())).unwrap();
        assert_eq!(frame, format!("data: {expected}\n\n"));
    }
    let broken = b"\"\xE2\x80\xC3\xA9\xFF\"\xC3\xA9";
    assert_eq!(encode(NonAscii, broken), b"data: \"\xE2\x80\\u00e9\xFF\"\xC3\xA9\n\n");
}

#[test]
fn nothing_to_escape_leaves_the_frame_as_it_came() {
    // Long enough not to be copied for the sake of its buffer.
    let frame = Bytes::from(format!("data: \u{2028}{{\"a\":\"—Â{}\"}}\n\n", "x".repeat(1000)));
    let data = frame.slice(6..frame.len() - 2);
    for (escape, same) in [(Escape::Off, true), (Escape::LineSeparators, true), (Escape::NonAscii, false)] {
        let mut out = Batch::new();
        Encoder::new(escape).event(&data, Some(frame.clone()), &mut out);
        assert_eq!(out.pop().unwrap().as_ptr() == frame.as_ptr(), same, "{escape:?}");
    }
}

/// The standard's rules, told line by line over the whole body; the end of the body as [`Decoder::finish`] has it.
fn reference(body: &[u8]) -> Vec<(Vec<u8>, bool)> {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let mut lines: Vec<(Vec<u8>, bool)> = vec![(Vec::new(), false)];
    let mut bytes = body.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let last = lines.last_mut().unwrap();
        if byte == b'\r' || byte == b'\n' {
            if byte == b'\r' && bytes.peek() == Some(&b'\n') {
                bytes.next();
            }
            last.1 = true;
            lines.push((Vec::new(), false));
        } else {
            last.0.push(byte);
        }
    }
    let mut frames = Vec::new();
    let mut buffer = Vec::new();
    for (line, ended) in lines {
        if line.is_empty() {
            if !buffer.is_empty() {
                assert_eq!(buffer.pop(), Some(b'\n'));
                frames.push((std::mem::take(&mut buffer), false));
            }
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = match colon {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (&line[..], &b""[..]),
        };
        if field == b"data" {
            buffer.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
            buffer.push(b'\n');
        }
        if !ended && !buffer.is_empty() {
            buffer.pop();
            frames.push((std::mem::take(&mut buffer), true));
        }
    }
    frames
}

/// The payloads of frames. What has none and is an error by its name is none by the standard.
fn plain(frames: Vec<Frame>) -> Vec<(Vec<u8>, bool)> {
    let has_data = |frame: &Frame| !frame.named_error || !frame.data.is_empty();
    frames.into_iter().filter(has_data).map(|frame| (frame.data.to_vec(), frame.unterminated)).collect()
}

fn encode(escape: Escape, payload: &[u8]) -> Vec<u8> {
    let mut out = Batch::new();
    Encoder::new(escape).event(&Bytes::copy_from_slice(payload), None, &mut out);
    std::iter::from_fn(|| out.pop()).flatten().collect()
}

#[test]
fn an_event_named_error_is_known_however_it_is_cut() {
    let body = "event: error\ndata: 1\n\nevent:error\r\ndata: 2\r\n\r\ndata: 3\nevent: ERROR\n\nevent: message\ndata: 4\n\n\
                event: errors\ndata: 5\n\nevent: err\ndata: 6\n\nevent: error\n\ndata: 7\n\nevent: error\nevent: x\ndata: 8\n\n";
    for size in 1..body.len() {
        let mut decoder = Decoder::new(1000);
        let mut found = Vec::new();
        for piece in body.as_bytes().chunks(size) {
            decoder.feed(Bytes::copy_from_slice(piece));
            while let Some(frame) = decoder.next().unwrap() {
                found.push((String::from_utf8(frame.data.to_vec()).unwrap(), frame.named_error));
            }
        }
        let named: Vec<_> = found.iter().filter(|(_, named)| *named).map(|(data, _)| data.as_str()).collect();
        assert_eq!((found.len(), named), (9, vec!["1", "2", "3", ""]), "in pieces of {size}");
    }
}
