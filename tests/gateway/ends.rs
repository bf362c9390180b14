//! Runs that go wrong: the client gets one `RUN_ERROR` and a proper end, or an answer over HTTP that says why.

use super::support::{
    Agent, Connection, END, FINISHED, Gateway, STARTED, chunk, code_of, delta, frame, frames, get, post,
};

/// How an agent's stream breaks off.
#[derive(Debug, Clone, Copy)]
enum Break {
    End,
    Close,
    Reset,
}

impl Break {
    async fn off(self, mut connection: Connection) {
        match self {
            Self::End => connection.send(END).await,
            Self::Close => {}
            Self::Reset => {
                // What was sent before shall arrive before the reset does.
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                connection.reset();
            }
        }
    }
}

#[tokio::test]
async fn an_agent_that_switches_protocols_unasked_has_not_answered() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway.ask(post("/")).await;
    let (mut connection, _, _) = agent.request().await;
    connection.send("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nhello").await;
    let (head, body) = client.message().await;
    assert_eq!(head.status(), 502);
    assert!(String::from_utf8_lossy(&body).contains("UPSTREAM_TRUNCATED"));
    gateway.counted("truncated", 1.0).await;
}

#[tokio::test]
async fn an_answer_that_cannot_have_a_body_is_no_stream() {
    for (config, status) in [("", 204), ("guard = \"refuse\"", 502), ("on_error = { status = \"run_error\" }", 200)] {
        let agent = Agent::new().await;
        let gateway = Gateway::with(&agent, "", config);
        let mut client = gateway.ask(post("/")).await;
        let (mut connection, ..) = agent.request().await;
        connection.send("HTTP/1.1 204 No Content\r\ncontent-type: text/event-stream\r\n\r\n").await;
        assert_eq!(client.head().await.status(), status);
        gateway.counted("agent_status", 1.0).await;
        if status == 204 {
            client.send(get("/next")).await;
            assert_eq!(connection.head().await.asks().1, "/agui/next");
        }
    }
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway.ask("HEAD /x HTTP/1.1\r\nhost: g\r\n\r\n").await;
    let (mut connection, ..) = agent.request().await;
    connection.send("HTTP/1.1 200 OK\r\ncontent-type: application/vnd.ag-ui.event+proto\r\n\r\n").await;
    assert_eq!(client.head().await.status(), 200);
    assert!(client.is_quiet().await);
    assert_eq!(gateway.figure("tidegate_runs_total", &[]), 0.0);
}

#[tokio::test]
async fn a_run_that_breaks_off_ends_with_one_error_and_properly() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut runs = 0.0;
    for how in [Break::End, Break::Close, Break::Reset] {
        for cut in ["", "data: {\"type\":\"TEXT_MESS", ": comment", "data", "data: {\"type\":\"RUN_FIN\n"] {
            let (mut client, mut connection) = gateway.stream(&agent).await;
            let sent = frames([STARTED, &delta("a")]);
            connection.send(chunk(sent.clone() + cut)).await;
            client.expect(&sent).await;
            how.off(connection).await;
            assert_eq!(code_of(&client.rest().await), "UPSTREAM_TRUNCATED", "{how:?} {cut:?}");
            runs += 1.0;
        }
    }
    gateway.counted("truncated", runs).await;
}

#[tokio::test]
async fn a_stream_without_any_event_is_a_run_that_failed() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    for how in [Break::End, Break::Close, Break::Reset] {
        let (mut client, connection) = gateway.stream(&agent).await;
        how.off(connection).await;
        assert_eq!(code_of(&client.rest().await), "UPSTREAM_TRUNCATED", "{how:?}");
    }
    let mut client = gateway.ask(post("/")).await;
    let (mut connection, ..) = agent.request().await;
    connection.send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(client.head().await.status(), 200);
    assert_eq!(code_of(&client.rest().await), "UPSTREAM_TRUNCATED");
    gateway.counted("truncated", 4.0).await;
}

#[tokio::test]
async fn a_whole_last_event_without_its_blank_line_counts() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    for end in ["", "\n", "\r\n"] {
        let (mut client, mut connection) = gateway.stream(&agent).await;
        connection.send(chunk(format!("{}data: {FINISHED}{end}", frame(STARTED)))).await;
        connection.send(END).await;
        assert_eq!(client.rest().await, frames([STARTED, FINISHED]));
    }
    gateway.counted("finished", 3.0).await;
}

