//! The client leaves: the agent's request is cancelled at once, also while the agent is silent (I8).

use std::time::Duration;

use http::Request;

use super::support::{
    Agent, Connection, FINISHED, Gateway, INPUT, STARTED, STREAM, chunk, frame, frames, get,
    http2::{self, Client, feed},
    post, soon,
};

/// What an agent may have to wait; it is promised a tenth of this.
const AT_ONCE: Duration = Duration::from_secs(1);

async fn is_left_at_once(connection: &mut Connection) {
    let waited = connection.is_left().await;
    assert!(waited < AT_ONCE, "{waited:?}");
}

#[tokio::test]
async fn before_the_agents_headers() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    for reset in [false, true] {
        let client = gateway.ask(post("/")).await;
        let (mut connection, ..) = agent.request().await;
        gateway.shows("tidegate_runs_active", &[], 1.0).await;
        if reset {
            client.reset();
        } else {
            drop(client);
        }
        is_left_at_once(&mut connection).await;
    }
    gateway.counted("client_gone", 2.0).await;
    assert_eq!(gateway.figure("tidegate_agent_attempts_total", &["result=\"client_gone\""]), 2.0);
}

#[tokio::test]
async fn between_the_headers_and_the_first_event() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let (client, mut connection) = gateway.stream(&agent).await;
    assert_eq!(gateway.figure("tidegate_runs_active", &[]), 1.0);
    drop(client);
    is_left_at_once(&mut connection).await;
    gateway.counted("client_gone", 1.0).await;
}

#[tokio::test]
async fn in_the_middle_of_a_run_and_of_an_event() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    for (sent, reset) in [("", false), ("data: {\"type\":\"CUST", false), (": ping", true)] {
        let (mut client, mut connection) = gateway.stream(&agent).await;
        connection.send(chunk(frame(STARTED) + sent)).await;
        client.expect(&frame(STARTED)).await;
        if reset {
            client.reset();
        } else {
            drop(client);
        }
        is_left_at_once(&mut connection).await;
    }
    gateway.counted("client_gone", 3.0).await;
}

#[tokio::test]
async fn while_the_agent_talks() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let (client, mut connection) = gateway.stream(&agent).await;
    drop(client);
    soon(async {
        while connection.is_quiet().await {
            connection.try_send(chunk(frame(STARTED))).await;
        }
    })
    .await;
    gateway.counted("client_gone", 1.0).await;
}

/// Whether it has only nothing more to say cannot be told.
#[tokio::test]
async fn by_saying_that_nothing_more_comes() {
    let chunked = post("/").replace(&format!("content-length: {}", INPUT.len()), "transfer-encoding: chunked");
    let chunked = chunked.replace(INPUT, &format!("{:x}\r\n{INPUT}\r\n0\r\n\r\n", INPUT.len()));
    for request in [&post("/"), &chunked] {
        for asked in [false, true] {
            let agent = Agent::new().await;
            let gateway = Gateway::before(&agent);
            let mut client = gateway.ask(request).await;
            let mut connection = None;
            if asked {
                connection = Some(agent.request().await.0);
            }
            client.shut_down().await;
            assert_eq!(client.leftover().await.0, b"");
            gateway.counted("client_gone", 1.0).await;
            if let Some(connection) = &mut connection {
                is_left_at_once(connection).await;
            }
        }
    }
}

#[tokio::test]
async fn in_the_same_moment_as_it_asks() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut asking = Vec::new();
    for _ in 0..50 {
        let client = std::net::TcpStream::connect(gateway.address()).unwrap();
        std::io::Write::write_all(&mut &client, post("/").as_bytes()).unwrap();
        client.shutdown(std::net::Shutdown::Write).unwrap();
        asking.push(client);
    }
    gateway.counted("client_gone", 50.0).await;
}

#[tokio::test]
async fn during_its_upload() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    for head in ["content-length: 100", "transfer-encoding: chunked"] {
        let client = gateway.ask(format!("POST / HTTP/1.1\r\nhost: g\r\n{head}\r\n\r\n3\r\nabc\r\n")).await;
        let mut connection = agent.accept().await;
        connection.until("abc").await;
        drop(client);
        is_left_at_once(&mut connection).await;
    }
    gateway.is_clean().await;
}

#[tokio::test]
async fn after_bytes_that_belong_to_no_request_of_its_own() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    for more in ["\r\n", &get("/next")] {
        let mut client = gateway.ask(post("/") + more).await;
        let (mut connection, ..) = agent.request().await;
        connection.send(STREAM).await;
        client.head().await;
        connection.send(chunk(frame(STARTED))).await;
        client.expect(&frame(STARTED)).await;
        drop(client);
        is_left_at_once(&mut connection).await;
    }
    gateway.counted("client_gone", 2.0).await;
}

#[tokio::test]
async fn after_the_runs_end_that_was_its_outcome() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let (mut client, mut connection) = gateway.stream(&agent).await;
    connection.send(chunk(frames([STARTED, FINISHED]))).await;
    client.expect(&frames([STARTED, FINISHED])).await;
    drop(client);
    is_left_at_once(&mut connection).await;
    gateway.counted("finished", 1.0).await;
}

#[tokio::test]
async fn of_a_stream_and_a_download_that_are_no_runs() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    for head in ["content-type: text/event-stream\r\ntransfer-encoding: chunked", "content-length: 9"] {
        let mut client = gateway.ask(get("/x")).await;
        let (mut connection, ..) = agent.request().await;
        connection.send(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n")).await;
        client.head().await;
        drop(client);
        is_left_at_once(&mut connection).await;
    }
    gateway.is_clean().await;
    assert_eq!(gateway.figure("tidegate_runs_total", &[]), 0.0);
}

#[tokio::test]
async fn over_http_2_by_a_reset_of_the_stream() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = Client::connect(&gateway).await;

    let answer = client.run("/").await;
    let asking = tokio::spawn(answer);
    let (mut connection, _, body) = agent.request().await;
    assert_eq!(body, INPUT.as_bytes());
    asking.abort();
    is_left_at_once(&mut connection).await;
    gateway.counted("client_gone", 1.0).await;

    let (mut answer, mut connection) = client.stream(&agent).await;
    connection.send(chunk(frame(STARTED))).await;
    http2::expect(answer.body_mut(), &frame(STARTED)).await;
    drop(answer);
    is_left_at_once(&mut connection).await;
    gateway.counted("client_gone", 2.0).await;
}

#[tokio::test]
async fn over_http_2_by_closing_the_connection() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = Client::connect(&gateway).await;
    let waiting = client.run("/").await;
    let (mut first, ..) = agent.request().await;
    let (answer, mut second) = client.stream(&agent).await;
    client.close();
    is_left_at_once(&mut first).await;
    is_left_at_once(&mut second).await;
    drop((waiting, answer));
    gateway.counted("client_gone", 2.0).await;
}

#[tokio::test]
async fn over_http_2_during_its_upload() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = Client::connect(&gateway).await;
    let (feeder, body) = feed();
    let asking = tokio::spawn(client.send(Request::post("http://gate/"), body));
    assert!(feeder.data("abc").await);
    let mut connection = agent.accept().await;
    connection.until("abc").await;
    asking.abort();
    feeder.reset().await;
    is_left_at_once(&mut connection).await;
    gateway.is_clean().await;
}
