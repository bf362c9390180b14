//! The texts of a stream's events come in, in order; what a client has made of them goes out. A plain one, that reads
//! chunks as what they expand to and keeps the spelling of deltas.
use std::collections::BTreeMap;

use serde_json::Value;

use super::*;
use crate::agui::json::Members;

/// What a client has.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reduced {
    /// What each message and call is made of: its text as it was spelled, and its metadata.
    items: BTreeMap<String, (String, BTreeMap<String, String>)>,
    /// What began and ended, in order.
    order: Vec<String>,
    activities: Vec<(String, String, Value)>,
    state: Value,
    raws: Vec<String>,
    /// What could not be read, with as many items as there were.
    odd: Vec<String>,
}

/// A client, and what its chunks expand by.
pub(super) struct Client {
    expand: Pipeline,
    sink: Sink,
    pub(super) has: Reduced,
}

impl Client {
    pub(super) fn new() -> Self {
        let expand = Recipe { expand: true, ..Recipe::default() }.build(&Peers::default());
        Self {
            expand,
            sink: Sink::default(),
            has: Reduced { state: Value::Object(Default::default()), ..Reduced::default() },
        }
    }

    pub(super) fn reads(&mut self, text: &str) {
        self.expand.event(Event::made(text.to_owned()), Instant::now(), &mut self.sink);
        for event in std::mem::take(&mut self.sink.events) {
            let text = String::from_utf8(event.text().to_vec()).unwrap();
            if self.reduce(&event).is_none() {
                self.has.odd.push(text);
            }
        }
    }

    fn reduce(&mut self, event: &Event) -> Option<()> {
        let kind = event.kind();
        match kind {
            EventKind::Raw => self.has.raws.push(String::from_utf8(event.text().to_vec()).unwrap()),
            EventKind::TextMessageContent | EventKind::ReasoningMessageContent => self.delta(event, "messageId")?,
            EventKind::ToolCallArgs => self.delta(event, "toolCallId")?,
            EventKind::ThinkingTextMessageContent => self.delta(event, "type")?,
            EventKind::StateSnapshot => self.has.state = value(event, "snapshot")?,
            EventKind::StateDelta => {
                let patch: json_patch::Patch = serde_json::from_value(value(event, "delta")?).ok()?;
                let mut state = self.has.state.clone();
                if json_patch::patch(&mut state, &patch).is_ok() {
                    self.has.state = state;
                }
            }
            EventKind::ActivitySnapshot => {
                let (id, class) = (event.string("messageId")?.into_owned(), event.string("activityType")?.into_owned());
                let content = value(event, "content").filter(Value::is_object)?;
                let yields = value(event, "replace") == Some(Value::Bool(false));
                match self.has.activities.iter_mut().find(|(other, ..)| *other == id) {
                    Some(_) if yields => {}
                    Some(activity) => *activity = (id, class, content),
                    None => self.has.activities.push((id, class, content)),
                }
            }
            EventKind::ActivityDelta => {
                let (id, class) = (event.string("messageId")?.into_owned(), event.string("activityType")?.into_owned());
                let patch: json_patch::Patch = serde_json::from_value(value(event, "patch")?).ok()?;
                if let Some(activity) = self.has.activities.iter_mut().find(|(other, ..)| *other == id) {
                    let mut content = activity.2.clone();
                    if json_patch::patch(&mut content, &patch).is_ok() && content.is_object() {
                        *activity = (id, class, content);
                    }
                }
            }
            EventKind::MessagesSnapshot => self.has.activities.clear(),
            kind if kind.as_str().ends_with("_START") || kind.as_str().ends_with("_END") => {
                let bare = event.without(|member| member.is("rawEvent") || member.is("metadata"));
                let bare = bare.unwrap_or_else(|| event.clone());
                self.has.order.push(String::from_utf8(bare.text().to_vec()).unwrap());
                let name = if kind.as_str().starts_with("TOOL") { "toolCallId" } else { "messageId" };
                if let Some(metadata) = event.member("metadata") {
                    let id = item(event, name)?;
                    merge(&mut self.has.items.entry(id).or_default().1, metadata);
                }
            }
            _ => {}
        }
        Some(())
    }

    fn delta(&mut self, event: &Event, id: &str) -> Option<()> {
        let id = item(event, id)?;
        serde_json::from_slice::<serde::de::IgnoredAny>(event.text()).ok()?;
        let delta = std::str::from_utf8(event.member("delta")?).unwrap().strip_prefix('"')?.strip_suffix('"')?;
        let (text, metadata) = self.has.items.entry(id).or_default();
        text.push_str(delta);
        merge(metadata, event.member("metadata").unwrap_or(b"{}"));
        Some(())
    }
}

/// The item that an event is about, by this member of it.
fn item(event: &Event, name: &str) -> Option<String> {
    let (kind, _) = event.kind().as_str().rsplit_once('_')?;
    Some(format!("{kind} {}", event.string(name)?))
}

fn merge(into: &mut BTreeMap<String, String>, metadata: &[u8]) {
    for member in Members::of(metadata) {
        let value = String::from_utf8(member.value.to_vec()).unwrap();
        into.insert(member.name().unwrap().into_owned(), value);
    }
}

fn value(event: &Event, name: &str) -> Option<Value> {
    serde_json::from_slice::<serde::de::IgnoredAny>(event.text()).ok()?;
    serde_json::from_slice(event.member(name)?).ok()
}

/// What a client has at each barrier, with the barrier, and at the end.
pub(super) fn at_barriers<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<(String, Reduced)> {
    let mut client = Client::new();
    let mut list = Vec::new();
    for text in texts {
        let kind = Event::made(text.to_owned()).kind();
        let passes = Shape::of(kind).is_some()
            || matches!(kind, EventKind::Raw | EventKind::StateSnapshot | EventKind::StateDelta)
            || matches!(kind, EventKind::ActivitySnapshot | EventKind::ActivityDelta);
        if !passes {
            list.push((text.to_owned(), client.has.clone()));
        }
        client.reads(text);
    }
    list.push((String::new(), client.has));
    list
}
