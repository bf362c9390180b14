//! Random streams, cut anywhere, through random policies: nothing of a denied call comes out, and all else as it came.
//!
//! Every text that must not be seen holds the word `SECRET`, and every identifier of a denied call begins with `no-`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// A tool of the random streams, and what the policies make of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Shown,
    Denied,
    /// Its arguments are denied.
    Argued,
    /// Its arguments are looked at, and fine.
    Fine,
}

const FATES: [Fate; 4] = [Fate::Shown, Fate::Denied, Fate::Argued, Fate::Fine];

impl Fate {
    fn is_denied(self) -> bool {
        matches!(self, Self::Denied | Self::Argued)
    }

    fn tool(self) -> &'static str {
        match self {
            Self::Shown => "ls",
            Self::Denied => "rm_SECRET",
            Self::Argued | Self::Fine => "fetch",
        }
    }

    fn arguments(self) -> &'static str {
        match self {
            Self::Shown => r#"{"path":"/é🌊\n"}"#,
            Self::Denied => r#"{"path":"SECRET"}"#,
            Self::Argued => r#"{"a":["🌊"],"url":"http://SECRET.example"}"#,
            Self::Fine => r#"{"url":"http://fine.example"}"#,
        }
    }
}

/// A call that is being made.
#[derive(Clone, Debug)]
struct Made {
    id: String,
    fate: Fate,
    lane: Option<String>,
    chunks: bool,
    is_hidden: bool,
    rest: String,
    begun: bool,
    ended: bool,
}

/// Writes a stream, and which of its events have to come out as they came.
#[derive(Default)]
struct Writer {
    list: Vec<String>,
    /// Those that come out as they came, by place.
    kept: Vec<usize>,
    made: Vec<Made>,
    subagents: Vec<(String, bool)>,
    history: Vec<(Value, bool)>,
    count: usize,
}

/// A string as JSON, each character spelled as an escape where `escaped` says so: halves of pairs too.
fn spelled(text: &str, escaped: bool) -> String {
    if !escaped {
        return json!(text).to_string();
    }
    let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    format!("\"{units}\"")
}

impl Writer {
    fn put(&mut self, text: String, is_kept: bool) {
        if is_kept {
            self.kept.push(self.list.len());
        }
        self.list.push(text);
    }

    fn id(&mut self, is_denied: bool) -> String {
        self.count += 1;
        format!("{}-{}", if is_denied { "no" } else { "yes" }, self.count)
    }

    fn lane(&self, turn: usize) -> (Option<String>, bool) {
        match self.subagents.get(turn % (self.subagents.len() + 1)) {
            Some((tag, is_hidden)) => (Some(tag.clone()), *is_hidden),
            None => (None, false),
        }
    }

