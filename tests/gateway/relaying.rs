//! What is no run: it streams through in both directions as it is.

use http::Request;

use super::support::{
    Agent, END, Gateway, chunk, get,
    http2::{Client, feed, rest},
    soon,
};

#[tokio::test]
async fn a_get_is_answered_with_the_agents_status_headers_and_body() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway.ask(get("/info")).await;
    let (mut connection, head, body) = agent.request().await;
    assert_eq!((head.asks(), body.len()), (("GET", "/agui/info"), 0));
    assert_eq!((head.header("content-length"), head.header("transfer-encoding")), (None, None));
    connection
        .send(
            "HTTP/1.1 203 Whatever\r\nContent-Type: application/json; charset=utf-8\r\nset-cookie: a=1\r\n\
             X-Odd:  b  \r\nset-cookie: b=2\r\ncontent-length: 13\r\n\r\n{\"agents\":[]}",
        )
        .await;
    let (head, body) = client.message().await;
    assert_eq!((head.status(), body.as_slice()), (203, &b"{\"agents\":[]}"[..]));
    assert_eq!(head.all("set-cookie"), ["a=1", "b=2"]);
    assert_eq!(head.header("x-odd"), Some("b"));
    assert_eq!(head.header("content-type"), Some("application/json; charset=utf-8"));
    assert_eq!(head.length(), Some(13));
    gateway.shows("tidegate_requests_total", &["route=\"/\"", "status=\"2xx\""], 1.0).await;
    assert_eq!(gateway.figure("tidegate_runs_total", &[]), 0.0);
}

#[tokio::test]
async fn an_upload_is_seen_by_the_agent_before_it_ends() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway.ask("PUT /f HTTP/1.1\r\nhost: g\r\ncontent-length: 8\r\n\r\nab").await;
    let mut connection = agent.accept().await;
    let head = connection.head().await;
    assert_eq!((head.asks(), head.length()), (("PUT", "/agui/f"), Some(8)));
    assert_eq!(connection.exactly(2).await, b"ab");
    client.send("cd").await;
    assert_eq!(connection.exactly(2).await, b"cd");
    client.send("efgh").await;
    assert_eq!(connection.exactly(4).await, b"efgh");
    connection.send("HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(client.message().await.0.status(), 201);
}

#[tokio::test]
async fn a_chunked_upload_is_seen_before_it_ends_with_its_trailers() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway
        .ask("POST /f HTTP/1.1\r\nhost: g\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n3;ext=1\r\nabc\r\n")
        .await;
    let mut connection = agent.accept().await;
    let head = connection.head().await;
    assert!(head.is_chunked());
    assert_eq!(head.header("content-length"), None);
    assert_eq!(connection.chunk().await.unwrap(), b"abc");
    client.send("2\r\nde\r\n").await;
    assert_eq!(connection.chunk().await.unwrap(), b"de");
    client.send("0\r\nx-sum: 5\r\n\r\n").await;
    assert_eq!(connection.until("\r\n\r\n").await, b"0\r\nx-sum: 5\r\n\r\n");
    connection.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(client.message().await.0.status(), 200);
}

#[tokio::test]
async fn a_download_is_seen_by_the_client_before_it_ends_with_its_trailers() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway.ask("GET /f HTTP/1.1\r\nhost: g\r\nte: trailers\r\n\r\n").await;
    let (mut connection, head, _) = agent.request().await;
    assert_eq!(head.header("te"), Some("trailers"));
    connection.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n").await;
    assert!(client.head().await.is_chunked());
    for piece in ["one", "two"] {
        connection.send(chunk(piece)).await;
        assert_eq!(client.chunk().await.unwrap(), piece.as_bytes());
    }
    connection.send("0\r\nx-sum: 6\r\n\r\n").await;
    assert_eq!(client.until("\r\n\r\n").await, b"0\r\nx-sum: 6\r\n\r\n");
}

