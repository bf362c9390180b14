//! What an agent may do next, as small numbers that shrink to nothing. Which of it is possible is for the
//! [`Agent`](super::agent::Agent) to say, so that any list of acts is a valid stream.

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

use crate::client::lanes::Kind;

/// One thing to do. What is named by number counts modulo what there is.
#[derive(Clone, Debug)]
pub enum Act {
    /// Opens an item, or one that was closed again.
    Open {
        kind: Kind,
        lane: u8,
        chunk: bool,
        again: bool,
        text: String,
        extra: u8,
    },
    /// Sends the next code units of an open item's text.
    Say {
        which: u8,
        units: u8,
        bare: bool,
        repeat: bool,
    },
    /// Closes an open item.
    Close {
        which: u8,
    },
    /// Sends the result of a call.
    Result {
        which: u8,
        text: String,
        parts: bool,
    },
    State(Value),
    Patch(Value),
    Activity {
        which: u8,
        lane: u8,
        content: Value,
        replace: Option<bool>,
    },
    ActivityPatch {
        which: u8,
        patch: Value,
    },
    /// Restates the messages, some left out and one changed or added.
    Messages {
        without: u8,
        change: u8,
        add: bool,
    },
    Custom {
        lane: u8,
        value: Value,
    },
    Raw {
        value: Value,
    },
    Unknown {
        value: Value,
    },
    /// Starts a step or finishes it.
    Step {
        lane: u8,
        name: u8,
    },
    /// Opens a span of reasoning or closes it.
    Span {
        lane: u8,
    },
    /// Announces a subagent or ends it.
    Subagent {
        lane: u8,
        error: bool,
    },
    Encrypted {
        which: u8,
        of_call: bool,
        typed: bool,
    },
    /// Ends the run; the next act begins another.
    Finish {
        outcome: u8,
    },
    Fail,
}

/// An act with what comes with its first event.
#[derive(Clone, Debug)]
pub struct Step {
    pub act: Act,
    pub metadata: Option<Value>,
    pub raw_event: Option<Value>,
    pub timestamp: bool,
    /// How its events are spelled; 0 is as plain as can be.
    pub spelling: u32,
    /// Milliseconds since the act before.
    pub gap: u8,
}

/// How a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Finished,
    Failed,
    Cut,
}

/// What a kind of stream is made of.
#[derive(Clone, Debug, Default)]
pub struct Menu {
    /// Pieces that texts are made of besides the ordinary ones.
    pub pieces: &'static [&'static str],
    /// No item is opened again, and messages are not restated while one is open.
    pub whole: bool,
}

const PIECES: &[&str] = &["a", "bc ", "é", "😀", "\n", "\"", "\\", "{}", "\u{2028}", "-", "0", "the quick brown fox "];

pub fn text(pieces: &'static [&'static str]) -> BoxedStrategy<String> {
    let own = if pieces.is_empty() { Just("x").boxed() } else { select(pieces).boxed() };
    vec(prop_oneof![2 => select(PIECES), 1 => own], 0..8).prop_map(|pieces| pieces.concat()).boxed()
}

fn value(pieces: &'static [&'static str]) -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(json!(0)),
        Just(json!(1.5)),
        Just(json!(12_345_678_901_234_567_890_u64)),
        Just(json!(null)),
        Just(json!(true)),
        text(pieces).prop_map(Value::from),
    ];
    let member = select(&["a", "b", "l", "é/~"][..]);
    leaf.prop_recursive(2, 8, 3, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec((member.clone(), inner), 0..4).prop_map(|members| members.into_iter().collect::<Value>()),
        ]
    })
    .boxed()
}

fn object(pieces: &'static [&'static str]) -> BoxedStrategy<Value> {
    let member = select(&["a", "b", "l", "é/~"][..]);
    vec((member, value(pieces)), 0..4).prop_map(|members| members.into_iter().collect()).boxed()
}

fn patch(pieces: &'static [&'static str]) -> BoxedStrategy<Value> {
    let path = || select(&["/a", "/b", "/l", "/a/a", "/a/0", "/l/-", "/l/0", "/é~1~0", ""][..]);
    let operation = prop_oneof![
        4 => (path(), value(pieces)).prop_map(|(path, value)| json!({"op": "add", "path": path, "value": value})),
        2 => (path(), value(pieces)).prop_map(|(path, value)| json!({"op": "replace", "path": path, "value": value})),
        1 => (path(), value(pieces)).prop_map(|(path, value)| json!({"op": "test", "path": path, "value": value})),
        1 => path().prop_map(|path| json!({"op": "remove", "path": path, "x": 1})),
        1 => (path(), path()).prop_map(|(from, path)| json!({"op": "move", "from": from, "path": path})),
        1 => (path(), path()).prop_map(|(from, path)| json!({"op": "copy", "from": from, "path": path})),
    ];
    vec(operation, 0..3).prop_map(Value::from).boxed()
}

