//! What each shape of an older agent becomes, and what is left alone.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::time::Instant;

use proptest::prelude::*;

use super::*;
use crate::pipeline::{Converted, Peers, Recipe, Sink};

fn through(recipe: &Recipe, peers: &Peers, list: &[&str]) -> Sink {
    let mut pipeline = recipe.build(peers);
    let (mut sink, at) = (Sink::default(), Instant::now());
    for text in list {
        pipeline.event(Event::made((*text).to_owned()), at, &mut sink);
    }
    pipeline.end(End::Closed, at, &mut sink);
    sink
}

fn texts(sink: &Sink) -> Vec<String> {
    sink.events.iter().map(|event| String::from_utf8(event.text().to_vec()).unwrap()).collect()
}

const STARTED: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#;
const FINISHED: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#;

/// What the events of a run become, and the losses that are named.
fn run(list: &[&str]) -> (Vec<String>, Vec<Loss>) {
    let old = Peers { agent: Version::npm(44), ..Peers::default() };
    let sink = through(&Recipe::default(), &old, &[&[STARTED], list].concat());
    let always =
        through(&Recipe { upgrade: true, ..Recipe::default() }, &Peers::default(), &[&[STARTED], list].concat());
    assert_eq!(texts(&sink), texts(&always));
    assert!(sink.converted.iter().all(|converted| converted.way == Way::Up));
    (texts(&sink).split_off(1), sink.converted.iter().map(|converted| converted.loss).collect())
}

/// One event, and what it becomes with what loss; `None` if it is not named.
fn becomes(before: &str, after: &[&str], loss: Option<Loss>) {
    let (events, losses) = run(&[before]);
    assert_eq!(events, after, "{before}");
    assert_eq!(losses, Vec::from_iter(loss), "{before}");
}

fn stays(text: &str) {
    becomes(text, &[text], None);
}

#[test]
fn a_run_that_declares_a_current_version_is_left_alone() {
    let odd = r#"{"type":"CUSTOM","name":"n","timestamp":1.5}"#;
    let modern = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}"#;
    let old = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"0.0.44"}"#;
    let list = [odd, modern, odd, FINISHED, old, odd, FINISHED, "[DONE]"];
    let peers = Peers { agent: Version::npm(44), ..Peers::default() };
    let changed = r#"{"type":"CUSTOM","name":"n","timestamp":2,"value":null}"#;
    let renewed = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.1"}"#;
    let sink = through(&Recipe::default(), &peers, &list);
    assert_eq!(texts(&sink), [changed, modern, odd, FINISHED, renewed, changed, FINISHED]);
    let sink = through(&Recipe { upgrade: true, ..Recipe::default() }, &Peers::default(), &list);
    assert_eq!(texts(&sink), [changed, modern, changed, FINISHED, renewed, changed, FINISHED]);
    let sink = through(&Recipe::default(), &Peers::default(), &list);
    assert_eq!(texts(&sink), list);
}

#[test]
fn what_nothing_has_to_change_keeps_its_bytes() {
    for text in [
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"null \"timestamp\"","timestamp":1}"#,
        r#"{"type":"STATE_SNAPSHOT","snapshot":{"a":null,"timestamp":1.5}}"#,
        r#"{"type":"CUSTOM","name":"on_interrupt","value":null}"#,
        r#"{"type":"RAW","event":{"timestamp":null,"type":"THINKING_START"}}"#,
        r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"p","content":{"name":null}}"#,
        r#"{"type":"META_EVENT","timestamp":1.5,"x":null}"#,
        r#"{"type":"TEXT_MESSAGE_START","messageId":null,"role":7}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":null}"#,
        r#"{"type":"CUSTOM","name":"n","timestamp":1.5"#,
        "no JSON",
    ] {
        stays(text);
    }
}

#[test]
fn payloads_that_are_no_event_go() {
    for text in ["[DONE]", " [DONE] ", "", " ", "null"] {
        becomes(text, &[], Some(Loss::None));
    }
}

