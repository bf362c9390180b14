//! Everything that can be wrong, each with its exact text and place.

use std::fs;

use proptest::prelude::*;
use serde_json::{Value, json};
use tidegate::config::{Config, Flags, Sources};

use super::{AGENT, JSON, fails, load, written};

#[test]
fn every_problem_is_named_at_once_with_its_place() {
    fails(
        "a.toml",
        r#"lissten = "127.0.0.1:8080"
threads = 0
trusted_proxies = ["10.0.0.0/8", "nope"]
frame = "1MiB"
[admin]
listen = "localhost:9090"
agent = "http://x/"
[log]
format = "prety"
level = "inof"
[drain]
deadline = 30
[agents.support]
url = "http://10.0.0.5:8000/agui"
gzip = true
http = 3
timeouts = { connect = "off", first_event = "60", idle = "0s" }
headers = { set = { "bad name" = "x", content-length = "3" }, remove = ["a b"] }
[agents.other]
url = "ftp://a.example/"
[agents.third]
[defaults]
keepalive = false
limits = { body = "10", frame = "0B" }
[[routes]]
path = "support"
agent = "suport"
[[routes]]
path = "/a"
agent = "other"
select = { drop = ["RAW", "RUN_STARTED", "raw"], strip = ["type", "rawEvent"] }
[[routes]]
path = "/b"
agent = "third"
escape = "no"
host = "a:80"
[[routes]]
on_error = { truncated = "runerror" }
"#,
        &[
            "a.toml:1:1: lissten: unknown key; did you mean `listen`?",
            "a.toml:2:11: threads: `0` is not a whole number from 1 to 1024",
            "a.toml:3:34: trusted_proxies[1]: `nope` is not a block of addresses; write one as in \"10.0.0.0/8\", \
             \"fd00::/8\" or \"10.1.2.3\"",
            "a.toml:4:1: frame: unknown key; `frame` is a key of `defaults.limits` and `routes[].limits`",
            "a.toml:6:10: admin.listen: `localhost:9090` is not an address to listen on; write \"127.0.0.1:9090\"",
            "a.toml:7:1: admin.agent: unknown key; `agent` is a key of the top level (in TOML: above the first \
             [table]) and `routes[]`",
            "a.toml:9:10: log.format: `prety` is not one of \"json\", \"pretty\"; did you mean `pretty`?",
            "a.toml:10:9: log.level: `inof` is not a level; write off, error, warn, info, debug or trace, or a filter \
             as in \"info,hyper=warn\" (did you mean `info`?)",
            "a.toml:12:12: drain.deadline: `30` has no unit; write \"30s\" for seconds, or ms, m, h",
            "a.toml:15:1: agents.support.gzip: unknown key; known here: `balance`, `deny_private`, `eject`, `encoding`, \
             `headers`, `health`, `http`, `resume`, `timeouts`, `tls`, `url`, `version`",
            "a.toml:16:8: agents.support.http: expected one of \"auto\", 1, 2, \"1\", \"2\", found 3",
            "a.toml:17:24: agents.support.timeouts.connect: this cannot be off; write a duration, as in \"3s\"",
            "a.toml:17:45: agents.support.timeouts.first_event: `60` has no unit; write \"60s\" for seconds, or ms, m, h",
            "a.toml:17:58: agents.support.timeouts.idle: zero is not a duration to wait for; write a longer one, \
             or \"off\"",
            "a.toml:18:21: agents.support.headers.set.\"bad name\": `bad name` is not a header name; write letters, \
             digits and hyphens, as in \"x-tenant\"",
            "a.toml:18:39: agents.support.headers.set.content-length: the gateway itself has to write this header; \
             take it out of here",
            "a.toml:18:73: agents.support.headers.remove[0]: `a b` is not a header name; write letters, digits and \
             hyphens, as in \"x-tenant\"",
            "a.toml:20:7: agents.other.url: `ftp://a.example/` has a scheme that no agent speaks; write one as in \
             \"http://127.0.0.1:8000/agui\"",
            "a.toml:21:9: agents.third.url: is missing; write a url as in \"http://127.0.0.1:8000/agui\"",
            "a.toml:23:13: defaults.keepalive: expected a duration or \"off\", as in \"30s\", found the word false",
            "a.toml:24:19: defaults.limits.body: `10` has no unit; write \"10B\" for bytes, or KiB, MiB, GiB",
            "a.toml:24:33: defaults.limits.frame: nothing fits into a limit of zero; write a larger one, as in \"1MiB\"",
            "a.toml:26:8: routes[0].path: `support` is not a path; begin it with a slash, as in \"/support\"",
            "a.toml:27:9: routes[0].agent: there is no agent `suport`; did you mean `support`?",
            "a.toml:31:27: routes[1].select.drop[1]: `RUN_STARTED` cannot be dropped; without it a client does not \
             see a run begin or end",
            "a.toml:31:42: routes[1].select.drop[2]: `raw` is no event type, and case counts; did you mean `RAW`?",
            "a.toml:31:59: routes[1].select.strip[0]: `type` cannot be stripped; the protocol needs it",
            "a.toml:35:10: routes[2].escape: `no` is not one of \"off\", \"line_separators\", \"non_ascii\"",
            "a.toml:36:8: routes[2].host: `a:80` is not a host name; write only the name, without scheme, port or path",
            "a.toml:37:1: routes[3].agent: is missing; there are several agents: `other`, `support`, `third`",
            "a.toml:38:26: routes[3].on_error.truncated: `runerror` is not one of \"pass\", \"run_error\"; did you \
             mean `run_error`?",
        ],
    );
}

