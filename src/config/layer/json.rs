//! JSON text comes in, a layer goes out.

use serde_json::{Map, Value};

use super::{Layer, yaml};
use crate::config::problem::{Place, Places, Problem};

/// Reads a whole file: the values as JSON has them, the places as a YAML reader sees them, for every JSON
/// text is YAML but for tabs and surrogate pairs.
pub(super) fn read(text: &str, file: &str) -> Result<Layer, Problem> {
    let value: Map<String, Value> = serde_json::from_str(text).map_err(|error| Problem {
        place: Place::Position(file.to_owned(), error.line().max(1), error.column().max(1)),
        key: String::new(),
        what: format!("not JSON: {}", without_position(&error.to_string())),
    })?;
    // A tab inside a JSON string is always escaped, so that every other one is space.
    match yaml::read(&text.replace('\t', " "), file) {
        Ok(layer) => Ok(Layer { value, places: layer.places }),
        Err(problem) if problem.what.contains("duplicated key") => {
            Err(Problem { what: "the same key twice; keep one of them".into(), ..problem })
        }
        // Escapes that YAML does not have; the keys are still named, only without line and column.
        Err(_) => {
            let mut places = Places::default();
            let whole = Place::File(file.to_owned());
            places.note(crate::config::problem::KeyPath::top(), whole.clone(), whole);
            Ok(Layer { value, places })
        }
    }
}

fn without_position(text: &str) -> &str {
    text.split(" at line ").next().unwrap_or(text)
}
