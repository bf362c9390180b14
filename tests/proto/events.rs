//! Events of every type, each member there or not, as valid as the protocol has them. Written down here once more, so
//! that a mistake in the codec's own table does not hide itself.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Each type with its members: `name:kind`, with `?` behind the name of one that need not be there.
const EVENTS: [(&str, &str); 31] = [
    ("TEXT_MESSAGE_START", "messageId:text role?:role name?:text subagentRunId?:text"),
    ("TEXT_MESSAGE_CONTENT", "messageId:text delta:text subagentRunId?:text"),
    ("TEXT_MESSAGE_END", "messageId:text subagentRunId?:text"),
    ("TEXT_MESSAGE_CHUNK", "messageId?:text role?:role delta?:text name?:text subagentRunId?:text"),
    ("TOOL_CALL_START", "toolCallId:text toolCallName:text parentMessageId?:text subagentRunId?:text"),
    ("TOOL_CALL_ARGS", "toolCallId:text delta:text subagentRunId?:text"),
    ("TOOL_CALL_END", "toolCallId:text subagentRunId?:text"),
    ("TOOL_CALL_CHUNK", "toolCallId?:text toolCallName?:text parentMessageId?:text delta?:text subagentRunId?:text"),
    ("TOOL_CALL_RESULT", "messageId:text toolCallId:text content:content role?:tool subagentRunId?:text"),
    ("STATE_SNAPSHOT", "snapshot:json subagentRunId?:text"),
    ("STATE_DELTA", "delta:patch subagentRunId?:text"),
    ("MESSAGES_SNAPSHOT", "messages:messages"),
    ("ACTIVITY_SNAPSHOT", "messageId:text activityType:text content:object replace?:flag subagentRunId?:text"),
    ("ACTIVITY_DELTA", "messageId:text activityType:text patch:patch subagentRunId?:text"),
    ("RAW", "event:json source?:text subagentRunId?:text"),
    ("CUSTOM", "name:text value:json subagentRunId?:text"),
    ("RUN_STARTED", "threadId:text runId:text protocolVersion?:text parentRunId?:text input?:input"),
    ("RUN_FINISHED", "threadId:text runId:text result?:some outcome?:outcome usage?:usage"),
    ("RUN_ERROR", "message:text code?:text usage?:usage"),
    ("STEP_STARTED", "stepName:text subagentRunId?:text"),
    ("STEP_FINISHED", "stepName:text subagentRunId?:text"),
    ("REASONING_START", "messageId:text subagentRunId?:text"),
    ("REASONING_MESSAGE_START", "messageId:text role:reasoning subagentRunId?:text"),
    ("REASONING_MESSAGE_CONTENT", "messageId:text delta:text subagentRunId?:text"),
    ("REASONING_MESSAGE_END", "messageId:text subagentRunId?:text"),
    ("REASONING_MESSAGE_CHUNK", "messageId?:text delta?:text subagentRunId?:text"),
    ("REASONING_END", "messageId:text subagentRunId?:text"),
    ("REASONING_ENCRYPTED_VALUE", "subtype:subtype entityId:text encryptedValue:text subagentRunId?:text"),
    (
        "SUBAGENT_STARTED",
        "subagentRunId:text name:text description?:text parentSubagentRunId?:text parentToolCallId?:text parentMessageId?:text",
    ),
    ("SUBAGENT_FINISHED", "subagentRunId:text result?:some outcome?:suspension"),
    ("SUBAGENT_ERROR", "subagentRunId:text message:text code?:text"),
];

const BASE: &str = "timestamp?:integer rawEvent?:some metadata?:object";
const MESSAGE: &str = "id:text name?:text encryptedValue?:text metadata?:object subagentRunId?:text";

/// An event of any type.
pub fn any_event() -> BoxedStrategy<Value> {
    prop::sample::select((0..EVENTS.len()).collect::<Vec<_>>()).prop_flat_map(event).boxed()
}

