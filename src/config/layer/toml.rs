//! TOML text comes in, a layer goes out.

use std::ops::Range;

use serde_json::{Map, Value as Json};
use toml_edit::{Document, InlineTable, Item, Key, Table, Value};

use super::{Layer, Lines};
use crate::config::problem::{KeyPath, Place, Places, Problem};

/// Reads a whole file.
pub(super) fn read(text: &str, file: &str) -> Result<Layer, Problem> {
    let lines = Lines::new(text, file);
    let document = Document::parse(text).map_err(|error| Problem {
        place: error.span().map_or_else(|| Place::File(file.to_owned()), |span| lines.place(span.start)),
        key: String::new(),
        what: format!("not TOML: {}", error.message().replace('\n', ", ")),
    })?;
    let mut reader = Reader { lines, places: Places::default() };
    let top = Place::Position(file.to_owned(), 1, 1);
    reader.places.note(KeyPath::top(), top.clone(), top);
    let value = reader.table(document.as_table(), &KeyPath::top());
    Ok(Layer { value, places: reader.places })
}

/// One value as TOML spells it, for lists and tables in a variable.
pub(super) fn value(text: &str) -> Option<Json> {
    let value: Value = text.parse().ok()?;
    let mut reader = Reader { lines: Lines::new("", ""), places: Places::default() };
    Some(reader.value(&value, &KeyPath::top()))
}

struct Reader<'a> {
    lines: Lines<'a>,
    places: Places,
}

impl Reader<'_> {
    fn table(&mut self, table: &Table, path: &KeyPath) -> Map<String, Json> {
        let mut read = Map::new();
        for (name, item) in table.iter() {
            let path = path.key(name);
            self.note(&path, table.key(name), item.span());
            read.insert(name.to_owned(), self.item(item, &path));
        }
        read
    }

    fn inline(&mut self, table: &InlineTable, path: &KeyPath) -> Map<String, Json> {
        let mut read = Map::new();
        for (name, value) in table.iter() {
            let path = path.key(name);
            self.note(&path, table.key(name), value.span());
            read.insert(name.to_owned(), self.value(value, &path));
        }
        read
    }

    fn item(&mut self, item: &Item, path: &KeyPath) -> Json {
        match item {
            Item::None => Json::Null,
            Item::Value(value) => self.value(value, path),
            Item::Table(table) => Json::Object(self.table(table, path)),
            Item::ArrayOfTables(tables) => {
                let mut list = Vec::new();
                for (i, table) in tables.iter().enumerate() {
                    let path = path.item(i);
                    self.note(&path, None, table.span());
                    list.push(Json::Object(self.table(table, &path)));
                }
                Json::Array(list)
            }
        }
    }

    fn value(&mut self, value: &Value, path: &KeyPath) -> Json {
        match value {
            Value::String(text) => Json::String(text.value().clone()),
            Value::Integer(number) => Json::from(*number.value()),
            Value::Float(number) => Json::from(*number.value()),
            Value::Boolean(flag) => Json::Bool(*flag.value()),
            Value::Datetime(date) => Json::String(date.value().to_string()),
            Value::InlineTable(table) => Json::Object(self.inline(table, path)),
            Value::Array(array) => {
                let mut list = Vec::new();
                for (i, value) in array.iter().enumerate() {
                    let path = path.item(i);
                    self.note(&path, None, value.span());
                    list.push(self.value(value, &path));
                }
                Json::Array(list)
            }
        }
    }

    /// A table that only exists through the keys below it has no text of its own: its key stands for it.
    fn note(&mut self, path: &KeyPath, key: Option<&Key>, value: Option<Range<usize>>) {
        let key = key.and_then(Key::span).or_else(|| value.clone());
        let value = value.or_else(|| key.clone());
        if let (Some(key), Some(value)) = (key, value) {
            self.places.note(path.clone(), self.lines.place(key.start), self.lines.place(value.start));
        }
    }
}