#[tokio::test]
async fn a_download_with_a_length_keeps_it_and_one_without_ends_with_its_connection() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway.ask(get("/a")).await;
    let (mut connection, ..) = agent.request().await;
    connection.send("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nab").await;
    assert_eq!(client.head().await.length(), Some(4));
    assert_eq!(client.exactly(2).await, b"ab");
    connection.send("cd").await;
    assert_eq!(client.exactly(2).await, b"cd");
    client.send(get("/b")).await;
    assert_eq!(connection.head().await.asks().1, "/agui/b");
    connection.send("HTTP/1.1 200 OK\r\n\r\nto the ").await;
    assert!(client.head().await.is_chunked());
    assert_eq!(client.chunk().await.unwrap(), b"to the ");
    connection.send("end").await;
    drop(connection);
    assert_eq!(client.rest().await, "end");
}

#[tokio::test]
async fn a_download_has_one_length_at_the_client_or_none_beside_its_coding() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    for (lines, body, length) in [
        ("content-length: 4, 4", "abcd", Some("4")),
        ("content-length: 4\r\ncontent-length: 4", "abcd", Some("4")),
        ("content-length: 0004\r\ncontent-length: 4", "abcd", Some("4")),
        ("content-length: 3\r\ntransfer-encoding: chunked", "4\r\nabcd\r\n0\r\n\r\n", None),
        ("transfer-encoding: chunked\r\ncontent-length: 30", "4\r\nabcd\r\n0\r\n\r\n", None),
    ] {
        let answer =
            format!("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n{lines}\r\n\r\n{body}");
        let mut client = gateway.ask(get("/x")).await;
        let (mut connection, ..) = agent.request().await;
        connection.send(&answer).await;
        drop(connection);
        let (head, got) = client.message().await;
        assert_eq!((head.status(), got.as_slice()), (200, &b"abcd"[..]), "{lines}");
        assert_eq!(
            (head.all("content-length").first().copied(), head.is_chunked()),
            (length, length.is_none()),
            "{lines}"
        );
        let mut client = Client::connect(&gateway).await;
        let asked = client.send(Request::get("http://gate/x"), feed().1);
        let (mut connection, ..) = agent.request().await;
        connection.send(&answer).await;
        drop(connection);
        let got = soon(asked).await.unwrap();
        let lengths: Vec<_> =
            got.headers().get_all("content-length").iter().map(|value| value.to_str().unwrap()).collect();
        assert_eq!(lengths.first().copied(), length, "{lines}");
        assert!(lengths.len() < 2, "{lines}");
        assert_eq!(rest(got.into_body()).await, "abcd", "{lines}");
    }
}

#[tokio::test]
async fn a_download_whose_lengths_differ_is_no_answer() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    for lines in
        ["content-length: 4\r\ncontent-length: 5", "content-length: 4, 5", "content-length: +4", "content-length:"]
    {
        for method in ["GET", "HEAD"] {
            let mut client = gateway.ask(format!("{method} /x HTTP/1.1\r\nhost: g\r\n\r\n")).await;
            let (mut connection, ..) = agent.request().await;
            connection.send(format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\n")).await;
            let head = client.head().await;
            assert_eq!(head.status(), 502, "{method} {lines}");
            assert_eq!(head.header("content-type"), Some("application/problem+json"), "{method} {lines}");
        }
    }
}

#[tokio::test]
async fn a_download_that_breaks_off_breaks_off_at_the_client_too() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    for head in ["content-length: 9", "transfer-encoding: chunked"] {
        let mut client = gateway.ask(get("/a")).await;
        let (mut connection, ..) = agent.request().await;
        connection.send(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n2\r\nab\r\n")).await;
        client.until("ab\r\n").await;
        connection.reset();
        let (rest, _) = client.leftover().await;
        assert!(rest.is_empty(), "a proper end: {rest:?}");
    }
}

