//! What is replaced, what is held back and until when, and what stays as it came.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod bounds;
mod properties;
mod values;

use std::collections::BTreeMap;

use serde_json::Value;

use super::*;
use crate::pipeline::{Dropped, Peers, Recipe, Sink};

const KEY: &[(&str, &str)] = &[("sk-[A-Za-z0-9]{20,}", "[redacted]")];

fn stage(rules: &[(&str, &str)]) -> crate::pipeline::Pipeline {
    stage_of(&Rules::new(rules).unwrap())
}

fn stage_of(rules: &Rules) -> crate::pipeline::Pipeline {
    Recipe { redact: Some(rules.clone()), ..Recipe::default() }.build(&Peers::default())
}

fn sink_of(rules: &[(&str, &str)], list: &[&str]) -> Sink {
    sink_by(&Rules::new(rules).unwrap(), list)
}

fn sink_by(rules: &Rules, list: &[&str]) -> Sink {
    let mut pipeline = stage_of(rules);
    let (mut sink, at) = (Sink::default(), Instant::now());
    list.iter().for_each(|text| pipeline.event(Event::made((*text).to_owned()), at, &mut sink));
    pipeline.end(End::Closed, at, &mut sink);
    let count = sink.events.len();
    pipeline.end(End::Closed, at, &mut sink);
    assert_eq!(sink.events.len(), count, "nothing is left after the end");
    sink
}

fn texts(sink: &Sink) -> Vec<String> {
    sink.events.iter().map(|event| String::from_utf8(event.text().to_vec()).unwrap()).collect()
}

fn through(rules: &[(&str, &str)], list: &[&str]) -> Vec<String> {
    texts(&sink_of(rules, list))
}

/// What a client makes of the deltas: the text of each item, by kind and identifier.
fn reduced(list: &[String]) -> BTreeMap<String, String> {
    let mut items: BTreeMap<String, Vec<u16>> = BTreeMap::new();
    for text in list {
        let event = Event::made(text.clone());
        let kind = event.kind().as_str();
        let group = kind.rsplit_once('_').map_or(kind, |(group, _)| group).to_owned();
        let group = if group == "TOOL_CALL" { "TOOL_CALL".to_owned() } else { group };
        let name = if group == "TOOL_CALL" { "toolCallId" } else { "messageId" };
        if !event.kind().is_content() {
            continue;
        }
        let Some(inner) = event.member("delta").and_then(inside) else { continue };
        let id = event.string(name).unwrap_or_default().into_owned();
        items.entry(format!("{group} {id}")).or_default().extend(units(inner));
    }
    items.into_iter().map(|(key, units)| (key, String::from_utf16_lossy(&units))).collect()
}

/// The code units of the inside of a JSON string, halves and all.
fn units(inner: &[u8]) -> Vec<u16> {
    let text = std::str::from_utf8(inner).unwrap();
    let (mut units, mut chars) = (Vec::new(), text.chars());
    while let Some(letter) = chars.next() {
        if letter != '\\' {
            units.extend(letter.encode_utf16(&mut [0; 2]).iter());
            continue;
        }
        match chars.next().unwrap() {
            'u' => {
                let code: String = chars.by_ref().take(4).collect();
                units.push(u16::from_str_radix(&code, 16).unwrap());
            }
            'n' => units.push(10),
            't' => units.push(9),
            'r' => units.push(13),
            'b' => units.push(8),
            'f' => units.push(12),
            other => units.push(other as u16),
        }
    }
    units
}

fn content(id: &str, delta: &str) -> String {
    format!(r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"{id}","delta":"{delta}"}}"#)
}

