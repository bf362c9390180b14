//! Secrets arrive, and show nowhere.

use std::fs;

use tidegate::config::{Config, Flags, Sources};

use super::{AGENT, environment, load, toml, written};

#[test]
fn a_secret_that_cannot_be_read_is_named_by_key_and_source() {
    let text = "[agents.a]\nurl = \"http://a/\"\n[agents.a.headers.set]\nx-f = { env = \"MISSING\" }\n\
                x-g = { env = \"EMPTY\" }\nx-h = { file = \"nope\" }\nx-i = { file = \"two\" }\n\
                x-j = { env = \"A\", file = \"B\" }\nx-k = {}\nx-l = { evn = \"A\" }\nx-m = 5\n";
    let (folder, path) = written("a.toml", text);
    fs::write(folder.path().join("two"), "hunter2\nhunter3\n").unwrap();
    let sources = Sources { file: Some(path), environment: environment(&[("EMPTY", "")]), ..Sources::default() };
    let errors = Config::load(&sources).unwrap_err().to_string();
    let errors = errors.replace(&format!("{}/", folder.path().display()), "");
    let expected = [
        "a.toml:4:7: agents.a.headers.set.x-f: the environment variable `MISSING` is not set; set it, or name another",
        "a.toml:5:7: agents.a.headers.set.x-g: the environment variable `EMPTY` is empty; set it, or name another",
        "a.toml:6:7: agents.a.headers.set.x-h: the file `nope` cannot be read: No such file or directory (os error 2)",
        "a.toml:7:7: agents.a.headers.set.x-i: the secret is not a header value; it must be one line without control \
         characters",
        "a.toml:8:7: agents.a.headers.set.x-j: write exactly one of `env` and `file`",
        "a.toml:9:7: agents.a.headers.set.x-k: write exactly one of `env` and `file`",
        "a.toml:10:9: agents.a.headers.set.x-l.evn: unknown key; did you mean `env`?",
        "a.toml:11:7: agents.a.headers.set.x-m: expected a string, as in \"acme\", found a number",
    ];
    assert_eq!(errors.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn secrets_arrive_whole_and_show_nowhere() {
    let text = "[agents.a]\nurl = \"http://a/?key=hunter2\"\n[agents.a.headers.set]\n\
                x-a = { env = \"HUNTER\" }\nx-b = { file = \"secret\" }\nauthorization = \"Bearer hunter2\"\nx-d = \"plain\"\n";
    let (folder, path) = written("a.toml", text);
    fs::write(folder.path().join("secret"), " hunter2 $HOME\r\n").unwrap();
    let variables = [
        ("HUNTER", "hunter2"),
        ("TIDEGATE_AGENTS__A__HEADERS__SET__XC", "hunter2"),
        ("TIDEGATE_AGENTS__A__HEADERS__SET__XE", "{ env = \"HUNTER\" }"),
    ];
    let sources = Sources { file: Some(path), environment: environment(&variables), ..Sources::default() };
    let config = Config::load(&sources).unwrap_or_else(|errors| panic!("{errors}"));
    let set = &config.agents[0].headers.set;
    let value = |name: &str| &set.iter().find(|(known, _)| known == name).unwrap().1;
    assert_eq!(value("x-a"), "hunter2");
    assert_eq!(value("x-b"), " hunter2 $HOME");
    assert_eq!(value("xe"), "hunter2");
    assert!(["x-a", "x-b", "xc", "xe", "authorization"].iter().all(|name| value(name).is_sensitive()));
    assert!(!value("x-d").is_sensitive());
    let shown = config.show();
    assert_eq!(
        shown.pointer("/agents/a/headers/set").unwrap(),
        &serde_json::json!({
            "authorization": "[not shown]",
            "x-a": "[secret: env HUNTER]",
            "x-b": "[secret: file secret]",
            "x-d": "plain",
            "xc": "[secret: env TIDEGATE_AGENTS__A__HEADERS__SET__XC]",
            "xe": "[secret: env HUNTER]",
        })
    );
    assert_eq!(shown.pointer("/agents/a/url").unwrap(), "http://a/?[not shown]");
    assert!(!shown.to_string().contains("hunter2"));
    assert!(!format!("{:?}{:?}", config.agents[0].headers, config.shown).contains("hunter2"));
}

#[test]
fn the_hash_follows_the_configuration_and_no_secret() {
    let text = |keepalive: &str| format!("{AGENT}[defaults]\nkeepalive = \"{keepalive}\"\n");
    let hash = |text: &str| toml(text).hash();
    assert_eq!(hash(&text("15s")), hash(AGENT), "a default is the same written or not");
    assert_eq!(hash(&text("60s")), hash(&text("1m")), "so is another spelling");
    assert_ne!(hash(&text("14s")), hash(AGENT));
    assert_ne!(hash(AGENT), hash(&format!("threads = 1\n{AGENT}")));
    assert!(hash(AGENT).len() == 16 && hash(AGENT).bytes().all(|byte| byte.is_ascii_hexdigit()));
    let secret = "[agents.a]\nurl = \"http://a/\"\nheaders.set.x-a = { env = \"A\" }\n";
    let with = |value| load("a.toml", secret, &[("A", value)], Flags::default()).unwrap().hash();
    assert_eq!(with("one"), with("two"));
}
