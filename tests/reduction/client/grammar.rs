//! The events of a stream come in, without chunks; that they come at the right time, or what is wrong, goes out.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::lanes::Kind;

/// Where a stream stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing came yet.
    #[default]
    Fresh,
    Active,
    Finished,
    Failed,
}

type Owner = Option<String>;

/// What is open and what is known of it.
#[derive(Clone, Debug, Default)]
pub struct Grammar {
    pub phase: Phase,
    thread: Option<String>,
    run: Option<String>,
    /// What is open, by its kind and its identifier, with its owner.
    open: BTreeMap<(&'static str, String), Owner>,
    /// Whose the text messages of the run are.
    owners: BTreeMap<String, Owner>,
    steps: BTreeSet<(Owner, String)>,
    /// The announced subagents of the run, and whether they are still at it.
    subagents: BTreeMap<String, bool>,
}

type Verdict = Result<(), String>;

fn text(event: &Value, name: &str) -> Option<String> {
    event.get(name).and_then(Value::as_str).map(str::to_owned)
}

impl Grammar {
    /// What is open, to be looked at.
    pub fn view(&self) -> Value {
        let items: Vec<_> = self.open.iter().map(|((kind, id), owner)| json!([kind, id, owner])).collect();
        json!({ "items": items, "steps": self.steps, "subagents": self.subagents, "phase": format!("{:?}", self.phase) })
    }

    /// Takes an event. It counts even if it breaks a rule.
    pub fn take(&mut self, event: &Value) -> Verdict {
        let name = text(event, "type").unwrap_or_default();
        let phase = self.phase(&name);
        let rest = match name.as_str() {
            "RUN_STARTED" => self.started(event),
            "RUN_FINISHED" => self.finished(event),
            "RUN_ERROR" => {
                self.phase = Phase::Failed;
                self.reset();
                Ok(())
            }
            "STEP_STARTED" | "STEP_FINISHED" => self.step(&name, event),
            "SUBAGENT_STARTED" | "SUBAGENT_FINISHED" | "SUBAGENT_ERROR" => self.subagent(&name, event),
            "REASONING_START" => self.item("span", "START", text(event, "messageId"), event),
            "REASONING_END" => self.item("span", "END", text(event, "messageId"), event),
            _ => match Kind::of(&name) {
                Some((kind, part)) => self.item(kind.prefix(), part, text(event, kind.id()), event),
                None => Ok(()),
            },
        };
        phase.and(rest)
    }

    fn phase(&self, name: &str) -> Verdict {
        let allowed = match self.phase {
            Phase::Fresh => matches!(name, "RUN_STARTED" | "RUN_ERROR"),
            Phase::Active => name != "RUN_STARTED",
            Phase::Finished => matches!(name, "RUN_STARTED" | "RUN_ERROR"),
            Phase::Failed => name == "RUN_STARTED",
        };
        if allowed { Ok(()) } else { Err(format!("{name} while the stream is {:?}", self.phase)) }
    }

    fn reset(&mut self) {
        self.open.clear();
        self.owners.clear();
        self.steps.clear();
        self.subagents.clear();
    }

    fn started(&mut self, event: &Value) -> Verdict {
        let thread = text(event, "threadId");
        let same = self.thread.is_none() || self.thread == thread;
        self.reset();
        self.phase = Phase::Active;
        self.run = text(event, "runId");
        self.thread = thread;
        if same { Ok(()) } else { Err("a run of another thread".into()) }
    }

    fn finished(&mut self, event: &Value) -> Verdict {
        let open = self.open.keys().next().map(|(kind, id)| format!("{kind} {id} is open"));
        let step = self.steps.iter().next().map(|(_, name)| format!("step {name} is open"));
        let subagent =
            self.subagents.iter().find(|(_, active)| **active).map(|(id, _)| format!("subagent {id} is open"));
        let ids = (text(event, "threadId") != self.thread || text(event, "runId") != self.run)
            .then(|| "RUN_FINISHED of another run".into());
        self.reset();
        self.phase = Phase::Finished;
        [open, step, subagent, ids, twice(event)].into_iter().flatten().next().map_or(Ok(()), Err)
    }

    fn step(&mut self, name: &str, event: &Value) -> Verdict {
        let key = (text(event, "subagentRunId"), text(event, "stepName").unwrap_or_default());
        let fine = if name == "STEP_STARTED" { self.steps.insert(key.clone()) } else { self.steps.remove(&key) };
        if fine { Ok(()) } else { Err(format!("{name} of {key:?}")) }
    }

    fn subagent(&mut self, name: &str, event: &Value) -> Verdict {
        let id = text(event, "subagentRunId").unwrap_or_default();
        if name != "SUBAGENT_STARTED" {
            let was = self.subagents.insert(id.clone(), false);
            return if was == Some(true) { Ok(()) } else { Err(format!("{name} of {id}, which is not at it")) };
        }
        let parent = text(event, "parentSubagentRunId");
        let orphan = parent.is_some_and(|parent| !self.subagents.contains_key(&parent));
        if self.subagents.insert(id.clone(), true).is_some() || orphan {
            return Err(format!("{name} of {id}"));
        }
        Ok(())
    }

    fn item(&mut self, kind: &'static str, part: &str, id: Option<String>, event: &Value) -> Verdict {
        let key = (kind, id.unwrap_or_default());
        let tag = text(event, "subagentRunId");
        if part == "START" {
            let carrier = text(event, "parentMessageId").and_then(|id| self.owners.get(&id));
            if tag.is_some() && carrier.is_some_and(|owner| *owner != tag) {
                return Err(format!("call {} of another than the message that carries it", key.1));
            }
            if kind == "TEXT_MESSAGE" {
                self.owners.insert(key.1.clone(), tag.clone());
            }
            let was = self.open.insert(key.clone(), tag);
            return if was.is_none() { Ok(()) } else { Err(format!("{kind} {} is open already", key.1)) };
        }
        let owner = if part == "END" { self.open.remove(&key) } else { self.open.get(&key).cloned() };
        match owner {
            None => Err(format!("{kind} {} is not open", key.1)),
            Some(owner) if tag.is_some() && tag != owner => Err(format!("{kind} {} is not of {tag:?}", key.1)),
            Some(_) => Ok(()),
        }
    }
}

/// What is wrong with the interrupts of an outcome: two of one name.
fn twice(event: &Value) -> Option<String> {
    let interrupts = event.get("outcome")?.get("interrupts")?.as_array()?;
    let mut seen = BTreeSet::new();
    interrupts
        .iter()
        .find(|one| !seen.insert(one["id"].to_string()))
        .map(|one| format!("a second interrupt {}", one["id"]))
}
