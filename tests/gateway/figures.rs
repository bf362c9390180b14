//! What is counted of a run, and that nothing of the traffic becomes a label (I10).

use std::time::Duration;

use tidegate::{agui::Version, wire::proto};

use super::support::{Agent, END, FINISHED, Gateway, STARTED, STREAM, chunk, delta, frame, frames, post};

const EVENTS: [&str; 9] = [
    r#"{"type":"RUN_STARTED","threadId":"secret-thread","runId":"secret-run","protocolVersion":"1.1"}"#,
    r#"{"type":"TEXT_MESSAGE_START","messageId":"secret-message"}"#,
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"secret-message","delta":"hi"}"#,
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"secret-message","delta":"ho"}"#,
    r#"{"type":"TOOL_CALL_START","toolCallId":"secret-call","toolCallName":"secret_tool"}"#,
    r#"{"type":"TOOL_CALL_RESULT","messageId":"x","toolCallId":"secret-call","content":"y"}"#,
    r#"{"type":"SECRET_TYPE"}"#,
    r#"{"type":"RAW","event":{}}"#,
    r#"{"type":"RUN_FINISHED","threadId":"secret-thread","runId":"secret-run","outcome":{"type":"interrupt","interrupts":[{"id":"secret","reason":"secret"}]},"usage":[{"model":"secret-model","inputTokens":10,"outputTokens":3,"cachedInputTokens":4}]}"#,
];

#[tokio::test]
async fn a_run_is_counted_by_outcome_events_tokens_and_tool_calls() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", "name = \"chat\"\nselect = { drop = [\"RAW\"] }");
    let request =
        post("/secret-path?secret-query").replace("host: gate", "host: secret-host\r\nuser-agent: secret-agent");
    let mut client = gateway.ask(request).await;
    let (mut connection, ..) = agent.request().await;
    connection.send(STREAM).await;
    client.head().await;
    assert_eq!(gateway.figure("tidegate_runs_active", &["route=\"chat\"", "agent=\"bot\""]), 1.0);
    connection.send(chunk(frames(EVENTS))).await;
    connection.send(END).await;
    client.rest().await;
    gateway.counted("interrupted", 1.0).await;

    let is =
        |name: &str, labels: &[&str], value: f64| assert_eq!(gateway.figure(name, labels), value, "{name} {labels:?}");
    is("tidegate_runs_total", &["route=\"chat\"", "agent=\"bot\"", "client_encoding=\"sse\""], 1.0);
    is("tidegate_requests_total", &["route=\"chat\"", "status=\"2xx\""], 1.0);
    for (kind, n) in [("RUN_STARTED", 1.0), ("TEXT_MESSAGE_CONTENT", 2.0), ("RUN_FINISHED", 1.0), ("other", 1.0)] {
        let kind = format!("type=\"{kind}\"");
        is("tidegate_events_total", &["direction=\"in\"", &kind], n);
        is("tidegate_events_total", &["direction=\"out\"", &kind], n);
    }
    is("tidegate_events_total", &["direction=\"in\"", "type=\"RAW\""], 1.0);
    is("tidegate_events_total", &["direction=\"out\"", "type=\"RAW\""], 0.0);
    is("tidegate_events_total", &["direction=\"in\""], 9.0);
    let bytes: usize = EVENTS.iter().map(|event| event.len()).sum();
    is("tidegate_event_bytes_total", &["direction=\"in\"", "encoding=\"sse\""], bytes as f64);
    is("tidegate_event_bytes_total", &["direction=\"out\""], (bytes - EVENTS[7].len()) as f64);
    is("tidegate_tool_calls_total", &["tool=\"other\"", "decision=\"allowed\""], 1.0);
    is("tidegate_tool_call_duration_seconds_count", &[], 1.0);
    is("tidegate_tokens_total", &["kind=\"input\"", "agent=\"bot\""], 10.0);
    is("tidegate_tokens_total", &["kind=\"output\""], 3.0);
    is("tidegate_tokens_total", &["kind=\"cached_input\""], 4.0);
    is("tidegate_run_duration_seconds_count", &["route=\"chat\"", "outcome=\"interrupted\""], 1.0);
    is("tidegate_time_to_first_event_seconds_count", &[], 1.0);
    is("tidegate_time_to_first_content_seconds_count", &[], 1.0);
    is("tidegate_max_event_gap_seconds_count", &[], 1.0);
    is("tidegate_event_delay_seconds_count", &["route=\"chat\""], 8.0);
    is("tidegate_agent_attempts_total", &["result=\"stream\"", "agent=\"bot\""], 1.0);
    is("tidegate_agent_connect_seconds_count", &["result=\"ok\""], 1.0);

    let all = gateway.figures().to_lowercase();
    assert!(!all.contains("secret"), "{all}");
}