#[test]
fn nulls_go_where_a_member_is_optional_and_nowhere_else() {
    for (before, after) in [
        (
            r#"{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"f","parentMessageId":null,"timestamp":null,"rawEvent":null}"#,
            r#"{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"f"}"#,
        ),
        (r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":null,"outcome":null,"usage":null}"#, FINISHED),
        (
            r#"{"type":"RUN_FINISHED","result":{"x":null},"outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"q","message":null,"metadata":{"x":null}}]},"usage":[{"model":null,"inputTokens":1}]}"#,
            r#"{"type":"RUN_FINISHED","result":{"x":null},"outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"q","metadata":{"x":null}}]},"usage":[{"inputTokens":1}]}"#,
        ),
        (
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"assistant","content":null,"toolCalls":null,"name":null},{"id":"u","role":"user","content":null,"metadata":{"x":null}},{"id":"v","role":"user","content":[{"type":"image","source":{"type":"url","value":"u","mimeType":null},"metadata":null}]},{"id":"x","role":"activity","activityType":"p","content":{"name":null}}]}"#,
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"assistant"},{"id":"u","role":"user","content":null,"metadata":{"x":null}},{"id":"v","role":"user","content":[{"type":"image","source":{"type":"url","value":"u"}}]},{"id":"x","role":"activity","activityType":"p","content":{"name":null}}]}"#,
        ),
        (
            r#"{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n","parentToolCallId":null}"#,
            r#"{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n"}"#,
        ),
        (
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":null,"subagentRunId":null}"#,
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m"}"#,
        ),
        (
            r#"{"type":"CUSTOM","name":"n","value":null,"metadata":null}"#,
            r#"{"type":"CUSTOM","name":"n","value":null}"#,
        ),
    ] {
        becomes(before, &[after], Some(Loss::None));
    }
    let (events, _) = run(&[
        FINISHED,
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","parentRunId":null,"input":{"threadId":"t","state":null,"forwardedProps":{"x":null},"tools":[{"name":"n","parameters":null}],"messages":[{"id":"a","role":"assistant","content":null}]}}"#,
    ]);
    assert_eq!(
        events[1],
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","forwardedProps":{"x":null},"tools":[{"name":"n"}],"messages":[{"id":"a","role":"assistant"}]}}"#
    );
}

