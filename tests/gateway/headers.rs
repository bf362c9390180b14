//! What the agent sees of a request's headers, and the client of an answer's.

use super::support::{Agent, END, Gateway, Head, STREAM, chunk, frame, post};

/// Sends this request and has it answered; the request as the agent got it and the answer's head.
async fn exchange(gateway: &Gateway, agent: &Agent, request: &str, answer: &str) -> (Head, Head) {
    let mut client = gateway.ask(request).await;
    let (mut connection, asked, _) = agent.request().await;
    connection.send(answer).await;
    (asked, client.head().await)
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

#[tokio::test]
async fn what_belongs_to_one_connection_stays_on_it() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let (asked, answered) = exchange(
        &gateway,
        &agent,
        "GET /x HTTP/1.1\r\nhost: g\r\nconnection: keep-alive, X-Hop\r\nx-hop: 1\r\nkeep-alive: timeout=5\r\n\
         proxy-connection: keep-alive\r\nte: gzip;q=0.5\r\nproxy-authorization: Basic eDp5\r\nx-kept: a\r\nx-kept: b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nconnection: x-secret\r\nx-secret: 1\r\nkeep-alive: timeout=5\r\nproxy-connection: close\r\n\
         upgrade: h2c\r\nx-kept: c\r\ncontent-length: 0\r\n\r\n",
    )
    .await;
    for gone in ["x-hop", "keep-alive", "proxy-connection", "te", "proxy-authorization", "upgrade", "connection"] {
        assert_eq!(asked.header(gone), None, "{gone}");
    }
    assert_eq!(asked.all("x-kept"), ["a", "b"]);
    for gone in ["x-secret", "keep-alive", "proxy-connection", "upgrade", "connection"] {
        assert_eq!(answered.header(gone), None, "{gone}");
    }
    assert_eq!(answered.header("x-kept"), Some("c"));
}

#[tokio::test]
async fn connection_cannot_take_away_what_frames_the_body() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway
        .ask("POST /x HTTP/1.1\r\nhost: g\r\nconnection: content-length, host\r\ncontent-length: 3\r\n\r\nabc")
        .await;
    let (mut connection, head, body) = agent.request().await;
    assert_eq!((head.length(), body.as_slice()), (Some(3), &b"abc"[..]));
    assert_eq!(head.header("host"), Some(agent.address().to_string().as_str()));
    connection.send(OK).await;
    assert_eq!(client.message().await.0.status(), 200);
}

#[tokio::test]
async fn the_agent_learns_who_asks_and_through_whom() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let request = "GET /x HTTP/1.1\r\nHost: chat.example:81\r\nx-forwarded-for: 1.2.3.4\r\nforwarded: for=1.2.3.4\r\n\
                   via: 1.0 old\r\nuser-agent: test\r\n\r\n";
    let (asked, _) = exchange(&gateway, &agent, request, OK).await;
    assert_eq!(asked.header("host"), Some(agent.address().to_string().as_str()));
    assert_eq!(asked.header("x-forwarded-for"), Some("127.0.0.1"));
    assert_eq!(asked.header("x-forwarded-host"), Some("chat.example:81"));
    assert_eq!(asked.header("x-forwarded-proto"), Some("http"));
    assert_eq!(asked.header("forwarded"), Some("for=127.0.0.1;host=\"chat.example:81\";proto=http"));
    assert_eq!(asked.all("via"), ["1.0 old", "1.1 tidegate"]);
    assert_eq!(asked.header("user-agent"), Some("test"));
}

#[tokio::test]
async fn a_trusted_proxys_word_on_its_client_is_kept() {
    let agent = Agent::new().await;
    let gateway = Gateway::start(&format!("trusted_proxies = [\"127.0.0.0/8\"]\nagent = \"{}\"", agent.url()));
    let request = "GET /x HTTP/1.1\r\nHost: inner\r\nx-forwarded-for: 9.9.9.9\r\nx-forwarded-host: chat.example\r\n\
                   x-forwarded-proto: https\r\n\r\n";
    let (asked, _) = exchange(&gateway, &agent, request, OK).await;
    assert_eq!(asked.header("x-forwarded-for"), Some("9.9.9.9, 127.0.0.1"));
    assert_eq!(asked.header("x-forwarded-host"), Some("chat.example"));
    assert_eq!(asked.header("x-forwarded-proto"), Some("https"));
}

