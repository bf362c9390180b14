//! Several urls of one agent: which one a run goes to, who is left out and comes back, and that nothing is sent twice.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU16, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use http_body_util::BodyExt as _;
use tokio::net::TcpListener;

use super::support::{
    Agent, Connection, END, FINISHED, Gateway, Head, INPUT, STARTED, STREAM, chunk, code_of, frame, frames, get,
    http2::Http2Agent, post, soon,
};

/// An answer after which the agent closes, so that each request is a connection of its own.
const OK: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";
const FAILS: &str = "HTTP/1.1 500 Oh\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno";

/// A gateway in front of these urls, with more keys of the agent's.
fn gateway(urls: &[String], keys: &str) -> Gateway {
    let (threads, keys) = if keys.contains("threads") { keys.split_once('\n').unwrap() } else { ("", keys) };
    Gateway::start(&format!("{threads}\n[agents.bot]\nurl = {urls:?}\n{keys}\n[[routes]]\nagent = \"bot\"\n"))
}

fn before(agents: &[&Agent], keys: &str) -> Gateway {
    gateway(&agents.iter().map(|agent| agent.url()).collect::<Vec<_>>(), keys)
}

/// Which of two agents gets the next request.
async fn asked(one: &Agent, other: &Agent) -> (usize, Connection, Head, Vec<u8>) {
    tokio::select! {
        (connection, head, body) = one.request() => (0, connection, head, body),
        (connection, head, body) = other.request() => (1, connection, head, body),
    }
}

/// Sends a request and has it answered; which of two agents did that.
async fn turn(gateway: &Gateway, request: &str, one: &Agent, other: &Agent, answer: &str) -> usize {
    let mut client = gateway.ask(request).await;
    let (place, mut connection, ..) = asked(one, other).await;
    connection.send(answer).await;
    client.message().await;
    place
}

/// An agent that answers each request by itself, with this status, and counts the requests at `/agui`.
struct Automatic {
    url: String,
    status: Arc<AtomicU16>,
    requests: Arc<AtomicUsize>,
    checks: Arc<AtomicUsize>,
}

impl Automatic {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let all = Self {
            url: format!("http://{}/agui", listener.local_addr().unwrap()),
            status: Arc::new(AtomicU16::new(200)),
            requests: Arc::default(),
            checks: Arc::default(),
        };
        let (status, requests, checks) = (all.status.clone(), all.requests.clone(), all.checks.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (status, requests, checks) = (status.clone(), requests.clone(), checks.clone());
                tokio::spawn(async move {
                    let mut connection = Connection::new(stream);
                    let Some((head, _)) = connection.try_message().await else { return };
                    let is_check = head.asks().1.starts_with("/health");
                    (if is_check { checks } else { requests }).fetch_add(1, Relaxed);
                    // Only checks see the status: runs work all the same.
                    let status = if is_check { status.load(Relaxed) } else { 200 };
                    let answer = format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
                    connection.try_send(answer).await;
                });
            }
        });
        all
    }

    fn requests(&self) -> usize {
        self.requests.load(Relaxed)
    }
}

fn healthy(url: &str) -> [String; 1] {
    [format!("endpoint=\"{url}\"")]
}

async fn shows(gateway: &Gateway, name: &str, url: &str, value: f64) {
    let labels = healthy(url);
    gateway.shows(name, &labels.each_ref().map(String::as_str), value).await;
}

