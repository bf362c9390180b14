//! Restated messages come in, the same with `binary` parts as the media that they are go out. A part that names neither
//! data nor address (only an identifier that nothing resolves any more) is left out, as current clients do.

use std::time::Instant;

use super::send;
use crate::{
    agui::{
        Event, EventKind, Kinds, Losses, Word,
        content::{Kind, Part, Parts, reshaped},
        edit::{self, Change},
        message::with_content,
    },
    pipeline::{Loss, Out, Stage},
};

static BINARY: Word = Word::new("\"binary\"");

/// Makes an image, audio, video or document of each `binary` part.
#[derive(Debug)]
pub(super) struct Media;

impl Stage for Media {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[EventKind::MessagesSnapshot, EventKind::RunStarted])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        if !BINARY.is_in(event.text()) {
            return out.send(event, at);
        }
        let mut losses = Losses::default();
        let changed = event.edited(|member| match event.kind() {
            EventKind::MessagesSnapshot if member.is("messages") => messages(member.value, &mut losses).into(),
            EventKind::RunStarted if member.is("input") => edit::members(member.value, |member| {
                if member.is("messages") { messages(member.value, &mut losses).into() } else { Change::Keep }
            })
            .into(),
            _ => Change::Keep,
        });
        send(event, changed, losses.first().map_or(Loss::None, Loss::Part), at, out);
    }
}

fn messages(list: &[u8], losses: &mut Losses) -> Option<Vec<u8>> {
    edit::elements(list, |message| {
        with_content(message, |content| reshaped(content, (Parts::Media, Parts::All), losses, kept)).into()
    })
}

/// A `binary` part that is still one is malformed, and clients refuse it.
fn kept(_: &[u8], part: &Part<'_>, losses: &mut Losses) -> Change {
    if part.kind == Kind::Binary { part.lose(losses) } else { Change::Keep }
}
