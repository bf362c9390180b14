//! Configurations that load, and what they load as.

use std::time::Duration;

use tidegate::{
    agui::Version,
    config::{
        AgentHttp, Config, Escape, Fault, Flags, Guard, LogFormat, OnMismatch, Resume, Sources, State, Unrepresentable,
    },
};

use super::{AGENT, FULL, JSON, environment, load, toml};

#[test]
fn two_lines_are_a_whole_configuration() {
    let config = toml("listen = \"127.0.0.1:8080\"\nagent = \"http://127.0.0.1:8000/agui\"\n");
    assert_eq!(config.listen, ["127.0.0.1:8080".parse().unwrap()]);
    assert_eq!(config.admin.listen, Some("127.0.0.1:9090".parse().unwrap()));
    assert_eq!(config.agents.len(), 1);
    assert_eq!(config.agents[0].urls, ["http://127.0.0.1:8000/agui"]);
    assert_eq!(config.agents[0].timeouts.first_event, Some(Duration::from_secs(60)));
    assert_eq!(config.agents[0].timeouts.progress, None);
    assert_eq!(config.routes.len(), 1);
    assert_eq!(config.routes[0].path, "/");
    assert_eq!(config.routes[0].name, "/");
    assert_eq!(config.routes[0].agent, config.agents[0].name);
    assert_eq!(config.routes[0].keepalive, Some(Duration::from_secs(15)));
    assert!(config.routes[0].select.is_none());
}

#[test]
fn a_flag_is_a_whole_configuration() {
    let flags = Flags {
        agent: Some("http://10.0.0.5/agui".into()),
        listen: vec!["127.0.0.1:1".into(), "127.0.0.1:2".into()],
        admin: Some("off".into()),
    };
    let config = Config::load(&Sources { flags, ..Sources::default() }).unwrap();
    assert_eq!(config.agents[0].urls, ["http://10.0.0.5/agui"]);
    assert_eq!(config.listen.len(), 2);
    assert_eq!(config.admin.listen, None);
    assert_eq!(config.drain.deadline, Duration::from_secs(30));
}

#[test]
fn every_key_arrives_where_it_acts() {
    let config = toml(FULL);
    assert_eq!(config.listen.len(), 2);
    assert_eq!(config.threads.get(), 3);
    assert_eq!(config.trusted_proxies[1], "192.168.1.1/32".parse().unwrap());
    assert_eq!(config.admin.listen, None);
    assert_eq!(config.drain.deadline, Duration::ZERO);
    assert_eq!((config.log.format, config.log.level.as_str()), (LogFormat::Pretty, "info,hyper=warn"));
    let [sales, support] = config.agents.as_slice() else { panic!("{:?}", config.agents) };
    assert_eq!((support.name.as_str(), support.urls.len(), support.http), ("support", 2, AgentHttp::Two));
    assert_eq!((sales.name.as_str(), sales.urls.len(), sales.http), ("sales", 1, AgentHttp::One));
    assert_eq!((support.version.as_str(), support.resume), ("0.1.9", Resume::ForwardedProps));
    assert_eq!((sales.version.as_str(), sales.resume), ("1.1", Resume::Native));
    assert_eq!(support.timeouts.connect, Duration::from_secs(1));
    assert_eq!(support.timeouts.first_event, None);
    assert_eq!(support.timeouts.idle, Some(Duration::from_secs(120)));
    assert_eq!(support.timeouts.progress, Some(Duration::from_secs(30)));
    assert_eq!(support.timeouts.run, None);
    assert_eq!(support.headers.set[0].0, "x-tenant");
    assert_eq!(support.headers.set[0].1, "$ACME", "strings are literal");
    assert!(!support.headers.set[0].1.is_sensitive());
    assert_eq!(support.headers.remove, ["cookie"]);
    let [first, second] = config.routes.as_slice() else { panic!("{:?}", config.routes) };
    assert_eq!((first.name.as_str(), first.path.as_str()), ("support", "/support"));
    assert_eq!(first.host.as_deref(), Some("chat.example.com"));
    assert_eq!((first.headers[0].0.as_str(), &first.headers[0].1), ("x-tenant", &"acme".parse().unwrap()));
    assert_eq!(first.keepalive, None);
    assert_eq!((first.limits.body, first.limits.frame), (1_000_000, 65536), "tables are merged key by key");
    let select = first.select.as_ref().unwrap();
    assert_eq!((select.drop.as_slice(), select.strip.as_slice()), (&["RAW".into()][..], &["rawEvent".into()][..]));
    assert_eq!(first.escape, Escape::LineSeparators);
    assert_eq!(first.client_version.header.as_ref().unwrap(), "x-agui-version");
    assert_eq!((first.client_version.version.as_str(), first.client_version.configured), ("0.0.47", true));
    assert!(first.upgrade && first.expand && first.downgrade.announce);
    assert_eq!(first.downgrade.unrepresentable, Unrepresentable::Custom);
    assert!(!second.upgrade && !second.expand && second.downgrade.announce);
    assert_eq!(second.downgrade.unrepresentable, Unrepresentable::Drop);
    assert_eq!((first.guard, second.guard), (Guard::Repair, Guard::Observe));
    assert_eq!(first.limits.state, 1 << 20);
    assert_eq!(first.state, State { compact: true, on_mismatch: OnMismatch::Resync });
    assert_eq!(second.state, State { compact: true, on_mismatch: OnMismatch::Forward });
    assert_eq!(second.client_version.header, None, "a version alone takes the header of [defaults] away");
    assert_eq!(second.client_version.version, Version::V1_0);
    assert_eq!((first.on_error.truncated, first.on_error.status), (Fault::Pass, Fault::RunError));
    assert_eq!((second.name.as_str(), second.agent.as_str()), ("/sales", "sales"));
    assert_eq!(second.keepalive, Some(Duration::from_secs(5)));
    assert!(second.select.is_none(), "a route can empty the lists of [defaults]");
}