#[tokio::test]
async fn a_trace_is_kept_or_started() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let sent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let request = format!("GET /x HTTP/1.1\r\nhost: g\r\ntraceparent: {sent}\r\ntracestate: a=b\r\n\r\n");
    let (asked, _) = exchange(&gateway, &agent, &request, OK).await;
    assert_eq!((asked.header("traceparent"), asked.header("tracestate")), (Some(sent), Some("a=b")));

    let request = "GET /x HTTP/1.1\r\nhost: g\r\ntraceparent: nonsense\r\ntracestate: a=b\r\n\r\n";
    let (asked, _) = exchange(&gateway, &agent, request, OK).await;
    let started = asked.header("traceparent").unwrap();
    let parts: Vec<usize> = started.split('-').map(str::len).collect();
    assert_eq!((parts, asked.header("tracestate")), (vec![2, 32, 16, 2], None), "{started}");
}

#[tokio::test]
async fn configured_headers_replace_and_remove() {
    let agent = Agent::new().await;
    let keys =
        "headers = { set = { authorization = \"Bearer service\", host = \"inner.example\" }, remove = [\"cookie\"] }";
    let gateway = Gateway::with(&agent, keys, "");
    let request = "GET /x HTTP/1.1\r\nhost: g\r\nauthorization: Bearer user\r\ncookie: a\r\ncookie: b\r\n\r\n";
    let (asked, _) = exchange(&gateway, &agent, request, OK).await;
    assert_eq!(asked.header("authorization"), Some("Bearer service"));
    assert_eq!((asked.header("cookie"), asked.header("host")), (None, Some("inner.example")));
}

#[tokio::test]
async fn a_run_is_asked_for_uncoded_and_answered_unbuffered() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let request = post("/").replace("accept:", "accept-encoding: gzip, br\r\naccept:");
    let mut client = gateway.ask(request).await;
    let (mut connection, asked, _) = agent.request().await;
    assert_eq!(asked.header("accept-encoding"), Some("identity"));
    assert_eq!(asked.header("accept"), Some("text/event-stream"));
    let event = frame(r#"{"type":"RUN_ERROR","message":"x"}"#);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: Text/Event-Stream;charset=utf-8\r\ncache-control: max-age=9\r\n\
                etag: \"e\"\r\nx-request-id: 7\r\naccept-ranges: bytes\r\n";
    connection.send(format!("{head}content-length: {}\r\n\r\n{event}", event.len())).await;
    let head = client.head().await;
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    assert_eq!(head.header("cache-control"), Some("no-cache, no-transform"));
    assert_eq!(head.header("x-accel-buffering"), Some("no"));
    assert_eq!((head.length(), head.is_chunked()), (None, true));
    assert_eq!((head.header("etag"), head.header("accept-ranges")), (None, None));
    assert_eq!(head.header("x-request-id"), Some("7"));
    assert_eq!(client.rest().await, event);
}

#[tokio::test]
async fn a_get_keeps_its_accept_encoding_unless_it_names_event_streams() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let get = |accept: &str| format!("GET /x HTTP/1.1\r\nhost: g\r\naccept: {accept}\r\naccept-encoding: gzip\r\n\r\n");
    let (asked, _) = exchange(&gateway, &agent, &get("*/*"), OK).await;
    assert_eq!(asked.header("accept-encoding"), Some("gzip"));
    let (asked, _) = exchange(&gateway, &agent, &get("text/event-stream"), OK).await;
    assert_eq!(asked.header("accept-encoding"), Some("identity"));
}

#[tokio::test]
async fn expect_continue_is_answered_when_the_body_is_wanted() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client =
        gateway.ask("POST /x HTTP/1.1\r\nhost: g\r\nexpect: 100-Continue\r\ncontent-length: 3\r\n\r\n").await;
    let mut connection = agent.accept().await;
    assert_eq!(client.head().await.status(), 100);
    client.send("abc").await;
    let (head, body) = connection.message().await;
    assert_eq!((head.header("expect"), body.as_slice()), (None, &b"abc"[..]));
    connection.send(STREAM).await;
    assert_eq!(client.head().await.status(), 200);
    connection.send(chunk(frame("{}"))).await;
    connection.send(END).await;
    assert_eq!(client.rest().await, frame("{}"));
}