#[test]
fn timestamps_are_whole_milliseconds_or_none() {
    let event = |value: &str| format!(r#"{{"type":"STEP_STARTED","stepName":"s","timestamp":{value}}}"#);
    becomes(&event("1700000000000.4"), &[&event("1700000000000")], Some(Loss::None));
    becomes(&event(r#""2025-01-31T23:59:59.5+00:00""#), &[&event("1738367999500")], Some(Loss::None));
    let none = r#"{"type":"STEP_STARTED","stepName":"s"}"#;
    becomes(&event(r#""2025-01-31T23:59:59""#), &[none], Some(Loss::Part("timestamp")));
    becomes(&event("{}"), &[none], Some(Loss::Part("timestamp")));
    stays(&event("1700000000000"));
}

#[test]
fn payloads_that_were_nothing_say_so() {
    let custom = r#"{"type":"CUSTOM","name":"n","value":null}"#;
    becomes(r#"{"type":"CUSTOM","name":"n"}"#, &[custom], Some(Loss::None));
    becomes(r#"{"type":"RAW"}"#, &[r#"{"type":"RAW","event":null}"#], Some(Loss::None));
    becomes(r#"{"type":"STATE_SNAPSHOT"}"#, &[], Some(Loss::None));
    stays(r#"{"type":"STATE_SNAPSHOT","snapshot":null}"#);
}

#[test]
fn a_patch_with_an_operation_that_is_none_goes_whole() {
    let good =
        r#"{"op":"add","path":"/a","value":null},{"op":"remove","path":""},{"op":"move","from":"/~1","path":"/b"}"#;
    stays(&format!(r#"{{"type":"STATE_DELTA","delta":[{good}]}}"#));
    stays(r#"{"type":"STATE_DELTA","delta":[]}"#);
    stays(r#"{"type":"STATE_DELTA","delta":"x"}"#);
    for bad in [
        r#"{"op":"add","path":"b","value":2}"#,
        r#"{"op":"add","path":"/b"}"#,
        r#"{"op":"add","path":"/~2","value":1}"#,
        r#"{"op":"merge","path":"/a","value":2}"#,
        r#"{"op":"copy","path":"/a"}"#,
        r#"{"op":"move","path":"/a","from":"a"}"#,
        r#"{"path":"/a"}"#,
        "1",
    ] {
        let loss = Some(Loss::Whole("patch"));
        becomes(&format!(r#"{{"type":"STATE_DELTA","delta":[{good},{bad}]}}"#), &[], loss);
        becomes(
            &format!(r#"{{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"p","patch":[{bad}]}}"#),
            &[],
            loss,
        );
    }
}

#[test]
fn roles_are_those_of_today() {
    let start = |role: &str| format!(r#"{{"type":"TEXT_MESSAGE_START","messageId":"m","role":"{role}"}}"#);
    becomes(&start("tool"), &[&start("assistant")], Some(Loss::Part("role")));
    stays(&start("developer"));
    stays(r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m"}"#);
    becomes(
        r#"{"type":"REASONING_MESSAGE_START","messageId":"m","role":"assistant"}"#,
        &[r#"{"type":"REASONING_MESSAGE_START","messageId":"m","role":"reasoning"}"#],
        Some(Loss::None),
    );
}

#[test]
fn outcomes_are_objects_that_say_something() {
    let end = |outcome: &str| format!(r#"{{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{outcome}}}"#);
    becomes(&end("\"success\""), &[&end(r#"{"type":"success"}"#)], Some(Loss::None));
    becomes(&end("\"interrupt\""), &[FINISHED], Some(Loss::Part("outcome")));
    becomes(&end(r#"{"type":"interrupt","interrupts":[]}"#), &[FINISHED], Some(Loss::Part("outcome")));
    becomes(&end(r#"{"type":"interrupt"}"#), &[FINISHED], Some(Loss::Part("outcome")));
    stays(&end(r#"{"type":"interrupt","interrupts":[{"id":"i","reason":"q"}]}"#));
    stays(&end(r#"{"type":"paused"}"#));
}

#[test]
fn usage_keeps_its_counts() {
    let end = |usage: &str| format!(r#"{{"type":"RUN_FINISHED","usage":{usage}}}"#);
    let loss = Some(Loss::Part("usage"));
    becomes(
        &end(r#"[{"model":"m","inputTokens":1.5,"outputTokens":2}]"#),
        &[&end(r#"[{"model":"m","outputTokens":2}]"#)],
        loss,
    );
    becomes(&end(r#"[{"totalTokens":-1},7]"#), &[&end("[{}]")], loss);
    becomes(&end(r#"{"inputTokens":1}"#), &[r#"{"type":"RUN_FINISHED"}"#], loss);
    stays(&end(r#"[{"inputTokens":1}]"#));
}

#[test]
fn binary_parts_become_the_media_that_they_are() {
    let snapshot = |parts: &str| {
        format!(r#"{{"type":"MESSAGES_SNAPSHOT","messages":[{{"id":"u","role":"user","content":[{parts}]}}]}}"#)
    };
    let text = r#"{"type":"text","text":"binary"}"#;
    becomes(
        &snapshot(&format!(
            r#"{text},{{"type":"binary","mimeType":"image/png","data":"AA==","url":"x","filename":"f"}}"#
        )),
        &[&snapshot(&format!(
            r#"{text},{{"type":"image","source":{{"type":"data","value":"AA==","mimeType":"image/png"}},"metadata":{{"filename":"f"}}}}"#
        ))],
        Some(Loss::None),
    );
    let document = r#"{"type":"document","source":{"type":"url","value":"x","mimeType":"text/plain"}}"#;
    let binary = r#"{"type":"binary","mimeType":"text/plain","url":"x"}"#;
    becomes(&snapshot(binary), &[&snapshot(document)], Some(Loss::None));
    becomes(&snapshot(&format!("{document},{binary}")), &[&snapshot(document)], Some(Loss::None));
    becomes(
        &snapshot(r#"{"type":"binary","mimeType":"image/png","id":"i"}"#),
        &[&snapshot("")],
        Some(Loss::Part("binary_part")),
    );
}

#[test]
fn nothing_follows_the_end_but_another_run_or_one_error() {
    let (error, custom) = (r#"{"type":"RUN_ERROR","message":"m"}"#, r#"{"type":"CUSTOM","name":"n","value":1}"#);
    let (events, losses) = run(&[FINISHED, custom, error, error, FINISHED, "{}", STARTED, custom, error, FINISHED]);
    assert_eq!(events, [FINISHED, error, STARTED, custom, error]);
    assert_eq!(losses, [Loss::Whole("after_end"); 5]);
}

/// The events of a stream in short: what they are, and their identifier or text.
fn short(list: &[String]) -> Vec<String> {
    let value = |text: &String| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let short = |event: serde_json::Value| {
        let name = event["type"].as_str().unwrap().replace("REASONING_MESSAGE_", "M_").replace("REASONING_", "S_");
        let id = event["messageId"].as_str().unwrap_or("-").replace("r-reasoning-", "#");
        format!("{name} {id}{}", event["delta"].as_str().map(|delta| format!(" {delta}")).unwrap_or_default())
    };
    list.iter().map(|text| short(value(text))).collect()
}

const OPEN: &str = r#"{"type":"THINKING_START"}"#;
const CLOSE: &str = r#"{"type":"THINKING_END"}"#;
const BEGIN: &str = r#"{"type":"THINKING_TEXT_MESSAGE_START"}"#;
const SAY: &str = r#"{"type":"THINKING_TEXT_MESSAGE_CONTENT","delta":"hm"}"#;
const STOP: &str = r#"{"type":"THINKING_TEXT_MESSAGE_END"}"#;
const TEXT: &str = r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#;

#[test]
fn a_block_of_thinking_is_a_span_with_its_messages() {
    let once = ["S_START #1", "M_START #1", "M_CONTENT #1 hm", "M_END #1", "S_END #1"];
    let again = once.map(|text| text.replace("#1", "#2"));
    let end = ["RUN_FINISHED -"];
    for (list, expected) in [
        (vec![OPEN, BEGIN, SAY, STOP, CLOSE, FINISHED], [&once[..], &end].concat()),
        (vec![BEGIN, SAY, STOP, FINISHED], [&once[..], &end].concat()),
        (vec![SAY, FINISHED], [&once[..], &end].concat()),
        (vec![OPEN, SAY, FINISHED], [&once[..], &end].concat()),
        (vec![OPEN, BEGIN, SAY, CLOSE, STOP, CLOSE, FINISHED], [&once[..], &end].concat()),
        (vec![OPEN, BEGIN, SAY, TEXT, FINISHED], [&once[..3], &["TEXT_MESSAGE_START m"], &once[3..], &end].concat()),
        (vec![OPEN, CLOSE], vec!["S_START #1", "S_END #1"]),
        (vec![STOP, CLOSE], vec![]),
        (vec![OPEN, SAY, r#"{"type":"RUN_ERROR","message":"m"}"#], [&once[..3], &["RUN_ERROR -"]].concat()),
        (
            vec![OPEN, BEGIN, SAY, STOP, BEGIN, SAY, STOP, CLOSE],
            [&once[..4], &["M_START #2", "M_CONTENT #2 hm", "M_END #2"], &once[4..]].concat(),
        ),
    ] {
        assert_eq!(short(&run(&list).0), expected, "{list:?}");
    }
    for list in [
        vec![OPEN, BEGIN, SAY, STOP, CLOSE, OPEN, BEGIN, SAY, STOP, CLOSE],
        vec![OPEN, BEGIN, SAY, OPEN, BEGIN, SAY, STOP, CLOSE],
        vec![BEGIN, SAY, STOP, BEGIN, SAY, STOP],
        vec![BEGIN, SAY, BEGIN, SAY, STOP],
    ] {
        let both: Vec<_> = once.iter().map(|text| (*text).to_owned()).chain(again.clone()).collect();
        assert_eq!(short(&run(&list).0), both, "{list:?}");
    }
}

#[test]
fn thinking_keeps_what_else_it_says() {
    let (events, losses) = run(&[
        r#"{"title":"A \"plan\"","type":"THINKING_START","timestamp":5,"metadata":{"a":1}}"#,
        r#"{"type":"THINKING_TEXT_MESSAGE_START","rawEvent":{"n":1.0}}"#,
        r#"{"delta":"\u00e9","type":"THINKING_TEXT_MESSAGE_CONTENT"}"#,
    ]);
    assert_eq!(
        events,
        [
            r#"{"type":"REASONING_START","messageId":"r-reasoning-1","timestamp":5,"metadata":{"a":1,"tidegate.title":"A \"plan\""}}"#,
            r#"{"type":"REASONING_MESSAGE_START","messageId":"r-reasoning-1","role":"reasoning","rawEvent":{"n":1.0}}"#,
            r#"{"delta":"\u00e9","type":"REASONING_MESSAGE_CONTENT","messageId":"r-reasoning-1"}"#,
        ]
    );
    assert_eq!(losses, [Loss::None; 3]);
}

#[test]
fn thinking_of_two_agents_is_kept_apart() {
    let tagged = |text: &str| text.replace("\"}", "\",\"subagentRunId\":\"s\"}");
    let (begin, say) = (tagged(BEGIN), tagged(SAY));
    let gone = r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"s"}"#;
    let (events, _) = run(&[BEGIN, &begin, SAY, &say, gone, STOP]);
    let expected = [
        "S_START #1",
        "M_START #1",
        "S_START #2",
        "M_START #2",
        "M_CONTENT #1 hm",
        "M_CONTENT #2 hm",
        "M_END #2",
        "S_END #2",
        "SUBAGENT_FINISHED -",
        "M_END #1",
        "S_END #1",
    ];
    assert_eq!(short(&events), expected);
    assert!(events[2].contains(r#""subagentRunId":"s""#) && events[7].contains(r#""subagentRunId":"s""#));
}

#[test]
fn identifiers_are_made_of_the_run() {
    let id = |started: &str| {
        let sink = through(&Recipe { upgrade: true, ..Recipe::default() }, &Peers::default(), &[started, OPEN]);
        sink.events[1].string("messageId").unwrap().into_owned()
    };
    let long = "x".repeat(200);
    let starts = [
        STARTED.to_owned(),
        STARTED.replace("\"r\"", "\"r2\""),
        STARTED.replace("\"r\"", &format!("\"{long}\"")),
        STARTED.replace("\"r\"", &format!("\"{long}y\"")),
        STARTED.replace("\"runId\":\"r\"", "\"x\":1"),
    ];
    let ids: Vec<_> = starts.iter().map(|start| id(start)).collect();
    for (n, one) in ids.iter().enumerate() {
        assert!(one.len() < 160 && !ids[n + 1..].contains(one), "{ids:?}");
        assert_eq!(*one, id(&starts[n]));
    }
}

#[test]
fn reasoning_is_opened_and_closed() {
    let event =
        |name: &str| format!(r#"{{"type":"REASONING_{name}","messageId":"q","delta":"hm","role":"reasoning"}}"#);
    let [open, close, begin, say, stop] =
        ["START", "END", "MESSAGE_START", "MESSAGE_CONTENT", "MESSAGE_END"].map(event);
    let check = |list: &[&String], expected: &str| {
        let list: Vec<_> = list.iter().map(|text| text.as_str()).chain([FINISHED]).collect();
        let out: Vec<_> = short(&run(&list).0).iter().map(|text| text.replace(" q", "").replace(" hm", "")).collect();
        assert_eq!(out.join(" "), format!("{expected} RUN_FINISHED -"), "{list:?}");
    };
    check(&[&open, &begin, &say, &stop, &close], "S_START M_START M_CONTENT M_END S_END");
    check(&[&open, &begin, &say], "S_START M_START M_CONTENT M_END S_END");
    check(&[&say], "M_START M_CONTENT M_END");
    check(&[&begin, &say, &stop], "M_START M_CONTENT M_END");
    check(&[&begin, &say, &begin, &say, &stop, &stop, &close], "M_START M_CONTENT M_END M_START M_CONTENT M_END");
}

#[test]
fn each_conversion_is_named_with_its_kind() {
    let sink = through(&Recipe { upgrade: true, ..Recipe::default() }, &Peers::default(), &[STARTED, "[DONE]", OPEN]);
    let named = |kind| Converted { way: Way::Up, kind, loss: Loss::None };
    assert_eq!(sink.converted, [named(EventKind::Other), named(EventKind::ThinkingStart)]);
}

/// Whether a stream in short form opens before it closes, closes before the run ends, and never twice.
fn is_bracketed(list: &[String]) -> bool {
    let mut open: Vec<(bool, &str)> = Vec::new();
    list.iter().all(|text| {
        let mut words = text.split(' ');
        let (name, id) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let part = (name.starts_with("S_"), id);
        let was_open = open.contains(&part);
        match name {
            "S_START" | "M_START" => open.push(part),
            "S_END" | "M_END" => open.retain(|other| *other != part),
            _ => {}
        }
        match name {
            "S_START" | "M_START" => !was_open,
            "S_END" | "M_END" | "M_CONTENT" => was_open,
            "RUN_FINISHED" => open.is_empty(),
            _ => true,
        }
    })
}

proptest! {
    #[test]
    fn however_reasoning_comes_it_is_bracketed_and_whole(steps in prop::collection::vec(0..12usize, 0..40)) {
        let native = |name: &str| format!(r#"{{"type":"REASONING_{name}","messageId":"q","delta":"hm","role":"assistant"}}"#);
        let natives = ["START", "END", "MESSAGE_START", "MESSAGE_CONTENT", "MESSAGE_END"].map(native);
        let mut all: Vec<&str> = vec![OPEN, CLOSE, BEGIN, SAY, STOP, TEXT, FINISHED];
        all.extend(natives.iter().map(String::as_str));
        let mut list: Vec<&str> = Vec::new();
        for step in steps {
            list.push(all[step]);
            if all[step] == FINISHED {
                list.push(STARTED);
            }
        }
        list.push(FINISHED);
        let (events, _) = run(&list);
        let out = short(&events);
        prop_assert!(is_bracketed(&out), "{out:?}");
        let said = list.iter().filter(|text| text.contains("CONTENT")).count();
        prop_assert_eq!(out.iter().filter(|text| text.starts_with("M_CONTENT")).count(), said);
    }
}
