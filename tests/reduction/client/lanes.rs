//! Events come in, chunks among them, and the same events go out with start, content and end in place of chunks.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

/// What can be streamed in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Text,
    ToolCall,
    Reasoning,
}

impl Kind {
    /// The beginning of the names of its events.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Text => "TEXT_MESSAGE",
            Self::ToolCall => "TOOL_CALL",
            Self::Reasoning => "REASONING_MESSAGE",
        }
    }

    /// The member that names an item.
    pub fn id(self) -> &'static str {
        if self == Self::ToolCall { "toolCallId" } else { "messageId" }
    }

    /// The members that describe an item, which its first event fixes.
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Text => &["role", "name"],
            Self::ToolCall => &["toolCallName", "parentMessageId"],
            Self::Reasoning => &[],
        }
    }

    /// The kind and the part (start, content, args, end or chunk) that the name of an event says.
    pub fn of(name: &str) -> Option<(Self, &str)> {
        let part = |kind: Self| Some((kind, name.strip_prefix(kind.prefix())?.strip_prefix('_')?));
        let found = part(Self::Text).or_else(|| part(Self::ToolCall)).or_else(|| part(Self::Reasoning))?;
        (found.1 != "RESULT").then_some(found)
    }
}

/// A chunk stream that is open.
#[derive(Clone, Debug)]
pub struct Open {
    pub kind: Kind,
    pub id: String,
    pub lane: Option<String>,
    fields: Map<String, Value>,
}

/// The lanes of a stream.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    pub open: Vec<Open>,
    owners: HashMap<(Kind, String), String>,
}

fn text(event: &Value, name: &str) -> Option<String> {
    event.get(name).and_then(Value::as_str).map(str::to_owned)
}

impl Lanes {
    /// The events that this one stands for.
    pub fn expanded(&mut self, event: Value) -> Result<Vec<Value>, String> {
        let name = text(&event, "type").unwrap_or_default();
        let tag = text(&event, "subagentRunId");
        let mut out = Vec::new();
        match (name.as_str(), Kind::of(&name)) {
            (_, Some((kind, "CHUNK"))) => return self.chunk(kind, &event),
            (_, Some((kind, part))) => {
                let id = text(&event, kind.id()).unwrap_or_default();
                self.close(|open| open.kind == kind && open.id == id, &mut out);
                if let ("START", Some(tag)) = (part, &tag) {
                    self.owners.insert((kind, id.clone()), tag.clone());
                }
                let lane = tag.or_else(|| self.owners.get(&(kind, id)).cloned());
                self.close(|open| open.lane == lane, &mut out);
            }
            ("RUN_STARTED" | "RUN_FINISHED" | "RUN_ERROR", _) => {
                self.close(|_| true, &mut out);
                self.owners.clear();
            }
            ("MESSAGES_SNAPSHOT", _) => self.close(|_| true, &mut out),
            (
                "SUBAGENT_FINISHED" | "SUBAGENT_ERROR" | "TOOL_CALL_RESULT" | "STEP_STARTED" | "STEP_FINISHED"
                | "STATE_SNAPSHOT" | "STATE_DELTA" | "CUSTOM" | "REASONING_START" | "REASONING_END",
                _,
            ) => self.close(|open| open.lane == tag, &mut out),
            _ => {}
        }
        out.push(event);
        Ok(out)
    }

    /// Closes all that is open.
    pub fn close_all(&mut self) -> Vec<Value> {
        let mut out = Vec::new();
        self.close(|_| true, &mut out);
        out
    }

    fn close(&mut self, which: impl Fn(&Open) -> bool, out: &mut Vec<Value>) {
        self.open.retain(|open| {
            let closes = which(open);
            if closes {
                out.push(made(open.kind, "END", &open.id, open.lane.as_ref(), &[]));
            }
            !closes
        });
    }

