//! Subagents that calls begin.

use super::*;

fn subagent(tag: &str, call: &str) -> String {
    format!(r#"{{"type":"SUBAGENT_STARTED","subagentRunId":"{tag}","name":"n","parentToolCallId":"{call}"}}"#)
}

fn of(tag: &str, text: &str) -> String {
    text.replace(r#"{"type":"#, &format!(r#"{{"subagentRunId":"{tag}","type":"#))
}

const MESSAGE: &str = r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}"#;
const ENDED: &str = r#"{"type":"SUBAGENT_FINISHED"}"#;

#[test]
fn a_subagent_of_a_denied_call_is_left_out_with_all_that_is_its_own() {
    let list = [
        start("no", "rm"),
        finish("no"),
        subagent("s", "no"),
        of("s", MESSAGE),
        text("untagged"),
        of("s", r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#),
        of("s", &start("c", "ls")),
        args("c", "{}"),
        finish("c"),
        result("c", "secret"),
        r#"{"type":"SUBAGENT_STARTED","subagentRunId":"t","name":"n","parentSubagentRunId":"s"}"#.to_owned(),
        of("t", r#"{"type":"STEP_STARTED","stepName":"x"}"#),
        of("t", r#"{"type":"CUSTOM","name":"n","value":1}"#),
        of("t", r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"k","delta":"a"}"#),
        r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"b"}"#.to_owned(),
        of("t", ENDED),
        of("s", ENDED),
        r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"p","delta":"shown"}"#.to_owned(),
        FINISHED.to_owned(),
    ];
    for policy in [deny(&["rm"]), deny(&["rm"]).on_denied(OnDenied::Mask)] {
        let out = policy.through(&list);
        assert_eq!(out[out.len() - 2..], list[17..]);
        assert!(
            !out.iter().any(|text| text.contains(r#""s""#) || text.contains("secret") || text.contains("untagged"))
        );
    }
    deny(&["rm"]).keeps(&list, &[17, 18]);
    deny(&["other"]).passes(&list);
}

#[test]
fn its_changes_to_the_shared_state_stay_without_its_name() {
    let delta = r#"{"type":"STATE_DELTA","delta":[]}"#;
    let list = [start("no", "rm"), subagent("s", "no"), of("s", delta)];
    assert_eq!(deny(&["rm"]).through(&list), [delta]);
}

#[test]
fn a_subagent_of_an_unheard_call_is_left_out_too() {
    let list = [subagent("s", "unheard"), of("s", MESSAGE), of("s", ENDED), subagent("s", "unheard"), text("x")];
    deny(&["rm"]).keeps(&list, &[]);
    let alone = r#"{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n"}"#.to_owned();
    deny(&["rm"]).passes(&[alone, of("s", MESSAGE), text("x"), of("s", ENDED)]);
}

#[test]
fn its_changes_to_the_shared_state_name_no_call_that_is_denied() {
    let list = [
        r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"rm"}"#,
        r#"{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n","parentToolCallId":"c"}"#,
        r#"{"type":"STATE_DELTA","delta":[],"toolCallId":"c","subagentRunId":"s"}"#,
    ];
    let out = deny(&["rm"]).through(&list);
    assert!(out.iter().all(|text| !text.contains(r#""c""#)), "{out:?}");
}

#[test]
fn a_later_run_may_use_its_names_again() {
    let again = r#"{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n"}"#.to_owned();
    let list = [
        start("no", "rm"),
        subagent("s", "no"),
        of("s", MESSAGE),
        again.clone(),
        FINISHED.to_owned(),
        STARTED.to_owned(),
        text("late"),
        again,
        of("s", MESSAGE),
        text("x"),
    ];
    deny(&["rm"]).keeps(&list, &[4, 5, 7, 8, 9]);
}

#[test]
fn its_messages_are_in_no_snapshot() {
    let snapshot = |messages: &str| format!(r#"{{"type":"MESSAGES_SNAPSHOT","messages":[{messages}]}}"#);
    let own = r#"{"id":"x","role":"assistant","content":"a","subagentRunId":"s"},{"id":"m","role":"assistant","content":"b"}"#;
    let kept = r#"{"id":"u","role":"user","content":"hi"}"#;
    let list = [start("no", "rm"), subagent("s", "no"), of("s", MESSAGE), snapshot(&format!("{own},{kept}"))];
    assert_eq!(deny(&["rm"]).through(&list), [snapshot(kept)]);
}
