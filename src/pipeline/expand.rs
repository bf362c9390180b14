//! Chunks come in, start, content and end go out. (skeleton)
use std::time::Instant;

use super::{Out, Stage};
use crate::agui::Event;

/// Turns chunks into start, content and end.
#[derive(Debug, Default)]
pub struct Expand {}

impl Stage for Expand {
    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        out.send(event, at);
    }
}
