//! Deltas of state and activities come in, those that are a JSON Patch go out. One that is not is left out whole, as
//! older clients did, which kept the value they had: half of a patch is not what anyone meant.

use std::time::Instant;

use crate::{
    agui::{
        Event, EventKind, Kinds,
        json::{self, Elements, Members},
    },
    pipeline::{Loss, Out, Stage, Way},
};

/// Leaves out patches with an operation that is none.
#[derive(Debug)]
pub(super) struct Patch;

impl Stage for Patch {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[EventKind::StateDelta, EventKind::ActivityDelta])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let name = if event.kind() == EventKind::StateDelta { "delta" } else { "patch" };
        let sound = event.member(name).is_none_or(|patch| {
            // What is no list at all is malformed in every version.
            Elements::of(patch).all(|place| patch.get(place).is_some_and(is_operation))
        });
        if !sound {
            return out.converted(Way::Up, event.kind(), Loss::Whole("patch"));
        }
        out.send(event, at);
    }
}

fn is_operation(text: &[u8]) -> bool {
    let (mut op, mut path, mut from, mut value) = (None, false, false, false);
    for member in Members::of(text) {
        if member.is("op") {
            op = json::string(member.value);
        } else if member.is("path") {
            path = member.string().is_some_and(|path| is_pointer(&path));
        } else if member.is("from") {
            from = member.string().is_some_and(|from| is_pointer(&from));
        } else if member.is("value") {
            value = true;
        }
    }
    match op.as_deref() {
        Some("add" | "replace" | "test") => path && value,
        Some("move" | "copy") => path && from,
        Some("remove") => path,
        _ => false,
    }
}

/// Whether this is a JSON Pointer: empty or led by a slash, each `~` followed by `0` or `1`.
fn is_pointer(text: &str) -> bool {
    let escaped = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    (text.is_empty() || text.starts_with('/')) && escaped
}
