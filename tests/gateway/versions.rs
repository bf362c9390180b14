//! Clients and agents of different versions: what the agent gets of a run's input, and what the client sees.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    codings::{CODINGS, coded},
    support::{Agent, Connection, END, FINISHED, Gateway, INPUT, STARTED, STREAM, chunk, code_of, frame, frames, post},
};

/// An input of today with a part that older agents do not know.
const MODERN: &str = r#"{"threadId":"t1", "runId":"r1","protocolVersion":"1.0","messages":[{"id":"u1","role":"user","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"data","value":"iVBOR","mimeType":"image/png"}}]}],"forwardedProps":{"n":1.0}}"#;

/// A request for a run with this body and more header lines.
fn request(lines: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST / HTTP/1.1\r\nhost: gate\r\naccept: text/event-stream\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n{lines}\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// Sends a request; the body that the agent gets of it.
async fn arrives(gateway: &Gateway, agent: &Agent, request: impl AsRef<[u8]>) -> (Connection, Vec<u8>) {
    let client = gateway.ask(request).await;
    let (mut connection, head, body) = agent.request().await;
    assert_eq!((head.length(), head.header("content-encoding")), (Some(body.len()), None));
    connection.send(STREAM).await;
    connection.send(chunk(frames([STARTED, FINISHED]))).await;
    connection.send(END).await;
    (client, body)
}

/// The events that a client gets to the end of its answer, without their frames.
fn events(body: &str) -> Vec<Value> {
    body.split("\n\n").filter_map(|frame| serde_json::from_str(frame.rsplit_once("data: ")?.1).ok()).collect()
}

#[tokio::test]
async fn an_older_agent_gets_an_input_that_it_reads() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "version = \"0.0.39\"", "");
    let (mut client, body) = arrives(&gateway, &agent, request("", MODERN.as_bytes())).await;
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["messages"], json!([{ "id": "u1", "role": "user", "content": "see" }]));
    assert_eq!((&body["tools"], &body["context"], &body["state"]), (&json!([]), &json!([]), &json!({})));
    assert_eq!(body.get("protocolVersion"), None);
    assert_eq!(client.message().await.0.status(), 200);
    gateway.shows("tidegate_conversions_total", &["from=\"1.0\"", "to=\"0.0.39\"", "loss=\"image_part\""], 1.0).await;
    gateway.counted("finished", 1.0).await;
}

#[tokio::test]
async fn an_input_that_needs_no_change_is_not_touched() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "version = \"0.0.39\"", "");
    let body = INPUT.replace("\"context\":[]", "\"context\" : [],\"forwardedProps\":{\"n\":1.50}");
    let (_, arrived) = arrives(&gateway, &agent, request("", body.as_bytes())).await;
    assert_eq!(String::from_utf8(arrived).unwrap(), body);
    let no_run = br#"{ "anything": [1.0] }"#;
    let (_, arrived) = arrives(&gateway, &agent, request("", no_run)).await;
    assert_eq!(arrived, no_run);
}

#[tokio::test]
async fn a_coded_input_is_decoded_only_where_it_has_to_be_read() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "version = \"0.0.39\"", "");
    for coding in &CODINGS {
        let body = coded(coding, &[MODERN]).concat();
        let lines = format!("content-encoding: {}\r\n", coding.name);
        let (_, arrived) = arrives(&gateway, &agent, request(&lines, &body)).await;
        let arrived: Value = serde_json::from_slice(&arrived).unwrap();
        assert_eq!(arrived["messages"][0]["content"], "see", "{}", coding.name);
    }
    let current = Gateway::before(&agent);
    let body = coded(&CODINGS[0], &[MODERN]).concat();
    let _client = current.ask(request("content-encoding: gzip\r\n", &body)).await;
    let (_, head, arrived) = agent.request().await;
    assert_eq!((head.header("content-encoding"), arrived), (Some("gzip"), body));
}

