//! The events about messages come in, without chunks, and change a list of messages as a client holds it.

use serde_json::{Map, Value, json};

use super::{lanes::Kind, patch};
use crate::json::joined;

fn is(message: &Value, id: &Value) -> bool {
    message.get("id") == Some(id)
}

fn is_reasoning(message: &Value) -> bool {
    message["role"] == "reasoning"
}

/// Applies an event to the messages. `Err` if a patch is malformed.
pub fn apply(messages: &mut Vec<Value>, event: &Value) -> Result<(), String> {
    let name = event["type"].as_str().unwrap_or_default();
    match (name, Kind::of(name)) {
        (_, Some((Kind::ToolCall, part))) => call(messages, part, event),
        (_, Some((kind, part))) => message(messages, kind, part, event),
        ("TOOL_CALL_RESULT", _) => result(messages, event),
        ("MESSAGES_SNAPSHOT", _) => reconcile(messages, event),
        ("ACTIVITY_SNAPSHOT", _) => activity(messages, event),
        ("ACTIVITY_DELTA", _) => return activity_delta(messages, event),
        ("REASONING_ENCRYPTED_VALUE", _) => encrypted(messages, event),
        _ => {}
    }
    Ok(())
}

/// Copies the members of these names.
fn copy(to: &mut Value, event: &Value, names: &[&str]) {
    for name in names {
        if let Some(value) = event.get(*name) {
            to[*name] = value.clone();
        }
    }
}

/// Merges the metadata of an event into what it belongs to, key by key.
fn merge(target: &mut Value, event: &Value) {
    let Some(new) = event.get("metadata").and_then(Value::as_object) else { return };
    if !target["metadata"].is_object() {
        target["metadata"] = Value::Object(Map::new());
    }
    if let Some(metadata) = target["metadata"].as_object_mut() {
        metadata.extend(new.clone());
    }
}

fn append(target: &mut Value, event: &Value) {
    let whole = format!("{}{}", target.as_str().unwrap_or_default(), event["delta"].as_str().unwrap_or_default());
    *target = joined(&whole).into();
}

fn message(messages: &mut Vec<Value>, kind: Kind, part: &str, event: &Value) {
    let reasoning = kind == Kind::Reasoning;
    let at = messages.iter().position(|held| is(held, &event["messageId"]) && is_reasoning(held) == reasoning);
    if part == "START" && at.is_none() {
        let role =
            if reasoning { json!("reasoning") } else { event.get("role").cloned().unwrap_or("assistant".into()) };
        let mut new = json!({ "id": event["messageId"], "role": role, "content": "" });
        copy(&mut new, event, &["name", "subagentRunId"]);
        messages.push(new);
    }
    let at = at.or_else(|| (part == "START").then(|| messages.len() - 1));
    let Some(held) = at.and_then(|at| messages.get_mut(at)) else { return };
    if part == "CONTENT" {
        append(&mut held["content"], event);
    }
    merge(held, event);
}

fn find_call<'a>(messages: &'a mut [Value], id: &Value) -> Option<&'a mut Value> {
    let calls = messages.iter_mut().filter_map(|message| message.get_mut("toolCalls")?.as_array_mut());
    calls.flatten().find(|call| is(call, id))
}

fn call(messages: &mut Vec<Value>, part: &str, event: &Value) {
    let id = &event["toolCallId"];
    if part == "START" && find_call(messages, id).is_none() {
        let parent = event.get("parentMessageId");
        let held =
            messages.iter().position(|held| held["role"] == "assistant" && parent.is_some_and(|id| is(held, id)));
        let at = held.unwrap_or_else(|| {
            let mut new = json!({ "id": parent.unwrap_or(id), "role": "assistant" });
            copy(&mut new, event, &["subagentRunId"]);
            messages.push(new);
            messages.len() - 1
        });
        let new =
            json!({ "id": id, "type": "function", "function": { "name": event["toolCallName"], "arguments": "" } });
        match messages[at].get_mut("toolCalls").and_then(Value::as_array_mut) {
            Some(calls) => calls.push(new),
            None => messages[at]["toolCalls"] = json!([new]),
        }
    }
    let Some(held) = find_call(messages, id) else { return };
    if part == "ARGS" {
        append(&mut held["function"]["arguments"], event);
    }
    merge(held, event);
}

fn result(messages: &mut Vec<Value>, event: &Value) {
    let mut new = json!({ "id": event["messageId"], "role": "tool" });
    copy(&mut new, event, &["toolCallId", "content", "subagentRunId"]);
    merge(&mut new, event);
    match messages.iter_mut().find(|held| is(held, &event["messageId"])) {
        Some(held) => *held = new,
        None => messages.push(new),
    }
}

/// The kinds of content parts that a client of today knows.
const PARTS: &[&str] = &["text", "image", "audio", "video", "document"];

fn reconcile(messages: &mut Vec<Value>, event: &Value) {
    let mut new: Vec<Value> = event["messages"].as_array().cloned().unwrap_or_default();
    for message in &mut new {
        if let Some(parts) = message.get_mut("content").and_then(Value::as_array_mut) {
            parts.retain(|part| part["type"].as_str().is_some_and(|kind| PARTS.contains(&kind)));
        }
    }
    let carries = |role: &str| new.iter().any(|message| message["role"] == role);
    let kept: Vec<_> = ["activity", "reasoning"].into_iter().filter(|role| !carries(role)).collect();
    messages.retain_mut(|held| match new.iter().find(|message| is(message, &held["id"])) {
        Some(message) => {
            *held = message.clone();
            true
        }
        None => held["role"].as_str().is_some_and(|role| kept.contains(&role)),
    });
    for message in new {
        if !messages.iter().any(|held| is(held, &message["id"])) {
            messages.push(message);
        }
    }
}

fn find_activity<'a>(messages: &'a mut [Value], event: &Value) -> Option<&'a mut Value> {
    messages.iter_mut().find(|held| is(held, &event["messageId"]) && held["role"] == "activity")
}

fn activity(messages: &mut Vec<Value>, event: &Value) {
    let replaces = event.get("replace") != Some(&Value::Bool(false));
    if find_activity(messages, event).is_none() {
        let mut new = json!({ "id": event["messageId"], "role": "activity" });
        copy(&mut new, event, &["activityType", "content", "subagentRunId"]);
        messages.push(new);
    }
    let Some(held) = find_activity(messages, event) else { return };
    if replaces {
        if let Some(members) = held.as_object_mut() {
            members.remove("subagentRunId");
        }
        copy(held, event, &["activityType", "content", "subagentRunId"]);
    }
    merge(held, event);
}

fn activity_delta(messages: &mut [Value], event: &Value) -> Result<(), String> {
    let Some(held) = find_activity(messages, event) else { return Ok(()) };
    match patch::patched(&held["content"], &event["patch"]) {
        Ok(content) if content.is_object() => {
            held["content"] = content;
            copy(held, event, &["activityType"]);
            merge(held, event);
        }
        Ok(_) | Err(patch::Fault::Mismatch) => {}
        Err(patch::Fault::Malformed(why)) => return Err(why),
    }
    Ok(())
}

fn encrypted(messages: &mut [Value], event: &Value) {
    let target = match event["subtype"].as_str() {
        Some("tool-call") => find_call(messages, &event["entityId"]),
        Some("message") => messages.iter_mut().find(|held| is(held, &event["entityId"])),
        _ => None,
    };
    if let Some(held) = target {
        if let Some(held) = held.as_object_mut() {
            held.remove("encryptedValueType");
        }
        copy(held, event, &["encryptedValue", "encryptedValueType"]);
    }
}
