//! Restated messages come in, the same with `binary` parts as the media that they are go out. A part that names neither
//! data nor address (only an identifier that nothing resolves any more) is left out, as current clients do.

use std::time::Instant;

use super::send;
use crate::{
    agui::{
        Event, EventKind, Kinds, Word,
        edit::{self, Change},
        json::{self, Members},
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
        let mut loss = Loss::None;
        let changed = event.edited(|member| match event.kind() {
            EventKind::MessagesSnapshot if member.is("messages") => messages(member.value, &mut loss).into(),
            EventKind::RunStarted if member.is("input") => edit::members(member.value, |member| {
                if member.is("messages") { messages(member.value, &mut loss).into() } else { Change::Keep }
            })
            .into(),
            _ => Change::Keep,
        });
        send(event, changed, loss, at, out);
    }
}

fn messages(list: &[u8], loss: &mut Loss) -> Option<Vec<u8>> {
    edit::elements(list, |message| {
        edit::members(
            message,
            |member| {
                if member.is("content") { parts(member.value, loss).into() } else { Change::Keep }
            },
        )
        .into()
    })
}

fn parts(list: &[u8], loss: &mut Loss) -> Option<Vec<u8>> {
    edit::elements(list, |part| {
        if member(part, "type").and_then(json::string).as_deref() != Some("binary") {
            return Change::Keep;
        }
        match Modern::of(part) {
            // Some agents sent both shapes of one thing.
            Some(modern) if json::elements(list).any(|other| modern.is_said_by(other)) => Change::Drop,
            Some(modern) => Change::Whole(modern.text()),
            None => {
                *loss = Loss::Part("media_part");
                Change::Drop
            }
        }
    })
}

/// What a `binary` part is now, its values as they were spelled.
struct Modern<'a> {
    kind: &'static str,
    source: &'static str,
    value: &'a [u8],
    mime: &'a [u8],
    filename: Option<&'a [u8]>,
}

impl<'a> Modern<'a> {
    fn of(part: &'a [u8]) -> Option<Self> {
        let text = |name| member(part, name).filter(|value| value.first() == Some(&b'"') && *value != b"\"\"");
        let mime = text("mimeType")?;
        let kind = match json::string(mime)?.split('/').next() {
            Some("image") => "image",
            Some("audio") => "audio",
            Some("video") => "video",
            _ => "document",
        };
        let (source, value) = text("data").map(|value| ("data", value)).or_else(|| Some(("url", text("url")?)))?;
        Some(Self { kind, source, value, mime, filename: text("filename") })
    }

    fn is_said_by(&self, other: &[u8]) -> bool {
        let source = member(other, "source");
        let value = source.and_then(|source| member(source, "value"));
        value == Some(self.value) && member(other, "type").and_then(json::string).as_deref() == Some(self.kind)
    }

    fn text(&self) -> Vec<u8> {
        let Self { kind, source, value, mime, filename } = self;
        let mut text = format!("{{\"type\":\"{kind}\",\"source\":{{\"type\":\"{source}\",\"value\":").into_bytes();
        text.extend_from_slice(value);
        text.extend_from_slice(b",\"mimeType\":");
        text.extend_from_slice(mime);
        text.push(b'}');
        if let Some(filename) = filename {
            text.extend_from_slice(b",\"metadata\":{\"filename\":");
            text.extend_from_slice(filename);
            text.push(b'}');
        }
        text.push(b'}');
        text
    }
}

fn member<'a>(text: &'a [u8], name: &str) -> Option<&'a [u8]> {
    Members::of(text).find(|member| member.is(name)).map(|member| member.value)
}
