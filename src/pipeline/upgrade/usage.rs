//! The ends of runs come in, the same with the token counts that are counts go out. Older clients did not read them;
//! current ones fail at any that is not a whole number.

use std::time::Instant;

use super::{is_safe_integer, send};
use crate::{
    agui::{
        Event, EventKind, Kinds, Word,
        edit::{self, Change},
        json::Elements,
    },
    pipeline::{Loss, Out, Stage},
};

static USAGE: Word = Word::new("usage");

/// Takes out what is no usage.
#[derive(Debug)]
pub(super) struct Usage;

impl Stage for Usage {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[EventKind::RunFinished, EventKind::RunError])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        if !USAGE.is_in(event.text()) {
            return out.send(event, at);
        }
        let changed = event.edited(|member| if member.is("usage") { sound(member.value) } else { Change::Keep });
        send(event, changed, Loss::Part("usage"), at, out);
    }
}

fn sound(list: &[u8]) -> Change {
    let mut places = Elements::of(list);
    places.by_ref().for_each(drop);
    if !places.is_complete() {
        return Change::Drop;
    }
    edit::elements(list, |entry| match entry.first() {
        Some(b'{') => counts(entry).into(),
        _ => Change::Drop,
    })
    .into()
}

fn counts(entry: &[u8]) -> Option<Vec<u8>> {
    edit::members(entry, |member| {
        let is_sound = match member.name().as_deref() {
            Some("provider" | "model") => member.value.first() == Some(&b'"'),
            Some(name) if name.ends_with("Tokens") => {
                is_safe_integer(member.value) && member.value.first() != Some(&b'-')
            }
            _ => true,
        };
        if is_sound { Change::Keep } else { Change::Drop }
    })
}
