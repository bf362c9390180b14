//! `TIDEGATE_…` variables come in, a layer goes out; `__` stands between levels.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
};

use serde_json::{Map, Value};

use super::{Layer, insert, toml};
use crate::config::problem::{KeyPath, Place, Problem};

const PREFIX: &str = "TIDEGATE_";

/// Reads the variables. A name that the layers below (`lower`) already use is matched whatever its case, and
/// with `_` for `-`, since neither can be told apart in the name of a variable.
pub(in crate::config) fn variables(
    environment: &BTreeMap<String, OsString>,
    lower: &Map<String, Value>,
) -> (Layer, Vec<Problem>) {
    let mut layer = Layer::empty();
    let mut problems = Vec::new();
    for (variable, value) in environment {
        let Some(name) = variable.strip_prefix(PREFIX) else { continue };
        if is_from_kubernetes(name, value) {
            continue;
        }
        let place = Place::Variable(variable.clone());
        let mut fail = |what: &str| {
            problems.push(Problem { place: place.clone(), key: String::new(), what: what.to_owned() });
        };
        let Some(text) = value.to_str() else {
            fail("not UTF-8");
            continue;
        };
        let segments: Vec<&str> = name.split("__").collect();
        if segments.iter().any(|segment| segment.is_empty()) {
            fail("names no key; write `__` between levels, as in TIDEGATE_ADMIN__LISTEN");
            continue;
        }
        if segments.iter().any(|segment| segment.bytes().all(|byte| byte.is_ascii_digit())) {
            fail(
                "an entry of a list cannot be set alone; set the whole list, \
                 as in TIDEGATE_ROUTES='[{ path = \"/\", keepalive = \"5s\" }]'",
            );
            continue;
        }
        let keys = resolve(&segments, lower);
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let path = keys.iter().fold(KeyPath::top(), |path, key| path.key(key));
        layer.places.note(path, place.clone(), place);
        insert(&mut layer.value, &keys, read(text));
    }
    (layer, problems)
}

/// A list or table is spelled as in TOML; everything else is text, which the key's type then reads.
fn read(text: &str) -> Value {
    let list_or_table = text.starts_with('[') || text.starts_with('{');
    list_or_table.then(|| toml::value(text)).flatten().unwrap_or_else(|| Value::String(text.to_owned()))
}

fn resolve(segments: &[&str], lower: &Map<String, Value>) -> Vec<String> {
    let mut table = Some(lower);
    let mut keys = Vec::new();
    for segment in segments {
        let known = table.and_then(|table| table.keys().find(|key| plain(key) == plain(segment)));
        let key = known.cloned().unwrap_or_else(|| segment.to_ascii_lowercase());
        table = table.and_then(|table| table.get(&key)).and_then(Value::as_object);
        keys.push(key);
    }
    keys
}

fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

/// Kubernetes gives every container variables about the services beside it; those of a service named
/// `tidegate` or `tidegate-…` carry our prefix and are none of ours.
fn is_from_kubernetes(name: &str, value: &OsStr) -> bool {
    if name.contains("__") {
        return false;
    }
    let words: Vec<&str> = name.split('_').collect();
    let address = |words: &[&str]| matches!(words, [port, "TCP" | "UDP" | "SCTP", ..] if port.bytes().all(|b| b.is_ascii_digit()));
    words.iter().enumerate().any(|(i, word)| match (*word, words.get(i + 1..).unwrap_or_default()) {
        ("SERVICE", ["HOST"] | ["PORT", ..]) => true,
        ("PORT", []) => value.to_str().is_some_and(|text| text.contains("://")),
        ("PORT", rest) => address(rest),
        _ => false,
    })
}
