//! The protobuf binding: what holds for every event, and what the reference implementation makes of each.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod events;
mod node;
mod properties;
mod reference;
