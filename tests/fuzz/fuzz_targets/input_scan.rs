//! Any body: its facts do not depend on how it is cut, what is kept is short, and a valid object is seen as a full
//! parser sees it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tidegate::agui::{InputFacts, InputScan, Text};

fn scan<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> InputFacts {
    let mut scan = InputScan::new();
    pieces.for_each(|piece| scan.feed(piece));
    scan.finish()
}

/// Whether the scan's value is that of one of these members; which of several counts, a map cannot tell.
fn agrees(found: &Option<Text>, body: &Value, names: &[&str]) -> bool {
    let members: Vec<_> = names.iter().filter_map(|name| body.get(name)).collect();
    let same = |value: &&Value| match (value.as_str(), found) {
        (Some(value), Some(text)) => {
            value.starts_with(&text.value) && text.cut == (value.len() > text.value.len())
        }
        (value, text) => value.is_none() && text.is_none(),
    };
    if members.is_empty() {
        found.is_none()
    } else {
        members.iter().any(same)
    }
}

fuzz_target!(|input: (u8, Vec<u8>)| {
    let (size, body) = input;
    let whole = scan(std::iter::once(&body[..]));
    assert_eq!(scan(body.chunks(usize::from(size).max(1))), whole);
    assert_eq!(scan(body.chunks(1)), whole);
    for text in [
        &whole.thread_id,
        &whole.run_id,
        &whole.parent_run_id,
        &whole.protocol_version,
    ] {
        assert!(text.as_ref().is_none_or(|text| text.value.len() <= 256));
    }
    if let Ok(value) = serde_json::from_slice::<Value>(&body) {
        assert_eq!(whole.complete, value.is_object());
        assert!(agrees(&whole.thread_id, &value, &["threadId", "thread_id"]));
        assert!(agrees(&whole.run_id, &value, &["runId", "run_id"]));
        assert!(agrees(
            &whole.parent_run_id,
            &value,
            &["parentRunId", "parent_run_id"]
        ));
        assert!(agrees(
            &whole.protocol_version,
            &value,
            &["protocolVersion"]
        ));
        assert_eq!(
            whole.messages,
            value.get("messages").is_some_and(Value::is_array)
        );
    }
});
