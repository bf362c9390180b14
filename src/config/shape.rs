//! A merged configuration and its schema come in; unknown keys and ill-typed values are found and taken out, so
//! that the rest can still be judged. What may go together is not known here.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    problem::{Found, KeyPath, Place},
    schema::schema,
    text::{Format, format, nearest},
};

/// What was taken out of a configuration because it does not fit the schema.
#[derive(Debug, Default)]
pub(super) struct Removed(BTreeSet<KeyPath>);

impl Removed {
    /// Whether this was written, but wrongly: it is no default, and nothing follows from it.
    pub(super) fn contains(&self, path: &KeyPath) -> bool {
        self.0.contains(path)
    }
}

/// Finds everything that does not fit the schema, and takes it out.
pub(super) fn check(configuration: &mut Map<String, Value>, found: &mut Found<'_>) -> Removed {
    let mut walk = Walk { found, removed: Removed::default() };
    walk.table(configuration, schema(), &KeyPath::top());
    walk.removed
}

struct Walk<'a, 'b> {
    found: &'a mut Found<'b>,
    removed: Removed,
}

impl Walk<'_, '_> {
    /// Whether the value may stay.
    fn value(&mut self, value: &mut Value, schema: &Value, path: &KeyPath) -> bool {
        if let Some(Value::Array(branches)) = schema.get("anyOf") {
            let fits = |branch: &&Value| expected_type(branch) == type_of(value);
            // A number where a string could be is most likely one without quotes or unit.
            let quoted = |branch: &&Value| value.is_number() && expected_type(branch) == "string";
            return match branches.iter().find(fits).or_else(|| branches.iter().find(quoted)) {
                Some(branch) => self.value(value, branch, path),
                None => self.mismatch(value, schema, path),
            };
        }
        if let Some(Value::Array(allowed)) = schema.get("enum") {
            return self.one_of(value, allowed, path);
        }
        let spelling = schema.get("format").and_then(Value::as_str).and_then(format);
        match (expected_type(schema), &mut *value) {
            ("string", Value::String(text)) => match spelling.map(|spelling| (spelling.check)(text)) {
                Some(Err(what)) => self.remove(path, what),
                _ => true,
            },
            ("string", Value::Number(number)) => match spelling.map(|spelling| (spelling.check)(&number.to_string())) {
                Some(Err(what)) => self.remove(path, what),
                _ => self.mismatch(value, schema, path),
            },
            ("integer", Value::Number(_)) => self.within(value, schema, path),
            // A variable has no types: its text is read as what the key wants.
            ("integer", Value::String(text)) if self.is_variable(path) => match text.trim().parse::<i64>() {
                Ok(number) => {
                    *value = Value::from(number);
                    self.within(value, schema, path)
                }
                Err(_) => self.remove(path, format!("`{text}` is not a whole number")),
            },
            ("boolean", Value::Bool(_)) => true,
            ("boolean", Value::String(text)) if self.is_variable(path) => match text.trim().parse::<bool>() {
                Ok(word) => {
                    *value = Value::from(word);
                    true
                }
                Err(_) => self.remove(path, format!("`{text}` is not true or false")),
            },
            ("object", Value::Object(table)) => {
                self.table(table, schema, path);
                self.count(table, schema, path)
            }
            ("array", Value::Array(list)) => self.list(list, schema, path),
            _ => self.mismatch(value, schema, path),
        }
    }

