//! Streams go through the throttle at random times, with a client that is slow now and then: at every barrier and at the
//! end a client holds the same, and it holds nothing much later.

use std::{collections::BTreeMap, time::Duration};

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};
use tidegate::pipeline::{
    End, Recipe,
    guard::Mode,
    state,
    throttle::{Policy, SlowClient},
};

use crate::{
    client::{Client, lanes::Kind},
    corpus,
    generate::{Menu, Stream, streams},
    json::unit,
    passage::{Passage, config, difference, held, kind},
};

/// How a stream meets the throttle.
#[derive(Clone, Debug)]
struct Meeting {
    policy: Policy,
    /// How long the client is fast, then slow, then fast again, in milliseconds.
    phases: Vec<u16>,
    /// Nobody wakes the throttle between two events.
    sleepy: bool,
    end: End,
}

fn meetings() -> impl Strategy<Value = Meeting> {
    let every = select(&[0u64, 1, 10, 33, 200][..]);
    let max_chars = select(&[1usize, 5, 40, 4096][..]);
    let limit = select(&[1usize << 20, 300, 40][..]);
    let slow_client = select(&[SlowClient::Merge, SlowClient::Wait][..]);
    let phases = prop_oneof![2 => Just(Vec::new()), 3 => vec(0..120u16, 1..8)];
    let end = select(&[End::Closed, End::Broken, End::Stopped][..]);
    (every, max_chars, limit, slow_client, any::<bool>(), phases, prop::bool::weighted(0.2), end).prop_map(
        |(every, max_chars, limit, slow_client, keep_raw_event, phases, sleepy, end)| {
            let every = Duration::from_millis(every);
            Meeting { policy: Policy { every, max_chars, slow_client, keep_raw_event, limit }, phases, sleepy, end }
        },
    )
}

/// Whether an event of this type is a barrier in every stream.
fn is_barrier(name: &str) -> bool {
    let delta = Kind::of(name).is_some_and(|(_, part)| matches!(part, "CONTENT" | "ARGS" | "CHUNK"));
    !delta && !name.starts_with("STATE_") && !name.starts_with("ACTIVITY_") && name != "RAW"
}

/// What a client holds of each thing that grows or changes by deltas.
fn things(client: &Client) -> BTreeMap<String, Value> {
    let mut things = BTreeMap::from([("state".to_owned(), client.state.clone())]);
    for message in &client.messages {
        let key = format!("{} {}", if message["role"] == "reasoning" { "reasoning" } else { "message" }, message["id"]);
        things.insert(key, json!([message["content"], message["metadata"]]));
        for call in message["toolCalls"].as_array().into_iter().flatten() {
            things.insert(format!("call {}", call["id"]), json!([call["function"]["arguments"], call["metadata"]]));
        }
    }
    things
}

/// Whether a text ends with half a character.
fn is_cut(thing: &Value) -> bool {
    thing[0].as_str().and_then(|text| text.chars().next_back()).is_some_and(|last| unit(last).is_some())
}

/// Looks at both sides while a stream passes.
struct Watch {
    passage: Passage,
    policy: Policy,
    sent: Client,
    got: Client,
    /// How much of what left was looked at.
    seen: usize,
    history: Vec<(u64, BTreeMap<String, Value>)>,
    slow: bool,
    /// Since when the client reads.
    reads: u64,
}

impl Watch {
    fn look(&mut self) {
        for told in &self.passage.told[self.seen..] {
            self.got.take(&told.text);
        }
        self.seen = self.passage.told.len();
    }

