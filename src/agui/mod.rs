//! The protocol's nouns and rules, as plain values: text comes in, facts about it go out. No I/O, no clock.

mod input;
mod kind;

pub use input::{InputFacts, InputScan, Text};
pub use kind::EventKind;
