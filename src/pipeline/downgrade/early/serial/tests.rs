//! What waits, in which order it comes out, and what happens past the limit.

use super::{
    super::tests::{run, texts},
    *,
};
use crate::pipeline::Sink;

/// `+a` opens the text message `a`, `a1` is a delta of it, `-a` closes it; capitals are tool calls, `!` is the run's
/// error, `.` its finish, `~` a `RAW`, `#` a snapshot of the messages,
/// `*x` a custom event.
fn event(short: &str) -> String {
    let (first, rest) = short.split_at(1);
    let named = |name: &str, text: &str, call: &str| {
        if name == name.to_lowercase() {
            format!(r#"{{"type":"TEXT_MESSAGE_{text}","messageId":"{name}""#)
        } else {
            format!(r#"{{"type":"TOOL_CALL_{call}","toolCallId":"{name}""#)
        }
    };
    match first {
        "+" => named(rest, "START", "START") + r#","role":"assistant"}"#,
        "-" => named(rest, "END", "END") + "}",
        "!" => r#"{"type":"RUN_ERROR","message":"m"}"#.into(),
        "." => r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#.into(),
        "~" => r#"{"type":"RAW","event":1}"#.into(),
        "#" => r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#.into(),
        "*" => format!(r#"{{"type":"CUSTOM","name":"{rest}","value":1}}"#),
        _ => named(first, "CONTENT", "ARGS") + &format!(r#","delta":"{rest}"}}"#),
    }
}

fn serial(stage: Serial, list: &[&str]) -> (Sink, Vec<String>) {
    let list: Vec<String> = list.iter().map(|short| event(short)).collect();
    let sink = run(vec![Box::new(stage)], &list.iter().map(String::as_str).collect::<Vec<_>>());
    let texts = texts(&sink);
    (sink, texts)
}

#[track_caller]
fn check(list: &[&str], expected: &[&str]) {
    let expected: Vec<String> = expected.iter().map(|short| event(short)).collect();
    assert_eq!(serial(Serial::default(), list).1, expected);
}

#[test]
fn what_comes_beside_an_open_message_waits_in_order() {
    check(&["+a", "a1", "*x", "a2", "~", "*y", "-a", "*z"], &["+a", "a1", "a2", "~", "-a", "*x", "*y", "*z"]);
}

#[test]
fn brackets_come_out_whole_one_after_another() {
    check(
        &["+a", "+B", "B1", "+c", "c1", "a1", "B2", "-c", "*x", "-B", "-a"],
        &["+a", "a1", "-a", "+B", "B1", "B2", "-B", "+c", "c1", "-c", "*x"],
    );
}

#[test]
fn a_bracket_that_waited_and_is_not_over_goes_on_at_once() {
    check(
        &["+a", "+B", "B1", "*x", "-a", "B2", "+a", "a2", "-B", "-a"],
        &["+a", "-a", "+B", "B1", "B2", "-B", "*x", "+a", "a2", "-a"],
    );
}

#[test]
fn an_identifier_of_a_message_is_none_of_a_tool_call() {
    let call = r#"{"type":"TOOL_CALL_START","toolCallId":"a","toolCallName":"n"}"#;
    let end = r#"{"type":"TOOL_CALL_END","toolCallId":"a"}"#;
    let (open, close) = (event("+a"), event("-a"));
    let sink = run(vec![Box::new(Serial::default())], &[&open, call, end, &close]);
    assert_eq!(texts(&sink), [&open, &close, call, end]);
}

#[test]
fn everything_is_closed_before_an_error() {
    check(
        &["+a", "a1", "+B", "*x", "+c", "-c", "B1", "!"],
        &["+a", "a1", "-a", "+B", "B1", "-B", "*x", "+c", "-c", "!"],
    );
}

#[test]
fn everything_is_closed_at_the_end_of_the_stream() {
    check(&["+a", "+B", "*x"], &["+a", "-a", "+B", "-B", "*x"]);
}

#[test]
fn a_finish_inside_a_message_is_left_to_the_client() {
    check(&["+a", "*x", "."], &["+a", "*x", "."]);
}

#[test]
fn what_belongs_to_nothing_is_left_to_the_client() {
    check(&["a1", "-a", "+a", "c1", "-a"], &["a1", "-a", "+a", "-a", "c1"]);
}

#[test]
fn messages_are_stated_anew_before_what_comes_after() {
    check(&["+a", "a1", "#", "a2", "-a"], &["+a", "a1", "-a", "#", "+a", "a2", "-a"]);
    check(&["+a", "a1", "#", "-a", "*x"], &["+a", "a1", "-a", "#", "*x"]);
    check(
        &["+a", "+b", "b1", "*x", "#", "b2", "a1", "-b", "-a"],
        &["+a", "-a", "+b", "b1", "-b", "*x", "#", "+a", "a1", "-a", "+b", "b2", "-b"],
    );
}

#[test]
fn a_tool_call_is_not_cut_by_a_snapshot() {
    check(
        &["+a", "+B", "B1", "#", "B2", "a1", "-B", "-a"],
        &["+a", "-a", "+B", "B1", "B2", "-B", "#", "+a", "a1", "-a"],
    );
}

#[test]
fn past_the_limit_a_message_is_ended_early_and_continued() {
    let stage = Serial::with_limit(700);
    let (sink, out) = serial(stage, &["+a", "a1", "*x", "+B", "B1", "B2", "*y", "*z", "a2", "-B", "-a", "*w"]);
    let expected = ["+a", "a1", "-a", "*x", "+B", "B1", "B2", "-B", "+a", "a2", "-a", "*y", "*z", "*w"];
    assert_eq!(out, expected.map(event));
    let of_a: Vec<_> = out.iter().filter(|text| text.contains(r#""messageId":"a""#)).collect();
    assert_eq!(of_a, ["+a", "a1", "-a", "+a", "a2", "-a"].map(event).iter().collect::<Vec<_>>());
    assert!(sink.converted.iter().any(|c| c.loss == Loss::Part("one_message")));
}

#[test]
fn a_message_that_had_no_rest_is_not_shown_twice() {
    let stage = Serial::with_limit(300);
    let (_, out) = serial(stage, &["+a", "a1", "*x", "*y", "-a", "*z"]);
    assert_eq!(out.iter().filter(|text| text.contains("TEXT_MESSAGE_START")).count(), 1, "{out:?}");
    assert!(out.contains(&event("*z")));
}

#[test]
fn past_the_limit_a_tool_call_is_not_cut_and_the_run_ends() {
    let stage = Serial::with_limit(300);
    let (sink, out) = serial(stage, &["+A", "A1", "*x", "*y", "A2", "-A", "*z", "."]);
    assert_eq!(out, ["+A", "A1", "-A", "*x", "*y"].map(event));
    assert_eq!(sink.refused.as_ref().map(|refused| (refused.fault, refused.rule)), Some((Fault::Budget, "waiting")));
    assert_eq!(sink.converted.iter().filter(|c| c.loss == Loss::Whole("waiting")).count(), 5);
}
