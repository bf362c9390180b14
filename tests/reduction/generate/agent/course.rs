//! What an agent says of the course of things: steps, spans, subagents, activities, snapshots, and the end of a run.

use serde_json::{Value, json};

use super::{Agent, pick};
use crate::client::lanes::Kind;

impl Agent {
    pub(super) fn activity(&mut self, which: u8, lane: u8, content: &Value, replace: Option<bool>) {
        if which.is_multiple_of(3) || self.activities.is_empty() {
            let id = self.name("v");
            self.activities.push(id);
        }
        let id = pick(&self.activities, which).map(|at| self.activities[at].clone());
        let kind = ["plan", "search"][usize::from(which % 2)];
        let mut event = self.tagged(
            json!({"type": "ACTIVITY_SNAPSHOT", "messageId": id, "activityType": kind, "content": content}),
            lane,
        );
        if let Some(replace) = replace {
            event["replace"] = json!(replace);
        }
        self.emit(event);
    }

    pub(super) fn messages(&mut self, without: u8, change: u8, add: bool) {
        if self.whole && !self.open.is_empty() {
            return;
        }
        let mut messages = self.client.messages.clone();
        messages.retain(|message| message["role"] != "activity");
        if let Some(at) = pick(&messages, without).filter(|_| without > 100) {
            messages.remove(at);
        }
        if let Some(message) =
            pick(&messages, change).map(|at| &mut messages[at]).filter(|one| one["content"].is_string())
        {
            message["content"] = "restated ".into();
        }
        if add {
            messages.push(json!({"id": self.name("u"), "role": "user", "content": [{"type": "text", "text": "and?"}]}));
        }
        self.emit(json!({"type": "MESSAGES_SNAPSHOT", "messages": messages}));
    }

    pub(super) fn step(&mut self, lane: u8, name: &str) {
        let at = self.steps.iter().position(|step| step.0 == lane && step.1 == name);
        let kind = if at.is_some() { "STEP_FINISHED" } else { "STEP_STARTED" };
        let event = self.tagged(json!({"type": kind, "stepName": name}), lane);
        self.emit(event);
        match at {
            Some(at) => drop(self.steps.remove(at)),
            None => self.steps.push((lane, name.into())),
        }
    }

    pub(super) fn span(&mut self, lane: u8) {
        let at = self.spans.iter().position(|span| span.0 == lane);
        let (kind, id) = match at {
            Some(at) => ("REASONING_END", self.spans.remove(at).1),
            None => (
                "REASONING_START",
                self.closed
                    .iter()
                    .rfind(|item| item.kind == Kind::Reasoning && item.lane == self.lane(lane))
                    .map_or_else(|| format!("span of {:?}", self.lane(lane)), |item| item.id.clone()),
            ),
        };
        let event = self.tagged(json!({"type": kind, "messageId": id}), lane);
        if self.emit(event) && at.is_none() {
            self.spans.push((lane, id));
        }
    }

    pub(super) fn subagent(&mut self, lane: u8, error: bool) {
        let Some(id) = self.lane(lane) else { return };
        if self.announced.remove(&lane) {
            return self.dismiss(lane, &id, error);
        }
        if self.used.contains(&id) {
            return;
        }
        let mut event = json!({"type": "SUBAGENT_STARTED", "subagentRunId": id, "name": "helper"});
        if let (Some(call), true) = (self.calls.last(), error) {
            event["parentToolCallId"] = json!(call.id);
        }
        if let Some(parent) = self.announced.first().and_then(|parent| self.lane(*parent)) {
            event["parentSubagentRunId"] = json!(parent);
        }
        self.emit(event);
        self.announced.insert(lane);
    }

    /// A subagent ends, and before that what is open of it.
    pub(super) fn dismiss(&mut self, lane: u8, id: &str, error: bool) {
        while let Some(at) = self.open.iter().position(|item| !item.chunk && item.lane.as_deref() == Some(id)) {
            self.close(at);
        }
        for (_, name) in self.steps.extract_if(.., |step| step.0 == lane).collect::<Vec<_>>() {
            self.emit(json!({"type": "STEP_FINISHED", "stepName": name, "subagentRunId": id}));
        }
        for (_, span) in self.spans.extract_if(.., |span| span.0 == lane).collect::<Vec<_>>() {
            self.emit(json!({"type": "REASONING_END", "messageId": span, "subagentRunId": id}));
        }
        self.emit(if error {
            json!({"type": "SUBAGENT_ERROR", "subagentRunId": id, "message": "lost"})
        } else {
            json!({"type": "SUBAGENT_FINISHED", "subagentRunId": id, "result": {"n": 1}})
        });
        self.turns[usize::from(lane)] += 1;
    }

    pub(super) fn finish(&mut self, outcome: u8) {
        while let Some(at) = self.open.iter().position(|item| !item.chunk) {
            self.close(at);
        }
        for lane in [1, 2, 0] {
            if let (Some(id), true) = (self.lane(lane), self.announced.remove(&lane)) {
                self.dismiss(lane, &id, false);
            }
        }
        for (lane, name) in std::mem::take(&mut self.steps) {
            let event = self.tagged(json!({"type": "STEP_FINISHED", "stepName": name}), lane);
            self.emit(event);
        }
        for (lane, span) in std::mem::take(&mut self.spans) {
            let event = self.tagged(json!({"type": "REASONING_END", "messageId": span}), lane);
            self.emit(event);
        }
        let mut event = json!({"type": "RUN_FINISHED", "threadId": "t", "runId": format!("r{}", self.runs)});
        let pending: Vec<_> = self.calls.iter().filter(|call| !call.answered).map(|call| call.id.clone()).collect();
        match outcome % 5 {
            1 if !pending.is_empty() => event["outcome"] = json!({"type": "success", "pendingToolCallIds": pending}),
            2 => {
                let mut interrupt = json!({"id": "i1", "reason": "tool_call", "message": "sure?"});
                if let Some(call) = pending.first() {
                    interrupt["toolCallId"] = json!(call);
                }
                event["outcome"] = json!({"type": "interrupt", "interrupts": [interrupt]});
            }
            3 => event["outcome"] = json!({"type": "cancelled"}),
            4 => event["result"] = json!({"n": 1}),
            _ => {}
        }
        assert!(self.emit(event.clone()), "{event}: {:?}", self.client.view()["open"]);
    }
}
