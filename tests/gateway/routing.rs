//! Which agent is asked, and for what.

use http::Request;

use super::support::{
    Agent, Gateway, Head, get,
    http2::{Client, feed},
    soon,
};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// Sends a request that this agent is to answer; the request as it got it.
async fn reaches(gateway: &Gateway, request: &str, agent: &Agent) -> Head {
    let mut client = gateway.ask(request).await;
    let (mut connection, head, _) = agent.request().await;
    connection.send(OK).await;
    let (answer, body) = client.message().await;
    assert_eq!((answer.status(), body.as_slice()), (200, &b"ok"[..]));
    head
}

async fn refused(gateway: &Gateway, request: &str) -> (Head, serde_json::Value) {
    let mut client = gateway.ask(request).await;
    let (head, body) = client.message().await;
    assert_eq!(head.header("content-type"), Some("application/problem+json"), "{}", head.start);
    (head, serde_json::from_slice(&body).unwrap())
}

#[tokio::test]
async fn two_lines_send_every_path_to_the_agent_with_the_rest_and_the_query_appended() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    for (asked, got) in [
        ("/", "/agui"),
        ("/?x=1&y=%20", "/agui?x=1&y=%20"),
        ("/info", "/agui/info"),
        ("/a%2Fb/c;d?q=http://x/?y", "/agui/a%2Fb/c;d?q=http://x/?y"),
        ("/a//b/", "/agui/a//b/"),
    ] {
        assert_eq!(reaches(&gateway, &get(asked), &agent).await.asks(), ("GET", got));
    }
}

#[tokio::test]
async fn the_longest_path_wins_then_the_host_then_the_headers() {
    let agents = [Agent::new().await, Agent::new().await, Agent::new().await, Agent::new().await];
    let mut toml = String::new();
    for (i, agent) in agents.iter().enumerate() {
        toml += &format!("[agents.a{i}]\nurl = \"http://{}/a{i}\"\n", agent.address());
    }
    let gateway = Gateway::start(&format!(
        "{toml}
        [[routes]]
        path = \"/shop\"\nagent = \"a0\"
        [[routes]]
        path = \"/shop/cart\"\nagent = \"a1\"
        [[routes]]
        path = \"/shop\"\nhost = \"chat.example\"\nagent = \"a2\"\nname = \"by host\"
        [[routes]]
        path = \"/shop\"\nheaders = {{ x-tenant = \"acme\" }}\nagent = \"a3\"\nname = \"by header\"\n"
    ));
    let ask = |path: &str, host: &str, more: &str| format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n");
    for (request, agent, target) in [
        (ask("/shop", "x", ""), 0, "/a0"),
        (ask("/shop/carts?a", "x", ""), 0, "/a0/carts?a"),
        (ask("/shop/cart", "x", ""), 1, "/a1"),
        (ask("/shop/cart/1", "chat.example", "X-Tenant: acme\r\n"), 1, "/a1/1"),
        (ask("/shop/x", "CHAT.example:8080", ""), 2, "/a2/x"),
        (ask("/shop/x", "chat.example", "x-tenant: acme\r\n"), 2, "/a2/x"),
        (ask("/shop/x", "x", "x-tenant: acme\r\n"), 3, "/a3/x"),
        (ask("/shop/x", "x", "x-tenant: ACME\r\n"), 0, "/a0/x"),
        (ask("http://chat.example/shop", "x", ""), 2, "/a2"),
        (ask("/shop/x", "chat.example.", ""), 2, "/a2/x"),
        (ask("/shop/x", "Chat.Example.:8080", ""), 2, "/a2/x"),
        (ask("/shop/x", "x", "x-tenant: acme\r\nx-tenant: acme\r\n"), 3, "/a3/x"),
        (ask("/shop/x", "x", "x-tenant: acme\r\nx-tenant: other\r\n"), 0, "/a0/x"),
        (ask("/shop/x", "x", "x-tenant: other\r\nx-tenant: acme\r\n"), 0, "/a0/x"),
    ] {
        assert_eq!(reaches(&gateway, &request, &agents[agent]).await.asks().1, target, "{request}");
    }
    let (head, problem) = refused(&gateway, &get("/shopping")).await;
    assert_eq!((head.status(), problem["code"].as_str()), (404, Some("NOT_FOUND")));
    gateway.shows("tidegate_requests_refused_total", &["reason=\"not_found\""], 1.0).await;
    gateway.shows("tidegate_requests_total", &["route=\"none\"", "status=\"4xx\""], 1.0).await;
}

#[tokio::test]
async fn a_path_that_climbs_is_refused_and_the_connection_goes_on() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let mut client = gateway.connect().await;
    for path in ["/a/../b", "/%2e%2E/b", "/a%2f..", "/a/..%5cb", "/a/..;/b", "/a/..;x=y", "/a/%2e%2e%3bx/b"] {
        client.send(get(path)).await;
        let (head, code) = client.refusal().await;
        assert_eq!((head.status(), code.as_str()), (400, "BAD_PATH"), "{path}");
    }
    client.send(get("/fine")).await;
    let (mut connection, head, _) = agent.request().await;
    assert_eq!(head.asks().1, "/agui/fine");
    connection.send(OK).await;
    assert_eq!(client.message().await.0.status(), 200);
}

