//! How often clients may ask, how many runs go on at once, and what a run may spend.

use super::support::{
    Agent, Connection, END, FINISHED, Gateway, STARTED, STREAM, chunk, code_of, delta, frame, frames, get, post,
};

const AUTH: &str = "auth = { api_keys = [\
    { name = \"a\", sha256 = \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\" }, \
    { name = \"b\", sha256 = \"60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752\" }] }";
/// The keys of `a` and `b`.
const KEYS: [&str; 2] = ["test", "test2"];

fn with(line: &str) -> String {
    post("/").replace("host: gate\r\n", &format!("host: gate\r\n{line}\r\n"))
}

/// The status, the code and the seconds to wait that this request is refused with.
async fn refused(gateway: &Gateway, request: &str) -> (u16, String, u64) {
    let (head, code) = gateway.ask(request).await.refusal().await;
    let wait = head.header("retry-after").and_then(|wait| wait.parse().ok()).unwrap_or_default();
    (head.status(), code, wait)
}

async fn finish((mut client, mut connection): (Connection, Connection)) {
    connection.send(chunk(frame(FINISHED))).await;
    connection.send(END).await;
    assert_eq!(client.rest().await, frame(FINISHED));
}

/// Whether a request is let in; if so it is answered at once.
async fn is_let_in(gateway: &Gateway, agent: &Agent, request: &str) -> bool {
    let mut client = gateway.ask(request).await;
    tokio::select! {
        (mut connection, ..) = agent.request() => {
            connection.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
            assert_eq!(client.message().await.0.status(), 200);
            true
        }
        (head, _) = async { client.message().await } => {
            assert_eq!(head.status(), 429);
            false
        }
    }
}

#[tokio::test]
async fn who_asks_too_often_is_told_when_to_come_back() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", "limits = { rate = \"2/min by ip\" }");
    for _ in 0..2 {
        finish(gateway.run_of(&post("/"), &agent).await).await;
    }
    let (status, code, wait) = refused(&gateway, &post("/")).await;
    assert_eq!((status, code.as_str()), (429, "RATE_LIMITED"));
    assert!((25..=31).contains(&wait), "{wait}");
    assert!(agent.is_left_alone().await);
    gateway.shows("tidegate_requests_refused_total", &["reason=\"rate\""], 1.0).await;
}

#[tokio::test]
async fn a_rate_is_one_for_all_threads() {
    let agent = Agent::new().await;
    let gateway = Gateway::start(&format!(
        "threads = 4\n[agents.bot]\nurl = \"{}\"\n[[routes]]\nlimits = {{ rate = \"3/h by ip\" }}\n",
        agent.url()
    ));
    let mut let_in = 0;
    for _ in 0..12 {
        let_in += usize::from(is_let_in(&gateway, &agent, &get("/x")).await);
    }
    assert_eq!(let_in, 3);
}

#[tokio::test]
async fn clients_behind_a_trusted_proxy_are_told_apart_and_nobody_elses_word_counts() {
    let agent = Agent::new().await;
    let limits = "[[routes]]\nlimits = { rate = \"1/h by ip\" }\n";
    let bot = format!("[agents.bot]\nurl = \"{}\"\n", agent.url());
    let forwarded = |client: &str| with(&format!("x-forwarded-for: {client}"));
    let trusting = Gateway::start(&format!("trusted_proxies = [\"127.0.0.0/8\"]\n{bot}{limits}"));
    assert!(is_let_in(&trusting, &agent, &forwarded("203.0.113.1")).await);
    assert!(!is_let_in(&trusting, &agent, &forwarded("203.0.113.1")).await);
    assert!(is_let_in(&trusting, &agent, &forwarded("203.0.113.2")).await);
    assert!(!is_let_in(&trusting, &agent, &forwarded("198.51.100.7, 203.0.113.2")).await);
    let open = Gateway::start(&format!("{bot}{limits}"));
    assert!(is_let_in(&open, &agent, &forwarded("203.0.113.1")).await);
    assert!(!is_let_in(&open, &agent, &forwarded("203.0.113.2")).await);
}

