//! The protocol's nouns and rules, as plain values: text comes in, facts about it go out. No I/O, no clock.

mod encoding;
mod event;
mod input;
pub mod json;
mod kind;
mod life;

pub use encoding::Encoding;
pub use event::Event;
pub use input::{InputFacts, InputScan, Text};
pub use kind::EventKind;
pub use life::Life;
