//! What nothing may go past, and what may.
use super::*;

const BARRIERS: &[&str] = &[
    START,
    END,
    STEP,
    r#"{"type":"STEP_FINISHED","stepName":"s"}"#,
    r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
    r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#,
    r#"{"type":"RUN_ERROR","message":"x"}"#,
    r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#,
    r#"{"type":"CUSTOM","name":"x","value":1}"#,
    r#"{"type":"TOOL_CALL_RESULT","toolCallId":"c","messageId":"x","content":""}"#,
    r#"{"type":"REASONING_ENCRYPTED_VALUE","subtype":"message","entityId":"m","encryptedValue":"x"}"#,
    r#"{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"x"}"#,
    r#"{"type":"NEWER","delta":"x","messageId":"m"}"#,
    r#"{"messageId":"m","delta":"x"}"#,
    "[DONE]",
    "",
    "null",
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x""#,
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x"}}"#,
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\q"}"#,
    "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"\n\"}",
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":42}"#,
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m"}"#,
    r#"{"type":"TEXT_MESSAGE_CONTENT","delta":"x"}"#,
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":null,"delta":"x"}"#,
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"\ud83d","delta":"x"}"#,
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x","delta":"y"}"#,
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x","subagentRunId":null}"#,
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x","metadata":null}"#,
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x","metadata":{"a":tru}}"#,
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x","timestamp":"now"}"#,
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x","rawEvent":{x}}"#,
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x","a":1,"a":1}"#,
    r#"{"type":"STATE_SNAPSHOT"}"#,
    r#"{"type":"STATE_DELTA","delta":{}}"#,
    r#"{"type":"STATE_DELTA","delta":[{"op":"remove"}]}"#,
    r#"{"type":"STATE_DELTA","delta":[],"metadata":{}}"#,
    r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"t","content":[]}"#,
    r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"t","content":{},"replace":0}"#,
    r#"{"type":"ACTIVITY_DELTA","activityType":"t","patch":[]}"#,
];

#[test]
fn what_is_held_leaves_before_a_barrier_and_the_next_delta_at_once() {
    for barrier in BARRIERS {
        let list = ["a", "b", "c"].map(|delta| text("m", delta));
        let list = [&list[0], &list[1], &list[2], *barrier, &list[0], &list[1]].map(|text| (0, text));
        let stream = played(every(50), &list);
        assert_eq!(stream.texts(), [&*text("m", "a"), &text("m", "bc"), barrier, &text("m", "a")], "{barrier}");
    }
}

#[test]
fn an_event_that_was_named_an_error_is_not_merged() {
    let mut stream = Stream::with(every(50));
    stream.event(&text("m", "a"));
    let error = Event::made(text("m", "b")).named_error();
    stream.pipeline.event(error, stream.start, &mut stream.sink);
    assert!(stream.sink.events.first().unwrap().is_named_error());
}

#[test]
fn everything_held_leaves_in_the_order_of_its_first_piece() {
    let delta = r#"{"type":"STATE_DELTA","delta":[]}"#;
    let mut list = vec![text("a", "1"), text("b", "1"), delta.to_owned()];
    list.extend([text("b", "2"), delta.to_owned(), text("a", "2"), text("b", "3"), STEP.to_owned()]);
    let stream = played(every(50), &list.iter().map(|text| (0, text)).collect::<Vec<_>>());
    assert_eq!(stream.texts()[3..], [&*text("b", "23"), delta, &text("a", "2"), STEP]);
}

#[test]
fn whatever_ends_the_stream_what_is_held_leaves_first() {
    for ending in [r#"{"type":"RUN_ERROR","message":"x"}"#, r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#] {
        let list = [text("m", "a"), text("m", "b"), text("m", "c"), ending.to_owned()].map(|text| (0, text));
        assert_eq!(played(every(500), &list).texts()[1..], [&*text("m", "bc"), ending]);
    }
    for how in [End::Closed, End::Broken, End::Stopped] {
        let mut stream = played(every(500), &[text("m", "a"), text("m", "b"), text("n", "c")].map(|text| (0, text)));
        let at = stream.start;
        stream.pipeline.end(how, at, &mut stream.sink);
        stream.take();
        assert_eq!(stream.texts(), [text("m", "a"), text("n", "c"), text("m", "b")]);
        assert_eq!(stream.pipeline.held(), 0);
    }
}

#[test]
fn raw_events_keep_their_order_and_break_no_merge() {
    let raw = |n: usize| format!(r#"{{"type":"RAW","event":{n}}}"#);
    let list = [
        (0, raw(0)),
        (0, text("m", "a")),
        (1, raw(1)),
        (2, text("m", "b")),
        (3, raw(2)),
        (4, text("m", "c")),
        (5, raw(3)),
        (60, raw(4)),
        (61, text("m", "d")),
        (62, raw(5)),
        (63, STEP.to_owned()),
    ];
    let out = sent(every(50), &list);
    let expected = [
        (0, raw(0)),
        (0, text("m", "a")),
        (1, raw(1)),
        (52, text("m", "bc")),
        (52, raw(2)),
        (52, raw(3)),
        (60, raw(4)),
        (63, text("m", "d")),
        (63, raw(5)),
        (63, STEP.to_owned()),
    ];
    assert_eq!(out, expected);
}

#[test]
fn a_raw_event_waits_for_all_that_is_held_before_it() {
    let raw = r#"{"type":"RAW","event":1}"#.to_owned();
    let (a, b) = (|delta: &str| text("a", delta), |delta: &str| text("b", delta));
    let list = [(0, a("1")), (30, b("1")), (40, b("2")), (45, a("2")), (46, raw.clone()), (200, STEP.to_owned())];
    let out = sent(every(50), &list);
    assert_eq!(out[2..], [(90, b("2")), (95, a("2")), (95, raw), (200, STEP.to_owned())]);
}

#[test]
fn past_the_limit_everything_leaves() {
    let policy = Policy { limit: 4000, ..every(50) };
    let mut stream = Stream::with(policy);
    for n in 0..200 {
        stream.event(&text(if n % 2 == 0 { "a" } else { "b" }, &"x".repeat(100)));
        assert!(stream.pipeline.held() < 6000);
    }
    stream.end();
    assert!(stream.sent.len() > 4 && stream.sent.len() < 60, "{}", stream.sent.len());
    let mut stream = Stream::with(policy);
    stream.event(&text("m", "a"));
    stream.event(&text("m", "b"));
    for n in 0..1000 {
        stream.event(&format!(r#"{{"type":"RAW","event":{n}}}"#));
        assert!(stream.pipeline.held() < 6000);
    }
}

#[test]
fn more_items_than_have_room_are_barriers() {
    let list: Vec<_> = (0..500).map(|n| (0, text(&format!("m{}", n % 100), "x"))).collect();
    let stream = played(every(50), &list);
    assert!(stream.sent.len() >= 400 && stream.pipeline.held() < 20_000);
    let long = "i".repeat(10_000);
    let stream = played(every(50), &[text(&long, "a"), text(&long, "b"), text(&long, "c")].map(|text| (0, text)));
    assert_eq!(stream.sent.len(), 3);
}
