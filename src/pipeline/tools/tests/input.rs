//! Inputs of runs, on their way to the agent.

use super::*;
use crate::pipeline::tools::input::{Unreadable, filter};

/// The calls that this input holds.
pub fn known(body: &str) -> Known {
    filter(body.as_bytes(), &deny(&["rm"]).policy()).unwrap().known
}

/// The body that the agent gets, if it is another.
fn filtered(policy: &Written, body: &str) -> Result<Option<String>, Unreadable> {
    let filtered = filter(body.as_bytes(), &policy.policy())?;
    assert_eq!(filtered.body.is_some(), !filtered.losses.is_empty(), "what goes is named");
    let again = filtered.body.as_ref().map(|body| filter(body, &policy.policy()).unwrap().body);
    assert_eq!(again.flatten(), None, "once is enough");
    Ok(filtered.body.map(|body| String::from_utf8(body).unwrap()))
}

const BODY: &str =
    r#"{"runId":"r","tools":[TOOLS], "messages":[MESSAGES],"state":{"n":1.50},"forwardedProps":{"rm":null}}"#;

fn body(tools: &str, messages: &str) -> String {
    BODY.replace("TOOLS", tools).replace("MESSAGES", messages)
}

const LS: &str = r#"{ "name":"ls","description":"d" , "parameters":{"x":1e2}}"#;
const RM: &str = r#"{"name":"r\u006d","description":"d"}"#;
const USER: &str = r#"{"id":"u","role":"user","content":"rm it"}"#;

fn calls(member: &str, list: &[(&str, &str, &str)]) -> String {
    let call = |(id, name, arguments): &(&str, &str, &str)| {
        format!(r#"{{"id":"{id}","type":"function","function":{{"name":"{name}","arguments":"{arguments}"}}}}"#)
    };
    let list: Vec<_> = list.iter().map(call).collect();
    format!(r#"{{"id":"a","role":"assistant","{member}":[{}]}}"#, list.join(","))
}

fn answer(id: &str, content: &str) -> String {
    format!(r#"{{"id":"t","role":"tool","toolCallId":"{id}","content":"{content}"}}"#)
}

#[test]
fn denied_tools_are_not_offered() {
    for policy in [
        deny(&["rm"]),
        allow(&["ls"]),
        deny(&["r*"]).on_denied(OnDenied::Mask),
        deny(&["rm"]).on_denied(OnDenied::Error),
    ] {
        assert_eq!(filtered(&policy, &body(&format!("{RM},{LS}"), USER)), Ok(Some(body(LS, USER))));
        assert_eq!(filtered(&policy, &body(RM, "")), Ok(Some(body("", ""))), "an empty list when none is left");
        assert_eq!(filtered(&policy, &body(LS, USER)), Ok(None));
    }
    assert_eq!(
        filtered(&deny(&["rm"]), "\u{feff}{\"tools\":[{\"name\":\"rm\"}]}"),
        Ok(Some("\u{feff}{\"tools\":[]}".into()))
    );
    assert_eq!(filtered(&deny(&["rm"]), "{}"), Ok(None));
    assert_eq!(filtered(&deny(&["rm"]), r#"{"tools":null,"messages":null}"#), Ok(None));
}

#[test]
fn old_calls_of_denied_tools_go_with_their_results() {
    let old = [USER, &calls("toolCalls", &[("c", "rm", ""), ("d", "ls", "")]), &answer("c", "gone"), &answer("d", "a")]
        .join(",");
    let left = [USER, &calls("toolCalls", &[("d", "ls", "")]), &answer("d", "a")].join(",");
    for policy in [deny(&["rm"]), deny(&["rm"]).on_denied(OnDenied::Error)] {
        assert_eq!(filtered(&policy, &body(LS, &old)), Ok(Some(body(LS, &left))));
    }
    let snake =
        [calls("tool_calls", &[("c", "rm", "")]), answer("c", "gone").replace("toolCallId", "tool_call_id")].join(",");
    assert_eq!(filtered(&deny(&["rm"]), &body("", &snake)), Ok(Some(body("", ""))));
    let masked = deny(&["rm"]).on_denied(OnDenied::Mask);
    let emptied = [calls("toolCalls", &[("c", "rm", "{}")]), answer("c", "")].join(",");
    let full = [calls("toolCalls", &[("c", "rm", "{\\\"p\\\":1}")]), answer("c", "gone")].join(",");
    assert_eq!(filtered(&masked, &body("", &full)), Ok(Some(body("", &emptied))));
}

#[test]
fn an_answer_to_a_call_that_no_message_holds_stays() {
    let policy = deny(&["rm"]).result("read", "KEY");
    assert_eq!(filtered(&policy, &body(LS, &answer("c", "fine"))), Ok(None));
    assert_eq!(filtered(&policy, &body(LS, &answer("c", "KEY"))), Ok(Some(body(LS, &answer("c", "")))));
}

#[test]
fn what_cannot_be_read_is_said() {
    for bad in [
        "",
        "[]",
        "{",
        "{}{}",
        r#"{"tools":{}}"#,
        r#"{"tools":["rm"]}"#,
        r#"{"tools":[{"description":"d"}]}"#,
        r#"{"tools":[{"name":"ls","name":"rm"}]}"#,
        r#"{"tools":[],"tools":[{"name":"rm"}]}"#,
        r#"{"messages":[],"m\u0065ssages":[]}"#,
        r#"{"messages":{}}"#,
        r#"{"messages":[{"role":"assistant","toolCalls":[{"id":"c"}]}]}"#,
        r#"{"messages":[{"role":"tool","content":"x"}]}"#,
    ] {
        assert_eq!(filtered(&deny(&["rm"]), bad), Err(Unreadable), "{bad}");
    }
}
