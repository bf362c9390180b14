//! The table beside the facts that it was written from, where they are at hand.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::schema::{self, EVENTS, Field, Kind, Message, PARTS, SOURCES};
use super::super::{from_json, to_json};
use crate::agui::Version;

/// A file of the optional folder beside the clone, or of where `TIDEGATE_SHARED` says.
fn shared(file: &str) -> Option<String> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let path = std::env::var_os("TIDEGATE_SHARED").map_or_else(beside, PathBuf::from).join(file);
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        eprintln!("skipped: no {}", path.display());
    }
    text
}

/// The names of the messages in the table, by the names of the wire.
fn messages() -> BTreeMap<String, &'static Message> {
    let mut messages = BTreeMap::new();
    for arm in &EVENTS {
        let words = arm.kind.as_str().split('_');
        let words = words.map(|word| format!("{}{}", &word[..1], word[1..].to_lowercase()));
        messages.insert(words.collect::<String>() + "Event", arm.message);
    }
    messages.insert("BaseEvent".into(), &schema::BASE_EVENT);
    for arm in &PARTS {
        let name = format!("{}{}InputPart", arm.name[..1].to_uppercase(), &arm.name[1..]);
        messages.insert(name, arm.message);
    }
    for arm in &SOURCES {
        let name = format!("InputContent{}{}Source", arm.name[..1].to_uppercase(), &arm.name[1..]);
        messages.insert(name, arm.message);
    }
    messages
}

/// The type, the label and the inner message of a field.
fn described(field: &Field) -> (&'static str, &'static str, Option<&'static Message>) {
    match &field.kind {
        Kind::Text if field.required => ("string", "implicit", None),
        Kind::Text | Kind::Content(_) => ("string", "optional", None),
        Kind::Outcome(_) => ("string", "implicit", None),
        Kind::Texts => ("string", "repeated", None),
        Kind::Integer => ("int64", "optional", None),
        Kind::Flag => ("bool", "optional", None),
        Kind::Operation => ("JsonPatchOperationType", "implicit", None),
        Kind::Any | Kind::Nullable => ("google.protobuf.Value", "message", None),
        Kind::Object => ("google.protobuf.Struct", "message", None),
        Kind::Source => ("InputContentSource", "message", None),
        Kind::Parts => ("InputContent", "repeated", None),
        Kind::Message(message) => ("", "message", Some(message)),
        Kind::List(message) => ("", "repeated", Some(message)),
    }
}

#[test]
fn the_table_is_the_wire_of_1_0_and_what_1_1_added() {
    let Some(wire) = shared("agui/wire-1.0.json") else { return };
    let wire: Value = serde_json::from_str(&wire).unwrap();
    let mut ours = messages();
    let (mut fields, mut seen) = (0, 0);
    // Names of inner messages are learnt from the fields that hold them.
    while seen < ours.len() {
        seen = ours.len();
        for (name, message) in ours.clone() {
            let theirs = wire["messages"][&name]["fields"].as_array().unwrap_or_else(|| panic!("no {name}"));
            for field in message.fields {
                let Some(found) = theirs.iter().find(|f| f["number"] == field.number) else { continue };
                if let (_, _, Some(inner)) = described(field) {
                    ours.insert(found["type"].as_str().unwrap().replace("ToolCall.", "ToolCall_"), inner);
                }
            }
        }
    }
    for (name, message) in &ours {
        let theirs = wire["messages"][name]["fields"].as_array().unwrap();
        let mut known = 0;
        for field in message.fields {
            let Some(found) = theirs.iter().find(|f| f["number"] == field.number) else {
                assert_eq!(field.since, Version::CURRENT, "{name}.{}", field.number);
                continue;
            };
            let (kind, label, inner) = described(field);
            if inner.is_none() {
                assert_eq!(found["type"], kind, "{name}.{}", field.number);
            }
            assert_eq!(found["label"], label, "{name}.{}", field.number);
            if let Some(member) = field.name {
                assert_eq!(found["json"], member, "{name}.{}", field.number);
            }
            let since = Version::released(found["since"].as_str().unwrap()).unwrap();
            assert!(field.since <= since, "{name}.{}", field.number);
            known += 1;
        }
        let has_base = theirs.iter().any(|f| f["type"] == "BaseEvent" || f["type"] == "EventType");
        assert_eq!(known + usize::from(has_base), theirs.len(), "{name}");
        assert!(message.fields.is_sorted_by_key(|field| field.number), "{name}");
        fields += known;
    }
    for (arm, number) in EVENTS.iter().zip(1..) {
        let name = arm.kind.as_str();
        assert_eq!(wire["enums"]["EventType"][name]["number"], arm.number, "{name}");
        let theirs = wire["messages"]["Event"]["fields"].as_array().unwrap();
        let found = theirs.iter().find(|f| f["name"] == name.to_lowercase()).unwrap();
        assert_eq!(found["number"], number, "{name}");
    }
    for (operation, number) in schema::OPERATIONS.iter().zip(0..) {
        assert_eq!(wire["enums"]["JsonPatchOperationType"][operation.to_uppercase()]["number"], number);
    }
    let theirs = wire["messages"].as_object().unwrap().len();
    // The envelope and the two oneofs are tables of their own.
    assert_eq!(ours.len() + 3, theirs);
    println!("{} messages, {fields} fields", ours.len());
}

#[test]
fn fields_since_1_1_have_their_frozen_numbers() {
    let Some(freeze) = shared("agui/proto-freeze.txt") else { return };
    for line in ["Message.encrypted_value_type = 14", "ToolCall.encrypted_value_type = 6"] {
        assert!(freeze.lines().any(|l| l == line), "{line}");
    }
    assert!(freeze.lines().any(|l| l == "ReasoningEncryptedValueEvent.encrypted_value_type = 6"));
}

#[test]
fn a_frame_of_another_implementation_is_read_and_written_alike() {
    let Some(hex) = shared("agui/bytes/ReasoningEncryptedValueEvent__with-type.json.hex") else { return };
    let fixture = shared("agui/fixtures/ReasoningEncryptedValueEvent/valid/with-type.json").unwrap();
    let expected: Value = serde_json::from_str(&fixture).unwrap();
    let message: Vec<u8> = hex
        .trim()
        .as_bytes()
        .chunks(2)
        .map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap())
        .collect();
    let decoded = to_json(&message).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&decoded.text).unwrap(), expected);
    assert!(decoded.losses.is_empty());
    assert_eq!(from_json(fixture.as_bytes(), Version::CURRENT).unwrap().frame.message, message);
}
