//! TLS with clients: what is agreed on, who is let in, and that runs go over it as they do without.

use std::{
    net::Shutdown,
    sync::Arc,
    time::{Duration, Instant},
};

use http::Version;
use rustls::{ProtocolVersion, client::Resumption};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::support::{
    Agent, Connection, END, FINISHED, Gateway, STARTED, STREAM, chunk, frame, frames, get,
    http2::{self, Client},
    post, soon,
    tls::{self, Files, client_of},
};
use crate::certificates::Authority;

/// Longer than the gateway lets a client take to agree on TLS.
const HANDSHAKE: Duration = Duration::from_secs(15);

/// A run over this connection, from its request to its end.
async fn runs(client: &mut Connection, agent: &Agent) {
    client.send(post("/")).await;
    let (mut connection, head, _) = agent.request().await;
    assert_eq!(head.header("x-forwarded-proto"), Some("https"));
    assert!(head.header("forwarded").unwrap().ends_with("proto=https"), "{head:?}");
    connection.send(STREAM).await;
    assert_eq!(client.head().await.status(), 200);
    for event in [STARTED, FINISHED] {
        connection.send(chunk(frame(event))).await;
        client.expect(&frame(event)).await;
    }
    connection.send(END).await;
    assert_eq!(client.rest().await, "");
}

#[tokio::test]
async fn a_run_over_http_1_whether_or_not_the_client_says_what_it_speaks() {
    let (agent, files) = (Agent::new().await, Files::new());
    let gateway = files.gateway(&agent);
    let spoken: [(&[&str], Option<&[u8]>); 3] =
        [(&["http/1.1"], Some(b"http/1.1")), (&[], None), (&["http/1.1", "acme"], Some(b"http/1.1"))];
    for (alpn, agreed) in spoken {
        let (stream, _) = tls::connect(&gateway, client_of(&files.authority, None, alpn)).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), agreed);
        assert_eq!(stream.get_ref().1.protocol_version(), Some(ProtocolVersion::TLSv1_3));
        let mut client = Connection::new(stream);
        runs(&mut client, &agent).await;
        runs(&mut client, &agent).await;
    }
    gateway.counted("finished", 6.0).await;
}

#[tokio::test]
async fn runs_over_http_2_share_a_connection() {
    let (agent, files) = (Agent::new().await, Files::new());
    let gateway = files.gateway(&agent);
    let config = client_of(&files.authority, None, &["h2", "http/1.1"]);
    let (stream, _) = tls::connect(&gateway, config.clone()).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    drop(stream);
    let mut client = Client::connect_tls(&gateway, config).await;
    let (mut first, mut to_first) = client.stream(&agent).await;
    let (mut second, mut to_second) = client.stream(&agent).await;
    assert_eq!(first.version(), Version::HTTP_2);
    for (answer, connection) in [(&mut second, &mut to_second), (&mut first, &mut to_first)] {
        connection.send(chunk(frames([STARTED, FINISHED]))).await;
        http2::expect(answer.body_mut(), &frames([STARTED, FINISHED])).await;
        connection.send(END).await;
    }
    assert_eq!(http2::rest(first.into_body()).await, "");
    assert_eq!(http2::rest(second.into_body()).await, "");
    gateway.counted("finished", 2.0).await;
    drop(client);
}

#[tokio::test]
async fn a_session_is_taken_up_again() {
    let (agent, files) = (Agent::new().await, Files::new());
    let gateway = files.gateway(&agent);
    let mut config = Arc::unwrap_or_clone(files.client());
    config.resumption = Resumption::in_memory_sessions(4);
    let config = Arc::new(config);
    for expected in [rustls::HandshakeKind::Full, rustls::HandshakeKind::Resumed] {
        let (mut stream, _) = tls::connect(&gateway, config.clone()).await.unwrap();
        assert_eq!(stream.get_ref().1.handshake_kind(), Some(expected));
        stream.write_all(get("/../").as_bytes()).await.unwrap();
        let mut answer = [0; 12];
        soon(stream.read_exact(&mut answer)).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 400");
    }
}