#[tokio::test]
async fn a_rate_by_key_or_header_is_each_ones_own() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", &format!("{AUTH}\nlimits = {{ rate = \"1/h by key\" }}"));
    for key in KEYS {
        assert!(is_let_in(&gateway, &agent, &with(&format!("x-api-key: {key}"))).await);
        assert!(!is_let_in(&gateway, &agent, &with(&format!("authorization: Bearer {key}"))).await);
    }
    let gateway = Gateway::with(&agent, "", "limits = { rate = \"1/h by header:x-tenant\" }");
    for line in ["x-tenant: acme", "x-tenant: other", "x-none: 1"] {
        assert!(is_let_in(&gateway, &agent, &with(line)).await);
        assert!(!is_let_in(&gateway, &agent, &with(line)).await);
    }
}

#[tokio::test]
async fn keys_cannot_be_tried_out_in_a_row() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", &format!("{AUTH}\nlimits = {{ rate = \"2/h by ip\" }}"));
    for status in [401, 401, 429] {
        assert_eq!(refused(&gateway, &with("x-api-key: guess")).await.0, status);
    }
}

#[tokio::test]
async fn past_runs_new_ones_are_turned_away_and_those_in_flight_go_on() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", "limits = { runs = 2 }");
    let first = gateway.run_of(&post("/"), &agent).await;
    let second = gateway.run_of(&post("/"), &agent).await;
    let (status, code, wait) = refused(&gateway, &post("/")).await;
    assert_eq!((status, code.as_str(), wait), (503, "TOO_MANY_RUNS", 1));
    gateway.shows("tidegate_requests_refused_total", &["reason=\"runs\""], 1.0).await;
    // What cannot be a run needs no place.
    assert!(is_let_in(&gateway, &agent, &get("/info")).await);
    finish(first).await;
    gateway.shows("tidegate_runs_active", &[], 1.0).await;
    let third = gateway.run_of(&post("/"), &agent).await;
    assert_eq!(refused(&gateway, &post("/")).await.0, 503);
    // A client that leaves gives its place back too.
    drop(second);
    gateway.shows("tidegate_runs_active", &[], 1.0).await;
    let fourth = gateway.run_of(&post("/"), &agent).await;
    finish(third).await;
    finish(fourth).await;
    gateway.is_clean().await;
}

#[tokio::test]
async fn a_place_is_given_back_when_the_agent_does_not_answer() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", "limits = { runs = 1 }");
    for _ in 0..3 {
        let mut client = gateway.ask(post("/")).await;
        agent.accept().await.reset();
        assert_eq!(client.message().await.0.status(), 502);
        let client = gateway.ask(post("/")).await;
        let mut connection = agent.accept().await;
        drop(client);
        connection.is_left().await;
    }
    finish(gateway.run_of(&post("/"), &agent).await).await;
}

#[tokio::test]
async fn nobody_has_more_runs_than_one_may_have() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", &format!("{AUTH}\nlimits = {{ runs_per_key = 1 }}"));
    let [a, b] = KEYS.map(|key| with(&format!("x-api-key: {key}")));
    let run = gateway.run_of(&a, &agent).await;
    assert_eq!(refused(&gateway, &a).await, (429, "TOO_MANY_RUNS".to_owned(), 1));
    finish(gateway.run_of(&b, &agent).await).await;
    finish(run).await;
    gateway.shows("tidegate_runs_active", &[], 0.0).await;
    finish(gateway.run_of(&a, &agent).await).await;
}

#[tokio::test]
async fn an_address_has_so_many_connections_and_no_more() {
    let agent = Agent::new().await;
    let gateway = Gateway::start(&format!("connections_per_address = 2\nagent = \"{}\"", agent.url()));
    let first = gateway.run_of(&post("/"), &agent).await;
    let idle = gateway.connect().await;
    gateway.connect().await.is_left().await;
    gateway.shows("tidegate_requests_refused_total", &["reason=\"connections\""], 1.0).await;
    drop(idle);
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    finish(gateway.run_of(&post("/"), &agent).await).await;
    finish(first).await;
}