#[tokio::test]
async fn passed_on_a_truncated_run_ends_as_the_agent_ended_it() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", "on_error = { truncated = \"pass\" }");
    let sent = frames([STARTED, &delta("a")]);
    let (mut client, mut connection) = gateway.stream(&agent).await;
    connection.send(chunk(&sent)).await;
    connection.send(END).await;
    assert_eq!(client.rest().await, sent);
    drop(connection);

    let (mut client, mut connection) = gateway.stream(&agent).await;
    connection.send(chunk(&sent)).await;
    client.expect(&sent).await;
    connection.reset();
    assert_eq!(client.leftover().await.0, b"", "a proper end of a stream that had none");

    let (mut client, mut connection) = gateway.stream(&agent).await;
    let whole = frames([STARTED, FINISHED]);
    connection.send(chunk(&whole)).await;
    client.expect(&whole).await;
    connection.reset();
    assert_eq!(client.rest().await, "");
    gateway.shows("tidegate_runs_total", &["outcome=\"truncated\""], 2.0).await;
    gateway.shows("tidegate_runs_total", &["outcome=\"finished\""], 1.0).await;
}

#[tokio::test]
async fn an_event_beyond_its_limit_ends_the_run() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", "limits = { frame = \"1KiB\" }");
    let large = delta(&"x".repeat(2000));
    for size in [10, 100_000] {
        let (mut client, mut connection) = gateway.stream(&agent).await;
        connection.send(chunk(frame(STARTED))).await;
        client.expect(&frame(STARTED)).await;
        for piece in format!("data: {large}").as_bytes().chunks(size) {
            connection.try_send(chunk(piece)).await;
        }
        assert_eq!(code_of(&client.rest().await), "FRAME_TOO_LARGE");
        connection.is_left().await;
    }
    gateway.counted("violation", 2.0).await;
}

#[tokio::test]
async fn an_answer_that_is_no_stream_passes() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    for (status, media) in [("500 Oh", "application/json"), ("422 No", "text/plain"), ("200 OK", "text/html")] {
        let mut client = gateway.ask(post("/")).await;
        let (mut connection, ..) = agent.request().await;
        connection.send(format!("HTTP/1.1 {status}\r\ncontent-type: {media}\r\ncontent-length: 4\r\n\r\nbody")).await;
        let (head, body) = client.message().await;
        assert!(head.start.contains(&status[..3]), "{}", head.start);
        assert_eq!((head.header("content-type"), body.as_slice()), (Some(media), &b"body"[..]));
    }
    gateway.counted("agent_status", 3.0).await;
}

#[tokio::test]
async fn an_answer_that_is_no_stream_becomes_an_error_of_the_run_where_that_is_asked_for() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", "on_error = { status = \"run_error\" }");
    for answer in [
        "HTTP/1.1 500 Oh\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}",
        "HTTP/1.1 404 No\r\ncontent-length: 4\r\n\r\nbody",
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 4\r\n\r\nbody",
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 302 Found\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 503 Oh\r\ncontent-type: text/event-stream\r\ncontent-length: 0\r\n\r\n",
    ] {
        let mut client = gateway.ask(post("/")).await;
        let (mut connection, ..) = agent.request().await;
        connection.send(answer).await;
        let head = client.head().await;
        assert_eq!((head.status(), head.header("content-type")), (200, Some("text/event-stream")), "{answer}");
        assert_eq!(code_of(&client.rest().await), "UPSTREAM_STATUS", "{answer}");
        assert_eq!((head.header("location"), head.length()), (None, None));
    }
    gateway.counted("agent_status", 8.0).await;

    let mut client = gateway.ask("POST /x HTTP/1.1\r\nhost: g\r\ncontent-length: 2\r\n\r\n{}").await;
    let (mut connection, ..) = agent.request().await;
    connection.send("HTTP/1.1 500 Oh\r\ncontent-length: 2\r\n\r\nno").await;
    let (head, body) = client.message().await;
    assert_eq!((head.status(), body.as_slice()), (500, &b"no"[..]), "what asked for no run");
}

#[tokio::test]
async fn an_agent_that_takes_no_connection_is_a_502_and_no_request_was_sent() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    drop(agent);
    let mut client = gateway.connect().await;
    for _ in 0..2 {
        client.send(post("/")).await;
        let (head, code) = client.refusal().await;
        assert_eq!((head.status(), code.as_str()), (502, "UPSTREAM_UNREACHABLE"));
        assert_eq!(head.header("content-type"), Some("application/problem+json"));
    }
    gateway.counted("agent_unreachable", 2.0).await;
    assert_eq!(gateway.figure("tidegate_agent_attempts_total", &["result=\"unreachable\""]), 2.0);
}

#[tokio::test]
async fn an_agent_that_speaks_nonsense_is_a_502() {
    for nonsense in
        ["garbage\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab", "SSH-2.0-x\r\n"]
    {
        let agent = Agent::new().await;
        let gateway = Gateway::before(&agent);
        let mut client = gateway.ask(post("/")).await;
        let (mut connection, ..) = agent.request().await;
        connection.send(nonsense).await;
        drop(connection);
        let (head, code) = client.refusal().await;
        assert_eq!((head.status(), code.as_str()), (502, "UPSTREAM_TRUNCATED"), "{nonsense}");
        gateway.counted("truncated", 1.0).await;
        assert!(agent.is_left_alone().await);
    }
}
