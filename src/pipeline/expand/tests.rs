//! What chunks become, what closes them, and that nothing gets lost on the way.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{End, Peers, Recipe, Sink};
use super::*;

fn expanded(list: &[String]) -> Vec<String> {
    let mut pipeline = Recipe { expand: true, ..Recipe::default() }.build(&Peers::default());
    let (mut sink, at) = (Sink::default(), Instant::now());
    for text in list {
        pipeline.event(Event::made(text.clone()), at, &mut sink);
    }
    pipeline.end(End::Closed, at, &mut sink);
    assert_eq!(pipeline.held(), 0);
    sink.events.iter().map(|event| String::from_utf8(event.text().to_vec()).unwrap()).collect()
}

fn check(list: &[&str], expected: &[&str]) {
    let list: Vec<_> = list.iter().map(|text| (*text).to_owned()).collect();
    assert_eq!(expanded(&list), expected);
}

#[test]
fn each_kind_becomes_its_triad() {
    check(
        &[
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","role":"developer","name":"bot","delta":"The "}"#,
            r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"sky"}"#,
            r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c1","toolCallName":"f","parentMessageId":"m1","delta":"{"}"#,
            r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c1","delta":"}"}"#,
            r#"{"type":"REASONING_MESSAGE_CHUNK","messageId":"k1","delta":"hm"}"#,
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m2"}"#,
            r#"{"type":"RUN_FINISHED"}"#,
        ],
        &[
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"developer","name":"bot"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"The "}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"sky"}"#,
            r#"{"type":"TEXT_MESSAGE_END","messageId":"m1"}"#,
            r#"{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"f","parentMessageId":"m1"}"#,
            r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{"}"#,
            r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"}"}"#,
            r#"{"type":"TOOL_CALL_END","toolCallId":"c1"}"#,
            r#"{"type":"REASONING_MESSAGE_START","messageId":"k1","role":"reasoning"}"#,
            r#"{"type":"REASONING_MESSAGE_CONTENT","messageId":"k1","delta":"hm"}"#,
            r#"{"type":"REASONING_MESSAGE_END","messageId":"k1"}"#,
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m2","role":"assistant"}"#,
            r#"{"type":"TEXT_MESSAGE_END","messageId":"m2"}"#,
            r#"{"type":"RUN_FINISHED"}"#,
        ],
    );
}

#[test]
fn values_keep_their_spelling_and_the_timestamp_stays_behind() {
    check(
        &[
            r#"{"timestamp":1,"messageId":"\u006d1","x":1,"rawEvent":{"n":1.50},"type":"TEXT_MESSAGE_CHUNK","delta":"\ud83d","metadata":{"a":null}}"#,
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","role":"assistant","delta":"\ude00","subagentRunId":"s"}"#,
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","role":"assistant","delta":"\ude00"}"#,
        ],
        &[
            r#"{"type":"TEXT_MESSAGE_START","messageId":"\u006d1","role":"assistant","metadata":{"a":null},"rawEvent":{"n":1.50}}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"\u006d1","delta":"\ud83d"}"#,
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","role":"assistant","delta":"\ude00","subagentRunId":"s"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"\u006d1","delta":"\ude00"}"#,
            r#"{"type":"TEXT_MESSAGE_END","messageId":"\u006d1"}"#,
        ],
    );
}

#[test]
fn metadata_alone_rides_on_an_empty_delta() {
    check(
        &[
            r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"f","subagentRunId":"s"}"#,
            r#"{"type":"TOOL_CALL_CHUNK","metadata":{"u":1}}"#,
            r#"{"type":"TOOL_CALL_CHUNK","timestamp":5}"#,
        ],
        &[
            r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","subagentRunId":"s"}"#,
            r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"","subagentRunId":"s","metadata":{"u":1}}"#,
            r#"{"type":"TOOL_CALL_END","toolCallId":"c","subagentRunId":"s"}"#,
        ],
    );
}

/// A text stream, then this, then the end: what comes after the stream's two events.
fn after_text(text: &str) -> Vec<String> {
    let open = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"user","delta":"a"}"#;
    expanded(&[open.to_owned(), text.to_owned()]).split_off(2)
}

const END: &str = r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#;

#[test]
fn a_chunk_that_breaks_the_rules_goes_on_as_it_is() {
    for bad in [
        r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"assistant","delta":"b"}"#,
        r#"{"type":"TEXT_MESSAGE_CHUNK","name":"x","delta":"b"}"#,
        r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","subagentRunId":"s","delta":"b"}"#,
        r#"{"type":"TEXT_MESSAGE_CHUNK","subagentRunId":"s","delta":"b"}"#,
        r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":42}"#,
        r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"b","metadata":null}"#,
        r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"b","timestamp":1.5}"#,
        r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":7,"delta":"b"}"#,
        r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"b""#,
        r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","delta":"b"}"#,
        r#"{"type":"TOOL_CALL_CHUNK","toolCallName":"f","delta":"b"}"#,
        r#"{"type":"REASONING_MESSAGE_CHUNK","delta":"b"}"#,
    ] {
        assert_eq!(after_text(bad), [bad, END], "{bad}");
    }
    let two = [
        r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"a","subagentRunId":"s"}"#,
        r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"b","subagentRunId":"t"}"#,
        r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"whose?"}"#,
    ]
    .map(str::to_owned);
    assert_eq!(expanded(&two)[2], two[2]);
}

