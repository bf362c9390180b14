//! Requests that two readers could take apart differently: each is refused, or reaches the agent as exactly one.

use std::sync::{Arc, Mutex};

use http::Request;

use super::support::{
    Agent, Gateway,
    http2::{Client, feed},
    soon,
};

/// What came of a request: its status, and what the agent got whole, if anything.
struct Fate {
    status: u16,
    closed: bool,
    seen: String,
}

/// Sends these bytes to a gateway whose agent answers the first whole request with 200.
async fn fate(request: &str) -> Fate {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let seen = Arc::new(Mutex::new(String::new()));
    let told = seen.clone();
    let task = tokio::spawn(async move {
        let mut connection = agent.accept().await;
        let Some((head, body)) = connection.try_message().await else { return };
        *told.lock().unwrap() = format!("{} {}", head.start, String::from_utf8_lossy(&body));
        connection.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
        // Whatever else comes is another request.
        let (more, _) = connection.leftover().await;
        *told.lock().unwrap() += &String::from_utf8_lossy(&more);
        assert!(!(head.is_chunked() && head.length().is_some()), "{head:?}");
    });
    let mut client = gateway.ask(request).await;
    let head = client.head().await;
    drop(client);
    drop(gateway);
    if head.status() == 200 {
        task.await.unwrap();
    }
    let seen = seen.lock().unwrap().clone();
    Fate { status: head.status(), closed: head.header("connection") == Some("close"), seen }
}

const INNER: &str = "GET /inner HTTP/1.1\r\nhost: g\r\n\r\n";

const BOTH: [&str; 3] = [
    "content-length: 5\r\ntransfer-encoding: chunked",
    "transfer-encoding: chunked\r\ncontent-length: 5",
    "Content-Length: 5\r\nx-a: b\r\nTransfer-Encoding: Chunked\r\ncontent-length: 5",
];

#[tokio::test]
async fn a_length_beside_chunked_is_refused_and_nothing_after_it_is_read() {
    for headers in BOTH {
        let request = format!("POST /outer HTTP/1.1\r\nhost: g\r\n{headers}\r\n\r\n0\r\n\r\n{INNER}");
        let fate = fate(&request).await;
        assert_eq!((fate.status, fate.closed, fate.seen.as_str()), (400, true, ""), "{headers}");
    }
}

#[tokio::test]
async fn a_length_beside_chunked_is_refused_on_a_used_connection_too() {
    for headers in BOTH {
        let agent = Agent::new().await;
        let gateway = Gateway::before(&agent);
        let chunked = "POST /fine HTTP/1.1\r\nhost: g\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        let sized = "POST /fine HTTP/1.1\r\nhost: g\r\ncontent-length: 3\r\n\r\nabc";
        let mut client = gateway.connect().await;
        let mut connection = None;
        for request in [chunked, sized, chunked] {
            client.send(request).await;
            if connection.is_none() {
                connection = Some(agent.accept().await);
            }
            let connection = connection.as_mut().unwrap();
            assert_eq!(connection.message().await.1, b"abc");
            connection.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
            assert_eq!(client.message().await.0.status(), 200);
        }
        for piece in format!("POST /x HTTP/1.1\r\nhost: g\r\n{headers}\r\n\r\n0\r\n\r\n").as_bytes().chunks(29) {
            client.send_apart([piece]).await;
        }
        let (head, code) = client.refusal().await;
        assert_eq!((head.status(), code.as_str()), (400, "BAD_FRAMING"), "{headers}");
        assert_eq!(client.leftover().await.0, b"");
    }
}

#[tokio::test]
async fn a_length_beside_chunked_is_refused_behind_any_other_request() {
    let first = [
        "GET /first HTTP/1.1\r\nhost: g\r\n\r\n",
        "POST /first HTTP/1.1\r\nhost: g\r\ncontent-length: 9\r\n\r\nGET / \r\n\r",
        "POST /first HTTP/1.1\r\nhost: g\r\ntransfer-encoding: chunked\r\n\r\n3;a=b\r\n0\r\n\r\n0\r\nx-a: b\r\n\r\n",
    ];
    for (headers, first) in BOTH.into_iter().flat_map(|headers| first.map(|first| (headers, first))) {
        let agent = Agent::new().await;
        let gateway = Gateway::before(&agent);
        let bad = format!("POST /x HTTP/1.1\r\nhost: g\r\n{headers}\r\n\r\n0\r\n\r\n{INNER}");
        let mut client = gateway.ask(format!("{first}{first}{bad}")).await;
        let mut connection = agent.accept().await;
        for _ in 0..2 {
            assert_eq!(connection.message().await.0.asks().1, "/agui/first");
            connection.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
            assert_eq!(client.message().await.0.status(), 200);
        }
        let (head, body) = client.message().await;
        assert!(head.status() == 400 && String::from_utf8_lossy(&body).contains("BAD_FRAMING"), "{first}{headers}");
        assert_eq!(client.leftover().await.0, b"");
        assert!(connection.is_quiet().await && agent.is_left_alone().await);
    }
}