#[test]
fn yaml_and_json_problems_have_places_too() {
    fails(
        "a.yaml",
        "# an agent\nlisten: 8080\nagents:\n  a: {url: 'http://x/y', htp: 2}\n  b: http://x\nroutes:\n  - path: /a\n    \
         agent: a\n    keepalive: 5\n  - {path: /b, agent: b, limits: {frame: 1}}\n",
        &[
            "a.yaml:2:9: listen: `8080` is not an address to listen on; write \"127.0.0.1:8080\", or \"0.0.0.0:8080\" \
             to be reached from outside",
            "a.yaml:4:26: agents.a.htp: unknown key; did you mean `http`?",
            "a.yaml:5:6: agents.b: expected a table of `balance`, `deny_private`, `eject`, `encoding`, `headers`, `health`, \
             `http`, `resume`, `timeouts`, `tls`, `url`, `version`, found a string",
            "a.yaml:9:16: routes[0].keepalive: `5` has no unit; write \"5s\" for seconds, or ms, m, h",
            "a.yaml:10:42: routes[1].limits.frame: `1` has no unit; write \"1B\" for bytes, or KiB, MiB, GiB",
        ],
    );
    fails(
        "a.json",
        "{\n\t\"listen\": null,\n\t\"agent\": [\"http://a/\", \"ftp://b\"],\n\t\"admin\": {\"lisen\": \"off\"}\n}",
        &[
            "a.json:2:12: listen: expected an address, as in \"127.0.0.1:8080\" or a list, found null; leave the key \
             out to get its default",
            "a.json:3:25: agent[1]: `ftp://b` has a scheme that no agent speaks; write one as in \
             \"http://127.0.0.1:8000/agui\"",
            "a.json:4:12: admin.lisen: unknown key; did you mean `listen`?",
        ],
    );
}

