//! Streams with calls that a policy denies go through `tools`: of a denied call a client never hears, and the rest is as it
//! was.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use proptest::{prelude::*, sample::select};
use serde_json::Value;
use tidegate::pipeline::{
    Recipe,
    tools::{ArgumentRule, OnDenied, Policy, Raw, ResultRule},
};

use crate::{
    client::{
        Client,
        lanes::{Kind, Lanes},
    },
    generate::{Menu, Stream, streams},
    json::parse,
    passage::{Passage, config, kind, through},
};

fn policy(allow: Option<&[&str]>, on_denied: OnDenied, arguments: &[ArgumentRule], results: &[ResultRule]) -> Recipe {
    let allow: Option<Vec<String>> = allow.map(|names| names.iter().map(|name| (*name).into()).collect());
    let policy = Policy::new(allow.as_deref(), &["delete_*".into()], on_denied, Raw::Drop, arguments, results).unwrap();
    Recipe { tools: Some(Arc::new(policy)), ..Recipe::default() }
}

/// The events of a stream without chunks.
fn expanded(stream: &Stream) -> Vec<Value> {
    let mut lanes = Lanes::default();
    let mut events =
        stream.0.iter().flat_map(|sent| lanes.expanded(parse(&sent.text).unwrap()).unwrap()).collect::<Vec<_>>();
    events.extend(lanes.close_all());
    events
}

/// What a stream has of denied calls.
struct Denied {
    calls: BTreeSet<String>,
    /// The subagents that they began.
    subagents: BTreeSet<String>,
}

fn denied(events: &[Value]) -> Denied {
    let text = |event: &Value, name: &str| event[name].as_str().map(str::to_owned);
    let mut denied = Denied { calls: BTreeSet::new(), subagents: BTreeSet::new() };
    for event in events {
        let name = event["toolCallName"].as_str().unwrap_or_default();
        if event["type"] == "TOOL_CALL_START" && name.starts_with("delete_") {
            denied.calls.extend(text(event, "toolCallId"));
        }
        for call in event["input"]["messages"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|message| message["toolCalls"].as_array())
            .flatten()
        {
            if call["function"]["name"].as_str().is_some_and(|name| name.starts_with("delete_")) {
                denied.calls.extend(text(call, "id"));
            }
        }
        let parents = [("parentToolCallId", &denied.calls), ("parentSubagentRunId", &denied.subagents)];
        if event["type"] == "SUBAGENT_STARTED"
            && parents.iter().any(|(name, of)| text(event, name).is_some_and(|id| of.contains(&id)))
        {
            denied.subagents.extend(text(event, "subagentRunId"));
        }
    }
    denied
}

impl Denied {
    /// What a client may hear of these messages.
    fn messages(&self, messages: &[Value]) -> Vec<Value> {
        let denied = |id: &Value| id.as_str().is_some_and(|id| self.calls.contains(id));
        let mut messages: Vec<_> = messages.iter().filter(|message| !denied(&message["toolCallId"])).cloned().collect();
        for message in &mut messages {
            if let Some(calls) = message.get_mut("toolCalls").and_then(Value::as_array_mut) {
                calls.retain(|call| !denied(&call["id"]));
                if calls.is_empty() {
                    message.as_object_mut().unwrap().remove("toolCalls");
                }
            }
        }
        messages
    }

    /// What a client may hear of this event.
    fn allowed(&self, event: &Value) -> Option<Value> {
        let denied = |name: &str| event[name].as_str().is_some_and(|id| self.calls.contains(id));
        let of_call = event["type"].as_str().is_some_and(|name| name.starts_with("TOOL_CALL_")) && denied("toolCallId");
        let value_of_call = event["subtype"] == "tool-call" && denied("entityId");
        if of_call || value_of_call || event["type"] == "RAW" {
            return None;
        }
        let mut event = event.clone();
        if let Some(messages) = event["messages"].as_array() {
            event["messages"] = self.messages(messages).into();
        }
        Some(event)
    }

    /// The first string that names a denied call or says something of it.
    fn leak(&self, value: &Value, shown: bool) -> Option<String> {
        match value {
            Value::String(text) => {
                let says = text.contains("ARGUMENTS of delete") || text.contains("RESULT of delete");
                let names = !shown && (text.contains("delete_") || self.calls.contains(text));
                (says || names).then(|| text.clone())
            }
            Value::Array(list) => list.iter().find_map(|value| self.leak(value, shown)),
            Value::Object(members) => members.values().find_map(|value| self.leak(value, shown)),
            _ => None,
        }
    }
}