#[tokio::test]
async fn a_body_that_says_it_is_too_large_is_refused_before_it_is_sent() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", "limits = { body = \"1KiB\" }");
    let mut client =
        gateway.ask("POST /x HTTP/1.1\r\nhost: g\r\nexpect: 100-continue\r\ncontent-length: 1025\r\n\r\n").await;
    let (head, code) = client.refusal().await;
    assert_eq!((head.status(), code.as_str()), (413, "BODY_TOO_LARGE"));
    assert_eq!(head.header("connection"), Some("close"));
    assert!(client.leftover().await.0.is_empty());
    assert!(agent.is_left_alone().await);
    gateway.shows("tidegate_requests_refused_total", &["reason=\"body\""], 1.0).await;
}

#[tokio::test]
async fn a_body_that_turns_out_too_large_never_reaches_the_agent_whole() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", "limits = { body = \"1KiB\" }");
    let mut client = gateway.ask("POST /x HTTP/1.1\r\nhost: g\r\ntransfer-encoding: chunked\r\n\r\n").await;
    client.send(chunk([b'a'; 1000])).await;
    let mut connection = agent.accept().await;
    connection.head().await;
    assert_eq!(connection.chunk().await.unwrap().len(), 1000);
    client.send(chunk([b'b'; 1000])).await;
    let (rest, _) = connection.leftover().await;
    assert!(rest.is_empty(), "{}", String::from_utf8_lossy(&rest));
    assert_eq!(client.head().await.status(), 413);
}

#[tokio::test]
async fn a_client_that_sends_far_too_much_still_reads_why_it_is_refused() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", "limits = { body = \"1KiB\" }");
    let mut client = gateway.ask("POST /x HTTP/1.1\r\nhost: g\r\ncontent-length: 800000\r\n\r\n").await;
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    for _ in 0..8 {
        client.try_send(vec![b'a'; 100_000]).await;
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let (answer, _) = client.leftover().await;
    assert!(answer.starts_with(b"HTTP/1.1 413 "), "{}", String::from_utf8_lossy(&answer));
}

#[tokio::test]
async fn trailers_get_round_no_header_rule() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "headers = { set = { x-tenant = \"acme\" }, remove = [\"x-internal\"] }", "");
    let names = ["x-tenant", "x-internal", "authorization", "x-api-key", "cookie", "x-forwarded-for", "x-sum"];
    let head =
        format!("POST /f HTTP/1.1\r\nhost: g\r\ntransfer-encoding: chunked\r\ntrailer: {}\r\n\r\n", names.join(", "));
    let trailers: String = names.iter().map(|name| format!("{name}: evil\r\n")).collect();
    let mut client = gateway.ask(format!("{head}1\r\na\r\n0\r\n{trailers}\r\n")).await;
    let mut connection = agent.accept().await;
    assert_eq!(connection.head().await.all("x-tenant"), ["acme"]);
    assert_eq!(connection.chunk().await.unwrap(), b"a");
    assert_eq!(connection.until("\r\n\r\n").await, b"0\r\nx-sum: evil\r\n\r\n");
    connection.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(client.message().await.0.status(), 200);
}

#[tokio::test]
async fn a_refusal_says_whether_its_connection_goes_on() {
    let agent = Agent::new().await;
    let auth = "auth = { api_keys = [{ name = \"a\", sha256 = \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\" }] }";
    let gateway = Gateway::with(&agent, "", auth);
    let mut client = gateway.connect().await;
    for _ in 0..2 {
        client.send(post("/")).await;
        let (head, code) = client.refusal().await;
        assert_eq!((head.status(), code.as_str(), head.header("connection")), (401, "UNAUTHORIZED", None));
    }
    for request in [
        "POST / HTTP/1.1\r\nhost: g\r\ncontent-length: 1000\r\n\r\nhalf of it",
        "POST / HTTP/1.1\r\nhost: g\r\ncontent-length: 1000\r\nexpect: 100-continue\r\n\r\n",
    ] {
        let (head, _) = gateway.ask(request).await.refusal().await;
        assert_eq!((head.status(), head.header("connection")), (401, Some("close")), "{request}");
    }
}

#[tokio::test]
async fn the_query_of_an_agents_url_is_nowhere_to_be_seen() {
    let agent = Agent::new().await;
    let gateway = Gateway::start(&format!("agent = \"{}?key=hushhush\"\n", agent.url()));
    let mut client = gateway.ask(post("/")).await;
    let (mut connection, head, _) = agent.request().await;
    assert!(head.asks().1.contains("key=hushhush"));
    connection.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    client.message().await;
    let figures = gateway.figures();
    assert!(figures.contains("?[not shown]\"") && !figures.contains("hushhush"), "{figures}");
}