#[tokio::test]
async fn only_clients_with_a_certificate_of_the_authority_are_let_in() {
    let (agent, files) = (Agent::new().await, Files::new());
    let gateway = Gateway::start(&format!("{}agent = \"{}\"", files.mutual_listener(), agent.url()));
    let refused = "tidegate_requests_refused_total";
    let stranger = Authority::new("stranger").issue(&["client"]);
    let expired = files.authority.issue_expired(&["client"]);
    for (n, identity) in [None, Some(&stranger), Some(&expired)].into_iter().enumerate() {
        let config = client_of(&files.authority, identity, &["http/1.1"]);
        // With TLS 1.3 a client learns of it only when it reads.
        if let Ok((mut stream, _)) = tls::connect(&gateway, config).await {
            let _ = stream.write_all(get("/").as_bytes()).await;
            assert!(soon(stream.read_to_end(&mut Vec::new())).await.is_err());
        }
        gateway.shows(refused, &["reason=\"tls\""], (n + 1) as f64).await;
    }
    assert!(agent.is_left_alone().await);
    let own = files.authority.issue(&["client"]);
    let (stream, _) = tls::connect(&gateway, client_of(&files.authority, Some(&own), &["http/1.1"])).await.unwrap();
    runs(&mut Connection::new(stream), &agent).await;
    gateway.counted("finished", 1.0).await;
}

#[tokio::test]
async fn who_does_not_agree_is_turned_away_and_who_only_looks_is_not_counted() {
    let (agent, files) = (Agent::new().await, Files::new());
    let gateway = files.gateway(&agent);
    drop(gateway.connect().await);
    gateway.connect().await.reset();
    // No TLS at all.
    let mut client = gateway.ask(get("/")).await;
    assert!(!String::from_utf8_lossy(&client.leftover().await.0).contains("HTTP"));
    gateway.shows("tidegate_requests_refused_total", &["reason=\"tls\""], 1.0).await;
    // A client that does not trust the authority says so.
    let stranger = client_of(&Authority::new("stranger"), None, &[]);
    assert!(tls::connect(&gateway, stranger).await.is_err());
    gateway.shows("tidegate_requests_refused_total", &["reason=\"tls\""], 2.0).await;
    // One that speaks nothing that is spoken here.
    assert!(tls::connect(&gateway, client_of(&files.authority, None, &["spdy"])).await.is_err());
    gateway.shows("tidegate_requests_refused_total", &["reason=\"tls\""], 3.0).await;
}

#[tokio::test]
async fn a_client_that_does_not_get_on_with_it_is_cut_off_and_holds_nobody_up() {
    let (agent, files) = (Agent::new().await, Files::new());
    let gateway = files.gateway(&agent);
    let begun = Instant::now();
    let silent = gateway.connect().await;
    // The beginning of a record that says it is longer.
    let slow = gateway.ask([22, 3, 1, 2, 0, 1, 0, 1]).await;
    runs(&mut Connection::new(tls::connect(&gateway, files.client()).await.unwrap().0), &agent).await;
    assert!(begun.elapsed() < Duration::from_secs(5));
    for mut client in [silent, slow] {
        tokio::time::timeout(HANDSHAKE, client.end()).await.expect("nobody cut it off");
    }
    assert!(begun.elapsed() > Duration::from_secs(9), "{:?}", begun.elapsed());
    gateway.shows("tidegate_requests_refused_total", &["reason=\"tls\""], 2.0).await;
    gateway.counted("finished", 1.0).await;
}

/// How a client leaves.
#[derive(Clone, Copy, Debug)]
enum Leaves {
    /// As TLS asks for: it says so, then closes.
    Saying,
    /// It says so, and leaves its socket as it is.
    OnlySaying,
    /// It closes its socket.
    Closing,
    /// It breaks off.
    Resetting,
}

const WAYS: [Leaves; 4] = [Leaves::Saying, Leaves::OnlySaying, Leaves::Closing, Leaves::Resetting];

