//! The guard as a whole: what comes out of a stream in each mode.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod agreement;
mod frames;
mod properties;
mod repairs;
mod rules;

use std::time::Instant;

use bytes::Bytes;

use super::*;
use crate::pipeline::{Fault, Peers, Recipe, Refused, Sink};

/// What came out of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    texts: Vec<String>,
    violations: Vec<&'static str>,
    repaired: Vec<&'static str>,
    refused: Option<Refused>,
}

fn run(mode: Mode, events: impl IntoIterator<Item = Event>) -> Outcome {
    let mut pipeline = Recipe { guard: mode, ..Recipe::default() }.build(&Peers::default());
    let mut sink = Sink::default();
    let at = Instant::now();
    events.into_iter().for_each(|event| pipeline.event(event, at, &mut sink));
    pipeline.end(crate::pipeline::End::Closed, at, &mut sink);
    let texts = sink.events.iter().map(|event| String::from_utf8_lossy(event.text()).into_owned()).collect();
    Outcome { texts, violations: sink.violations, repaired: sink.repaired, refused: sink.refused }
}

fn event(text: &str) -> Event {
    Event::new(Bytes::copy_from_slice(text.as_bytes()), None)
}

fn through(mode: Mode, list: &[&str]) -> Outcome {
    run(mode, list.iter().map(|text| event(text)))
}

/// A short way to write a stream: what stands between the run's start and its end.
fn within<'a>(list: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec![STARTED];
    all.extend_from_slice(list);
    all.push(FINISHED);
    all
}

const STARTED: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#;
const FINISHED: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#;
const FAILED: &str = r#"{"type":"RUN_ERROR","message":"m"}"#;
const START: &str = r#"{"type":"TEXT_MESSAGE_START","messageId":"m1"}"#;
const CONTENT: &str = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"x"}"#;
const END: &str = r#"{"type":"TEXT_MESSAGE_END","messageId":"m1"}"#;
const CALL: &str = r#"{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"f"}"#;
const ARGS: &str = r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}"#;
const CALLED: &str = r#"{"type":"TOOL_CALL_END","toolCallId":"c1"}"#;

/// What `repair` makes of a stream, which has to be a stream that breaks no rule.
#[track_caller]
fn repaired(list: &[&str]) -> Outcome {
    let outcome = through(Mode::Repair, list);
    let again = through(Mode::Refuse, &outcome.texts.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((again.refused, again.violations), (None, vec![]), "{:#?}", outcome.texts);
    outcome
}

/// Asserts that `repair` makes these events of a run's insides.
#[track_caller]
fn mends(list: &[&str], expected: &[&str], rules: &[&str]) {
    let outcome = repaired(&within(list));
    assert_eq!(outcome.refused, None);
    let inner = &outcome.texts[1..outcome.texts.len() - 1];
    assert_eq!((outcome.texts[0].as_str(), outcome.texts.last().unwrap().as_str()), (STARTED, FINISHED));
    assert_eq!(inner, expected);
    assert_eq!(outcome.repaired, rules);
}