fn args(id: &str, delta: &str) -> String {
    format!(r#"{{"type":"TOOL_CALL_ARGS","toolCallId":"{id}","delta":"{delta}"}}"#)
}

fn end(id: &str) -> String {
    format!(r#"{{"type":"TEXT_MESSAGE_END","messageId":"{id}"}}"#)
}

fn check(list: &[&str], expected: &[&str]) {
    assert_eq!(through(KEY, list), expected);
}

const SECRET: &str = "sk-ABCDEFGHIJKLMNOPQRSTUV";

#[test]
fn a_secret_cut_over_deltas_is_replaced_and_what_surrounds_it_stays() {
    check(
        &[
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}"#,
            &content("m1", "use s"),
            &content("m1", "k-ABCDEFGHIJ"),
            &content("m1", "KLMNOPQRSTUV now"),
            &end("m1"),
            &content("m2", "ask"),
            &content("m2", "-sk-short"),
            &end("m2"),
        ],
        &[
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}"#,
            &content("m1", "use "),
            &content("m1", "[redacted] now"),
            &end("m1"),
            &content("m2", "a"),
            &content("m2", "sk-"),
            &content("m2", "sk-short"),
            &end("m2"),
        ],
    );
}

#[test]
fn what_no_match_can_begin_in_goes_on_as_it_came() {
    let list = [content("m", "plain \\u00e9 \\n"), content("m", ""), content("m", "\\ud83d"), content("m", "\\ude00!")];
    let mut pipeline = stage(KEY);
    let (mut sink, at) = (Sink::default(), Instant::now());
    for text in &list {
        let event = Event::new(text.clone().into(), Some((crate::agui::Encoding::Sse, "frame".into())));
        pipeline.event(event, at, &mut sink);
        assert_eq!(pipeline.held() / 64, 0, "nothing is kept of it");
    }
    assert_eq!(texts(&sink), list);
    assert!(sink.events.iter().all(|event| event.frame(crate::agui::Encoding::Sse).is_some()));
}

