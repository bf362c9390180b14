//! What an event costs between JSON and protobuf, and what a frame costs that is passed on. `tests/proto/bench.mjs`
//! measures the same events in Node.js with the reference implementation.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::hint::black_box;

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tidegate::agui::{Encoding, Event, EventKind, Version};
use tidegate::wire::proto::{Arm, Decoder, arm, from_json, to_json};
use tidegate::wire::{Batch, sse};

/// The events, as lines of `name<TAB>JSON`; the Node.js side reads the same file.
const EVENTS: &str = include_str!("../tests/proto/bench.txt");

fn convert(criterion: &mut Criterion) {
    for line in EVENTS.lines() {
        let (name, text) = line.split_once('\t').unwrap();
        let message = from_json(text.as_bytes(), Version::CURRENT).unwrap().frame.message;
        let mut group = criterion.benchmark_group(format!("proto, {name}"));
        group.throughput(Throughput::Elements(1));
        group.bench_function("to protobuf", |bencher| {
            bencher.iter(|| from_json(black_box(text.as_bytes()), Version::CURRENT).unwrap());
        });
        group.bench_function("to JSON", |bencher| bencher.iter(|| to_json(black_box(&message)).unwrap()));
        group.finish();
    }
}

const COUNT: u64 = 100;

/// Token events on either wire, passed on with their kinds looked at: what the gateway does with no middleware.
fn pass_on(criterion: &mut Criterion) {
    let event = |n| format!(r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"msg-4711","delta":" token{n}"}}"#);
    let text: Bytes = (0..COUNT).map(|n| format!("data: {}\n\n", event(n))).collect::<String>().into();
    let frames = (0..COUNT).flat_map(|n| from_json(event(n).as_bytes(), Version::CURRENT).unwrap().frame.whole);
    let frames: Bytes = frames.collect::<Vec<u8>>().into();
    let mut group = criterion.benchmark_group("pass on");
    group.throughput(Throughput::Elements(COUNT));
    group.bench_function("SSE", |bencher| {
        bencher.iter(|| {
            let (mut decoder, encoder, mut out) = (sse::Decoder::new(10 << 20), sse::Encoder::default(), Batch::new());
            decoder.feed(black_box(&text).clone());
            while let Some(frame) = decoder.next().unwrap() {
                let event = Event::new(frame.data, frame.canonical.map(|bytes| (Encoding::Sse, bytes)));
                assert_eq!(event.kind(), EventKind::TextMessageContent);
                encoder.event(event.text(), event.frame(Encoding::Sse).cloned(), &mut out);
            }
            assert_eq!(out.len(), text.len());
            out
        });
    });
    group.bench_function("protobuf", |bencher| {
        bencher.iter(|| {
            let (mut decoder, mut out) = (Decoder::new(10 << 20), Batch::new());
            decoder.feed(black_box(&frames).clone());
            while let Some(frame) = decoder.next().unwrap() {
                assert_eq!(arm(&frame.message), Arm::Known(EventKind::TextMessageContent));
                out.push(frame.whole);
            }
            assert_eq!(out.len(), frames.len());
            out
        });
    });
    group.finish();
}

criterion_group!(benches, convert, pass_on);
criterion_main!(benches);