/// One act. In a calm stream little comes between deltas.
fn act(menu: &Menu, calm: bool) -> BoxedStrategy<Act> {
    let often = if calm { 6 } else { 1 };
    let (p, any) = (menu.pieces, any::<u8>);
    let kind = select(&[Kind::Text, Kind::ToolCall, Kind::Reasoning][..]);
    let lane = || prop_oneof![3 => Just(0u8), 2 => 1..3u8];
    let again = if menu.whole { Just(false).boxed() } else { prop::bool::weighted(0.2).boxed() };
    let rare = prop::bool::weighted;
    prop_oneof![
        12 => (kind, lane(), rare(0.5), again, text(p), any())
            .prop_map(|(kind, lane, chunk, again, text, extra)| Act::Open { kind, lane, chunk, again, text, extra }),
        30 * often => (any(), 0..9u8, rare(0.5), rare(0.1))
            .prop_map(|(which, units, bare, repeat)| Act::Say { which, units, bare, repeat }),
        5 => any().prop_map(|which| Act::Close { which }),
        3 => (any(), text(p), rare(0.3)).prop_map(|(which, text, parts)| Act::Result { which, text, parts }),
        2 * often => object(p).prop_map(Act::State),
        1 => value(p).prop_map(Act::State),
        6 * often => patch(p).prop_map(Act::Patch),
        2 * often => (any(), lane(), object(p), select(&[None, Some(true), Some(false)][..]))
            .prop_map(|(which, lane, content, replace)| Act::Activity { which, lane, content, replace }),
        4 * often => (any(), patch(p)).prop_map(|(which, patch)| Act::ActivityPatch { which, patch }),
        1 => (any(), any(), rare(0.5)).prop_map(|(without, change, add)| Act::Messages { without, change, add }),
        1 => (lane(), value(p)).prop_map(|(lane, value)| Act::Custom { lane, value }),
        often => value(p).prop_map(|value| Act::Raw { value }),
        1 => value(p).prop_map(|value| Act::Unknown { value }),
        2 => (lane(), 0..2u8).prop_map(|(lane, name)| Act::Step { lane, name }),
        1 => lane().prop_map(|lane| Act::Span { lane }),
        3 => (1..3u8, rare(0.3)).prop_map(|(lane, error)| Act::Subagent { lane, error }),
        1 => (any(), rare(0.5), rare(0.5)).prop_map(|(which, of_call, typed)| Act::Encrypted { which, of_call, typed }),
        1 => any().prop_map(|outcome| Act::Finish { outcome }),
        1 => Just(Act::Fail),
    ]
    .boxed()
}

fn step(menu: &Menu, calm: bool) -> BoxedStrategy<Step> {
    let key = select(&["k", "vendor", "ag-ui"][..]);
    let metadata =
        vec((key, prop_oneof![Just(json!(null)), Just(json!([1])), Just(json!({"x": 1})), Just(json!("v"))]), 0..3)
            .prop_map(|members| members.into_iter().collect::<Value>());
    let raw_event = prop_oneof![Just(json!("raw")), Just(json!({"choices": [0]}))];
    let spelling = prop_oneof![2 => Just(0), 1 => any::<u32>()];
    let gap = prop_oneof![4 => 0..3u8, 3 => 0..40u8, 1 => any::<u8>()];
    (
        act(menu, calm),
        prop::option::weighted(0.15, metadata),
        prop::option::weighted(0.05, raw_event),
        prop::bool::weighted(0.1),
        spelling,
        gap,
    )
        .prop_map(|(act, metadata, raw_event, timestamp, spelling, gap)| Step {
            act,
            metadata,
            raw_event,
            timestamp,
            spelling,
            gap,
        })
        .boxed()
}

/// A list of acts, and how the stream ends.
pub fn acts(menu: &Menu, most: usize) -> impl Strategy<Value = (Vec<Step>, Ending)> + use<> {
    let ending = prop_oneof![4 => Just(Ending::Finished), 1 => Just(Ending::Failed), 1 => Just(Ending::Cut)];
    let steps = prop_oneof![vec(step(menu, false), 0..most), vec(step(menu, true), 0..most)];
    (steps, ending)
}