    /// Brings what is streamed in a lane in chunks to its end, before something else begins there.
    fn close_chunks(&mut self, lane: Option<&str>) {
        let in_lane = |made: &&mut Made| made.chunks && made.begun && !made.ended && made.lane.as_deref() == lane;
        let mut left = Vec::new();
        for made in self.made.iter_mut().filter(in_lane) {
            made.ended = true;
            let rest = std::mem::take(&mut made.rest);
            if !rest.is_empty() {
                left.push((made.id.clone(), rest, !made.fate.is_denied() && !made.is_hidden));
            }
        }
        for (id, rest, kept) in left {
            let rest = spelled(&rest, true);
            self.put(format!(r#"{{"type":"TOOL_CALL_CHUNK","toolCallId":"{id}","delta":{rest}}}"#), kept);
        }
    }

    fn begin(&mut self, turn: usize, fate: Fate, chunks: bool) {
        let (lane, is_hidden) = self.lane(turn);
        let id = self.id(fate.is_denied() || is_hidden);
        let rest = fate.arguments().to_owned();
        self.made.push(Made { id, fate, lane, chunks, is_hidden, rest, begun: false, ended: false });
    }

    /// The next piece of a call: its start, a part of its arguments, its end, its result.
    fn go_on(&mut self, turn: usize, cut: usize, escaped: bool) {
        if self.made.is_empty() {
            return;
        }
        let at = turn % self.made.len();
        let made = self.made[at].clone();
        let kept = !made.fate.is_denied() && !made.is_hidden;
        let tag = made.lane.as_ref().map_or(String::new(), |tag| format!(r#","subagentRunId":"{tag}""#));
        let id = spelled(&made.id, escaped);
        let mut piece: String = made.rest.chars().take(1 + cut % 9).collect();
        if made.ended {
            piece.clear();
        }
        let delta = spelled(&piece, escaped);
        let name = spelled(made.fate.tool(), escaped);
        self.made[at].rest = made.rest.chars().skip(piece.chars().count()).collect();
        if made.chunks && !made.ended {
            if !made.begun {
                self.close_chunks(made.lane.as_deref());
                let text = format!(
                    r#"{{"type":"TOOL_CALL_CHUNK","toolCallId":{id},"toolCallName":{name},"delta":{delta}{tag}}}"#
                );
                self.put(text, kept);
                self.made[at].begun = true;
            } else {
                let id = if cut.is_multiple_of(2) { format!(r#","toolCallId":{id}"#) } else { tag };
                let bare = id.is_empty();
                // In the parent's lane a piece needs no name at all.
                assert!(!bare || made.lane.is_none());
                self.put(format!(r#"{{"type":"TOOL_CALL_CHUNK","delta":{delta}{id}}}"#), kept);
            }
            if self.made[at].rest.is_empty() {
                self.close_chunks(made.lane.as_deref());
                let custom = made.lane.as_ref().map_or(String::new(), |tag| format!(r#","subagentRunId":"{tag}""#));
                self.put(format!(r#"{{"type":"CUSTOM","name":"n","value":1{custom}}}"#), !made.is_hidden);
            }
            return;
        }
        if !made.begun {
            self.close_chunks(made.lane.as_deref());
            self.made[at].begun = true;
            self.made[at].rest = made.rest;
            return self
                .put(format!(r#"{{"type":"TOOL_CALL_START","toolCallId":{id},"toolCallName":{name}{tag}}}"#), kept);
        }
        self.close_chunks(made.lane.as_deref());
        if !piece.is_empty() {
            return self.put(format!(r#"{{"toolCallId":{id},"delta":{delta},"type":"TOOL_CALL_ARGS"}}"#), kept);
        }
        if !made.ended {
            self.made[at].ended = true;
            return self.put(format!(r#"{{"type":"TOOL_CALL_END","toolCallId":{id}}}"#), kept);
        }
        let says = if kept { "fine" } else { "SECRET" };
        self.put(
            format!(r#"{{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":{id},"content":"{says}"{tag}}}"#),
            kept,
        );
        let call = json!({"id": made.id, "type": "function", "function": {"name": made.fate.tool(), "arguments": made.fate.arguments()}});
        self.history.push((json!({"id": "a", "role": "assistant", "toolCalls": [call]}), kept));
        self.history.push((json!({"id": "t", "role": "tool", "toolCallId": made.id, "content": says}), kept));
        self.made.remove(at);
    }

    /// A snapshot of all calls that were answered.
    fn snapshot(&mut self) {
        self.settle();
        let messages: Vec<_> = self.history.iter().map(|(message, _)| message.clone()).collect();
        let is_kept = self.history.iter().all(|(_, kept)| *kept);
        self.put(json!({"type": "MESSAGES_SNAPSHOT", "messages": messages}).to_string(), is_kept);
    }

    fn subagent(&mut self, turn: usize) {
        let calls: Vec<_> = self.made.iter().filter(|made| made.begun && made.ended).cloned().collect();
        let Some(call) = calls.get(turn % calls.len().max(1)) else { return };
        let is_hidden = call.fate.is_denied() || call.is_hidden;
        self.count += 1;
        let tag = format!("{}sub-{}", if is_hidden { "no-" } else { "" }, self.count);
        let id = &call.id;
        self.put(
            format!(r#"{{"type":"SUBAGENT_STARTED","subagentRunId":"{tag}","name":"n","parentToolCallId":"{id}"}}"#),
            !is_hidden,
        );
        self.subagents.push((tag, is_hidden));
    }

    fn text(&mut self, turn: usize) {
        let (lane, is_hidden) = self.lane(turn);
        self.close_chunks(lane.as_deref());
        let (tag, says) = (
            lane.map_or(String::new(), |tag| format!(r#","subagentRunId":"{tag}""#)),
            if is_hidden { "SECRET" } else { "é" },
        );
        self.put(
            format!(r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"m-{is_hidden}","delta":"{says}"{tag}}}"#),
            !is_hidden,
        );
    }

    /// What was begun and is not whole would be denied: it is taken to its end.
    fn settle(&mut self) {
        for turn in 0..self.made.len() {
            for _ in 0..200 {
                let Some(made) = self.made.get(turn) else { break };
                if !made.begun || made.ended {
                    break;
                }
                self.go_on(turn, 0, false);
            }
        }
    }

    fn next_run(&mut self) {
        self.settle();
        let pending: Vec<_> = self.made.iter().filter(|made| made.begun).collect();
        let ids: Vec<_> = pending.iter().map(|made| made.id.clone()).collect();
        let kept = pending.iter().all(|made| !made.fate.is_denied() && !made.is_hidden);
        let outcome = json!({"type": "success", "pendingToolCallIds": ids});
        self.put(json!({"type": "RUN_FINISHED", "outcome": outcome}).to_string(), kept);
        self.put(STARTED.to_owned(), true);
        self.made.retain(|made| made.begun);
    }

    fn step(&mut self, (what, turn, cut, escaped): (usize, usize, usize, bool)) {
        match what {
            0 | 1 => self.begin(turn, FATES[cut % 4], what == 0),
            2..=12 => self.go_on(turn, cut, escaped),
            13 => self.text(turn),
            14 => self.subagent(turn),
            15 => self.snapshot(),
            16 => self.put(r#"{"type":"RAW","event":"SECRET"}"#.to_owned(), false),
            _ => self.next_run(),
        }
    }
}

fn written(steps: Vec<(usize, usize, usize, bool)>) -> Writer {
    let mut writer = Writer::default();
    writer.put(STARTED.to_owned(), true);
    steps.into_iter().for_each(|step| writer.step(step));
    writer.settle();
    writer
}

fn policies() -> [Written; 3] {
    [deny(&["rm_*"]), allow(&["ls", "f*"]), deny(&["rm_SECRET"]).on_denied(OnDenied::Mask)]
        .map(|policy| policy.argument("fetch", "/url", "SECRET"))
}

/// An event as it says what it says, with no escapes.
fn read(text: &str) -> String {
    serde_json::from_str::<Value>(text).map_or_else(|_| text.to_owned(), |value| value.to_string())
}

/// The arguments of each call, put together.
fn arguments(list: &[String]) -> Vec<(String, String)> {
    let mut calls: Vec<(String, String, Vec<u8>)> = Vec::new();
    let mut last: Vec<(Option<String>, String)> = Vec::new();
    for text in list {
        let event: Value = serde_json::from_str(&text.replace("\\ud", "\\\\ud")).unwrap();
        let lane = event["subagentRunId"].as_str().map(str::to_owned);
        let name = event["type"].as_str().unwrap();
        if !matches!(name, "TOOL_CALL_ARGS" | "TOOL_CALL_CHUNK" | "TOOL_CALL_START") {
            continue;
        }
        let id = match event["toolCallId"].as_str() {
            Some(id) => id.to_owned(),
            None => last.iter().rev().find(|(of, _)| *of == lane).unwrap().1.clone(),
        };
        // What names its item is in the lane where that was opened.
        let opened = last.iter().find(|(_, other)| *other == id).map(|(of, _)| of.clone());
        last.push((opened.unwrap_or(lane), id.clone()));
        if !calls.iter().any(|(other, ..)| *other == id) {
            calls.push((id.clone(), String::new(), Vec::new()));
        }
        let raw = Event::made(text.clone());
        if let Some(delta) = raw.member("delta") {
            let call = calls.iter_mut().find(|(other, ..)| *other == id).unwrap();
            call.2.extend_from_slice(&delta[1..delta.len() - 1]);
        }
    }
    let whole = |raw: &[u8]| serde_json::from_slice::<String>(&[b"\"", raw, b"\""].concat()).unwrap();
    calls.into_iter().map(|(id, _, raw)| (id, whole(&raw))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn nothing_of_a_denied_call_comes_out_and_all_else_as_it_came(
        steps in prop::collection::vec((0..18usize, 0..7usize, 0..40usize, any::<bool>()), 0..120)
    ) {
        let writer = written(steps);
        for policy in policies() {
            let sink = policy.sink(&writer.list);
            prop_assert_eq!(&sink.refused, &None);
            let out = texts(&sink);
            let masks = policy.on_denied == OnDenied::Mask;
            let kept: Vec<_> = writer.kept.iter().map(|n| &writer.list[*n]).collect();
            for text in &out {
                let said = read(text);
                if masks {
                    prop_assert!(!said.replace("rm_SECRET", "").contains("SECRET"), "{}", said);
                } else {
                    prop_assert!(!said.contains("SECRET") && !said.contains("no-"), "{}", said);
                }
            }
            // What is held comes later, but all of it comes.
            let mut left: Vec<_> = out.iter().collect();
            for text in kept {
                let at = left.iter().position(|other| *other == text);
                prop_assert!(at.is_some(), "{} is missing", text);
                left.remove(at.unwrap());
            }
            for (id, arguments) in arguments(&out) {
                let fate = FATES.iter().any(|fate| fate.arguments().starts_with(&arguments));
                prop_assert!(fate || (masks && arguments == "{}"), "{} of {}", arguments, id);
            }
        }
    }

    #[test]
    fn without_anything_to_deny_a_stream_is_untouched(
        steps in prop::collection::vec((0..16usize, 0..7usize, 0..40usize, any::<bool>()), 0..120)
    ) {
        deny(&["unheard"]).passes(&written(steps).list);
    }
}
