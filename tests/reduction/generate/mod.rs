//! Random runs: what an agent that keeps to the protocol may send, spelled and cut in any way.

pub mod act;
mod agent;
mod item;
mod spell;

use std::fmt;

use proptest::prelude::*;
use serde_json::Value;

pub use act::Menu;

/// One event of a stream.
#[derive(Clone)]
pub struct Sent {
    /// Milliseconds since the beginning.
    pub at: u64,
    /// What it says; halves of surrogate pairs stand as private characters.
    pub value: Value,
    /// How it says it.
    pub text: String,
}

/// A stream.
#[derive(Clone)]
pub struct Stream(pub Vec<Sent>);

impl Stream {
    /// Its events as they are sent.
    pub fn texts(&self) -> Vec<&str> {
        self.0.iter().map(|sent| sent.text.as_str()).collect()
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        self.0.iter().try_for_each(|sent| writeln!(f, "{:>5} ms  {}", sent.at, sent.text))
    }
}

/// A valid stream.
pub fn streams(menu: &Menu, most: usize) -> impl Strategy<Value = Stream> + use<> {
    let whole = menu.whole;
    act::acts(menu, most).prop_map(move |(steps, ending)| agent::perform(&steps, ending, whole))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::{strategy::ValueTree, test_runner::TestRunner};

    use super::*;
    use crate::client::Client;

    #[test]
    fn random_streams_are_valid_and_of_every_kind() {
        let mut runner = TestRunner::deterministic();
        let streams = streams(&Menu::default(), 60);
        let mut kinds = BTreeMap::new();
        for _ in 0..200 {
            let stream = streams.new_tree(&mut runner).unwrap().current();
            let client = Client::strict().after(stream.texts());
            assert_eq!(client.fault, None, "{stream:?}");
            for sent in &stream.0 {
                *kinds.entry(sent.value["type"].as_str().unwrap().to_owned()).or_insert(0) += 1;
            }
        }
        println!("{kinds:?}");
        assert!(kinds.len() >= 32, "{kinds:?}");
    }
}
