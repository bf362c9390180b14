//! Any payloads, between any two versions, through any stages: valid JSON stays valid, an older client gets no type that
//! it does not know, whatever does not come out as it came is named, nothing is left for after the end, and what is held
//! is bounded.
#![no_main]

mod events;
mod made;
mod messages;

use std::{fmt, time::Instant};

use libfuzzer_sys::{
    arbitrary::{Arbitrary, Result, Unstructured},
    fuzz_target,
};
use serde::de::IgnoredAny;
use tidegate::{
    agui::{Encoding, Event, EventKind, Version},
    pipeline::{
        End, Loss, Peers, Recipe, Select, Sink, Unrepresentable,
        guard::Mode,
        state::{OnMismatch, Policy},
    },
};

/// What all stages hold at most. A stream may send more than this.
const HELD: usize = 3 << 20;
/// What the state may take of it.
const STATE: usize = 512 << 10;

/// Whether this is one JSON object, in its encoding too.
fn is_object(text: &[u8]) -> bool {
    std::str::from_utf8(text)
        .is_ok_and(|text| text.trim_ascii_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok())
}

/// The first client that reads events of this kind.
fn since(kind: EventKind) -> Version {
    use EventKind::*;
    Version::npm(match kind {
        ReasoningStart
        | ReasoningEnd
        | ReasoningMessageStart
        | ReasoningMessageContent
        | ReasoningMessageEnd
        | ReasoningMessageChunk
        | ReasoningEncryptedValue => 45,
        ActivitySnapshot | ActivityDelta => 41,
        ToolCallResult => 30,
        TextMessageChunk | ToolCallChunk => 28,
        ThinkingStart
        | ThinkingEnd
        | ThinkingTextMessageStart
        | ThinkingTextMessageContent
        | ThinkingTextMessageEnd => 37,
        SubagentStarted | SubagentFinished | SubagentError => 59,
        Other => return Version::V1_0,
        _ => 27,
    })
}

fn recipe(bytes: &mut Unstructured<'_>) -> Recipe {
    let flags = made::byte(bytes);
    let policy = |on_mismatch| Policy { compact: flags & 4 != 0, on_mismatch, limit: STATE };
    let mismatch = [OnMismatch::Forward, OnMismatch::Drop, OnMismatch::Resync, OnMismatch::Lenient];
    Recipe {
        upgrade: flags & 1 != 0,
        expand: flags & 2 != 0,
        guard: *made::pick(bytes, &[Mode::Off, Mode::Observe, Mode::Repair, Mode::Refuse]),
        redact: None,
        select: (flags & 0xE0 == 0xE0).then(|| Select::new(["STEP_STARTED", "NEW"], ["rawEvent", "x"])),
        state: (flags & 8 != 0).then(|| policy(*made::pick(bytes, &mismatch))),
        unrepresentable: if flags & 16 == 0 { Unrepresentable::Drop } else { Unrepresentable::Custom },
        ..Recipe::default()
    }
}

fn peers(bytes: &mut Unstructured<'_>) -> Peers {
    let versions: Vec<_> = [Version::CURRENT].into_iter().chain(Version::all()).chain([Version::NEWER]).collect();
    let encodings = [Encoding::Sse, Encoding::Protobuf];
    let (client, agent) = (*made::pick(bytes, &versions), *made::pick(bytes, &versions));
    let which = made::byte(bytes);
    let encoding = |bit: u8| encodings[usize::from(which >= 192 && which & bit != 0)];
    Peers { client, agent, encoding: encoding(1), agent_encoding: encoding(2) }
}

/// What came out so far, in numbers.
fn counts(sink: &Sink) -> [usize; 6] {
    let Sink { events, dropped, converted, patched, violations, repaired, .. } = sink;
    [events.len(), dropped.len(), converted.len(), patched.len(), violations.len(), repaired.len()]
}

fn through(recipe: &Recipe, peers: &Peers, list: &[Vec<u8>]) -> Sink {
    let mut pipeline = recipe.build(peers);
    let (mut sink, at) = (Sink::default(), Instant::now());
    for (n, text) in list.iter().enumerate() {
        let frame = [b"data: ", &text[..], b"\n\n"].concat();
        pipeline.event(Event::new(text.clone().into(), Some((Encoding::Sse, frame.into()))), at, &mut sink);
        // To add it up takes a while.
        if n % 32 == 0 {
            assert!(pipeline.held() <= HELD, "{} are held", pipeline.held());
        }
        if let Some(due) = pipeline.deadline() {
            pipeline.wake(due, &mut sink);
        }
    }
    pipeline.end(End::Closed, at, &mut sink);
    assert!(pipeline.deadline().is_none() && pipeline.held() <= HELD);
    // Others may remember what they need no more; this one holds what is open.
    let only_expands = recipe.expand && !recipe.upgrade && recipe.guard == Mode::Off && recipe.state.is_none();
    assert!(!only_expands || peers.client.is_old() || peers.agent.is_old() || pipeline.held() == 0);
    let before = counts(&sink);
    pipeline.end(End::Broken, at, &mut sink);
    assert_eq!(counts(&sink), before, "what was held was held beyond the end");
    sink
}

