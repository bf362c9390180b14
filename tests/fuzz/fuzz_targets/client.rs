//! The texts of a stream's events come in, in order; what a client has made of them goes out. It reads chunks as what they
//! expand to, keeps deltas as they are spelled, and numbers as JavaScript has them.

use std::{collections::BTreeMap, time::Instant};

use json_patch::Patch;
use serde_json::Value;
use tidegate::{
    agui::{Event, EventKind, json::Members},
    pipeline::{Peers, Pipeline, Recipe, Sink},
};

/// A value, or nothing if something came that nobody can read for certain.
type Known = Option<Value>;

/// What a client has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reduced {
    /// What each message and call is made of: its text, and its metadata.
    items: BTreeMap<String, (Vec<u8>, BTreeMap<String, Vec<u8>>)>,
    /// What began and ended, in order.
    order: Vec<String>,
    activities: Vec<(String, String, Known)>,
    state: Known,
    raws: Vec<Vec<u8>>,
    /// What cannot be read.
    odd: Vec<Vec<u8>>,
}

struct Client {
    expand: Pipeline,
    has: Reduced,
}

impl Client {
    fn reads(&mut self, text: &[u8]) {
        let mut sink = Sink::default();
        self.expand.event(Event::made(text.to_vec()), Instant::now(), &mut sink);
        for event in &sink.events {
            if self.reduce(event).is_none() {
                self.has.odd.push(event.text().to_vec());
            }
        }
    }

    fn reduce(&mut self, event: &Event) -> Option<()> {
        use EventKind::*;
        let has = &mut self.has;
        match event.kind() {
            Raw => has.raws.push(event.text().to_vec()),
            TextMessageContent | ReasoningMessageContent => self.delta(event, "messageId")?,
            ToolCallArgs => self.delta(event, "toolCallId")?,
            ThinkingTextMessageContent => self.delta(event, "type")?,
            StateSnapshot => has.state = value(event, "snapshot"),
            StateDelta => has.state = patched(&has.state, event, "delta"),
            ActivitySnapshot => {
                let (id, class) = (event.string("messageId")?.into_owned(), event.string("activityType")?.into_owned());
                let content = value(event, "content");
                let yields = event.member("replace") == Some(b"false");
                match has.activities.iter_mut().find(|(other, ..)| *other == id) {
                    Some(_) if yields => {}
                    Some(activity) => *activity = (id, class, content),
                    None => has.activities.push((id, class, content)),
                }
            }
            ActivityDelta => {
                let (id, class) = (event.string("messageId")?.into_owned(), event.string("activityType")?.into_owned());
                if let Some(activity) = has.activities.iter_mut().find(|(other, ..)| *other == id) {
                    let content = patched(&activity.2, event, "patch");
                    let object = content.as_ref().is_none_or(Value::is_object);
                    if object && content != activity.2 {
                        *activity = (id, class, content);
                    }
                }
            }
            MessagesSnapshot => has.activities.clear(),
            TextMessageStart
            | TextMessageEnd
            | ToolCallStart
            | ToolCallEnd
            | ReasoningMessageStart
            | ReasoningMessageEnd => {
                let bare = event.without(|member| member.is("rawEvent") || member.is("metadata"));
                let bare = bare.unwrap_or_else(|| event.clone());
                has.order.push(String::from_utf8_lossy(bare.text()).into_owned());
                let name = if event.kind().as_str().starts_with("TOOL") { "toolCallId" } else { "messageId" };
                let (id, metadata) = (item(event, name)?, event.member("metadata")?);
                merge(&mut has.items.entry(id).or_default().1, metadata);
            }
            _ => {}
        }
        Some(())
    }

    fn delta(&mut self, event: &Event, name: &str) -> Option<()> {
        let id = item(event, name)?;
        let delta = event.member("delta")?.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        let (text, metadata) = self.has.items.entry(id).or_default();
        text.extend_from_slice(delta);
        merge(metadata, event.member("metadata").unwrap_or(b"{}"));
        Some(())
    }
}

/// The item that an event is about, by this member of it.
fn item(event: &Event, name: &str) -> Option<String> {
    let (kind, _) = event.kind().as_str().rsplit_once('_')?;
    Some(format!("{kind} {}", event.string(name)?))
}

fn merge(into: &mut BTreeMap<String, Vec<u8>>, metadata: &[u8]) {
    for member in Members::of(metadata) {
        let name = member.name().map_or_else(|| "odd".to_owned(), |name| name.into_owned());
        into.insert(name, member.value.to_vec());
    }
}

fn value(event: &Event, name: &str) -> Option<Value> {
    serde_json::from_slice::<Value>(event.text()).ok()?;
    serde_json::from_slice(event.member(name)?).ok().map(doubles)
}

fn doubles(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().into(),
        Value::Array(list) => list.into_iter().map(doubles).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, doubles(value))).collect(),
        other => other,
    }
}

fn patched(before: &Known, event: &Event, name: &str) -> Known {
    let patch: Patch = serde_json::from_value(value(event, name)?).ok()?;
    let mut after = before.clone()?;
    match json_patch::patch(&mut after, &patch) {
        Ok(()) => Some(after),
        Err(_) => before.clone(),
    }
}

/// What a client has at each barrier, with the barrier, and at the end.
pub fn at_barriers(texts: &[Vec<u8>]) -> Vec<(String, Reduced)> {
    use EventKind::*;
    let expand = Recipe { expand: true, ..Recipe::default() }.build(&Peers::default());
    let mut client = Client { expand, has: Reduced::default() };
    let mut list = Vec::new();
    for text in texts {
        let kind = Event::made(text.clone()).kind();
        let passes =
            kind.is_content() || matches!(kind, Raw | StateSnapshot | StateDelta | ActivitySnapshot | ActivityDelta);
        if !passes {
            list.push((String::from_utf8_lossy(text).into_owned(), client.has.clone()));
        }
        client.reads(text);
    }
    list.push((String::new(), client.has));
    list
}
