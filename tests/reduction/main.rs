//! Random and recorded streams go through the pipeline, and a client that knows nothing of its code holds the same
//! afterwards, at every barrier and at the end, but for what was changed on purpose.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod client;
mod corpus;
mod denied;
mod generate;
mod json;
mod passage;
mod redacted;
mod throttled;
mod unchanged;
