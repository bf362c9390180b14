//! Events come in whose payload an old encoder left out because it was nothing; the same with `null` for it go out. A
//! state snapshot without a state is left out: older clients kept the state they had, current ones would clear it.

use std::time::Instant;

use super::send;
use crate::{
    agui::{Event, EventKind, Kinds, edit},
    pipeline::{Loss, Out, Stage, Way},
};

/// Writes out the nothing in `CUSTOM` and `RAW`.
#[derive(Debug)]
pub(super) struct Absent;

impl Stage for Absent {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[EventKind::Custom, EventKind::Raw, EventKind::StateSnapshot])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let name = match event.kind() {
            EventKind::Custom => "value",
            EventKind::Raw => "event",
            _ => "snapshot",
        };
        if event.member(name).is_some() {
            return out.send(event, at);
        }
        let changed = edit::appended(event.text(), name, b"null").map(Event::made);
        if changed.is_some() && event.kind() == EventKind::StateSnapshot {
            return out.converted(Way::Up, event.kind(), Loss::None);
        }
        send(event, changed, Loss::None, at, out);
    }
}
