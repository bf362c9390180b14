//! Event streams that are not AG-UI's pass untouched; what they are is decided by their first event.

use super::support::{Agent, END, FINISHED, Gateway, STARTED, chunk, code_of, delta, frame, frames, get};

const MODEL: &str = "POST /v1/chat HTTP/1.1\r\nhost: g\r\ncontent-length: 15\r\n\r\n{\"stream\":true}";

/// Comments, odd line ends, fields that AG-UI does not use, a last event without its blank line.
const ODD: &str = "\u{feff}: hi\r\n\r\nevent: a\rid: 1\rdata:{\"choices\":[{\"delta\":{}}]}\r\rretry: 5\n\ndata\n\ndata: x\ndata:  y\n\n: ping\n\ndata: [DONE]";

#[tokio::test]
async fn a_foreign_stream_keeps_every_byte_however_it_is_cut() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    for request in [MODEL, &get("/events")] {
        for size in [1, 3, 1000] {
            let (mut client, mut connection) = gateway.stream_of(request, &agent).await;
            connection.send(ODD.as_bytes().chunks(size).flat_map(chunk).collect::<Vec<u8>>()).await;
            connection.send(END).await;
            assert_eq!(client.rest().await, ODD);
        }
    }
    assert_eq!(gateway.figure("tidegate_runs_total", &[]), 0.0);
    gateway.is_clean().await;
}

#[tokio::test]
async fn a_foreign_stream_is_passed_on_as_it_comes() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let (mut client, mut connection) = gateway.stream_of(MODEL, &agent).await;
    for piece in ["data: {\"choices\":[]}\n\n", ": p", "ing\n\n", "data: {\"cho", "ices\":[]}\n\n", &frame(STARTED)] {
        connection.send(chunk(piece)).await;
        client.expect(piece).await;
    }
    connection.send(END).await;
    assert_eq!(client.rest().await, "");
    assert_eq!(gateway.figure("tidegate_runs_total", &[]), 0.0);
}

#[tokio::test]
async fn a_foreign_event_beyond_every_limit_passes() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", "limits = { frame = \"1KiB\" }");
    let large = frame(&format!("{{\"choices\":\"{}\"}}", "x".repeat(100_000)));
    let (mut client, mut connection) = gateway.stream_of(MODEL, &agent).await;
    connection.send(large.as_bytes().chunks(999).flat_map(chunk).collect::<Vec<u8>>()).await;
    connection.send(chunk("data: more\n\n")).await;
    connection.send(END).await;
    assert!(client.rest().await == large + "data: more\n\n");
    gateway.is_clean().await;
}

#[tokio::test]
async fn a_foreign_stream_that_breaks_off_breaks_off_at_the_client_too() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    for cut in ["data: {\"choices\":[]}\n\ndata: {", "data: {\"cho", ""] {
        let (mut client, mut connection) = gateway.stream_of(MODEL, &agent).await;
        if !cut.is_empty() {
            connection.send(chunk(cut)).await;
        }
        connection.send("5\r\nab").await;
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        connection.reset();
        let (rest, _) = client.leftover().await;
        let rest = String::from_utf8(rest).unwrap();
        assert!(!rest.contains("RUN_ERROR") && !rest.ends_with(END), "{rest}");
    }
    assert_eq!(gateway.figure("tidegate_runs_total", &[]), 0.0);
    gateway.is_clean().await;
}

#[tokio::test]
async fn a_foreign_stream_without_any_event_ends_without_any() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    for body in ["", ": nothing\n\n", "retry: 1\n"] {
        let (mut client, mut connection) = gateway.stream_of(&get("/events"), &agent).await;
        if !body.is_empty() {
            connection.send(chunk(body)).await;
        }
        connection.send(END).await;
        assert_eq!(client.rest().await, body);
    }
    assert_eq!(gateway.figure("tidegate_runs_total", &[]), 0.0);
}

#[tokio::test]
async fn a_stream_that_begins_with_an_event_of_a_run_is_one() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    for request in [MODEL, &get("/resume")] {
        let (mut client, mut connection) = gateway.stream_of(request, &agent).await;
        let text = format!(": hi\n\n{}", frame(STARTED));
        connection.send(text.as_bytes().chunks(5).flat_map(chunk).collect::<Vec<u8>>()).await;
        client.expect(&frame(STARTED)).await;
        connection.send(chunk(frame(&delta("a")))).await;
        client.expect(&frame(&delta("a"))).await;
        connection.send(END).await;
        assert_eq!(code_of(&client.rest().await), "UPSTREAM_TRUNCATED");
    }
    gateway.counted("truncated", 2.0).await;
}

#[tokio::test]
async fn a_run_found_by_its_first_event_may_be_longer_than_the_agent_said() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let sent = format!("data:{STARTED}\r\n\r\n");
    let mut client = gateway.ask(get("/resume")).await;
    let (mut connection, ..) = agent.request().await;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
    connection.send(format!("{head}content-length: {}\r\n\r\n{sent}", sent.len())).await;
    let head = client.head().await;
    assert_eq!((head.length(), head.is_chunked()), (None, true));
    let rest = client.rest().await;
    let error = rest.strip_prefix(&frame(STARTED)).expect(&rest);
    assert_eq!(code_of(error), "UPSTREAM_TRUNCATED");
}

#[tokio::test]
async fn an_answer_of_an_error_that_is_an_event_stream_is_relayed() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway.ask(MODEL).await;
    let (mut connection, ..) = agent.request().await;
    let body = frames([STARTED, FINISHED]) + ": x\n";
    let head = "HTTP/1.1 500 Oh\r\ncontent-type: text/event-stream\r\n";
    connection.send(format!("{head}content-length: {}\r\n\r\n{body}", body.len())).await;
    let (head, read) = client.message().await;
    assert_eq!((head.status(), read), (500, body.into_bytes()));
}
