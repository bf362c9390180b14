//! TLS with agents: whom the gateway trusts, what it shows, and which HTTP is agreed on.

use std::time::Duration;

use http::Version;
use http_body_util::BodyExt as _;

use super::support::{
    Agent, Connection, END, FINISHED, Gateway, INPUT, STARTED, STREAM, chunk, code_of, frame, frames,
    http2::{self, Http2Agent},
    post, soon,
    tls::{self, Files, server_of},
};
use crate::certificates::Authority;

/// A gateway in front of agents at these urls, with these keys.
fn gateway(urls: &[String], keys: &str) -> Gateway {
    Gateway::start(&format!("[agents.bot]\nurl = {urls:?}\n{keys}"))
}

/// The key that has an agent trusted which comes from this authority.
fn trusted(files: &Files) -> String {
    format!("tls = {{ ca = \"{}\" }}\n", files.file("ca.pem"))
}

fn at(host: &str, agent: &Agent) -> String {
    format!("https://{host}:{}/agui", agent.address().port())
}

#[tokio::test]
async fn a_run_and_the_next_go_over_one_connection() {
    let (agent, files) = (Agent::new().await, Files::new());
    let gateway = gateway(&[at("127.0.0.1", &agent)], &trusted(&files));
    let config = server_of(&files.authority.issue(&["127.0.0.1"]), None, &["http/1.1"]);
    let mut client = gateway.ask(post("/x")).await;
    let stream = tls::accept(&agent, config).await.unwrap();
    assert_eq!(stream.get_ref().1.server_name(), None, "an address is no name");
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    let mut connection = Connection::new(stream);
    for _ in 0..2 {
        let (head, body) = connection.message().await;
        assert_eq!((head.asks(), body.as_slice()), (("POST", "/agui/x"), INPUT.as_bytes()));
        assert_eq!(head.header("host"), Some(format!("127.0.0.1:{}", agent.address().port()).as_str()));
        assert_eq!(head.header("x-forwarded-proto"), Some("http"));
        connection.send(STREAM).await;
        client.head().await;
        for event in [STARTED, FINISHED] {
            connection.send(chunk(frame(event))).await;
            client.expect(&frame(event)).await;
        }
        connection.send(END).await;
        assert_eq!(client.rest().await, "");
        client.send(post("/x")).await;
    }
    assert!(agent.is_left_alone().await);
    gateway.shows("tidegate_runs_total", &["outcome=\"finished\""], 2.0).await;
}

#[tokio::test]
async fn the_agent_is_told_its_name_and_shown_the_certificate() {
    let (agent, files) = (Agent::new().await, Files::new());
    let own = Authority::new("clients");
    let identity = own.issue(&["tidegate"]);
    let (cert, key) = identity.write(files.path(), "client");
    let keys = format!("tls = {{ ca = \"{}\", cert = {cert:?}, key = {key:?} }}\n", files.file("ca.pem"));
    let gateway = gateway(&[at("localhost", &agent)], &keys);
    let config = server_of(&files.authority.issue(&["localhost"]), Some(&own), &[]);
    let mut client = gateway.ask(post("/")).await;
    let stream = tls::accept(&agent, config).await.unwrap();
    assert_eq!(stream.get_ref().1.server_name(), Some("localhost"));
    assert_eq!(stream.get_ref().1.peer_certificates().unwrap()[0].as_ref(), tls::der(&identity));
    let mut connection = Connection::new(stream);
    connection.message().await;
    connection.send(STREAM).await;
    client.head().await;
}

#[tokio::test]
async fn http_2_is_spoken_where_the_agent_wants_it() {
    let files = Files::new();
    let identity = files.authority.issue(&["127.0.0.1"]);
    for (alpn, http) in [(&["h2", "http/1.1"][..], "\"auto\""), (&["h2"], "2"), (&[], "2")] {
        let mut agent = Http2Agent::tls(server_of(&identity, None, alpn)).await;
        let keys = format!("http = {http}\n{}", trusted(&files));
        let gateway = gateway(&[format!("https://{}/agui", agent.address())], &keys);
        for _ in 0..2 {
            let mut client = gateway.ask(post("/")).await;
            let (request, reply) = agent.request().await;
            assert_eq!(request.version(), Version::HTTP_2);
            assert_eq!(request.uri().to_string(), format!("https://{}/agui", agent.address()));
            assert!(!request.headers().contains_key("host"));
            assert_eq!(soon(request.into_body().collect()).await.unwrap().to_bytes().as_ref(), INPUT.as_bytes());
            let (feeder, answer) = http2::stream();
            assert!(reply.send(answer).is_ok());
            client.head().await;
            assert!(feeder.data(frames([STARTED, FINISHED])).await);
            drop(feeder);
            assert_eq!(client.rest().await, frames([STARTED, FINISHED]));
        }
        assert_eq!(agent.connections.load(std::sync::atomic::Ordering::Relaxed), 1);
        gateway.counted("finished", 2.0).await;
    }
}

