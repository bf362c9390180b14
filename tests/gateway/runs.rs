//! Runs that go well: events come out as they went in, whatever the agent does to their bytes.

use std::time::Duration;

use super::support::{Agent, END, FINISHED, Gateway, STARTED, STREAM, chunk, delta, frame, frames, post};

/// What a client reads of a run with this body.
async fn run(gateway: &Gateway, agent: &Agent, body: &str) -> String {
    let (mut client, mut connection) = gateway.stream(agent).await;
    connection.send(chunk(body)).await;
    connection.send(END).await;
    client.rest().await
}

#[tokio::test]
async fn each_event_is_seen_before_the_next_is_sent() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let (mut client, mut connection) = gateway.stream(&agent).await;
    for event in [STARTED, &delta("a"), &delta("b"), FINISHED] {
        connection.send(chunk(frame(event))).await;
        client.expect(&frame(event)).await;
    }
    connection.send(END).await;
    assert_eq!(client.rest().await, "");
    gateway.counted("finished", 1.0).await;
}

#[tokio::test]
async fn events_are_the_same_however_their_bytes_are_spelled_and_cut() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let odd = r#"{"type": "TEXT_MESSAGE_CONTENT", "delta":"\u00e9é🚀\/","n":1.0e+2,"n":-0,"unknown":{"b":1,"a":2}}"#;
    let (first, second) = odd.split_at(40);
    let lines = [
        "\u{feff}: hello\r\n\r\n",
        &format!("event: message\r\nid: 1\r\ndata:{STARTED}\r\n\r\n"),
        &format!(": ping\n\ndata: {odd}\n\n\n\n"),
        &format!("retry: 5\rdata: {first}\rdata:{second}\r\r"),
        "data: not json at all\n\n",
        &format!("data: {}\nid\n\n", r#"{"type":"FUTURE_EVENT","x":null}"#),
        &format!("data: {FINISHED}"),
    ]
    .concat();
    let expected = [
        frame(STARTED),
        frame(odd),
        format!("data: {first}\ndata: {second}\n\n"),
        frame("not json at all"),
        frame(r#"{"type":"FUTURE_EVENT","x":null}"#),
        frame(FINISHED),
    ]
    .concat();
    for size in [1, 2, 3, 7, 64, 100_000] {
        let (mut client, mut connection) = gateway.stream(&agent).await;
        let mut body: Vec<u8> = lines.as_bytes().chunks(size).flat_map(chunk).collect();
        body.extend(END.as_bytes());
        connection.send(&body).await;
        assert_eq!(client.rest().await, expected, "in pieces of {size}");
    }
    let (mut client, mut connection) = gateway.stream(&agent).await;
    connection.send_apart(lines.as_bytes().chunks(31).map(chunk)).await;
    connection.send(END).await;
    assert_eq!(client.rest().await, expected);
    gateway.counted("finished", 7.0).await;
}

#[tokio::test]
async fn what_is_ready_together_leaves_together() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let (mut client, mut connection) = gateway.stream(&agent).await;
    let deltas: Vec<String> = (0..100).map(|n| delta(&n.to_string())).collect();
    let all = frames([STARTED].into_iter().chain(deltas.iter().map(String::as_str)));
    connection.send(chunk(&all)).await;
    let mut chunks = 0;
    let mut read = String::new();
    while read.len() < all.len() {
        read += std::str::from_utf8(&client.chunk().await.unwrap()).unwrap();
        chunks += 1;
    }
    assert_eq!(read, all);
    assert!(chunks <= 4, "{chunks} chunks for one of the agent's");
}

#[tokio::test]
async fn a_keepalive_is_one_line_between_two_events_and_nowhere_else() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", "keepalive = \"20ms\"");
    let (mut client, mut connection) = gateway.stream(&agent).await;
    connection.send(chunk(": the agent's own\n\n")).await;
    assert!(client.is_quiet().await, "before the first event");
    connection.send(chunk(frame(STARTED))).await;
    client.expect(&frame(STARTED)).await;
    client.expect(":\n").await;
    let event = frame(&delta("cut"));
    let (first, second) = event.split_at(30);
    connection.send(chunk(first)).await;
    client.expect(":\n:\n:\n").await;
    connection.send(chunk(second)).await;
    let mut text = String::new();
    while !text.ends_with(&event) {
        text += std::str::from_utf8(&client.chunk().await.unwrap()).unwrap();
    }
    assert_eq!(text.trim_end_matches(&event).replace(":\n", ""), "", "{text}");
    connection.send(chunk(frame(FINISHED))).await;
    let mut text = String::new();
    while !text.ends_with(&frame(FINISHED)) {
        text += std::str::from_utf8(&client.chunk().await.unwrap()).unwrap();
    }
    assert!(client.is_quiet().await, "after the last event");
    connection.send(END).await;
    assert_eq!(client.rest().await, "");
    assert!(gateway.figure("tidegate_keepalives_total", &[]) >= 4.0);
    gateway.counted("finished", 1.0).await;
}

#[tokio::test]
async fn keepalives_are_no_progress() {
    let agent = Agent::new().await;
    let keys = "timeouts = { progress = \"150ms\" }";
    let gateway = Gateway::with(&agent, keys, "keepalive = \"20ms\"");
    let (mut client, mut connection) = gateway.stream(&agent).await;
    connection.send(chunk(frame(STARTED))).await;
    let text = client.rest().await;
    assert!(text.contains(":\n:\n") && text.contains("IDLE_TIMEOUT"), "{text}");
    gateway.counted("timeout_idle", 1.0).await;
}

