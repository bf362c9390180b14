//! What the two directions do with single events. What holds for all events, and what the reference implementation
//! says of them, is in `tests/proto`.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde_json::{Value, json};

use super::*;
use crate::agui::Version;

mod schema;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The message of this event in hexadecimal, and what was lost.
fn encode(text: &str) -> (String, Vec<&'static str>) {
    let encoded = from_json(text.as_bytes(), Version::CURRENT).expect(text);
    assert_eq!(encoded.frame.whole[..4], u32::try_from(encoded.frame.message.len()).unwrap().to_be_bytes());
    (hex(&encoded.frame.message), encoded.losses.iter().map(Shape::as_str).collect())
}

/// What becomes of an event that goes over the wire, and what was lost on either way.
fn through(text: &str) -> (Value, Vec<&'static str>) {
    let encoded = from_json(text.as_bytes(), Version::CURRENT).expect(text);
    let decoded = to_json(&encoded.frame.message).expect(text);
    assert!(decoded.losses.is_empty(), "{text}");
    (serde_json::from_slice(&decoded.text).expect(text), encoded.losses.iter().map(Shape::as_str).collect())
}

fn decode(message: &[u8]) -> Result<(String, Vec<&'static str>), Malformed> {
    let decoded = to_json(message)?;
    Ok((String::from_utf8(decoded.text.to_vec()).unwrap(), decoded.losses.iter().map(Shape::as_str).collect()))
}

#[test]
fn an_interrupt_without_its_list_is_named() {
    for text in [
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt"}}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":null}}"#,
    ] {
        let encoded = from_json(text.as_bytes(), Version::CURRENT).unwrap();
        assert!(encoded.losses.contains(Shape::MissingMember), "{text}");
    }
    let success = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}"#;
    assert!(from_json(success.as_bytes(), Version::CURRENT).unwrap().losses.is_empty());
}

#[test]
fn a_base_event_is_written_even_if_it_is_empty() {
    assert_eq!(encode(r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#), ("0a050a0012016d".into(), vec![]));
}

#[test]
fn members_are_written_in_the_order_of_the_numbers() {
    let text = r#"{ "delta" : "x", "timestamp":-5, "messageId":"m", "type":"TEXT_MESSAGE_CONTENT" }"#;
    assert_eq!(encode(text), ("12150a0d080110fbffffffffffffffff0112016d1a0178".into(), vec![]));
}

#[test]
fn null_stands_for_absent_but_where_it_is_a_value() {
    let absent = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":null,"outcome":null,"rawEvent":null}"#;
    assert_eq!(encode(absent), ("6a0a0a02080c1201741a0172".into(), vec![]));
    for text in [
        r#"{"type":"STATE_SNAPSHOT","snapshot":null}"#,
        r#"{"type":"RAW","event":null}"#,
        r#"{"type":"CUSTOM","name":"n","value":null}"#,
        r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"","value":null}]}"#,
    ] {
        assert_eq!(through(text), (serde_json::from_str(text).unwrap(), vec![]));
    }
}

#[test]
fn an_outcome_is_taken_apart_and_put_together() {
    for outcome in [
        json!({"type": "success"}),
        json!({"type": "success", "pendingToolCallIds": ["a", "b"]}),
        json!({"type": "interrupt", "interrupts": [{"id": "i", "reason": "r", "metadata": {"n": 1}}]}),
        json!({"type": "cancelled"}),
        json!({"type": "paused"}),
    ] {
        let event = json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": outcome});
        assert_eq!(through(&event.to_string()), (event, vec![]));
    }
    for outcome in [json!({"type": "success"}), json!({"type": "suspended", "interruptIds": ["i"]})] {
        let event = json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "outcome": outcome});
        assert_eq!(through(&event.to_string()), (event, vec![]));
    }
}