#[tokio::test]
async fn answers_without_a_body_leave_the_connections_usable() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway.connect().await;
    client.send("HEAD /f HTTP/1.1\r\nhost: g\r\n\r\n").await;
    let (mut connection, head, _) = agent.request().await;
    assert_eq!(head.asks().0, "HEAD");
    connection.send("HTTP/1.1 200 OK\r\ncontent-length: 1234\r\netag: \"e\"\r\n\r\n").await;
    let head = client.head().await;
    assert_eq!((head.status(), head.length(), head.header("etag")), (200, Some(1234), Some("\"e\"")));
    for status in ["204 No Content", "304 Not Modified"] {
        client.send(get("/f")).await;
        connection.head().await;
        connection.send(format!("HTTP/1.1 {status}\r\netag: \"e\"\r\n\r\n")).await;
        let head = client.head().await;
        assert!(head.start.contains(&status[..3]));
        assert_eq!((head.header("etag"), head.header("transfer-encoding")), (Some("\"e\""), None));
        assert!(client.is_quiet().await);
    }
    client.send("HEAD /stream HTTP/1.1\r\nhost: g\r\naccept: text/event-stream\r\n\r\n").await;
    connection.head().await;
    connection.send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").await;
    assert_eq!(client.head().await.status(), 200);
    assert!(client.is_quiet().await);
}

#[tokio::test]
async fn a_preflight_is_the_agents_to_answer() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway
        .ask("OPTIONS / HTTP/1.1\r\nhost: g\r\norigin: https://app\r\naccess-control-request-method: POST\r\n\r\n")
        .await;
    let (mut connection, head, _) = agent.request().await;
    assert_eq!((head.asks().0, head.header("origin")), ("OPTIONS", Some("https://app")));
    connection.send("HTTP/1.1 200 OK\r\naccess-control-allow-origin: https://app\r\ncontent-length: 2\r\n\r\nOK").await;
    let (head, body) = client.message().await;
    assert_eq!((head.header("access-control-allow-origin"), body.as_slice()), (Some("https://app"), &b"OK"[..]));
}

#[tokio::test]
async fn an_answer_before_the_upload_is_complete_reaches_the_client() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway.ask("POST /f HTTP/1.1\r\nhost: g\r\ncontent-length: 100000\r\n\r\nabc").await;
    let mut connection = agent.accept().await;
    connection.head().await;
    connection.exactly(3).await;
    connection.send("HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno").await;
    let (head, body) = client.message().await;
    assert_eq!((head.status(), body.as_slice()), (403, &b"no"[..]));
}

#[tokio::test]
async fn an_answer_that_streams_while_the_upload_goes_on_does_so_in_both_directions() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway.ask("POST /echo HTTP/1.1\r\nhost: g\r\ntransfer-encoding: chunked\r\n\r\n").await;
    let mut connection = agent.accept().await;
    connection.head().await;
    connection.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
    client.head().await;
    for piece in ["one", "two", "three"] {
        client.send(chunk(piece)).await;
        assert_eq!(connection.chunk().await.unwrap(), piece.as_bytes());
        connection.send(chunk(piece)).await;
        assert_eq!(client.chunk().await.unwrap(), piece.as_bytes());
    }
    client.send(END).await;
    assert_eq!(connection.chunk().await, None);
    connection.send(END).await;
    assert_eq!(client.rest().await, "");
}

#[tokio::test]
async fn much_passes_whole_in_both_directions() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let body: Vec<u8> = (0..3_000_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut client = gateway.connect().await;
    let request =
        [format!("PUT /f HTTP/1.1\r\nhost: g\r\ncontent-length: {}\r\n\r\n", body.len()).as_bytes(), &body].concat();
    let there = tokio::spawn(async move {
        client.send(request).await;
        client.message().await.1
    });
    let (mut connection, _, got) = agent.request().await;
    assert!(got == body);
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
    connection.send([head.as_bytes(), &body].concat()).await;
    assert!(there.await.unwrap() == body);
}
