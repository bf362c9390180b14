//! Well-formed streams of anything at once, held against what the verifiers of old clients allow.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{
    tests::{run, texts},
    *,
};
use crate::agui::Event;

/// One event, made from what is open when its turn comes, so that the stream stays well formed.
#[derive(Clone, Debug)]
enum Move {
    Start(Item, u8),
    Delta(Item, u8, String),
    End(Item, u8),
    Plain(u8),
    NextRun,
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Text,
    UserText,
    Call,
    Span,
    Thought,
    Step,
}

impl Item {
    const fn names(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Self::Text | Self::UserText => {
                ("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "messageId")
            }
            Self::Call => ("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "toolCallId"),
            Self::Span => ("REASONING_START", "", "REASONING_END", "messageId"),
            Self::Thought => {
                ("REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", "messageId")
            }
            Self::Step => ("STEP_STARTED", "", "STEP_FINISHED", "stepName"),
        }
    }

    fn event(self, name: &str, id: u8, rest: &str) -> String {
        format!(r#"{{"type":"{name}","{}":"{self:?}{id}"{rest}}}"#, self.names().3)
    }
}

fn item() -> impl Strategy<Value = Item> {
    prop::sample::select(vec![Item::Text, Item::UserText, Item::Call, Item::Span, Item::Thought, Item::Step])
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        6 => (item(), 0..4u8).prop_map(|(item, id)| Move::Start(item, id)),
        12 => (item(), 0..4u8, "[a-z]{0,3}").prop_map(|(item, id, delta)| Move::Delta(item, id, delta)),
        6 => (item(), 0..4u8).prop_map(|(item, id)| Move::End(item, id)),
        4 => (0..6u8).prop_map(Move::Plain),
        1 => Just(Move::NextRun),
    ];
    (prop::collection::vec(one, 0..60), prop::bool::weighted(0.2)).prop_map(|(mut moves, fails)| {
        moves.extend(fails.then_some(Move::Error));
        moves
    })
}

fn stream(moves: &[Move]) -> Vec<String> {
    let boundary = |kind, run: usize| format!(r#"{{"type":"{kind}","threadId":"t","runId":"r{run}"}}"#);
    let mut open: BTreeSet<(Item, u8)> = BTreeSet::new();
    let mut out = vec![boundary("RUN_STARTED", 0)];
    let mut runs = 0;
    for one in moves {
        match one {
            Move::Start(item, id) => {
                if open.insert((*item, *id)) {
                    let rest = match item {
                        Item::Text => "",
                        Item::UserText => r#","role":"user""#,
                        Item::Call => r#","toolCallName":"n""#,
                        Item::Thought => r#","role":"reasoning""#,
                        Item::Span | Item::Step => "",
                    };
                    out.push(item.event(item.names().0, *id, rest));
                }
            }
            Move::Delta(item, id, delta) => {
                if open.contains(&(*item, *id)) && !item.names().1.is_empty() {
                    out.push(item.event(item.names().1, *id, &format!(r#","delta":"{delta}""#)));
                }
            }
            Move::End(item, id) => {
                if open.remove(&(*item, *id)) {
                    out.push(item.event(item.names().2, *id, ""));
                }
            }
            Move::Plain(which) => out.push(
                [
                    r#"{"type":"RAW","event":1}"#,
                    r#"{"type":"CUSTOM","name":"n","value":1}"#,
                    r#"{"type":"STATE_SNAPSHOT","snapshot":{"a":1}}"#,
                    r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"p","activityType":"P","content":{}}"#,
                    r#"{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"x"}"#,
                    r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#,
                ][usize::from(*which)]
                .into(),
            ),
            Move::NextRun => {
                close(&mut open, &mut out);
                out.push(boundary("RUN_FINISHED", runs));
                runs += 1;
                out.push(boundary("RUN_STARTED", runs));
            }
            Move::Error => {
                out.push(r#"{"type":"RUN_ERROR","message":"m"}"#.into());
                return out;
            }
        }
    }
    close(&mut open, &mut out);
    out.push(boundary("RUN_FINISHED", runs));
    out
}

fn close(open: &mut BTreeSet<(Item, u8)>, out: &mut Vec<String>) {
    out.extend(std::mem::take(open).into_iter().rev().map(|(item, id)| item.event(item.names().2, id, "")));
}

/// What the verifier of a client up to 0.0.36 refuses, by the version; the kinds it does not know too.
fn refused(version: u32, events: &[Event]) -> Option<String> {
    let (mut text, mut call): (Option<String>, Option<String>) = (None, None);
    let (mut steps, mut started, mut over) = (BTreeSet::new(), false, false);
    let mut changed = false;
    for (i, event) in events.iter().enumerate() {
        let kind = event.kind();
        let id = |name| event.string(name).map(|id| id.into_owned());
        let bad = |why: &str| Some(format!("{i} {}: {why}", kind.as_str()));
        let fits = match kind {
            Raw => true,
            TextMessageContent | TextMessageEnd => call.is_none(),
            ToolCallArgs | ToolCallEnd => text.is_none(),
            _ => text.is_none() && call.is_none(),
        };
        if !fits {
            return bad("inside a bracket");
        }
        if over && kind != RunError {
            return bad("after the end");
        }
        if !started && !matches!(kind, RunStarted | RunError) {
            return bad("before the run");
        }
        changed |= matches!(kind, TextMessageStart | ToolCallStart | StateSnapshot | MessagesSnapshot);
        match kind {
            RunStarted if std::mem::replace(&mut started, true) => return bad("a second time"),
            RunFinished if !steps.is_empty() => return bad("inside a step"),
            RunFinished if version < 34 && !changed => return bad("nothing changed"),
            RunStarted => {}
            RunFinished | RunError => over = true,
            TextMessageStart if event.member("role") != Some(br#""assistant""#) => return bad("role"),
            TextMessageStart => text = id("messageId"),
            ToolCallStart => call = id("toolCallId"),
            TextMessageContent | TextMessageEnd if text.is_none() || text != id("messageId") => return bad("not open"),
            ToolCallArgs | ToolCallEnd if call.is_none() || call != id("toolCallId") => return bad("not open"),
            TextMessageEnd => text = None,
            ToolCallEnd => call = None,
            TextMessageContent | ToolCallArgs | Raw | Custom | StateSnapshot | MessagesSnapshot => {}
            ToolCallResult if version >= 30 => {}
            StepStarted if !steps.insert(if version < 34 { None } else { id("stepName") }) => return bad("open"),
            StepFinished if !steps.remove(&if version < 34 { None } else { id("stepName") }) => return bad("not open"),
            StepStarted | StepFinished => {}
            _ => return bad("unknown"),
        }
    }
    (text.is_some() || call.is_some()).then(|| "open at the end".into())
}

/// All deltas of each item, one after another.
fn deltas<'a>(events: impl Iterator<Item = &'a Event>) -> BTreeMap<String, String> {
    let mut all = BTreeMap::<String, String>::new();
    for event in events.filter(|event| matches!(event.kind(), TextMessageContent | ToolCallArgs)) {
        let id = event.string("messageId").or(event.string("toolCallId")).unwrap().into_owned();
        all.entry(id).or_default().push_str(&event.string("delta").unwrap());
    }
    all
}

fn events(list: &[String]) -> Vec<Event> {
    list.iter().map(|text| Event::made(text.clone())).collect()
}

proptest! {
    #[test]
    fn clients_up_to_0_0_36_take_what_comes_out_and_see_the_same(moves in moves()) {
        let list = stream(&moves);
        let before = events(&list);
        let failed = list.last().is_some_and(|last| last.contains("RUN_ERROR"));
        for version in [27, 30, 35, 36] {
            let borrowed: Vec<&str> = list.iter().map(String::as_str).collect();
            let sink = run(shims(Version::npm(version), Unrepresentable::Drop), &borrowed);
            let out = &sink.events;
            prop_assert_eq!(refused(version, out), None, "{} {:#?} from {:#?}", version, texts(&sink), list);
            let shown = |event: &&Event| !event.string("messageId").is_some_and(|id| id.starts_with("UserText"));
            prop_assert_eq!(deltas(out.iter()), deltas(before.iter().filter(shown)));
            let plain = |events: &[Event]| -> Vec<Vec<u8>> {
                let plain = |event: &&Event| matches!(event.kind(), Custom | StateSnapshot | MessagesSnapshot);
                events.iter().filter(plain).map(|event| event.text().to_vec()).collect()
            };
            let unasked = usize::from(out.iter().any(|event| event.text().ends_with(b"null}")));
            prop_assert_eq!(plain(out).len(), plain(&before).len() + unasked);
            let given = |event: &&Event| before.iter().any(|was| was.text() == event.text());
            let ours = out.iter().filter(|event| !given(event)).map(Event::kind);
            let ours: Vec<_> = ours.filter(|kind| !matches!(kind, TextMessageStart)).collect();
            prop_assert!(failed || ours.len() == unasked, "{:?} of ours", ours);
        }
    }

    #[test]
    fn past_the_limit_the_client_still_takes_what_comes_out(moves in moves(), limit in 0..4000usize) {
        let list = stream(&moves);
        let borrowed: Vec<&str> = list.iter().map(String::as_str).collect();
        let stages: Vec<Box<dyn Stage>> = vec![
            Box::new(Omit::new(REASONING, "reasoning", Unrepresentable::Drop)),
            Box::new(Omit::new(&[ActivitySnapshot], "activity", Unrepresentable::Drop)),
            Box::new(roles::Roles::default()),
            Box::new(one_run::OneRun::default()),
            Box::new(serial::Serial::with_limit(limit)),
        ];
        let sink = run(stages, &borrowed);
        prop_assert_eq!(refused(36, &sink.events), None, "{:#?} from {:#?}", texts(&sink), list);
        if sink.refused.is_none() && !sink.events.iter().any(|event| event.kind() == RunError) {
            let shown = |event: &&Event| !event.string("messageId").is_some_and(|id| id.starts_with("UserText"));
            prop_assert_eq!(deltas(sink.events.iter()), deltas(events(&list).iter().filter(shown)));
        }
    }

    #[test]
    fn clients_up_to_0_0_44_get_well_formed_thinking(moves in moves()) {
        let list = stream(&moves);
        let borrowed: Vec<&str> = list.iter().map(String::as_str).collect();
        let sink = run(shims(Version::npm(44), Unrepresentable::Drop), &borrowed);
        let (mut span, mut message, mut thought) = (false, false, BTreeMap::<String, String>::new());
        for event in &sink.events {
            let fits = match event.kind() {
                ThinkingStart => !std::mem::replace(&mut span, true),
                ThinkingEnd => !message && std::mem::replace(&mut span, false),
                ThinkingTextMessageStart => span && !std::mem::replace(&mut message, true),
                ThinkingTextMessageContent => {
                    let delta = event.string("delta").unwrap().into_owned();
                    let filled = !delta.is_empty();
                    thought.entry(event.string("messageId").unwrap().into_owned()).or_default().push_str(&delta);
                    message && filled
                }
                ThinkingTextMessageEnd => std::mem::replace(&mut message, false),
                RunFinished | RunError => !span && !message,
                kind => !kind.as_str().starts_with("REASONING"),
            };
            prop_assert!(fits, "{:?} in {:#?} from {:#?}", event, texts(&sink), list);
        }
        let mut expected = BTreeMap::<String, String>::new();
        for event in events(&list).iter().filter(|event| event.kind() == ReasoningMessageContent) {
            let delta = event.string("delta").unwrap();
            if !delta.is_empty() {
                expected.entry(event.string("messageId").unwrap().into_owned()).or_default().push_str(&delta);
            }
        }
        prop_assert_eq!(thought, expected);
        let rest = |text: &&String| !text.contains("REASONING") && !text.contains("THINKING");
        let out = texts(&sink);
        let (out, list): (Vec<_>, Vec<_>) = (out.iter().filter(rest).collect(), list.iter().filter(rest).collect());
        prop_assert_eq!(out, list);
    }
}