#[test]
fn an_interrupt_always_has_its_list_and_a_bare_list_has_no_outcome() {
    let bare = b"\x6a\x08\x0a\x02\x08\x0c\x42\x02id";
    let lists = r#""threadId":"","runId":"""#;
    assert_eq!(decode(bare), Ok((format!(r#"{{"type":"RUN_FINISHED",{lists},"pendingToolCallIds":["id"]}}"#), vec![])));
    let interrupt = b"\x6a\x0f\x0a\x02\x08\x0c\x2a\x09interrupt";
    assert_eq!(
        decode(interrupt),
        Ok((format!(r#"{{"type":"RUN_FINISHED",{lists},"outcome":{{"type":"interrupt","interrupts":[]}}}}"#), vec![]))
    );
}

#[test]
fn a_content_rides_in_the_field_of_its_form() {
    let messages = json!([
        {"id": "1", "role": "user", "content": "a"},
        {"id": "2", "role": "user", "content": []},
        {"id": "3", "role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image", "id": "p",
            "source": {"type": "file", "value": "f", "provider": "p"}}]},
        {"id": "4", "role": "assistant"},
        {"id": "5", "role": "assistant", "content": "", "toolCalls": [
            {"id": "c", "type": "function", "function": {"name": "n", "arguments": "{}"}, "metadata": {"a": null}}]},
        {"id": "6", "role": "tool", "toolCallId": "c", "content": [{"type": "document", "metadata": 1,
            "source": {"type": "url", "value": "u"}}]},
        {"id": "7", "role": "activity", "activityType": "t", "content": {"a": {"b": []}}},
        {"id": "8", "role": "narrator", "content": "x"},
        {"id": "9", "role": "reasoning", "content": "r", "encryptedValue": "e", "encryptedValueType": "t"},
    ]);
    let event = json!({"type": "MESSAGES_SNAPSHOT", "messages": messages});
    assert_eq!(through(&event.to_string()), (event, vec![]));
}

#[test]
fn what_the_wire_cannot_take_is_named() {
    let cases = [
        (r#"{"type":"RAW","event":1,"x":{"y":[1]}}"#, "unknown_member", json!({"type": "RAW", "event": 1})),
        (r#"{"type":"RAW","event":1,"event":2}"#, "duplicate_member", json!({"type": "RAW", "event": 2})),
        (r#"{"type":"RAW"}"#, "missing_member", json!({"type": "RAW"})),
        (
            r#"{"type":"RAW","event":9007199254740993}"#,
            "large_number",
            json!({"type": "RAW", "event": 9_007_199_254_740_992_u64}),
        ),
        (
            r#"{"type":"RAW","event":1,"timestamp":9007199254740992}"#,
            "large_number",
            json!({"type": "RAW", "event": 1}),
        ),
        (r#"{"type":"RAW","event":1,"timestamp":1.5}"#, "fraction", json!({"type": "RAW", "event": 1})),
        (r#"{"type":"RAW","event":1,"timestamp":"1"}"#, "wrong_type", json!({"type": "RAW", "event": 1})),
        (r#"{"type":"RAW","event":1,"metadata":[]}"#, "wrong_type", json!({"type": "RAW", "event": 1})),
        (r#"{"type":"RAW","event":1,"source":{}}"#, "wrong_type", json!({"type": "RAW", "event": 1})),
        (r#"{"type":"RAW","event":"\udc00!"}"#, "text", json!({"type": "RAW", "event": "\u{fffd}!"})),
        (
            r#"{"type":"STEP_STARTED","stepName":4.20}"#,
            "wrong_type",
            json!({"type": "STEP_STARTED", "stepName": "4.2"}),
        ),
        (
            r#"{"type":"STATE_DELTA","delta":[{"op":"frob","path":"/a"},{"op":"remove","path":"/b"}]}"#,
            "patch_operation",
            json!({"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/b"}]}),
        ),
        (
            r#"{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/b","why":1}]}"#,
            "patch_member",
            json!({"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/b"}]}),
        ),
        (
            r#"{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"hologram"}]}"#,
            "content_part",
            json!({"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": []}),
        ),
        (
            r#"{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"image","source":{"type":"x"}}]}"#,
            "content_source",
            json!({"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": []}),
        ),
        (
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"assistant","content":[]}]}"#,
            "content_form",
            json!({"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "1", "role": "assistant"}]}),
        ),
        (
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"activity","content":"s"}]}"#,
            "content_form",
            json!({"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "1", "role": "activity", "content": {}}]}),
        ),
        (
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":[
                {"type":"binary","mimeType":"a/b","data":"AA","filename":"f"}]}]}"#,
            "binary_part",
            json!({"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "1", "role": "user", "content": [
                {"type": "document", "source": {"type": "data", "value": "AA", "mimeType": "a/b"},
                 "metadata": {"legacyBinary": true, "filename": "f"}}]}]}),
        ),
        (
            r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"cancelled","interrupts":[]}}"#,
            "unknown_member",
            json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "cancelled"}}),
        ),
        (
            r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"success"}"#,
            "wrong_type",
            json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}),
        ),
    ];
    for (text, loss, expected) in cases {
        assert_eq!(through(text), (expected, vec![loss]), "{text}");
    }
}

