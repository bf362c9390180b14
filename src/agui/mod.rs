//! The protocol's nouns and rules, as plain values: text comes in, facts about it go out. No I/O, no clock.

pub mod content;
pub mod edit;
mod encoding;
mod event;
pub mod follow;
mod input;
pub mod json;
mod kind;
pub mod lanes;
mod life;
mod losses;
pub mod message;
mod plain;
mod version;
pub mod word;

pub use encoding::Encoding;
pub use event::Event;
pub use input::{InputFacts, InputScan, Text};
pub use kind::{EventKind, Kinds};
pub use life::Life;
pub use losses::Losses;
pub use plain::Plain;
pub use version::{UnknownVersion, Version};
pub use word::Word;
