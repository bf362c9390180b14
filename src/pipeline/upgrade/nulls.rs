//! Events come in, the same without the optional members that say `null` go out. `null` as a value (in state, metadata,
//! activities, patches, custom values, raw events) stays, and so does `null` in place of what is required.

use std::time::Instant;

use memchr::memmem;

use super::{optional, send};
use crate::{
    agui::{Event, EventKind},
    pipeline::{Loss, Out, Stage},
};

/// Takes out optional members that are `null`: a current client fails at most of them.
#[derive(Debug)]
pub(super) struct Nulls;

impl Stage for Nulls {
    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        if event.kind() == EventKind::Other || memmem::find(event.text(), b"null").is_none() {
            return out.send(event, at);
        }
        let changed = optional::without_nulls(event.kind(), event.text()).map(Event::made);
        send(event, changed, Loss::None, at, out);
    }
}
