//! Payloads come in, those that are no event at all go out no more: the marks that some servers end a stream with, and
//! empty ones. A payload with anything in it passes.

use std::time::Instant;

use crate::{
    agui::{Encoding, Event, EventKind, Kinds},
    pipeline::{Loss, Out, Stage, Way},
};

/// Leaves out `[DONE]`, `null` and empty payloads, at which a current client fails.
#[derive(Debug)]
pub(super) struct Payload;

impl Stage for Payload {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[EventKind::Other])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let says_nothing = matches!(event.text().trim_ascii(), b"" | b"[DONE]" | b"null");
        if says_nothing && event.frame(Encoding::Protobuf).is_none() {
            return out.converted(Way::Up, event.kind(), Loss::None);
        }
        out.send(event, at);
    }
}
