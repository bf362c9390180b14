//! Clients that read slowly: they hold the agent back, nothing grows, and nothing is lost (I7).

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use super::support::{
    Agent, Connection, END, FINISHED, Gateway, STARTED, STREAM, chunk, delta, frame, get,
    http2::{self, Client, Http2Agent, feed},
    post, soon,
    tls::{self, Files},
};

/// What sockets on the way may hold by themselves; the agent has far more to say.
const IN_SOCKETS: usize = 24 << 20;
/// How many events the agent has to say.
const EVENTS: usize = 1200;
/// A little less than what each of them is long.
const LENGTH: usize = 32 * 1024;
/// What the gateway itself may hold of it.
const HELD: f64 = (1 << 20) as f64;

fn event(n: usize) -> String {
    frame(&delta(&format!("{n:06}{}", "x".repeat(LENGTH))))
}

/// Says everything as fast as it is taken; how many bytes that was so far.
fn talks(mut connection: Connection) -> Arc<AtomicUsize> {
    let taken = Arc::new(AtomicUsize::new(0));
    let count = taken.clone();
    tokio::spawn(async move {
        for n in 0..EVENTS {
            let event = chunk(event(n));
            if tokio::time::timeout(Duration::from_secs(60), connection.pour(&event)).await.is_err() {
                return;
            }
            count.fetch_add(event.len(), Relaxed);
        }
        connection.try_send(chunk(frame(FINISHED))).await;
        connection.try_send(END).await;
        count.fetch_add(usize::MAX / 2, Relaxed);
        std::future::pending::<()>().await;
    });
    taken
}

/// Waits until nothing more is taken, and says how much was.
async fn stalls(taken: &AtomicUsize) -> usize {
    soon(async {
        loop {
            let before = taken.load(Relaxed);
            tokio::time::sleep(Duration::from_millis(400)).await;
            if before > 0 && taken.load(Relaxed) == before {
                return before;
            }
        }
    })
    .await
}

fn everything() -> String {
    (0..EVENTS).map(event).collect::<String>() + &frame(FINISHED)
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_the_agent_back_and_loses_nothing() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let (mut client, connection) = gateway.stream(&agent).await;
    let taken = talks(connection);
    let stalled = stalls(&taken).await;
    assert!(stalled < IN_SOCKETS, "{stalled} bytes were taken");
    assert!(gateway.figure("tidegate_held_bytes", &[]) <= HELD);
    assert!(client.rest().await == everything());
    gateway.counted("finished", 1.0).await;
    assert!(gateway.figure("tidegate_client_stall_seconds_total", &[]) > 0.0);
}

#[tokio::test]
async fn a_stream_of_http_2_that_is_not_read_holds_its_agent_back_and_no_other() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = Client::connect(&gateway).await;
    let (slow, connection) = client.stream(&agent).await;
    let taken = talks(connection);
    let stalled = stalls(&taken).await;
    assert!(stalled < IN_SOCKETS, "{stalled} bytes were taken");
    assert!(gateway.figure("tidegate_held_bytes", &[]) <= HELD);

    let (mut quick, mut connection) = client.stream(&agent).await;
    connection.send(chunk(frame(STARTED))).await;
    http2::expect(quick.body_mut(), &frame(STARTED)).await;
    drop(quick);

    assert!(http2::rest(slow.into_body()).await == everything());
    gateway.shows("tidegate_runs_total", &["outcome=\"finished\""], 1.0).await;
}

#[tokio::test]
async fn a_client_that_never_reads_again_is_cut_off_when_the_run_is_over() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "timeouts = { run = \"1s\" }", "");
    let (client, connection) = gateway.stream(&agent).await;
    let taken = talks(connection);
    stalls(&taken).await;
    gateway.counted("timeout_run", 1.0).await;
    drop(client);
}

