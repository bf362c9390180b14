//! An item that is being streamed: what its events say goes out, start, content and end or chunks.

use std::collections::VecDeque;

use serde_json::{Map, Value, json};

use crate::{client::lanes::Kind, json::units};

/// A message or a call, and what is still to be said.
#[derive(Clone, Debug)]
pub struct Item {
    pub kind: Kind,
    pub id: String,
    pub lane: Option<String>,
    pub chunk: bool,
    pub fields: Map<String, Value>,
    rest: VecDeque<char>,
}

impl Item {
    pub fn new(kind: Kind, id: String, lane: Option<String>, chunk: bool, fields: Map<String, Value>) -> Self {
        Self { kind, id, lane, chunk, fields, rest: VecDeque::new() }
    }

    /// Has more to say.
    pub fn says(&mut self, text: &str) {
        self.rest.extend(units(text));
    }

    /// How much is still to be said.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// The next code units of its text.
    fn next(&mut self, count: usize) -> String {
        self.rest.drain(..count.min(self.rest.len())).collect()
    }

    /// An event about it.
    fn event(&self, part: &str, tagged: bool) -> Value {
        let mut event = json!({ "type": format!("{}_{part}", self.kind.prefix()), self.kind.id(): self.id });
        if let (Some(lane), true) = (&self.lane, tagged) {
            event["subagentRunId"] = json!(lane);
        }
        event
    }

    /// The event that opens it; a chunk says the first code units too.
    pub fn opens(&mut self, first: Option<usize>) -> Value {
        let mut event = self.event(if self.chunk { "CHUNK" } else { "START" }, true);
        for (name, value) in &self.fields {
            event[name] = value.clone();
        }
        if self.kind == Kind::Reasoning && !self.chunk {
            event["role"] = json!("reasoning");
        }
        if let (Some(first), true) = (first, self.chunk) {
            event["delta"] = self.next(first).into();
        }
        event
    }

    /// The event with the next code units; `None` of a chunk is one without a delta.
    pub fn content(&mut self, count: Option<usize>, tagged: bool) -> Value {
        let part = match (self.chunk, self.kind) {
            (true, _) => "CHUNK",
            (false, Kind::ToolCall) => "ARGS",
            (false, _) => "CONTENT",
        };
        let mut event = self.event(part, tagged);
        if let Some(count) = count {
            event["delta"] = self.next(count).into();
        }
        event
    }

    /// The event that closes it, if it is not made of chunks.
    pub fn closes(&self, tagged: bool) -> Option<Value> {
        (!self.chunk).then(|| self.event("END", tagged))
    }
}