#[test]
fn a_text_that_cannot_be_read_is_named_by_its_first_fault() {
    fails("a.toml", "listen = \"a\nagent = 3", &["a.toml:1:12: not TOML: invalid basic string, expected `\"`"]);
    fails(
        "a.toml",
        "# ü\nlisten = \"ü\" x",
        &["a.toml:2:14: not TOML: unexpected key or value, expected newline, `#`"],
    );
    fails("a.toml", "listen = \"a\"\nlisten = \"b\"", &["a.toml:2:1: not TOML: duplicate key"]);
    fails("a.yaml", "listen: [a\nagent: 3", &["a.yaml:2:6: not YAML: illegal placement of ':' indicator"]);
    fails("a.yaml", "a: 1\na: 2", &["a.yaml:2:1: not YAML: duplicated key in mapping"]);
    fails("a.yaml", "a: 1\n---\na: 2", &["a.yaml:3:1: a second document; a configuration is one"]);
    fails("a.yml", "- a", &["a.yml:1:1: the top of a configuration is a table of keys"]);
    fails("a.json", "{\n  \"a\": 1,\n}", &["a.json:3:1: not JSON: trailing comma"]);
    fails("a.json", "{\n\t\"a\": 1,\n\t\"a\": 2\n}", &["a.json:3:2: the same key twice; keep one of them"]);
    let (_folder, path) = written("a.toml", "");
    fs::write(&path, b"listen = \"\xff\"").unwrap();
    let errors = Config::load(&Sources { file: Some(path), ..Sources::default() }).unwrap_err();
    assert!(errors.to_string().ends_with("a.toml: not UTF-8; save it as UTF-8 text"), "{errors}");
    let errors = Config::load(&Sources { file: Some("no/such.toml".into()), ..Sources::default() }).unwrap_err();
    assert_eq!(errors.to_string(), "no/such.toml: cannot be read: No such file or directory (os error 2)");
}

const NO_AGENT: &str = "agent: no agent is configured; two lines are enough: listen = \"127.0.0.1:8080\" \
                        and agent = \"http://127.0.0.1:8000/agui\" (or the flag --agent URL)";

#[test]
fn without_an_agent_two_lines_are_suggested() {
    fails("a.toml", "", &[&format!("a.toml:1:1: {NO_AGENT}")]);
    fails("a.yaml", "# nothing\n", &[&format!("a.yaml:1:1: {NO_AGENT}")]);
    let errors = Config::load(&Sources::default()).unwrap_err();
    assert_eq!(errors.to_string(), format!("configuration: {NO_AGENT}"));
}

#[test]
fn what_cannot_stand_together_is_refused() {
    let short = "`agent` is short for a single agent and cannot stand beside `[agents]`; write its url as \
                 `[agents.NAME] url`, or take `[agents]` away";
    let table = "[agents.a]\nurl = \"http://a/\"\n[[routes]]\nagent = \"a\"\n";
    let errors = load("a.toml", &format!("{AGENT}{table}"), &[], Flags::default()).unwrap_err();
    assert!(errors.starts_with(&format!("a.toml:1:1: agent: {short}")), "{errors}");
    let flags = Flags { agent: Some("http://b/".into()), ..Flags::default() };
    let errors = load("a.toml", table, &[], flags).unwrap_err();
    assert!(errors.contains(&format!("--agent: agent: {short}")), "{errors}");

    fails(
        "a.toml",
        &format!("listen = [\"127.0.0.1:1\", \"127.0.0.1:1\"]\n{AGENT}[admin]\nlisten = \"0.0.0.0:1\"\n"),
        &[
            "a.toml:1:26: listen[1]: `127.0.0.1:1` is in the list already; leave it out",
            "a.toml:4:10: admin.listen: `0.0.0.0:1` is also where clients connect (`listen`); write another port, or \
             \"off\"",
        ],
    );
    fails(
        "a.toml",
        &format!("listen = \"[::]:9090\"\n{AGENT}"),
        &["a.toml:1:10: listen: `[::]:9090` is also the operator's listener; write another port, here or as \
           `admin.listen`"],
    );
    fails(
        "a.toml",
        &format!("listen = []\n{AGENT}"),
        &["a.toml:1:10: listen: an empty list; write at least one entry, or leave the key out"],
    );
}

