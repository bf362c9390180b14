//! Whole inputs, between every two versions.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const RELEASES: [&str; 14] = [
    "0.0.27", "0.0.36", "0.0.39", "0.1.9", "0.0.40", "0.1.10", "0.0.45", "0.0.47", "0.0.48", "0.0.49", "0.0.54",
    "0.0.59", "1.0", "1.1",
];

fn between(client: &str, agent: &str) -> Between {
    let (client, agent) = (Version::released(client).unwrap(), Version::released(agent).unwrap());
    Between { client, agent, resume: Resume::Native }
}

/// What a step makes of a part of an input, and what that costs.
pub fn made(
    step: impl FnOnce(&Between, &mut Losses) -> Option<Vec<u8>>,
    client: &str,
    agent: &str,
) -> (Option<String>, Vec<&'static str>) {
    let mut losses = Losses::default();
    let text = step(&between(client, agent), &mut losses);
    (text.map(|text| String::from_utf8(text).unwrap()), losses.into_vec())
}

fn converted(input: &str, client: &str, agent: &str) -> (Option<String>, Vec<&'static str>) {
    let converted = convert(input.as_bytes(), &between(client, agent));
    (converted.text.map(|text| String::from_utf8(text).unwrap()), converted.losses)
}

fn value(input: &Value, client: &str, agent: &str) -> (Value, Vec<&'static str>) {
    let (text, losses) = converted(&input.to_string(), client, agent);
    (text.map_or_else(|| input.clone(), |text| serde_json::from_str(&text).unwrap()), losses)
}

fn multimodal() -> Value {
    json!({
        "threadId": "t", "runId": "r", "parentRunId": "p", "state": {}, "tools": [], "context": [],
        "forwardedProps": {},
        "messages": [{"id": "u", "role": "user", "content": [
            {"type": "text", "text": "look"},
            {"type": "image", "source": {"type": "data", "value": "iVBOR", "mimeType": "image/png"}},
            {"type": "document", "source": {"type": "url", "value": "https://e.example/x.pdf",
                "mimeType": "application/pdf"}, "metadata": {"filename": "x.pdf"}},
        ]}],
    })
}

#[test]
fn an_agent_that_knows_binary_parts_gets_the_media_in_them() {
    let mut expected = multimodal();
    expected["messages"][0]["content"] = json!([
        {"type": "text", "text": "look"},
        {"type": "binary", "mimeType": "image/png", "data": "iVBOR"},
        {"type": "binary", "mimeType": "application/pdf", "url": "https://e.example/x.pdf", "filename": "x.pdf"},
    ]);
    assert_eq!(value(&multimodal(), "1.1", "0.0.47"), (expected, vec![]));
}

#[test]
fn an_agent_of_string_content_gets_the_text_and_the_rest_is_named() {
    let mut expected = multimodal();
    expected["messages"][0]["content"] = json!("look");
    expected.as_object_mut().unwrap().remove("parentRunId");
    let (found, losses) = value(&multimodal(), "1.1", "0.0.39");
    assert_eq!(found, expected);
    assert_eq!(losses.len(), 3, "{losses:?}");
    for shape in ["parent_run_id", "image_part", "document_part"] {
        assert!(losses.contains(&shape), "{losses:?}");
    }
}

#[test]
fn a_history_with_reasoning_and_activity_reaches_an_old_agent_without_them() {
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let mut signed = call.clone();
    signed["encryptedValue"] = json!("BBB");
    let message = |call| json!({"id": "a", "role": "assistant", "content": "", "toolCalls": [call]});
    let user = json!({"id": "u", "role": "user", "content": "q"});
    let tool = json!({"id": "t", "role": "tool", "toolCallId": "c", "content": "ok"});
    let input = |messages| {
        json!({"threadId": "t", "runId": "r", "messages": Value::Array(messages), "state": {}, "tools": [],
            "context": [], "forwardedProps": {}})
    };
    let sent = input(vec![
        user.clone(),
        json!({"id": "k", "role": "reasoning", "content": "hm", "encryptedValue": "AAA"}),
        message(signed),
        json!({"id": "x", "role": "activity", "activityType": "plan", "content": {"x": 1}}),
        tool.clone(),
    ]);
    let (found, losses) = value(&sent, "1.1", "0.0.39");
    assert_eq!(found, input(vec![user, message(call), tool]));
    assert_eq!(losses, ["reasoning_message", "encrypted_value", "activity_message"]);
    assert_eq!(converted(&sent.to_string(), "1.1", "1.1"), (None, vec![]));
}

