//! Bytes come in, frames go out, and the other way round. No sockets, no clock, no log; a frame's payload is
//! never read as an event here.

mod batch;
pub mod media;
pub mod sse;

pub use batch::Batch;