/// How many types there are.
pub const TYPES: usize = EVENTS.len();

/// An event of the type at this place.
pub fn event(place: usize) -> BoxedStrategy<Value> {
    let (name, members) = EVENTS[place];
    (object(members), object(BASE))
        .prop_map(move |(mut event, base)| {
            let members = event.as_object_mut().unwrap();
            members.insert("type".into(), name.into());
            members.extend(base.as_object().unwrap().clone());
            event
        })
        .boxed()
}

/// What comes back of an event over the wire: lists that are empty are absent, but those of an echoed input are there.
pub fn carried(event: &Value) -> Value {
    let mut event = event.clone();
    let drop_empty = |object: Option<&mut Value>, name: &str| {
        if let Some(object) = object.and_then(Value::as_object_mut)
            && object.get(name) == Some(&json!([]))
        {
            object.remove(name);
        }
    };
    drop_empty(Some(&mut event), "usage");
    drop_empty(event.get_mut("outcome"), "pendingToolCallIds");
    drop_empty(event.get_mut("outcome"), "interruptIds");
    if let Some(input) = event.get_mut("input") {
        for name in ["tools", "context", "resume"] {
            input.as_object_mut().unwrap().entry(name).or_insert(json!([]));
        }
    }
    for place in ["/messages", "/input/messages"] {
        for message in event.pointer_mut(place).and_then(Value::as_array_mut).into_iter().flatten() {
            drop_empty(Some(message), "toolCalls");
        }
    }
    event
}

fn object(members: &'static str) -> BoxedStrategy<Value> {
    let member = |member: &'static str| {
        let (name, kind) = member.split_once(':').unwrap();
        let value = |name: &'static str| value(kind).prop_map(move |value| Some((name.to_owned(), value)));
        match name.strip_suffix('?') {
            Some(name) => prop_oneof![2 => value(name), 3 => Just(None)].boxed(),
            None => value(name).boxed(),
        }
    };
    let members: Vec<_> = members.split(' ').map(member).collect();
    members.prop_map(|members| Value::Object(members.into_iter().flatten().collect())).boxed()
}

fn value(kind: &str) -> BoxedStrategy<Value> {
    match kind {
        "text" => text().prop_map(Value::from).boxed(),
        "pointer" => "(/([a-zé 0-9]|~0|~1|😀){0,4}){0,3}".prop_map(Value::from).boxed(),
        "json" => any_json().boxed(),
        "some" => any_json().prop_filter("null is absent", |value| !value.is_null()).boxed(),
        "object" => open_object(any_json().boxed()),
        "flag" => any::<bool>().prop_map(Value::from).boxed(),
        "integer" => prop_oneof![0..3_000_000_000_000_i64, -(1_i64 << 53) + 1..1 << 53].prop_map(Value::from).boxed(),
        "count" => prop_oneof![Just(0), 0..100_000_u64, 0..1_u64 << 53].prop_map(Value::from).boxed(),
        "role" => word(&["developer", "system", "assistant", "user"]),
        "tool" => word(&["tool"]),
        "reasoning" => word(&["reasoning"]),
        "subtype" => word(&["tool-call", "message"]),
        "status" => word(&["resolved", "cancelled"]),
        "function" => word(&["function"]),
        "texts" => list(text().prop_map(Value::from).boxed()),
        "patch" => list(operation()),
        "messages" => list(message()),
        "content" => prop_oneof![text().prop_map(Value::from), list(part())].boxed(),
        "call" => object("name:text arguments:text"),
        "calls" => list(object("id:text type:function function:call encryptedValue?:text metadata?:object")),
        "tools" => list(object("name:text description:text parameters?:some metadata?:object")),
        "context" => list(object("description:text value:text")),
        "resume" => list(object("interruptId:text status:status payload?:some metadata?:object")),
        "input" => object(
            "threadId:text runId:text protocolVersion?:text parentRunId?:text state?:some messages:messages tools?:tools \
             context?:context forwardedProps?:some resume?:resume",
        ),
        "usage" => list(object(
            "provider?:text model?:text inputTokens?:count outputTokens?:count totalTokens?:count \
             reasoningTokens?:count cachedInputTokens?:count cacheWriteInputTokens?:count",
        )),
        "outcome" => prop_oneof![
            typed("success", "pendingToolCallIds?:texts"),
            typed("interrupt", "interrupts:interrupts"),
            typed("cancelled", ""),
        ]
        .boxed(),
        "interrupts" => vec(
            object(
                "id:text reason:text message?:text toolCallId?:text responseSchema?:object expiresAt?:text \
                 metadata?:object subagentRunId?:text",
            ),
            1..3,
        )
        .prop_map(Value::from)
        .boxed(),
        "suspension" => prop_oneof![typed("success", ""), typed("suspended", "interruptIds?:texts")].boxed(),
        "source" => prop_oneof![
            typed("data", "value:text mimeType:text"),
            typed("url", "value:text mimeType?:text"),
            typed("file", "value:text provider?:text mimeType?:text"),
        ]
        .boxed(),
        other => unreachable!("no kind {other}"),
    }
}

