//! Connections to agents and clients: used again, replaced, given up; and no request is ever sent twice.

use tokio::net::TcpListener;

use super::support::{Agent, END, FINISHED, Gateway, INPUT, STARTED, STREAM, chunk, frame, frames, get, post};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

#[tokio::test]
async fn one_connection_to_the_agent_serves_one_request_after_the_other() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway.ask(get("/1")).await;
    let (mut connection, ..) = agent.request().await;
    for answer in [
        OK,
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
    ] {
        connection.send(answer).await;
        let head = client.message().await.0;
        assert!(head.status() < 300);
        client.send(post("/2")).await;
        assert_eq!(connection.message().await.1, INPUT.as_bytes());
    }
    assert!(agent.is_left_alone().await);
}

#[tokio::test]
async fn a_connection_that_the_agent_closed_meanwhile_is_replaced_silently() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway.connect().await;
    for reset in [false, true, false] {
        client.send(post("/")).await;
        let (mut connection, _, body) = agent.request().await;
        assert_eq!(body, INPUT.as_bytes());
        connection.send(OK).await;
        assert_eq!(client.message().await.0.status(), 200);
        if reset {
            connection.reset();
        } else {
            drop(connection);
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(gateway.figure("tidegate_requests_total", &["status=\"2xx\""]), 3.0);
}

#[tokio::test]
async fn a_connection_on_which_the_agent_said_more_than_was_asked_is_not_used_again() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway.ask(get("/1")).await;
    let (mut connection, ..) = agent.request().await;
    connection.send(format!("{OK}HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nwrong")).await;
    assert_eq!(client.message().await.1, b"ok");
    client.send(get("/2")).await;
    let (mut other, head, _) = agent.request().await;
    assert_eq!(head.asks().1, "/agui/2");
    other.send(OK).await;
    assert_eq!(client.message().await.1, b"ok");
}

#[tokio::test]
async fn a_request_that_the_agent_may_have_read_is_never_sent_twice() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    for warm in [false, true] {
        for reset in [false, true] {
            let mut client = gateway.connect().await;
            client.send(post("/")).await;
            let (mut connection, ..) = agent.request().await;
            if warm {
                connection.send(OK).await;
                client.message().await;
                client.send(post("/")).await;
                connection.message().await;
            }
            if reset {
                connection.reset();
            } else {
                drop(connection);
            }
            let (head, code) = client.refusal().await;
            assert_eq!((head.status(), code.as_str()), (502, "UPSTREAM_TRUNCATED"));
            assert!(agent.is_left_alone().await);
        }
    }
    gateway.shows("tidegate_agent_attempts_total", &["result=\"broken\""], 4.0).await;
    gateway.shows("tidegate_runs_total", &["outcome=\"truncated\""], 4.0).await;
}

#[tokio::test]
async fn an_agent_that_closes_in_the_middle_of_an_upload_is_not_asked_again() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway.ask("POST / HTTP/1.1\r\nhost: g\r\ncontent-length: 100\r\n\r\nabc").await;
    let mut connection = agent.accept().await;
    connection.head().await;
    connection.reset();
    assert_eq!(client.head().await.status(), 502);
    assert!(agent.is_left_alone().await);
}

#[tokio::test]
async fn a_refused_connection_is_tried_at_the_next_url_and_both_are_counted() {
    let agent = Agent::new().await;
    let dead = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let gateway = Gateway::start(&format!("agent = [\"http://{dead}/a\", \"{}\"]", agent.url()));
    for _ in 0..4 {
        let mut client = gateway.ask(post("/x")).await;
        let (mut connection, head, body) = agent.request().await;
        assert_eq!((head.asks().1, body.as_slice()), ("/agui/x", INPUT.as_bytes()));
        assert_eq!(head.header("host"), Some(agent.address().to_string().as_str()));
        connection.send(STREAM).await;
        connection.send(chunk(frames([STARTED, FINISHED]))).await;
        connection.send(END).await;
        assert_eq!(client.head().await.status(), 200);
        client.rest().await;
    }
    gateway.counted("finished", 4.0).await;
    assert!(gateway.figure("tidegate_agent_attempts_total", &["result=\"unreachable\""]) >= 2.0);
    assert_eq!(gateway.figure("tidegate_agent_attempts_total", &["result=\"stream\""]), 4.0);
}

