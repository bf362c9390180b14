//! What came whole.
use super::*;

fn check(text: &str, expected: &str) {
    let text = text.replace("SECRET", SECRET);
    assert_eq!(through(KEY, &[&text]), [expected], "{text}");
}

#[test]
fn results_snapshots_and_state_are_judged_as_a_whole() {
    for (text, expected) in [
        (
            r#"{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"a\u00e9 SECRET"}"#,
            r#"{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"a\u00e9 [redacted]"}"#,
        ),
        (
            r#"{"type":"TOOL_CALL_RESULT","content":[{"type":"text","text":"SECRET"},{"type":"image","source":{"type":"url","value":"https://h/?k=SECRET"}}]}"#,
            r#"{"type":"TOOL_CALL_RESULT","content":[{"type":"text","text":"[redacted]"},{"type":"image","source":{"type":"url","value":"https://h/?k=[redacted]"}}]}"#,
        ),
        (
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"SECRET","role":"assistant","content":"SECRET","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"k\":\"\\u0073k-ABCDEFGHIJKLMNOPQRSTUV\"}"}}],"encryptedValue":"SECRET"}]}"#,
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"sk-ABCDEFGHIJKLMNOPQRSTUV","role":"assistant","content":"[redacted]","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"k\":\"[redacted]\"}"}}],"encryptedValue":"sk-ABCDEFGHIJKLMNOPQRSTUV"}]}"#,
        ),
        (
            r#"{"type":"STATE_SNAPSHOT","snapshot":{"a":["SECRET",{"id":"x SECRET","SECRET":1.50}]}}"#,
            r#"{"type":"STATE_SNAPSHOT","snapshot":{"a":["[redacted]",{"id":"x [redacted]","sk-ABCDEFGHIJKLMNOPQRSTUV":1.50}]}}"#,
        ),
        (
            r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/SECRET","value":{"k":"SECRET"}}]}"#,
            r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/sk-ABCDEFGHIJKLMNOPQRSTUV","value":{"k":"[redacted]"}}]}"#,
        ),
        (
            r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","messages":[{"id":"m","role":"user","content":"SECRET"}],"state":{"x":"SECRET"}}}"#,
            r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","messages":[{"id":"m","role":"user","content":"[redacted]"}],"state":{"x":"[redacted]"}}}"#,
        ),
        (
            r#"{"type":"RUN_FINISHED","result":["SECRET"],"outcome":{"type":"interrupt","interrupts":[{"id":"SECRET","reason":"SECRET"}]}}"#,
            r#"{"type":"RUN_FINISHED","result":["[redacted]"],"outcome":{"type":"interrupt","interrupts":[{"id":"sk-ABCDEFGHIJKLMNOPQRSTUV","reason":"[redacted]"}]}}"#,
        ),
        (
            r#"{"type":"RUN_ERROR","message":"bad \u0073k-ABCDEFGHIJKLMNOPQRSTUV"}"#,
            r#"{"type":"RUN_ERROR","message":"bad [redacted]"}"#,
        ),
        (
            r#"{"type":"RAW","event":{"deep":[{"x":"SECRET"}]}}"#,
            r#"{"type":"RAW","event":{"deep":[{"x":"[redacted]"}]}}"#,
        ),
        (r#"{"type":"VENDOR","text":"SECRET"}"#, r#"{"type":"VENDOR","text":"[redacted]"}"#),
        (
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m","x":"SECRET"}"#,
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m","x":"[redacted]"}"#,
        ),
        (
            r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"m","activityType":"t","content":{"a":"SECRET"}}"#,
            r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"m","activityType":"t","content":{"a":"[redacted]"}}"#,
        ),
        (
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"SECRET","delta":"x"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"[redacted]","delta":"x"}"#,
        ),
        (
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":{"text":"SECRET"}}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":{"text":"[redacted]"}}"#,
        ),
    ] {
        check(text, expected);
    }
    let kept = r#"{"type":"REASONING_ENCRYPTED_VALUE","entityId":"m","encryptedValue":"sk-ABCDEFGHIJKLMNOPQRSTUV"}"#;
    check(kept, kept);
}

#[test]
fn a_number_that_matches_becomes_a_string() {
    let out = through(
        &[(r"\d{16}", "#")],
        &[r#"{"type":"CUSTOM","name":"n","timestamp":1234567890123456,"value":[4111111111111111,-1.5]}"#],
    );
    assert_eq!(out, [r##"{"type":"CUSTOM","name":"n","timestamp":1234567890123456,"value":["#",-1.5]}"##]);
}

#[test]
fn matches_beside_each_other_are_replaced_each() {
    let out = through(&[("ab", "1"), ("a", "2")], &[r#"{"type":"CUSTOM","name":"n","value":"ab\u0061aba-"}"#]);
    assert_eq!(out, [r#"{"type":"CUSTOM","name":"n","value":"1212-"}"#]);
}

#[test]
fn what_is_no_event_and_holds_a_secret_ends_the_run() {
    for text in
        [format!("oops {SECRET} \"{SECRET}\""), format!(r#"{{"type":"RAW"}}{{"type":"RAW","event":"{SECRET}"}}"#)]
    {
        let sink = sink_of(KEY, &[&text]);
        assert_eq!(sink.refused.unwrap().rule, "redact_unreadable");
        assert!(sink.events.is_empty());
    }
    let sink = sink_of(KEY, &["[DONE]", r#"{"type":"RAW","event":NaN}"#]);
    assert!(sink.refused.is_none() && sink.events.len() == 2);
}

#[test]
fn the_gateways_own_error_is_not_touched() {
    let mut pipeline = stage(&[("x", "y")]);
    let mut sink = Sink::default();
    pipeline.event(Event::run_error("x", "CODE"), Instant::now(), &mut sink);
    assert!(sink.events[0].is_own());
}

#[test]
fn depth_costs_no_stack() {
    let deep = "[".repeat(100_000);
    for member in [r#""messages""#, r#""snapshot""#] {
        let text = format!(r#"{{"type":"MESSAGES_SNAPSHOT",{member}:{deep}"{SECRET}"{}}}"#, "]".repeat(100_000));
        let out = through(KEY, &[&text]);
        assert!(out[0].contains("\"[redacted]\""));
    }
}

#[test]
fn what_is_no_utf8_leaves_as_what_was_judged() {
    let content = |delta: &[u8]| {
        let head = &b"{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\""[..];
        Event::made([head, delta, b"\"}"].concat())
    };
    let (mut pipeline, mut sink, at) = (stage(&[("a.b", "#")]), Sink::default(), Instant::now());
    for event in [
        content(b"a\xe2\x82b c\xff"),
        Event::made(&b"{\"type\":\"RAW\",\"event\":\"a\xf0\x9f\x8cb\xff\"}"[..]),
        Event::made(&b"{\"type\":\"VENDOR\",\"x\":\"\xff\"}"[..]),
    ] {
        pipeline.event(event, at, &mut sink);
    }
    pipeline.end(End::Closed, at, &mut sink);
    let all = texts(&sink);
    assert_eq!(reduced(&all).into_values().collect::<Vec<_>>(), ["# c\u{fffd}"]);
    assert!(all.contains(&"{\"type\":\"RAW\",\"event\":\"#\u{fffd}\"}".to_owned()), "{all:?}");
    assert!(all.contains(&"{\"type\":\"VENDOR\",\"x\":\"\u{fffd}\"}".to_owned()));
    let named = sink.dropped.iter().filter(|dropped| dropped.reason == "invalid_encoding").count();
    assert_eq!(named, 3);
}
