//! What decoding and encoding a stream and scanning an input cost, without sockets.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::hint::black_box;

use bytes::Bytes;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use tidegate::agui::InputScan;
use tidegate::wire::Batch;
use tidegate::wire::sse::{Decoder, Encoder, Escape};

const EVENTS: u64 = 100;

/// Token events as agents send them, with this line end, one a piece.
fn events(line_end: &str) -> Vec<Bytes> {
    let event = |n| {
        let event = format!(r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"msg-4711","delta":" token{n}"}}"#);
        format!("data: {event}{line_end}{line_end}").into()
    };
    (0..EVENTS).map(event).collect()
}

/// Sends chunks through a decoder and an encoder; says how many bytes came out.
fn through(chunks: &[Bytes], escape: Escape) -> usize {
    let mut decoder = Decoder::new(10 << 20);
    let encoder = Encoder::new(escape);
    let mut out = Batch::new();
    let mut written = 0;
    for chunk in chunks {
        decoder.feed(chunk.clone());
        while let Some(frame) = decoder.next().unwrap() {
            encoder.event(&frame.data, frame.canonical, &mut out);
        }
        while let Some(write) = out.pop() {
            written += black_box(write).len();
        }
    }
    written
}

fn cut(body: &Bytes, size: usize) -> Vec<Bytes> {
    (0..body.len()).step_by(size).map(|at| body.slice(at..body.len().min(at + size))).collect()
}

fn codec(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("codec");
    group.throughput(Throughput::Elements(EVENTS));
    let canonical = Bytes::from(events("\n").concat());
    for (name, chunks, escape) in [
        ("canonical, one chunk", vec![canonical.clone()], Escape::Off),
        ("canonical, one event a chunk", cut(&canonical, canonical.len() / EVENTS as usize), Escape::Off),
        ("canonical, cut every 61 bytes", cut(&canonical, 61), Escape::Off),
        ("CRLF, one chunk", vec![events("\r\n").concat().into()], Escape::Off),
        ("canonical, one chunk, escaping", vec![canonical.clone()], Escape::LineSeparators),
    ] {
        assert_eq!(through(&chunks, escape), canonical.len());
        group.bench_function(name, |bencher| bencher.iter(|| through(black_box(&chunks), escape)));
    }
    group.finish();
}

fn input(criterion: &mut Criterion) {
    const SIZE: usize = 1 << 20;
    let image = "aGVsbG8gd29ybGQ+".repeat(SIZE / 16);
    let history: String = (0..SIZE / 128)
        .map(|n| {
            let text = "word ".repeat(14);
            format!(r#"{{"id":"m-{n}","role":"user","content":"{text}\n"}},"#)
        })
        .collect();
    let mut group = criterion.benchmark_group("input scan of 1 MiB");
    for (name, messages) in [
        ("one image", format!(r#"[{{"id":"m","content":[{{"type":"image","value":"{image}"}}]}}]"#)),
        ("many messages", format!("[{}]", history.trim_end_matches(','))),
    ] {
        let body = format!(r#"{{"threadId":"t-1","runId":"r-1","messages":{messages},"state":{{}}}}"#);
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                InputScan::new,
                |mut scan| {
                    black_box(body.as_bytes()).chunks(64 << 10).for_each(|chunk| scan.feed(chunk));
                    assert!(scan.finish().is_run_input());
                },
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, codec, input);
criterion_main!(benches);