#[tokio::test]
async fn no_spelling_of_a_path_slips_by_the_route_that_it_is_of() {
    let agent = Agent::new().await;
    let gateway = Gateway::start(&format!(
        "[agents.bot]\nurl = \"{}\"
        [[routes]]
        path = \"/\"\nagent = \"bot\"
        [[routes]]
        path = \"/admin\"\nagent = \"bot\"
        auth = {{ api_keys = [{{ name = \"a\", sha256 = \"{}\" }}] }}
        [[routes]]
        path = \"/admin%20area\"\nagent = \"bot\"\n",
        agent.url(),
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    ));
    let mut old = gateway.connect().await;
    let mut new = Client::connect(&gateway).await;
    for path in [
        "//admin",
        "/./admin/x",
        "/%61dmin",
        "/admin;a=b",
        "/admin;a=b/x",
        "/admin%3Ba",
        "/admin%2fx",
        "/;/admin",
        "/.;a/%61dmin/x",
        "/%2fadmin",
        "/x/..;/admin",
    ] {
        old.send(get(path)).await;
        let (head, code) = old.refusal().await;
        assert_eq!((head.status(), code.as_str()), (400, "BAD_PATH"), "{path}");
        let answer = soon(new.send(Request::get(format!("http://gate{path}")), feed().1)).await.unwrap();
        assert_eq!(answer.status(), 400, "{path}");
    }
    for path in ["/admin", "/admin/", "/admin//x", "/admin/%61;b/./c"] {
        assert_eq!(refused(&gateway, &get(path)).await.0.status(), 401, "{path}");
    }
    assert!(agent.is_left_alone().await);
    for path in ["/administer", "/a//b/./c;d/%61?//admin", "/x/admin;a", "/%252e", "/admin.x/..y", "/%61dmins", "/%E4"]
    {
        assert_eq!(reaches(&gateway, &get(path), &agent).await.asks().1, format!("/agui{path}"));
    }
    assert_eq!(reaches(&gateway, &get("/admin%20area/x;y"), &agent).await.asks().1, "/agui/x;y");
}

#[tokio::test]
async fn what_has_no_path_reaches_no_agent() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let (head, _) = gateway.ask("OPTIONS * HTTP/1.1\r\nhost: gate\r\n\r\n").await.refusal().await;
    assert_eq!(head.status(), 404);
    assert!(agent.is_left_alone().await);
}

#[tokio::test]
async fn a_path_that_is_too_long_behind_the_agents_own_reaches_no_agent() {
    let agent = Agent::new().await;
    let gateway = Gateway::start(&format!("agent = \"http://{}/{}\"", agent.address(), "a".repeat(499)));
    let path = |bytes: usize| format!("/{}", "b".repeat(bytes - 1));
    let (head, code) = gateway.ask(get(&path(65_035))).await.refusal().await;
    assert_eq!((head.status(), code.as_str()), (414, "URI_TOO_LONG"));
    let mut client = Client::connect(&gateway).await;
    let answer = soon(client.send(Request::get(format!("http://gate{}", path(65_035))), feed().1)).await.unwrap();
    assert_eq!(answer.status(), 414);
    gateway.shows("tidegate_requests_refused_total", &["reason=\"malformed\""], 2.0).await;
    assert!(agent.is_left_alone().await);
    let head = reaches(&gateway, &get(&path(65_034)), &agent).await;
    assert_eq!(head.asks().1.len(), 65_534);
}

#[tokio::test]
async fn tunnels_and_traces_reach_no_agent() {
    let agent = Agent::new().await;
    let gateway = Gateway::before(&agent);
    let allowed = |allow: Option<&str>| {
        allow.is_some_and(|allow| allow.contains("POST") && !allow.contains("CONNECT") && !allow.contains("TRACE"))
    };
    for request in ["CONNECT gate:443", "CONNECT /x", "CONNECT http://gate/x", "TRACE /x", "TRACE http://gate/x"] {
        let request = format!("{request} HTTP/1.1\r\nhost: gate\r\n\r\n");
        let (head, code) = gateway.ask(&request).await.refusal().await;
        assert_eq!((head.status(), code.as_str()), (405, "METHOD_NOT_ALLOWED"), "{request}");
        assert!(allowed(head.header("allow")), "{request}");
    }
    let mut client = Client::connect(&gateway).await;
    for request in [Request::builder().method("TRACE").uri("http://gate/x"), Request::connect("gate:443")] {
        let answer = soon(client.send(request, feed().1)).await.unwrap();
        assert_eq!(answer.status(), 405);
        assert!(allowed(answer.headers()["allow"].to_str().ok()));
    }
    assert!(agent.is_left_alone().await);
    gateway.shows("tidegate_requests_refused_total", &["reason=\"malformed\""], 7.0).await;
}

#[tokio::test]
async fn every_thread_serves() {
    let agent = Agent::new().await;
    let gateway = Gateway::start(&format!("threads = 2\nagent = \"{}\"", agent.url()));
    let mut clients = Vec::new();
    for _ in 0..16 {
        clients.push(gateway.ask(get("/x")).await);
    }
    for _ in 0..16 {
        agent.request().await.0.send(OK).await;
    }
    for mut client in clients {
        assert_eq!(soon(client.message()).await.0.status(), 200);
    }
    gateway.shows("tidegate_requests_total", &["status=\"2xx\""], 16.0).await;
}