#[tokio::test]
async fn requests_that_do_not_wait_for_each_other_are_each_answered() {
    let chunked = "POST /a HTTP/1.1\r\nhost: g\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let sized = "POST /b HTTP/1.1\r\nhost: g\r\ncontent-length: 3\r\n\r\nabc";
    let all = [chunked, sized, INNER, chunked, INNER, sized].concat();
    for size in [all.len(), 7] {
        let agent = Agent::new().await;
        let gateway = Gateway::before(&agent);
        let mut client = gateway.connect().await;
        client.send_apart(all.as_bytes().chunks(size)).await;
        let mut connection = agent.accept().await;
        for path in ["/agui/a", "/agui/b", "/agui/inner", "/agui/a", "/agui/inner", "/agui/b"] {
            assert_eq!(connection.message().await.0.asks().1, path);
            connection.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
            assert_eq!(client.message().await.0.status(), 200);
        }
    }
}

#[tokio::test]
async fn a_request_has_one_host_that_is_one() {
    for headers in [
        "x-a: b",
        "host: a\r\nhost: b",
        "host: a b/c@d",
        "host: a/b",
        "host: u@a",
        "host: a,b",
        "host: a:b",
        "host: a:65536",
        "host: [::1",
    ] {
        let fate = fate(&format!("GET /x HTTP/1.1\r\n{headers}\r\n\r\n")).await;
        assert_eq!((fate.status, fate.seen.as_str()), (400, ""), "{headers}");
    }
    for headers in ["host: a", "Host: a.b-c_d.example:8080", "host: 10.0.0.1", "host: [::1]:80", "host: a:", "host:"] {
        let fate = fate(&format!("POST /x HTTP/1.1\r\n{headers}\r\ncontent-length: 0\r\n\r\n")).await;
        assert_eq!((fate.status, fate.seen.as_str()), (200, "POST /agui/x HTTP/1.1 "), "{headers}");
    }
    for target in ["http://u@a/x", "http://a:b/x", "http://a:65536/x"] {
        let fate = fate(&format!("GET {target} HTTP/1.1\r\nhost: a\r\n\r\n")).await;
        assert_eq!((fate.status, fate.seen.as_str()), (400, ""), "{target}");
    }
    let old = "GET /x HTTP/1.0\r\n\r\n";
    assert_eq!(fate(old).await.status, 200);
}

#[tokio::test]
async fn lengths_that_differ_are_refused_and_equal_ones_are_one() {
    for headers in [
        "content-length: 3\r\ncontent-length: 4",
        "content-length: 3, 4",
        "content-length: 3, 3",
        "content-length: +3",
        "content-length: 0x3",
        "content-length: -3",
        "content-length: 3 3",
        "content-length: 99999999999999999999999",
        "content-length:",
    ] {
        let fate = fate(&format!("POST /x HTTP/1.1\r\nhost: g\r\n{headers}\r\n\r\nabc{INNER}")).await;
        assert_eq!((fate.status, fate.seen.as_str()), (400, ""), "{headers}");
    }
    let twice = "POST /x HTTP/1.1\r\nhost: g\r\ncontent-length: 3\r\ncontent-length: 3\r\n\r\nabc";
    let fate = fate(twice).await;
    assert_eq!((fate.status, fate.seen.as_str()), (200, "POST /agui/x HTTP/1.1 abc"));
}

#[tokio::test]
async fn the_agent_gets_one_length_however_it_was_spelled() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let spellings: [&[&str]; 5] = [&["2"], &["00002"], &["2", "2"], &["2", "02"], &["0000000000000000002", "2"]];
    let mut old = gateway.connect().await;
    let mut connection = None;
    for spelling in spellings {
        let lines: String = spelling.iter().map(|length| format!("content-length: {length}\r\n")).collect();
        old.send(format!("POST /x HTTP/1.1\r\nhost: g\r\n{lines}\r\nab")).await;
        if connection.is_none() {
            connection = Some(agent.accept().await);
        }
        let connection = connection.as_mut().unwrap();
        let (head, body) = connection.message().await;
        assert_eq!((head.all("content-length"), body.as_slice()), (vec!["2"], &b"ab"[..]), "{spelling:?}");
        connection.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
        assert_eq!(old.message().await.0.status(), 200);
    }
    drop((old, connection));
    for spelling in spellings {
        let mut client = Client::connect(&gateway).await;
        let (feeder, body) = feed();
        let request =
            spelling.iter().fold(Request::post("http://g/x"), |r, length| r.header("content-length", *length));
        let answer = client.send(request, body);
        assert!(feeder.data("ab").await);
        drop(feeder);
        let (mut connection, head, body) = agent.request().await;
        assert_eq!((head.all("content-length"), body.as_slice()), (vec!["2"], &b"ab"[..]), "{spelling:?}");
        connection.send("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").await;
        assert_eq!(soon(answer).await.unwrap().status(), 200);
    }
}

