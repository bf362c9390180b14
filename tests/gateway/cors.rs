//! What a browser is told of who may ask and read.

use http::Request;

use super::support::{
    Agent, END, FINISHED, Gateway, STARTED, STREAM, chunk, frames,
    http2::{Client, feed},
    post, soon,
};

const CORS: &str = "cors = { origins = [\"https://app.example\"], credentials = true }";
const AUTH: &str = "auth = { api_keys = [{ name = \"a\", sha256 = \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\" }] }";

fn preflight(origin: &str) -> String {
    format!(
        "OPTIONS /x HTTP/1.1\r\nhost: gate\r\norigin: {origin}\r\naccess-control-request-method: POST\r\n\
         access-control-request-headers: authorization, content-type\r\n\r\n"
    )
}

/// A request for a run by a page of this origin.
fn page(origin: &str) -> String {
    post("/").replace("host: gate\r\n", &format!("host: gate\r\norigin: {origin}\r\n"))
}

#[tokio::test]
async fn a_preflight_is_answered_here_and_needs_no_key() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", &format!("{CORS}\n{AUTH}\nlimits.rate = \"1/h by ip\""));
    for _ in 0..2 {
        let head = gateway.ask(preflight("https://app.example")).await.head().await;
        assert_eq!(head.status(), 204);
        for (name, value) in [
            ("access-control-allow-origin", "https://app.example"),
            ("access-control-allow-credentials", "true"),
            ("access-control-allow-methods", "POST"),
            ("access-control-allow-headers", "authorization, content-type"),
            ("access-control-max-age", "600"),
        ] {
            assert_eq!(head.header(name), Some(value), "{name}");
        }
        assert!(head.all("vary").join(",").contains("origin"));
    }
    let (head, body) = gateway.ask(preflight("https://evil.example")).await.message().await;
    assert_eq!((head.status(), head.header("access-control-allow-origin")), (403, None));
    assert!(String::from_utf8(body).unwrap().contains("ORIGIN_NOT_ALLOWED"));
    assert!(agent.is_left_alone().await);
    gateway.shows("tidegate_requests_refused_total", &["reason=\"origin\""], 1.0).await;
}

#[tokio::test]
async fn a_preflight_that_could_be_read_in_several_ways_is_refused() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", CORS);
    let asks = |from: &str, to: &str| preflight("https://app.example").replace(from, to);
    for (code, closes, request) in [
        ("BAD_FRAMING", true, asks("\r\n\r\n", "\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n")),
        ("BAD_FRAMING", true, asks("\r\n\r\n", "\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n")),
        ("BAD_HOST", false, asks("host: gate\r\n", "host: gate\r\nhost: other\r\n")),
        ("BAD_HOST", false, asks("host: gate\r\n", "")),
        ("BAD_HOST", false, asks("host: gate", "host: a@gate")),
        ("BAD_PATH", false, asks("/x", "/x/../y")),
    ] {
        let (head, told) = gateway.ask(&request).await.refusal().await;
        assert_eq!((head.status(), told.as_str()), (400, code), "{request}");
        assert_eq!(head.header("connection") == Some("close"), closes, "{request}");
    }
    let mut client = Client::connect(&gateway).await;
    let request = Request::options("http://gate/x/%2e%2e/y")
        .header("origin", "https://app.example")
        .header("access-control-request-method", "POST");
    assert_eq!(soon(client.send(request, feed().1)).await.unwrap().status(), 400);
    gateway.shows("tidegate_requests_refused_total", &["reason=\"malformed\""], 7.0).await;
    assert!(agent.is_left_alone().await);
}

#[tokio::test]
async fn a_page_may_read_what_went_wrong_too() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", &format!("{CORS}\n{AUTH}\nlimits.rate = \"2/h by ip\""));
    let reads = |head: &super::support::Head| head.header("access-control-allow-origin") == Some("https://app.example");
    let (head, _) = gateway.ask(page("https://app.example")).await.message().await;
    assert!(head.status() == 401 && reads(&head));
    assert!(head.header("access-control-expose-headers").unwrap().contains("retry-after"));
    let request = page("https://app.example").replace("host:", "x-api-key: test\r\nhost:");
    let mut client = gateway.ask(&request).await;
    let connection = agent.accept().await;
    connection.reset();
    let (head, _) = client.message().await;
    assert!(head.status() == 502 && reads(&head), "{}", head.status());
    let (head, _) = gateway.ask(&request).await.message().await;
    assert!(head.status() == 429 && reads(&head));
}

#[tokio::test]
async fn the_gateways_word_replaces_the_agents() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", CORS);
    for (origin, told) in [("https://app.example", Some("https://app.example")), ("https://evil.example", None)] {
        let mut client = gateway.ask(page(origin)).await;
        let (mut connection, asked, _) = agent.request().await;
        assert_eq!(asked.header("origin"), Some(origin));
        connection.send(STREAM.replace("\r\n\r\n", "\r\naccess-control-allow-origin: *\r\nvary: accept\r\n\r\n")).await;
        connection.send(chunk(frames([STARTED, FINISHED]))).await;
        connection.send(END).await;
        let head = client.head().await;
        assert_eq!((head.status(), head.header("access-control-allow-origin")), (200, told));
        assert_eq!(head.all("vary"), ["accept", "origin"]);
        client.rest().await;
    }
}

#[tokio::test]
async fn without_cors_everything_about_it_is_between_page_and_agent() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway.ask(preflight("https://app.example")).await;
    let (mut connection, asked, _) = agent.request().await;
    assert!(asked.start.starts_with("OPTIONS "));
    connection.send("HTTP/1.1 204 No Content\r\naccess-control-allow-origin: *\r\n\r\n").await;
    let head = client.head().await;
    assert_eq!((head.header("access-control-allow-origin"), head.header("vary")), (Some("*"), None));
}

#[tokio::test]
async fn a_preflight_finds_the_route_that_its_request_will_have_a_header_for() {
    let agent = Agent::new().await;
    let toml = format!(
        "[agents.bot]\nurl = \"{}\"\n[[routes]]\nname = \"acme\"\npath = \"/\"\nheaders = {{ x-tenant = \"acme\" }}\n{CORS}\n",
        agent.url()
    );
    let gateway = Gateway::start(&toml);
    assert_eq!(gateway.ask(preflight("https://app.example")).await.head().await.status(), 204);
}

#[tokio::test]
async fn a_page_of_another_origin_starts_no_run_with_what_a_form_could_send() {
    let agent = Agent::new().await;
    let gateway = Gateway::with(&agent, "", CORS);
    let form = |origin: &str| page(origin).replace("application/json", "text/plain");
    for origin in ["https://evil.example", "null", "https://app.example.evil"] {
        let (head, code) = gateway.ask(form(origin)).await.refusal().await;
        assert_eq!((head.status(), code.as_str()), (403, "ORIGIN_NOT_ALLOWED"), "{origin}");
    }
    let half = form("https://evil.example");
    let (head, _) = gateway.ask(&half[..half.len() - 10]).await.refusal().await;
    assert_eq!(head.header("connection"), Some("close"), "the rest of the body is still to come");
    assert!(agent.is_left_alone().await);
    for origin in ["https://app.example", "http://gate"] {
        let mut client = gateway.ask(form(origin)).await;
        let (mut connection, ..) = agent.request().await;
        connection.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
        assert_eq!(client.message().await.0.status(), 200, "{origin}");
    }
}