/// Has the client leave, and sees the agent's connection end at once; what is left of the client comes back.
async fn leaves(
    how: Leaves,
    mut client: Connection,
    socket: std::net::TcpStream,
    agent: &mut Connection,
) -> Option<Connection> {
    let kept = match how {
        Leaves::Saying => {
            client.shut_down().await;
            None
        }
        Leaves::OnlySaying => {
            client.say_goodbye().await;
            Some(client)
        }
        Leaves::Closing => {
            socket.shutdown(Shutdown::Both).unwrap();
            None
        }
        Leaves::Resetting => {
            drop(socket);
            client.reset();
            None
        }
    };
    let waited = agent.is_left().await;
    assert!(waited < Duration::from_secs(1), "{how:?}: {waited:?}");
    kept
}

#[tokio::test]
async fn a_client_that_leaves_cancels_the_agents_request() {
    let (agent, files) = (Agent::new().await, Files::new());
    let gateway = files.gateway(&agent);
    for how in WAYS {
        // Before the agent's headers; in a run; and after bytes that belong to no request of its own.
        for (begun, more) in
            [(false, String::new()), (true, String::new()), (true, "\r\n".into()), (true, get("/next"))]
        {
            let (stream, socket) = tls::connect(&gateway, files.client()).await.unwrap();
            let mut client = Connection::new(stream);
            client.send(post("/") + &more).await;
            let (mut connection, ..) = agent.request().await;
            if begun {
                connection.send(STREAM).await;
                client.head().await;
                connection.send(chunk(frame(STARTED))).await;
                client.expect(&frame(STARTED)).await;
            }
            leaves(how, client, socket, &mut connection).await;
        }
    }
    gateway.counted("client_gone", 16.0).await;
}

#[tokio::test]
async fn a_client_of_http_2_that_leaves_cancels_the_agents_requests() {
    let (agent, files) = (Agent::new().await, Files::new());
    let gateway = files.gateway(&agent);
    let mut client = Client::connect_tls(&gateway, client_of(&files.authority, None, &["h2"])).await;
    let waiting = client.run("/").await;
    let (mut first, ..) = agent.request().await;
    let (answer, mut second) = client.stream(&agent).await;
    client.close();
    for connection in [&mut first, &mut second] {
        let waited = connection.is_left().await;
        assert!(waited < Duration::from_secs(1), "{waited:?}");
    }
    drop((waiting, answer));
    gateway.counted("client_gone", 2.0).await;
}

#[tokio::test]
async fn requests_that_come_while_another_is_answered_are_answered_in_turn() {
    let (agent, files) = (Agent::new().await, Files::new());
    let gateway = files.gateway(&agent);
    let mut client = tls::ask(&gateway, files.client(), post("/1") + &post("/2") + &post("/3")).await;
    let mut connection = agent.accept().await;
    for path in ["/agui/1", "/agui/2", "/agui/3"] {
        let (head, _) = connection.message().await;
        assert_eq!(head.asks().1, path);
        connection.send(STREAM).await;
        connection.send(chunk(frames([STARTED, FINISHED]))).await;
        connection.send(END).await;
        client.head().await;
        assert_eq!(client.rest().await, frames([STARTED, FINISHED]));
    }
    gateway.counted("finished", 3.0).await;
}

#[tokio::test]
async fn the_drain_reaches_connections_with_tls() {
    let (agent, files) = (Agent::new().await, Files::new());
    let gateway = files.gateway(&agent);
    let mut idle = tls::ask(&gateway, files.client(), get("/../")).await;
    assert_eq!(idle.message().await.0.status(), 400);
    let (mut client, mut connection) = {
        let mut client = tls::ask(&gateway, files.client(), post("/")).await;
        let (mut connection, ..) = agent.request().await;
        connection.send(STREAM).await;
        client.head().await;
        (client, connection)
    };
    gateway.drain();
    assert_eq!(idle.leftover().await, (Vec::new(), true), "an idle connection is closed as TLS asks for");
    connection.send(chunk(frames([STARTED, FINISHED]))).await;
    connection.send(END).await;
    assert_eq!(client.rest().await, frames([STARTED, FINISHED]));
    assert!(client.leftover().await.1);
    gateway.counted("finished", 1.0).await;
    gateway.ends().await;
}