#[test]
fn a_number_that_the_other_side_cannot_say_is_named() {
    let snapshot = |number: f64| {
        let base = b"\x3a\x0f\x0a\x02\x08\x06\x12\x09\x11";
        [&base[..], &number.to_le_bytes()].concat()
    };
    for (text, number) in [("1e400", f64::INFINITY), ("[-2.5E308]", f64::NEG_INFINITY)] {
        let event = format!(r#"{{"type":"STATE_SNAPSHOT","snapshot":{text}}}"#);
        let encoded = from_json(event.as_bytes(), Version::CURRENT).unwrap();
        assert_eq!(encoded.losses.iter().collect::<Vec<_>>(), [Shape::LargeNumber], "{text}");
        assert!(encoded.frame.message.ends_with(&number.to_le_bytes()), "{text}");
    }
    for number in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        let null = r#"{"type":"STATE_SNAPSHOT","snapshot":null}"#;
        assert_eq!(decode(&snapshot(number)), Ok((null.into(), vec!["not_finite"])));
    }
    assert_eq!(decode(&snapshot(f64::MAX)).unwrap().1, Vec::<&str>::new());
}

#[test]
fn the_last_of_several_members_counts_however_long_they_are() {
    let text = r#"{"type":"STATE_SNAPSHOT","rawEvent":{"a":1},"snapshot":[1],"snapshot":[2],"rawEvent":2,"metadata":1,
        "metadata":{"b":[]},"rawEvent":{"a":3}}"#;
    let expected = json!({"type": "STATE_SNAPSHOT", "snapshot": [2], "rawEvent": {"a": 3}, "metadata": {"b": []}});
    assert_eq!(through(text), (expected, vec!["duplicate_member"]));
    let text = r#"{"type":"STATE_SNAPSHOT","snapshot":[1],"snapshot":2,"rawEvent":{"a":1},"rawEvent":null}"#;
    assert_eq!(through(text), (json!({"type": "STATE_SNAPSHOT", "snapshot": 2}), vec!["duplicate_member"]));
}