#[tokio::test]
async fn line_separators_are_escaped_where_that_is_asked_for() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", "escape = \"line_separators\"");
    let sent = frames([STARTED, &delta("a\u{2028}b\u{85}c"), FINISHED]);
    let expected = frames([STARTED, &delta("a\\u2028b\\u0085c"), FINISHED]);
    assert_eq!(run(&gateway, &agent, &sent).await, expected);
}

#[tokio::test]
async fn what_select_names_is_left_out_and_the_rest_keeps_its_spelling() {
    let agent = Agent::new().await;
    let select = "select = { drop = [\"RAW\", \"FUTURE\"], strip = [\"rawEvent\"] }";
    let gateway = Gateway::with(&agent, "", select);
    let sent = frames([
        STARTED,
        r#"{"type":"RAW","event":{"type":"TEXT_MESSAGE_CONTENT"}}"#,
        r#"{"type":"FUTURE"}"#,
        r#"{ "rawEvent" : {"a":[1,"}"]}, "n" : 1.50, "type":"CUSTOM","name":"rawEvent" }"#,
        FINISHED,
    ]);
    let read = run(&gateway, &agent, &sent).await;
    let events: Vec<&str> = read.split_terminator("\n\n").collect();
    assert_eq!(events.len(), 3, "{read}");
    assert!(events[1].contains(r#""n" : 1.50"#) && !events[1].contains("[1"), "{read}");
    gateway.shows("tidegate_events_dropped_total", &["stage=\"select\"", "reason=\"type\""], 2.0).await;
    gateway.shows("tidegate_events_dropped_total", &["stage=\"select\"", "reason=\"member\""], 1.0).await;
}

#[tokio::test]
async fn several_runs_in_one_body_are_several_runs() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let second = r#"{"type":"RUN_STARTED","threadId":"t1","runId":"r2"}"#;
    let error = r#"{"type":"RUN_ERROR","message":"no"}"#;
    let sent = frames([STARTED, FINISHED, second, &delta("x"), FINISHED, second, error]);
    assert_eq!(run(&gateway, &agent, &sent).await, sent);
    gateway.shows("tidegate_runs_total", &["outcome=\"finished\""], 2.0).await;
    gateway.shows("tidegate_runs_total", &["outcome=\"agent_error\""], 1.0).await;
    gateway.is_clean().await;
}

#[tokio::test]
async fn a_second_run_that_breaks_off_gets_its_own_end() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let sent = frames([STARTED, FINISHED, STARTED]);
    let read = run(&gateway, &agent, &sent).await;
    assert!(read.starts_with(&sent) && read[sent.len()..].contains("UPSTREAM_TRUNCATED"), "{read}");
    gateway.shows("tidegate_runs_total", &["outcome=\"finished\""], 1.0).await;
    gateway.shows("tidegate_runs_total", &["outcome=\"truncated\""], 1.0).await;
}

#[tokio::test]
async fn what_follows_a_terminal_event_passes() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let error = r#"{"type":"RUN_ERROR","message":"late","code":"X"}"#;
    let sent = frames([STARTED, FINISHED, &delta("after"), error, &delta("after that"), FINISHED]);
    assert_eq!(run(&gateway, &agent, &sent).await, sent);
    gateway.is_clean().await;
}

#[tokio::test]
async fn the_gateway_adds_nothing_after_a_terminal_event() {
    for (timeouts, end) in
        [("idle", FINISHED), ("run", FINISHED), ("progress", r#"{"type":"RUN_ERROR","message":"x"}"#)]
    {
        let agent = Agent::new().await;
        let keys = format!("timeouts = {{ {timeouts} = \"100ms\" }}");
        let gateway = Gateway::with(&agent, &keys, "keepalive = \"20ms\"");
        let (mut client, mut connection) = gateway.stream(&agent).await;
        let sent = frames([STARTED, end]);
        connection.send(chunk(&sent)).await;
        assert_eq!(client.rest().await, sent, "{timeouts}");
        assert!(connection.is_left().await < Duration::from_secs(5));
    }
}

#[tokio::test]
async fn an_agents_reset_after_the_terminal_event_is_a_proper_end_for_the_client() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let (mut client, mut connection) = gateway.stream(&agent).await;
    let sent = frames([STARTED, FINISHED]);
    connection.send(chunk(&sent)).await;
    client.expect(&sent).await;
    connection.reset();
    assert_eq!(client.rest().await, "");
    gateway.counted("finished", 1.0).await;
}

#[tokio::test]
async fn the_agents_connection_serves_the_next_run_and_so_does_the_clients() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let (mut client, mut connection) = gateway.stream(&agent).await;
    for _ in 0..3 {
        let sent = frames([STARTED, FINISHED]);
        connection.send(chunk(&sent)).await;
        connection.send(END).await;
        assert_eq!(client.rest().await, sent);
        client.send(post("/")).await;
        connection.message().await;
        connection.send(STREAM).await;
        assert_eq!(client.head().await.status(), 200);
    }
    connection.send(chunk(frame(FINISHED))).await;
    connection.send(END).await;
    client.rest().await;
    gateway.counted("finished", 4.0).await;
}
