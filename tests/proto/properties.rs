//! What holds for every event and for all bytes.

use proptest::prelude::*;
use serde_json::Value;
use tidegate::agui::Version;
use tidegate::wire::proto::{Arm, Losses, Shape, arm, from_json, to_json};

use crate::events::{TYPES, any_event, any_odd_event, carried, event, is_same, spelled};

fn spelled_event() -> BoxedStrategy<(Value, String)> {
    any_event().prop_flat_map(|event| (Just(event.clone()), spelled(&event))).boxed()
}

/// The frame's message, and what was lost but the digits of large numbers, which random ones lose all the time.
fn message(text: &str) -> (Vec<u8>, Losses) {
    let encoded = from_json(text.as_bytes(), Version::V1_0).unwrap();
    let mut losses = Losses::NONE;
    encoded.losses.iter().filter(|shape| *shape != Shape::LargeNumber).for_each(|shape| losses.insert(shape));
    (encoded.frame.message.to_vec(), losses)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn json_to_protobuf_to_json_is_the_identity_on_what_the_wire_can_carry((event, text) in spelled_event()) {
        let (message, losses) = message(&text);
        prop_assert_eq!(losses, Losses::NONE);
        let decoded = to_json(&message).unwrap();
        prop_assert_eq!(decoded.losses, Losses::NONE);
        let found: Value = serde_json::from_slice(&decoded.text).unwrap();
        prop_assert!(is_same(&found, &carried(&event)), "{}\n{}", found, carried(&event));
    }

    #[test]
    fn what_came_from_protobuf_goes_back_to_the_same_bytes((_, text) in spelled_event()) {
        let (once, _) = message(&text);
        let text = to_json(&once).unwrap().text;
        let (twice, losses) = message(std::str::from_utf8(&text).unwrap());
        prop_assert_eq!(losses, Losses::NONE);
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn an_odd_event_is_carried_with_a_loss_or_refused_but_what_is_carried_can_be_read(event in any_odd_event()) {
        if let Ok(encoded) = from_json(event.to_string().as_bytes(), Version::CURRENT) {
            let decoded = to_json(&encoded.frame.message).unwrap();
            let found: Value = serde_json::from_slice(&decoded.text).unwrap();
            // What is the same without a loss has to be the same but for nulls, which stand for absent.
            if encoded.losses.is_empty() {
                let expected = carried(&without_nulls(&event));
                prop_assert!(is_same(&without_nulls(&found), &expected), "{}\n{}", found, expected);
            }
        }
    }

    #[test]
    fn bytes_are_read_or_refused_and_never_worse(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if to_json(&bytes).is_ok() {
            prop_assert!(matches!(arm(&bytes), Arm::Known(_)));
        }
        let _ = from_json(&bytes, Version::CURRENT);
    }

    #[test]
    fn a_damaged_message_is_refused_or_read_as_json(
        (_, text) in spelled_event(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let (mut message, _) = message(&text);
        for (place, byte) in damage {
            let place = place.index(message.len());
            message[place] = byte;
        }
        if let Some(cut) = cut {
            message.truncate(cut.index(message.len()));
        }
        if let Ok(decoded) = to_json(&message) {
            let found: Result<Value, _> = serde_json::from_slice(&decoded.text);
            prop_assert!(found.is_ok(), "{:?}", decoded.text);
            prop_assert!(matches!(arm(&message), Arm::Known(_)));
        }
    }

    #[test]
    fn damaged_json_is_refused_or_carried_so_that_it_can_be_read(
        (_, text) in spelled_event(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut text = text.into_bytes();
        for (place, byte) in damage {
            let place = place.index(text.len());
            text[place] = byte;
        }
        if let Ok(encoded) = from_json(&text, Version::CURRENT) {
            prop_assert!(to_json(&encoded.frame.message).is_ok(), "{:?}", String::from_utf8_lossy(&text));
        }
    }
}

#[test]
fn every_type_is_carried_by_an_arm_of_its_own() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut arms = std::collections::BTreeSet::new();
    for place in 0..TYPES {
        let event = event(place).new_tree(&mut runner).unwrap().current();
        let (message, _) = message(&event.to_string());
        let Arm::Known(kind) = arm(&message) else { panic!("{event}") };
        assert_eq!(event["type"], kind.as_str());
        arms.insert(message[0..2].to_vec());
    }
    assert!(arms.len() >= TYPES);
}

/// Without members that are null, at any depth: what is left are the values of which nobody doubts that they are there.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Array(elements) => elements.iter().map(without_nulls).collect(),
        Value::Object(members) => {
            let there = members.iter().filter(|(_, value)| !value.is_null());
            Value::Object(there.map(|(name, value)| (name.clone(), without_nulls(value))).collect())
        }
        _ => value.clone(),
    }
}
