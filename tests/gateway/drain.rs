//! The end of the process: new requests are told, runs go on to the deadline, and then everything ends.

use std::time::{Duration, Instant};

use super::support::{
    Agent, Connection, END, FINISHED, Gateway, STARTED, chunk, code_of, frame, get,
    http2::{self, Client, feed},
    post, soon,
};

fn with_deadline(agent: &Agent, deadline: &str) -> Gateway {
    Gateway::start(&format!("threads = 2\nagent = \"{}\"\n[drain]\ndeadline = \"{deadline}\"\n", agent.url()))
}

#[tokio::test]
async fn without_a_run_it_ends_at_once_and_idle_connections_close() {
    let agent = Agent::new().await;
    let gateway = with_deadline(&agent, "60s");
    let mut fresh = gateway.connect().await;
    let mut used = gateway.ask(get("/x")).await;
    let (mut connection, ..) = agent.request().await;
    connection.send("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").await;
    used.message().await;
    let mut multiplexed = Client::connect(&gateway).await;
    let answer = multiplexed.send(http::Request::get("http://gate/y"), feed().1);
    let (mut connection, head, _) = agent.request().await;
    assert_eq!(head.asks().1, "/agui/y");
    connection.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(soon(answer).await.unwrap().status(), 200);

    let begun = Instant::now();
    gateway.drain();
    assert_eq!(fresh.leftover().await, (Vec::new(), true));
    assert_eq!(used.leftover().await, (Vec::new(), true));
    multiplexed.closed().await;
    gateway.ends().await;
    assert!(begun.elapsed() < Duration::from_secs(5));
}

/// Whether the next run on this connection is served, and told to be the last one there.
async fn is_served_once_more(client: &mut Connection, agent: &Agent) {
    client.send(post("/")).await;
    let (mut connection, ..) = agent.request().await;
    connection.send("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").await;
    let (head, _) = client.message().await;
    assert_eq!((head.status(), head.header("connection")), (200, Some("close")));
    assert_eq!(client.leftover().await, (Vec::new(), true));
}

#[tokio::test]
async fn a_run_goes_on_and_no_connection_is_accepted_any_more() {
    let agent = Agent::new().await;
    let gateway = with_deadline(&agent, "60s");
    let (mut client, mut connection) = gateway.stream(&agent).await;
    gateway.drain();
    connection.send(chunk(frame(STARTED))).await;
    client.expect(&frame(STARTED)).await;
    soon(async { while gateway.try_connect().await.is_some() {} }).await;
    connection.send(chunk(frame(FINISHED))).await;
    connection.send(END).await;
    assert_eq!(client.rest().await, frame(FINISHED));
    gateway.counted("finished", 1.0).await;
    assert_eq!(client.leftover().await, (Vec::new(), true));
    gateway.ends().await;
}

#[tokio::test]
async fn whoever_is_connected_is_served_once_more_and_told_to_go() {
    let agent = Agent::new().await;
    let gateway = with_deadline(&agent, "60s");
    let mut fresh = gateway.connect().await;
    let mut used = gateway.ask(get("/x")).await;
    let (mut connection, ..) = agent.request().await;
    connection.send("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").await;
    used.message().await;
    gateway.drain();
    is_served_once_more(&mut fresh, &agent).await;
    is_served_once_more(&mut used, &agent).await;
    gateway.ends().await;
}

#[tokio::test]
async fn who_waits_to_be_accepted_is_served() {
    let agent = Agent::new().await;
    let gateway = with_deadline(&agent, "60s");
    let waiting: Vec<_> = (0..50).map(|_| std::net::TcpStream::connect(gateway.address()).unwrap()).collect();
    gateway.drain();
    for stream in waiting {
        stream.set_nonblocking(true).unwrap();
        let mut client = Connection::new(tokio::net::TcpStream::from_std(stream).unwrap());
        is_served_once_more(&mut client, &agent).await;
    }
    gateway.ends().await;
}

