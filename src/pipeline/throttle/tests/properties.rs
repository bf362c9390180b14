//! Any stream, any times, any policy: a client has the same at every barrier, and nothing waits for longer than it may.
use proptest::{prelude::*, sample::select};

use super::{reducer::at_barriers, *};

/// What happens to a stream.
#[derive(Clone, Debug)]
enum Step {
    Event(String),
    Slow(bool),
    Wait(u64),
}

fn rest() -> impl Strategy<Value = &'static str> {
    select(vec![
        "",
        "",
        "",
        "",
        r#","subagentRunId":"s""#,
        r#","timestamp":1"#,
        r#","rawEvent":{"x":[1]}"#,
        r#","metadata":{"k":1}"#,
        r#","metadata":{"k":2.0,"l":null}"#,
        r#","x":1"#,
    ])
}

fn delta() -> impl Strategy<Value = &'static str> {
    select(vec!["", "a", "bc", "é", r"\n", r"\u00e9", r"\ud83d", r"\ude00", r#"{\"k\":"#, " ", "longer than most"])
}

fn any_delta() -> impl Strategy<Value = String> {
    let kinds = vec![
        ("TEXT_MESSAGE_CONTENT", "messageId"),
        ("TEXT_MESSAGE_CONTENT", "messageId"),
        ("REASONING_MESSAGE_CONTENT", "messageId"),
        ("TOOL_CALL_ARGS", "toolCallId"),
        ("THINKING_TEXT_MESSAGE_CONTENT", "x"),
    ];
    (select(kinds), select(vec!["a", "b", r"\u0061"]), delta(), rest()).prop_map(|((kind, name), id, delta, rest)| {
        format!(r#"{{"type":"{kind}","{name}":"{id}","delta":"{delta}"{rest}}}"#)
    })
}

fn any_chunk() -> impl Strategy<Value = String> {
    let openers = select(vec!["", "", "", r#","role":"assistant""#, r#","role":"user""#, r#","toolCallName":"f""#]);
    let kinds = vec![
        ("TEXT_MESSAGE_CHUNK", "messageId"),
        ("TEXT_MESSAGE_CHUNK", "messageId"),
        ("REASONING_MESSAGE_CHUNK", "messageId"),
        ("TOOL_CALL_CHUNK", "toolCallId"),
    ];
    (select(kinds), select(vec!["", "", "", "a", "b"]), delta(), rest(), openers).prop_map(
        |((kind, name), id, delta, rest, opener)| {
            let id = if id.is_empty() { String::new() } else { format!(r#","{name}":"{id}""#) };
            format!(r#"{{"type":"{kind}"{id}{opener},"delta":"{delta}"{rest}}}"#)
        },
    )
}

fn any_patch() -> impl Strategy<Value = String> {
    let operations = select(vec![
        r#"{"op":"replace","path":"/a","value":1}"#,
        r#"{"op":"add","path":"/a","value":2.5}"#,
        r#"{"op":"remove","path":"/a"}"#,
        r#"{"op":"test","path":"/a","value":1}"#,
        r#"{"op":"add","path":"/l/-","value":"x"}"#,
        r#"{"op":"add","path":"","value":{"l":[]}}"#,
        r#"{"op":"move","from":"/a","path":"/b"}"#,
    ]);
    prop::collection::vec(operations, 0..3).prop_map(|list| format!("[{}]", list.join(", ")))
}

fn any_value() -> impl Strategy<Value = &'static str> {
    select(vec![r#"{"a":1,"l":[]}"#, "{}", r#"{"a":0}"#, r#"{ "a" : 1 }"#])
}

fn any_change() -> impl Strategy<Value = String> {
    let rest = || select(vec!["", "", "", "", r#","subagentRunId":"s""#, r#","rawEvent":1"#, r#","metadata":{}"#]);
    let replace = select(vec!["", "", r#","replace":false"#, r#","replace":true"#]);
    let class = || select(vec!["t", "t", "u"]);
    let id = || select(vec!["v", "v", "w"]);
    prop_oneof![
        (any_value(), rest()).prop_map(|(value, rest)| format!(r#"{{"type":"STATE_SNAPSHOT","snapshot":{value}{rest}}}"#)),
        (any_patch(), rest()).prop_map(|(patch, rest)| format!(r#"{{"type":"STATE_DELTA","delta":{patch}{rest}}}"#)),
        (id(), class(), any_value(), replace, rest()).prop_map(|(id, class, value, replace, rest)| format!(
            r#"{{"type":"ACTIVITY_SNAPSHOT","messageId":"{id}","activityType":"{class}","content":{value}{replace}{rest}}}"#
        )),
        (id(), class(), any_patch(), rest()).prop_map(|(id, class, patch, rest)| format!(
            r#"{{"type":"ACTIVITY_DELTA","messageId":"{id}","activityType":"{class}","patch":{patch}{rest}}}"#
        )),
    ]
}

fn any_other() -> impl Strategy<Value = String> {
    select(vec![
        STEP,
        START,
        END,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"a","role":"assistant","subagentRunId":"s"}"#,
        r#"{"type":"CUSTOM","name":"x","value":1}"#,
        r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#,
        r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"s"}"#,
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
        r#"{"type":"NEWER"}"#,
        "[DONE]",
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":1}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"\q"}"#,
        r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":null,"delta":"x"}"#,
        r#"{"type":"TEXT_MESSAGE_CHUNK","metadata":{"k":3}}"#,
        r#"{"type":"STATE_DELTA","delta":[{"op":"remove"}]}"#,
    ])
    .prop_map(str::to_owned)
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => any_delta().prop_map(Step::Event),
        6 => any_chunk().prop_map(Step::Event),
        6 => any_change().prop_map(Step::Event),
        2 => any_other().prop_map(Step::Event),
        2 => (0..9u8).prop_map(|n| Step::Event(format!(r#"{{"type":"RAW","event":{n}}}"#))),
        1 => any::<bool>().prop_map(Step::Slow),
        8 => (1..40u64).prop_map(Step::Wait),
    ]
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let windows = select(vec![0, 20, 50]);
    let slow = select(vec![SlowClient::Merge, SlowClient::Wait]);
    (windows, select(vec![1, 4, usize::MAX]), slow, any::<bool>(), select(vec![1500, 1 << 20])).prop_map(
        |(ms, max_chars, slow_client, keep_raw_event, limit)| Policy {
            max_chars,
            slow_client,
            keep_raw_event,
            limit,
            ..every(ms)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_client_has_the_same_at_every_barrier(policy in any_policy(), steps in prop::collection::vec(any_step(), 0..60)) {
        let mut stream = Stream::with(policy);
        let mut came = Vec::new();
        for step in &steps {
            match step {
                Step::Event(text) => {
                    came.push(&**text);
                    stream.event(text);
                }
                Step::Slow(slow) => stream.slow(*slow),
                Step::Wait(ms) => stream.until(stream.now + ms),
            }
        }
        stream.end();
        prop_assert_eq!(at_barriers(stream.texts()), at_barriers(came.iter().copied()), "{:#?}", stream.texts());
        prop_assert_eq!(stream.sent.len() + stream.sink.merged.len(), came.len());
        let raw_events = |texts: &[&str]| texts.iter().filter(|text| text.contains("rawEvent")).count();
        prop_assert_eq!(raw_events(&stream.texts()) + stream.sink.dropped.len(), raw_events(&came));
        for text in stream.texts() {
            let whole = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
            prop_assert!(whole || came.contains(&text));
        }
    }

    #[test]
    fn nothing_waits_longer_than_a_window_and_no_item_leaves_twice_in_one(
        ms in 1..60u64,
        steps in prop::collection::vec((0..30u64, 0..10usize), 1..80),
    ) {
        let mut stream = Stream::with(every(ms));
        let (mut came, mut now) = (Vec::new(), 0);
        for (gap, what) in steps {
            now += gap;
            stream.until(now);
            came.push(now);
            let n = came.len() - 1;
            match what {
                0 => stream.event(&format!(r#"{{"type":"STEP_STARTED","stepName":"{n};"}}"#)),
                1 => stream.event(&format!(r#"{{"type":"RAW","event":"{n};"}}"#)),
                _ => stream.event(&text(&format!("m{}", what % 3), &format!("{n};"))),
            }
        }
        stream.until(now + ms);
        prop_assert!(stream.pipeline.deadline().is_none());
        let mut since: [Option<u64>; 3] = [None; 3];
        let mut left = 0;
        for (at, text) in &stream.sent {
            let event = Event::made(text.clone());
            let name = ["delta", "stepName", "event"].into_iter().find_map(|name| event.string(name)).unwrap();
            for n in name.split_terminator(';') {
                left += 1;
                prop_assert!(at - came[n.parse::<usize>().unwrap()] <= ms);
            }
            match event.kind() {
                EventKind::StepStarted => since = [None; 3],
                EventKind::TextMessageContent => {
                    let item: usize = event.string("messageId").unwrap()[1..].parse().unwrap();
                    let ended = stream.sent.iter().any(|(then, text)| then == at && text.contains("STEP"));
                    prop_assert!(ended || since[item].is_none_or(|before| at - before >= ms), "{:?}", stream.sent);
                    since[item] = Some(*at);
                }
                _ => {}
            }
        }
        prop_assert_eq!(left, came.len());
    }
}