fn part() -> BoxedStrategy<Value> {
    let media = ["image", "audio", "video", "document"];
    let media = media.map(|name| typed(name, "source:source id?:text metadata?:some"));
    let [image, audio, video, document] = media;
    prop_oneof![2 => typed("text", "text:text id?:text metadata?:some"), 1 => image, 1 => audio, 1 => video, 1 => document]
        .boxed()
}

fn operation() -> BoxedStrategy<Value> {
    let named = |name: &'static str, members: &'static str| with("op", name, members);
    prop_oneof![
        named("add", "path:pointer value:json"),
        named("remove", "path:pointer"),
        named("replace", "path:pointer value:json"),
        named("move", "path:pointer from:pointer"),
        named("copy", "path:pointer from:pointer"),
        named("test", "path:pointer value:json"),
    ]
    .boxed()
}

fn message() -> BoxedStrategy<Value> {
    let of = |role: &'static str, members: &'static str| {
        (with("role", role, members), object(MESSAGE)).prop_map(move |(mut message, more)| {
            let allowed = |name: &str| match role {
                "activity" => !matches!(name, "name" | "encryptedValue"),
                "tool" | "reasoning" => name != "name",
                _ => true,
            };
            let more = more.as_object().unwrap().clone();
            message.as_object_mut().unwrap().extend(more.into_iter().filter(|(name, _)| allowed(name)));
            message
        })
    };
    prop_oneof![
        of("developer", "content:text"),
        of("system", "content:text"),
        of("assistant", "content?:text toolCalls?:calls"),
        of("user", "content:content"),
        of("tool", "content:content toolCallId:text error?:text"),
        of("activity", "content:object activityType:text"),
        of("reasoning", "content:text"),
    ]
    .boxed()
}

fn typed(name: &'static str, members: &'static str) -> BoxedStrategy<Value> {
    with("type", name, members)
}

/// An object with these members, and one more whose value is a fixed text.
fn with(member: &'static str, text: &'static str, members: &'static str) -> BoxedStrategy<Value> {
    let members = if members.is_empty() { Just(Value::Object(Map::new())).boxed() } else { object(members) };
    members
        .prop_map(move |mut object| {
            object.as_object_mut().unwrap().insert(member.to_owned(), text.into());
            object
        })
        .boxed()
}

fn word(words: &'static [&'static str]) -> BoxedStrategy<Value> {
    prop::sample::select(words).prop_map(Value::from).boxed()
}

fn list(element: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    vec(element, 0..3).prop_map(Value::from).boxed()
}

