//! YAML 1.2 text comes in, a layer goes out.

use saphyr::{LoadableYamlNode, MarkedYaml, Marker, Scalar, YamlData};
use serde_json::{Map, Value};

use super::Layer;
use crate::config::problem::{KeyPath, Place, Places, Problem};

/// Reads a whole file.
pub(super) fn read(text: &str, file: &str) -> Result<Layer, Problem> {
    let fail = |place, what| Problem { place, key: String::new(), what };
    let documents = MarkedYaml::load_from_str(text)
        .map_err(|error| fail(place(file, error.marker()), format!("not YAML: {}", error.info())))?;
    let mut reader = Reader { file, places: Places::default() };
    let top = Place::Position(file.to_owned(), 1, 1);
    reader.places.note(KeyPath::top(), top.clone(), top.clone());
    if let Some(second) = documents.get(1) {
        return Err(fail(place(file, &second.span.start), "a second document; a configuration is one".into()));
    }
    let value = match documents.first() {
        None => Value::Null,
        Some(document) => reader.value(document, &KeyPath::top())?,
    };
    match value {
        Value::Object(value) => Ok(Layer { value, places: reader.places }),
        // A file with nothing but comments in it is an empty configuration.
        Value::Null => Ok(Layer { value: Map::new(), places: reader.places }),
        _ => Err(fail(top, "the top of a configuration is a table of keys".into())),
    }
}

fn place(file: &str, marker: &Marker) -> Place {
    Place::Position(file.to_owned(), marker.line().max(1), marker.col() + 1)
}

struct Reader<'a> {
    file: &'a str,
    places: Places,
}

impl Reader<'_> {
    fn value(&mut self, node: &MarkedYaml<'_>, path: &KeyPath) -> Result<Value, Problem> {
        let fail = |what: &str| Problem {
            place: place(self.file, &node.span.start),
            key: path.to_string(),
            what: what.to_owned(),
        };
        Ok(match &node.data {
            YamlData::Value(scalar) => match scalar {
                Scalar::Null => Value::Null,
                Scalar::Boolean(flag) => Value::Bool(*flag),
                Scalar::Integer(number) => Value::from(*number),
                Scalar::FloatingPoint(number) => Value::from(number.into_inner()),
                Scalar::String(text) => Value::String(text.to_string()),
            },
            YamlData::Sequence(nodes) => {
                let mut list = Vec::new();
                for (i, node) in nodes.iter().enumerate() {
                    let path = path.item(i);
                    let at = place(self.file, &node.span.start);
                    self.places.note(path.clone(), at.clone(), at);
                    list.push(self.value(node, &path)?);
                }
                Value::Array(list)
            }
            YamlData::Mapping(nodes) => {
                let mut table = Map::new();
                for (key, node) in nodes {
                    let name = name(key).ok_or_else(|| fail("a key that is no plain word"))?;
                    let path = path.key(&name);
                    let (key, at) = (place(self.file, &key.span.start), place(self.file, &node.span.start));
                    self.places.note(path.clone(), key, at);
                    table.insert(name, self.value(node, &path)?);
                }
                Value::Object(table)
            }
            YamlData::Tagged(..) => return Err(fail("YAML tags mean nothing here; leave the tag out")),
            YamlData::Alias(_) | YamlData::BadValue | YamlData::Representation(..) => {
                return Err(fail("not a value that YAML can read"));
            }
        })
    }
}

/// Keys that look like numbers or words of YAML, as in `1: …`, are still names.
fn name(key: &MarkedYaml<'_>) -> Option<String> {
    match &key.data {
        YamlData::Value(Scalar::String(text)) => Some(text.to_string()),
        YamlData::Value(Scalar::Integer(number)) => Some(number.to_string()),
        YamlData::Value(Scalar::Boolean(flag)) => Some(flag.to_string()),
        _ => None,
    }
}
