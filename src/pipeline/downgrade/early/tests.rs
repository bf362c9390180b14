//! What each version's stages make of a stream, and what the tests of the single stages share.
#![allow(clippy::unwrap_used)]

use std::time::Instant;

use super::*;
use crate::{
    agui::Event,
    pipeline::{End, Pipeline, Sink},
};

/// The stream through these stages, to its end.
pub fn run(stages: Vec<Box<dyn Stage>>, list: &[&str]) -> Sink {
    let mut pipeline = Pipeline::of(stages);
    let (mut sink, at) = (Sink::default(), Instant::now());
    for text in list {
        pipeline.event(Event::made((*text).to_owned()), at, &mut sink);
    }
    pipeline.end(End::Closed, at, &mut sink);
    sink
}

/// The texts of what came out.
pub fn texts(sink: &Sink) -> Vec<String> {
    sink.events.iter().map(|event| String::from_utf8(event.text().to_vec()).unwrap()).collect()
}

fn for_client(n: u32, instead: Unrepresentable, list: &[&str]) -> Vec<String> {
    texts(&run(shims(Version::npm(n), instead), list))
}

const START: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"1"}"#;
const FINISH: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"1"}"#;
const NOTHING: &str = r#"{"type":"STATE_SNAPSHOT","snapshot":null}"#;

#[test]
fn a_client_of_0_0_45_needs_none_of_these_stages() {
    assert!(shims(Version::npm(45), Unrepresentable::Custom).is_empty());
    assert_eq!(shims(Version::npm(44), Unrepresentable::Drop).len(), 1);
}

#[test]
fn an_event_that_the_version_knows_keeps_its_bytes() {
    let text = r#"{ "type":"TEXT_MESSAGE_CONTENT" , "messageId":"\u0061","delta":"x","n":1.50}"#;
    for n in [27, 30, 36, 44] {
        assert_eq!(for_client(n, Unrepresentable::Drop, &[text]), [text]);
    }
}

#[test]
fn reasoning_is_thinking_from_0_0_37_and_nothing_before() {
    let list = [
        START,
        r#"{"type":"REASONING_START","messageId":"r"}"#,
        r#"{"type":"REASONING_END","messageId":"r"}"#,
        r#"{"type":"THINKING_START"}"#,
        r#"{"type":"THINKING_END"}"#,
        r#"{"type":"REASONING_ENCRYPTED_VALUE","subtype":"message","entityId":"r","encryptedValue":"x"}"#,
    ];
    let thinking = [
        START,
        r#"{"type":"THINKING_START","messageId":"r"}"#,
        r#"{"type":"THINKING_END","messageId":"r"}"#,
        r#"{"type":"THINKING_START"}"#,
        r#"{"type":"THINKING_END"}"#,
    ];
    assert_eq!(for_client(37, Unrepresentable::Custom, &list), thinking);
    assert_eq!(for_client(36, Unrepresentable::Custom, &list), [START]);
    let sink = run(shims(Version::npm(36), Unrepresentable::Drop), &list);
    let lost = |shape| sink.converted.iter().filter(|c| c.loss == crate::pipeline::Loss::Whole(shape)).count();
    assert_eq!((lost("reasoning"), lost("encrypted_value")), (4, 1));
}

#[test]
fn a_result_is_left_out_or_wrapped_before_0_0_30() {
    let result = r#"{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"x"}"#;
    assert_eq!(for_client(30, Unrepresentable::Drop, &[result]), [result]);
    assert!(for_client(29, Unrepresentable::Drop, &[result]).is_empty());
    let wrapped = format!(r#"{{"type":"CUSTOM","name":"ag-ui.unknown.TOOL_CALL_RESULT","value":{result}}}"#);
    assert_eq!(for_client(29, Unrepresentable::Custom, &[result]), [wrapped]);
}

#[test]
fn a_chunk_that_was_not_expanded_is_left_out_before_0_0_28() {
    for chunk in [r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"x"}"#, r#"{"type":"TOOL_CALL_CHUNK","delta":"x"}"#] {
        let sink = run(shims(Version::npm(27), Unrepresentable::Custom), &[chunk]);
        assert!(sink.events.is_empty());
        assert_eq!(sink.converted[0].loss, crate::pipeline::Loss::Whole("chunk"));
        assert_eq!(for_client(28, Unrepresentable::Drop, &[chunk]), [chunk]);
    }
}

#[test]
fn an_idle_run_succeeds_before_0_0_34_too() {
    assert_eq!(for_client(30, Unrepresentable::Drop, &[START, FINISH]), [START, NOTHING, FINISH]);
    assert_eq!(for_client(34, Unrepresentable::Drop, &[START, FINISH]), [START, FINISH]);
}

#[test]
fn two_idle_runs_are_one_idle_run() {
    assert_eq!(for_client(27, Unrepresentable::Drop, &[START, FINISH, START, FINISH]), [START, NOTHING, FINISH]);
}
