//! The operator's listener as its clients see it: real sockets, plain HTTP.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{net::SocketAddr, sync::Arc, time::Duration};

use sha2::Digest as _;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};

use super::{AdminState, Readiness, serve, server};
use crate::{config::ApiKey, gateway::Keys, observe::Metrics};

struct Admin {
    address: SocketAddr,
    state: Arc<AdminState>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

async fn admin() -> Admin {
    admin_with(&[]).await
}

async fn admin_with(keys: &[ApiKey]) -> Admin {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let metrics = Metrics::new("0.1.0", "abc");
    let state = AdminState::new(metrics, r#"{"listen":["127.0.0.1:8080"]}"#.to_owned(), Keys::new(keys));
    let state = Arc::new(state);
    let (stop, stopped) = oneshot::channel::<()>();
    let shutdown = async move { drop(stopped.await) };
    let task = tokio::spawn(serve(listener, Arc::clone(&state), shutdown));
    Admin { address, state, stop, task }
}

/// One answer, taken apart.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

impl Admin {
    async fn ask(&self, method: &str, path: &str, more: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let request = format!("{method} {path} HTTP/1.1\r\nhost: admin\r\nconnection: close\r\n{more}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "").await
    }
}

#[tokio::test]
async fn the_index_names_pages_that_are_there() {
    let admin = admin().await;
    let index = admin.get("/").await;
    assert_eq!((index.status, index.header("content-type")), (200, Some("text/plain; charset=utf-8")));
    let pages: Vec<_> =
        index.body.lines().filter(|l| l.starts_with('/')).map(|l| l.split(' ').next().unwrap()).collect();
    assert_eq!(pages, ["/metrics", "/livez", "/readyz", "/config"]);
    for page in pages {
        assert!([200, 503].contains(&admin.get(page).await.status), "{page}");
    }
}

#[tokio::test]
async fn readiness_moves_from_starting_over_ready_to_draining_and_never_back() {
    let admin = admin().await;
    let mut seen = Vec::new();
    for step in [None, Some(Readiness::Ready), Some(Readiness::Draining), Some(Readiness::Ready)] {
        if let Some(step) = step {
            admin.state.advance(step);
        }
        let answer = admin.get("/readyz").await;
        seen.push((answer.status, answer.body));
        assert_eq!(admin.get("/livez").await.body, "ok\n");
    }
    let expected = [(503, "starting\n"), (200, "ready\n"), (503, "draining\n"), (503, "draining\n")];
    assert_eq!(seen, expected.map(|(status, body)| (status, body.to_owned())));
}

#[tokio::test]
async fn metrics_come_in_the_format_that_is_asked_for() {
    let admin = admin().await;
    let classic = admin.get("/metrics").await;
    assert_eq!(classic.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert!(classic.body.contains("tidegate_build_info{version=\"0.1.0\",revision=\"abc\"} 1\n"), "{}", classic.body);
    assert!(!classic.body.contains("# EOF"));
    let open = admin.ask("GET", "/metrics?x=y", "accept: application/openmetrics-text\r\n").await;
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!((open.status, open.header("content-type")), (200, Some(content_type)));
    assert!(open.body.ends_with("# EOF\n"));
}

#[tokio::test]
async fn the_configuration_is_shown_as_json() {
    let admin = admin().await;
    let config = admin.get("/config").await;
    assert_eq!((config.status, config.header("content-type")), (200, Some("application/json")));
    assert_eq!(config.body, r#"{"listen":["127.0.0.1:8080"]}"#);
}

#[tokio::test]
async fn another_configuration_is_shown_to_whoever_has_its_keys() {
    let admin = admin().await;
    let key = ApiKey { name: "p".into(), sha256: sha2::Sha256::digest("key").into() };
    admin.state.changed("{}".into(), Keys::new(&[key]));
    assert_eq!(admin.get("/config").await.status, 401);
    assert_eq!(admin.ask("GET", "/config", "x-api-key: key\r\n").await.body, "{}");
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let admin = admin().await;
    let (get, head) = (admin.get("/config").await, admin.ask("HEAD", "/config", "").await);
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    for name in ["content-type", "content-length", "cache-control"] {
        assert!(head.header(name).is_some(), "{name}");
        assert_eq!(head.header(name), get.header(name), "{name}");
    }
}

#[tokio::test]
async fn other_methods_and_paths_are_problems() {
    let admin = admin().await;
    let post = admin.ask("POST", "/config", "content-length: 0\r\n").await;
    assert_eq!((post.status, post.header("allow")), (405, Some("GET, HEAD")));
    let missing = admin.ask("POST", "/metrics/", "content-length: 0\r\n").await;
    assert_eq!((missing.status, missing.header("allow")), (404, None));
    for answer in [post, missing] {
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        let problem: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(problem["status"], answer.status);
        assert!(problem["title"].is_string() && problem["detail"].is_string());
    }
}

#[tokio::test]
async fn what_is_no_http_harms_nobody() {
    let admin = admin().await;
    let mut stream = TcpStream::connect(admin.address).await.unwrap();
    stream.write_all(b"\x16\x03\x01\x00\x00 nonsense\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    assert_eq!(admin.get("/livez").await.status, 200);
}

#[tokio::test]
async fn it_answers_on_one_connection_until_it_is_told_to_stop_and_then_stops() {
    let admin = admin().await;
    let mut stream = TcpStream::connect(admin.address).await.unwrap();
    let mut buffer = [0; 4096];
    for _ in 0..2 {
        stream.write_all(b"GET /livez HTTP/1.1\r\nhost: admin\r\n\r\n").await.unwrap();
        let n = stream.read(&mut buffer).await.unwrap();
        assert!(buffer[..n].starts_with(b"HTTP/1.1 200 OK\r\n") && buffer[..n].ends_with(b"ok\n"));
    }
    admin.stop.send(()).unwrap();
    tokio::time::timeout(Duration::from_millis(900), admin.task).await.expect("idle connections close").unwrap();
    assert_eq!(stream.read(&mut buffer).await.unwrap(), 0);
    assert!(TcpStream::connect(admin.address).await.is_err());
}

#[tokio::test]
async fn with_keys_only_health_is_shown_to_everyone() {
    let key = ApiKey { name: "p".into(), sha256: sha2::Sha256::digest("key").into() };
    let admin = admin_with(&[key]).await;
    for (path, status) in [("/livez", 200), ("/readyz", 503), ("/metrics", 401), ("/config", 401), ("/", 401)] {
        assert_eq!(admin.get(path).await.status, status, "{path}");
    }
    let refused = admin.ask("GET", "/config", "authorization: Bearer other\r\n").await;
    assert_eq!(refused.header("www-authenticate"), Some("Bearer realm=\"tidegate admin\""));
    assert!(refused.status == 401 && !refused.body.contains("127.0.0.1"));
    for shown in ["authorization: Bearer key\r\n", "x-api-key: key\r\n"] {
        assert_eq!(admin.ask("GET", "/metrics", shown).await.status, 200, "{shown}");
    }
}

#[tokio::test]
async fn connections_that_are_held_open_keep_nobody_out() {
    let admin = admin().await;
    let mut held = Vec::new();
    for _ in 0..server::MAX_CONNECTIONS + 10 {
        held.push(TcpStream::connect(admin.address).await.unwrap());
    }
    let answer = tokio::time::timeout(Duration::from_secs(3), admin.ask("GET", "/livez", ""));
    assert_eq!(answer.await.expect("it is not waited for").status, 200);
    assert_eq!(held[0].read(&mut [0]).await.unwrap(), 0, "the oldest makes room");
    let last = held.last_mut().unwrap();
    last.write_all(b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    assert_eq!(last.read(&mut [0]).await.unwrap(), 1, "the newest stays");
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed_after_five_seconds() {
    let admin = admin().await;
    for request in ["", "GET /livez HTTP/1.1\r\n"] {
        let mut stream = TcpStream::connect(admin.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let since = tokio::time::Instant::now();
        let mut said = Vec::new();
        stream.read_to_end(&mut said).await.unwrap();
        assert!(since.elapsed().as_secs() == 5, "{request:?} {:?}", since.elapsed());
    }
}