    fn table(&mut self, table: &mut Map<String, Value>, schema: &Value, path: &KeyPath) {
        let none = Map::new();
        let known = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let free = schema.get("additionalProperties").filter(|schema| schema.is_object());
        let spelling = schema.pointer("/propertyNames/format").and_then(Value::as_str).and_then(format);
        for required in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
            let Some(key) = required.as_str().filter(|key| !table.contains_key(*key)) else { continue };
            self.found.key(&path.key(key), format!("is missing{}", example(known.get(key))));
            self.removed.0.insert(path.key(key));
        }
        table.retain(|key, value| {
            let path = path.key(key);
            let name = spelling.as_ref().map(|spelling| (spelling.check)(key));
            if let Some(Err(what)) = name {
                self.found.key(&path, what);
                self.removed.0.insert(path);
                return false;
            }
            match known.get(key).or(free) {
                Some(schema) => self.value(value, schema, &path),
                None => {
                    self.found.key(&path, unknown(key, known));
                    self.removed.0.insert(path);
                    false
                }
            }
        });
    }

    /// A list with a wrong entry goes as a whole, so that the other entries keep their places.
    fn list(&mut self, list: &mut [Value], schema: &Value, path: &KeyPath) -> bool {
        if list.is_empty() && schema.get("minItems").is_some() {
            return self.remove(path, "an empty list; write at least one entry, or leave the key out".into());
        }
        let items = schema.get("items").unwrap_or(&Value::Null);
        let mut fits = true;
        for (i, value) in list.iter_mut().enumerate() {
            fits &= self.value(value, items, &path.item(i));
        }
        if !fits {
            self.removed.0.insert(path.clone());
        }
        fits
    }

    /// Tables of which exactly one key is written.
    fn count(&mut self, table: &Map<String, Value>, schema: &Value, path: &KeyPath) -> bool {
        let one = schema.get("maxProperties").and_then(Value::as_u64) == Some(1);
        let known = schema.get("properties").and_then(Value::as_object);
        let (true, Some(known)) = (one && table.len() != 1, known) else { return true };
        // A key that was taken out has been spoken of already.
        if table.is_empty() && self.removed.0.iter().any(|removed| removed.is_below(path)) {
            return false;
        }
        let names: Vec<String> = known.keys().map(|name| format!("`{name}`")).collect();
        self.remove(path, format!("write exactly one of {}", names.join(" and ")))
    }

    fn one_of(&mut self, value: &Value, allowed: &[Value], path: &KeyPath) -> bool {
        if allowed.contains(value) {
            return true;
        }
        let all: Vec<String> = allowed.iter().map(Value::to_string).collect();
        let all = all.join(", ");
        let Value::String(text) = value else {
            let found = if value.is_number() { value.to_string() } else { kind(value).to_owned() };
            return self.remove(path, format!("expected one of {all}, found {found}"));
        };
        let near = nearest(text, allowed.iter().filter_map(Value::as_str));
        self.remove(path, format!("`{text}` is not one of {all}{}", did_you_mean(near)))
    }

    fn within(&mut self, value: &Value, schema: &Value, path: &KeyPath) -> bool {
        let bound = |name| schema.get(name).and_then(Value::as_i64);
        let (low, high) = (bound("minimum").unwrap_or(i64::MIN), bound("maximum").unwrap_or(i64::MAX));
        match value.as_i64() {
            Some(number) if (low..=high).contains(&number) => true,
            _ => self.remove(path, format!("`{value}` is not a whole number from {low} to {high}")),
        }
    }

    fn mismatch(&mut self, value: &Value, schema: &Value, path: &KeyPath) -> bool {
        self.remove(path, format!("expected {}, found {}", expected(schema), kind(value)))
    }

    fn remove(&mut self, path: &KeyPath, what: String) -> bool {
        self.found.value(path, what);
        self.removed.0.insert(path.clone());
        false
    }

    fn is_variable(&self, path: &KeyPath) -> bool {
        matches!(self.found.places().value(path), Place::Variable(_))
    }
}

fn expected_type(schema: &Value) -> &str {
    schema.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// What a value is, without the value: it may be secret.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null; leave the key out to get its default",
        Value::Bool(true) => "the word true",
        Value::Bool(false) => "the word false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}

fn expected(schema: &Value) -> String {
    if let Some(Value::Array(branches)) = schema.get("anyOf") {
        let all: Vec<String> = branches.iter().map(expected).collect();
        return all.join(" or ");
    }
    let spelling = schema.get("format").and_then(Value::as_str).and_then(format);
    match (expected_type(schema), spelling) {
        (_, Some(Format { what, example, .. })) => format!("{what}, as in \"{example}\""),
        ("string", None) => "a string".into(),
        ("integer", None) => "a whole number".into(),
        ("boolean", None) => "true or false".into(),
        ("array", None) => "a list".into(),
        _ => {
            let keys = schema.get("properties").and_then(Value::as_object);
            let keys: Vec<String> = keys.into_iter().flatten().map(|(key, _)| format!("`{key}`")).collect();
            if keys.is_empty() { "a table".into() } else { format!("a table of {}", keys.join(", ")) }
        }
    }
}

fn example(schema: Option<&Value>) -> String {
    let first = schema.and_then(|schema| schema.pointer("/anyOf/0")).or(schema);
    let spelling = first.and_then(|schema| schema.get("format")).and_then(Value::as_str).and_then(format);
    spelling.map_or_else(String::new, |spelling| format!("; write {} as in \"{}\"", spelling.what, spelling.example))
}

fn did_you_mean(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

fn unknown(key: &str, known: &Map<String, Value>) -> String {
    let near = nearest(key, known.keys().map(String::as_str));
    let mut tables = Vec::new();
    tables_with(key, schema(), "", &mut tables);
    let elsewhere = match tables.as_slice() {
        [] => String::new(),
        [only] => format!("; `{key}` is a key of {only}"),
        [most @ .., last] => format!("; `{key}` is a key of {} and {last}", most.join(", ")),
    };
    let all: Vec<String> = known.keys().filter(|key| !key.starts_with('$')).map(|key| format!("`{key}`")).collect();
    match (near, elsewhere.is_empty()) {
        (None, true) => format!("unknown key; known here: {}", all.join(", ")),
        _ => format!("unknown key{}{elsewhere}", did_you_mean(near)),
    }
}

/// Every table of the schema that knows this key, as people would write the table's path.
fn tables_with(key: &str, schema: &Value, path: &str, tables: &mut Vec<String>) {
    if let Some(Value::Array(branches)) = schema.get("anyOf") {
        branches.iter().for_each(|branch| tables_with(key, branch, path, tables));
    }
    if let Some(items) = schema.get("items") {
        tables_with(key, items, &format!("{path}[]"), tables);
    }
    if let Some(value) = schema.get("additionalProperties") {
        tables_with(key, value, &format!("{path}.NAME"), tables);
    }
    let Some(Value::Object(properties)) = schema.get("properties") else { return };
    if properties.contains_key(key) {
        tables.push(match path {
            "" => "the top level (in TOML: above the first [table])".into(),
            path => format!("`{path}`"),
        });
    }
    for (name, schema) in properties {
        let dot = if path.is_empty() { "" } else { "." };
        tables_with(key, schema, &format!("{path}{dot}{name}"), tables);
    }
}
