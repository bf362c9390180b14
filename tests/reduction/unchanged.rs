//! Stages that may reshape a stream and change nothing of what it says: `expand`, `guard` where nothing has to be
//! mended, and `state` where snapshots may become deltas.

use proptest::prelude::*;
use tidegate::pipeline::{Recipe, guard::Mode, state};

use crate::{
    client::{Client, lanes::Kind},
    corpus,
    generate::{Menu, streams},
    passage::{Mark, config, difference, held, kind, through},
};

const STATE_LIMIT: usize = 1 << 20;

fn follows(compact: bool) -> state::Policy {
    state::Policy { compact, on_mismatch: state::OnMismatch::Forward, limit: STATE_LIMIT }
}

fn recipes() -> impl Strategy<Value = Recipe> {
    let guard = prop_oneof![Just(Mode::Off), Just(Mode::Observe), Just(Mode::Repair), Just(Mode::Refuse)];
    let state = prop_oneof![Just(None), any::<bool>().prop_map(|compact| Some(follows(compact)))];
    (any::<bool>(), guard, state).prop_map(|(expand, guard, state)| Recipe {
        expand,
        guard,
        state,
        ..Recipe::default()
    })
}

/// What says where the two can be compared: with `expand`, what is not made of chunks.
fn marks(expand: bool) -> impl Fn(&str) -> bool {
    move |name| !expand || Kind::of(name).is_none()
}

fn compare(recipe: &Recipe, client: &Client, texts: &[&str]) -> Result<(), String> {
    compare_with(&held(client.clone(), texts, marks(recipe.expand)), recipe, client, texts)
}

fn compare_with(before: &[Mark], recipe: &Recipe, client: &Client, texts: &[&str]) -> Result<(), String> {
    let passage = through(recipe, texts);
    let after = held(client.clone(), &passage.texts(), marks(recipe.expand));
    let different = difference(before, &after).map(|why| format!("{why}\nout:\n{}", passage.texts().join("\n")));
    different.map_or(Ok(()), Err)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_a_client_holds_stays_the_same(stream in streams(&Menu::default(), 60), recipe in recipes()) {
        let texts = stream.texts();
        prop_assert_eq!(compare(&recipe, &Client::strict(), &texts), Ok(()));
    }

    #[test]
    fn nothing_is_mended_in_a_valid_stream(stream in streams(&Menu::default(), 60)) {
        let recipe = Recipe { guard: Mode::Repair, ..Recipe::default() };
        let passage = through(&recipe, &stream.texts());
        prop_assert_eq!(&passage.sink.violations, &Vec::<&str>::new());
        prop_assert_eq!(passage.texts(), stream.texts());
    }

    #[test]
    fn expanded_streams_have_no_chunks(stream in streams(&Menu::default(), 60)) {
        let passage = through(&Recipe { expand: true, ..Recipe::default() }, &stream.texts());
        prop_assert!(passage.texts().iter().all(|text| !kind(text).ends_with("_CHUNK")));
        prop_assert_eq!(Client::strict().after(passage.texts()).fault, None);
    }
}

#[test]
fn recorded_streams_say_the_same_afterwards() {
    let Some(streams) = corpus::all() else { return };
    let mut events = 0;
    for stream in &streams {
        let texts: Vec<_> = stream.events.iter().map(String::as_str).collect();
        events += texts.len();
        // Of a chunk that breaks the rules a lenient client makes what it likes.
        for (expand, client) in [(false, Client::strict()), (false, Client::lenient()), (true, Client::strict())] {
            let before = held(client.clone(), &texts, marks(expand));
            for state in [None, Some(follows(true))] {
                let recipe = Recipe { expand, guard: Mode::Observe, state, ..Recipe::default() };
                let same = compare_with(&before, &recipe, &client, &texts);
                assert_eq!(same, Ok(()), "{} with {recipe:?}", stream.name);
            }
        }
    }
    println!("{} streams with {events} events", streams.len());
}

/// Whether the whole stream is as the protocol wants it.
fn is_valid(stream: &[&str]) -> bool {
    Client::strict().after(stream.iter().copied()).fault.is_none()
}

/// What clients of 1.0 take as it is, and only the draft of the protocol does not.
const FINE: &[&str] = &["duplicate-interrupt-id-fatal", "second-run-on-another-thread-fatal"];

#[test]
fn recorded_streams_are_as_the_protocol_wants_them_once_mended() {
    let Some(streams) = corpus::all() else { return };
    let recipe = Recipe { guard: Mode::Repair, expand: true, state: Some(follows(true)), ..Recipe::default() };
    let (mut mended, mut left) = (0, Vec::new());
    for stream in &streams {
        let texts: Vec<_> = stream.events.iter().map(String::as_str).collect();
        let passage = through(&recipe, &texts);
        mended += usize::from(!is_valid(&texts));
        if !FINE.contains(&stream.name.as_str()) && passage.sink.refused.is_none() {
            let client = Client::strict().after(passage.texts());
            left.extend(client.fault.map(|fault| format!("{}: {fault}", stream.name)));
        }
    }
    println!("{mended} streams mended");
    assert_eq!(left, Vec::<String>::new());
}
