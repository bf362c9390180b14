//! Limits of time: each ends what waits, says which one it was, and lets the agent go.

use std::time::Duration;

use http::Request;

use super::support::{
    Agent, Connection, FINISHED, Gateway, INPUT, STARTED, STREAM, chunk, code_of, delta, frame, get,
    http2::{self, Client, Http2Agent, feed},
    post, soon,
};

async fn problem(mut client: Connection) -> (u16, String) {
    let (head, code) = client.refusal().await;
    (head.status(), code)
}

fn with(agent: &Agent, timeouts: &str) -> Gateway {
    Gateway::with(agent, &format!("timeouts = {{ {timeouts} }}"), "")
}

#[tokio::test]
async fn an_agent_that_takes_no_connection_in_time_is_a_504() {
    use socket2::{Domain, SockAddr, Socket, Type};
    let silent = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    silent.bind(&SockAddr::from("127.0.0.1:0".parse::<std::net::SocketAddr>().unwrap())).unwrap();
    silent.listen(0).unwrap();
    let address = silent.local_addr().unwrap().as_socket().unwrap();
    // As many as its backlog takes, so that the next ones hear nothing.
    let mut waiting = Vec::new();
    while let Ok(Ok(stream)) =
        tokio::time::timeout(Duration::from_millis(100), tokio::net::TcpStream::connect(address)).await
    {
        waiting.push(stream);
    }
    let gateway = Gateway::start(&format!(
        "[agents.bot]\nurl = \"http://{address}\"\ntimeouts = {{ connect = \"100ms\" }}\n[[routes]]\nagent = \"bot\"\n"
    ));
    let client = gateway.ask(post("/")).await;
    assert_eq!(problem(client).await, (504, "UPSTREAM_UNREACHABLE".into()));
    gateway.counted("agent_unreachable", 1.0).await;
    gateway.shows("tidegate_agent_connect_seconds_count", &["result=\"timeout\""], 1.0).await;
}

#[tokio::test]
async fn an_agent_that_does_not_answer_in_time_is_a_504_and_is_let_go() {
    for (limit, code, outcome) in
        [("first_event", "FIRST_EVENT_TIMEOUT", "timeout_first_event"), ("run", "RUN_TIMEOUT", "timeout_run")]
    {
        let agent = Agent::new().await;
        let gateway = with(&agent, &format!("{limit} = \"100ms\""));
        let client = gateway.ask(post("/")).await;
        let (mut connection, ..) = agent.request().await;
        assert_eq!(problem(client).await, (504, code.into()));
        connection.is_left().await;
        gateway.counted(outcome, 1.0).await;
        gateway.shows("tidegate_agent_attempts_total", &["result=\"timeout\""], 1.0).await;
    }
}

#[tokio::test]
async fn an_agent_that_sends_no_first_event_in_time_ends_the_run() {
    let agent = Agent::new().await;
    let gateway = with(&agent, "first_event = \"150ms\", idle = \"20ms\", progress = \"20ms\"");
    let mut client = gateway.ask(post("/")).await;
    let (mut connection, ..) = agent.request().await;
    connection.send(STREAM).await;
    assert_eq!(client.head().await.status(), 200);
    connection.send(chunk(": comments are no events\n\n")).await;
    assert_eq!(code_of(&client.rest().await), "FIRST_EVENT_TIMEOUT");
    connection.is_left().await;
    gateway.counted("timeout_first_event", 1.0).await;
}

#[tokio::test]
async fn silence_ends_the_run_and_comments_end_silence() {
    let agent = Agent::new().await;
    let gateway = with(&agent, "idle = \"400ms\"");
    let (mut client, mut connection) = gateway.stream(&agent).await;
    connection.send(chunk(frame(STARTED))).await;
    for _ in 0..8 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        connection.send(chunk(": here\n\n")).await;
    }
    connection.send(chunk(frame(&delta("a")))).await;
    let expected = frame(STARTED) + &frame(&delta("a"));
    client.expect(&frame(STARTED)).await;
    client.expect(&frame(&delta("a"))).await;
    assert_eq!(code_of(&client.rest().await), "IDLE_TIMEOUT", "after {expected}");
    connection.is_left().await;
    gateway.counted("timeout_idle", 1.0).await;
}