#[tokio::test]
async fn a_wait_that_ends_with_the_client_leaving_or_being_cut_off_is_counted() {
    let agent = Agent::new().await;
    for (limit, outcome) in [("1h", "client_gone"), ("1500ms", "timeout_run")] {
        let gateway = Gateway::with(&agent, &format!("timeouts = {{ run = \"{limit}\" }}"), "");
        let (client, connection) = gateway.stream(&agent).await;
        let taken = talks(connection);
        stalls(&taken).await;
        if outcome == "client_gone" {
            client.reset();
            gateway.counted(outcome, 1.0).await;
        } else {
            gateway.counted(outcome, 1.0).await;
            drop(client);
        }
        let stall = gateway.figure("tidegate_client_stall_seconds_total", &[]);
        assert!(stall > 0.3, "{outcome}: {stall}");
        let gap = gateway.figure("tidegate_max_event_gap_seconds_sum", &[]);
        assert!(gap < 0.3, "{outcome}: {gap}");
    }
}

#[tokio::test]
async fn a_client_with_tls_is_waited_for_and_cut_off_as_one_without() {
    let (agent, files) = (Agent::new().await, Files::new());
    for (reads, limit) in [(true, "1h"), (false, "1s")] {
        let keys = format!("[agents.bot]\nurl = \"{}\"\ntimeouts = {{ run = \"{limit}\" }}\n", agent.url());
        let gateway = Gateway::start(&(files.listener() + &keys));
        let mut client = tls::ask(&gateway, files.client(), post("/")).await;
        let (mut connection, ..) = agent.request().await;
        connection.send(STREAM).await;
        client.head().await;
        let taken = talks(connection);
        let stalled = stalls(&taken).await;
        if reads {
            assert!(stalled < IN_SOCKETS, "{stalled} bytes were taken");
            assert!(gateway.figure("tidegate_held_bytes", &[]) <= HELD);
            assert!(client.rest().await == everything());
            gateway.counted("finished", 1.0).await;
            assert!(gateway.figure("tidegate_client_stall_seconds_total", &[]) > 0.0);
        } else {
            gateway.counted("timeout_run", 1.0).await;
        }
    }
}

#[tokio::test]
async fn an_agent_with_tls_that_does_not_read_holds_the_upload_back() {
    let (agent, files) = (Agent::new().await, Files::new());
    let gateway = Gateway::start(&format!(
        "[agents.bot]\nurl = \"https://{}/\"\ntls = {{ ca = \"{}\" }}\n[[routes]]\nlimits = {{ body = \"1GiB\" }}",
        agent.address(),
        files.file("ca.pem")
    ));
    let client = gateway.ask("PUT /f HTTP/1.1\r\nhost: g\r\ntransfer-encoding: chunked\r\n\r\n").await;
    let config = tls::server_of(&files.authority.issue(&["127.0.0.1"]), None, &[]);
    let mut connection = Connection::new(tls::accept(&agent, config).await.unwrap());
    connection.head().await;
    let stalled = stalls(&talks(client)).await;
    assert!(stalled < IN_SOCKETS, "{stalled} bytes were taken");
    assert!(connection.rest().await == everything());
}

#[tokio::test]
async fn a_download_that_is_not_read_holds_the_agent_back() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway.ask(get("/file")).await;
    let (mut connection, ..) = agent.request().await;
    connection.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
    client.head().await;
    let stalled = stalls(&talks(connection)).await;
    assert!(stalled < IN_SOCKETS, "{stalled} bytes were taken");
    assert!(client.rest().await == everything());
}

#[tokio::test]
async fn an_agent_that_does_not_read_holds_the_upload_back() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", "limits = { body = \"1GiB\" }");
    let client = gateway.ask("PUT /f HTTP/1.1\r\nhost: g\r\ntransfer-encoding: chunked\r\n\r\n").await;
    let mut connection = agent.accept().await;
    connection.head().await;
    let stalled = stalls(&talks(client)).await;
    assert!(stalled < IN_SOCKETS, "{stalled} bytes were taken");
    assert!(connection.rest().await == everything());
}