#[test]
fn routes_that_cannot_be_told_apart_are_refused() {
    let routes = "[[routes]]\npath = \"/a\"\nheaders = { X-A = \"1\", x-b = \"2\" }\n\
                  [[routes]]\npath = \"/a/\"\nheaders = { x-b = \"2\", x-a = \"1\" }\n\
                  [[routes]]\npath = \"/a\"\nheaders = { x-a = \"2\" }\nname = \"b\"\n\
                  [[routes]]\npath = \"/b\"\nname = \"b\"\n\
                  [[routes]]\npath = \"/b\"\nhost = \"h\"\n\
                  [[routes]]\npath = \"/b\"\nhost = \"H\"\nname = \"c\"\n\
                  [[routes]]\npath = \"/c\"\nheaders = { x-a = \"1\", X-A = \"2\" }\n";
    fails(
        "a.toml",
        &format!("{AGENT}{routes}"),
        &[
            "a.toml:6:8: routes[1].path: `/a` has the same path, host and headers as routes[0]; change one, or take \
             it away",
            "a.toml:14:8: routes[3].name: `b` is also the name of routes[2]; write a `name` of its own",
            "a.toml:19:8: routes[5].path: `/b` has the same path, host and headers as routes[4]; change one, or take \
             it away",
            "a.toml:24:13: routes[6].headers.x-a: the same header as `X-A`, for case does not count; write one of them",
        ],
    );
}

