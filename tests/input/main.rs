//! The run inputs that Tidegate makes, judged by the schemas of the releases themselves, of both languages.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod accepted;
mod judge;
mod samples;