#[tokio::test]
async fn the_next_run_after_one_that_was_told_nothing_is_served_however_late() {
    let agent = Agent::new().await;
    let gateway = with_deadline(&agent, "60s");
    let (mut client, mut connection) = gateway.run(&agent).await;
    gateway.drain();
    tokio::time::sleep(Duration::from_millis(1200)).await;
    connection.send(chunk(frame(FINISHED))).await;
    connection.send(END).await;
    drop(connection);
    assert_eq!(client.rest().await, frame(FINISHED));
    is_served_once_more(&mut client, &agent).await;
    gateway.ends().await;
}

#[tokio::test]
async fn over_http2_requests_on_their_way_are_served_and_later_ones_are_not() {
    let agent = Agent::new().await;
    let gateway = with_deadline(&agent, "60s");
    let mut client = Client::connect(&gateway).await;
    let (answer, mut connection) = client.stream(&agent).await;
    let crossing = client.run("/").await;
    gateway.drain();
    let (mut second, ..) = agent.request().await;
    second.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let crossed = soon(crossing).await.unwrap();
    assert_eq!(crossed.status(), 200);
    assert!(crossed.headers().get("connection").is_none());
    tokio::time::sleep(Duration::from_millis(1200)).await;
    // It has been told to go away: then it does not even ask.
    if let Ok(refused) = soon(client.run("/").await).await {
        assert_eq!((refused.status().as_u16(), &refused.headers()["retry-after"]), (503, &"1".parse().unwrap()));
    }
    connection.send(chunk(frame(FINISHED))).await;
    connection.send(END).await;
    assert_eq!(http2::rest(answer.into_body()).await, frame(FINISHED));
    assert!(agent.is_left_alone().await);
    gateway.ends().await;
}

#[tokio::test]
async fn at_the_deadline_runs_end_with_an_error_and_properly() {
    let agent = Agent::new().await;
    let gateway = with_deadline(&agent, "300ms");
    let (mut first, mut to_first) = gateway.run(&agent).await;
    let mut client = Client::connect(&gateway).await;
    let (second, mut to_second) = client.stream(&agent).await;
    let mut third = gateway.ask(post("/")).await;
    let (mut to_third, ..) = agent.request().await;

    gateway.drain();
    assert_eq!(code_of(&first.rest().await), "GATEWAY_SHUTDOWN");
    assert_eq!(code_of(&http2::rest(second.into_body()).await), "GATEWAY_SHUTDOWN");
    let (head, code) = third.refusal().await;
    assert_eq!((head.status(), code.as_str()), (503, "GATEWAY_SHUTDOWN"));
    for connection in [&mut to_first, &mut to_second, &mut to_third] {
        connection.is_left().await;
    }
    gateway.counted("drained", 3.0).await;
    gateway.ends().await;
}

#[tokio::test]
async fn a_client_that_does_not_read_does_not_hold_up_the_end() {
    let agent = Agent::new().await;
    let gateway = with_deadline(&agent, "200ms");
    let (_client, mut connection) = gateway.stream(&agent).await;
    let talk = tokio::spawn(async move {
        let event = chunk(frame(&super::support::delta(&"x".repeat(60_000))));
        while connection.pour(&event).await {}
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    gateway.drain();
    gateway.ends().await;
    soon(talk).await.unwrap();
}

#[tokio::test]
async fn a_finished_run_whose_agent_lingers_ends_quietly_at_the_deadline() {
    let agent = Agent::new().await;
    let gateway = with_deadline(&agent, "200ms");
    let (mut client, mut connection) = gateway.stream(&agent).await;
    connection.send(chunk(frame(STARTED) + &frame(FINISHED))).await;
    client.expect(&(frame(STARTED) + &frame(FINISHED))).await;
    gateway.drain();
    assert_eq!(client.rest().await, "");
    gateway.counted("finished", 1.0).await;
    gateway.ends().await;
}
