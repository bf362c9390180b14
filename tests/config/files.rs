//! The files beside the code: the reference, the examples and the schema.

use std::{fs, path::Path};

use serde_json::Value;
use tidegate::config::{Config, Sources, schema};

use crate::certificates::Authority;

use super::{FOLDER, environment, toml, written};

/// `#key = value` without its `#`, for all keys but these.
fn uncommented(text: &str, but: &[&str]) -> String {
    let line = |line: &str| -> String {
        let rest = line.strip_prefix('#').unwrap_or_default();
        let key = rest.starts_with(|c: char| c.is_ascii_lowercase() || c == '"');
        let wanted = key && !but.iter().any(|key| rest.starts_with(&format!("{key} =")));
        format!("{}\n", if wanted { rest } else { line })
    };
    text.lines().map(line).collect()
}

fn reference() -> String {
    fs::read_to_string(Path::new(FOLDER).join("reference.toml")).unwrap()
}

#[test]
fn the_reference_loads_as_it_is_and_with_everything_in_it() {
    toml(&reference());
    let (folder, path) = written("reference.toml", &uncommented(&reference(), &["agent"]));
    let secret = folder.path().join("token");
    fs::write(&secret, "x\n").unwrap();
    let authority = Authority::new("authority");
    fs::write(folder.path().join("ca.pem"), authority.pem()).unwrap();
    let (cert, key) = authority.issue(&["gate"]).write(folder.path(), "client");
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replace("/run/secrets/support-token", secret.to_str().unwrap());
    let text = text.replace("/etc/tidegate/tls/cert.pem", cert.to_str().unwrap());
    let text = text.replace("/etc/tidegate/tls/key.pem", key.to_str().unwrap());
    let text = text.replace("\"http://10.0.0.5", "\"https://10.0.0.5");
    fs::write(&path, text).unwrap();
    let environment = environment(&[("SUPPORT_AGENT_TOKEN", "x")]);
    let sources = Sources { file: Some(path), environment, ..Sources::default() };
    let config = Config::load(&sources).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(config.agents[0].headers.set.len(), 3);
}

#[test]
fn the_reference_says_the_defaults() {
    let same = "[agents.support]\nurl = \"http://10.0.0.5:8000/agui\"\n[[routes]]\nname = \"support\"\n\
                path = \"/support\"\nagent = \"support\"\n";
    assert_eq!(toml(&reference()).show(), toml(same).show());
    // The route repeats what [defaults] says; without it, the same has to come from there.
    let route = reference();
    let (above, _) = route.split_once("# Everything under [defaults] may stand here").unwrap();
    assert_eq!(toml(above).show(), toml(same).show());
}

#[test]
fn no_key_is_missing_from_the_reference() {
    let text = uncommented(&reference(), &[]);
    let document: toml_edit::DocumentMut = text.parse().unwrap();
    let mut missing = Vec::new();
    let mut keys = 0;
    visit(schema(), document.as_item(), "", &mut keys, &mut missing);
    assert_eq!(missing, Vec::<String>::new());
    assert!(keys > 45, "the schema was walked: {keys}");
}

fn visit(schema: &Value, item: &toml_edit::Item, path: &str, keys: &mut usize, missing: &mut Vec<String>) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (key, schema) in properties {
            let path = format!("{path}.{key}");
            *keys += 1;
            match item.get(key) {
                Some(item) => visit(schema, item, &path, keys, missing),
                None => missing.push(path),
            }
        }
    }
    if let Some(schema) = schema.get("additionalProperties").filter(|schema| schema.is_object()) {
        let (_, first) = item.as_table_like().unwrap().iter().next().unwrap_or(("", &toml_edit::Item::None));
        visit(schema, first, &format!("{path}.NAME"), keys, missing);
    }
    if let (Some(schema), Some(first)) = (schema.get("items"), item.get(0)) {
        visit(schema, first, &format!("{path}[]"), keys, missing);
    }
}

#[test]
fn every_file_loads() {
    let mut loaded = 0;
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = Authority::new("authority").issue(&["gate"]).write(folder.path(), "gate");
    for entry in fs::read_dir(FOLDER).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().is_some_and(|name| name == "schema.json") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        // Certificates and secrets that a file names are there where it is used.
        let text = text.replace("/etc/tidegate/tls/cert.pem", cert.to_str().unwrap());
        let text = text.replace("/etc/tidegate/tls/key.pem", key.to_str().unwrap());
        let path = folder.path().join(path.file_name().unwrap());
        fs::write(&path, &text).unwrap();
        let names = text.split("env = \"").skip(1).filter_map(|rest| rest.split('"').next());
        let environment = names.map(|name| (name.to_owned(), "secret".into())).collect();
        let sources = Sources { file: Some(path), environment, ..Sources::default() };
        Config::load(&sources).unwrap_or_else(|errors| panic!("{errors}"));
        loaded += 1;
    }
    assert!(loaded >= 2);
}

#[test]
fn the_bridge_leads_between_old_and_current() {
    let text = fs::read_to_string(Path::new(FOLDER).join("legacy-bridge.toml")).unwrap();
    let config = toml(&text);
    let agent = |name: &str| config.agents.iter().find(|agent| agent.name == name).unwrap();
    let [old_client, current_client] = config.routes.as_slice() else { panic!("{:?}", config.routes) };
    assert!(old_client.client_version.version.is_old() && !agent(&old_client.agent).version.is_old());
    assert!(!current_client.client_version.version.is_old() && agent(&current_client.agent).version.is_old());
}

#[test]
fn the_schema_in_the_repository_is_current() {
    let written = fs::read_to_string(Path::new(FOLDER).join("schema.json")).unwrap();
    let current = format!("{}\n", serde_json::to_string_pretty(schema()).unwrap());
    assert!(written == current, "config/schema.json is old; write what `tidegate schema` prints into it");
}

#[test]
fn the_schema_explains_every_key() {
    fn visit(schema: &Value, path: &str, unexplained: &mut Vec<String>) {
        for (key, schema) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let path = format!("{path}.{key}");
            if schema.get("description").and_then(Value::as_str).is_none_or(str::is_empty) {
                unexplained.push(path.clone());
            }
            visit(schema, &path, unexplained);
        }
        for name in ["additionalProperties", "items"] {
            schema.get(name).into_iter().for_each(|schema| visit(schema, path, unexplained));
        }
        for branch in schema.get("anyOf").and_then(Value::as_array).into_iter().flatten() {
            visit(branch, path, unexplained);
        }
    }
    let mut unexplained = Vec::new();
    visit(schema(), "", &mut unexplained);
    assert_eq!(unexplained, Vec::<String>::new());
}