fn texts(sink: &Sink) -> Vec<Vec<u8>> {
    sink.events.iter().map(|event| event.text().to_vec()).collect()
}

fn is_verbatim(event: &Event) -> bool {
    event.frame(Encoding::Sse).is_some()
}

/// Each event that came is there as it came, in order.
fn assert_untouched(sink: &Sink, list: &[Vec<u8>]) {
    assert!(sink.events.iter().all(is_verbatim));
    assert_eq!(texts(sink), list);
    assert!(sink.dropped.is_empty() && sink.converted.is_empty() && sink.repaired.is_empty());
}

/// What `repair` sends breaks no rule that `refuse` knows, and needs no mending.
fn assert_mended(mended: &[Vec<u8>]) {
    let only = |guard| through(&Recipe { guard, ..Recipe::default() }, &Peers::default(), mended);
    let refused = only(Mode::Refuse);
    assert!(refused.refused.is_none(), "{:?}", refused.refused);
    let broken: Vec<_> = refused.violations.iter().filter(|rule| **rule != "foreign_error").collect();
    assert!(broken.is_empty(), "{broken:?}");
    let twice = only(Mode::Repair);
    assert_eq!(texts(&twice), mended);
    assert!(twice.repaired.is_empty());
}

fn check(recipe: &Recipe, peers: &Peers, list: &[Vec<u8>]) {
    let sink = through(recipe, peers, list);
    let out = texts(&sink);
    if list.iter().all(|text| is_object(text)) {
        let odd = out.iter().find(|text| !is_object(text));
        assert!(odd.is_none(), "{}", String::from_utf8_lossy(odd.unwrap()));
    }
    if peers.client.is_old() {
        let unknown = |event: &&Event| {
            is_object(event.text()) && event.type_name().is_some() && since(event.kind()) > peers.client
        };
        let unknown = sink.events.iter().find(unknown);
        assert!(unknown.is_none(), "{unknown:?} for {}", peers.client);
    }

    let shapes = sink.converted.iter().filter_map(|converted| match converted.loss {
        Loss::None => None,
        Loss::Part(shape) | Loss::Whole(shape) => Some(shape),
    });
    let is_name = |name: &str| name.len() < 24 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let mut names = shapes.chain(sink.dropped.iter().map(|dropped| dropped.reason));
    assert!(names.all(is_name), "{:?} {:?}", sink.converted, sink.dropped);

    let is_chunk = |kind: EventKind| kind.as_str().ends_with("_CHUNK");
    let is_thinking = |kind: EventKind| kind.as_str().starts_with("THINKING_");
    // Chunks are expanded without a word, and of the thinking that an older client knows nothing is said either.
    let is_silent =
        |text: &Vec<u8>| matches!(Event::made(text.clone()).kind(), kind if is_chunk(kind) || is_thinking(kind));
    if sink.refused.is_none() && !list.iter().any(is_silent) {
        let verbatim = sink.events.iter().filter(|event| is_verbatim(event)).count();
        let named = sink.dropped.len() + sink.converted.len() + sink.patched.len() + sink.repaired.len();
        assert!(verbatim + named >= list.len(), "{verbatim} as they were, {named} named, of {}", list.len());
    }

    let acts = recipe.upgrade || recipe.expand || recipe.select.is_some() || recipe.state.is_some_and(|p| p.acts());
    let current = !peers.client.is_old() && !peers.agent.is_old();
    match recipe.guard {
        _ if acts || !current => {}
        Mode::Off | Mode::Observe => assert_untouched(&sink, list),
        Mode::Repair => assert_mended(&out),
        Mode::Refuse => {
            assert!(list.starts_with(&out) && sink.events.iter().all(is_verbatim));
            assert_eq!(sink.refused.is_some(), out.len() < list.len());
        }
    }
    if recipe.guard == Mode::Observe {
        let off = through(&Recipe { guard: Mode::Off, ..recipe.clone() }, peers, list);
        assert_eq!(texts(&off), out, "who only looks changes nothing");
    }
}

/// A stream, and what it goes through.
struct Case {
    recipe: Recipe,
    peers: Peers,
    list: Vec<Vec<u8>>,
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Self> {
        let (recipe, peers) = (recipe(bytes), peers(bytes));
        let list = match made::byte(bytes) {
            ..=31 => bytes.bytes(bytes.len())?.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect(),
            ..=253 => events::stream(bytes, 0),
            254.. => events::stream(bytes, 3),
        };
        Ok(Self { recipe, peers, list })
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}\n{:?}", self.recipe, self.peers)?;
        self.list.iter().try_for_each(|text| write!(f, "\n{}", String::from_utf8_lossy(text)))
    }
}

fuzz_target!(|case: Case| check(&case.recipe, &case.peers, &case.list));
