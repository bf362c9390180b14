//! An event comes in, what is wrong with its members comes out: a required one that is missing, a known one of a value
//! that the protocol has no room for. Members that nobody knows are fine.

use serde_json::Value;

use super::patch;

/// What each type of event has: the members with what they hold, `?` behind those that may be missing.
const TYPES: &[(&str, &str)] = &[
    ("RUN_STARTED", "threadId:text runId:text protocolVersion?:text parentRunId?:text input?:object"),
    ("RUN_FINISHED", "threadId:text runId:text result?:some outcome?:outcome usage?:list"),
    ("RUN_ERROR", "message:text code?:text usage?:list"),
    ("STEP_STARTED", "stepName:text"),
    ("STEP_FINISHED", "stepName:text"),
    ("TEXT_MESSAGE_START", "messageId:text role?:role name?:text"),
    ("TEXT_MESSAGE_CONTENT", "messageId:text delta:text"),
    ("TEXT_MESSAGE_END", "messageId:text"),
    ("TEXT_MESSAGE_CHUNK", "messageId?:text role?:role delta?:text name?:text"),
    ("TOOL_CALL_START", "toolCallId:text toolCallName:text parentMessageId?:text"),
    ("TOOL_CALL_ARGS", "toolCallId:text delta:text"),
    ("TOOL_CALL_END", "toolCallId:text"),
    ("TOOL_CALL_CHUNK", "toolCallId?:text toolCallName?:text parentMessageId?:text delta?:text"),
    ("TOOL_CALL_RESULT", "messageId:text toolCallId:text content:content role?:tool"),
    ("STATE_SNAPSHOT", "snapshot:any"),
    ("STATE_DELTA", "delta:patch"),
    ("MESSAGES_SNAPSHOT", "messages:list"),
    ("ACTIVITY_SNAPSHOT", "messageId:text activityType:text content:object replace?:bool"),
    ("ACTIVITY_DELTA", "messageId:text activityType:text patch:patch"),
    ("RAW", "event:any source?:text"),
    ("CUSTOM", "name:text value:any"),
    ("REASONING_START", "messageId:text"),
    ("REASONING_END", "messageId:text"),
    ("REASONING_MESSAGE_START", "messageId:text role:reasoning"),
    ("REASONING_MESSAGE_CONTENT", "messageId:text delta:text"),
    ("REASONING_MESSAGE_END", "messageId:text"),
    ("REASONING_MESSAGE_CHUNK", "messageId?:text delta?:text"),
    ("REASONING_ENCRYPTED_VALUE", "subtype:text entityId:text encryptedValue:text encryptedValueType?:text"),
    (
        "SUBAGENT_STARTED",
        "name:text description?:text parentSubagentRunId?:text parentToolCallId?:text parentMessageId?:text",
    ),
    ("SUBAGENT_FINISHED", "result?:some outcome?:outcome"),
    ("SUBAGENT_ERROR", "message:text code?:text"),
];

/// The types of events that carry no `subagentRunId`, and those that have to.
const UNTAGGED: &[&str] = &["RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"];
const NAMED: &[&str] = &["SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR"];

/// Whether the protocol describes this type.
pub fn is_known(name: &str) -> bool {
    TYPES.iter().any(|(known, _)| *known == name)
}

/// Takes out the nulls that clients of 1.0 read as nothing.
pub fn forgive(event: &mut Value) {
    const FORGIVEN: &[&str] = &["rawEvent", "result", "outcome", "parentMessageId"];
    if let Some(members) = event.as_object_mut() {
        members.retain(|name, value| !value.is_null() || !FORGIVEN.contains(&name.as_str()));
    }
}

/// What is wrong with this event, if its type is known.
pub fn check(event: &Value) -> Result<(), String> {
    let name = event.get("type").and_then(Value::as_str).unwrap_or_default();
    let Some((_, members)) = TYPES.iter().find(|(known, _)| *known == name) else { return Ok(()) };
    let tag = match name {
        name if UNTAGGED.contains(&name) => "",
        name if NAMED.contains(&name) => "subagentRunId:text",
        _ => "subagentRunId?:text",
    };
    let all = [members, tag, "timestamp?:integer rawEvent?:some metadata?:object"];
    for member in all.iter().flat_map(|part| part.split_whitespace()) {
        let Some((name, kind)) = member.split_once(':') else { continue };
        let (name, optional) = name.strip_suffix('?').map_or((name, false), |name| (name, true));
        match event.get(name) {
            None if optional => {}
            None => return Err(format!("{name} is missing")),
            Some(value) if fits(kind, value) => {}
            Some(value) => return Err(format!("{name} is {value}")),
        }
    }
    Ok(())
}

fn fits(kind: &str, value: &Value) -> bool {
    let among = |list: &[&str]| value.as_str().is_some_and(|text| list.contains(&text));
    match kind {
        "any" => true,
        "some" => !value.is_null(),
        "text" => value.is_string(),
        "object" => value.is_object(),
        "list" => value.is_array(),
        "bool" => value.is_boolean(),
        "integer" => value.as_i64().is_some_and(|number| number.unsigned_abs() < 1 << 53),
        "role" => among(&["developer", "system", "assistant", "user"]),
        "tool" | "reasoning" => among(&[kind]),
        "content" => value.is_string() || value.is_array(),
        "patch" => patch::check(value).is_ok(),
        "outcome" => value.get("type").is_some_and(Value::is_string),
        _ => false,
    }
}
