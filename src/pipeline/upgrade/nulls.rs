//! Events come in, the same without the optional members that say `null` go out. `null` as a value (in state, metadata,
//! activities, patches, custom values, raw events) stays, and so does `null` in place of what is required.

use std::time::Instant;

use super::{optional, send};
use crate::{
    agui::{Event, EventKind, Word},
    pipeline::{Loss, Out, Stage},
};

static NULL: Word = Word::new("null");

/// Takes out optional members that are `null`: a current client fails at most of them.
#[derive(Debug)]
pub(super) struct Nulls;

impl Stage for Nulls {
    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        if event.kind() == EventKind::Other || !NULL.is_in(event.text()) {
            return out.send(event, at);
        }
        let changed = optional::without_nulls(event.kind(), event.text()).map(Event::made);
        send(event, changed, Loss::None, at, out);
    }
}
