//! The events of a stream come in as JSON text, what a client of AG-UI 1.1 holds after them goes out. Written from the
//! protocol alone: it shares nothing with the code that it judges.

mod grammar;
pub mod lanes;
mod messages;
pub mod patch;
mod shape;

use serde_json::{Value, json};

pub use self::grammar::Phase;
use self::{grammar::Grammar, lanes::Lanes};
use crate::json;

/// A client.
#[derive(Clone, Debug)]
pub struct Client {
    /// The messages, in order.
    pub messages: Vec<Value>,
    /// The shared state.
    pub state: Value,
    /// The runs: what their first and their last event said.
    pub runs: Vec<Value>,
    /// What passed by in order: steps, subagents, custom and raw events, and what no one knows.
    pub log: Vec<Value>,
    /// What was wrong first. A strict client takes nothing more after that.
    pub fault: Option<String>,
    /// The chunk streams that are open.
    pub lanes: Lanes,
    grammar: Grammar,
    strict: bool,
}

impl Client {
    /// A client that ends with the first fault, as those of today do.
    pub fn strict() -> Self {
        let (lanes, grammar) = (Lanes::default(), Grammar::default());
        let (messages, runs, log) = (Vec::new(), Vec::new(), Vec::new());
        Self { messages, state: json!({}), runs, log, fault: None, lanes, grammar, strict: true }
    }

    /// A client that makes the best of every event, whatever is wrong with it.
    pub fn lenient() -> Self {
        Self { strict: false, ..Self::strict() }
    }

    /// The client after these events.
    pub fn after<'a>(self, events: impl IntoIterator<Item = &'a str>) -> Self {
        events.into_iter().fold(self, |mut client, event| {
            client.take(event);
            client
        })
    }

    /// Where the stream stands.
    pub fn phase(&self) -> Phase {
        self.grammar.phase
    }

    /// What it holds, to be compared. Of what passed by only the last is looked at: what came before was the last, too.
    pub fn view(&self) -> Value {
        json!({
            "messages": self.messages, "state": self.state, "runs": self.runs,
            "log": [self.log.len(), self.log.last()], "fault": self.fault.is_some(), "open": self.grammar.view(),
        })
    }

    /// Takes one event.
    pub fn take(&mut self, text: &str) {
        let Some(mut event) = json::parse(text).filter(|event| event["type"].is_string()) else {
            return self.wrong("no event".into());
        };
        if self.is_done() {
            return;
        }
        if !shape::is_known(event["type"].as_str().unwrap_or_default()) {
            return self.log.push(event);
        }
        shape::forgive(&mut event);
        if let Err(why) = shape::check(&event) {
            return self.wrong(format!("{}: {why}", event["type"]));
        }
        match self.lanes.expanded(event) {
            Ok(events) => events.iter().for_each(|event| self.apply(event)),
            Err(why) => self.wrong(why),
        }
    }

    /// The stream is over, and so is what is streamed in chunks.
    pub fn end(&mut self) {
        for event in self.lanes.close_all() {
            self.apply(&event);
        }
    }

    /// Whether it would find nothing wrong with this event.
    pub fn accepts(&self, text: &str) -> bool {
        let (lanes, grammar) = (self.lanes.clone(), self.grammar.clone());
        let mut trial = Self { lanes, grammar, ..Self::strict() };
        trial.take(text);
        trial.fault.is_none()
    }

    fn is_done(&self) -> bool {
        self.strict && self.fault.is_some()
    }

    fn wrong(&mut self, why: String) {
        self.fault.get_or_insert(why);
    }

    fn apply(&mut self, event: &Value) {
        if let Err(why) = self.grammar.take(event) {
            self.wrong(why);
        }
        if self.is_done() {
            return;
        }
        if let Err(why) = messages::apply(&mut self.messages, event) {
            self.wrong(why);
        }
        match event["type"].as_str().unwrap_or_default() {
            "RUN_STARTED" => self.runs.push(json!({ "start": said(event) })),
            "RUN_FINISHED" | "RUN_ERROR" => self.ended(event),
            "STATE_SNAPSHOT" => self.state = event["snapshot"].clone(),
            "STATE_DELTA" => match patch::patched(&self.state, &event["delta"]) {
                Ok(state) => self.state = state,
                Err(patch::Fault::Mismatch) => {}
                Err(patch::Fault::Malformed(why)) => self.wrong(why),
            },
            "STEP_STARTED" | "STEP_FINISHED" | "SUBAGENT_STARTED" | "SUBAGENT_FINISHED" | "SUBAGENT_ERROR" | "RAW"
            | "CUSTOM" | "REASONING_START" | "REASONING_END" => self.log.push(said(event)),
            _ => {}
        }
    }

    fn ended(&mut self, event: &Value) {
        match self.runs.last_mut().filter(|run| run.get("end").is_none()) {
            Some(run) => run["end"] = said(event),
            None => self.runs.push(json!({ "end": said(event) })),
        }
    }
}

/// An event without what says nothing of the run.
fn said(event: &Value) -> Value {
    let mut event = event.clone();
    if let Some(members) = event.as_object_mut() {
        members.retain(|name, _| !matches!(name.as_str(), "timestamp" | "rawEvent" | "metadata"));
    }
    event
}
