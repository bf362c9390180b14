//! An event or a message of a masked call comes in, the same with no more than who and when goes out: the arguments read
//! `{}`, the result is empty. Every member that is not known to say nothing of either is left out.

use crate::agui::{
    Event, EventKind,
    edit::{self, Change},
    json::Member,
};

/// The arguments of a masked call, as a JSON string.
pub const NO_ARGUMENTS: &[u8] = br#""{}""#;
/// The result of a masked call, as a JSON string.
pub const NO_RESULT: &[u8] = br#""""#;

/// The members of an event that stay.
const KEPT: &[&str] =
    &["type", "timestamp", "subagentRunId", "toolCallId", "toolCallName", "parentMessageId", "messageId", "role"];

/// The members of a tool message that stay, in both spellings.
const KEPT_OF_RESULT: &[&str] =
    &["id", "role", "name", "toolCallId", "tool_call_id", "subagentRunId", "subagent_run_id"];

fn is_one_of(member: &Member<'_>, names: &[&str]) -> bool {
    names.iter().any(|name| member.is(name))
}

/// An event of a masked call.
pub fn event(event: &Event) -> Event {
    let masked = event
        .edited(|member| match member {
            _ if member.is("delta") => Change::Value(NO_ARGUMENTS.to_vec()),
            _ if member.is("content") => Change::Value(NO_RESULT.to_vec()),
            _ if is_one_of(member, KEPT) => Change::Keep,
            _ => Change::Drop,
        })
        .unwrap_or_else(|| event.clone());
    match event.kind() {
        EventKind::ToolCallChunk => masked.with("delta", NO_ARGUMENTS),
        EventKind::ToolCallResult => masked.with("content", NO_RESULT),
        EventKind::ToolCallStart | EventKind::ToolCallEnd => masked.without(|m| m.is("delta")).unwrap_or(masked),
        _ => masked,
    }
}

/// The only arguments of a masked call: its start comes in.
pub fn arguments(start: &Event) -> Event {
    let mut text = br#"{"type":"TOOL_CALL_ARGS""#.to_vec();
    let mut put = |name: &str, value: Option<&[u8]>| {
        if let Some(value) = value {
            text.extend_from_slice(format!(",\"{name}\":").as_bytes());
            text.extend_from_slice(value);
        }
    };
    put("toolCallId", start.member("toolCallId"));
    put("delta", Some(NO_ARGUMENTS));
    put("subagentRunId", start.member("subagentRunId").filter(|tag| *tag != b"null"));
    text.push(b'}');
    Event::made(text)
}

/// A call of a message; `None` if it says no more than that already.
pub fn call(text: &[u8]) -> Option<Vec<u8>> {
    edit::members(text, |member| match member {
        _ if member.is("function") => function(member.value).into(),
        _ if member.is("id") || member.is("type") => Change::Keep,
        _ => Change::Drop,
    })
}

fn function(text: &[u8]) -> Option<Vec<u8>> {
    let mut has_arguments = false;
    let edited = edit::members(text, |member| match member {
        _ if member.is("arguments") => {
            has_arguments = true;
            if member.value == NO_ARGUMENTS { Change::Keep } else { Change::Value(NO_ARGUMENTS.to_vec()) }
        }
        _ if member.is("name") => Change::Keep,
        _ => Change::Drop,
    });
    if has_arguments { edited } else { edit::appended(edited.as_deref().unwrap_or(text), "arguments", NO_ARGUMENTS) }
}

/// A tool message with an empty result; `None` if it says no more than that already.
pub fn result(text: &[u8]) -> Option<Vec<u8>> {
    let mut has_content = false;
    let edited = edit::members(text, |member| match member {
        _ if member.is("content") => {
            has_content = true;
            if member.value == NO_RESULT { Change::Keep } else { Change::Value(NO_RESULT.to_vec()) }
        }
        _ if is_one_of(member, KEPT_OF_RESULT) => Change::Keep,
        _ => Change::Drop,
    });
    if has_content { edited } else { edit::appended(edited.as_deref().unwrap_or(text), "content", NO_RESULT) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn masked(text: &str) -> String {
        String::from_utf8(event(&Event::made(text.to_owned())).text().to_vec()).unwrap()
    }

    #[test]
    fn an_event_keeps_who_and_when() {
        for (before, after) in [
            (
                r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"rm","metadata":{"a":1},"x":2,"timestamp":1.0}"#,
                r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"rm","timestamp":1.0}"#,
            ),
            (
                r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"rm","delta":"{\"p"}"#,
                r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"rm","delta":"{}"}"#,
            ),
            (
                r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"rm"}"#,
                r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"rm","delta":"{}"}"#,
            ),
            (
                r#"{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"text"}],"error":"e"}"#,
                r#"{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":""}"#,
            ),
            (r#"{"type":"TOOL_CALL_END","toolCallId":"c"}"#, r#"{"type":"TOOL_CALL_END","toolCallId":"c"}"#),
            (
                r#"{"type":"TOOL_CALL_END","toolCallId":"c","delta":"x"}"#,
                r#"{"type":"TOOL_CALL_END","toolCallId":"c"}"#,
            ),
        ] {
            assert_eq!(masked(before), after);
        }
    }

    #[test]
    fn a_call_and_a_result_in_a_message_are_emptied() {
        let text = |edited: Option<Vec<u8>>| edited.map(|text| String::from_utf8(text).unwrap());
        assert_eq!(
            text(call(br#"{"id":"c","type":"function","function":{"name":"rm","arguments":"{\"p\":1}","x":1},"encryptedValue":"A"}"#)).unwrap(),
            r#"{"id":"c","type":"function","function":{"name":"rm","arguments":"{}"}}"#
        );
        assert_eq!(
            text(call(br#"{"id":"c","function":{"name":"rm"}}"#)).unwrap(),
            r#"{"id":"c","function":{"name":"rm","arguments":"{}"}}"#
        );
        assert_eq!(call(br#"{"id":"c","function":{"name":"rm","arguments":"{}"}}"#), None);
        assert_eq!(
            text(result(br#"{"id":"m","role":"tool","tool_call_id":"c","content":"gone","error":"e"}"#)).unwrap(),
            r#"{"id":"m","role":"tool","tool_call_id":"c","content":""}"#
        );
        assert_eq!(result(br#"{"id":"m","role":"tool","toolCallId":"c","content":""}"#), None);
    }
}
