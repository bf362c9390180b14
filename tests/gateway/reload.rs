//! Another configuration for a gateway at work: what has begun goes on as it began, what comes is served anew, and what
//! is configured as it was does not begin again.

use super::support::{
    Agent, Connection, END, FINISHED, Gateway, STARTED, STREAM, chunk, frame,
    http2::{self, Client},
    post, soon,
};

const FINISHED_AT_ONCE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

fn route(agent: &Agent, agent_keys: &str, route_keys: &str) -> String {
    format!("[agents.bot]\nurl = \"{}\"\n{agent_keys}\n[[routes]]\nagent = \"bot\"\n{route_keys}\n", agent.url())
}

/// Ends a run that has begun.
async fn finish(client: &mut Connection, connection: &mut Connection) {
    connection.send(chunk(frame(FINISHED))).await;
    connection.send(END).await;
    assert_eq!(client.rest().await, frame(FINISHED));
}

#[tokio::test]
async fn a_run_goes_on_at_its_agent_and_the_next_goes_to_the_new_one() {
    let (old, new) = (Agent::new().await, Agent::new().await);
    let mut gateway = Gateway::start(&route(&old, "", ""));
    let (mut client, mut connection) = gateway.run(&old).await;
    let mut multiplexed = Client::connect(&gateway).await;
    let (answer, mut second) = multiplexed.stream(&old).await;

    gateway.reload(&route(&new, "", "select = { strip = [\"threadId\"] }")).unwrap_err();
    gateway.reload(&route(&new, "", "select = { strip = [\"extra\"] }")).unwrap();
    let (mut other, mut to_other) = gateway.run(&new).await;
    let (third, mut to_third) = multiplexed.stream(&new).await;
    to_third.send(END).await;
    assert!(http2::rest(third.into_body()).await.contains("RUN_ERROR"));
    finish(&mut other, &mut to_other).await;

    let marked = r#"{"type":"CUSTOM","name":"n","value":1,"extra":1}"#;
    connection.send(chunk(frame(marked))).await;
    client.expect(&frame(marked)).await;
    finish(&mut client, &mut connection).await;
    second.send(chunk(frame(STARTED) + &frame(FINISHED))).await;
    second.send(END).await;
    assert_eq!(http2::rest(answer.into_body()).await, frame(STARTED) + &frame(FINISHED));
    assert!(old.is_left_alone().await);
    gateway.is_clean().await;
}

#[tokio::test]
async fn what_cannot_be_served_changes_nothing() {
    let agent = Agent::new().await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut gateway = Gateway::start(&route(&agent, "", ""));
    let config = format!("listen = [\"127.0.0.1:0\", \"{}\"]\n{}", taken.local_addr().unwrap(), route(&agent, "", ""));
    let error = gateway.reload_whole(&config).unwrap_err().to_string();
    assert!(error.contains(&taken.local_addr().unwrap().to_string()), "{error}");
    let (mut client, mut connection) = gateway.run(&agent).await;
    finish(&mut client, &mut connection).await;
}

#[tokio::test]
async fn connections_to_an_agent_that_stays_are_used_on_and_others_are_let_go() {
    let agent = Agent::new().await;
    let mut gateway = Gateway::start(&route(&agent, "", ""));
    let mut client = gateway.ask(post("/")).await;
    let (mut connection, ..) = agent.request().await;
    connection.send(FINISHED_AT_ONCE).await;
    client.message().await;

    gateway.reload(&route(&agent, "", "guard = \"off\"")).unwrap();
    client.send(post("/")).await;
    soon(connection.message()).await;
    connection.send(FINISHED_AT_ONCE).await;
    client.message().await;

    gateway.reload(&route(&agent, "timeouts = { idle = \"1m\" }", "")).unwrap();
    connection.is_left().await;
    client.send(post("/")).await;
    let (mut connection, ..) = agent.request().await;
    connection.send(FINISHED_AT_ONCE).await;
    client.message().await;
}

#[tokio::test]
async fn places_and_rates_count_on() {
    let agent = Agent::new().await;
    let keys = "limits = { runs = 1, rate = \"3/h by ip\" }";
    let mut gateway = Gateway::start(&route(&agent, "", keys));
    let (mut client, mut connection) = gateway.run(&agent).await;
    let status = async |gateway: &Gateway| gateway.ask(post("/")).await.message().await.0.status();
    gateway.reload(&route(&agent, "", &format!("{keys}\nguard = \"off\""))).unwrap();
    assert_eq!(status(&gateway).await, 503);
    gateway.reload(&route(&agent, "", "limits = { runs = 1, body = \"1MiB\", rate = \"3/h by ip\" }")).unwrap();
    assert_eq!(status(&gateway).await, 503);
    assert_eq!(status(&gateway).await, 429);
    finish(&mut client, &mut connection).await;
    gateway.reload(&route(&agent, "", "limits = { runs = 1, rate = \"4/h by ip\" }")).unwrap();
    let again = gateway.ask(post("/"));
    let (_again, _) = tokio::join!(again, soon(connection.message()));
}

#[tokio::test]
async fn runs_that_began_without_a_limit_count_when_there_is_one() {
    let agent = Agent::new().await;
    let mut gateway = Gateway::start(&route(&agent, "", ""));
    let (mut client, mut connection) = gateway.run(&agent).await;
    gateway.reload(&route(&agent, "", "limits = { runs = 1 }")).unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    assert_eq!(gateway.ask(post("/")).await.refusal().await.1, "TOO_MANY_RUNS");
    finish(&mut client, &mut connection).await;
    let again = gateway.ask(post("/"));
    let (_again, _) = tokio::join!(again, soon(connection.message()));
}

