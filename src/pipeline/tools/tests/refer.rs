//! Events that only refer to calls.

use super::*;

/// A denied call and one that is shown.
fn calls() -> Vec<String> {
    vec![start("no", "rm"), finish("no"), start("yes", "ls"), finish("yes")]
}

/// What becomes of an event behind them: it goes, it comes as it came, or it comes changed.
fn after(policy: &Written, last: &str) -> Option<String> {
    let list = [calls(), vec![last.to_owned()]].concat();
    let before = policy.sink(&calls());
    let sink = policy.sink(&list);
    assert_eq!(sink.refused, None);
    let out = texts(&sink);
    let same = out.last().is_some_and(|text| text == last);
    assert_eq!(sink.dropped.len() == before.dropped.len(), same, "what changes is named: {last}");
    out.get(before.events.len()).cloned()
}

#[test]
fn the_end_of_a_run_names_no_denied_call() {
    let policy = deny(&["rm"]);
    let end = |outcome: &str| format!(r#"{{"type":"RUN_FINISHED","outcome":{outcome},"runId":"r"}}"#);
    for (before, outcome) in [
        (
            r#"{"type":"success","pendingToolCallIds":["yes"]}"#,
            Some(r#"{"type":"success","pendingToolCallIds":["yes"]}"#),
        ),
        (
            r#"{"type":"success","pendingToolCallIds":["no","yes"]}"#,
            Some(r#"{"type":"success","pendingToolCallIds":["yes"]}"#),
        ),
        (r#"{"type":"success","pendingToolCallIds":["n\u006f"]}"#, Some(r#"{"type":"success"}"#)),
        (r#"{"type":"success","pendingToolCallIds":["unheard"]}"#, Some(r#"{"type":"success"}"#)),
        (
            r#"{"type":"interrupt","interrupts":[{"id":"i","reason":"x","toolCallId":"no"},{"id":"j","reason":"y"}]}"#,
            Some(r#"{"type":"interrupt","interrupts":[{"id":"j","reason":"y"}]}"#),
        ),
        (r#"{"type":"interrupt","interrupts":[{"id":"i","reason":"x","toolCallId":"no"}]}"#, None),
        (
            r#"{"type":"interrupt","interrupts":[{"id":"i","toolCallId":"yes"}]}"#,
            Some(r#"{"type":"interrupt","interrupts":[{"id":"i","toolCallId":"yes"}]}"#),
        ),
        (r#"{"type":"new","x":1}"#, Some(r#"{"type":"new","x":1}"#)),
        (r#""success""#, Some(r#""success""#)),
        ("[]", Some("[]")),
    ] {
        let wanted = outcome.map_or(r#"{"type":"RUN_FINISHED","runId":"r"}"#.to_owned(), end);
        assert_eq!(after(&policy, &end(before)).unwrap(), wanted);
    }
    let beside = r#"{"type":"RUN_FINISHED","outcome":"interrupt","interrupts":[{"id":"i","toolCallId":"no"}],"pendingToolCallIds":["no"]}"#;
    assert_eq!(after(&policy, beside).unwrap(), r#"{"type":"RUN_FINISHED"}"#);
    policy.refuses(&[r#"{"type":"RUN_FINISHED","outcome":{"pendingToolCallIds":[1]}}"#], "unreadable", 0);
}

#[test]
fn a_masked_call_may_be_pending_but_not_ask() {
    let policy = deny(&["rm"]).on_denied(OnDenied::Mask);
    let pending = r#"{"type":"RUN_FINISHED","outcome":{"type":"success","pendingToolCallIds":["no","yes"]}}"#;
    assert_eq!(after(&policy, pending).unwrap(), pending);
    let asks = r#"{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"i","message":"rm /x?","toolCallId":"no"}]}}"#;
    assert_eq!(after(&policy, asks).unwrap(), r#"{"type":"RUN_FINISHED"}"#);
}

#[test]
fn interrupts_in_custom_events_go_like_others() {
    let policy = deny(&["rm"]);
    let custom = |value: &str| format!(r#"{{"type":"CUSTOM","name":"on_interrupt","value":{value}}}"#);
    let (no, yes) = (r#"{"id":"i","toolCallId":"no"}"#, r#"{"id":"j","toolCallId":"yes"}"#);
    let in_text = |value: &str| serde_json::Value::from(value).to_string();
    for (before, left) in [
        (format!("[{no},{yes}]"), Some(format!("[{yes}]"))),
        (format!("[{no}]"), None),
        (no.to_owned(), None),
        (yes.to_owned(), Some(yes.to_owned())),
        (in_text(&format!("[{yes},{no}]")), Some(in_text(&format!("[{yes}]")))),
        (in_text(no), None),
        (r#""Proceed?""#.to_owned(), Some(r#""Proceed?""#.to_owned())),
        (format!("[1,{no}]"), Some("[1]".to_owned())),
        ("null".to_owned(), Some("null".to_owned())),
    ] {
        assert_eq!(after(&policy, &custom(&before)), left.map(|left| custom(&left)), "{before}");
    }
    let other = format!(r#"{{"type":"CUSTOM","name":"other","value":[{no}]}}"#);
    assert_eq!(after(&policy, &other), Some(other.clone()), "custom values are not judged");
}

#[test]
fn encrypted_values_go_with_their_call() {
    let value = |id: &str, subtype: &str| {
        format!(
            r#"{{"type":"REASONING_ENCRYPTED_VALUE","subtype":"{subtype}","entityId":"{id}","encryptedValue":"A"}}"#
        )
    };
    for policy in [deny(&["rm"]), deny(&["rm"]).on_denied(OnDenied::Mask)] {
        assert_eq!(after(&policy, &value("no", "tool-call")), None);
        assert_eq!(after(&policy, &value("unheard", "tool-call")), None);
        for kept in [value("yes", "tool-call"), value("m", "message"), value("no", "message")] {
            assert_eq!(after(&policy, &kept), Some(kept.clone()));
        }
    }
    let policy = deny(&[]).argument("fetch", "/url", "bad");
    let list = [start("c", "fetch"), value("c", "tool-call"), args("c", r#"{"url":"bad"}"#), finish("c")];
    policy.keeps(&list, &[]);
    policy.passes(&[start("c", "fetch"), value("c", "tool-call"), args("c", "{}"), finish("c")]);
}

#[test]
fn raw_events_are_dropped_unless_they_may_pass() {
    let policy = deny(&["rm"]);
    let raw = r#"{"type":"RAW","event":{"name":"rm"}}"#;
    assert_eq!(policy.through(&[raw]), [""; 0]);
    let sink = policy
        .sink(&[r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","r\u0061wEvent":{"name":"rm"},"delta":"x"}"#, raw]);
    assert_eq!(texts(&sink), [text("x")]);
    assert_eq!(reasons(&sink), ["raw_event", "raw"]);
    let passes = Written { raw: Raw::Pass, ..policy };
    passes.passes(&[raw, r#"{"type":"TEXT_MESSAGE_END","messageId":"m","rawEvent":{"name":"rm"}}"#]);
}

#[test]
fn types_that_nobody_knows_go_if_they_name_a_denied_call() {
    let policy = deny(&["rm"]);
    for gone in [
        r#"{"type":"TOOL_CALL_PROGRESS","toolCallId":"no","percent":5}"#,
        r#"{"type":"TOOL_CALL_PROGRESS","toolCallId":"unheard"}"#,
        r#"{"type":"NEW","parentToolCallId":"no"}"#,
        r#"{"type":"NEW","toolCallName":"rm"}"#,
    ] {
        assert_eq!(after(&policy, gone), None, "{gone}");
    }
    for kept in [
        r#"{"type":"TOOL_CALL_PROGRESS","toolCallId":"yes","percent":5}"#,
        r#"{"type":"NEW","toolCallId":7,"x":1.50}"#,
        r#"{"type":"NEW","x":{"toolCallId":"no"}}"#,
        r#"{"x":1}"#,
    ] {
        assert_eq!(after(&policy, kept).as_deref(), Some(kept));
    }
    let policy = deny(&[]).argument("fetch", "/url", "bad");
    let progress = r#"{"type":"TOOL_CALL_PROGRESS","toolCallId":"c","url":"bad"}"#.to_owned();
    policy.keeps(&[start("c", "fetch"), args("c", r#"{"url":"bad"}"#), progress, finish("c")], &[]);
}

#[test]
fn other_events_lose_members_that_name_a_denied_call() {
    let policy = deny(&["rm"]);
    let step = r#"{"type":"STEP_STARTED","stepName":"s","toolCallId":"no","parentToolCallId":"no"}"#;
    assert_eq!(after(&policy, step).unwrap(), r#"{"type":"STEP_STARTED","stepName":"s"}"#);
    let content = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x","toolCallName":"rm"}"#;
    assert_eq!(after(&policy, content).unwrap(), text("x"));
    let kept = r#"{"type":"STEP_STARTED","stepName":"s","toolCallId":"yes"}"#;
    assert_eq!(after(&policy, kept).as_deref(), Some(kept));
}
