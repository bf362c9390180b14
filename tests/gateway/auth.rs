//! Who may ask: keys are told apart, and stay at the gateway.

use sha2::{Digest as _, Sha256};

use super::support::{Agent, Connection, END, FINISHED, Gateway, Head, STARTED, STREAM, chunk, frames, post};

/// One of `auth.api_keys`.
fn key(name: &str, key: &str) -> String {
    let digest: String = Sha256::digest(key).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{{ name = \"{name}\", sha256 = \"{digest}\" }}")
}

fn keys() -> String {
    format!("auth = {{ api_keys = [{}, {}] }}", key("old", "key-one"), key("new", "key-two"))
}

/// A request for a run with these lines in its head.
fn with(lines: &str) -> String {
    post("/").replace("host: gate\r\n", &format!("host: gate\r\n{lines}"))
}

/// The refusal of this request.
async fn refused(gateway: &Gateway, request: &str) -> (Head, String) {
    gateway.ask(request).await.refusal().await
}

/// Sends a request, and answers it with a whole run; the request as the agent got it.
async fn runs(gateway: &Gateway, agent: &Agent, request: &str) -> Head {
    let mut client = gateway.ask(request).await;
    let (mut connection, asked, _) = agent.request().await;
    finish(&mut connection).await;
    assert_eq!(client.head().await.status(), 200);
    assert!(client.rest().await.contains("RUN_FINISHED"));
    asked
}

async fn finish(connection: &mut Connection) {
    connection.send(STREAM).await;
    connection.send(chunk(frames([STARTED, FINISHED]))).await;
    connection.send(END).await;
}

#[tokio::test]
async fn without_a_key_nobody_gets_past_the_gateway() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", &keys());
    let (head, code) = refused(&gateway, &post("/")).await;
    assert_eq!((head.status(), code.as_str()), (401, "UNAUTHORIZED"));
    assert_eq!(head.header("www-authenticate"), Some("Bearer realm=\"tidegate\""));
    for wrong in
        ["authorization: Bearer key-on", "authorization: Basic a2V5", "x-api-key: key-three", "authorization: "]
    {
        let (head, code) = refused(&gateway, &with(&format!("{wrong}\r\n"))).await;
        assert_eq!((head.status(), code.as_str()), (401, "UNAUTHORIZED"), "{wrong}");
        assert_eq!(head.header("www-authenticate"), Some("Bearer realm=\"tidegate\", error=\"invalid_token\""));
    }
    assert!(agent.is_left_alone().await);
    gateway.shows("tidegate_requests_refused_total", &["reason=\"auth\""], 5.0).await;
    assert_eq!(gateway.figure("tidegate_runs_total", &[]), 0.0);
}

#[tokio::test]
async fn each_of_two_keys_lets_in_and_stays_at_the_gateway() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", &keys());
    for lines in [
        "authorization: Bearer key-one\r\n",
        "x-api-key: key-two\r\n",
        "authorization: bearer key-two\r\nx-api-key: key-one\r\n",
    ] {
        let asked = runs(&gateway, &agent, &with(lines)).await;
        assert_eq!((asked.header("authorization"), asked.header("x-api-key")), (None, None), "{lines}");
    }
    let lines = "authorization: Bearer user\r\nx-api-key: key-two\r\n";
    assert_eq!(runs(&gateway, &agent, &with(lines)).await.header("authorization"), Some("Bearer user"));
    gateway.counted("finished", 4.0).await;
    let figures = gateway.figures();
    assert!(!figures.contains("\"old\"") && !figures.contains("key-"), "a key or its name is no label");
}

#[tokio::test]
async fn a_key_that_is_replaced_lets_in_no_more() {
    let agent = Agent::new().await;
    let rotated = Gateway::with(&agent, "", &format!("auth = {{ api_keys = [{}] }}", key("new", "key-two")));
    refused(&rotated, &with("x-api-key: key-one\r\n")).await;
    runs(&rotated, &agent, &with("x-api-key: key-two\r\n")).await;
}

#[tokio::test]
async fn where_nothing_has_to_be_shown_what_is_shown_is_the_agents() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let asked = runs(&gateway, &agent, &with("authorization: Bearer user\r\nx-api-key: mine\r\n")).await;
    assert_eq!((asked.header("authorization"), asked.header("x-api-key")), (Some("Bearer user"), Some("mine")));
}

#[tokio::test]
async fn a_configured_header_takes_the_place_of_the_key() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "headers = { set = { authorization = \"Bearer service\" } }", &keys());
    let asked = runs(&gateway, &agent, &with("authorization: Bearer key-one\r\n")).await;
    assert_eq!(asked.header("authorization"), Some("Bearer service"));
}

#[tokio::test]
async fn connection_cannot_take_a_key_past_the_gateway() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", &keys());
    let asked = runs(&gateway, &agent, &with("connection: keep-alive, x-api-key\r\nx-api-key: key-one\r\n")).await;
    assert_eq!((asked.header("x-api-key"), asked.header("connection")), (None, None));
}

#[tokio::test]
async fn one_route_may_be_open_beside_one_that_is_not() {
    let agent = Agent::new().await;
    let toml = format!(
        "[agents.bot]\nurl = \"{}\"\n[defaults]\n{}\n[[routes]]\npath = \"/open\"\nauth = \"off\"\n[[routes]]\npath = \"/\"\n",
        agent.url(),
        keys()
    );
    let gateway = Gateway::start(&toml);
    refused(&gateway, &post("/shut")).await;
    runs(&gateway, &agent, &post("/open")).await;
}
