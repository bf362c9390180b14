//! What an agent says of its messages and calls: it opens them, goes on and closes them, and answers calls.

use serde_json::{Map, Value, json};

use super::{super::item::Item, Agent, Call, TOOLS, pick};
use crate::client::lanes::Kind;

impl Agent {
    pub(super) fn open(&mut self, kind: Kind, lane: u8, chunk: bool, again: bool, text: &str, extra: u8) {
        let lane = self.lane(lane);
        let before = |item: &Item| item.kind == kind && item.lane == lane;
        let mut item = match self.closed.iter().rposition(before).filter(|_| again) {
            Some(at) => self.closed.remove(at),
            None => {
                let (id, fields) = self.described(kind, &lane, extra);
                Item::new(kind, id, lane.clone(), chunk, fields)
            }
        };
        item.says(&match item.fields.get("toolCallName").and_then(Value::as_str) {
            Some(name) => json!({ "q": text, "n": [extra, 1.5], "of": format!("ARGUMENTS of {name}") }).to_string(),
            None => text.to_owned(),
        });
        let event = item.opens(extra.is_multiple_of(2).then_some(usize::from(extra % 7)));
        if !self.emit(event) {
            return;
        }
        match kind {
            Kind::ToolCall if !self.calls.iter().any(|call| call.id == item.id) => {
                self.calls.push(Call {
                    id: item.id.clone(),
                    lane,
                    name: item.fields["toolCallName"].as_str().unwrap_or_default().to_owned(),
                    answered: false,
                });
            }
            Kind::Text => self.texts.push((lane, item.id.clone())),
            _ => {}
        }
        self.open.push(item);
    }

    pub(super) fn described(&mut self, kind: Kind, lane: &Option<String>, extra: u8) -> (String, Map<String, Value>) {
        let mut fields = Map::new();
        let turn = usize::from(extra) / 4 % 4;
        match kind {
            Kind::Text => {
                if turn > 1 {
                    fields.insert("role".into(), ["assistant", "user"][turn % 2].into());
                }
                if turn == 3 {
                    fields.insert("name".into(), "Ada".into());
                }
                (self.name("m"), fields)
            }
            Kind::Reasoning => (self.name("k"), fields),
            Kind::ToolCall => {
                fields.insert("toolCallName".into(), TOOLS[usize::from(extra) % 4].into());
                let parent = match turn {
                    0 => None,
                    1 => Some(self.name("p")),
                    _ => self.texts.iter().rfind(|text| text.0 == *lane).map(|text| text.1.clone()),
                };
                fields.extend(parent.map(|parent| ("parentMessageId".into(), parent.into())));
                (self.name("c"), fields)
            }
        }
    }

    /// Whether a chunk of this item that names neither it nor its owner is understood.
    pub(super) fn is_plain(&self, item: &Item) -> bool {
        let mut kin = self.client.lanes.open.iter().filter(|open| open.kind == item.kind);
        match kin.clone().find(|open| open.lane.is_none()) {
            Some(own) => own.id == item.id,
            None => kin.next().is_some_and(|only| only.id == item.id) && kin.next().is_none(),
        }
    }

    pub(super) fn say(&mut self, which: u8, units: u8, bare: bool, repeat: bool) {
        let Some(at) = pick(&self.open, which) else { return };
        let mut item = self.open[at].clone();
        let tagged = !bare || !self.client.lanes.open.is_empty();
        let silent = item.chunk && units == 0 && self.extra.contains_key("metadata");
        let mut event = item.content((!silent).then_some(units.into()), tagged);
        let lane = item.lane.clone().map(Value::from);
        if let (true, Some(members)) = (item.chunk, event.as_object_mut()) {
            let plain = self.is_plain(&item);
            if bare && (plain || lane.is_some()) {
                members.remove(item.kind.id());
            }
            if bare != repeat && (plain || !bare) {
                members.remove("subagentRunId");
            } else if let Some(lane) = lane {
                members.insert("subagentRunId".into(), lane);
            }
            if repeat {
                members.extend(item.fields.clone());
            }
        }
        self.open[at] = item;
        assert!(self.emit(event.clone()), "{event} in {:?}", self.client.lanes.open);
    }

    pub(super) fn close(&mut self, at: usize) {
        let mut item = self.open.remove(at);
        if item.kind == Kind::ToolCall && item.left() > 0 {
            let rest = item.content(Some(item.left()), true);
            self.emit(rest);
        }
        if let Some(end) = item.closes(true) {
            self.emit(end);
        }
        self.closed.push(item);
    }

    pub(super) fn result(&mut self, which: u8, text: &str, parts: bool) {
        let open = |id: &str| self.open.iter().any(|item| item.kind == Kind::ToolCall && item.id == id);
        let waiting: Vec<_> =
            (0..self.calls.len()).filter(|at| !self.calls[*at].answered && !open(&self.calls[*at].id)).collect();
        let Some(at) = pick(&waiting, which).map(|at| waiting[at]) else { return };
        self.calls[at].answered = true;
        let text = format!("{text} RESULT of {}", self.calls[at].name);
        let content = if parts { json!([{"type": "text", "text": text}]) } else { json!(text) };
        let id = self.name("t");
        let mut event =
            json!({"type": "TOOL_CALL_RESULT", "messageId": id, "toolCallId": self.calls[at].id, "content": content});
        if let Some(lane) = &self.calls[at].lane {
            event["subagentRunId"] = json!(lane);
        }
        self.emit(event);
    }

    pub(super) fn encrypted(&mut self, which: u8, of_call: bool, typed: bool) {
        let ids: Vec<&String> = if of_call {
            self.calls.iter().map(|call| &call.id).collect()
        } else {
            self.texts.iter().map(|text| &text.1).collect()
        };
        let id = pick(&ids, which).map_or("nobody", |at| ids[at]);
        let subtype = if of_call { "tool-call" } else { "message" };
        let mut event = json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": subtype, "entityId": id, "encryptedValue": format!("e{which}")});
        if typed {
            event["encryptedValueType"] = json!("v1");
        }
        self.emit(event);
    }
}
