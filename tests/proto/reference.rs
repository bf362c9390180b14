//! The reference implementation writes the same bytes and reads the same events.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use tidegate::agui::Version;
use tidegate::wire::proto::{Encoded, Malformed, NotCarried, Shape, from_json, to_json};

use crate::events::{TYPES, any_event, any_odd_event, event, spelled};
use crate::node;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(hex: &str) -> Vec<u8> {
    hex.as_bytes().chunks(2).map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap()).collect()
}

/// The events of the optional folder beside the clone, or of where `TIDEGATE_SHARED` says.
fn shared_events() -> Vec<String> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let shared = std::env::var_os("TIDEGATE_SHARED").map_or_else(beside, PathBuf::from).join("agui");
    let Ok(streams) = std::fs::read_to_string(shared.join("streams.json")) else {
        eprintln!("skipped: no streams in {}", shared.display());
        return Vec::new();
    };
    let streams: Value = serde_json::from_str(&streams).unwrap();
    let cases = streams["cases"].as_object().unwrap().values().map(|case| case["events"].clone());
    let conformance = std::fs::read_dir(shared.join("conformance")).unwrap().map(|entry| entry.unwrap().path());
    let conformance = conformance.filter(|path| path.extension().is_some_and(|end| end == "json")).map(|path| {
        let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        file["stream"].clone()
    });
    let streams: Vec<Value> = cases.chain(conformance).collect();
    streams.iter().filter_map(Value::as_array).flatten().filter(|e| e.is_object()).map(Value::to_string).collect()
}

