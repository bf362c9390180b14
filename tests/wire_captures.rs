//! What real agents sent, recorded, goes through the codec: the same events come out however the bodies are cut.
//!
//! The recordings lie in the optional folder `../shared` beside the clone, or where `TIDEGATE_SHARED` says.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};

use bytes::Bytes;
use serde_json::Value;
use tidegate::agui::InputScan;
use tidegate::wire::{Batch, media, sse};

/// The recordings with their names, or `None` where there are none.
fn recordings() -> Option<Vec<(String, Value)>> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let shared = std::env::var_os("TIDEGATE_SHARED").map_or_else(beside, PathBuf::from);
    let captures = shared.join("agui/captures");
    if !captures.is_dir() {
        eprintln!("skipped: no recordings in {}", captures.display());
        return None;
    }
    let entries = |folder: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let files = entries(&captures).into_iter().filter(|path| path.is_dir()).flat_map(|folder| entries(&folder));
    let recordings: Vec<_> = files
        .filter(|path| path.to_string_lossy().ends_with(".http.json"))
        .map(|path| (path.display().to_string(), serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap()))
        .collect();
    assert!(!recordings.is_empty(), "no recordings in {}", captures.display());
    Some(recordings)
}

/// The chunks of a response, if it is an event stream; agents send each event and each comment as one.
fn event_stream(recording: &Value) -> Option<Vec<&str>> {
    let response = &recording["response"];
    let headers = response["headers"].as_object().unwrap();
    let (_, media) = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"))?;
    media::is_event_stream(media.as_str().unwrap().as_bytes())
        .then(|| response["chunks"].as_array().unwrap().iter().map(|chunk| chunk["text"].as_str().unwrap()).collect())
}

fn decode(body: &[u8], size: usize) -> Vec<sse::Frame> {
    let mut decoder = sse::Decoder::new(10 << 20);
    let mut frames = Vec::new();
    for piece in body.chunks(size) {
        decoder.feed(Bytes::copy_from_slice(piece));
        while let Some(frame) = decoder.next().unwrap() {
            frames.push(frame);
        }
    }
    while let Some(frame) = decoder.finish().unwrap() {
        frames.push(frame);
    }
    frames
}

#[test]
fn recorded_streams_come_through_byte_for_byte_however_they_are_cut() {
    let Some(recordings) = recordings() else {
        return;
    };
    let (mut streams, mut events) = (0, 0);
    for (name, recording) in &recordings {
        let Some(chunks) = event_stream(recording) else {
            continue;
        };
        let body = chunks.concat();
        let chunks: Vec<_> = chunks.into_iter().filter(|chunk| !chunk.is_empty() && !chunk.starts_with(':')).collect();
        if chunks.is_empty() {
            continue;
        }
        let payload =
            |chunk: &&str| chunk.strip_prefix("data: ").and_then(|rest| rest.strip_suffix("\n\n")).map(str::to_owned);
        let expected: Vec<String> = chunks.iter().map(|chunk| payload(chunk).expect(name)).collect();
        streams += 1;
        events += expected.len();
        for size in [1, 2, 3, 7, 61, 1021, 4096, body.len()] {
            let frames = decode(body.as_bytes(), size);
            let mut out = Batch::new();
            for frame in &frames {
                serde_json::from_slice::<&serde_json::value::RawValue>(&frame.data).expect(name);
                assert!(!frame.unterminated, "{name}");
                sse::Encoder::default().event(&frame.data, frame.canonical.clone(), &mut out);
            }
            let found: Vec<_> = frames.iter().map(|frame| String::from_utf8_lossy(&frame.data)).collect();
            assert_eq!(found, expected, "{name} in pieces of {size}");
            let written: Vec<u8> = std::iter::from_fn(|| out.pop()).flatten().collect();
            assert_eq!(String::from_utf8(written).unwrap(), chunks.concat(), "{name} in pieces of {size}");
        }
    }
    println!("{streams} streams with {events} events");
    assert!(streams > 0 && events > streams);
}

#[test]
fn recorded_requests_are_run_inputs() {
    let Some(recordings) = recordings() else {
        return;
    };
    for (name, recording) in &recordings {
        let body = &recording["request"]["body"];
        let text = body.to_string();
        for size in [1, 13, text.len()] {
            let mut scan = InputScan::new();
            text.as_bytes().chunks(size).for_each(|piece| scan.feed(piece));
            let facts = scan.finish();
            let value = |text: &Option<tidegate::agui::Text>| text.as_ref().map(|text| text.value.clone());
            assert!(facts.is_run_input(), "{name}");
            assert_eq!(value(&facts.thread_id).as_deref(), body["threadId"].as_str(), "{name}");
            assert_eq!(value(&facts.run_id).as_deref(), body["runId"].as_str(), "{name}");
        }
    }
}
