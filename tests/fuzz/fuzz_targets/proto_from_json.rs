//! Any text: what is carried of it is a JSON object, has a frame of a bounded size, and can be read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;
use tidegate::agui::Version;
use tidegate::wire::proto::{Arm, Shape, arm, from_json, to_json};

fuzz_target!(|text: &[u8]| {
    let is_json = serde_json::from_slice::<IgnoredAny>(text).is_ok() && text.trim_ascii().starts_with(b"{");
    for peer in [Version::CURRENT, Version::V1_0, Version::npm(27)] {
        match from_json(text, peer) {
            Ok(encoded) => {
                assert!(is_json);
                assert!(encoded.frame.whole.len() <= 64 + text.len() * 8);
                assert!(matches!(arm(&encoded.frame.message), Arm::Known(_)));
                let decoded = to_json(&encoded.frame.message).unwrap();
                assert!(decoded.losses.is_empty());
            }
            Err(error) if error.shape == Shape::NoJson => assert!(!is_json),
            Err(_) => {}
        }
    }
});
