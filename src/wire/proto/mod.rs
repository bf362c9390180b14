//! The binary binding: chunks of a body come in and frames go out; a frame's message becomes JSON, or JSON a frame.
//! Nothing is known here of sockets or of what an event does to a run.
//!
//! Both directions read one table, `schema.rs`: the message types with their fields, their numbers and the member of
//! the JSON that each one is. No structs are generated from it, for three reasons. A decoded struct would have
//! forgotten what I5 must name (fields and arms that this build does not know) and the order of open maps. The shapes
//! that differ between the bindings (outcomes, contents, content parts) would need code beside the structs anyway. And
//! a token event is read and written in one walk, where structs would allocate each of its texts.

mod arm;
mod decode;
mod encode;
mod frame;
mod loss;
mod number;
mod schema;
mod text;
mod walk;
mod write;

pub use arm::{Arm, arm};
pub use decode::{Decoded, to_json};
pub use encode::{Encoded, NotCarried, from_json};
pub use frame::{Decoder, Frame, FrameError};
pub use loss::{Losses, Shape};

#[cfg(test)]
mod tests;

/// How deeply arrays and objects may nest in an event. Peers overflow their stacks somewhat beyond a thousand.
const MAX_DEPTH: usize = 500;

/// Bytes that are no event of the protocol. The message says what was found; it never repeats the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a protobuf event: {0}")]
pub struct Malformed(&'static str);

impl Malformed {
    const CUT: Self = Self("a field is cut short");
    const DEPTH: Self = Self("nested too deeply");

    const fn new(what: &'static str) -> Self {
        Self(what)
    }
}