#[test]
fn items_do_not_wait_for_each_other_and_do_not_mix() {
    check(
        &[
            &content("a", "sk-ABCDEFGHIJ"),
            &content("b", "KLMNOPQRSTUV"),
            &content("b", "x"),
            &content("a", "."),
            &end("a"),
        ],
        &[&content("b", "KLMNOPQRSTUV"), &content("b", "x"), &content("a", "sk-ABCDEFGHIJ."), &end("a")],
    );
    let same_id = [
        content("a", "sk-ABCDEFGHIJ"),
        args("a", r#"{\"q\":\"KLMNOPQRSTUV\"}"#),
        r#"{"type":"REASONING_MESSAGE_CONTENT","messageId":"a","delta":"KLMNOPQRSTUV"}"#.to_owned(),
        end("a"),
    ];
    let out = through(KEY, &same_id.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(out[0], same_id[1]);
    assert_eq!(out[1], same_id[2]);
    assert_eq!(out[2], same_id[0]);
}

#[test]
fn what_is_held_leaves_before_the_end_of_its_run_and_before_a_snapshot_of_messages() {
    for barrier in [
        r#"{"type":"RUN_FINISHED"}"#,
        r#"{"type":"RUN_ERROR","message":"m"}"#,
        r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#,
        r#"{"type":"RUN_STARTED"}"#,
    ] {
        check(&[&content("m", "sk-A"), barrier], &[&content("m", "sk-A"), barrier]);
    }
    check(&[&content("m", "sk-A")], &[&content("m", "sk-A")]);
    check(
        &[&content("m", "x sk-A"), r#"{"type":"STATE_SNAPSHOT","snapshot":{}}"#, &content("m", " y")],
        &[&content("m", "x "), r#"{"type":"STATE_SNAPSHOT","snapshot":{}}"#, &content("m", "sk-A y")],
    );
}

#[test]
fn what_was_shown_at_a_barrier_or_an_end_still_counts() {
    let rest = "CDEFGHIJKLMNOPQRSTUVW";
    for between in [r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#, &*end("m"), r#"{"type":"RUN_FINISHED"}"#] {
        check(
            &[&content("m", "sk-AB"), between, &content("m", rest), &content("m", " on"), &end("m")],
            &[&content("m", "sk-AB"), between, &content("m", "[redacted] on"), &end("m")],
        );
        check(
            &[&content("m", SECRET), between, &content("m", rest), &content("m", " on"), &end("m")],
            &[&content("m", "[redacted]"), between, &content("m", " on"), &end("m")],
        );
    }
}

#[test]
fn chunks_are_followed_by_their_lanes_and_let_go_when_their_stream_is_closed() {
    let chunk = |rest: &str| format!(r#"{{"type":"TEXT_MESSAGE_CHUNK"{rest}}}"#);
    let custom = r#"{"type":"CUSTOM","name":"n","value":1}"#;
    check(
        &[
            &chunk(r#","messageId":"m1","role":"assistant","delta":"sk-ABCDEF""#),
            &chunk(r#","messageId":"m2","delta":"x","subagentRunId":"s""#),
            &chunk(r#","delta":"GHIJKLMNOPQRSTUVW""#),
            &chunk(r#","delta":" and sk-""#),
            r#"{"type":"RAW","event":1}"#,
            custom,
            &chunk(r#","messageId":"m3","delta":"ABCDEFGHIJKLMNOPQRSTUV""#),
        ],
        &[
            &chunk(r#","messageId":"m1","role":"assistant""#),
            &chunk(r#","messageId":"m2","delta":"x","subagentRunId":"s""#),
            &chunk(r#","delta":"[redacted] and ""#),
            r#"{"type":"RAW","event":1}"#,
            &chunk(r#","messageId":"m1","delta":"sk-""#),
            custom,
            &chunk(r#","messageId":"m3","delta":"ABCDEFGHIJKLMNOPQRSTUV""#),
        ],
    );
    check(
        &[
            &chunk(r#","messageId":"m1","delta":"sk-","subagentRunId":"s""#),
            r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"s"}"#,
        ],
        &[
            &chunk(r#","messageId":"m1","subagentRunId":"s""#),
            &chunk(r#","messageId":"m1","delta":"sk-","subagentRunId":"s""#),
            r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"s"}"#,
        ],
    );
}

#[test]
fn metadata_stays_with_its_event_and_a_raw_event_with_a_piece_goes() {
    let event = |rest: &str| format!(r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"m"{rest}}}"#);
    let sink = sink_of(
        KEY,
        &[
            &event(r#","delta":"sk-AB","metadata":{"a":1},"rawEvent":{"d":"sk-AB"}"#),
            &event(r#","delta":"C","rawEvent":{"d":"C"}"#),
            &event(r#","delta":".","rawEvent":{"d":"."}"#),
            &event(r#","delta":" ok","rawEvent":{"d":"ok"}"#),
        ],
    );
    let expected = [
        event(r#","delta":"","metadata":{"a":1}"#),
        event(r#","delta":"sk-ABC.""#),
        event(r#","delta":" ok","rawEvent":{"d":"ok"}"#),
    ];
    assert_eq!(texts(&sink), expected);
    let raw = Dropped { stage: "redact", reason: "raw_event", kind: EventKind::TextMessageContent };
    assert_eq!(sink.dropped, [raw.clone(), raw.clone(), raw]);
}

#[test]
fn each_replacement_is_counted_once() {
    let sink = sink_of(KEY, &[&content("m", SECRET), &content("m", &format!(" {SECRET}")), &end("m")]);
    let secret = Dropped { stage: "redact", reason: "secret", kind: EventKind::TextMessageContent };
    assert_eq!(sink.dropped, [secret.clone(), secret]);
}

#[test]
fn arguments_are_judged_by_what_their_strings_say_and_stay_json() {
    let check = |deltas: &[&str], expected: &str| {
        let mut list: Vec<_> = deltas.iter().map(|delta| args("c", delta)).collect();
        list.push(r#"{"type":"TOOL_CALL_END","toolCallId":"c"}"#.to_owned());
        let out = through(
            &[("sk-[A-Za-z0-9]{20,}", "[\"x\"]"), (r"\d{16}", "#"), (r#"pin":"\d+"#, "!")],
            &list.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        let arguments = &reduced(&out)["TOOL_CALL c"];
        assert_eq!(arguments, expected, "{deltas:?}");
        let is_json = serde_json::from_str::<Value>(expected).is_ok();
        assert_eq!(serde_json::from_str::<Value>(arguments).is_ok(), is_json, "{arguments}");
    };
    let hidden = r#"[\"x\"]"#;
    check(&[r#"{\"q\":\"use sk-ABCDEFGHIJKL"#, r#"MNOPQRSTUV\"}"#], &format!(r#"{{"q":"use {hidden}"}}"#));
    check(
        &[r#"{\"q\":\"s"#, r#"k-\\u00"#, r#"41BCDEFGHIJKLMNOPQRSTUV\\"#, r#"n\"}"#],
        &format!(r#"{{"q":"{hidden}\n"}}"#),
    );
    check(&[r#"{\"\\u0073k-ABCDEFGHIJKLMNOPQRSTUV\":1}"#], &format!(r#"{{"{hidden}":1}}"#));
    check(&[r#"{\"card\":41111111"#, r#"11111111, \"n\":12}"#], r##"{"card":"#", "n":12}"##);
    check(&["4111111111111111"], r##""#""##);
    check(&[r#"{\"pin\":\"1234\"}"#], r#"{"pin":"1234"}"#);
    check(&[r#"{\"a\":\"sk-ABCDEFGHIJ\",\"b\":\"KLMNOPQRSTUV\"}"#], r#"{"a":"sk-ABCDEFGHIJ","b":"KLMNOPQRSTUV"}"#);
    check(&["the key is s", "k-ABCDEFGHIJKLMNOPQRSTUV"], r#"the key is ["x"]"#);
    check(&[r#"{'k': 'sk-ABCDEFGHIJKLMNOPQRSTUV'}"#], r#"{'k': "'[\"x\"]'"}"#);
    check(&[r#"{\"a\":\"\\ud83d"#, r#"\\ude00\",\"b\":tru"#, "e}"], r#"{"a":"\ud83d\ude00","b":true}"#);
}

#[test]
fn thinking_is_reasoning_too() {
    let think = |delta: &str| format!(r#"{{"type":"THINKING_TEXT_MESSAGE_CONTENT","delta":"{delta}"}}"#);
    let end = r#"{"type":"THINKING_TEXT_MESSAGE_END"}"#;
    check(
        &[
            &think("sk-ABCDEFGHIJK"),
            &think("LMNOPQRSTUV"),
            end,
            &think("sk-"),
            end,
            &think("ABCDEFGHIJKLMNOPQRSTUV"),
            end,
        ],
        &[&think("[redacted]"), end, &think("sk-"), end, &think("ABCDEFGHIJKLMNOPQRSTUV"), end],
    );
}

#[test]
fn patterns_that_look_around_see_what_came_before() {
    let rules = &[(r"\bkey\d+\b", "K"), (r"(?m)^pw: .*$", "P")];
    let check = |deltas: &[&str], expected: &str| {
        let list: Vec<_> = deltas.iter().map(|delta| content("m", delta)).collect();
        let out = through(rules, &list.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(reduced(&out).get("TEXT_MESSAGE m").map_or("", |text| text), expected, "{deltas:?}");
    };
    check(&["a", "key1 "], "akey1 ");
    check(&["\u{e9}", "key1 "], "\u{e9}key1 ");
    check(&["-", "key1", "2"], "-K");
    check(&["key1", "x"], "key1x");
    check(&["key1", "\u{e9}"], "key1\u{e9}");
    check(&["a\\n", "pw: x", "y\\nz"], "a\nP\nz");
    check(&["a", "pw: xy"], "apw: xy");
}