#[tokio::test]
async fn several_urls_take_turns() {
    let agents = [Agent::new().await, Agent::new().await];
    let gateway = Gateway::start(&format!("agent = [\"{}\", \"{}\"]", agents[0].url(), agents[1].url()));
    for turn in 0..4 {
        let mut client = gateway.ask(get("/x")).await;
        let (mut connection, ..) = agents[turn % 2].request().await;
        connection.send("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok").await;
        assert_eq!(client.message().await.0.status(), 200);
    }
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway.ask([post("/1"), get("/2"), post("/3")].concat()).await;
    let (mut connection, head, _) = agent.request().await;
    assert_eq!(head.asks().1, "/agui/1");
    connection.send(STREAM).await;
    client.head().await;
    connection.send(chunk(frame(STARTED))).await;
    client.expect(&frame(STARTED)).await;
    connection.send(chunk(frame(FINISHED))).await;
    connection.send(END).await;
    assert_eq!(client.rest().await, frame(FINISHED));
    for target in ["/agui/2", "/agui/3"] {
        assert_eq!(connection.message().await.0.asks().1, target);
        connection.send(OK).await;
        assert_eq!(client.message().await.1, b"ok");
    }
}

#[tokio::test]
async fn a_client_of_http_1_0_reads_a_run_to_the_close() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway.ask(post("/").replace("HTTP/1.1", "HTTP/1.0")).await;
    let (mut connection, head, _) = agent.request().await;
    assert!(head.start.ends_with(" HTTP/1.1") && head.header("via") == Some("1.0 tidegate"), "{head:?}");
    connection.send(STREAM).await;
    let head = client.head().await;
    assert_eq!((head.status(), head.header("transfer-encoding"), head.length()), (200, None, None));
    connection.send(chunk(frame(STARTED))).await;
    assert_eq!(client.exactly(frame(STARTED).len()).await, frame(STARTED).into_bytes());
    connection.send(END).await;
    let (rest, proper) = client.leftover().await;
    assert!(proper && String::from_utf8(rest).unwrap().contains("UPSTREAM_TRUNCATED"));
}

#[tokio::test]
async fn an_agent_of_http_1_0_is_understood() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway.ask(post("/")).await;
    let (mut connection, ..) = agent.request().await;
    connection.send(format!("HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n{}", frame(STARTED))).await;
    assert!(client.head().await.is_chunked());
    client.expect(&frame(STARTED)).await;
    connection.send(frame(FINISHED)).await;
    client.expect(&frame(FINISHED)).await;
    drop(connection);
    assert_eq!(client.rest().await, "");
    gateway.counted("finished", 1.0).await;
}

#[tokio::test]
async fn an_interim_answer_is_not_the_answer() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway.ask(get("/x")).await;
    let (mut connection, ..) = agent.request().await;
    connection.send(format!("HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n{OK}")).await;
    assert_eq!(client.message().await.1, b"ok");
}

#[tokio::test]
async fn requests_that_cannot_be_read_are_refused_and_counted() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let many = format!("GET / HTTP/1.1\r\nhost: g\r\n{}\r\n", "x: y\r\n".repeat(150));
    let mut refused = 0.0;
    for (request, status) in [
        ("GET / HTTP/1.1\r\nhost: g\r\nno header\r\n\r\n".to_owned(), 400),
        ("GET /\r\n\r\n".to_owned(), 400),
        (many, 431),
        (format!("{}GET\r\n\r\n", get("/x/../y")), 400),
    ] {
        let mut client = gateway.ask(&request).await;
        if request.contains("..") {
            // A request that can be read is answered on its own before.
            refused += 1.0;
            assert_eq!(client.refusal().await.1, "BAD_PATH");
        }
        let (head, code) = client.refusal().await;
        let told = if status == 431 { "HEAD_TOO_LARGE" } else { "BAD_REQUEST" };
        assert_eq!(
            (head.status(), code.as_str(), head.header("connection")),
            (status, told, Some("close")),
            "{request}"
        );
        drop(client);
        refused += 1.0;
        gateway.shows("tidegate_requests_refused_total", &["reason=\"malformed\""], refused).await;
        gateway.shows("tidegate_requests_total", &["status=\"4xx\""], refused).await;
    }
    // Who only comes and goes is not refused.
    for said in ["", "GET / HT"] {
        gateway.ask(said).await.shut_down().await;
    }
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    assert_eq!(gateway.figure("tidegate_requests_refused_total", &[]), refused);
}

#[tokio::test]
async fn a_client_that_sends_too_much_still_reads_why_it_is_refused() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    for request in [
        format!("GET / HTTP/1.1\r\nhost: g\r\nx-long: {}", "x".repeat(20_000_000)),
        format!("POST /a/../b HTTP/1.1\r\nhost: g\r\ncontent-length: 20000009\r\n\r\n{}", "x".repeat(20_000_000)),
    ] {
        let mut client = gateway.connect().await;
        assert!(client.pour(request.as_bytes()).await);
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        assert!(client.pour(b"x").await, "the gateway reads on");
        let (answer, proper) = client.leftover().await;
        let answer = String::from_utf8_lossy(&answer);
        assert!(proper && answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
}