#[tokio::test]
async fn the_agents_word_on_the_end_is_the_outcome() {
    let agent = Agent::new().await;
    for (end, outcome) in [
        (r#"{"type":"RUN_FINISHED","outcome":{"type":"cancelled"}}"#, "cancelled"),
        (r#"{"type":"RUN_FINISHED","outcome":{"type":"paused"}}"#, "finished"),
        (r#"{"type":"RUN_ERROR","message":"x","code":"secret"}"#, "agent_error"),
    ] {
        let gateway = Gateway::before(&agent);
        let mut client = gateway.ask(post("/")).await;
        let (mut connection, ..) = agent.request().await;
        connection.send(STREAM).await;
        connection.send(chunk(frames([STARTED, end]))).await;
        connection.send(END).await;
        client.head().await;
        client.rest().await;
        gateway.counted(outcome, 1.0).await;
        assert!(!gateway.figures().contains("secret"));
    }
}

/// How long an agent is silent in these tests, and what the figures have to show of it.
const SILENCE: Duration = Duration::from_millis(400);
const NO_SILENCE: f64 = 0.3;

/// The longest silences that were observed, and their sum in seconds.
fn gaps(gateway: &Gateway) -> (f64, f64) {
    let figure = |name| gateway.figure(name, &[]);
    (figure("tidegate_max_event_gap_seconds_count"), figure("tidegate_max_event_gap_seconds_sum"))
}

#[tokio::test]
async fn the_silence_that_ends_a_run_is_its_longest() {
    let agent = Agent::new().await;
    for (end, outcome) in [
        ("idle", "timeout_idle"),
        ("run", "timeout_run"),
        ("agent", "truncated"),
        ("client", "client_gone"),
        ("drain", "drained"),
    ] {
        let limits = if matches!(end, "idle" | "run") { format!("{end} = \"800ms\"") } else { String::new() };
        let gateway = Gateway::start(&format!(
            "drain = {{ deadline = \"100ms\" }}\n[agents.bot]\nurl = \"{}\"\ntimeouts = {{ {limits} }}\n[[routes]]\n",
            agent.url()
        ));
        let (mut client, mut connection) = gateway.run(&agent).await;
        if limits.is_empty() {
            tokio::time::sleep(SILENCE).await;
        }
        match end {
            "agent" => connection.send(END).await,
            "client" => client.shut_down().await,
            "drain" => {
                gateway.drain();
                client.rest().await;
            }
            _ => {
                client.rest().await;
            }
        }
        gateway.counted(outcome, 1.0).await;
        let (count, sum) = gaps(&gateway);
        assert!(count == 1.0 && sum >= NO_SILENCE, "{end}: {count} {sum}");
    }
}

#[tokio::test]
async fn after_its_end_a_run_is_not_silent_and_each_run_has_its_own_silence() {
    let agent = Agent::new().await;
    let failed = r#"{"type":"RUN_ERROR","message":"x"}"#;
    for (first, then, outcome, runs) in [
        (&[failed][..], &[][..], "agent_error", 1.0),
        (&[STARTED, FINISHED], &[], "finished", 1.0),
        (&[STARTED, FINISHED], &[STARTED, FINISHED], "finished", 2.0),
    ] {
        let gateway = Gateway::before(&agent);
        let (mut client, mut connection) = gateway.stream(&agent).await;
        connection.send(chunk(frames(first.iter().copied()))).await;
        client.expect(&frames(first.iter().copied())).await;
        tokio::time::sleep(SILENCE).await;
        if !then.is_empty() {
            connection.send(chunk(frames(then.iter().copied()))).await;
        }
        connection.send(END).await;
        client.rest().await;
        gateway.counted(outcome, runs).await;
        let (count, sum) = gaps(&gateway);
        assert!(count == runs && sum < NO_SILENCE, "{outcome}: {count} {sum}");
    }
}

#[tokio::test]
async fn a_run_without_an_event_has_no_silence() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "timeouts = { first_event = \"100ms\" }", "");
    let (mut client, _connection) = gateway.stream(&agent).await;
    client.rest().await;
    gateway.counted("timeout_first_event", 1.0).await;
    assert_eq!(gaps(&gateway).0, 0.0);
}

#[tokio::test]
async fn a_run_begins_when_its_request_is_read_whole() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let request = post("/");
    let (first, rest) = request.split_at(request.len() - 10);
    let mut client = gateway.ask(first).await;
    tokio::time::sleep(SILENCE).await;
    client.send(rest).await;
    let (mut connection, ..) = agent.request().await;
    connection.send(STREAM).await;
    connection.send(chunk(frames([STARTED, r#"{"type":"TEXT_MESSAGE_CONTENT","delta":"a"}"#, FINISHED]))).await;
    connection.send(END).await;
    client.head().await;
    client.rest().await;
    gateway.counted("finished", 1.0).await;
    for name in ["time_to_first_event", "time_to_first_content", "run_duration"] {
        let figure = |what: &str| gateway.figure(&format!("tidegate_{name}_seconds_{what}"), &[]);
        let (count, sum) = (figure("count"), figure("sum"));
        assert!(count == 1.0 && sum < NO_SILENCE, "{name}: {count} {sum}");
    }
}

#[tokio::test]
async fn a_number_that_the_other_encoding_cannot_say_is_a_loss_each_time() {
    const PROTOBUF: &str = "application/vnd.ag-ui.event+proto";
    let agent = Agent::new().await;
    let snapshot = r#"{"type":"STATE_SNAPSHOT","snapshot":{"n":1e400}}"#;
    let events = [STARTED, snapshot, snapshot, FINISHED];
    for (from, to, loss) in [("sse", "protobuf", "large_number"), ("protobuf", "sse", "not_finite")] {
        let gateway = Gateway::before(&agent);
        let asks = post("/").replace("text/event-stream", if to == "sse" { "text/event-stream" } else { PROTOBUF });
        let mut client = gateway.ask(asks).await;
        let (mut connection, ..) = agent.request().await;
        connection
            .send(STREAM.replace("text/event-stream", if from == "sse" { "text/event-stream" } else { PROTOBUF }))
            .await;
        let frames: Vec<u8> = match from {
            "sse" => frames(events).into(),
            _ => events
                .iter()
                .flat_map(|e| proto::from_json(e.as_bytes(), Version::CURRENT).unwrap().frame.whole)
                .collect(),
        };
        connection.send(chunk(frames)).await;
        connection.send(END).await;
        client.head().await;
        gateway.counted("finished", 1.0).await;
        let labels = [format!("from=\"{from}\""), format!("to=\"{to}\""), format!("loss=\"{loss}\"")];
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        assert_eq!(gateway.figure("tidegate_conversions_total", &labels), 2.0, "{labels:?}");
    }
}

#[tokio::test]
async fn bytes_are_the_json_of_sse_and_the_whole_frames_of_protobuf() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway.ask(post("/")).await;
    let (mut connection, ..) = agent.request().await;
    connection.send(STREAM.replace("text/event-stream", "application/vnd.ag-ui.event+proto")).await;
    let frame = |event: &str| proto::from_json(event.as_bytes(), Version::CURRENT).unwrap().frame.whole;
    let binary = [frame(STARTED), frame(FINISHED)].concat();
    connection.send(chunk(&binary)).await;
    connection.send(END).await;
    client.head().await;
    client.rest().await;
    gateway.counted("finished", 1.0).await;
    let bytes = |labels: &[&str]| gateway.figure("tidegate_event_bytes_total", labels);
    assert_eq!(bytes(&["direction=\"in\"", "encoding=\"protobuf\""]), binary.len() as f64);
    assert_eq!(bytes(&["direction=\"out\"", "encoding=\"sse\""]), (STARTED.len() + FINISHED.len()) as f64);
}

#[tokio::test]
async fn what_the_throttle_lets_go_has_a_delay_too_without_the_time_that_it_was_held() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", "throttle = { every = \"300ms\" }");
    let (mut client, mut connection) = gateway.run(&agent).await;
    connection.send(chunk(frame(r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#))).await;
    for text in ["a", "b", "c", "d"] {
        connection.send(chunk(frame(&delta(text)))).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    connection.send(chunk(frames([r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#, FINISHED]))).await;
    connection.send(END).await;
    client.rest().await;
    gateway.counted("finished", 1.0).await;
    assert!(gateway.figure("tidegate_events_merged_total", &[]) > 0.0);
    let sent = gateway.figure("tidegate_events_total", &["direction=\"out\""]);
    assert_eq!(gateway.figure("tidegate_event_delay_seconds_count", &[]), sent);
    let added = gateway.figure("tidegate_event_delay_seconds_sum", &[]);
    assert!(added < 0.15, "{added}");
}
