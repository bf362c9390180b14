//! The written types come in, their JSON Schema goes out: for editors, and for the check of a file's shape.

use std::sync::OnceLock;

use schemars::{Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::Value;

use super::written::Written;

/// The JSON Schema (draft 7) of a configuration, with descriptions and defaults, for editors.
pub fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
        let settings = settings.with_transform(RecursiveTransform(tidy));
        settings.into_generator().into_root_schema_for::<Written>().to_value()
    })
}

/// A key that is left out has no value; none is ever written as null. Tables are closed also where two were
/// joined into one.
fn tidy(schema: &mut Schema) {
    let Some(schema) = schema.as_object_mut() else { return };
    if let Some(closed) = schema.remove("unevaluatedProperties") {
        schema.insert("additionalProperties".into(), closed);
    }
    schema.remove("writeOnly");
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            schema.insert("type".into(), one);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let null = |branch: &Value| branch.get("type").is_some_and(|name| name == "null");
    if let Some(Value::Array(branches)) = schema.get_mut("anyOf") {
        branches.retain(|branch| !null(branch));
        if let [Value::Object(one)] = branches.as_slice() {
            let one = one.clone();
            schema.remove("anyOf");
            for (key, value) in one {
                schema.entry(key).or_insert(value);
            }
        }
    }
}