    fn chunk(&mut self, kind: Kind, event: &Value) -> Result<Vec<Value>, String> {
        let (id, tag) = (text(event, kind.id()), text(event, "subagentRunId"));
        let at = match (&id, &tag) {
            (Some(id), _) => self.open.iter().position(|open| open.kind == kind && open.id == *id),
            (None, Some(_)) => self.open.iter().position(|open| open.kind == kind && open.lane == tag),
            (None, None) => self.untagged(kind)?,
        };
        match at.and_then(|at| self.open.get(at)) {
            Some(open) if tag.is_some() && tag != open.lane => {
                Err(format!("a chunk of {} with another owner", open.id))
            }
            Some(open) => continued(open, event),
            None => self.opened(kind, id, tag, event),
        }
    }

    /// Which stream a chunk continues that names neither item nor owner.
    fn untagged(&self, kind: Kind) -> Result<Option<usize>, String> {
        let mut kin = (0..self.open.len()).filter(|at| self.open[*at].kind == kind);
        let own = kin.clone().find(|at| self.open[*at].lane.is_none());
        match (own, kin.next(), kin.next()) {
            (Some(own), ..) => Ok(Some(own)),
            (None, only, None) => Ok(only),
            _ => Err("a chunk that could continue several".into()),
        }
    }

    fn opened(
        &mut self,
        kind: Kind,
        id: Option<String>,
        lane: Option<String>,
        event: &Value,
    ) -> Result<Vec<Value>, String> {
        let id = id.ok_or("a first chunk without an identifier")?;
        if kind == Kind::ToolCall && text(event, "toolCallName").is_none() {
            return Err(format!("a first chunk without a name: {id}"));
        }
        let mut fields: Map<String, Value> =
            kind.fields().iter().filter_map(|name| Some(((*name).into(), event.get(*name)?.clone()))).collect();
        match kind {
            Kind::Text => drop(fields.entry("role").or_insert("assistant".into())),
            Kind::Reasoning => drop(fields.insert("role".into(), "reasoning".into())),
            Kind::ToolCall => {}
        }
        let mut out = Vec::new();
        self.close(|open| open.lane == lane, &mut out);
        let carried = [("metadata", event.get("metadata")), ("rawEvent", event.get("rawEvent"))];
        let described = fields.iter().map(|(name, value)| (name.as_str(), Some(value)));
        out.push(made(kind, "START", &id, lane.as_ref(), &described.chain(carried).collect::<Vec<_>>()));
        if let Some(delta) = event.get("delta") {
            out.push(made(kind, content(kind), &id, lane.as_ref(), &[("delta", Some(delta))]));
        }
        if let Some(lane) = &lane {
            self.owners.insert((kind, id.clone()), lane.clone());
        }
        self.open.push(Open { kind, id, lane, fields });
        Ok(out)
    }
}

fn content(kind: Kind) -> &'static str {
    if kind == Kind::ToolCall { "ARGS" } else { "CONTENT" }
}

fn continued(open: &Open, event: &Value) -> Result<Vec<Value>, String> {
    for name in open.kind.fields() {
        if event.get(*name).is_some_and(|value| open.fields.get(*name) != Some(value)) {
            return Err(format!("a chunk of {} with another {name}", open.id));
        }
    }
    let (delta, metadata, raw) = (event.get("delta"), event.get("metadata"), event.get("rawEvent"));
    if delta.is_none() && metadata.is_none() && raw.is_none() {
        return Ok(Vec::new());
    }
    let empty = json!("");
    let members = [("delta", delta.or(Some(&empty))), ("metadata", metadata), ("rawEvent", raw)];
    Ok(vec![made(open.kind, content(open.kind), &open.id, open.lane.as_ref(), &members)])
}

fn made(kind: Kind, part: &str, id: &str, lane: Option<&String>, members: &[(&str, Option<&Value>)]) -> Value {
    let mut event = json!({ "type": format!("{}_{part}", kind.prefix()), kind.id(): id });
    if let Some(lane) = lane {
        event["subagentRunId"] = json!(lane);
    }
    for (name, value) in members.iter().filter_map(|(name, value)| Some((name, (*value)?))) {
        event[*name] = value.clone();
    }
    event
}