#[test]
fn what_an_old_agent_needs_is_there_and_what_it_refuses_is_not() {
    let input = r#"{ "threadId":"t", "protocolVersion":"1.0", "runId":"r", "messages":[] }"#;
    let rest =
        r#"{ "threadId":"t", "runId":"r", "messages":[],"state":{},"tools":[],"context":[],"forwardedProps":{} }"#;
    assert_eq!(converted(input, "1.1", "0.1.9"), (Some(rest.to_owned()), vec![]));
    assert_eq!(converted(input, "1.1", "1.0"), (None, vec![]));
    let snake =
        r#"{"thread_id":"t","run_id":"r","messages":[],"state":null,"tools":[],"context":[],"forwarded_props":1}"#;
    assert_eq!(converted(snake, "1.0", "0.0.59"), (None, vec![]));
}

#[test]
fn a_declared_version_counts_more_than_a_configured_one() {
    let input = br#"{"threadId":"t","runId":"r","protocolVersion":"1.0","messages":[]}"#;
    let made = convert(input, &between("0.0.39", "0.0.59"));
    assert_eq!(made.client, Version::V1_0);
    assert!(made.text.is_some(), "a current client may leave out its tools");
    assert_eq!(convert(br#"{"messages":[]}"#, &between("0.0.39", "0.0.59")).client, Version::npm(39));
    assert_eq!(convert(br#"{"protocolVersion":"9.0"}"#, &between("0.0.39", "1.0")).client, Version::NEWER);
}

#[test]
fn nulls_of_older_clients_go_before_a_current_agent() {
    let input = r#"{"threadId":"t","parentRunId":null,"runId":"r","state":null,"messages":[],"forwardedProps":null}"#;
    let rest = r#"{"threadId":"t","runId":"r","state":null,"messages":[]}"#;
    assert_eq!(converted(input, "0.1.19", "1.0"), (Some(rest.to_owned()), vec![]));
    assert_eq!(converted(input, "1.0", "1.1"), (None, vec![]));
}

#[test]
fn answers_move_into_the_forwarded_props_of_an_agent_that_looks_there() {
    let input = r#"{"threadId":"t","resume":[{"interruptId":"i","status":"resolved","payload":"yes"}],"runId":"r","messages":[]}"#;
    let moved = r#"{"threadId":"t","runId":"r","messages":[],"forwardedProps":{"command":{"resume":"yes"}}}"#;
    let there = Between { resume: Resume::ForwardedProps, ..between("1.0", "1.0") };
    assert!(needed(&there) && !needed(&between("1.0", "1.1")));
    let made = convert(input.as_bytes(), &there);
    assert_eq!(String::from_utf8(made.text.unwrap()).unwrap(), moved);
    assert_eq!(converted(input, "1.0", "0.0.53").1, ["resume"]);
}

#[test]
fn a_body_that_is_no_object_is_left_to_the_agent() {
    for body in ["", "[]", "null", "{", r#"{"messages":[{"role":"activity"}]"#, r#"{"a":1}{"b":2}"#, "\u{feff}"] {
        for client in RELEASES {
            assert_eq!(converted(body, client, "0.0.39"), (None, vec![]), "{body}");
        }
    }
}

#[test]
fn a_byte_order_mark_stays_before_what_changes() {
    let (text, _) = converted("\u{feff}{\"protocolVersion\":\"1.0\"}", "1.0", "0.0.59");
    assert!(text.unwrap().starts_with("\u{feff}{\"state\""));
}

#[test]
fn depth_costs_no_stack() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let input = format!(
        r#"{{"messages":[{{"role":"user","content":{deep}}},{{"role":"tool","content":{deep}}}],"tools":{deep},"resume":{deep},"protocolVersion":"1.0"}}"#
    );
    for agent in RELEASES {
        convert(input.as_bytes(), &between("1.0", agent));
        convert(input.as_bytes(), &between("0.0.47", agent));
    }
}

fn metadata() -> BoxedStrategy<Value> {
    prop_oneof![
        Just(json!(null)),
        Just(json!({"filename": "f"})),
        Just(json!({"filename": "f", "alt": "x"})),
        Just(json!({"k": [1, {"type": "text"}]})),
    ]
    .boxed()
}

/// An object of some of these members.
fn some_of(members: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let members: Vec<_> = members
        .into_iter()
        .map(|(name, values)| prop::option::of(values).prop_map(move |value| value.map(|value| (name, value))))
        .collect();
    members
        .prop_map(|members| members.into_iter().flatten().map(|(name, value)| (name.to_owned(), value)).collect())
        .boxed()
}

fn one_of(values: &[Value]) -> BoxedStrategy<Value> {
    prop::sample::select(values.to_vec()).boxed()
}

fn part() -> BoxedStrategy<Value> {
    let source = some_of(vec![
        ("type", one_of(&[json!("data"), json!("url"), json!("file"), json!("torrent")])),
        ("value", one_of(&[json!("iV"), json!("https://e.example"), json!(""), json!(1)])),
        ("mimeType", one_of(&[json!("image/png"), json!("audio/ogg"), json!(null)])),
    ]);
    let kinds = ["text", "image", "audio", "video", "document", "binary", "hologram"].map(|kind| json!(kind));
    some_of(vec![
        ("type", one_of(&kinds)),
        ("id", one_of(&[json!("p1"), json!("p2")])),
        ("text", one_of(&[json!("é\n"), json!(""), json!(4)])),
        ("source", source),
        ("metadata", metadata()),
        ("mimeType", one_of(&[json!("image/png"), json!("text/csv")])),
        ("data", one_of(&[json!("iV"), json!("")])),
        ("url", one_of(&[json!("https://e.example"), json!(null)])),
        ("filename", one_of(&[json!("f"), json!(null)])),
    ])
}

fn message() -> BoxedStrategy<Value> {
    let roles = ["developer", "system", "assistant", "user", "tool", "activity", "reasoning", "critic"];
    let call = some_of(vec![
        ("id", Just(json!("c")).boxed()),
        ("encryptedValue", one_of(&[json!("E"), json!(null)])),
        ("metadata", metadata()),
    ]);
    let content = prop_oneof![
        Just(json!("text")),
        Just(json!(null)),
        Just(json!({"x": 1})),
        prop::collection::vec(part(), 0..4).prop_map(Value::Array),
    ];
    some_of(vec![
        ("id", any::<u16>().prop_map(|n| json!(n.to_string())).boxed()),
        ("role", one_of(&roles.map(|role| json!(role)))),
        ("content", content.boxed()),
        ("toolCalls", prop_oneof![Just(json!(null)), prop::collection::vec(call, 0..3).prop_map(Value::Array)].boxed()),
        ("encryptedValue", one_of(&[json!("E"), json!(null)])),
        ("encrypted_value", one_of(&[json!("E")])),
        ("error", one_of(&[json!("no"), json!(null)])),
        ("subagentRunId", one_of(&[json!("s"), json!(null)])),
        ("metadata", metadata()),
        ("name", one_of(&[json!("n"), json!(null)])),
    ])
}

fn input() -> BoxedStrategy<Value> {
    let entry = some_of(vec![
        ("interruptId", one_of(&[json!("i"), json!("j")])),
        ("status", one_of(&[json!("resolved"), json!("cancelled")])),
        ("payload", one_of(&[json!(true), json!(null), json!({"a": 1})])),
    ]);
    let tool = some_of(vec![
        ("name", Just(json!("f")).boxed()),
        ("parameters", one_of(&[json!({"type": "object"}), json!(null)])),
        ("metadata", metadata()),
    ]);
    let props =
        [json!(null), json!({}), json!({"command": {"resume": 1}}), json!({"command": null, "a": [1]}), json!("x")];
    some_of(vec![
        ("threadId", Just(json!("t")).boxed()),
        ("protocolVersion", one_of(&[json!("1.0"), json!("1.1"), json!(null)])),
        ("parent_run_id", one_of(&[json!("p"), json!(null)])),
        ("state", one_of(&[json!({"protocolVersion": "1.0"}), json!(null)])),
        ("messages", prop::collection::vec(message(), 0..6).prop_map(Value::Array).boxed()),
        ("tools", prop::collection::vec(tool, 0..3).prop_map(Value::Array).boxed()),
        ("context", one_of(&[json!([]), json!(null)])),
        ("forwardedProps", one_of(&props)),
        ("resume", prop_oneof![Just(json!(null)), prop::collection::vec(entry, 0..3).prop_map(Value::Array)].boxed()),
        ("runId", Just(json!("r")).boxed()),
        ("x", one_of(&[json!({"role": "activity"})])),
    ])
}

fn pair() -> BoxedStrategy<Between> {
    let release = prop::sample::select(RELEASES.to_vec());
    (release.clone(), release, any::<bool>())
        .prop_map(|(client, agent, props)| {
            let resume = if props { Resume::ForwardedProps } else { Resume::Native };
            Between { resume, ..between(client, agent) }
        })
        .boxed()
}

/// The ids of the messages, in order.
fn ids(input: &Value) -> Vec<Value> {
    input["messages"].as_array().map_or_else(Vec::new, |list| list.iter().map(|m| m["id"].clone()).collect())
}

/// Whether `few` is `many` with some left out.
fn is_within(few: &[Value], many: &[Value]) -> bool {
    let mut many = many.iter();
    few.iter().all(|one| many.any(|other| one == other))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_was_converted_needs_nothing_more((input, pair) in (input(), pair())) {
        let once = convert(input.to_string().as_bytes(), &pair);
        if let Some(text) = once.text {
            let twice = convert(&text, &Between { client: once.client, ..pair });
            let (once, twice) = (String::from_utf8(text).unwrap(), twice.text.map(|text| String::from_utf8(text).unwrap()));
            prop_assert_eq!(twice, None, "{}", once);
        } else {
            prop_assert_eq!(once.losses, Vec::<&str>::new());
        }
    }

    #[test]
    fn messages_keep_their_order_and_ids_and_what_is_no_message_stays((input, pair) in (input(), pair())) {
        if let Some(text) = convert(input.to_string().as_bytes(), &pair).text {
            let found: Value = serde_json::from_slice(&text).unwrap();
            prop_assert!(is_within(&ids(&found), &ids(&input)), "{}", found);
            for name in ["threadId", "runId", "state", "context", "x"] {
                prop_assert!(input.get(name).is_none() || input[name] == found[name], "{}", name);
            }
            for message in found["messages"].as_array().into_iter().flatten() {
                let is_it = |other: &&Value| other["id"] == message["id"];
                let before = input["messages"].as_array().unwrap().iter().filter(is_it);
                prop_assert!(before.clone().any(|before| before["role"] == message["role"]));
                prop_assert!(message["encryptedValue"].is_null()
                    || before.clone().any(|before| before["encryptedValue"] == message["encryptedValue"]));
            }
        }
    }

    #[test]
    fn current_sides_change_nothing(input in input()) {
        for (client, agent) in [("1.0", "1.0"), ("1.0", "1.1"), ("1.1", "1.0")] {
            prop_assert_eq!(converted(&input.to_string(), client, agent), (None, vec![]));
        }
    }

    #[test]
    fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..100), pair in pair()) {
        convert(&bytes, &pair);
    }

    #[test]
    fn any_cut_of_an_input_is_taken((input, pair) in (input(), pair()), at in any::<prop::sample::Index>()) {
        let text = input.to_string();
        let at = at.index(text.len());
        prop_assert_eq!(convert(&text.as_bytes()[..at], &pair).text, None);
    }
}