#[test]
fn what_closes_a_stream_and_what_stands_aside() {
    for closes in [
        r#"{"type":"TEXT_MESSAGE_START","messageId":"n"}"#,
        r#"{"type":"TOOL_CALL_RESULT","messageId":"r","toolCallId":"c"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x","subagentRunId":"s"}"#,
        r#"{"type":"STATE_DELTA","delta":[]}"#,
        r#"{"type":"STATE_SNAPSHOT","snapshot":1}"#,
        r#"{"type":"CUSTOM","name":"n","value":1}"#,
        r#"{"type":"STEP_STARTED","stepName":"s"}"#,
        r#"{"type":"REASONING_START","messageId":"k"}"#,
        r#"{"type":"THINKING_START"}"#,
        r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#,
        r#"{"type":"RUN_ERROR","message":"m"}"#,
        r#"{"type":"RUN_STARTED"}"#,
    ] {
        assert_eq!(after_text(closes), [END, closes], "{closes}");
    }
    for aside in [
        r#"{"type":"RAW","event":{}}"#,
        r#"{"type":"ACTIVITY_SNAPSHOT"}"#,
        r#"{"type":"ACTIVITY_DELTA"}"#,
        r#"{"type":"REASONING_ENCRYPTED_VALUE"}"#,
        r#"{"type":"SUBAGENT_STARTED","subagentRunId":"s"}"#,
        r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"s"}"#,
        r#"{"type":"CUSTOM","name":"n","value":1,"subagentRunId":"s"}"#,
        r#"{"type":"VENDOR"}"#,
        "[DONE]",
    ] {
        assert_eq!(after_text(aside), [aside, END], "{aside}");
    }
}

#[test]
fn an_untagged_event_of_a_subagents_item_is_in_its_owners_lane() {
    check(
        &[
            r#"{"type":"TEXT_MESSAGE_START","messageId":"e","subagentRunId":"s"}"#,
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"p"}"#,
            r#"{"type":"REASONING_MESSAGE_CHUNK","messageId":"k","subagentRunId":"s"}"#,
            r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"e"}"#,
        ],
        &[
            r#"{"type":"TEXT_MESSAGE_START","messageId":"e","subagentRunId":"s"}"#,
            r#"{"type":"TEXT_MESSAGE_START","messageId":"p","role":"assistant"}"#,
            r#"{"type":"REASONING_MESSAGE_START","messageId":"k","role":"reasoning","subagentRunId":"s"}"#,
            r#"{"type":"REASONING_MESSAGE_END","messageId":"k","subagentRunId":"s"}"#,
            r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"e"}"#,
            r#"{"type":"TEXT_MESSAGE_END","messageId":"p"}"#,
        ],
    );
}

#[test]
fn a_subagents_stream_ends_before_the_subagent() {
    check(
        &[
            r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","subagentRunId":"s","delta":"a"}"#,
            r#"{"type":"SUBAGENT_ERROR","subagentRunId":"s","message":"x"}"#,
        ],
        &[
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant","subagentRunId":"s"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a","subagentRunId":"s"}"#,
            r#"{"type":"TEXT_MESSAGE_END","messageId":"m","subagentRunId":"s"}"#,
            r#"{"type":"SUBAGENT_ERROR","subagentRunId":"s","message":"x"}"#,
        ],
    );
}

#[test]
fn past_the_limit_chunks_go_on_as_they_are() {
    let chunk = |n| json!({"type":"TEXT_MESSAGE_CHUNK","messageId":format!("m{n}"),"subagentRunId":format!("s{n}")});
    let list: Vec<_> = (0..=crate::agui::lanes::OPEN_MAX).map(|n| chunk(n).to_string()).collect();
    let out = expanded(&list);
    assert_eq!(out.iter().filter(|text| text.contains("_CHUNK")).count(), 1);
}

/// What a person would see: the text of each item, and what it was opened as.
type Seen = BTreeMap<String, (Vec<Value>, String)>;