/// What is compared of what a client holds: nothing of how runs began and ended, which tells of calls too, nor of what is
/// open, since a denied call closes no chunk stream any more, and no message without anything in it.
fn compared(client: &Client) -> Value {
    let mut view = client.view();
    let members = view.as_object_mut().unwrap();
    for name in ["runs", "log", "open"] {
        members.remove(name);
    }
    for message in members["messages"].as_array_mut().unwrap() {
        if message["content"] == "" {
            message.as_object_mut().unwrap().remove("content");
        }
    }
    members["messages"].as_array_mut().unwrap().retain(|message| {
        message["role"] != "assistant" || message.get("content").is_some() || message.get("toolCalls").is_some()
    });
    view
}

/// What is never left out where no subagent is.
fn is_mark(name: &str) -> bool {
    Kind::of(name).is_none() && !matches!(name, "RAW" | "TOOL_CALL_RESULT" | "REASONING_ENCRYPTED_VALUE")
}

fn views<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<Value> {
    let mut client = Client::lenient();
    let mut views = Vec::new();
    for text in texts {
        client.take(text);
        if is_mark(&kind(text)) {
            views.push(compared(&client));
        }
    }
    client.end();
    views.push(compared(&client));
    views
}

fn check(denied: &Denied, passage: &Passage, shown: bool) -> Result<(), TestCaseError> {
    let out = passage.texts().join("\n");
    prop_assert_eq!(&passage.sink.refused, &None, "out:\n{}", out);
    let mut client = Client::strict();
    for text in passage.texts() {
        prop_assert_eq!(denied.leak(&parse(text).unwrap(), shown), None, "{}\nout:\n{}", text, out);
        client.take(text);
        prop_assert_eq!(denied.leak(&client.view(), shown), None, "after {}\nout:\n{}", text, out);
    }
    prop_assert_eq!(&client.fault, &None, "out:\n{}", out);
    Ok(())
}

/// The arguments of each call, as far as they came.
fn arguments(client: &Client) -> HashMap<String, String> {
    let calls = client.messages.iter().filter_map(|message| message["toolCalls"].as_array()).flatten();
    calls
        .map(|call| (call["id"].as_str().unwrap().into(), call["function"]["arguments"].as_str().unwrap().into()))
        .collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_client_never_hears_of_a_denied_call_and_the_rest_is_as_it_was(
        stream in streams(&Menu::default(), 50),
        allow in select(vec![None, Some(&["search", "fetch"][..])]),
    ) {
        let passage = through(&policy(allow, OnDenied::Drop, &[], &[]), &stream.texts());
        let events = expanded(&stream);
        let denied = denied(&events);
        check(&denied, &passage, false)?;
        if denied.subagents.is_empty() {
            let allowed: Vec<_> = events.iter().filter_map(|event| denied.allowed(event)).map(|event| event.to_string()).collect();
            let (before, after) = (views(allowed.iter().map(String::as_str)), views(passage.texts()));
            for (before, after) in before.iter().zip(&after) {
                prop_assert_eq!(before, after, "out:\n{}", passage.texts().join("\n"));
            }
            prop_assert_eq!(before.len(), after.len(), "out:\n{}", passage.texts().join("\n"));
        }
    }

    #[test]
    fn of_a_masked_call_only_name_and_identifier_are_heard(
        stream in streams(&Menu::default(), 50),
    ) {
        let passage = through(&policy(None, OnDenied::Mask, &[], &[]), &stream.texts());
        check(&denied(&expanded(&stream)), &passage, true)?;
    }

    #[test]
    fn calls_and_results_with_what_is_denied_are_never_seen(
        stream in streams(&Menu { pieces: &["secret", "sec"], whole: false }, 50),
    ) {
        let arguments_rule = ArgumentRule { tool: "*".into(), path: "/q".into(), matches: "secret".into() };
        let results_rule = ResultRule { tool: "*".into(), matches: "secret".into() };
        let passage = through(&policy(None, OnDenied::Drop, &[arguments_rule], &[results_rule]), &stream.texts());
        // A call that was shown goes on with what cannot be judged by itself.
        if passage.sink.refused.as_ref().is_some_and(|refused| refused.rule == "late_arguments") {
            return Ok(());
        }
        check(&denied(&expanded(&stream)), &passage, false)?;
        let (before, after) = (Client::strict().after(stream.texts()), Client::strict().after(passage.texts()));
        let sent = arguments(&before);
        for (id, said) in arguments(&after) {
            prop_assert!(!said.contains("secret"), "{} says {}\nout:\n{}", id, said, passage.texts().join("\n"));
            // A snapshot without a call that is still held takes it from the agent's client only.
            let said = Some(&said);
            prop_assert_eq!(said, sent.get(&id).or(said), "out:\n{}", passage.texts().join("\n"));
        }
        for message in after.messages.iter().filter(|message| message["role"] == "tool") {
            prop_assert!(!message["content"].to_string().contains("secret"), "{}", message);
        }
    }
}
