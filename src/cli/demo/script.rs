//! What the demo's agent says: a user's message and the run's ids come in, the events of a run and their
//! pauses go out. The agent plays them and the demo expects them, so both read this. No I/O.

use std::time::Duration;

use serde_json::{Value, json};

/// A run that the agent knows by heart, chosen by a word in the last user message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// An answer in text, token by token.
    Text,
    /// A tool call whose arguments come in deltas, its result, and an answer.
    Tool,
    /// Shared state: one snapshot, then deltas.
    State,
    /// A run that the agent itself ends with `RUN_ERROR`.
    Fail,
    /// A stream that breaks off in the middle of an answer.
    Break,
}

/// The ids of one run, as its input named them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ids {
    /// `threadId`
    pub thread: String,
    /// `runId`
    pub run: String,
}

/// One thing that the agent does, after a pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// How long the agent waits before it.
    pub pause: Duration,
    /// What it does then.
    pub what: What,
}

/// See [`Step`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Sends this event: JSON on one line.
    Event(String),
    /// Drops the connection without ending the body.
    BreakOff,
}

const ANSWER: &str = "The tide comes in twice a day: the Earth turns under two bulges of water, \
    one below the Moon and one on the far side.";
const FORECAST: &str = "It is 12 degrees in Bern, so take a coat.";
const CUT_SHORT: &str = "The answer to this question is quite";

impl Scenario {
    /// All of them, in the order in which the demo runs them.
    pub const ALL: [Self; 5] = [Self::Text, Self::Tool, Self::State, Self::Fail, Self::Break];

    /// The scenario that a user's message asks for; [`Scenario::Text`] when it names none.
    pub fn asked_by(message: &str) -> Self {
        let message = message.to_lowercase();
        let word = |scenario: &Self| scenario.word().is_some_and(|word| message.contains(word));
        Self::ALL.into_iter().find(word).unwrap_or(Self::Text)
    }

    /// The word in a message that chooses it; `None` for the one that needs no word.
    pub const fn word(self) -> Option<&'static str> {
        match self {
            Self::Text => None,
            Self::Tool => Some("weather"),
            Self::State => Some("plan"),
            Self::Fail => Some("fail"),
            Self::Break => Some("break"),
        }
    }

    /// What it shows, in a few words.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Text => "text, token by token",
            Self::Tool => "a tool call",
            Self::State => "shared state",
            Self::Fail => "an agent that reports an error",
            Self::Break => "an agent that breaks off",
        }
    }

    /// The message with which the demo asks for it.
    pub const fn question(self) -> &'static str {
        match self {
            Self::Text => "Why is there a tide?",
            Self::Tool => "What is the weather in Bern?",
            Self::State => "Plan two days in Bern.",
            Self::Fail => "Please fail.",
            Self::Break => "Please break off.",
        }
    }

    /// The `outcome` under which the gateway counts it.
    pub const fn outcome(self) -> &'static str {
        match self {
            Self::Text | Self::Tool | Self::State => "finished",
            Self::Fail => "agent_error",
            Self::Break => "truncated",
        }
    }

    /// All that the agent does in a run with these ids.
    pub fn steps(self, ids: &Ids) -> Vec<Step> {
        let mut run = Run { ids, steps: Vec::new(), deltas: 0 };
        run.event(5, "RUN_STARTED", json!({"threadId": ids.thread, "runId": ids.run, "protocolVersion": "1.1"}));
        match self {
            Self::Text => run.says("m1", ANSWER, true),
            Self::Tool => {
                run.calls("c1", "get_weather", &["{\"ci", "ty\":", "\"Be", "rn\"}"]);
                let result = json!({"messageId": run.id("m1"), "toolCallId": run.id("c1"), "content": "12 degrees"});
                run.event(300, "TOOL_CALL_RESULT", result);
                run.says("m2", FORECAST, true);
            }
            Self::State => {
                // Spelled by hand, the 240.50 above all: what a gateway does not change arrives spelled the same.
                run.raw(
                    120,
                    r#"{"type":"STATE_SNAPSHOT","snapshot":{"to":"Bern","days":0,"budget":240.50,"stops":[]}}"#,
                );
                run.raw(180, r#"{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/days","value":2}]}"#);
                run.raw(180, r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/stops/-","value":"Zytglogge"}]}"#);
                run.raw(
                    180,
                    concat!(
                        r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/stops/-","value":"Rosengarten"},"#,
                        r#"{"op":"replace","path":"/budget","value":198.00}]}"#
                    ),
                );
            }
            Self::Fail => {
                run.says("m1", "One moment, I am looking it up.", true);
                run.event(150, "RUN_ERROR", json!({"message": "the model is overloaded", "code": "overloaded"}));
                return run.steps;
            }
            Self::Break => {
                run.says("m1", CUT_SHORT, false);
                run.steps.push(Step { pause: Duration::from_millis(60), what: What::BreakOff });
                return run.steps;
            }
        }
        let mut end = json!({"threadId": ids.thread, "runId": ids.run});
        if run.deltas > 0 {
            end["usage"] = json!([{"provider": "demo", "model": "script", "outputTokens": run.deltas}]);
        }
        run.event(30, "RUN_FINISHED", end);
        run.steps
    }
}

/// A run being written down.
struct Run<'a> {
    ids: &'a Ids,
    steps: Vec<Step>,
    /// Deltas of text so far: a script's tokens.
    deltas: u64,
}