#[tokio::test]
async fn runs_that_are_not_read_leave_room_for_others_on_the_agents_connection() {
    let mut agent = Http2Agent::new().await;
    let gateway = agent.gateway("", "");
    let mut slow = Vec::new();
    for _ in 0..8 {
        let mut client = gateway.ask(post("/")).await;
        let (_, reply) = agent.request().await;
        let (feeder, answer) = http2::stream();
        assert!(reply.send(answer).is_ok());
        client.head().await;
        let taken = Arc::new(AtomicUsize::new(0));
        let count = taken.clone();
        tokio::spawn(async move {
            for n in 0..EVENTS {
                if !feeder.data(event(n)).await {
                    return;
                }
                count.fetch_add(LENGTH, Relaxed);
            }
            count.fetch_add(usize::MAX / 2, Relaxed);
        });
        let stalled = stalls(&taken).await;
        assert!(stalled < IN_SOCKETS, "{stalled} bytes were taken");
        slow.push(client);
    }
    let mut quick = gateway.ask(post("/")).await;
    let (_, reply) = agent.request().await;
    let (feeder, answer) = http2::stream();
    assert!(reply.send(answer).is_ok());
    quick.head().await;
    assert!(feeder.data(frame(STARTED)).await);
    quick.expect(&frame(STARTED)).await;
    assert_eq!(agent.connections.load(Relaxed), 1);
    assert!(gateway.figure("tidegate_held_bytes", &[]) <= 8.0 * HELD);
}

#[tokio::test]
async fn uploads_that_are_not_read_leave_room_for_others_on_the_clients_connection() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", "limits = { body = \"1GiB\" }");
    let mut client = Client::connect(&gateway).await;
    let mut stuck = Vec::new();
    for _ in 0..3 {
        let (feeder, body) = feed();
        let asking = tokio::spawn(client.send(http::Request::post("http://gate/f"), body));
        let connection = agent.accept().await;
        let taken = Arc::new(AtomicUsize::new(0));
        let count = taken.clone();
        tokio::spawn(async move {
            while feeder.data([b'x'; 16384]).await {
                count.fetch_add(16384, Relaxed);
            }
        });
        let stalled = stalls(&taken).await;
        assert!(stalled < IN_SOCKETS, "{stalled} bytes were taken");
        stuck.push((asking, connection));
    }
    let answer = client.run("/").await;
    let (mut connection, ..) = agent.request().await;
    connection.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    assert_eq!(http2::rest(soon(answer).await.unwrap().into_body()).await, "ok");
}

#[tokio::test]
async fn a_wait_for_a_client_over_http_2_is_counted_whether_or_not_it_takes_more() {
    for leaves in [false, true] {
        let agent = Agent::new().await;
        let gateway = Gateway::before(&agent);
        let mut client = http2::Client::narrow(&gateway, 64).await;
        let (answer, mut connection) = client.stream(&agent).await;
        // The first is on its way into the client's window, the second waits until there is room behind it.
        for event in [STARTED, &delta(&"x".repeat(1000)), &delta("y")] {
            connection.send(chunk(frame(event))).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
        if leaves {
            client.close();
        } else {
            connection.send(chunk(frame(FINISHED))).await;
            connection.send(END).await;
            http2::rest(answer.into_body()).await;
        }
        gateway.counted(if leaves { "client_gone" } else { "finished" }, 1.0).await;
        let stalled = gateway.figure("tidegate_client_stall_seconds_total", &[]);
        assert!((0.25..2.0).contains(&stalled), "{stalled}");
    }
}

#[tokio::test]
async fn a_client_over_http_2_that_reads_is_not_waited_for() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = http2::Client::connect(&gateway).await;
    let (answer, mut connection) = client.stream(&agent).await;
    let mut body = answer.into_body();
    for event in [STARTED, &delta("a"), FINISHED] {
        connection.send(chunk(frame(event))).await;
        http2::expect(&mut body, &frame(event)).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    connection.send(END).await;
    gateway.counted("finished", 1.0).await;
    let stalled = gateway.figure("tidegate_client_stall_seconds_total", &[]);
    assert!(stalled < 0.05, "{stalled}");
}
