//! Any bytes: what is read of them is JSON of a bounded size, which goes back, and comes again the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;
use tidegate::agui::{Event, EventKind, Version};
use tidegate::wire::proto::{Arm, arm, from_json, to_json};

fuzz_target!(|message: &[u8]| {
    let Ok(decoded) = to_json(message) else { return };
    let Arm::Known(kind) = arm(message) else { panic!("read, but not known") };
    assert!(kind != EventKind::Other && Event::new(decoded.text.clone(), None).kind() == kind);
    serde_json::from_slice::<IgnoredAny>(&decoded.text).unwrap();
    // One byte becomes an escape of six at most; two bytes of a message a member with a name.
    assert!(decoded.text.len() <= 1024 + message.len() * 64, "{} of {}", decoded.text.len(), message.len());

    // Something is lost on the first way back: what no encoder would have written. Not on the second.
    let Ok(once) = from_json(&decoded.text, Version::CURRENT) else { panic!("{:?}", decoded.text) };
    let again = to_json(&once.frame.message).unwrap();
    let twice = from_json(&again.text, Version::CURRENT).unwrap();
    assert_eq!(twice.frame, once.frame);
});
