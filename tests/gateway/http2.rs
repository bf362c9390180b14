//! HTTP/2 by prior knowledge, from the client and to the agent.

use std::sync::atomic::Ordering::Relaxed;

use http::{HeaderMap, HeaderValue, Request, Response, Version};
use http_body_util::BodyExt as _;

use super::support::{
    Agent, END, FINISHED, Gateway, INPUT, STARTED, STREAM, chunk, code_of, delta, frame, frames, get,
    http2::{self, Client, Http2Agent, feed},
    post, soon,
};

fn trailers() -> HeaderMap {
    HeaderMap::from_iter([(http::HeaderName::from_static("x-sum"), HeaderValue::from_static("7"))])
}

#[tokio::test]
async fn runs_share_a_clients_connection() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = Client::connect(&gateway).await;
    let first = client.run("/a?x=1").await;
    let (mut to_first, head, body) = agent.request().await;
    assert_eq!((head.asks(), body.as_slice()), (("POST", "/agui/a?x=1"), INPUT.as_bytes()));
    assert_eq!(head.header("x-forwarded-host"), Some("gate"));
    assert_eq!(head.header("via"), Some("2 tidegate"));
    let second = client.run("/b").await;
    let (mut to_second, ..) = agent.request().await;
    for connection in [&mut to_first, &mut to_second] {
        connection.send(STREAM).await;
    }
    let (mut first, mut second) = (soon(first).await.unwrap(), soon(second).await.unwrap());
    assert_eq!(
        (first.version(), first.headers()["content-type"].as_bytes()),
        (Version::HTTP_2, &b"text/event-stream"[..])
    );
    assert!(!first.headers().contains_key("transfer-encoding") && !first.headers().contains_key("connection"));
    for n in 0..3 {
        let event = frame(&delta(&n.to_string()));
        to_second.send(chunk(&event)).await;
        http2::expect(second.body_mut(), &event).await;
        to_first.send(chunk(&event)).await;
        http2::expect(first.body_mut(), &event).await;
    }
    to_first.send(chunk(frame(FINISHED))).await;
    to_first.send(END).await;
    assert_eq!(http2::rest(first.into_body()).await, frame(FINISHED));
    to_second.reset();
    assert_eq!(code_of(&http2::rest(second.into_body()).await), "UPSTREAM_TRUNCATED");
    gateway.shows("tidegate_runs_total", &["outcome=\"finished\""], 1.0).await;
    gateway.shows("tidegate_runs_total", &["outcome=\"truncated\""], 1.0).await;
}

#[tokio::test]
async fn refusals_are_the_same() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", "path = \"/a\"\nlimits = { body = \"10B\" }");
    let mut client = Client::connect(&gateway).await;
    for (path, length, status) in [("/b", 1, 404), ("/a/../b", 1, 400), ("/a", 11, 413)] {
        let (feeder, body) = feed();
        let answer = client.send(Request::post(format!("http://gate{path}")), body);
        let _ = feeder.data("x".repeat(length)).await;
        drop(feeder);
        let answer = soon(answer).await.unwrap();
        assert_eq!(
            (answer.status().as_u16(), answer.headers()["content-type"].as_bytes()),
            (status, &b"application/problem+json"[..])
        );
    }
}

#[tokio::test]
async fn an_authority_is_one_host_and_no_other_stands_beside_it() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = Client::connect(&gateway).await;
    for (authority, host) in [
        ("a@gate", None),
        ("u:p@gate", None),
        ("gate:port", None),
        ("gate:65536", None),
        ("gate", Some("other")),
        ("gate", Some("gate:8080")),
        ("gate", Some("a@gate")),
        ("gate", Some("")),
    ] {
        let request = Request::get(format!("http://{authority}/x"));
        let request = host.into_iter().fold(request, |request, host| request.header("host", host));
        let answer = soon(client.send(request, feed().1)).await.unwrap();
        assert_eq!(answer.status(), 400, "{authority} {host:?}");
        assert!(http2::rest(answer.into_body()).await.contains("BAD_HOST"));
    }
    assert!(agent.is_left_alone().await);
    for (authority, host) in [("gate:8080", None), ("gate", Some("GATE:80")), ("[::1]:80", Some("[::1]"))] {
        let request = Request::get(format!("http://{authority}/x"));
        let request = host.into_iter().fold(request, |request, host| request.header("host", host));
        let _answer = client.send(request, feed().1);
        let (_connection, head, _) = agent.request().await;
        assert_eq!(head.header("x-forwarded-host"), Some(authority));
    }
}

