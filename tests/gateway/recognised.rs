//! What makes an answer that of a run: the input that was sent, however it is coded and whenever it arrives. And that a
//! policy holds whatever was sent.

use super::{
    codings::{CODINGS, coded},
    support::{
        Agent, Connection, END, FINISHED, Gateway, INPUT, STARTED, STREAM, chunk, code_of, delta, frame, frames, get,
        post,
    },
};

const RUNS: &str = "tidegate_runs_total";

fn ask(line: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "POST / HTTP/1.1\r\nhost: g\r\ncontent-type: application/json\r\n{line}content-length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// A run's input in every way that says the same.
fn inputs() -> Vec<Vec<u8>> {
    let coded = CODINGS.iter().flat_map(|coding| {
        let body = coded(coding, &[INPUT]).concat();
        let upper = coding.name.to_ascii_uppercase();
        [coding.name, &upper].map(|name| ask(&format!("content-encoding: {name}\r\n"), &body))
    });
    let plain = ["", "content-encoding: identity\r\n", "content-encoding:\r\n", "Content-Encoding: Identity\r\n"];
    plain.map(|line| ask(line, INPUT.as_bytes())).into_iter().chain(coded).collect()
}

async fn asked(gateway: &Gateway, agent: &Agent, request: &[u8]) -> (Connection, Connection) {
    let client = gateway.ask(request).await;
    (client, agent.request().await.0)
}

#[tokio::test]
async fn an_input_is_one_however_it_is_coded() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut runs = 0.0;
    for request in inputs() {
        let (mut client, mut connection) = asked(&gateway, &agent, &request).await;
        connection.send(format!("{STREAM}{END}")).await;
        let head = client.head().await;
        assert_eq!(head.header("cache-control"), Some("no-cache, no-transform"));
        assert_eq!(code_of(&client.rest().await), "UPSTREAM_TRUNCATED");
        runs += 1.0;
        gateway.shows(RUNS, &["outcome=\"truncated\""], runs).await;
        drop(connection);
        let (mut client, mut connection) = asked(&gateway, &agent, &request).await;
        connection.send("HTTP/1.1 500 X\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").await;
        assert_eq!(client.message().await.0.status(), 500);
        gateway.shows(RUNS, &["outcome=\"agent_status\""], runs).await;
    }
    gateway.is_clean().await;
}

#[tokio::test]
async fn a_coded_input_that_cannot_be_read_goes_on_as_it_came() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    for coding in ["gzip", "compress", "gzip, br"] {
        let request = ask(&format!("content-encoding: {coding}\r\n"), b"nonsense");
        let mut client = gateway.ask(&request).await;
        let (mut connection, head, body) = agent.request().await;
        assert_eq!((head.header("content-encoding"), &body[..]), (Some(coding), &b"nonsense"[..]));
        connection.send("HTTP/1.1 400 X\r\ncontent-length: 0\r\n\r\n").await;
        assert_eq!(client.message().await.0.status(), 400);
    }
    assert_eq!(gateway.figure(RUNS, &[]), 0.0);
}

#[tokio::test]
async fn a_policy_holds_for_whoever_asks() {
    let agent = Agent::new().await;
    let keys = "tools = { deny = [\"rm\"] }\nredact = [{ pattern = \"sk-[a-z]+\", with = \"***\" }]";
    let gateway = Gateway::with(&agent, "", keys);
    let call = r#"{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"rm"}"#;
    let requests = inputs().into_iter().chain([
        ask("", br#"{"threadId":null,"runId":null}"#),
        ask("", br#"{"messages":[]}"#),
        ask("", b"{}"),
        get("/").into_bytes(),
        get("/").replace("host", "accept: text/event-stream\r\nhost").into_bytes(),
    ]);
    for request in requests {
        for first in [r#"{"type":"ping"}"#, r#"{"ping":1}"#, "hello", "[DONE]", STARTED] {
            let (mut client, mut connection) = asked(&gateway, &agent, &request).await;
            let events = [first, STARTED, &delta("a sk-abc b"), call, FINISHED];
            connection.send(STREAM).await;
            connection.send(chunk(frames(events))).await;
            connection.send(END).await;
            client.head().await;
            let text = client.rest().await;
            assert!(!text.contains("rm") && !text.contains("sk-abc"), "{}: {text}", String::from_utf8_lossy(&request));
        }
    }
}

#[tokio::test]
async fn an_answer_that_comes_before_the_input_is_that_of_a_run_too() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", "guard = \"refuse\"");
    let request = post("/");
    let (head, body) = request.split_at(request.len() - INPUT.len());
    let (first, last) = body.split_at(10);
    let mut runs = 0.0;
    for (answer, status, outcome) in [
        ("HTTP/1.1 503 X\r\ncontent-length: 0\r\n\r\n", 503, "agent_status"),
        ("HTTP/1.1 503 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n", 503, "agent_status"),
        ("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi", 502, "agent_status"),
        ("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 0\r\n\r\n", 200, "truncated"),
    ] {
        let mut client = gateway.ask(format!("{head}{first}")).await;
        let mut connection = agent.accept().await;
        connection.until("\r\n\r\n").await;
        connection.send(answer).await;
        if answer.contains("close") {
            drop(connection);
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        client.send(last).await;
        assert_eq!(client.head().await.status(), status, "{answer}");
        runs += 1.0;
        gateway.shows(RUNS, &[], runs).await;
        assert!(gateway.figure(RUNS, &[&format!("outcome=\"{outcome}\"")]) > 0.0);
    }
}

#[tokio::test]
async fn an_answer_does_not_wait_for_an_input_that_does_not_come() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let request = post("/");
    let mut client = gateway.ask(&request[..request.len() - 10]).await;
    let mut connection = agent.accept().await;
    connection.until("\r\n\r\n").await;
    connection.send(STREAM).await;
    connection.send(chunk(frame(STARTED))).await;
    assert_eq!(client.head().await.status(), 200);
    client.expect(&frame(STARTED)).await;
}
