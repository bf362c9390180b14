//! What the stages of a route add to an event that they need not change: a run of text and a tool call, decoded, pushed
//! through and encoded again. The first line is the same without any stage.
#![allow(missing_docs, clippy::unwrap_used)]

use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tidegate::{
    agui::Version,
    config::Config,
    gateway,
    pipeline::{
        Peers, Recipe, Select, Sink, guard, redact, state,
        throttle::{self, SlowClient},
        tools,
    },
    wire::{Batch, Item, Reader, Writer, sse},
};

/// What many redact, none of which is in the run: each delta has digits, with which one of them may begin.
const KEYS: [(&str, &str); 4] = [
    ("sk-[A-Za-z0-9]{20,}", "[key]"),
    ("AKIA[0-9A-Z]{16}", "[key]"),
    (r"\b\d{4}[ -]?\d{4}[ -]?\d{4}[ -]?\d{4}\b", "[card]"),
    (r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9.-]{1,255}\.[A-Za-z]{2,}", "[mail]"),
];

/// The events of a run that every version since 0.0.37 reads as they are, in frames.
fn run() -> (Bytes, u64) {
    let mut events = vec![
        r#"{"type":"RUN_STARTED","threadId":"thread-1","runId":"run-1"}"#.to_owned(),
        r#"{"type":"TOOL_CALL_START","toolCallId":"call-1","toolCallName":"search"}"#.to_owned(),
        r#"{"type":"TOOL_CALL_ARGS","toolCallId":"call-1","delta":"{\"q\":\"tide\"}"}"#.to_owned(),
        r#"{"type":"TOOL_CALL_END","toolCallId":"call-1"}"#.to_owned(),
        r#"{"type":"TOOL_CALL_RESULT","messageId":"result-1","toolCallId":"call-1","content":"twice a day"}"#
            .to_owned(),
        r#"{"type":"TEXT_MESSAGE_START","messageId":"msg-4711","role":"assistant"}"#.to_owned(),
    ];
    for n in 0..100 {
        events.push(format!(r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"msg-4711","delta":" token{n}"}}"#));
    }
    events.push(r#"{"type":"TEXT_MESSAGE_END","messageId":"msg-4711"}"#.to_owned());
    events.push(r#"{"type":"RUN_FINISHED","threadId":"thread-1","runId":"run-1"}"#.to_owned());
    let count = events.len() as u64;
    (events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>().into(), count)
}

/// What a route of the example file does.
fn guardrails() -> Recipe {
    let config = Config::from_toml(include_str!("../config/guardrails.toml")).unwrap();
    gateway::recipe(&config.routes[0]).unwrap()
}

fn stages(criterion: &mut Criterion) {
    let (text, count) = run();
    let plain = Recipe::default();
    let watching = Recipe {
        guard: guard::Mode::Observe,
        state: Some(state::Policy { compact: false, on_mismatch: state::OnMismatch::Forward, limit: 8 << 20 }),
        ..Recipe::default()
    };
    let throttle = |every, slow_client| throttle::Policy {
        every: Duration::from_millis(every),
        max_chars: 4096,
        slow_client,
        keep_raw_event: false,
        limit: 1 << 20,
    };
    let merging = Recipe { throttle: Some(throttle(33, SlowClient::Wait)), ..Recipe::default() };
    let waiting = Recipe { throttle: Some(throttle(0, SlowClient::Merge)), ..Recipe::default() };
    let tools = |argument: Option<&str>| {
        let rule = |tool: &str| {
            vec![tools::ArgumentRule { tool: tool.to_owned(), path: "/q".to_owned(), matches: "secret".to_owned() }]
        };
        let (deny, arguments) = (["delete_*".to_owned()], argument.map(rule).unwrap_or_default());
        let policy = tools::Policy::new(None, &deny, tools::OnDenied::Drop, tools::Raw::Drop, &arguments, &[]);
        Recipe { tools: Some(Arc::new(policy.unwrap())), ..Recipe::default() }
    };
    let redacting = |list: &[(&str, &str)]| Recipe { redact: redact::Rules::new(list).ok(), ..Recipe::default() };
    let version = |name| Version::released(name).unwrap();
    let between = |client, agent| Peers { client: version(client), agent: version(agent), ..Peers::default() };
    let mut group = criterion.benchmark_group("stages");
    group.throughput(Throughput::Elements(count));
    for (name, recipe, peers) in [
        ("none", &plain, between("1.1", "1.1")),
        ("every stage of guardrails.toml", &guardrails(), between("1.1", "1.1")),
        ("expand", &Recipe { expand: true, ..Recipe::default() }, between("1.1", "1.1")),
        (
            "select",
            &Recipe { select: Some(Select::new(["RAW"], ["rawEvent"])), ..Recipe::default() },
            between("1.1", "1.1"),
        ),
        ("the defaults", &watching, between("1.1", "1.1")),
        ("client 0.0.59", &plain, between("0.0.59", "1.1")),
        ("client 0.0.47", &plain, between("0.0.47", "1.1")),
        ("client 0.0.39", &plain, between("0.0.39", "1.1")),
        ("agent 0.0.44", &plain, between("1.1", "0.0.44")),
        ("the defaults, client 0.0.47, agent 0.0.44", &watching, between("0.0.47", "0.0.44")),
        ("throttle, all in one window", &merging, between("1.1", "1.1")),
        ("throttle, no window", &waiting, between("1.1", "1.1")),
        ("a tool policy", &tools(None), between("1.1", "1.1")),
        ("a tool policy that holds the call", &tools(Some("search")), between("1.1", "1.1")),
        ("redact, one key", &redacting(&[("sk-[A-Za-z0-9]{20,}", "[redacted]")]), between("1.1", "1.1")),
        ("redact, keys and cards", &redacting(&KEYS), between("1.1", "1.1")),
        ("repair", &Recipe { guard: guard::Mode::Repair, ..Recipe::default() }, between("1.1", "1.1")),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let (mut reader, writer) = (Reader::sse(10 << 20), Writer::Sse(sse::Encoder::default()));
                let (mut pipeline, mut sink, mut out) = (recipe.build(&peers), Sink::default(), Batch::new());
                let at = Instant::now();
                reader.feed(black_box(&text).clone());
                while let Some(Item::Event { event, .. }) = reader.next().unwrap() {
                    if pipeline.kinds().contains(event.kind()) {
                        pipeline.event(event, at, &mut sink);
                        sink.events.drain(..).for_each(|event| {
                            let _ = writer.event(&event, &mut out);
                        });
                    } else {
                        let _ = writer.event(&event, &mut out);
                    }
                }
                // What is held back of an item leaves in an event of its own.
                assert!(recipe.throttle.is_some() || out.len() >= text.len());
                out
            });
        });
    }
    group.finish();
}

criterion_group!(benches, stages);
criterion_main!(benches);