#[tokio::test]
async fn comments_are_no_progress() {
    let agent = Agent::new().await;
    let gateway = with(&agent, "progress = \"300ms\", idle = \"off\"");
    let (mut client, mut connection) = gateway.run(&agent).await;
    let pings = tokio::spawn(async move {
        for _ in 0..100 {
            connection.try_send(chunk(": here\n\n")).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    assert_eq!(code_of(&client.rest().await), "IDLE_TIMEOUT");
    assert!(!pings.is_finished());
    gateway.counted("timeout_idle", 1.0).await;
}

#[tokio::test]
async fn a_run_ends_when_its_time_is_over_whatever_it_says() {
    let agent = Agent::new().await;
    let gateway = with(&agent, "run = \"300ms\"");
    let (mut client, mut connection) = gateway.stream(&agent).await;
    let talk = tokio::spawn(async move {
        for _ in 0..1000 {
            connection.try_send(chunk(frame(&delta("a")))).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    let text = client.rest().await;
    let last = text.rsplit_once("\n\ndata: ").unwrap().1;
    assert_eq!(code_of(&format!("data: {last}")), "RUN_TIMEOUT");
    assert_eq!(text.matches("RUN_ERROR").count(), 1);
    assert!(!talk.is_finished());
    gateway.counted("timeout_run", 1.0).await;
}

#[tokio::test]
async fn a_client_that_stops_in_its_upload_is_a_408_and_the_agent_is_let_go() {
    let agent = Agent::new().await;
    let gateway = with(&agent, "first_event = \"150ms\"");
    let client = gateway.ask("POST / HTTP/1.1\r\nhost: g\r\ncontent-length: 100\r\n\r\n{\"thr").await;
    let mut connection = agent.accept().await;
    connection.head().await;
    assert_eq!(problem(client).await, (408, "BODY_TIMEOUT".into()));
    connection.is_left().await;
    gateway.shows("tidegate_requests_refused_total", &["reason=\"malformed\""], 1.0).await;
    assert_eq!(gateway.figure("tidegate_runs_total", &[]), 0.0);
}

#[tokio::test]
async fn an_upload_that_outlasts_a_run_is_the_clients_fault() {
    let agent = Agent::new().await;
    let gateway = with(&agent, "run = \"400ms\"");
    let mut client = gateway.ask("POST / HTTP/1.1\r\nhost: g\r\ncontent-length: 100\r\n\r\n").await;
    let mut connection = agent.accept().await;
    connection.head().await;
    for byte in INPUT[..20].bytes() {
        client.try_send([byte]).await;
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    assert_eq!(problem(client).await, (408, "BODY_TIMEOUT".into()));
    connection.is_left().await;
    gateway.shows("tidegate_requests_refused_total", &["reason=\"malformed\""], 1.0).await;
    assert_eq!(gateway.figure("tidegate_runs_total", &[]), 0.0);
}

#[tokio::test]
async fn an_agent_that_does_not_take_the_input_is_a_504() {
    for (limit, code, outcome) in
        [("first_event", "FIRST_EVENT_TIMEOUT", "timeout_first_event"), ("run", "RUN_TIMEOUT", "timeout_run")]
    {
        let agent = Http2Agent::new().await;
        let gateway = agent.gateway(&format!("timeouts = {{ {limit} = \"1s\" }}"), "");
        let body = " ".repeat(3_000_000) + INPUT;
        let length = body.len();
        let client = gateway.ask(format!("POST / HTTP/1.1\r\nhost: g\r\ncontent-length: {length}\r\n\r\n{body}")).await;
        assert_eq!(problem(client).await, (504, code.into()));
        gateway.counted(outcome, 1.0).await;
        assert_eq!(gateway.figure("tidegate_requests_refused_total", &[]), 0.0);
    }
}

#[tokio::test]
async fn an_agent_that_does_not_take_the_input_is_a_504_over_http_2() {
    for (limit, outcome) in [("first_event", "timeout_first_event"), ("run", "timeout_run")] {
        let mut agent = Http2Agent::new().await;
        let gateway = agent.gateway(&format!("timeouts = {{ {limit} = \"2s\" }}"), "");
        let mut client = Client::connect(&gateway).await;
        let (feeder, body) = feed();
        let request = Request::post("http://gate/").header("content-type", "application/json");
        let answer = tokio::spawn(client.send(request, body));
        // More than the agent's side takes unread, and no more than waits at the gateway beside that.
        tokio::spawn(async move {
            for _ in 0..74 {
                feeder.data([b' '; 16 * 1024]).await;
            }
            feeder.data(INPUT).await
        });
        let unread = agent.request().await;
        assert_eq!(soon(answer).await.unwrap().unwrap().status(), 504);
        gateway.counted(outcome, 1.0).await;
        assert_eq!(gateway.figure("tidegate_requests_refused_total", &[]), 0.0);
        drop((client, unread));
    }
}

#[tokio::test]
async fn an_upload_that_goes_on_is_given_its_time() {
    let agent = Agent::new().await;
    let gateway = with(&agent, "first_event = \"400ms\"");
    let mut client = gateway.ask("POST / HTTP/1.1\r\nhost: g\r\ncontent-length: 10\r\n\r\n").await;
    let mut connection = agent.accept().await;
    connection.head().await;
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(80)).await;
        client.send("a").await;
    }
    connection.exactly(10).await;
    connection.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(client.message().await.0.status(), 200);
}

#[tokio::test]
async fn an_answer_that_is_no_run_may_be_silent_for_longer_than_one() {
    let agent = Agent::new().await;
    let gateway = with(&agent, "idle = \"50ms\", first_event = \"100ms\"");
    let mut client = gateway.ask(get("/file")).await;
    let (mut connection, ..) = agent.request().await;
    connection.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\na").await;
    client.head().await;
    tokio::time::sleep(Duration::from_millis(250)).await;
    connection.send("b").await;
    assert_eq!(soon(client.exactly(2)).await, b"ab");
}

#[tokio::test]
async fn an_answer_that_is_no_stream_breaks_off_when_the_time_of_a_run_is_over() {
    for (request, runs) in [(post("/"), 1.0), (get("/file"), 0.0)] {
        for talks in [false, true] {
            let agent = Agent::new().await;
            let gateway = with(&agent, "run = \"300ms\"");
            let mut client = gateway.ask(&request).await;
            let (mut connection, ..) = agent.request().await;
            connection.send("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 99999\r\n\r\n<html>").await;
            assert_eq!(client.head().await.status(), 200);
            let talk = tokio::spawn(async move {
                while talks && connection.pour(b"a").await {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                connection.is_left().await;
            });
            client.is_left().await;
            soon(talk).await.unwrap();
            gateway.shows("tidegate_runs_total", &["outcome=\"agent_status\""], runs).await;
            gateway.is_clean().await;
        }
    }
}

#[tokio::test]
async fn an_answer_whose_client_does_not_read_is_given_up_when_the_time_of_a_run_is_over() {
    let agent = Agent::new().await;
    let gateway = with(&agent, "run = \"500ms\"");
    let mut client = gateway.ask(get("/file")).await;
    let (mut connection, ..) = agent.request().await;
    connection.send("HTTP/1.1 200 OK\r\ncontent-length: 999999999\r\n\r\n").await;
    client.head().await;
    soon(async { while connection.pour(&[b'a'; 64 * 1024]).await {} }).await;
}

#[tokio::test]
async fn a_client_that_takes_nothing_of_its_stream_over_http_2_holds_no_run_beyond_its_limit() {
    for (window, slow_client) in [(0, "wait"), (64, "wait"), (0, "merge"), (64, "merge")] {
        let agent = Agent::new().await;
        let route = format!("limits = {{ runs = 1 }}\nthrottle = {{ slow_client = \"{slow_client}\" }}");
        let gateway = Gateway::with(&agent, "timeouts = { run = \"300ms\" }", &route);
        let mut client = Client::narrow(&gateway, window).await;
        let (answer, mut connection) = client.stream(&agent).await;
        connection.send(chunk([frame(STARTED), frame(&delta(&"x".repeat(100)))].concat())).await;
        connection.is_left().await;
        gateway.shows("tidegate_runs_total", &["outcome=\"timeout_run\""], 1.0).await;
        gateway.shows("tidegate_runs_active", &[], 0.0).await;

        // The run's place is free for another, while its client is still there.
        let (mut other, _connection) = gateway.run(&agent).await;
        assert!(code_of(&other.rest().await) == "RUN_TIMEOUT");
        if window > 0 {
            let body = http2::rest(answer.into_body()).await;
            let last = body.trim_end().rsplit("\n\n").next().unwrap();
            assert_eq!(code_of(&format!("{last}\n\n")), "RUN_TIMEOUT", "{body}");
        }
        client.close();
        gateway.counted("timeout_run", 2.0).await;
    }
}

#[tokio::test]
async fn a_client_that_takes_nothing_of_another_answer_over_http_2_holds_no_agent_beyond_its_limit() {
    for window in [0, 64] {
        let agent = Agent::new().await;
        let gateway = Gateway::with(&agent, "timeouts = { run = \"300ms\" }", "limits = { runs = 1 }");
        let mut client = Client::narrow(&gateway, window).await;
        let (answer, mut connection) =
            client.answered(&agent, "HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n").await;
        connection.send("x".repeat(100)).await;
        connection.is_left().await;
        gateway.shows("tidegate_agent_connections", &[], 0.0).await;
        gateway.shows("tidegate_runs_active", &[], 0.0).await;

        // The place is free for another, while this client is still there.
        let (mut other, _connection) = gateway.run(&agent).await;
        assert!(code_of(&other.rest().await) == "RUN_TIMEOUT");
        if window > 0 {
            assert!(http_body_util::BodyExt::collect(answer.into_body()).await.is_err(), "it breaks off");
        }
        client.close();
    }
}

#[tokio::test]
async fn a_run_that_ends_in_time_over_http_2_is_counted_once() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "timeouts = { run = \"200ms\" }", "");
    let mut client = Client::narrow(&gateway, 64).await;
    let (answer, mut connection) = client.stream(&agent).await;
    connection.send(chunk(frame(STARTED))).await;
    connection.send(chunk(frame(FINISHED))).await;
    connection.send("0\r\n\r\n").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    gateway.shows("tidegate_runs_active", &[], 0.0).await;
    assert!(http2::rest(answer.into_body()).await.starts_with(&frame(STARTED)));
    assert_eq!(gateway.figure("tidegate_runs_total", &[]), 1.0);
}