/// What a client sees of a run that is never over, and how long the agent's connection lasts.
async fn spends(limits: &str, events: &[String]) -> (String, Gateway) {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", &format!("limits = {{ run = {{ {limits} }} }}"));
    let mut client = gateway.ask(post("/")).await;
    let (mut connection, ..) = agent.request().await;
    connection.send(STREAM).await;
    client.head().await;
    for event in events {
        connection.try_send(chunk(frame(event))).await;
    }
    let seen = client.rest().await;
    connection.is_left().await;
    (seen, gateway)
}

/// The events before the error, which has this code.
fn before_the_error(seen: &str) -> Vec<&str> {
    let (events, error) = seen.trim_end().rsplit_once("\n\n").unwrap();
    assert_eq!(code_of(&format!("{error}\n\n")), "BUDGET_EXCEEDED");
    events.split("\n\n").collect()
}

#[tokio::test]
async fn a_run_ends_when_its_events_are_spent() {
    let events: Vec<String> = std::iter::once(STARTED.to_owned()).chain((0..50).map(|_| delta("x"))).collect();
    let (seen, gateway) = spends("events = 10", &events).await;
    assert_eq!(before_the_error(&seen).len(), 10);
    gateway.counted("budget", 1.0).await;
}

#[tokio::test]
async fn a_run_ends_when_its_bytes_are_spent() {
    let events: Vec<String> =
        std::iter::once(STARTED.to_owned()).chain((0..50).map(|_| delta(&"x".repeat(200)))).collect();
    let (seen, gateway) = spends("bytes = \"1KiB\"", &events).await;
    gateway.counted("budget", 1.0).await;
    let bytes: usize = before_the_error(&seen).iter().map(|frame| frame.len() - "data: ".len()).sum();
    assert!((600..=1024).contains(&bytes), "{bytes}");
}

#[tokio::test]
async fn a_run_ends_when_its_tool_calls_are_spent() {
    let call = |id: usize| {
        [
            format!(r#"{{"type":"TOOL_CALL_START","toolCallId":"c{id}","toolCallName":"t"}}"#),
            format!(r#"{{"type":"TOOL_CALL_ARGS","toolCallId":"c{id}","delta":"{{}}"}}"#),
            format!(r#"{{"type":"TOOL_CALL_END","toolCallId":"c{id}"}}"#),
        ]
    };
    let events: Vec<String> = std::iter::once(STARTED.to_owned()).chain((0..9).flat_map(call)).collect();
    let (seen, gateway) = spends("tool_calls = 2", &events).await;
    gateway.counted("budget", 1.0).await;
    assert_eq!(before_the_error(&seen).len(), 7);
}

#[tokio::test]
async fn a_run_that_ends_with_its_last_event_is_finished() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", "limits = { run = { events = 2, bytes = \"250B\" } }");
    let mut client = gateway.ask(post("/")).await;
    let (mut connection, ..) = agent.request().await;
    connection.send(STREAM).await;
    let events = frames([STARTED, &delta("x"), FINISHED]);
    connection.send(chunk(&events)).await;
    connection.send(END).await;
    client.head().await;
    assert_eq!(client.rest().await, events);
    gateway.counted("finished", 1.0).await;
}

#[tokio::test]
async fn a_run_takes_a_place_whatever_its_body_is_called() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", "limits = { runs = 1 }");
    let (mut client, _connection) = gateway.run_of(&post("/"), &agent).await;
    for media_type in ["text/plain", "application/octet-stream", "text/json"] {
        let request = post("/").replace("application/json", media_type);
        let (status, code, _) = refused(&gateway, &request).await;
        assert_eq!((status, code.as_str()), (503, "TOO_MANY_RUNS"), "{media_type}");
    }
    client.shut_down().await;
}

#[tokio::test]
async fn an_agent_that_ends_its_run_again_and_again_is_cut_off() {
    let events: Vec<String> = [STARTED].into_iter().chain([FINISHED; 20]).map(str::to_owned).collect();
    let (text, gateway) = spends("events = 10", &events).await;
    assert_eq!(text.matches("RUN_FINISHED").count(), 9);
    gateway.counted("finished", 1.0).await;
}
