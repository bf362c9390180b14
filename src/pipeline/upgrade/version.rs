//! The starts of runs come in; one that declares an old version goes out declaring the one that the run now speaks. A run
//! that declares none still declares none.

use std::time::Instant;

use super::send;
use crate::{
    agui::{Event, EventKind, Kinds, Version, edit::Change, word::PROTOCOL_VERSION},
    pipeline::{Loss, Out, Stage},
};

/// Declares the current version where an old one was declared.
#[derive(Debug)]
pub(super) struct Declared;

impl Stage for Declared {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[EventKind::RunStarted])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        if !PROTOCOL_VERSION.is_in(event.text()) {
            return out.send(event, at);
        }
        let changed = event.edited(|member| {
            let old = member.is("protocolVersion")
                && member.string().is_some_and(|version| Version::declared(&version).is_old());
            if old { Change::text(Version::CURRENT.as_str()) } else { Change::Keep }
        });
        send(event, changed, Loss::None, at, out);
    }
}