#[tokio::test]
async fn who_is_ejected_stays_so_unless_its_agent_is_configured_anew() {
    let (dead, live) = (Agent::new().await, Agent::new().await);
    let agent = |keys: &str| {
        let urls = format!("url = [\"{}\", \"{}\"]\nbalance = \"round_robin\"\n", dead.url(), live.url());
        format!("[agents.bot]\n{urls}eject = {{ failures = 1, for = \"{keys}\" }}\n[[routes]]\nagent = \"bot\"\n")
    };
    let mut gateway = Gateway::start(&agent("1h"));
    let answer = async |gateway: &Gateway, by: &Agent, status: u16| {
        let mut client = gateway.ask(post("/")).await;
        let (mut connection, ..) = by.request().await;
        connection.send(format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")).await;
        client.message().await;
    };
    answer(&gateway, &dead, 500).await;
    let healthy = ["endpoint=\"".to_owned() + &dead.url() + "\""];
    gateway.shows("tidegate_agent_healthy", &[&healthy[0]], 0.0).await;
    gateway.reload(&(agent("1h") + "guard = \"off\"\n")).unwrap();
    for _ in 0..4 {
        answer(&gateway, &live, 200).await;
    }
    assert_eq!(gateway.figure("tidegate_agent_healthy", &[&healthy[0]]), 0.0);
    gateway.reload(&agent("2h")).unwrap();
    gateway.shows("tidegate_agent_healthy", &[&healthy[0]], 1.0).await;
    answer(&gateway, &dead, 200).await;
}

#[tokio::test]
async fn checks_go_on_for_agents_that_are_there_and_end_for_those_that_are_gone() {
    let (old, new) = (Agent::new().await, Agent::new().await);
    let keys = "health = { path = \"/up\", every = \"50ms\" }";
    let mut gateway = Gateway::start(&route(&old, keys, ""));
    let check = async |agent: &Agent| {
        let (mut connection, head, _) = agent.request().await;
        assert_eq!(head.asks().1, "/up");
        connection.send(FINISHED_AT_ONCE).await;
    };
    check(&old).await;
    gateway.reload(&route(&old, keys, "guard = \"off\"")).unwrap();
    check(&old).await;
    gateway.reload(&route(&new, keys, "")).unwrap();
    check(&new).await;
    check(&new).await;
    old.is_left_alone().await;
    let shown = |agent: &Agent| {
        gateway.figures().contains(&format!("tidegate_agent_healthy{{agent=\"bot\",endpoint=\"{}\"}}", agent.url()))
    };
    assert_eq!((shown(&old), shown(&new)), (false, true));
}

#[tokio::test]
async fn addresses_come_and_go_and_connections_stay() {
    let agent = Agent::new().await;
    let mut gateway = Gateway::start(&route(&agent, "", ""));
    let first = gateway.address();
    let (mut client, mut connection) = gateway.run(&agent).await;
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let at = |listen: &str| format!("listen = {listen}\nthreads = 1\n{}", route(&agent, "", ""));
    gateway.reload_whole(&at(&format!("[\"{port}\", \"127.0.0.1:0\"]"))).unwrap();
    assert_eq!(gateway.addresses(), [port, first]);
    gateway.reload_whole(&at(&format!("\"{port}\""))).unwrap();
    assert_eq!(gateway.addresses(), [port]);
    let (mut other, mut to_other) = gateway.run(&agent).await;
    soon(async { while tokio::net::TcpStream::connect(first).await.is_ok() {} }).await;
    finish(&mut client, &mut connection).await;
    client.send(post("/")).await;
    connection.message().await;
    connection.send(STREAM).await;
    connection.send(chunk(frame(STARTED))).await;
    client.head().await;
    client.expect(&frame(STARTED)).await;
    finish(&mut client, &mut connection).await;
    finish(&mut other, &mut to_other).await;
}

#[tokio::test]
async fn whoever_waits_at_an_address_that_goes_is_served() {
    let agent = Agent::new().await;
    let mut gateway = Gateway::start(&route(&agent, "", ""));
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut waiting = Vec::new();
    for _ in 0..50 {
        waiting.push(std::net::TcpStream::connect(gateway.address()).unwrap());
    }
    gateway.reload_whole(&format!("listen = \"{port}\"\nthreads = 1\n{}", route(&agent, "", ""))).unwrap();
    for stream in waiting {
        stream.set_nonblocking(true).unwrap();
        let mut client = Connection::new(tokio::net::TcpStream::from_std(stream).unwrap());
        client.send(post("/")).await;
        let (mut connection, ..) = agent.request().await;
        connection.send("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").await;
        assert_eq!(client.message().await.0.status(), 200);
    }
}

#[tokio::test]
async fn an_agent_that_is_gone_holds_no_connection_for_long() {
    let (old, new) = (Agent::new().await, Agent::new().await);
    let mut gateway = Gateway::start(&route(&old, "", ""));
    let mut idle = gateway.ask(post("/")).await;
    let (mut connection, ..) = old.request().await;
    connection.send(FINISHED_AT_ONCE).await;
    idle.message().await;
    gateway.reload(&route(&new, "", "")).unwrap();
    connection.is_left().await;
}

#[tokio::test]
async fn a_draining_gateway_takes_no_other_configuration() {
    let agent = Agent::new().await;
    let mut gateway = Gateway::start(&route(&agent, "", ""));
    gateway.drain();
    assert!(gateway.reload(&route(&agent, "", "")).is_err());
    gateway.ends().await;
}
