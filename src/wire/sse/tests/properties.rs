//! What holds for every body and every payload.

use proptest::prelude::*;

use super::*;

fn cut<'a>(body: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let mut rest = body;
    let mut pieces = Vec::new();
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at((*size).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

fn any_body() -> impl Strategy<Value = Vec<u8>> {
    let token = prop::sample::select(vec![
        &b"data: "[..],
        b"data:",
        b"data",
        b"da",
        b"data: {\"type\":\"RUN_STARTED\"}\n\n",
        b"\n\n",
        b"\n",
        b"\r\n",
        b"\r",
        b": hi",
        b":",
        b" ",
        b"id: 1",
        b"event: x\r\n",
        b"\xEF\xBB\xBF",
        b"\xEF\xBB",
        b"x",
        b"\xE2\x80\xA8",
        b"\0",
    ]);
    prop_oneof![
        3 => prop::collection::vec(token, 0..24).prop_map(|tokens| tokens.concat()),
        1 => prop::collection::vec(any::<u8>(), 0..64),
    ]
}

proptest! {
    #[test]
    fn any_body_has_the_frames_of_the_standard_however_it_is_cut(
        body in any_body(),
        sizes in prop::collection::vec(1..20_usize, 1..6),
    ) {
        let expected = reference(&body);
        prop_assert_eq!(&plain(decode([&body[..]])), &expected);
        prop_assert_eq!(&plain(decode(cut(&body, &sizes))), &expected);
        prop_assert_eq!(&plain(decode(body.chunks(1))), &expected);
    }

    #[test]
    fn a_canonical_frame_is_what_the_encoder_would_write(body in any_body(), sizes in prop::collection::vec(1..40_usize, 1..6)) {
        for frame in decode(cut(&body, &sizes)) {
            if let Some(canonical) = &frame.canonical {
                prop_assert_eq!(&encode(Escape::Off, &frame.data), canonical);
            }
        }
    }

    #[test]
    fn payloads_come_back_as_they_were_written(
        payloads in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..40),
                prop::collection::vec(prop::sample::select(b"\n :d\xEF\xBB\xBF".to_vec()), 0..12),
            ],
            0..6,
        ),
        sizes in prop::collection::vec(1..40_usize, 1..6),
    ) {
        let encoder = Encoder::default();
        let mut out = Batch::new();
        let mut expected = Vec::new();
        for payload in payloads {
            let payload: Vec<u8> = payload.into_iter().filter(|byte| *byte != b'\r').collect();
            encoder.event(&Bytes::from(payload.clone()), None, &mut out);
            encoder.keepalive(&mut out);
            expected.push((payload, false));
        }
        let body: Vec<u8> = std::iter::from_fn(|| out.pop()).flatten().collect();
        prop_assert_eq!(plain(decode(cut(&body, &sizes))), expected);
    }

    #[test]
    fn an_escaped_text_means_the_same(text in "[\"\\\\a\u{85}\u{2028}\u{2029}é\u{ffff}\u{1f600}—]{0,20}", all in any::<bool>()) {
        let json = serde_json::to_string(&[&text]).unwrap();
        let escape = if all { Escape::NonAscii } else { Escape::LineSeparators };
        let frames = decode([&encode(escape, json.as_bytes())[..]]);
        let written = std::str::from_utf8(&frames[0].data).unwrap();
        prop_assert_eq!(serde_json::from_str::<Vec<String>>(written).unwrap(), vec![text]);
        let separators = ['\u{85}', '\u{2028}', '\u{2029}'];
        prop_assert!(!written.contains(separators));
        prop_assert!(!all || written.is_ascii());
    }

    #[test]
    fn no_body_makes_the_decoder_hold_more_than_the_limit(
        body in any_body(),
        sizes in prop::collection::vec(1..20_usize, 1..6),
        limit in 0..24_usize,
    ) {
        let mut decoder = Decoder::new(limit);
        let mut frames = Vec::new();
        let mut error = None;
        for piece in cut(&body, &sizes) {
            decoder.feed(Bytes::copy_from_slice(piece));
            while error.is_none() {
                match decoder.next() {
                    Ok(Some(frame)) => frames.push((frame.data.to_vec(), frame.unterminated)),
                    Ok(None) => break,
                    Err(too_large) => error = Some(too_large),
                }
            }
            if error.is_none() {
                prop_assert!(decoder.held() <= limit);
            }
        }
        while error.is_none() {
            match decoder.finish() {
                Ok(Some(frame)) => frames.push((frame.data.to_vec(), frame.unterminated)),
                Ok(None) => break,
                Err(too_large) => error = Some(too_large),
            }
        }
        let mut expected = reference(&body);
        let fits = expected.iter().take_while(|(data, _)| data.len() <= limit).count();
        prop_assert_eq!(error.is_some(), fits < expected.len());
        expected.truncate(fits);
        prop_assert_eq!(frames, expected);
    }
}
