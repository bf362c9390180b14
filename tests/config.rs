//! What people who write a configuration see: what loads, as what, and each error's exact text.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "config/access.rs"]
mod access;
#[path = "certificates/mod.rs"]
mod certificates;
#[path = "config/endpoints.rs"]
mod endpoints;
#[path = "config/errors.rs"]
mod errors;
#[path = "config/files.rs"]
mod files;
#[path = "config/loads.rs"]
mod loads;
#[path = "config/policy.rs"]
mod policy;
#[path = "config/secrets.rs"]
mod secrets;
#[path = "config/tls.rs"]
mod tls;

use std::{collections::BTreeMap, ffi::OsString, fs, path::PathBuf};

use tidegate::config::{Config, Flags, Sources};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/config");
const AGENT: &str = "agent = \"http://127.0.0.1:8000/agui\"\n";

fn environment(variables: &[(&str, &str)]) -> BTreeMap<String, OsString> {
    variables.iter().map(|(name, value)| ((*name).to_owned(), OsString::from(value))).collect()
}

/// A file of this name in a folder that lasts as long as the test.
fn written(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    (folder, path)
}

fn load(name: &str, text: &str, variables: &[(&str, &str)], flags: Flags) -> Result<Config, String> {
    let (folder, path) = written(name, text);
    let sources = Sources { file: Some(path), environment: environment(variables), flags };
    let folder = format!("{}/", folder.path().display());
    Config::load(&sources).map_err(|errors| errors.to_string().replace(&folder, ""))
}

fn toml(text: &str) -> Config {
    Config::from_toml(text).unwrap_or_else(|errors| panic!("{errors}"))
}

#[track_caller]
fn fails(name: &str, text: &str, expected: &[&str]) {
    let errors = load(name, text, &[], Flags::default()).expect_err("loads");
    assert_eq!(errors.lines().collect::<Vec<_>>(), expected);
}

/// Every key with a value that is not its default.
const FULL: &str = r#"
listen = ["0.0.0.0:8080", "[::]:8080"]
threads = 3
trusted_proxies = ["10.0.0.0/8", "192.168.1.1"]

[admin]
listen = "off"

[drain]
deadline = "0s"

[log]
format = "pretty"
level = "info,hyper=warn"

[agents.support]
url = ["http://10.0.0.5:8000/agui", "http://10.0.0.6:8000/agui"]
version = "0.1.9"
resume = "forwarded_props"
http = 2
timeouts = { connect = "1s", first_event = "off", idle = "2m", progress = "30s", run = "off" }
headers = { set = { "X-Tenant" = "$ACME" }, remove = ["cookie"] }

[agents.sales]
url = "http://10.0.0.7/agui"
http = "1"

[defaults]
keepalive = "5s"
client_version = { header = "X-AGUI-Version", default = "0.0.47" }
downgrade = { announce = true }
state = { compact = true }
limits = { body = "1MB", state = "1MiB" }
select = { drop = ["RAW"] }

[[routes]]
name = "support"
path = "/support/"
host = "Chat.example.com"
headers = { "x-tenant" = "acme" }
agent = "support"
keepalive = "off"
limits = { frame = "64KiB" }
select = { strip = ["rawEvent"] }
escape = "line_separators"
upgrade = true
expand = true
guard = "repair"
downgrade = { unrepresentable = "custom" }
state = { on_mismatch = "resync" }
on_error = { truncated = "pass", status = "run_error" }

[[routes]]
path = "/sales"
agent = "sales"
client_version = "1.0.0"
select = { drop = [] }
"#;

/// The same in JSON, with tabs and escapes.
const JSON: &str = r#"{
	"$schema": "schema.json",
	"listen": ["0.0.0.0:8080", "[::]:8080"], "threads": 3, "trusted_proxies": ["10.0.0.0/8", "192.168.1.1"],
	"admin": {"listen": "off"}, "drain": {"deadline": "0s"}, "log": {"format": "pretty", "level": "info,hyper=warn"},
	"agents": {
		"support": {
			"url": ["http:\/\/10.0.0.5:8000\/agui", "http://10.0.0.6:8000/agui"], "http": 2,
			"version": "0.1.9", "resume": "forwarded_props",
			"timeouts": {"connect": "1s", "first_event": "off", "idle": "2m", "progress": "30s", "run": "off"},
			"headers": {"set": {"X-Tenant": "$ACME"}, "remove": ["cookie"]}
		},
		"sales": {"url": "http://10.0.0.7/agui", "http": "1"}
	},
	"defaults": {
		"keepalive": "5s", "limits": {"body": "1MB", "state": "1MiB"}, "state": {"compact": true},
		"select": {"drop": ["RAW"]}, "downgrade": {"announce": true},
		"client_version": {"header": "X-AGUI-Version", "default": "0.0.47"}
	},
	"routes": [
		{
			"name": "support", "path": "/support/", "host": "Chat.example.com", "headers": {"x-tenant": "acme"},
			"agent": "support", "keepalive": "off", "limits": {"frame": "64KiB"}, "select": {"strip": ["rawEvent"]},
			"escape": "line_separators", "upgrade": true, "expand": true, "guard": "repair",
			"downgrade": {"unrepresentable": "custom"}, "state": {"on_mismatch": "resync"},
			"on_error": {"truncated": "pass", "status": "run_error"}
		},
		{"path": "/sales", "agent": "sales", "client_version": "1.0.0", "select": {"drop": []}}
	]
}"#;