#[test]
fn a_version_is_one_that_was_released() {
    const RELEASES: &str = "is no released version of AG-UI; write one of 0.0.27 to 0.0.59 (the npm packages), 0.1.4 to \
                            0.1.22 (the Python ones), or 1.0 or 1.1 (the protocol)";
    fails(
        "a.toml",
        r#"[agents.a]
url = "http://a/"
version = "0.0.470"
resume = "forwardedProps"
[agents.b]
url = "http://b/"
version = 1.0
[[routes]]
agent = "a"
client_version = "v1.0"
upgrade = "yes"
expand = 1
downgrade = "custom"
[[routes]]
agent = "b"
path = "/b"
client_version = { heade = "x", default = "latest" }
downgrade = { unrepresentable = "wrap", announce = "on", drop = true }
[[routes]]
agent = "b"
path = "/c"
client_version = { header = "x y", default = 1.0 }
[[routes]]
agent = "b"
path = "/d"
client_version = true
[[routes]]
agent = "b"
path = "/e"
client_version = 0.1
"#,
        &[
            &format!("a.toml:3:11: agents.a.version: `0.0.470` {RELEASES}; did you mean `0.0.59`?"),
            "a.toml:4:10: agents.a.resume: `forwardedProps` is not one of \"native\", \"forwarded_props\"; did you mean \
             `forwarded_props`?",
            "a.toml:7:11: agents.b.version: expected a released version, as in \"1.0\", found a number",
            &format!("a.toml:10:18: routes[0].client_version: `v1.0` {RELEASES}; did you mean `1.0`?"),
            "a.toml:11:11: routes[0].upgrade: expected true or false, found a string",
            "a.toml:12:10: routes[0].expand: expected true or false, found a number",
            "a.toml:13:13: routes[0].downgrade: expected a table of `announce`, `unrepresentable`, found a string",
            "a.toml:17:20: routes[1].client_version.heade: unknown key; did you mean `header`?",
            &format!("a.toml:17:43: routes[1].client_version.default: `latest` {RELEASES}"),
            "a.toml:18:33: routes[1].downgrade.unrepresentable: `wrap` is not one of \"drop\", \"custom\"",
            "a.toml:18:52: routes[1].downgrade.announce: expected true or false, found a string",
            "a.toml:18:58: routes[1].downgrade.drop: unknown key; `drop` is a key of `defaults.select` and \
             `routes[].select`",
            "a.toml:22:29: routes[2].client_version.header: `x y` is not a header name; write letters, digits and \
             hyphens, as in \"x-tenant\"",
            "a.toml:22:46: routes[2].client_version.default: expected a released version, as in \"1.0\", found a number",
            "a.toml:26:18: routes[3].client_version: expected a released version, as in \"1.0\" or a table of `default`, \
             `header`, found the word true",
            &format!("a.toml:30:18: routes[4].client_version: `0.1` {RELEASES}"),
        ],
    );
    let variables = [("TIDEGATE_DEFAULTS__UPGRADE", "yes"), ("TIDEGATE_DEFAULTS__CLIENT_VERSION", "2")];
    let errors = load("a.toml", AGENT, &variables, Flags::default()).unwrap_err();
    let expected = [
        &format!("TIDEGATE_DEFAULTS__CLIENT_VERSION: defaults.client_version: `2` {RELEASES}"),
        "TIDEGATE_DEFAULTS__UPGRADE: defaults.upgrade: `yes` is not true or false",
    ];
    assert_eq!(errors.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn what_is_done_with_a_stream_is_one_of_a_few() {
    fails(
        "a.toml",
        "agent = \"http://a/\"\n[[routes]]\nguard = \"strict\"\n[[routes]]\npath = \"/b\"\nguard = true\n",
        &[
            "a.toml:3:9: routes[0].guard: `strict` is not one of \"off\", \"observe\", \"repair\", \"refuse\"",
            "a.toml:6:9: routes[1].guard: expected one of \"off\", \"observe\", \"repair\", \"refuse\", found the word true",
        ],
    );
    fails(
        "a.toml",
        r#"agent = "http://a/"
[[routes]]
state = { compat = true, on_mismatch = "resnyc" }
limits = { state = "8" }
[[routes]]
path = "/b"
state = { compact = "yes", on_mismatch = false }
limits = { state = "0B" }
[[routes]]
path = "/c"
state = "off"
"#,
        &[
            "a.toml:3:11: routes[0].state.compat: unknown key; did you mean `compact`?",
            "a.toml:3:40: routes[0].state.on_mismatch: `resnyc` is not one of \"forward\", \"drop\", \"resync\", \
             \"lenient\"; did you mean `resync`?",
            "a.toml:4:20: routes[0].limits.state: `8` has no unit; write \"8B\" for bytes, or KiB, MiB, GiB",
            "a.toml:7:21: routes[1].state.compact: expected true or false, found a string",
            "a.toml:7:42: routes[1].state.on_mismatch: expected one of \"forward\", \"drop\", \"resync\", \"lenient\", \
             found the word false",
            "a.toml:8:20: routes[1].limits.state: nothing fits into a limit of zero; write a larger one, as in \"1MiB\"",
            "a.toml:11:9: routes[2].state: expected a table of `compact`, `on_mismatch`, found a string",
        ],
    );
}

#[test]
fn agents_and_routes_have_to_meet() {
    let agents = "[agents.sales]\nurl = \"http://a/\"\n[agents.support]\nurl = \"http://b/\"\n";
    fails(
        "a.toml",
        agents,
        &[
            "a.toml:1:1: routes: there are several agents and no route; write a [[routes]] with `path` and `agent` for each",
        ],
    );
    fails(
        "a.toml",
        &format!("{agents}[[routes]]\nagent = \"sales\"\n[[routes]]\npath = \"/x\"\nagent = \"hr\"\n"),
        &[
            "a.toml:3:9: agents.support: no route leads to this agent; write `agent = \"support\"` in one of [[routes]], \
         or take it away",
            "a.toml:9:9: routes[1].agent: there is no agent `hr`; the agents are `sales`, `support`",
        ],
    );
    // What is wrong with the list of routes says nothing about the agents.
    fails(
        "a.toml",
        &format!("routes = [1]\n{agents}"),
        &[
            "a.toml:1:11: routes[0]: expected a table of `agent`, `auth`, `client_version`, `cors`, `downgrade`, `encoding`, `escape`, `expand`, \
         `guard`, `headers`, `host`, `keepalive`, `limits`, `name`, `on_error`, `path`, `redact`, `select`, `state`, `throttle`, \
         `tools`, `upgrade`, found a number",
        ],
    );
}

#[test]
fn variables_and_flags_are_named_instead_of_a_position() {
    let variables = [
        ("TIDEGATE_ADMIN__LISTEN", ":9090"),
        ("TIDEGATE_AGENTS__A__HTTPP", "2"),
        ("TIDEGATE_LISTN", "x"),
        ("TIDEGATE_ROUTES__0__PATH", "/"),
        ("TIDEGATE_THREADS", "two"),
        ("TIDEGATE_X____Y", ""),
    ];
    let flags = Flags { agent: None, listen: vec!["80".into(), "x".into()], admin: None };
    let errors = load("a.toml", "[agents.a]\nurl = \"http://a/\"\nhttpq = 1\n", &variables, flags).unwrap_err();
    let expected = [
        "a.toml:3:1: agents.a.httpq: unknown key; did you mean `http`?",
        "TIDEGATE_ADMIN__LISTEN: admin.listen: `:9090` is not an address to listen on; write \"0.0.0.0:9090\"",
        "TIDEGATE_AGENTS__A__HTTPP: agents.a.httpp: unknown key; did you mean `http`?",
        "TIDEGATE_LISTN: listn: unknown key; did you mean `listen`?",
        "TIDEGATE_ROUTES__0__PATH: an entry of a list cannot be set alone; set the whole list, as in \
         TIDEGATE_ROUTES='[{ path = \"/\", keepalive = \"5s\" }]'",
        "TIDEGATE_THREADS: threads: `two` is not a whole number",
        "TIDEGATE_X____Y: names no key; write `__` between levels, as in TIDEGATE_ADMIN__LISTEN",
        "--listen: listen[0]: `80` is not an address to listen on; write \"127.0.0.1:80\", or \"0.0.0.0:80\" to be \
         reached from outside",
        "--listen: listen[1]: `x` is not an address to listen on; write an IP address and a port, as in \
         \"127.0.0.1:8080\" or \"[::]:8080\"",
    ];
    assert_eq!(errors.lines().collect::<Vec<_>>(), expected);
}

/// Every table, list and value of a configuration, by its JSON pointer.
fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    match value {
        Value::Object(table) => table.iter().for_each(|(key, value)| pointers(value, &format!("{at}/{key}"), all)),
        Value::Array(list) => list.iter().enumerate().for_each(|(i, value)| pointers(value, &format!("{at}/{i}"), all)),
        _ => {}
    }
}

fn oddity() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0i64..4).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        prop::sample::select(vec![
            "off",
            "auto",
            "1",
            "15s",
            "1MiB",
            "pass",
            "http://a/",
            "127.0.0.1:9090",
            "/",
            "RAW"
        ])
        .prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!(["x"])),
        Just(json!({ "env": "X" })),
        Just(json!({ "url": "http://a/" })),
    ]
}

proptest! {
    /// Whatever is put in a value's place either loads or is named by its place; what fits the schema is also read.
    #[test]
    fn no_value_is_too_odd_to_be_judged(odd in oddity(), at in any::<prop::sample::Index>(), key in "[a-z]{0,3}") {
        let mut value: Value = serde_json::from_str(JSON).unwrap();
        let mut all = Vec::new();
        pointers(&value, "", &mut all);
        let place = value.pointer_mut(at.get::<String>(&all)).unwrap();
        match place {
            Value::Object(table) if !key.is_empty() => drop(table.insert(key, odd)),
            place => *place = odd,
        }
        match load("a.json", &value.to_string(), &[], Flags::default()) {
            Ok(config) => prop_assert!(!config.routes.is_empty() && !config.agents.is_empty()),
            Err(errors) => for line in errors.lines() {
                prop_assert!(line.starts_with("a.json:"), "{line}");
                prop_assert!(!line.contains("fits the schema"), "{line}");
            },
        }
    }
}
