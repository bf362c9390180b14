//! One source of a configuration: text or variables come in, a plain tree with the place of each key goes out.
//! What the keys mean is not known here.

mod json;
mod toml;
mod variables;
mod yaml;

use std::path::Path;

use figment::{
    Metadata, Profile, Provider,
    providers::Serialized,
    value::{Dict, Map},
};
use serde_json::Value;

use super::problem::{KeyPath, Place, Places, Problem};

pub(super) use variables::variables;

/// What one source says: a table, and where each of its keys was written.
#[derive(Debug, Clone)]
pub(super) struct Layer {
    /// The table.
    pub(super) value: serde_json::Map<String, Value>,
    /// Where it was written.
    pub(super) places: Places,
}

impl Layer {
    /// Nothing.
    pub(super) fn empty() -> Self {
        Self { value: serde_json::Map::new(), places: Places::default() }
    }

    /// Reads a file's text: YAML or JSON by the name's extension, else TOML.
    pub(super) fn file(text: &str, name: &str) -> Result<Self, Problem> {
        // A byte order mark is how some editors begin a file; it says nothing.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let extension = Path::new(name).extension().and_then(|e| e.to_str()).unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "yaml" | "yml" => yaml::read(text, name),
            "json" => json::read(text, name),
            _ => toml::read(text, name),
        }
    }

    /// A layer that sets a few keys of the top level, each from a flag.
    pub(super) fn flags(set: impl IntoIterator<Item = (KeyPath, &'static str, Value)>) -> Self {
        let mut layer = Self::empty();
        for (path, flag, value) in set {
            let place = Place::Flag(flag.to_owned());
            layer.places.note(path.clone(), place.clone(), place);
            insert(&mut layer.value, &path.keys(), value);
        }
        layer
    }

    /// The values in this layer that are no tables: merged over another layer, each replaces all below it.
    pub(super) fn leaves(&self) -> Vec<KeyPath> {
        let mut leaves = Vec::new();
        let mut open: Vec<(KeyPath, &serde_json::Map<String, Value>)> = vec![(KeyPath::top(), &self.value)];
        while let Some((path, table)) = open.pop() {
            for (key, value) in table {
                match value {
                    Value::Object(inner) => open.push((path.key(key), inner)),
                    _ => leaves.push(path.key(key)),
                }
            }
        }
        leaves
    }
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        Metadata::named("configuration")
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Serialized::defaults(&self.value).data()
    }
}

/// Puts a value at the end of these keys, making the tables on the way.
fn insert(table: &mut serde_json::Map<String, Value>, keys: &[&str], value: Value) {
    let Some((key, rest)) = keys.split_first() else { return };
    if rest.is_empty() {
        table.insert((*key).to_owned(), value);
        return;
    }
    let inner = table.entry(*key).or_insert_with(|| Value::Object(serde_json::Map::new()));
    if !inner.is_object() {
        *inner = Value::Object(serde_json::Map::new());
    }
    if let Value::Object(inner) = inner {
        insert(inner, rest, value);
    }
}

/// Lines and columns of a text by byte offset.
struct Lines<'a> {
    text: &'a str,
    file: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str, file: &'a str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, file, starts: std::iter::once(0).chain(ends).collect() }
    }

    /// The place of this byte.
    fn place(&self, offset: usize) -> Place {
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or_default();
        let column = self.text.get(start..offset).map_or(0, |before| before.chars().count()) + 1;
        Place::Position(self.file.to_owned(), line, column)
    }
}
