//! Any sequence of events: what `repair` makes of it breaks no rule, `observe` changes nothing, `refuse` stops at the first
//! breach that `observe` counts, and what breaks no rule is nobody's to change.
use proptest::{prelude::*, sample::select};

use super::*;

/// Events over few identifiers, so that they meet; some of them malformed.
fn any_event() -> impl Strategy<Value = String> {
    let id = || select(vec![r#""b""#, r#""c""#, "null", r#""\u0061""#]);
    let usual = || select(vec![r#""a""#, r#""a""#, r#""b""#]);
    let tag =
        || select(vec!["", "", "", r#","subagentRunId":"s""#, r#","subagentRunId":"u""#, r#","subagentRunId":null"#]);
    let part = |name: &'static str, values: Vec<&'static str>| {
        select(values)
            .prop_map(move |value| if value.is_empty() { String::new() } else { format!(r#","{name}":{value}"#) })
    };
    let kinds = vec![
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "REASONING_START",
        "REASONING_END",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "TEXT_MESSAGE_CHUNK",
        "REASONING_MESSAGE_CHUNK",
        "ACTIVITY_DELTA",
        "ACTIVITY_SNAPSHOT",
        "THINKING_TEXT_MESSAGE_CONTENT",
    ];
    let message = (select(kinds), prop_oneof![8 => usual(), 1 => id()], tag(), part("role", vec!["", "", r#""user""#, r#""reasoning""#]))
        .prop_map(|(kind, id, tag, role)| {
            format!(r#"{{"type":"{kind}","messageId":{id},"delta":"x","activityType":"t","content":{{}},"patch":[]{tag}{role}}}"#)
        });
    let bare = (
        select(vec![
            "TEXT_MESSAGE_CHUNK",
            "REASONING_MESSAGE_CHUNK",
            "TEXT_MESSAGE_CHUNK",
            "REASONING_MESSAGE_CHUNK",
            "TOOL_CALL_CHUNK",
        ]),
        tag(),
    )
        .prop_map(|(kind, tag)| format!(r#"{{"type":"{kind}","delta":"x"{tag}}}"#));
    let calls = vec!["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT", "TOOL_CALL_CHUNK"];
    let call = (
        select(calls),
        prop_oneof![8 => usual(), 1 => id()],
        tag(),
        part(
            "toolCallName",
            vec![r#""f""#, r#""f""#, r#""f""#, r#""f""#, r#""f""#, r#""f""#, r#""f""#, r#""g""#, "", "null"],
        ),
        part("parentMessageId", vec!["", "", r#""a""#, "null"]),
    )
        .prop_map(|(kind, id, tag, name, parent)| {
            format!(
                r#"{{"type":"{kind}","toolCallId":{id},"messageId":"b","content":"","delta":"x"{tag}{name}{parent}}}"#
            )
        });
    let step = (select(vec!["STEP_STARTED", "STEP_FINISHED"]), usual(), tag())
        .prop_map(|(kind, id, tag)| format!(r#"{{"type":"{kind}","stepName":{id}{tag}}}"#));
    let agent = (
        select(vec!["SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR"]),
        select(vec!["s", "u"]),
        part("parentSubagentRunId", vec!["", r#""s""#, "null"]),
    )
        .prop_map(|(kind, id, parent)| {
            format!(r#"{{"type":"{kind}","subagentRunId":"{id}","name":"n","message":"m"{parent}}}"#)
        });
    let run = select(vec![
        STARTED, STARTED, FINISHED, FINISHED, FAILED, r#"{"type":"RUN_FINISHED","threadId":"t","runId":"other"}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r2"}"#, r#"{"type":"RUN_ERROR","message":"m","runId":"r2"}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"x"}"#,
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"r2","input":{"threadId":"t","runId":"r2","messages":[{"id":"a","role":"user","content":"","subagentRunId":"s"}]}}"#,
    ])
    .prop_map(str::to_owned);
    let other = select(vec![
        "[DONE]", "", "oops", "null", "[1]", "{}", r#"{"type":"VENDOR"}"#, r#"{"error":"x"}"#, r#"{"type":"error","message":"x"}"#,
        r#"{"detail":"x"}"#, r#"{"type":"error"}"#, r#"{"type":"RUN_ERROR","error":"x"}"#,
        r#"{"type":"RAW","event":NaN}"#, r#"{"type":"RAW","event":1}{"type":"VENDOR"}"#,
        r#"{"type":"STATE_SNAPSHOT","snapshot":null}"#, r#"{"type":"STATE_DELTA","delta":[{"op":"add"}]}"#,
        r#"{"type":"CUSTOM","name":"n","value":1}"#, r#"{"type":"RAW","event":1,"timestamp":1.5}"#,
        r#"{"type":"REASONING_ENCRYPTED_VALUE","subtype":"message","entityId":"a","encryptedValue":"e","subagentRunId":"u"}"#,
        r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"tool","toolCallId":"a","content":null},{"id":"z","role":"assistant","toolCalls":[]}]}"#,
        r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"q","role":"tool","toolCallId":"a","content":"","subagentRunId":"s"}]}"#,
    ])
    .prop_map(str::to_owned);
    prop_oneof![12 => message, 3 => bare, 10 => call, 4 => step, 4 => agent, 3 => run, 2 => other]
}

fn streams() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(any_event(), 0..30).prop_map(|mut list| {
        list.insert(0, STARTED.to_owned());
        list
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_is_repaired_breaks_no_rule(list in streams()) {
        let list: Vec<_> = list.iter().map(String::as_str).collect();
        let mended = through(Mode::Repair, &list);
        let texts: Vec<_> = mended.texts.iter().map(String::as_str).collect();
        for mode in [Mode::Observe, Mode::Refuse] {
            let again = through(mode, &texts);
            let broken: Vec<_> = again.violations.iter().filter(|rule| **rule != "foreign_error").collect();
            prop_assert!(broken.is_empty() && again.refused.is_none(), "{:?}\n{:#?}\n{:#?}", broken, list, texts);
        }
        let twice = through(Mode::Repair, &texts);
        prop_assert_eq!(&twice.texts, &mended.texts);
        prop_assert!(twice.repaired.is_empty());
    }

    #[test]
    fn modes_agree_on_where_the_first_breach_is(list in streams()) {
        let list: Vec<_> = list.iter().map(String::as_str).collect();
        let observed = through(Mode::Observe, &list);
        prop_assert_eq!(&observed.texts, &list);
        prop_assert!(observed.repaired.is_empty() && observed.refused.is_none());
        let refused = through(Mode::Refuse, &list);
        prop_assert_eq!(&refused.texts, &list[..refused.texts.len()]);
        prop_assert_eq!(refused.refused.is_some(), refused.texts.len() < list.len());
        let mended = through(Mode::Repair, &list);
        if observed.violations.is_empty() && mended.repaired.is_empty() {
            prop_assert_eq!(&mended.texts, &list);
        }
        let same = mended.texts.iter().zip(&list).take_while(|(one, other)| one == other).count();
        prop_assert!(same >= refused.texts.len() || !refused.violations.is_empty() || !mended.repaired.is_empty());
    }
}