#[tokio::test]
async fn an_input_that_cannot_be_read_is_refused_and_says_why() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "version = \"0.0.39\"", "limits = { body = \"64KiB\" }");
    // One block of zstd that stands for 128 KiB of spaces.
    let bomb =
        [&[0x28, 0xb5, 0x2f, 0xfd, 0, 0x58][..], &((128u32 << 10) << 3 | 0b011).to_le_bytes()[..3], b" "].concat();
    for (lines, body, status, code) in [
        ("content-encoding: compress\r\n", MODERN.as_bytes().to_vec(), 415, "BODY_CODING"),
        ("content-encoding: gzip\r\n", MODERN.as_bytes().to_vec(), 400, "BODY_BROKEN"),
        ("content-encoding: zstd\r\n", bomb, 413, "BODY_TOO_LARGE"),
        ("", vec![b' '; 65 << 10], 413, "BODY_TOO_LARGE"),
    ] {
        let (head, said) = gateway.ask(request(lines, &body)).await.refusal().await;
        assert_eq!((head.status(), said.as_str()), (status, code), "{lines}");
    }
    assert!(agent.is_left_alone().await);
    gateway.is_clean().await;
}

#[tokio::test]
async fn an_input_that_stops_coming_is_given_up() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "version = \"0.0.39\"\ntimeouts = { first_event = \"100ms\" }", "");
    let mut client = gateway.ask(&request("", MODERN.as_bytes())[..200]).await;
    assert_eq!(client.message().await.0.status(), 408);
    assert!(agent.is_left_alone().await);
    gateway.is_clean().await;
}

#[tokio::test]
async fn clients_that_ignore_the_status_get_a_run_that_fails() {
    let agent = Agent::new().await;
    for (version, status) in [("0.0.37", 200), ("0.0.38", 500)] {
        let gateway = Gateway::with(&agent, "", &format!("client_version = \"{version}\""));
        let mut client = gateway.ask(post("/")).await;
        let (mut connection, ..) = agent.request().await;
        connection.send("HTTP/1.1 500 Oh\r\ncontent-length: 2\r\n\r\nno").await;
        let head = client.head().await;
        assert_eq!(head.status(), status, "{version}");
        if status == 200 {
            let body = client.rest().await;
            let (started, error) = body.split_at(body.find("\n\n").unwrap() + 2);
            assert_eq!(events(started), [serde_json::from_str::<Value>(STARTED).unwrap()]);
            assert_eq!(code_of(error), "UPSTREAM_STATUS");
        }
        gateway.counted("agent_status", 1.0).await;
    }
    let gone = agent.url();
    drop(agent);
    let gateway = Gateway::start(&format!(
        "[agents.bot]\nurl = \"{gone}\"\n[[routes]]\nagent = \"bot\"\nclient_version = \"0.0.34\""
    ));
    let mut client = gateway.ask(post("/")).await;
    assert_eq!(client.head().await.status(), 200);
    let body = client.rest().await;
    assert_eq!(code_of(&body[body.find("\n\n").unwrap() + 2..]), "UPSTREAM_UNREACHABLE");
    gateway.counted("agent_unreachable", 1.0).await;
}

const SUBAGENT: &str = r#"{"type":"SUBAGENT_STARTED","subagentRunId":"s1","name":"helper"}"#;

/// What a client with this request sees of a stream with a subagent.
async fn sees(gateway: &Gateway, agent: &Agent, request: impl AsRef<[u8]>) -> String {
    let mut client = gateway.ask(request).await;
    let (mut connection, ..) = agent.request().await;
    connection.send(STREAM).await;
    connection.send(chunk(frames([STARTED, SUBAGENT, SUBAGENT, FINISHED]))).await;
    connection.send(END).await;
    client.head().await;
    client.rest().await
}