    /// What the client holds is what was sent a window ago or later.
    fn check_delay(&self, now: u64) -> Result<(), TestCaseError> {
        let every = u64::try_from(self.policy.every.as_millis()).unwrap();
        if self.slow || now < self.reads + 2 * every {
            return Ok(());
        }
        let got = things(&self.got);
        for (thing, now_sent) in things(&self.sent) {
            let since = |age: u64| self.history.iter().rposition(|(at, _)| at + age <= now).unwrap_or(0);
            let values = |age: u64| self.history[since(age)..].iter().map(|(_, things)| things.get(&thing));
            let age = if values(every).flatten().any(is_cut) { 2 * every } else { every };
            let fresh = values(age).any(|value| value == got.get(&thing)) || got.get(&thing) == Some(&now_sent);
            prop_assert!(fresh, "at {} ms {} is {:?}, was sent {}", now, thing, got.get(&thing), now_sent);
        }
        Ok(())
    }

    /// The clock goes on, and the client changes its pace.
    fn until(&mut self, at: u64, phases: &mut Vec<u64>, sleepy: bool) {
        while let Some(toggle) = phases.first().copied().filter(|toggle| *toggle <= at) {
            phases.remove(0);
            self.passage.until(toggle);
            self.slow = !self.slow;
            self.passage.slow(toggle, self.slow);
            self.reads = toggle;
        }
        if !sleepy {
            self.passage.until(at);
        }
        self.look();
    }
}

fn meet(meeting: &Meeting, stream: &Stream) -> Result<Passage, TestCaseError> {
    let policy = meeting.policy;
    let passage = Passage::new(&Recipe { throttle: Some(policy), ..Recipe::default() });
    let (sent, got) = (Client::strict(), Client::strict());
    let mut watch = Watch { passage, policy, sent, got, seen: 0, history: Vec::new(), slow: false, reads: 0 };
    let mut phases: Vec<u64> = meeting
        .phases
        .iter()
        .scan(0, |sum, phase| {
            Some({
                *sum += u64::from(*phase);
                *sum
            })
        })
        .collect();
    let mut after_barrier = false;
    let mut last = 0;
    for event in &stream.0 {
        watch.until(event.at, &mut phases, meeting.sleepy);
        if !meeting.sleepy {
            watch.check_delay(event.at)?;
        }
        watch.passage.event_unwoken(event.at, &event.text);
        watch.sent.take(&event.text);
        watch.history.push((event.at, things(&watch.sent)));
        watch.look();
        let barrier = is_barrier(&kind(&event.text));
        let first = after_barrier
            && event.value["delta"].as_str().is_some_and(|delta| !delta.chars().any(|c| unit(c).is_some()));
        let slow = watch.slow && policy.slow_client == SlowClient::Merge;
        if barrier || (first && !slow) {
            let what = if barrier { "a barrier" } else { "the first delta after one" };
            prop_assert_eq!(watch.got.view(), watch.sent.view(), "{} is held: {}", what, event.text);
        }
        after_barrier = barrier;
        last = event.at;
    }
    watch.passage.end(last, meeting.end);
    prop_assert_eq!(watch.passage.pipeline.deadline(), None);
    Ok(watch.passage)
}

/// The `rawEvent` members of these events.
fn origins(texts: &[&str]) -> Vec<Value> {
    texts.iter().filter_map(|text| crate::json::parse(text)?.get("rawEvent").cloned()).collect()
}