impl Run<'_> {
    /// An id that no other run of the thread uses.
    fn id(&self, suffix: &str) -> String {
        format!("{}-{suffix}", self.ids.run)
    }

    fn raw(&mut self, pause_ms: u64, event: &str) {
        self.steps.push(Step { pause: Duration::from_millis(pause_ms), what: What::Event(event.to_owned()) });
    }

    /// An event with `type` first, as agents write it.
    fn event(&mut self, pause_ms: u64, kind: &str, members: Value) {
        let members = members.to_string();
        self.raw(pause_ms, &format!("{{\"type\":\"{kind}\",{}", &members[1..]));
    }

    /// A text message, one word a delta; without its end where the stream is to break off inside it.
    fn says(&mut self, message: &str, text: &str, whole: bool) {
        let id = self.id(message);
        self.event(40, "TEXT_MESSAGE_START", json!({"messageId": id, "role": "assistant"}));
        for (n, word) in (0u64..).zip(text.split_inclusive(' ')) {
            // 30 to 60 ms, unevenly, as a model's tokens come.
            self.event(30 + n * 17 % 31, "TEXT_MESSAGE_CONTENT", json!({"messageId": id, "delta": word}));
            self.deltas += 1;
        }
        if whole {
            self.event(5, "TEXT_MESSAGE_END", json!({"messageId": id}));
        }
    }

    /// A tool call with these pieces of its arguments.
    fn calls(&mut self, call: &str, tool: &str, arguments: &[&str]) {
        let id = self.id(call);
        self.event(60, "TOOL_CALL_START", json!({"toolCallId": id, "toolCallName": tool}));
        for delta in arguments {
            self.event(45, "TOOL_CALL_ARGS", json!({"toolCallId": id, "delta": delta}));
        }
        self.event(5, "TOOL_CALL_END", json!({"toolCallId": id}));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn ids() -> Ids {
        Ids { thread: "t".into(), run: "r".into() }
    }

    #[test]
    fn each_question_chooses_its_scenario() {
        for scenario in Scenario::ALL {
            assert_eq!(Scenario::asked_by(scenario.question()), scenario);
        }
        assert_eq!(Scenario::asked_by(""), Scenario::Text);
    }

    #[test]
    fn every_event_is_json_on_one_line_with_its_type_first() {
        for step in Scenario::ALL.into_iter().flat_map(|scenario| scenario.steps(&ids())) {
            let What::Event(json) = step.what else {
                continue;
            };
            assert!(json.starts_with("{\"type\":\""), "{json}");
            assert!(!json.contains('\n'), "{json}");
            serde_json::from_str::<Value>(&json).unwrap();
        }
    }

    #[test]
    fn a_script_begins_with_its_ids_and_ends_as_its_outcome_says() {
        for scenario in Scenario::ALL {
            let steps = scenario.steps(&ids());
            let types: Vec<_> = steps
                .iter()
                .map(|step| match &step.what {
                    What::Event(json) => serde_json::from_str::<Value>(json).unwrap()["type"].clone(),
                    What::BreakOff => "nothing".into(),
                })
                .collect();
            assert_eq!(types[0], "RUN_STARTED");
            let end = match scenario.outcome() {
                "finished" => "RUN_FINISHED",
                "agent_error" => "RUN_ERROR",
                _ => "nothing",
            };
            assert_eq!(types.last().unwrap(), end);
            assert_eq!(types.iter().filter(|kind| *kind == end).count(), 1);
        }
    }

    #[test]
    fn the_whole_demo_takes_less_than_eight_seconds() {
        let whole: Duration = Scenario::ALL.into_iter().flat_map(|s| s.steps(&ids())).map(|step| step.pause).sum();
        assert!(whole < Duration::from_secs(7), "{whole:?}");
        assert!(whole > Duration::from_secs(2), "{whole:?}");
    }
}