#[tokio::test]
async fn a_head_has_a_hundred_lines_at_most_and_cookies_are_one() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = Client::connect(&gateway).await;
    let request = |lines: usize, cookies: usize| {
        let named = (0..lines).map(|n| format!("x-{n}")).chain((0..cookies).map(|_| "cookie".to_owned()));
        named.fold(Request::get("http://gate/x"), |request, name| request.header(name, "a=b"))
    };
    for (lines, cookies) in [(101, 0), (100, 1), (100, 30), (1000, 0)] {
        let answer = soon(client.send(request(lines, cookies), feed().1)).await.unwrap();
        assert_eq!(answer.status(), 431, "{lines} {cookies}");
        assert_eq!(answer.headers()["content-type"], "application/problem+json");
        assert!(http2::rest(answer.into_body()).await.contains("TOO_MANY_HEADERS"));
    }
    gateway.shows("tidegate_requests_refused_total", &["reason=\"malformed\""], 4.0).await;
    let _answer = client.send(request(99, 150), feed().1);
    let (_connection, head, _) = agent.request().await;
    assert_eq!(head.header("x-98"), Some("a=b"));
    assert_eq!(head.all("cookie"), [vec!["a=b"; 150].join("; ")]);
}

#[tokio::test]
async fn bodies_and_trailers_pass_both_ways_between_the_versions() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = Client::connect(&gateway).await;
    let (feeder, body) = feed();
    let answer = client.send(Request::put("http://gate/f").header("te", "trailers").header("trailer", "x-sum"), body);
    assert!(feeder.data("abc").await);
    let mut connection = agent.accept().await;
    assert!(connection.head().await.is_chunked());
    assert_eq!(connection.chunk().await.unwrap(), b"abc");
    feeder.trailers(trailers()).await;
    assert_eq!(connection.until("\r\n\r\n").await, b"0\r\nx-sum: 7\r\n\r\n");
    connection
        .send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n2\r\nok\r\n0\r\nx-sum: 8\r\n\r\n")
        .await;
    let answer = soon(answer).await.unwrap().into_body().collect();
    let answer = soon(answer).await.unwrap();
    assert_eq!(answer.trailers().unwrap()["x-sum"], "8");
    assert_eq!(answer.to_bytes().as_ref(), b"ok");
}

#[tokio::test]
async fn runs_share_the_agents_connection() {
    let mut agent = Http2Agent::new().await;
    let gateway = agent.gateway("", "");
    for n in 0..3 {
        let mut client = gateway.ask(post(&format!("/x?n={n}"))).await;
        let (request, reply) = agent.request().await;
        assert_eq!(request.version(), Version::HTTP_2);
        assert_eq!(request.uri().to_string(), format!("http://{}/agui/x?n={n}", agent.address()));
        assert!(!request.headers().contains_key("host") && !request.headers().contains_key("connection"));
        assert_eq!(soon(request.into_body().collect()).await.unwrap().to_bytes().as_ref(), INPUT.as_bytes());
        let (feeder, answer) = http2::stream();
        assert!(reply.send(answer).is_ok());
        assert_eq!(client.head().await.status(), 200);
        for event in [STARTED, FINISHED] {
            assert!(feeder.data(frame(event)).await);
            client.expect(&frame(event)).await;
        }
        drop(feeder);
        assert_eq!(client.rest().await, "");
    }
    assert_eq!(agent.connections.load(Relaxed), 1);
    gateway.counted("finished", 3.0).await;
}

#[tokio::test]
async fn a_run_beyond_what_the_agent_takes_on_a_connection_gets_another() {
    let mut agent = Http2Agent::narrow(2).await;
    let gateway = agent.gateway("", "");
    let mut runs = Vec::new();
    for n in 0..5 {
        let mut client = gateway.ask(post("/")).await;
        let (_, reply) = agent.request().await;
        let (feeder, answer) = http2::stream();
        assert!(reply.send(answer).is_ok());
        assert_eq!(client.head().await.status(), 200);
        assert!(feeder.data(frame(STARTED)).await);
        client.expect(&frame(STARTED)).await;
        runs.push((client, feeder));
        assert_eq!(agent.connections.load(Relaxed), n / 2 + 1);
    }
    for (mut client, feeder) in runs {
        assert!(feeder.data(frame(FINISHED)).await);
        drop(feeder);
        assert_eq!(client.rest().await, frame(FINISHED));
    }
    gateway.counted("finished", 5.0).await;
}

