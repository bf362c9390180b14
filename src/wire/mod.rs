//! Bytes come in, frames go out, and the other way round. No sockets, no clock, no log; what an event does to a run
//! is not known here, and only [`proto`] looks into one, to translate it.

mod batch;
pub mod media;
pub mod negotiate;
pub mod proto;
mod read;
pub mod sse;
mod write;

pub use batch::Batch;
pub use read::{Item, Reader, Unreadable};
pub use write::Writer;

pub use crate::agui::Encoding;