/// When a `RAW` leaves, what came before it has left.
fn raw_events_wait(stream: &Stream, got: &[&str]) -> Result<(), TestCaseError> {
    let (mut sent, mut history, mut raws) = (Client::strict(), Vec::new(), Vec::new());
    for event in &stream.0 {
        sent.take(&event.text);
        if event.value["type"] == "RAW" {
            raws.push(history.len());
        }
        history.push(things(&sent));
    }
    let mut client = Client::strict();
    let mut raws = raws.into_iter();
    for text in got {
        client.take(text);
        if kind(text) == "RAW" {
            let (got, since) = (things(&client), raws.next().unwrap_or(history.len()));
            for thing in history[since].keys() {
                let fresh = history[since..].iter().any(|things| things.get(thing) == got.get(thing));
                prop_assert!(fresh, "{} leaves when {} is {:?}", text, thing, got.get(thing));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_throttled_stream_says_the_same_at_every_barrier(stream in streams(&Menu::default(), 60), meeting in meetings()) {
        let passage = meet(&meeting, &stream)?;
        let (sent, got) = (stream.texts(), passage.texts());
        let (before, after) = (held(Client::strict(), &sent, is_barrier), held(Client::strict(), &got, is_barrier));
        let different = difference(&before, &after);
        prop_assert!(different.is_none(), "{}\nout: {:#?}", different.unwrap_or_default(), passage.told);
        let barriers = |texts: &[&str]| texts.iter().filter(|text| is_barrier(&kind(text))).map(|text| (*text).to_owned()).collect::<Vec<_>>();
        prop_assert_eq!(barriers(&sent), barriers(&got), "barriers are as they came");
        prop_assert_eq!(got.len() + passage.sink.merged.len(), sent.len(), "what is merged is counted");
        let (came, left) = (origins(&sent), origins(&got));
        prop_assert_eq!(left.len() + passage.sink.dropped.len(), came.len(), "what is dropped is named");
        raw_events_wait(&stream, &got)?;
        if meeting.policy.keep_raw_event {
            prop_assert_eq!(came, left);
        }
    }

    #[test]
    fn without_a_window_a_client_that_keeps_up_gets_every_event(stream in streams(&Menu::default(), 60), max_chars in 1..9usize) {
        let every = Duration::ZERO;
        let policy = Policy { every, max_chars, slow_client: SlowClient::Merge, keep_raw_event: false, limit: 1 << 20 };
        let meeting = Meeting { policy, phases: Vec::new(), sleepy: false, end: End::Closed };
        let passage = meet(&meeting, &stream)?;
        prop_assert_eq!(passage.texts(), stream.texts());
    }

    #[test]
    fn with_every_stage_on_a_client_ends_with_the_same(stream in streams(&Menu::default(), 60), meeting in meetings()) {
        let follows = state::Policy { compact: true, on_mismatch: state::OnMismatch::Forward, limit: 1 << 20 };
        let throttle = Some(meeting.policy);
        let recipe = Recipe { expand: true, guard: Mode::Repair, state: Some(follows), throttle, ..Recipe::default() };
        let mut passage = Passage::new(&recipe);
        for event in &stream.0 {
            passage.event(event.at, &event.text);
        }
        passage.end(stream.0.last().map_or(0, |event| event.at), meeting.end);
        let is_mark = |name: &str| is_barrier(name) && Kind::of(name).is_none();
        let (before, after) = (held(Client::strict(), &stream.texts(), is_mark), held(Client::strict(), &passage.texts(), is_mark));
        let different = difference(&before, &after);
        prop_assert!(different.is_none(), "{}\nout: {:#?}", different.unwrap_or_default(), passage.told);
    }
}

#[test]
fn recorded_streams_say_the_same_when_they_are_throttled() {
    let Some(streams) = corpus::all() else { return };
    let (mut came, mut left) = (0, 0);
    for stream in &streams {
        let texts: Vec<_> = stream.events.iter().map(String::as_str).collect();
        for client in [Client::strict(), Client::lenient()] {
            let before = held(client.clone(), &texts, is_barrier);
            for gap in [0, 7, 40] {
                let every = Duration::from_millis(33);
                let policy = Policy {
                    every,
                    max_chars: 4096,
                    slow_client: SlowClient::Merge,
                    keep_raw_event: false,
                    limit: 1 << 20,
                };
                let mut passage = Passage::new(&Recipe { throttle: Some(policy), ..Recipe::default() });
                for (at, text) in (0..).zip(&texts) {
                    passage.event(at * gap, text);
                }
                passage.end(texts.len() as u64 * gap, End::Closed);
                let different = difference(&before, &held(client.clone(), &passage.texts(), is_barrier));
                assert_eq!(different, None, "{} every {gap} ms:\n{}", stream.name, passage.texts().join("\n"));
                came += texts.len();
                left += passage.told.len();
            }
        }
    }
    println!("of {came} events {left} left");
}
