//! Payloads that are no events of the protocol: what is made of them.
use super::*;
use crate::wire::sse;

const RAW: &str = r#"{"type":"RAW","event":1}"#;

#[test]
fn a_sentinel_and_what_is_no_event_are_nothing() {
    mends(&["[DONE]", "null", r#"{"x":1}"#], &[], &["done_sentinel", "not_an_object", "missing_type"]);
    let late = repaired(&[STARTED, FINISHED, "[DONE]"]);
    assert_eq!(late.texts, [STARTED, FINISHED]);
}

#[test]
fn unknown_types_pass_verbatim_in_every_mode() {
    let list = within(&[
        r#"{"type":"text_message_start","messageId":"m1"}"#,
        r#"{"type":"heartbeat"}"#,
        r#"{ "type" : "VENDOR" , "n":1.0 }"#,
        r#"{"type":"ERRORS"}"#,
    ]);
    for mode in [Mode::Observe, Mode::Repair, Mode::Refuse] {
        let outcome = through(mode, &list);
        assert_eq!(
            (outcome.texts, outcome.violations.len(), outcome.refused),
            (list.iter().map(|t| (*t).to_owned()).collect(), 0, None)
        );
    }
}

#[test]
fn events_of_later_versions_pass_in_protobuf_too() {
    let frame = Bytes::from_static(b"\0\0\0\x03\x82\x02\0");
    let later = || Event::unread(EventKind::Other, Some((Encoding::Protobuf, frame.clone())));
    for mode in [Mode::Observe, Mode::Repair, Mode::Refuse] {
        let outcome = run(mode, [event(STARTED), later(), event(FINISHED)]);
        assert_eq!(outcome.texts, [STARTED, "", FINISHED]);
        assert_eq!((outcome.violations, outcome.repaired, outcome.refused), (vec![], vec![], None));
    }
}

#[test]
fn glued_payloads_are_taken_apart() {
    let glued: &'static str = Box::leak(format!("{START}\n{CONTENT}{END}").into_boxed_str());
    mends(&[glued], &[START, CONTENT, END], &["glued_frames"]);
    let outcome = through(Mode::Refuse, &within(&[glued]));
    assert_eq!(outcome.refused.unwrap().fault, Fault::Malformed);
    let whole = format!("{STARTED}\n{START}\n{CONTENT}");
    let last = format!("{FINISHED}\n[DONE]");
    assert_eq!(repaired(&[&whole, END, &last]).texts, [STARTED, START, CONTENT, END, FINISHED]);
}

#[test]
fn what_is_no_number_becomes_null_and_the_rest_stays_as_it_is() {
    mends(
        &[r#"{"type":"STATE_SNAPSHOT","snapshot":{"loss":NaN,"max":Infinity, "ok":1.0}}"#],
        &[r#"{"type":"STATE_SNAPSHOT","snapshot":{"loss":null,"max":null, "ok":1.0}}"#],
        &["malformed_json"],
    );
    let outcome = through(Mode::Observe, &within(&[r#"{"type":"STATE_SNAPSHOT","snapshot":{"loss":NaN}}"#]));
    assert_eq!(outcome.violations, ["malformed_json"]);
}

#[test]
fn what_is_no_utf8_is_what_its_readers_make_of_it() {
    for payload in [
        &b"{\"type\":\"RAW\",\"event\":\"caf\xe9\"}"[..],
        b"{\"type\":\"RAW\",\"event\":{\"\xe9\":1.0}, \"x\":1}",
        b"{\"type\":\"RAW\",\"event\":\"\xf0\x9f\x8c\\n\xed\xa0\x80\"}",
        b"{\"x\":\"\xff\",\"type\":\"RAW\",\"event\":1}",
        b"{\"type\":\"VENDOR\",\"x\":\"\xff\"}",
        b"{\"type\":\"VENDOR\xff\"}",
    ] {
        let whole = [event(STARTED), Event::made(payload), event(FINISHED)];
        let outcome = run(Mode::Repair, whole.clone());
        assert_eq!((&*outcome.texts[1], outcome.texts.len()), (&*String::from_utf8_lossy(payload), 3));
        assert_eq!(outcome.repaired, ["invalid_encoding"]);
        let refused = run(Mode::Refuse, whole.clone());
        assert_eq!((refused.texts.len(), refused.refused.unwrap().fault), (1, Fault::Malformed));
        let mut pipeline = Recipe { guard: Mode::Observe, ..Recipe::default() }.build(&Peers::default());
        let mut sink = Sink::default();
        whole.into_iter().for_each(|event| pipeline.event(event, Instant::now(), &mut sink));
        assert_eq!((&sink.events[1].text()[..], sink.violations), (payload, vec!["invalid_encoding"]), "as it came");
    }
    let twice = Event::made(&b"{\"type\":\"RAW\",\"event\":[\"\xff\",NaN]}"[..]);
    let outcome = run(Mode::Repair, [event(STARTED), twice, event(FINISHED)]);
    assert_eq!(outcome.texts[1], "{\"type\":\"RAW\",\"event\":[\"\u{fffd}\",null]}");
    let garbage = run(Mode::Repair, [event(STARTED), Event::made(&b"\xff\xfe"[..])]);
    assert_eq!(garbage.refused.unwrap().rule, "malformed_json");
}

#[test]
fn a_delta_that_is_no_utf8_is_seen_among_others() {
    let content = |delta: &[u8]| {
        let head = &b"{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m1\",\"delta\":\""[..];
        Event::made([head, delta, b"\"}"].concat())
    };
    let list =
        || [event(STARTED), event(START), content(b"a"), content(b"b\xe9"), content(b"c"), event(END), event(FINISHED)];
    let outcome = run(Mode::Repair, list());
    assert_eq!(outcome.texts[3], CONTENT.replace("\"x\"", "\"b\u{fffd}\""));
    assert_eq!((outcome.texts.len(), outcome.repaired), (7, vec!["invalid_encoding"]));
    assert_eq!(run(Mode::Refuse, list()).texts.len(), 3);
    assert_eq!(run(Mode::Observe, list()).violations, ["invalid_encoding"]);
}

#[test]
fn what_nobody_can_read_ends_the_run() {
    for broken in ["oops", r#"{"type":"RAW","event":{"a":"#, "[{}]", r#"{"type":"TEXT_MESSAGE_START","messageId":5}"#] {
        let outcome = repaired(&within(&[RAW, broken, RAW]));
        assert_eq!(outcome.texts, [STARTED, RAW], "nothing follows");
        assert_eq!(outcome.refused.unwrap().fault, Fault::Malformed, "{broken}");
    }
}

#[test]
fn a_foreign_failure_is_one_run_error() {
    let error = |text: &str| {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!((value["type"].as_str(), value["code"].as_str()), (Some("RUN_ERROR"), Some("UPSTREAM_ERROR")));
        value["message"].as_str().unwrap().to_owned()
    };
    for frame in [r#"{"type":"error","errorText":"quota exceeded"}"#, r#"{"error":{"message":"quota exceeded"}}"#] {
        let outcome = repaired(&[STARTED, START, CONTENT, frame, r#"{"type":"done"}"#, CONTENT, FINISHED]);
        assert_eq!(outcome.texts[..4], [STARTED, START, CONTENT, END], "the text so far is whole");
        assert_eq!(error(&outcome.texts[4]), "quota exceeded");
        assert_eq!((outcome.texts.len(), outcome.refused), (5, None), "nothing follows");
        let first = repaired(&[frame, STARTED, FINISHED]);
        assert_eq!(first.texts[1..], [STARTED, FINISHED], "a run after it is heard");
        let late = repaired(&[STARTED, FINISHED, frame, frame]);
        assert_eq!(late.texts, [STARTED, FINISHED], "nothing is added after an end");
        assert_eq!(late.repaired, ["foreign_error"; 2]);
        let next = repaired(&[STARTED, FINISHED, frame, STARTED, frame]);
        assert_eq!((&next.texts[..3], next.texts.len()), (&[STARTED, FINISHED, STARTED].map(str::to_owned)[..], 4));
    }
    for (frame, message) in [
        (r#"{"type":"error","content":"boom"}"#, "boom"),
        (r#"{"type":"ERROR","error":{"message":"boom"}}"#, "boom"),
        (r#"{"event":"error","message":"boom"}"#, "boom"),
        (r#"{"type":"error"}"#, "The agent failed and did not say why."),
    ] {
        let outcome = repaired(&[STARTED, frame, FINISHED]);
        assert_eq!((error(&outcome.texts[1]), outcome.texts.len()), (message.to_owned(), 2), "{frame}");
    }
}

#[test]
fn words_without_a_type_are_a_failure_if_nothing_follows() {
    for frame in [r#"{"detail":"boom"}"#, r#"{"message":"boom"}"#] {
        let goes_on = repaired(&[STARTED, frame, START, frame, frame, END, FINISHED, frame]);
        assert_eq!(goes_on.texts, [STARTED, START, END, FINISHED]);
        assert_eq!(goes_on.repaired, ["foreign_error"; 4]);
        let before = repaired(&[frame, STARTED, FINISHED]);
        assert_eq!(before.texts, [STARTED, FINISHED]);
        for list in [&[frame][..], &[STARTED, START, frame], &[STARTED, START, frame, r#"{"type":"VENDOR"}"#, "[DONE]"]]
        {
            let last = repaired(list);
            let text = last.texts.last().unwrap();
            assert!(text.contains("boom") && text.contains("UPSTREAM_ERROR"), "{text}");
            assert!(last.repaired.contains(&"foreign_error"));
        }
    }
    let mut pipeline = Recipe { guard: Mode::Repair, ..Recipe::default() }.build(&Peers::default());
    let mut sink = Sink::default();
    pipeline.event(event(r#"{"detail":"boom"}"#), Instant::now(), &mut sink);
    assert!(pipeline.holds_an_end() && sink.events.is_empty());
}

#[test]
fn a_failure_in_the_protocols_form_gets_the_message_that_it_says_elsewhere() {
    for (error, message) in [
        (r#"{"type":"RUN_ERROR","error":"boom"}"#, r#"{"type":"RUN_ERROR","error":"boom","message":"boom"}"#),
        (
            r#"{"type":"RUN_ERROR","message":null,"detail":"boom"}"#,
            r#"{"type":"RUN_ERROR","detail":"boom","message":"boom"}"#,
        ),
        (
            r#"{"type":"RUN_ERROR","content":{"text":"boom"}}"#,
            r#"{"type":"RUN_ERROR","content":{"text":"boom"},"message":"boom"}"#,
        ),
        (r#"{"type":"RUN_ERROR","message":{"error":"boom"}}"#, r#"{"type":"RUN_ERROR","message":"boom"}"#),
        (r#"{"type":"RUN_ERROR","message":5}"#, r#"{"type":"RUN_ERROR","message":"5"}"#),
    ] {
        let outcome = repaired(&[STARTED, error, FINISHED]);
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!((value(&outcome.texts[1]), outcome.texts.len()), (value(message), 2));
    }
    let silent = repaired(&[STARTED, r#"{"type":"RUN_ERROR","code":"x"}"#]);
    assert!(silent.texts[1].contains("did not say why"));
    let (agent, failed) = (
        r#"{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n"}"#,
        r#"{"type":"SUBAGENT_ERROR","subagentRunId":"s","error":"boom"}"#,
    );
    let outcome = repaired(&[STARTED, agent, failed, FINISHED]);
    assert!(outcome.texts[2].contains(r#""message":"boom""#), "{:?}", outcome.texts);
}

#[test]
fn an_event_named_error_is_a_failure_whatever_it_holds() {
    let named = |text: &str| event(text).named_error();
    for (payload, message) in [
        ("quota exceeded", "quota exceeded"),
        (r#"{"type":"oops","n":1}"#, r#"{"type":"oops","n":1}"#),
        (r#"{"type":"oops","detail":"quota"}"#, "quota"),
        (r#"{"message":"quota"}"#, "quota"),
        ("", "The agent failed and did not say why."),
    ] {
        let outcome = run(Mode::Repair, [event(STARTED), named(payload), event(FINISHED)]);
        assert!(outcome.texts[1].contains(&serde_json::to_string(message).unwrap()), "{}", outcome.texts[1]);
        assert_eq!(outcome.texts.len(), 2);
    }
    let known = run(Mode::Repair, [event(STARTED), named(FAILED)]);
    assert_eq!(known.texts, [STARTED, FAILED], "what the protocol knows stays what it is");
}

#[test]
fn a_missing_blank_line_is_healed_from_the_wire_on() {
    let body = format!(
        "data: {STARTED}\ndata: {START}\ndata: {END}\n\ndata: {{\ndata: \"type\":\"RAW\",\ndata: \"event\":1}}\n\ndata: {FINISHED}\n\n"
    );
    let mut decoder = sse::Decoder::new(1 << 20);
    decoder.feed(body.into());
    let frames = std::iter::from_fn(|| decoder.next().unwrap());
    let outcome = run(Mode::Repair, frames.map(|frame| Event::new(frame.data, None)));
    assert_eq!(outcome.texts, [STARTED, START, END, "{\n\"type\":\"RAW\",\n\"event\":1}", FINISHED]);
    assert_eq!(outcome.repaired, ["glued_frames"], "one event on several lines is one event");
}

#[test]
fn an_empty_identifier_is_a_missing_one_in_protobuf_only() {
    let proto = |text: &str| {
        Event::new(Bytes::copy_from_slice(text.as_bytes()), Some((Encoding::Protobuf, Bytes::from_static(b"x"))))
    };
    let list = [
        STARTED,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"","role":"assistant"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"","delta":"x"}"#,
        r#"{"type":"TEXT_MESSAGE_END","messageId":""}"#,
        FINISHED,
    ];
    assert_eq!(through(Mode::Repair, &list).texts, list);
    let outcome = run(Mode::Repair, list.map(proto));
    assert_eq!(outcome.texts[1], r#"{"type":"TEXT_MESSAGE_START","messageId":"r-message-1","role":"assistant"}"#);
    assert_eq!(outcome.texts[3], r#"{"type":"TEXT_MESSAGE_END","messageId":"r-message-1"}"#);
    assert_eq!((outcome.texts.len(), outcome.repaired.len()), (5, 3));
}