#[tokio::test]
async fn lengths_that_differ_reach_no_agent_over_http2() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    for spelling in [&["2", "3"][..], &["3", "2"], &["2,2"], &["+2"], &[""], &["x"]] {
        let mut client = Client::connect(&gateway).await;
        let (feeder, body) = feed();
        let request =
            spelling.iter().fold(Request::post("http://g/x"), |r, length| r.header("content-length", *length));
        let answer = client.send(request, body);
        let _ = feeder.data("ab").await;
        drop(feeder);
        // Most of them break the stream before anyone here sees the request.
        let status = soon(answer).await.ok().map(|answer| answer.status().as_u16());
        assert!(matches!(status, None | Some(400)), "{spelling:?} {status:?}");
    }
    assert!(agent.is_left_alone().await);
}

#[tokio::test]
async fn codings_other_than_chunked_are_refused() {
    for headers in [
        "transfer-encoding: gzip, chunked",
        "transfer-encoding: identity\r\ntransfer-encoding: chunked",
        "transfer-encoding: chunked;q=1",
        "transfer-encoding: chunked,",
        "transfer-encoding: chunked, chunked",
        "transfer-encoding: chunked\r\ntransfer-encoding: chunked",
        "transfer-encoding: gzip",
        "transfer-encoding: chunked, gzip",
        "transfer-encoding: chunked\r\ntransfer-encoding: gzip",
        "transfer-encoding: identity",
        "transfer-encoding: xchunked",
        "transfer-encoding:",
        "transfer-encoding : chunked",
        "transfer-encoding:\x0bchunked",
        " transfer-encoding: chunked",
        "x-a: b\r\n transfer-encoding: chunked",
        "content-length: 5\r\n folded: yes",
        "content-length : 5",
        "x\u{7f}: y",
        "x-a: b\rtransfer-encoding: chunked",
        "x-a: b\r\r\ntransfer-encoding: chunked",
        "x-a: \0",
    ] {
        let fate = fate(&format!("POST /x HTTP/1.1\r\nhost: g\r\n{headers}\r\n\r\n0\r\n\r\n{INNER}")).await;
        assert_eq!((fate.status, fate.closed, fate.seen.as_str()), (400, true, ""), "{headers:?}");
    }
    let old = format!("POST /x HTTP/1.0\r\nhost: g\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{INNER}");
    assert_eq!(fate(&old).await.status, 400);
}

#[tokio::test]
async fn chunks_that_are_framed_wrongly_break_the_request() {
    for body in [
        "3\r\nabcd\r\n0\r\n\r\n",
        "-3\r\nabc\r\n0\r\n\r\n",
        "0x3\r\nabc\r\n0\r\n\r\n",
        "ffffffffffffffffff\r\nabc\r\n0\r\n\r\n",
        "3\rabc\r\n0\r\n\r\n",
        "3\r\nabc0\r\n\r\n",
        "\r\n3\r\nabc\r\n0\r\n\r\n",
        "3;a\nabc\r\n0\r\n\r\n",
    ] {
        let fate = fate(&format!("POST /x HTTP/1.1\r\nhost: g\r\ntransfer-encoding: chunked\r\n\r\n{body}")).await;
        assert_eq!((fate.status, fate.closed, fate.seen.as_str()), (400, true, ""), "{body:?}");
    }
}

#[tokio::test]
async fn line_ends_without_cr_mean_the_same_to_the_agent() {
    let fate = fate("POST /x HTTP/1.1\nhost: g\ncontent-length: 3\n\nabc").await;
    assert!(fate.status == 400 || fate.seen == "POST /agui/x HTTP/1.1 abc", "{}", fate.seen);
}

#[tokio::test]
async fn a_head_without_end_is_refused() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway.ask("GET / HTTP/1.1\r\n").await;
    let line = format!("x-a: {}\r\n", "b".repeat(1000));
    for _ in 0..200 {
        client.try_send(&line).await;
    }
    let (answer, _) = client.leftover().await;
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 431"), "{}", String::from_utf8_lossy(&answer));
    assert!(agent.is_left_alone().await);
}

#[tokio::test]
async fn what_is_not_http_is_refused() {
    for bytes in
        ["\x16\x03\x01\x02\x00\x01\x00\x01", "hello\r\n\r\n", "GET /x HTTP/3.0\r\n\r\n", "GET / x HTTP/1.1\r\n\r\n"]
    {
        let agent = Agent::new().await;
        let gateway = Gateway::before(&agent);
        let mut client = gateway.ask(bytes).await;
        client.try_send("\r\n\r\n").await;
        let (answer, _) = client.leftover().await;
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 400"), "{}", String::from_utf8_lossy(&answer));
        assert!(agent.is_left_alone().await);
    }
}