/// Reads triads as strictly as a verifier does.
fn reduced(list: &[String]) -> Seen {
    let (mut seen, mut open) = (Seen::new(), Vec::new());
    for text in list {
        let event: Value = serde_json::from_str(text).unwrap();
        let name = event["type"].as_str().unwrap();
        let id = event.get("messageId").or(event.get("toolCallId")).and_then(Value::as_str).unwrap_or("").to_owned();
        match name {
            "TEXT_MESSAGE_START" | "TOOL_CALL_START" | "REASONING_MESSAGE_START" => {
                assert!(!open.contains(&id), "{id} is open already");
                open.push(id.clone());
                let said = vec![event["role"].clone(), event["toolCallName"].clone(), event["subagentRunId"].clone()];
                seen.insert(id, (said, String::new()));
            }
            "TEXT_MESSAGE_CONTENT" | "TOOL_CALL_ARGS" | "REASONING_MESSAGE_CONTENT" => {
                assert!(open.contains(&id), "{id} is not open");
                seen.get_mut(&id).unwrap().1.push_str(event["delta"].as_str().unwrap());
            }
            "TEXT_MESSAGE_END" | "TOOL_CALL_END" | "REASONING_MESSAGE_END" => {
                assert!(open.contains(&id), "{id} is not open");
                open.retain(|other| *other != id);
            }
            _ => assert!(!name.ends_with("_CHUNK"), "{name} is left"),
        }
    }
    assert!(open.is_empty());
    seen
}

/// Writes chunk streams of which it knows what each chunk is meant for.
#[derive(Default)]
struct Writer {
    list: Vec<String>,
    meant: Seen,
    open: BTreeMap<usize, (usize, String)>,
}

const TAGS: [Option<&str>; 4] = [None, Some("a"), Some("b"), Some("c")];
const NAMES: [&str; 3] = ["TEXT_MESSAGE_CHUNK", "TOOL_CALL_CHUNK", "REASONING_MESSAGE_CHUNK"];

impl Writer {
    fn chunk(&mut self, kind: usize, id: Option<&str>, tag: Option<&str>, opens: bool, delta: Option<&str>) {
        let mut event = json!({ "type": NAMES[kind] });
        let mut put = |name: &str, value: Option<&str>| {
            if let Some(value) = value {
                event[name] = value.into();
            }
        };
        put(if kind == 1 { "toolCallId" } else { "messageId" }, id);
        put("subagentRunId", tag);
        put("delta", delta);
        if kind == 1 && opens {
            put("toolCallName", Some("f"));
        }
        self.list.push(event.to_string());
    }

    fn step(&mut self, (what, lane, kind, form): (usize, usize, usize, usize)) {
        let tag = TAGS[lane];
        let delta = (form != 3).then(|| format!("<{}>", self.list.len()));
        match what {
            0..=1 => {
                let id = format!("i{}", self.list.len());
                self.chunk(kind, Some(&id), tag, true, delta.as_deref());
                let role = [json!("assistant"), Value::Null, json!("reasoning")][kind].clone();
                let name = if kind == 1 { json!("f") } else { Value::Null };
                self.meant.insert(id.clone(), (vec![role, name, json!(tag)], delta.unwrap_or_default()));
                self.open.insert(lane, (kind, id));
            }
            2..=6 => {
                let Some((kind, id)) = self.open.get(&lane).cloned() else { return };
                let kin: Vec<_> = self.open.iter().filter(|(_, open)| open.0 == kind).map(|(lane, _)| *lane).collect();
                let bare = lane == 0 || kin == [lane];
                let (with_id, with_tag) = match form {
                    0 if bare => (false, false),
                    1 if tag.is_some() => (false, true),
                    2 => (true, false),
                    _ => (true, tag.is_some()),
                };
                self.chunk(kind, with_id.then_some(&*id), tag.filter(|_| with_tag), false, delta.as_deref());
                self.meant.get_mut(&id).unwrap().1.push_str(&delta.unwrap_or_default());
            }
            7 => self.list.push(r#"{"type":"RAW","event":{"type":"CUSTOM"}}"#.into()),
            8 => self.list.push(r#"{"type":"VENDOR_PING"}"#.into()),
            9 => self.standalone(lane, json!({"type":"CUSTOM","name":"n","value":null})),
            10 => self.standalone(lane, json!({"type":"STEP_STARTED","stepName":"n"})),
            11 => {
                self.list.push(r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#.into());
                self.open.clear();
            }
            _ if lane > 0 => self.standalone(lane, json!({"type":"SUBAGENT_FINISHED"})),
            _ => {}
        }
    }

    fn standalone(&mut self, lane: usize, mut event: Value) {
        if let Some(tag) = TAGS[lane] {
            event["subagentRunId"] = tag.into();
        }
        self.list.push(event.to_string());
        self.open.remove(&lane);
    }
}

proptest! {
    #[test]
    fn an_expanded_stream_says_what_was_meant(
        steps in prop::collection::vec((0..13usize, 0..4usize, 0..3usize, 0..5usize), 0..80)
    ) {
        let mut writer = Writer::default();
        for step in steps {
            writer.step(step);
        }
        let out = expanded(&writer.list);
        prop_assert_eq!(reduced(&out), writer.meant);
        let rest = |list: &[String]| -> Vec<String> {
            let kept = ["RAW", "VENDOR", "CUSTOM", "STEP", "MESSAGES_S", "SUBAGENT"];
            list.iter().filter(|text| kept.iter().any(|k| text.contains(&format!(r#""type":"{k}"#)))).cloned().collect()
        };
        prop_assert_eq!(rest(&out), rest(&writer.list), "what is no chunk stays, in order");
    }
}