#[test]
fn toml_yaml_and_json_say_the_same() {
    let yaml = r#"
listen: ["0.0.0.0:8080", "[::]:8080"]
threads: 3
trusted_proxies:
  - 10.0.0.0/8
  - 192.168.1.1
admin: { listen: off }
drain: { deadline: 0s }
log: { format: pretty, level: "info,hyper=warn" }
agents:
  support:
    url: [http://10.0.0.5:8000/agui, http://10.0.0.6:8000/agui]
    version: 0.1.9
    resume: forwarded_props
    http: 2
    timeouts: { connect: 1s, first_event: off, idle: 2m, progress: 30s, run: off }
    headers: { set: { X-Tenant: $ACME }, remove: [cookie] }
  sales:
    url: http://10.0.0.7/agui
    http: "1"
defaults:
  keepalive: 5s
  client_version: { header: X-AGUI-Version, default: 0.0.47 }
  downgrade: { announce: true }
  state: { compact: true }
  limits: { body: 1MB, state: 1MiB }
  select: { drop: [RAW] }
routes:
  - name: support
    path: /support/
    host: Chat.example.com
    headers: { x-tenant: acme }
    agent: support
    keepalive: off
    limits: { frame: 64KiB }
    select: { strip: [rawEvent] }
    escape: line_separators
    upgrade: true
    expand: true
    guard: repair
    downgrade: { unrepresentable: custom }
    state: { on_mismatch: resync }
    on_error: { truncated: pass, status: run_error }
  - path: /sales
    agent: sales
    client_version: 1.0.0
    select: { drop: [] }
"#;
    let expected = format!("{:?}", toml(FULL));
    for (name, text) in [("a.yaml", yaml), ("a.yml", yaml), ("a.json", JSON), ("a.conf", FULL), ("a", FULL)] {
        let config = load(name, text, &[], Flags::default()).unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(format!("{config:?}"), expected, "{name}");
    }
}

#[test]
fn a_single_agent_needs_no_route_and_a_route_to_it_no_name() {
    let config = toml("[agents.a]\nurl = \"http://a/\"\n[defaults]\nkeepalive = \"1s\"\n");
    assert_eq!((config.routes[0].path.as_str(), config.routes[0].agent.as_str()), ("/", "a"));
    assert_eq!(config.routes[0].keepalive, Some(Duration::from_secs(1)));
    let config = toml(&format!("{AGENT}[[routes]]\npath = \"/x\"\n[[routes]]\nhost = \"y\"\n"));
    assert!(config.routes.iter().all(|route| route.agent == config.agents[0].name));
}

#[test]
fn port_zero_is_never_the_same_port() {
    toml(&format!("listen = [\"127.0.0.1:0\", \"127.0.0.1:0\"]\n{AGENT}admin = {{ listen = \"127.0.0.1:0\" }}\n"));
}

#[test]
fn without_a_version_everybody_is_current() {
    let shown = |config: &Config, pointer: &str| config.show().pointer(pointer).cloned();
    let config = toml(AGENT);
    assert_eq!((config.agents[0].version, config.agents[0].resume), (Version::CURRENT, Resume::Native));
    let client = &config.routes[0].client_version;
    assert_eq!((&client.header, client.version, client.configured), (&None, Version::CURRENT, false));
    assert_eq!(shown(&config, "/agents/agent/version").unwrap(), "1.1");
    assert_eq!(shown(&config, "/routes/0/client_version").unwrap(), "1.1");

    let config = toml(&format!("{AGENT}[defaults]\nclient_version = {{ header = \"X-Version\" }}\n"));
    let client = &config.routes[0].client_version;
    assert_eq!((client.version, client.configured), (Version::CURRENT, false));
    let expected = serde_json::json!({ "header": "x-version", "default": "1.1" });
    assert_eq!(shown(&config, "/routes/0/client_version").unwrap(), expected);
}

#[test]
fn a_route_can_add_to_the_version_that_defaults_give() {
    let text = "[defaults]\nclient_version = { header = \"x-version\" }\n\
                [[routes]]\nclient_version = { default = \"0.0.40\" }\n";
    let client = toml(&format!("{AGENT}{text}")).routes[0].client_version.clone();
    assert_eq!((client.header.unwrap().as_str(), client.version.as_str()), ("x-version", "0.0.40"));
}

// === Precedence ===

#[test]
fn each_source_wins_over_the_one_before() {
    let file = "listen = [\"127.0.0.1:1\"]\nagent = \"http://file/\"\n[admin]\nlisten = \"127.0.0.1:11\"\n\
                [drain]\ndeadline = \"1s\"\n[defaults]\nkeepalive = \"1s\"\nescape = \"non_ascii\"\n";
    let variables = [
        ("TIDEGATE_LISTEN", "127.0.0.1:2"),
        ("TIDEGATE_ADMIN__LISTEN", "127.0.0.1:12"),
        ("TIDEGATE_DEFAULTS__KEEPALIVE", "2s"),
        ("TIDEGATE_THREADS", "5"),
    ];
    let flags = Flags { admin: Some("127.0.0.1:13".into()), agent: Some("http://flag/".into()), listen: vec![] };
    let config = load("a.toml", file, &variables, flags).unwrap();
    assert_eq!(config.log.level, "info", "a default");
    assert_eq!(config.drain.deadline, Duration::from_secs(1), "the file over the default");
    assert_eq!(config.routes[0].escape, Escape::NonAscii, "the file beside a variable of the same table");
    assert_eq!(config.listen, ["127.0.0.1:2".parse().unwrap()], "the environment over the file");
    assert_eq!(config.threads.get(), 5, "text becomes what the key wants");
    assert_eq!(config.routes[0].keepalive, Some(Duration::from_secs(2)));
    assert_eq!(config.admin.listen, Some("127.0.0.1:13".parse().unwrap()), "a flag over the environment");
    assert_eq!(config.agents[0].urls, ["http://flag/"], "a flag over the file");
}

#[test]
fn the_environment_alone_can_configure() {
    let variables = environment(&[
        ("TIDEGATE_LISTEN", "[\"0.0.0.0:8080\", \"[::1]:8080\"]"),
        ("TIDEGATE_AGENTS__SUPPORT__URL", "http://a/"),
        ("TIDEGATE_AGENTS__SUPPORT__HTTP", "2"),
        ("TIDEGATE_AGENTS__SUPPORT__VERSION", "0.0.36"),
        ("TIDEGATE_DEFAULTS__EXPAND", "true"),
        ("TIDEGATE_DEFAULTS__CLIENT_VERSION", "{ header = \"x-version\" }"),
        ("TIDEGATE_AGENTS__SUPPORT__HEADERS__SET__X_KEY", "{ env = \"KEY\" }"),
        ("TIDEGATE_ROUTES", "[{ path = \"/x\", select = { drop = [\"RAW\"] } }]"),
        ("KEY", "hunter2"),
    ]);
    let config = Config::load(&Sources { environment: variables, ..Sources::default() }).unwrap();
    assert_eq!(config.listen.len(), 2);
    assert_eq!((config.agents[0].name.as_str(), config.agents[0].http), ("support", AgentHttp::Two));
    assert_eq!(config.agents[0].version, Version::npm(36));
    assert!(config.routes[0].expand && config.routes[0].client_version.header.is_some());
    assert_eq!(config.agents[0].headers.set[0].1, "hunter2");
    assert_eq!(config.routes[0].select.as_ref().unwrap().drop, ["RAW"]);
}

#[test]
fn a_variable_finds_names_whatever_their_case() {
    let file = "[agents.\"Sales-EU\"]\nurl = \"http://file/\"\nheaders.set.X-Tenant = \"file\"\n";
    let variables = [
        ("TIDEGATE_AGENTS__SALES_EU__URL", "http://variable/"),
        ("TIDEGATE_AGENTS__SALES_EU__HEADERS__SET__X_TENANT", "[variable"),
    ];
    let config = load("a.toml", file, &variables, Flags::default()).unwrap();
    assert_eq!(config.agents.len(), 1);
    assert_eq!(config.agents[0].urls, ["http://variable/"]);
    assert_eq!(config.agents[0].headers.set.len(), 1);
    assert_eq!(config.agents[0].headers.set[0].1, "[variable", "text that is no list stays text");
}

#[test]
fn what_kubernetes_says_about_services_is_not_read() {
    let variables = [
        ("TIDEGATE_SERVICE_HOST", "10.0.0.1"),
        ("TIDEGATE_SERVICE_PORT", "80"),
        ("TIDEGATE_SERVICE_PORT_HTTP", "80"),
        ("TIDEGATE_PORT", "tcp://10.0.0.1:80"),
        ("TIDEGATE_PORT_80_TCP", "tcp://10.0.0.1:80"),
        ("TIDEGATE_PORT_80_TCP_ADDR", "10.0.0.1"),
        ("TIDEGATE_ADMIN_SERVICE_HOST", "10.0.0.1"),
        ("TIDEGATE_ADMIN_PORT_9090_TCP_PROTO", "tcp"),
    ];
    load("a.toml", AGENT, &variables, Flags::default()).unwrap();
    let errors = load("a.toml", AGENT, &[("TIDEGATE_PORT", "8080")], Flags::default()).unwrap_err();
    assert!(errors.starts_with("TIDEGATE_PORT: port: unknown key"), "{errors}");
}
