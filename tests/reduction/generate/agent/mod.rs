//! Acts come in, a valid stream goes out. What is not possible when its turn comes is left out: a client that goes along
//! has the last word on that.

mod course;
mod items;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{
    Sent, Stream,
    act::{Act, Ending, Step},
    item::Item,
    spell::spell,
};
use crate::client::{Client, Phase};

/// The names of tools.
pub const TOOLS: [&str; 4] = ["search", "delete_all", "fetch", "delete_one"];

/// What identifiers end with: whatever a string may hold.
const ODD: [&str; 5] = ["", "\"", "é", "😀", "/ "];

struct Call {
    id: String,
    name: String,
    lane: Option<String>,
    answered: bool,
}

struct Agent {
    client: Client,
    sent: Vec<Sent>,
    at: u64,
    whole: bool,
    /// How many things have a name.
    named: u32,
    runs: u32,
    /// How often each lane's subagent was another.
    turns: [u32; 3],
    announced: BTreeSet<u8>,
    used: BTreeSet<String>,
    open: Vec<Item>,
    closed: Vec<Item>,
    calls: Vec<Call>,
    texts: Vec<(Option<String>, String)>,
    activities: Vec<String>,
    steps: Vec<(u8, String)>,
    spans: Vec<(u8, String)>,
    /// What comes with the next event.
    extra: Map<String, Value>,
    spelling: u32,
}

/// The stream of these acts.
pub fn perform(steps: &[Step], ending: Ending, whole: bool) -> Stream {
    let mut agent = Agent {
        client: Client::strict(),
        sent: Vec::new(),
        at: 0,
        whole,
        named: 0,
        runs: 0,
        turns: [0; 3],
        announced: BTreeSet::new(),
        used: BTreeSet::new(),
        open: Vec::new(),
        closed: Vec::new(),
        calls: Vec::new(),
        texts: Vec::new(),
        activities: Vec::new(),
        steps: Vec::new(),
        spans: Vec::new(),
        extra: Map::new(),
        spelling: 0,
    };
    for step in steps {
        agent.at += u64::from(step.gap);
        agent.spelling = step.spelling;
        agent.begin();
        let members = [("metadata", step.metadata.clone()), ("rawEvent", step.raw_event.clone())];
        agent.extra = members.into_iter().filter_map(|(name, value)| Some((name.into(), value?))).collect();
        if step.timestamp {
            agent.extra.insert("timestamp".into(), json!(1_700_000_000_000_u64 + agent.at));
        }
        agent.act(&step.act);
        agent.extra.clear();
    }
    agent.begin();
    match ending {
        Ending::Finished => agent.finish(0),
        Ending::Failed => drop(agent.emit(json!({"type": "RUN_ERROR", "message": "broken"}))),
        Ending::Cut => {}
    }
    Stream(agent.sent)
}

fn pick<T>(list: &[T], which: u8) -> Option<usize> {
    (usize::from(which)).checked_rem(list.len())
}

impl Agent {
    /// Sends an event, if the protocol allows it here.
    fn emit(&mut self, mut value: Value) -> bool {
        if let Some(members) = value.as_object_mut() {
            members.extend(self.extra.clone());
        }
        let text = spell(&value, self.spelling);
        if !self.client.accepts(&text) {
            return false;
        }
        self.client.take(&text);
        self.used.extend(value["subagentRunId"].as_str().map(str::to_owned));
        self.spelling = self.spelling.wrapping_mul(747_796_405);
        self.sent.push(Sent { at: self.at, value, text });
        self.extra.clear();
        let open = &self.client.lanes.open;
        let is_open = |item: &Item| !item.chunk || open.iter().any(|one| one.kind == item.kind && one.id == item.id);
        let (still, done) = std::mem::take(&mut self.open).into_iter().partition(is_open);
        self.open = still;
        self.closed.extend::<Vec<_>>(done);
        true
    }

    fn name(&mut self, prefix: &str) -> String {
        self.named += 1;
        format!("{prefix}{}{}", self.named, ODD[self.named as usize % ODD.len()])
    }

    fn lane(&self, lane: u8) -> Option<String> {
        (lane > 0).then(|| format!("s{}.{lane}.{}", self.runs, self.turns[usize::from(lane)]))
    }

    fn tagged(&self, mut value: Value, lane: u8) -> Value {
        if let Some(lane) = self.lane(lane) {
            value["subagentRunId"] = json!(lane);
        }
        value
    }

    /// A run begins, if none is under way.
    fn begin(&mut self) {
        if self.client.phase() == Phase::Active {
            return;
        }
        self.runs += 1;
        (self.turns, self.announced) = ([0; 3], BTreeSet::new());
        self.open.clear();
        self.closed.clear();
        self.calls.clear();
        self.steps.clear();
        self.spans.clear();
        let run = format!("r{}", self.runs);
        let mut started = json!({"type": "RUN_STARTED", "threadId": "t", "runId": run});
        if self.spelling % 3 == 1 {
            started["protocolVersion"] = json!("1.1");
            let call = json!({"id": format!("old{}", self.runs), "type": "function", "function": {"name": TOOLS[self.runs as usize % 4], "arguments": "{}"}});
            started["input"] = json!({"threadId": "t", "runId": run, "tools": [], "context": [],
                "messages": [{"id": "u0", "role": "user", "content": "go"}, {"id": "a0", "role": "assistant", "toolCalls": [call]}]});
        }
        self.emit(started);
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Open { kind, lane, chunk, again, text, extra } => {
                self.open(*kind, *lane, *chunk, *again, text, *extra)
            }
            Act::Say { which, units, bare, repeat } => self.say(*which, *units, *bare, *repeat),
            Act::Close { which } => {
                if let Some(at) = pick(&self.open, *which).filter(|at| !self.open[*at].chunk) {
                    self.close(at);
                }
            }
            Act::Result { which, text, parts } => self.result(*which, text, *parts),
            Act::State(value) => {
                self.emit(json!({"type": "STATE_SNAPSHOT", "snapshot": value}));
            }
            Act::Patch(patch) => {
                self.emit(json!({"type": "STATE_DELTA", "delta": patch}));
            }
            Act::Activity { which, lane, content, replace } => self.activity(*which, *lane, content, *replace),
            Act::ActivityPatch { which, patch } => {
                let id = pick(&self.activities, *which).map_or("none", |at| &self.activities[at]);
                self.emit(json!({"type": "ACTIVITY_DELTA", "messageId": id, "activityType": "plan", "patch": patch}));
            }
            Act::Messages { without, change, add } => self.messages(*without, *change, *add),
            Act::Custom { lane, value } => {
                let event = self.tagged(json!({"type": "CUSTOM", "name": "vendor", "value": value}), *lane);
                self.emit(event);
            }
            Act::Raw { value } => {
                self.emit(json!({"type": "RAW", "event": value, "source": "lib"}));
            }
            Act::Unknown { value } => {
                self.emit(json!({"type": "VENDOR_EVENT", "delta": value, "messageId": "m"}));
            }
            Act::Step { lane, name } => self.step(*lane, &format!("step {name}")),
            Act::Span { lane } => self.span(*lane),
            Act::Subagent { lane, error } => self.subagent(*lane, *error),
            Act::Encrypted { which, of_call, typed } => self.encrypted(*which, *of_call, *typed),
            Act::Finish { outcome } => self.finish(*outcome),
            Act::Fail => {
                self.emit(json!({"type": "RUN_ERROR", "message": "failed", "code": "E"}));
            }
        }
    }
}