/// So many of these, the same in every run.
fn generated<T: std::fmt::Debug>(count: usize, strategy: &impl Strategy<Value = T>) -> Vec<T> {
    let mut runner = TestRunner::deterministic();
    (0..count).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

fn generated_events() -> Vec<String> {
    let spelled = |event: Value| spelled(&event).prop_map(|text| text);
    let of_each_type = (0..TYPES).flat_map(|place| generated(120, &event(place).prop_flat_map(spelled)));
    of_each_type.chain(generated(1000, &any_event().prop_flat_map(spelled))).collect()
}

/// Whether JavaScript keeps the members of an object in another order than the text: names that are integers go first.
fn has_integer_names(value: &Value) -> bool {
    match value {
        Value::Array(elements) => elements.iter().any(has_integer_names),
        Value::Object(members) => members.iter().any(|(name, value)| {
            name.bytes().all(|byte| byte.is_ascii_digit()) && !name.is_empty() || has_integer_names(value)
        }),
        _ => false,
    }
}

#[test]
fn valid_events_are_written_byte_for_byte_and_read_as_the_same_values() {
    let shared = shared_events();
    let (of_shared, texts) = (shared.len(), [shared, generated_events()].concat());
    let requests: Vec<_> = texts.iter().map(|text| json!({ "encode": text })).collect();
    let Some(answers) = node::ask(&requests) else { return };

    let (mut valid, mut of_streams, mut identical) = (0, 0, 0);
    let mut reads = Vec::new();
    for (place, (text, answer)) in texts.iter().zip(&answers).enumerate() {
        let ours = from_json(text.as_bytes(), Version::V1_0);
        if answer["valid"] != true || answer["frame"] == "00000000" {
            // What they write of such an event is not always ours to repeat: for what is not there they write
            // `undefined`. But then it is named.
            let is_same = |encoded: &Encoded| answer["frame"] == hex(&encoded.frame.whole);
            assert!(ours.is_err() || ours.is_ok_and(|e| !e.losses.is_empty() || is_same(&e)), "{text}\n{answer}");
            assert!(place < of_shared, "generated events are valid: {text}\n{answer}");
            continue;
        }
        let ours = ours.unwrap_or_else(|error| panic!("{error}: {text}"));
        let theirs = answer["frame"].as_str().unwrap();
        valid += 1;
        of_streams += usize::from(place < of_shared);
        if hex(&ours.frame.whole) == theirs {
            identical += 1;
        } else {
            assert!(
                has_integer_names(&serde_json::from_str(text).unwrap()),
                "{text}\n{}\n{theirs}",
                hex(&ours.frame.whole)
            );
            assert_eq!(ours.frame.whole.len(), theirs.len() / 2, "{text}");
        }
        for message in [ours.frame.message.to_vec(), unhex(&theirs[8..])] {
            let decoded = to_json(&message).unwrap_or_else(|error| panic!("{error}: {text}"));
            assert!(decoded.losses.is_empty(), "{text}");
            reads.push(json!({ "decode": hex(&message), "text": String::from_utf8(decoded.text.to_vec()).unwrap() }));
        }
    }
    for (request, answer) in reads.iter().zip(node::ask(&reads).unwrap()) {
        assert_eq!(answer["same"], true, "{request}\n{answer}");
    }
    println!(
        "{valid} valid events, {of_streams} of them from the {of_shared} of streams at hand: {identical} are the same \
         bytes, {} the same but for the order of integer names; {} messages are read as the same values",
        valid - identical,
        reads.len()
    );
    assert!(valid >= TYPES * 120 + 1000 && identical * 10 >= valid * 8, "{valid} {identical}");
}

#[test]
fn what_is_carried_of_odd_events_never_throws_in_the_reference_decoder() {
    let events: Vec<_> =
        generated(3000, &any_odd_event()).iter().map(Value::to_string).chain(shared_events()).collect();
    let mut requests = Vec::new();
    let mut refused = 0;
    for text in &events {
        match from_json(text.as_bytes(), Version::CURRENT) {
            Ok(encoded) => {
                let decoded = to_json(&encoded.frame.message).unwrap();
                // The reference decoder does not know what came with 1.1.
                let text = String::from_utf8(decoded.text.to_vec()).unwrap();
                let is_1_1 = text.contains("encryptedValueType");
                let mut request = json!({ "decode": hex(&encoded.frame.message) });
                if !is_1_1 {
                    request["text"] = text.into();
                }
                requests.push(request);
            }
            Err(NotCarried { shape }) => {
                assert!(matches!(shape, Shape::UnknownType | Shape::NoType), "{shape:?} {text}");
                refused += 1;
            }
        }
    }
    let Some(answers) = node::ask(&requests) else { return };
    for (request, answer) in requests.iter().zip(&answers) {
        assert!(answer["error"].is_null() && answer["same"] != false, "{request}\n{answer}");
    }
    println!("{} odd events carried, {refused} refused", requests.len());
    assert!(requests.len() > 2500);
}

#[test]
fn damaged_messages_are_refused_or_read_as_the_reference_decoder_has_them() {
    let damage = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..3);
    let damaged = (any_event(), damage).prop_map(|(event, damage)| {
        let mut message = from_json(event.to_string().as_bytes(), Version::V1_0).unwrap().frame.message.to_vec();
        for (place, byte) in damage {
            let place = place.index(message.len());
            message[place] = byte;
        }
        message
    });
    let messages = generated(6000, &damaged);
    let ours: Vec<Result<_, Malformed>> = messages.iter().map(|message| to_json(message)).collect();
    let request = |(message, ours): (&Vec<u8>, &Result<_, _>)| match ours {
        Ok(decoded) => {
            let decoded: &tidegate::wire::proto::Decoded = decoded;
            json!({ "decode": hex(message), "text": std::str::from_utf8(&decoded.text).unwrap() })
        }
        Err(_) => json!({ "decode": hex(message) }),
    };
    let requests: Vec<_> = messages.iter().zip(&ours).map(request).collect();
    let Some(answers) = node::ask(&requests) else { return };
    let (mut read, mut stricter) = (0, 0);
    for ((request, answer), ours) in requests.iter().zip(&answers).zip(&ours) {
        match (ours, answer["error"].as_str()) {
            (Ok(_), None) => {
                assert_eq!(answer["same"], true, "{request}\n{answer}");
                read += 1;
            }
            // In messages that it need not merge, the reference decoder takes a tag beyond 32 bits for a smaller one,
            // and what follows the end of no group for nothing.
            (Err(_), None) => stricter += 1,
            (Ok(_), Some(_)) => panic!("{request}\n{answer}"),
            (Err(_), Some(_)) => {}
        }
    }
    println!("{read} of {} damaged messages are read alike; {stricter} are refused here only", messages.len());
    assert!(read > 1000);
    assert!(stricter * 500 < messages.len());
}