fn input(thread: &str) -> String {
    format!(r#"{{"runId":"r","messages":[{{"id":"1","role":"user","content":"hello"}}],"threadId":"{thread}"}}"#)
}

fn run(body: &str) -> String {
    let length = body.len();
    format!("POST / HTTP/1.1\r\nhost: g\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
}

/// These bytes in gzip (RFC 1952), as one block that is stored as it is.
fn gzip(data: &[u8]) -> Vec<u8> {
    let step = |crc: u32, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
    let crc = !data.iter().fold(!0, |crc: u32, byte| (0..8).fold(crc ^ u32::from(*byte), step));
    let length = u16::try_from(data.len()).unwrap();
    let head = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 1];
    let sizes = [length.to_le_bytes(), (!length).to_le_bytes()].concat();
    [&head[..], &sizes, data, &crc.to_le_bytes(), &u32::from(length).to_le_bytes()].concat()
}

#[tokio::test]
async fn turns_are_taken_by_all_threads_together() {
    let agents = [Automatic::new().await, Automatic::new().await, Automatic::new().await];
    let urls = agents.each_ref().map(|agent| agent.url.clone());
    let gateway = gateway(&urls, "threads = 2\nbalance = \"round_robin\"");
    for _ in 0..12 {
        assert_eq!(gateway.ask(get("/")).await.message().await.0.status(), 200);
    }
    assert_eq!(agents.each_ref().map(Automatic::requests), [4, 4, 4]);
}

#[tokio::test]
async fn a_busy_url_is_avoided_by_all_threads() {
    let agents = [Agent::new().await, Agent::new().await];
    let gateway = before(&[&agents[0], &agents[1]], "threads = 2\n");
    let mut client = gateway.ask(post("/")).await;
    let (busy, mut connection, ..) = asked(&agents[0], &agents[1]).await;
    connection.send(STREAM).await;
    client.head().await;
    for _ in 0..8 {
        assert_eq!(turn(&gateway, &get("/"), &agents[0], &agents[1], OK).await, 1 - busy);
    }
    connection.send([chunk(frames([STARTED, FINISHED])), END.into()].concat()).await;
    client.rest().await;
    drop(connection);
    let mut places = Vec::new();
    for _ in 0..2 {
        places.push(turn(&gateway, &get("/"), &agents[0], &agents[1], OK).await);
    }
    places.sort_unstable();
    assert_eq!(places, [0, 1], "a run that is over counts no more");
}

#[tokio::test]
async fn a_run_whose_client_left_counts_no_more() {
    let agents = [Agent::new().await, Agent::new().await];
    let gateway = before(&[&agents[0], &agents[1]], "");
    for answers in [true, false] {
        let mut client = gateway.ask(post("/")).await;
        let (_, mut connection, ..) = asked(&agents[0], &agents[1]).await;
        if answers {
            connection.send(STREAM).await;
            client.head().await;
        }
        drop(client);
        connection.is_left().await;
        let mut places = Vec::new();
        for _ in 0..2 {
            places.push(turn(&gateway, &get("/"), &agents[0], &agents[1], OK).await);
        }
        places.sort_unstable();
        assert_eq!(places, [0, 1]);
    }
}

#[tokio::test]
async fn a_thread_sticks_wherever_its_id_stands_and_the_body_is_whole() {
    let agents = [Agent::new().await, Agent::new().await];
    let gateway = before(&[&agents[0], &agents[1]], "threads = 2\nbalance = \"thread\"");
    let mut places = Vec::new();
    for n in 0..12 {
        let body = input(&format!("thread-{n}"));
        let mut client = gateway.ask(run(&body)).await;
        let (place, mut connection, _, got) = asked(&agents[0], &agents[1]).await;
        assert_eq!(String::from_utf8(got).unwrap(), body);
        connection.send(OK).await;
        client.message().await;

        let first = format!(r#"{{"threadId":"thread-{n}","messages":[],"runId":"r2"}}"#);
        assert_eq!(turn(&gateway, &run(&first), &agents[0], &agents[1], OK).await, place);

        let mut client = gateway.ask("POST / HTTP/1.1\r\nhost: g\r\ntransfer-encoding: chunked\r\n\r\n").await;
        let (head, tail) = body.split_at(body.len() - 4);
        client.send_apart([chunk(head), chunk(tail), END.into()]).await;
        let (again, mut connection, head, got) = asked(&agents[0], &agents[1]).await;
        assert_eq!((again, String::from_utf8(got).unwrap()), (place, body.clone()), "{head:?}");
        connection.send(OK).await;
        client.message().await;

        let gzip = gzip(body.as_bytes());
        let length = gzip.len();
        let head = format!("POST / HTTP/1.1\r\nhost: g\r\ncontent-encoding: gzip\r\ncontent-length: {length}\r\n\r\n");
        let mut client = gateway.ask([head.as_bytes(), &gzip].concat()).await;
        let (again, mut connection, head, got) = asked(&agents[0], &agents[1]).await;
        assert_eq!((again, head.header("content-encoding"), got), (place, Some("gzip"), gzip));
        connection.send(OK).await;
        client.message().await;
        places.push(place);
    }
    assert!(places.contains(&0) && places.contains(&1), "{places:?}");
    gateway.is_clean().await;
}

#[tokio::test]
async fn an_upload_is_held_back_only_as_far_as_its_thread() {
    let agents = [Agent::new().await, Agent::new().await];
    let gateway = before(&[&agents[0], &agents[1]], "balance = \"thread\"\ntimeouts = { first_event = \"300ms\" }");
    let head = |n: usize| format!("POST / HTTP/1.1\r\nhost: g\r\ncontent-length: {n}\r\n\r\n");
    let mut client = gateway.ask(head(100) + r#"{"messages":["#).await;
    assert!(agents[0].is_left_alone().await && agents[1].is_left_alone().await);
    client.send(r#"],"threadId":"t1","#).await;
    let mut connection = tokio::select! {
        connection = agents[0].accept() => connection,
        connection = agents[1].accept() => connection,
    };
    assert_eq!(connection.head().await.length(), Some(100));
    assert_eq!(connection.exactly(31).await, br#"{"messages":[],"threadId":"t1","#);
    client.send("x".repeat(69)).await;
    connection.exactly(69).await;
    connection.send(OK).await;
    assert_eq!(client.message().await.0.status(), 200);

    let mut client = gateway.ask(head(100) + r#"{"messages":["#).await;
    assert_eq!(client.message().await.0.status(), 408);
    drop(gateway.ask(head(100) + r#"{"messages":["#).await);
    // What is no input of a run is not looked at, nor what has no thread.
    let mut client = gateway.ask("PUT / HTTP/1.1\r\nhost: g\r\ncontent-length: 3\r\n\r\n{\"m").await;
    let (_, mut connection, ..) = asked(&agents[0], &agents[1]).await;
    connection.send(OK).await;
    assert_eq!(client.message().await.0.status(), 200);
    for body in ["{}", "", "no json", "[1,2"] {
        turn(&gateway, &run(body), &agents[0], &agents[1], OK).await;
    }
    gateway.is_clean().await;
}

#[tokio::test]
async fn a_body_without_a_thread_is_held_within_its_limit() {
    let agents = [Agent::new().await, Agent::new().await];
    let urls = [agents[0].url(), agents[1].url()];
    let gateway = Gateway::start(&format!(
        "[agents.bot]\nurl = {urls:?}\nbalance = \"thread\"\n[[routes]]\nagent = \"bot\"\nlimits = {{ body = \"1KiB\" }}"
    ));
    let mut client = gateway.ask("POST / HTTP/1.1\r\nhost: g\r\ntransfer-encoding: chunked\r\n\r\n").await;
    client.send(chunk(format!(r#"{{"messages":["{}""#, "x".repeat(500)))).await;
    client.send(chunk("y".repeat(600))).await;
    assert_eq!(client.message().await.0.status(), 413);
    assert!(agents[0].is_left_alone().await && agents[1].is_left_alone().await);
    gateway.is_clean().await;
}

#[tokio::test]
async fn threads_of_a_url_that_is_gone_go_to_another_and_no_other_moves() {
    let agents = [Agent::new().await, Agent::new().await];
    let gateway = before(&[&agents[0], &agents[1]], "balance = \"thread\"\neject = \"off\"");
    let mut places = Vec::new();
    for n in 0..8 {
        places.push(turn(&gateway, &run(&input(&format!("t{n}"))), &agents[0], &agents[1], OK).await);
    }
    assert!(places.contains(&0) && places.contains(&1), "{places:?}");
    let [gone, stays] = agents;
    drop(gone);
    for n in 0..8 {
        let body = input(&format!("t{n}"));
        let mut client = gateway.ask(run(&body)).await;
        let (mut connection, _, got) = stays.request().await;
        assert_eq!(got, body.as_bytes());
        connection.send(OK).await;
        assert_eq!(client.message().await.0.status(), 200);
    }
    gateway.is_clean().await;
}

#[tokio::test]
async fn a_url_that_takes_no_connection_in_time_is_passed_over() {
    use socket2::{Domain, SockAddr, Socket, Type};
    let silent = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    silent.bind(&SockAddr::from("127.0.0.1:0".parse::<std::net::SocketAddr>().unwrap())).unwrap();
    silent.listen(0).unwrap();
    let nowhere = silent.local_addr().unwrap().as_socket().unwrap();
    let mut waiting = Vec::new();
    while let Ok(Ok(stream)) =
        tokio::time::timeout(Duration::from_millis(100), tokio::net::TcpStream::connect(nowhere)).await
    {
        waiting.push(stream);
    }
    let agent = Agent::new().await;
    let gateway = gateway(
        &[format!("http://{nowhere}/"), agent.url()],
        "balance = \"round_robin\"\ntimeouts = { connect = \"100ms\" }\neject = { failures = 1, for = \"1h\" }",
    );
    for _ in 0..4 {
        let mut client = gateway.ask(post("/")).await;
        let (mut connection, _, body) = agent.request().await;
        assert_eq!(body, INPUT.as_bytes());
        connection.send(OK).await;
        assert_eq!(client.message().await.0.status(), 200);
    }
    shows(&gateway, "tidegate_agent_ejections_total", &format!("http://{nowhere}/"), 1.0).await;
    shows(&gateway, "tidegate_agent_attempts_total", &format!("http://{nowhere}/"), 1.0).await;
}

#[tokio::test]
async fn what_one_url_may_have_read_is_never_sent_to_another() {
    let agents = [Agent::new().await, Agent::new().await];
    let gateway = before(&[&agents[0], &agents[1]], "");
    for reset in [true, false, true, false] {
        let mut client = gateway.ask(post("/")).await;
        let (place, connection, ..) = asked(&agents[0], &agents[1]).await;
        if reset {
            connection.reset();
        } else {
            drop(connection);
        }
        let (head, code) = client.refusal().await;
        assert_eq!((head.status(), code.as_str()), (502, "UPSTREAM_TRUNCATED"));
        assert!(agents[1 - place].is_left_alone().await && agents[place].is_left_alone().await);
    }
    gateway.counted("truncated", 4.0).await;
}

#[tokio::test]
async fn a_url_that_fails_is_taken_out_for_a_time() {
    let agents = [Agent::new().await, Agent::new().await];
    let gateway =
        before(&[&agents[0], &agents[1]], "balance = \"round_robin\"\neject = { failures = 2, for = \"2s\" }");
    let answers = |place| if place == 0 { FAILS } else { OK };
    for n in 0..4 {
        assert_eq!(turn(&gateway, &post("/"), &agents[0], &agents[1], answers(n % 2)).await, n % 2);
    }
    shows(&gateway, "tidegate_agent_healthy", &agents[0].url(), 0.0).await;
    shows(&gateway, "tidegate_agent_ejections_total", &agents[0].url(), 1.0).await;
    for _ in 0..4 {
        assert_eq!(turn(&gateway, &post("/"), &agents[0], &agents[1], OK).await, 1);
    }
    tokio::time::sleep(Duration::from_millis(2100)).await;
    let mut places = Vec::new();
    for _ in 0..2 {
        places.push(turn(&gateway, &post("/"), &agents[0], &agents[1], OK).await);
    }
    places.sort_unstable();
    assert_eq!(places, [0, 1]);
    shows(&gateway, "tidegate_agent_healthy", &agents[0].url(), 1.0).await;
    shows(&gateway, "tidegate_agent_ejections_total", &agents[1].url(), 0.0).await;
}

#[tokio::test]
async fn the_last_url_is_given_runs_however_often_it_fails() {
    let agent = Agent::new().await;
    let dead = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let keys = "eject = { failures = 1, for = \"1h\" }";
    let gateway = gateway(&[format!("http://{dead}/"), agent.url()], keys);
    for _ in 0..5 {
        let mut client = gateway.ask(post("/")).await;
        let (mut connection, ..) = agent.request().await;
        connection.send(FAILS).await;
        assert_eq!(client.message().await.0.status(), 500);
    }
    shows(&gateway, "tidegate_agent_healthy", &agent.url(), 1.0).await;

    let gateway = self::gateway(&[agent.url()], keys);
    for _ in 0..3 {
        let mut client = gateway.ask(post("/")).await;
        agent.request().await.0.reset();
        assert_eq!(client.message().await.0.status(), 502);
    }
    shows(&gateway, "tidegate_agent_healthy", &agent.url(), 1.0).await;
    shows(&gateway, "tidegate_agent_ejections_total", &agent.url(), 0.0).await;
}

#[tokio::test]
async fn silence_before_the_first_event_is_a_failure_with_and_without_a_head() {
    for answers in [false, true] {
        let agents = [Agent::new().await, Agent::new().await];
        let gateway = before(
            &[&agents[0], &agents[1]],
            "timeouts = { first_event = \"100ms\" }\neject = { failures = 1, for = \"1h\" }",
        );
        let mut client = gateway.ask(post("/")).await;
        let (place, mut connection, ..) = asked(&agents[0], &agents[1]).await;
        if answers {
            connection.send(STREAM).await;
            client.head().await;
            assert_eq!(code_of(&client.rest().await), "FIRST_EVENT_TIMEOUT");
        } else {
            assert_eq!(client.message().await.0.status(), 504);
        }
        shows(&gateway, "tidegate_agent_healthy", &agents[place].url(), 0.0).await;
        for _ in 0..3 {
            assert_eq!(turn(&gateway, &get("/"), &agents[0], &agents[1], OK).await, 1 - place);
        }
    }
}

#[tokio::test]
async fn a_first_event_ends_a_row_of_failures_and_a_head_alone_does_not() {
    let agents = [Agent::new().await, Agent::new().await];
    let gateway = before(
        &[&agents[0], &agents[1]],
        "balance = \"thread\"\ntimeouts = { first_event = \"400ms\" }\neject = { failures = 2, for = \"1h\" }",
    );
    let stream = async |first: &str| {
        let mut client = gateway.ask(post("/")).await;
        let (place, mut connection, ..) = asked(&agents[0], &agents[1]).await;
        connection.send(STREAM).await;
        client.head().await;
        if !first.is_empty() {
            connection.send(chunk(frames([first, FINISHED]))).await;
            connection.send(END).await;
        }
        client.rest().await;
        place
    };
    let home = stream("").await;
    assert_eq!(stream(STARTED).await, home);
    assert_eq!(stream("").await, home);
    shows(&gateway, "tidegate_agent_healthy", &agents[home].url(), 1.0).await;
    assert_eq!(stream("").await, home);
    shows(&gateway, "tidegate_agent_healthy", &agents[home].url(), 0.0).await;
    assert_eq!(stream(STARTED).await, 1 - home);
}

#[tokio::test]
async fn checks_take_a_url_out_and_bring_it_back() {
    let agents = [Automatic::new().await, Automatic::new().await];
    let urls = agents.each_ref().map(|agent| agent.url.clone());
    let gateway =
        gateway(&urls, "threads = 2\nbalance = \"round_robin\"\nhealth = { path = \"/health?x=1\", every = \"30ms\" }");
    agents[0].status.store(503, Relaxed);
    shows(&gateway, "tidegate_agent_healthy", &urls[0], 0.0).await;
    for _ in 0..6 {
        gateway.ask(get("/")).await.message().await;
    }
    assert_eq!((agents[0].requests(), agents[1].requests()), (0, 6));
    agents[1].status.store(301, Relaxed);
    shows(&gateway, "tidegate_agent_healthy", &urls[1], 0.0).await;
    for _ in 0..4 {
        gateway.ask(get("/")).await.message().await;
    }
    assert_eq!((agents[0].requests(), agents[1].requests()), (2, 8), "if all are out, all are in");
    agents[0].status.store(204, Relaxed);
    shows(&gateway, "tidegate_agent_healthy", &urls[0], 1.0).await;
    for _ in 0..4 {
        gateway.ask(get("/")).await.message().await;
    }
    assert_eq!((agents[0].requests(), agents[1].requests()), (6, 8));
    assert_eq!(gateway.figure("tidegate_agent_attempts_total", &[]), 14.0, "checks are no attempts");
    // Two threads would have checked twice as often as the time allows.
    let (before, begun) = (agents[0].checks.load(Relaxed), Instant::now());
    tokio::time::sleep(Duration::from_millis(300)).await;
    let checks = agents[0].checks.load(Relaxed) - before;
    assert!(checks as u128 <= begun.elapsed().as_millis() / 30 + 1, "{checks}");
}

#[tokio::test]
async fn a_check_carries_the_agents_headers_and_a_silent_answer_is_none() {
    let agent = Agent::new().await;
    let gateway = gateway(
        &[agent.url()],
        "health = { path = \"/up\", every = \"20ms\", timeout = \"300ms\" }\n\
         headers = { set = { x-token = \"t\", host = \"inner.example\" } }",
    );
    let (mut connection, head, _) = agent.request().await;
    assert_eq!(head.asks(), ("GET", "/up"));
    assert_eq!((head.header("x-token"), head.header("host")), (Some("t"), Some("inner.example")));
    connection.is_left().await;
    shows(&gateway, "tidegate_agent_healthy", &agent.url(), 1.0).await;
    agent.request().await.0.is_left().await;
    shows(&gateway, "tidegate_agent_healthy", &agent.url(), 0.0).await;
    agent.request().await.0.send(OK).await;
    shows(&gateway, "tidegate_agent_healthy", &agent.url(), 1.0).await;
}

#[tokio::test]
async fn an_agent_of_http_2_is_checked_in_http_2() {
    let mut agent = Http2Agent::new().await;
    let gateway = agent.gateway("health = { path = \"/up\", every = \"20ms\" }", "");
    let url = format!("http://{}/agui", agent.address());
    for (status, healthy) in [(500, None), (500, Some(0.0)), (200, Some(1.0))] {
        let (request, reply) = agent.request().await;
        assert_eq!((request.version(), request.uri().path()), (http::Version::HTTP_2, "/up"));
        soon(request.into_body().collect()).await.unwrap();
        let (_feeder, body) = super::support::http2::feed();
        assert!(reply.send(http::Response::builder().status(status).body(body).unwrap()).is_ok());
        if let Some(healthy) = healthy {
            shows(&gateway, "tidegate_agent_healthy", &url, healthy).await;
        }
    }
}

#[tokio::test]
async fn a_name_that_leads_inside_is_refused_where_that_is_denied() {
    let agent = Agent::new().await;
    let url = format!("http://localhost:{}/agui", agent.address().port());
    let denies = gateway(std::slice::from_ref(&url), "deny_private = true");
    let (head, body) = denies.ask(post("/")).await.message().await;
    assert_eq!(head.status(), 502);
    assert!(!String::from_utf8(body).unwrap().contains("127.0.0.1"));
    assert!(agent.is_left_alone().await);
    denies.counted("agent_unreachable", 1.0).await;
    denies.shows("tidegate_agent_connect_seconds_count", &["result=\"error\""], 1.0).await;
    // Another spelling of 127.0.0.1 that only the system's resolver reads.
    let odd = gateway(&[format!("http://2130706433:{}/agui", agent.address().port())], "deny_private = true");
    assert_eq!(odd.ask(post("/")).await.message().await.0.status(), 502);
    assert!(agent.is_left_alone().await);

    let gateway = gateway(&[url], "");
    let mut client = gateway.ask(post("/")).await;
    let (mut connection, ..) = agent.request().await;
    connection.send(STREAM).await;
    connection.send(chunk(frame(STARTED))).await;
    client.head().await;
    client.expect(&frame(STARTED)).await;
}