fn text() -> BoxedStrategy<String> {
    prop_oneof![
        4 => "[a-z0-9-]{0,12}",
        1 => Just(String::new()),
        2 => "\\PC{0,20}",
        1 => ".{0,40}",
        1 => "[\"\\\\/\u{0}-\u{1f}\u{7f}\u{85}\u{2028}\u{feff}é漢😀\u{1f468}\u{200d}]{0,8}",
        1 => "[a-zé]{120,300}",
    ]
    .boxed()
}

fn open_object(value: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    let name = prop_oneof![8 => "[a-zA-Z_ é]{0,8}", 1 => "[0-9]{1,3}", 1 => text()];
    let name = name.prop_filter("JavaScript takes it for something else", |name| name != "__proto__");
    vec((name, value), 0..4).prop_map(|members| Value::Object(members.into_iter().collect())).boxed()
}

fn any_json() -> BoxedStrategy<Value> {
    let double = any::<f64>().prop_filter("JSON has no other", |value| value.is_finite());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-1000..1000_i64).prop_map(Value::from),
        prop_oneof![any::<i64>(), (1_i64 << 53) - 4..(1 << 53) + 4].prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        double.prop_map(Value::from),
        prop_oneof![Just(-0.0), Just(0.1), Just(1e21), Just(1e-7), Just(5e-324), Just(f64::MAX)].prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 24, 4, |inner| {
        prop_oneof![vec(inner.clone(), 0..4).prop_map(Value::from), open_object(inner.boxed())]
    })
    .boxed()
}

/// The text of an event, its members in any order, spelled in any of the ways that JSON has.
pub fn spelled(event: &Value) -> BoxedStrategy<String> {
    let (compact, pretty) = (event.to_string(), serde_json::to_string_pretty(event).unwrap());
    let escaped: String = compact
        .encode_utf16()
        .map(|unit| match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii() => char::from(byte).to_string(),
            _ => format!("\\u{unit:04x}"),
        })
        .collect();
    let backwards = event.as_object().unwrap().iter().rev();
    let members: Vec<_> = backwards.map(|(name, value)| format!("{} : {value}", Value::from(name.as_str()))).collect();
    let backwards = format!("\t{{ {} }}\r\n", members.join(" ,\n"));
    prop::sample::select(vec![compact, pretty, escaped, backwards]).boxed()
}

/// Whether the two are the same JSON; numbers are the same if they are the same double, but for the last bit, about
/// which the parser of this test is not exact.
pub fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
            one == other || (one - other).abs() <= one.abs() * 1e-15
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, one)| other.get(name).is_some_and(|other| is_same(one, other)))
        }
        _ => one == other,
    }
}

/// An event in which one thing is not as it should be: an unknown or missing member, or a value of another type.
pub fn any_odd_event() -> BoxedStrategy<Value> {
    let change = (any::<prop::sample::Index>(), option::of(any_json()), "[a-z]{1,4}");
    (any_event(), change)
        .prop_map(|(mut event, (place, value, name))| {
            let mut places = Vec::new();
            walk(&event, String::new(), &mut places);
            let place = places[place.index(places.len())].clone();
            match (event.pointer_mut(&place), value) {
                (Some(Value::Object(members)), None) => {
                    let first = members.keys().find(|name| *name != "type").cloned();
                    first.map(|first| members.remove(&first));
                }
                (Some(Value::Object(members)), Some(value)) => {
                    members.insert(name, value);
                }
                (Some(old), value) => *old = value.unwrap_or(Value::Null),
                (None, _) => {}
            }
            event
        })
        .boxed()
}

fn walk(value: &Value, place: String, places: &mut Vec<String>) {
    if place != "/type" {
        places.push(place.clone());
    }
    match value {
        Value::Array(elements) => {
            elements.iter().enumerate().for_each(|(i, value)| walk(value, format!("{place}/{i}"), places));
        }
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            walk(value, format!("{place}/{}", name.replace('~', "~0").replace('/', "~1")), places);
        }),
        _ => {}
    }
}