#[tokio::test]
async fn the_agent_sees_the_client_leave() {
    let mut agent = Http2Agent::new().await;
    let gateway = agent.gateway("", "");
    let client = gateway.ask(post("/")).await;
    let (_request, mut reply) = agent.request().await;
    drop(client);
    soon(reply.closed()).await;
    gateway.counted("client_gone", 1.0).await;

    let mut client = gateway.ask(post("/")).await;
    let (_request, reply) = agent.request().await;
    let (feeder, answer) = http2::stream();
    assert!(reply.send(answer).is_ok());
    client.head().await;
    drop(client);
    feeder.is_left().await;
    gateway.counted("client_gone", 2.0).await;
}

#[tokio::test]
async fn a_stream_that_the_agent_resets_is_truncated() {
    let mut agent = Http2Agent::new().await;
    let gateway = agent.gateway("", "");
    let mut client = gateway.ask(post("/")).await;
    let (_request, reply) = agent.request().await;
    let (feeder, answer) = http2::stream();
    assert!(reply.send(answer).is_ok());
    client.head().await;
    assert!(feeder.data(frame(STARTED)).await);
    client.expect(&frame(STARTED)).await;
    feeder.reset().await;
    assert_eq!(code_of(&client.rest().await), "UPSTREAM_TRUNCATED");

    let mut client = gateway.ask(post("/")).await;
    let (_request, reply) = agent.request().await;
    drop(reply);
    assert_eq!(client.head().await.status(), 502);
    gateway.counted("truncated", 2.0).await;
}

#[tokio::test]
async fn trailers_pass_both_ways_with_an_agent_of_http_2() {
    let mut agent = Http2Agent::new().await;
    let gateway = agent.gateway("", "");
    let mut client = Client::connect(&gateway).await;
    let (feeder, body) = feed();
    let answer = client.send(Request::put("http://gate/f").header("te", "trailers"), body);
    assert!(feeder.data("abc").await);
    feeder.trailers(trailers()).await;
    let (request, reply) = agent.request().await;
    assert_eq!(request.headers()["te"], "trailers");
    let body = soon(request.into_body().collect()).await.unwrap();
    assert_eq!(body.trailers().unwrap()["x-sum"], "7");
    let (feeder, body) = feed();
    assert!(reply.send(Response::new(body)).is_ok());
    assert!(feeder.data("ok").await);
    feeder.trailers(trailers()).await;
    let answer = soon(soon(answer).await.unwrap().into_body().collect()).await.unwrap();
    assert_eq!(answer.trailers().unwrap()["x-sum"], "7");
}

#[tokio::test]
async fn a_host_of_the_configurations_choice_is_the_authority() {
    let mut agent = Http2Agent::new().await;
    let gateway = agent.gateway("headers = { set = { host = \"inner.example\" } }", "");
    let _client = gateway.ask(get("/x")).await;
    let (request, _reply) = agent.request().await;
    assert_eq!(request.uri().host(), Some("inner.example"));
}

#[tokio::test]
async fn a_host_of_the_configurations_choice_stays_at_the_next_url() {
    let refuses = Agent::new().await;
    let mut agent = Http2Agent::new().await;
    let gateway = Gateway::start(&format!(
        "[agents.bot]\nurl = [\"{}\", \"http://{}/agui\"]\nhttp = 2\nheaders = {{ set = {{ host = \"inner.example\" }} }}",
        refuses.url(),
        agent.address()
    ));
    drop(refuses);
    let _client = gateway.ask(get("/x")).await;
    let (request, _reply) = agent.request().await;
    assert_eq!(request.uri().host(), Some("inner.example"));
}

#[tokio::test]
async fn a_new_connection_follows_one_that_the_agent_closed() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "http = 2", "");
    // An agent that takes the connection and closes it: no request can have been acted on.
    let mut client = gateway.ask(post("/")).await;
    drop(agent.accept().await);
    assert_eq!(client.head().await.status(), 502);
    drop(agent);

    let mut agent = Http2Agent::new().await;
    let gateway = agent.gateway("", "");
    for _ in 0..2 {
        let mut client = gateway.ask(post("/")).await;
        let (_request, reply) = agent.request().await;
        let (feeder, answer) = http2::stream();
        assert!(reply.send(answer).is_ok());
        client.head().await;
        assert!(feeder.data(frames([STARTED, FINISHED])).await);
        drop(feeder);
        assert_eq!(client.rest().await, frames([STARTED, FINISHED]));
    }
}
