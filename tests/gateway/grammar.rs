//! What the client sees of an agent that breaks the protocol, what is counted of it, and what the agent learns.

use super::support::{Agent, END, FINISHED, Gateway, STARTED, chunk, code_of, frame, frames, post};

const OPENED: &str = r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}"#;
const CLOSED: &str = r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#;
const STRAY: &str = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"nobody","delta":"x"}"#;
const DELTA: &str = r#"{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/gone"}]}"#;
const SNAPSHOT: &str = r#"{"type":"STATE_SNAPSHOT","snapshot":{"n":1.50}}"#;

/// A gateway that holds its agent to the protocol like this.
fn holding(agent: &Agent, keys: &str) -> Gateway {
    Gateway::with(agent, "", keys)
}

/// The whole stream that a client sees of these events.
async fn sees(gateway: &Gateway, agent: &Agent, events: &[&str]) -> String {
    let (mut client, mut connection) = gateway.stream(agent).await;
    connection.send(chunk(frames(events.iter().copied()))).await;
    connection.send(END).await;
    client.rest().await
}

#[tokio::test]
async fn breaches_are_counted_and_passed_by_default() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let events = [STARTED, OPENED, STRAY, FINISHED];
    assert_eq!(sees(&gateway, &agent, &events).await, frames(events));
    let rule = |name: &str| format!("rule=\"{name}\"");
    gateway.shows("tidegate_violations_total", &[&rule("message_not_open")], 1.0).await;
    gateway.shows("tidegate_violations_total", &[&rule("message_open_at_finish")], 1.0).await;
    gateway.shows("tidegate_events_repaired_total", &[], 0.0).await;
    gateway.counted("finished", 1.0).await;
    let silent = holding(&agent, "guard = \"off\"");
    assert_eq!(sees(&silent, &agent, &events).await, frames(events));
    silent.shows("tidegate_violations_total", &[], 0.0).await;
}

#[tokio::test]
async fn a_breach_is_mended_where_that_is_asked_for() {
    let agent = Agent::new().await;
    let gateway = holding(&agent, "guard = \"repair\"");
    let seen = sees(&gateway, &agent, &[STARTED, OPENED, STRAY, "[DONE]", FINISHED, STRAY]).await;
    assert_eq!(seen, frames([STARTED, OPENED, CLOSED, FINISHED]));
    gateway.shows("tidegate_events_repaired_total", &["rule=\"message_open_at_finish\""], 1.0).await;
    gateway.counted("finished", 1.0).await;
}

#[tokio::test]
async fn another_protocols_error_becomes_one_that_clients_read() {
    let agent = Agent::new().await;
    let gateway = holding(&agent, "guard = \"repair\"");
    let (mut client, mut connection) = gateway.run(&agent).await;
    connection.send(chunk("event: error\ndata: {\"error\":{\"message\":\"no credit\"}}\n\n")).await;
    connection.send(END).await;
    let seen = client.rest().await;
    assert!(seen.contains("no credit"), "{seen}");
    assert_eq!(code_of(&seen), "UPSTREAM_ERROR");
    gateway.counted("agent_error", 1.0).await;
}

#[tokio::test]
async fn a_run_is_ended_before_the_breach_and_its_agent_let_go() {
    for (event, code, member) in [
        (STRAY, "PROTOCOL_VIOLATION", "nobody"),
        (r#"{"type":"STEP_STARTED","name":"x"}"#, "PROTOCOL_VIOLATION", "stepName"),
        (r#"{"type":"STATE_SNAPSHOT","snapshot":{"a":NaN}}"#, "MALFORMED_FRAME", "malformed_json"),
    ] {
        let agent = Agent::new().await;
        let gateway = holding(&agent, "guard = \"refuse\"");
        let (mut client, mut connection) = gateway.run(&agent).await;
        connection.send(chunk(frames([OPENED, event, CLOSED]))).await;
        let seen = client.rest().await;
        let error = seen.strip_prefix(&frame(OPENED)).unwrap_or_else(|| panic!("{seen}"));
        assert!(error.contains(member), "{error}");
        assert_eq!(code_of(error), code);
        connection.is_left().await;
        gateway.counted("violation", 1.0).await;
    }
}

#[tokio::test]
async fn a_page_in_place_of_a_stream_is_no_success_for_a_guarded_run() {
    let agent = Agent::new().await;
    for (guard, status) in [("observe", 200), ("repair", 502), ("refuse", 502)] {
        let gateway = holding(&agent, &format!("guard = \"{guard}\""));
        let mut client = gateway.ask(post("/")).await;
        let (mut connection, ..) = agent.request().await;
        connection.send("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 7\r\n\r\nSign in").await;
        let (head, body) = client.message().await;
        assert_eq!(head.status(), status, "{guard}");
        assert_eq!(body == b"Sign in", status == 200, "{guard}");
        gateway.counted("agent_status", 1.0).await;
    }
}

#[tokio::test]
async fn a_change_that_does_not_fit_the_state_is_what_the_route_makes_of_it() {
    let agent = Agent::new().await;
    for (policy, after, result) in [
        ("forward", frame(DELTA), "failed"),
        ("drop", String::new(), "failed"),
        ("resync", frame(SNAPSHOT), "resynced"),
    ] {
        let gateway = holding(&agent, &format!("state = {{ on_mismatch = \"{policy}\" }}"));
        let seen = sees(&gateway, &agent, &[STARTED, SNAPSHOT, DELTA, FINISHED]).await;
        let rest = seen.strip_prefix(&frames([STARTED, SNAPSHOT])).unwrap_or_else(|| panic!("{seen}"));
        assert_eq!(rest, after + &frame(FINISHED), "{policy}");
        gateway.shows("tidegate_state_patches_total", &[&format!("result=\"{result}\"")], 1.0).await;
        gateway.is_clean().await;
    }
}

#[tokio::test]
async fn binary_frames_are_not_read_for_what_is_only_counted() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let request = post("/").replace("text/event-stream", "application/vnd.ag-ui.event+proto");
    let mut client = gateway.ask(request).await;
    let (mut connection, ..) = agent.request().await;
    connection
        .send(
            "HTTP/1.1 200 OK\r\ncontent-type: application/vnd.ag-ui.event+proto\r\ntransfer-encoding: chunked\r\n\r\n",
        )
        .await;
    // RUN_STARTED, then content of a message that nothing opened, then RUN_FINISHED.
    let started = b"\0\0\0\x0eb\x0c\n\x02\x08\x0b\x12\x02t1\x1a\x02r1";
    let stray = b"\0\0\0\x0e\x12\x0c\n\x02\x08\x01\x12\x03abc\x1a\x01x";
    let finished = b"\0\0\0\x0ej\x0c\n\x02\x08\x0c\x12\x02t1\x1a\x02r1";
    let sent = [&started[..], stray, finished].concat();
    connection.send(chunk(&sent)).await;
    connection.send(END).await;
    let (head, body) = client.message().await;
    assert_eq!(head.header("content-type"), Some("application/vnd.ag-ui.event+proto"));
    assert_eq!(body, sent);
    gateway.counted("finished", 1.0).await;
    gateway.shows("tidegate_violations_total", &[], 0.0).await;
}