#[test]
fn what_cannot_be_carried_at_all_is_named() {
    let deep =
        |depth: usize| format!(r#"{{"type":"CUSTOM","name":"n","value":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    for (text, shape) in [
        (String::new(), Shape::NoJson),
        ("[DONE]".into(), Shape::NoJson),
        (r#"{"type":"RAW","event":1"#.into(), Shape::NoJson),
        (r#"{"type":"RAW","event":1} x"#.into(), Shape::NoJson),
        (r#"{"type":"RAW","event":NaN}"#.into(), Shape::NoJson),
        (r#"{"type":"RAW","event":[1 2]}"#.into(), Shape::NoJson),
        (r#"{"type":"RAW","event":1,"x":tru}"#.into(), Shape::NoJson),
        (r#"{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/a"},]}"#.into(), Shape::NoJson),
        (r#"{"a":1}"#.into(), Shape::NoType),
        (r#"{"type":1}"#.into(), Shape::NoType),
        (r#"{"type":"RAW","event":1,"type":"CUSTOM"}"#.into(), Shape::NoType),
        (r#"{"type":"FUTURE_EVENT"}"#.into(), Shape::UnknownType),
        (r#"{"type":"THINKING_START"}"#.into(), Shape::UnknownType),
        (deep(MAX_DEPTH + 1), Shape::Nesting),
        (deep(100_000), Shape::Nesting),
    ] {
        let start = &text[..text.len().min(80)];
        assert_eq!(from_json(text.as_bytes(), Version::CURRENT).err(), Some(NotCarried { shape }), "{start}");
    }
    let text = deep(MAX_DEPTH);
    assert_eq!(decode(&from_json(text.as_bytes(), Version::CURRENT).unwrap().frame.message).unwrap().0, text);
}

#[test]
fn a_peer_gets_no_arm_and_no_field_that_its_version_does_not_know() {
    let message =
        |text: &str, peer: Version| from_json(text.as_bytes(), peer).map(|e| (hex(&e.frame.message), e.losses));
    let chunk = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"x"}"#;
    let newer = Err(NotCarried { shape: Shape::NewerType });
    assert_eq!(message(chunk, Version::npm(59)), newer);
    assert!(message(chunk, Version::V1_0).is_ok());
    let subagent = r#"{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n"}"#;
    assert_eq!(message(subagent, Version::npm(58)), newer);
    assert!(message(subagent, Version::npm(59)).is_ok());

    let mut losses = Losses::NONE;
    losses.insert(Shape::NewerMember);
    let outcome = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}"#;
    assert_eq!(message(outcome, Version::npm(53)), Ok(("6a0a0a02080c1201741a0172".into(), losses)));
    let value = r#"{"type":"REASONING_ENCRYPTED_VALUE","subtype":"message","entityId":"e","encryptedValue":"v","encryptedValueType":"t"}"#;
    let without = "fa01130a02081e1a076d6573736167652201652a0176";
    assert_eq!(message(value, Version::V1_0), Ok((without.into(), losses)));
    assert_eq!(message(value, Version::CURRENT), Ok((format!("fa01160a02081e{}320174", &without[14..]), Losses::NONE)));
}

#[test]
fn what_is_no_event_is_malformed() {
    for message in [
        &b""[..],
        b"\x82\x02\x00",
        b"\x12\x00",
        b"\x12\x02\x0a\x00",
        b"\x12\x04\x0a\x02\x08\x02",
        b"\x12\x07\x0a\x02\x08\x01\x12\x05x",
        b"\x0a\x02\x0a\x00\x12\x04\x0a\x02\x08\x01",
        // Content of two forms, and of a form that the role does not have.
        b"\xb2\x01\x09\x0a\x02\x08\x15\x2a\x01x\x3a\x00",
        b"\x4a\x0f\x0a\x02\x08\x08\x12\x09\x12\x05tools\x6a\x00\x00",
        b"\x4a\x0e\x0a\x02\x08\x08\x12\x08\x12\x04user\x6a\x00",
        b"\x4a\x10\x0a\x02\x08\x08\x12\x0a\x12\x06system\x42\x00",
        // A timestamp of 2^53.
        b"\x0a\x0b\x0a\x09\x10\x80\x80\x80\x80\x80\x80\x80\x10",
        // A part with two arms.
        b"\xb2\x01\x0a\x0a\x02\x08\x15\x3a\x04\x0a\x00\x12\x00",
    ] {
        assert!(to_json(message).is_err(), "{message:x?}");
    }
}

#[test]
fn fields_of_a_later_version_are_named() {
    let text = r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#;
    for message in [
        &b"\x1a\x09\x0a\x02\x08\x02\x12\x01m\x50\x01"[..],
        b"\x1a\x09\x0a\x04\x08\x02\x50\x01\x12\x01m",
        b"\x1a\x07\x0a\x02\x08\x02\x12\x01m\xa2\x06\x00",
    ] {
        assert_eq!(decode(message), Ok((text.into(), vec!["unknown_field"])), "{message:x?}");
    }
    let part = b"\xb2\x01\x0a\x0a\x02\x08\x15\x3a\x04\x32\x02\x08\x01";
    assert!(decode(part).unwrap().1.contains(&"content_part"));
    let operation = b"\x42\x08\x0a\x02\x08\x07\x12\x02\x08\x09";
    assert_eq!(decode(operation).unwrap().0, r#"{"type":"STATE_DELTA","delta":[{"op":"9","path":""}]}"#);
}

#[test]
fn pieces_of_a_message_are_put_together_but_cannot_multiply() {
    let text = r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#;
    assert_eq!(decode(b"\x1a\x04\x0a\x02\x08\x02\x1a\x03\x12\x01m").unwrap().0, text);
    assert_eq!(decode(b"\x1a\x09\x0a\x00\x0a\x02\x08\x02\x12\x01m").unwrap().0, text);
    // An object whose every level comes in two pieces, the second of which has all the rest.
    let mut value = vec![b'x'; 10_000];
    value.splice(0..0, [0x1a, 0x90, 0x4e]);
    for _ in 0..50 {
        let sized = |number: u8, inner: &[u8]| {
            let length = inner.len();
            let varint = [length as u8 | 0x80, (length >> 7) as u8 | 0x80, (length >> 14) as u8];
            [&[number << 3 | 2], &varint[..], inner].concat()
        };
        let array = sized(1, &value);
        value = [sized(6, b""), sized(6, &array)].concat();
    }
    let base = [0x0a, 0x02, 0x08, 0x09];
    let length = (value.len() + 4 + 4) as u32;
    let size = |n: usize| [n as u8 | 0x80, (n >> 7) as u8 | 0x80, (n >> 14) as u8];
    let message = [&[0x52][..], &size(length as usize), &base, &[0x12], &size(value.len()), &value].concat();
    assert_eq!(decode(&message), Err(Malformed::new("too many pieces of messages")));
}

#[test]
fn numbers_and_texts_come_as_javascript_has_them() {
    let text = r#"{"type":"RAW","event":[-0.0,1.0,1e21,0.1,1E400,"\u2028\u0001é"]}"#;
    let message = from_json(text.as_bytes(), Version::CURRENT).unwrap().frame.message;
    assert_eq!(decode(&message).unwrap().0, "{\"type\":\"RAW\",\"event\":[-0,1,1e+21,0.1,null,\"\u{2028}\\u0001é\"]}");
}