#[tokio::test]
async fn http_1_is_spoken_where_the_configuration_wants_it() {
    let (agent, files) = (Agent::new().await, Files::new());
    let gateway = gateway(&[at("127.0.0.1", &agent)], &format!("http = 1\n{}", trusted(&files)));
    let config = server_of(&files.authority.issue(&["127.0.0.1"]), None, &["h2", "http/1.1"]);
    let _client = gateway.ask(post("/")).await;
    let stream = tls::accept(&agent, config).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    assert_eq!(Connection::new(stream).message().await.0.asks(), ("POST", "/agui"));
}

#[tokio::test]
async fn an_agent_that_cannot_be_trusted_is_not_asked_and_the_next_url_is_tried() {
    let (agent, next, files) = (Agent::new().await, Agent::new().await, Files::new());
    let stranger = Authority::new("stranger").issue(&["127.0.0.1"]);
    let other_name = files.authority.issue(&["other.example"]);
    let expired = files.authority.issue_expired(&["127.0.0.1"]);
    let alone = gateway(&[at("127.0.0.1", &agent)], &trusted(&files));
    for identity in [&stranger, &other_name, &expired] {
        let mut client = alone.ask(post("/")).await;
        assert!(tls::accept(&agent, server_of(identity, None, &[])).await.is_err());
        let (head, body) = client.message().await;
        assert_eq!(head.status(), 502);
        assert!(String::from_utf8(body).unwrap().contains("UPSTREAM_UNREACHABLE"));
    }
    alone.counted("agent_unreachable", 3.0).await;
    assert_eq!(alone.figure("tidegate_agent_attempts_total", &["result=\"unreachable\""]), 3.0);
    // One that does not speak TLS at all.
    let mut client = alone.ask(post("/")).await;
    let mut connection = agent.accept().await;
    connection.send("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(client.message().await.0.status(), 502);

    // Without `ca` the system's authorities count, and they know nothing of this one.
    let by_system = gateway(&[at("127.0.0.1", &agent)], "");
    let mut client = by_system.ask(post("/")).await;
    let good = files.authority.issue(&["127.0.0.1"]);
    assert!(tls::accept(&agent, server_of(&good, None, &[])).await.is_err());
    assert_eq!(client.message().await.0.status(), 502);

    let both = gateway(&[at("127.0.0.1", &agent), next.url()], &trusted(&files));
    let mut client = both.ask(post("/")).await;
    assert!(tls::accept(&agent, server_of(&stranger, None, &[])).await.is_err());
    let (mut connection, _, body) = next.request().await;
    assert_eq!(body, INPUT.as_bytes());
    connection.send(STREAM).await;
    assert_eq!(client.head().await.status(), 200);
}

#[tokio::test]
async fn urls_with_and_without_http_2_stand_side_by_side() {
    let files = Files::new();
    let identity = files.authority.issue(&["127.0.0.1"]);
    let mut modern = Http2Agent::tls(server_of(&identity, None, &["h2"])).await;
    let plain = Agent::new().await;
    let gateway = gateway(&[format!("https://{}/agui", modern.address()), plain.url()], &trusted(&files));
    for _ in 0..2 {
        let _client = gateway.ask(post("/")).await;
        assert_eq!(modern.request().await.0.version(), Version::HTTP_2);
        let _client = gateway.ask(post("/")).await;
        let (_, head, _) = plain.request().await;
        assert_eq!(head.header("host"), Some(plain.address().to_string().as_str()));
    }
}

#[tokio::test]
async fn an_agent_that_does_not_get_on_with_tls_is_given_up_in_time() {
    let (agent, files) = (Agent::new().await, Files::new());
    let keys = format!("timeouts = {{ connect = \"300ms\" }}\n{}", trusted(&files));
    let gateway = gateway(&[at("127.0.0.1", &agent)], &keys);
    let mut client = gateway.ask(post("/")).await;
    let mut connection = agent.accept().await;
    assert_eq!(client.message().await.0.status(), 504);
    assert!(connection.is_left().await < Duration::from_secs(1));
}

#[tokio::test]
async fn a_stream_that_breaks_off_without_a_word_is_truncated() {
    let (agent, files) = (Agent::new().await, Files::new());
    let gateway = gateway(&[at("127.0.0.1", &agent)], &trusted(&files));
    let config = server_of(&files.authority.issue(&["127.0.0.1"]), None, &[]);
    // A body without a length or chunks is over when the connection is, so who cuts that must not pass for its end.
    for head in ["HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n", STREAM] {
        let mut client = gateway.ask(post("/")).await;
        let mut connection = Connection::new(tls::accept(&agent, config.clone()).await.unwrap());
        connection.message().await;
        connection.send(head).await;
        client.head().await;
        let event = frame(STARTED);
        connection.send(if head == STREAM { chunk(event) } else { event.into_bytes() }).await;
        client.expect(&frame(STARTED)).await;
        drop(connection);
        assert_eq!(code_of(&client.rest().await), "UPSTREAM_TRUNCATED");
    }
    gateway.counted("truncated", 2.0).await;
}

#[tokio::test]
async fn the_agent_sees_the_client_leave() {
    let (agent, files) = (Agent::new().await, Files::new());
    let gateway = gateway(&[at("127.0.0.1", &agent)], &trusted(&files));
    let config = server_of(&files.authority.issue(&["127.0.0.1"]), None, &[]);
    for begun in [false, true] {
        let mut client = gateway.ask(post("/")).await;
        let mut connection = Connection::new(tls::accept(&agent, config.clone()).await.unwrap());
        connection.message().await;
        if begun {
            connection.send(STREAM).await;
            client.head().await;
        }
        drop(client);
        let waited = connection.is_left().await;
        assert!(waited < Duration::from_secs(1), "{waited:?}");
    }
    gateway.counted("client_gone", 2.0).await;
}

#[tokio::test]
async fn a_name_that_leads_inside_is_refused_with_tls_too() {
    let (agent, files) = (Agent::new().await, Files::new());
    let url = at("localhost", &agent);
    let denies = gateway(std::slice::from_ref(&url), &format!("deny_private = true\n{}", trusted(&files)));
    let (head, body) = denies.ask(post("/")).await.message().await;
    assert_eq!(head.status(), 502);
    assert!(String::from_utf8(body).unwrap().contains("UPSTREAM_UNREACHABLE"));
    assert!(agent.is_left_alone().await);
    denies.shows("tidegate_agent_connect_seconds_count", &["result=\"error\""], 1.0).await;

    let allows = gateway(&[url], &trusted(&files));
    let _client = allows.ask(post("/")).await;
    let config = server_of(&files.authority.issue(&["localhost"]), None, &[]);
    assert!(tls::accept(&agent, config).await.is_ok());
}

#[tokio::test]
async fn an_agent_is_checked_as_it_is_asked() {
    let files = Files::new();
    let identity = files.authority.issue(&["127.0.0.1"]);
    let keys = format!("health = {{ path = \"/up\", every = \"20ms\" }}\n{}", trusted(&files));

    let mut modern = Http2Agent::tls(server_of(&identity, None, &["h2", "http/1.1"])).await;
    let _gateway = gateway(&[format!("https://{}/agui", modern.address())], &keys);
    let (request, _reply) = modern.request().await;
    assert_eq!((request.version(), request.method().as_str()), (Version::HTTP_2, "GET"));
    assert_eq!(request.uri().to_string(), format!("https://{}/up", modern.address()));

    let agent = Agent::new().await;
    let gateway = gateway(&[at("127.0.0.1", &agent)], &keys);
    let stranger = server_of(&Authority::new("stranger").issue(&["127.0.0.1"]), None, &[]);
    for _ in 0..2 {
        assert!(tls::accept(&agent, stranger.clone()).await.is_err());
    }
    gateway.shows("tidegate_agent_healthy", &[], 0.0).await;
    let config = server_of(&identity, None, &["http/1.1"]);
    let mut connection = Connection::new(tls::accept(&agent, config).await.unwrap());
    assert_eq!(connection.message().await.0.asks(), ("GET", "/up"));
    connection.send("HTTP/1.1 204 No Content\r\n\r\n").await;
    gateway.shows("tidegate_agent_healthy", &[], 1.0).await;
}