#[tokio::test]
async fn a_client_speaks_what_it_says_then_what_its_header_then_what_its_route() {
    let agent = Agent::new().await;
    let version = "client_version = { header = \"x-agui-version\", default = \"0.0.47\" }";
    let gateway = Gateway::with(&agent, "", version);
    let body = INPUT.as_bytes();
    let declares = INPUT.replacen('{', "{\"protocolVersion\":\"1.0\",", 1);
    let mut counted = BTreeMap::new();
    for (request, dropped, label) in [
        (request("", body), true, "0.0.47"),
        (request("x-agui-version: 0.0.57\r\n", body), true, "0.0.57"),
        (request("x-agui-version: 1.0\r\n", body), false, "1.0"),
        (request("x-agui-version: 0.0.99\r\n", body), false, "newer"),
        (request("x-agui-version: 0.0.59\r\n", declares.as_bytes()), false, "1.0"),
    ] {
        let seen = sees(&gateway, &agent, request).await;
        assert_eq!(!seen.contains("SUBAGENT"), dropped, "{label}: {seen}");
        *counted.entry(label).or_insert(0.0) += 1.0;
        let labels = [&*format!("client_version=\"{label}\"")];
        gateway.shows("tidegate_runs_total", &labels, counted[label]).await;
    }
}

#[tokio::test]
async fn a_loss_is_counted_each_time_and_told_once_where_that_is_asked_for() {
    let agent = Agent::new().await;
    let keys = "client_version = \"0.0.47\"\ndowngrade = { announce = true }";
    let gateway = Gateway::with(&agent, "", keys);
    let seen = sees(&gateway, &agent, post("/")).await;
    let comment = ": tidegate dropped SUBAGENT_STARTED (client 0.0.47)\n";
    assert_eq!(seen.matches(": tidegate").count(), 1, "{seen}");
    assert!(!seen.starts_with(comment) && seen.contains(comment), "{seen}");
    assert!(seen.find(comment) < seen.find("RUN_FINISHED"), "only between two events: {seen}");
    gateway.shows("tidegate_conversions_total", &["to=\"0.0.47\"", "loss=\"subagent\""], 2.0).await;
    let silent = Gateway::with(&agent, "", "client_version = \"0.0.47\"");
    assert_eq!(sees(&silent, &agent, post("/")).await, frames([STARTED, FINISHED]));
}

#[tokio::test]
async fn runs_that_become_one_for_an_older_client_have_one_end() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", "client_version = \"0.0.36\"\nguard = \"repair\"");
    let again = FINISHED.replace("r1", "r2");
    let (text, end) = (
        r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}"#,
        r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
    );
    for (sent, kept, broken) in [
        (frames([STARTED, FINISHED, &STARTED.replace("r1", "r2"), &again]), frames([STARTED, &again]), false),
        (frames([STARTED, FINISHED]), frames([STARTED, FINISHED]), false),
        (frames([STARTED, text]), frames([STARTED, text, end]), true),
    ] {
        let mut client = gateway.ask(post("/")).await;
        let (mut connection, ..) = agent.request().await;
        connection.send(STREAM).await;
        connection.send(chunk(sent)).await;
        connection.send(END).await;
        client.head().await;
        let seen = client.rest().await;
        let rest = seen.strip_prefix(&kept).unwrap_or_else(|| panic!("{seen}"));
        assert_eq!(
            if broken { code_of(rest) } else { rest.to_owned() },
            if broken { "UPSTREAM_TRUNCATED" } else { "" }
        );
    }
}

#[tokio::test]
async fn an_older_client_gets_events_although_it_names_protobuf() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", "client_version = \"0.0.47\"");
    let request = post("/").replace("text/event-stream", "application/vnd.ag-ui.event+proto");
    let mut client = gateway.ask(request).await;
    let (mut connection, ..) = agent.request().await;
    connection.send(STREAM).await;
    connection.send(chunk(frame(STARTED))).await;
    assert_eq!(client.head().await.header("content-type"), Some("text/event-stream"));
}
