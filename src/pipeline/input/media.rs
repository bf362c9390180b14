//! One part of a message comes in; what it is, and the same medium in the other of its two forms, goes out.
//!
//! A medium is a part of its own type with a `source`, or, before there were those, a part `binary`. Bytes and
//! addresses are copied as they are spelled.

use super::boundary::{MIME_TYPE, is};
use crate::agui::edit::{self, Change};
use crate::agui::json::{Members, string};

/// What kind of part it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Image,
    Audio,
    Video,
    Document,
    Binary,
    /// One that this build does not know.
    Unknown,
}

impl Kind {
    fn of(name: &str) -> Self {
        match name {
            "text" => Self::Text,
            "image" => Self::Image,
            "audio" => Self::Audio,
            "video" => Self::Video,
            "document" => Self::Document,
            "binary" => Self::Binary,
            _ => Self::Unknown,
        }
    }

    /// Whether this is a medium in its current form.
    pub fn is_media(self) -> bool {
        matches!(self, Self::Image | Self::Audio | Self::Video | Self::Document)
    }
}

/// Where the bytes of a medium are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bytes<'a> {
    /// Here.
    Data(&'a [u8]),
    /// At an address.
    Url(&'a [u8]),
}

/// What a medium says about where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// Its bytes, or their address.
    Bytes(Bytes<'a>),
    /// Something else that not every agent can follow.
    Handle,
    /// Nothing that any version allows.
    Malformed,
}

/// A part of a message, as far as its conversion has to know it. Values are as they are spelled.
#[derive(Debug)]
pub struct Part<'a> {
    pub kind: Kind,
    pub text: Option<&'a [u8]>,
    pub metadata: Option<&'a [u8]>,
    pub source: Source<'a>,
    mime: Option<&'a [u8]>,
    filename: Option<&'a [u8]>,
    unknown_source: bool,
}

/// What makes two parts the same medium, whatever their form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Likeness<'a> {
    bytes: Bytes<'a>,
    mime: &'a [u8],
    filename: Option<&'a [u8]>,
}

impl Likeness<'_> {
    /// The same without a file name.
    pub fn unnamed(&self) -> Self {
        Self { filename: None, ..self.clone() }
    }
}

/// The value, if it is a string with something in it.
fn filled(value: &[u8]) -> Option<&[u8]> {
    (value.len() > 2 && value.starts_with(b"\"")).then_some(value)
}

impl<'a> Part<'a> {
    /// Reads a part; `None` if it does not name its type.
    pub fn of(text: &'a [u8]) -> Option<Self> {
        let mut kind = None;
        let (mut mime, mut data, mut url, mut id, mut filename) = (None, None, None, None, None);
        let (mut body, mut source, mut metadata) = (None, None, None);
        for member in Members::of(text) {
            let value = member.value;
            match () {
                () if member.is("type") => kind = member.string().map(|name| Kind::of(&name)),
                () if member.is("text") => body = Some(value),
                () if member.is("source") => source = Some(value),
                () if member.is("metadata") => metadata = (!member.is_null()).then_some(value),
                () if is(&member, MIME_TYPE) => mime = filled(value),
                () if member.is("data") => data = filled(value),
                () if member.is("url") => url = filled(value),
                () if member.is("id") => id = filled(value),
                () if member.is("filename") => filename = filled(value),
                () => {}
            }
        }
        let mut part = Self {
            kind: kind?,
            text: body,
            metadata,
            source: Source::Malformed,
            mime: None,
            filename: None,
            unknown_source: false,
        };
        if part.kind == Kind::Binary {
            (part.mime, part.filename) = (mime, filename);
            part.source = match (mime, data, url, id) {
                (None, ..) | (_, None, None, None) => Source::Malformed,
                (_, Some(data), ..) => Source::Bytes(Bytes::Data(data)),
                (_, _, Some(url), _) => Source::Bytes(Bytes::Url(url)),
                (_, _, _, Some(_)) => Source::Handle,
            };
        } else if part.kind.is_media() {
            part.filename = metadata.and_then(filename_of);
            part.read(source.unwrap_or_default());
        }
        Some(part)
    }

    fn read(&mut self, source: &'a [u8]) {
        let (mut kind, mut value) = (None, None);
        for member in Members::of(source) {
            match () {
                () if member.is("type") => kind = string(member.value),
                () if member.is("value") => value = member.string().is_some().then_some(member.value),
                () if is(&member, MIME_TYPE) => self.mime = filled(member.value),
                () => {}
            }
        }
        self.source = match (kind.as_deref(), value) {
            (Some("data"), Some(value)) if self.mime.is_some() => Source::Bytes(Bytes::Data(value)),
            (Some("url"), Some(value)) => Source::Bytes(Bytes::Url(value)),
            (Some("data" | "url"), _) | (None, _) | (Some("file"), None) => Source::Malformed,
            (Some(other), _) => {
                self.unknown_source = other != "file";
                Source::Handle
            }
        };
    }

    /// What it is the same medium as, if it says all that both forms need.
    pub fn likeness(&self) -> Option<Likeness<'a>> {
        let Source::Bytes(bytes) = self.source else {
            return None;
        };
        let (Bytes::Data(value) | Bytes::Url(value)) = bytes;
        filled(value)?;
        Some(Likeness { bytes, mime: self.mime?, filename: self.filename })
    }

    /// Whether its metadata holds more than a file name.
    pub fn has_other_metadata(&self) -> bool {
        self.metadata.is_some_and(|metadata| match self.filename {
            Some(_) => Members::of(metadata).any(|member| !member.is("filename")),
            None => true,
        })
    }

    /// As what it gets lost.
    pub fn lost(&self) -> &'static str {
        match (self.kind, self.source) {
            (Kind::Binary, _) => "binary_part",
            (_, Source::Handle) if self.unknown_source => "unknown_part",
            (_, Source::Handle) => "file_source",
            (Kind::Image, _) => "image_part",
            (Kind::Audio, _) => "audio_part",
            (Kind::Video, _) => "video_part",
            (Kind::Document, _) => "document_part",
            (Kind::Text | Kind::Unknown, _) => "unknown_part",
        }
    }
}

fn filename_of(metadata: &[u8]) -> Option<&[u8]> {
    Members::of(metadata).filter(|member| member.is("filename")).last().and_then(|member| filled(member.value))
}

/// A medium as a part `binary`.
pub fn to_binary(part: &[u8], likeness: &Likeness<'_>) -> Option<Vec<u8>> {
    let (name, value) = match likeness.bytes {
        Bytes::Data(value) => ("\"data\":", value),
        Bytes::Url(value) => ("\"url\":", value),
    };
    edit::members(part, |member| match () {
        () if member.is("type") => Change::text("binary"),
        () if member.is("id") => Change::Drop,
        () if member.is("source") => {
            Change::Whole([b"\"mimeType\":", likeness.mime, b",", name.as_bytes(), value].concat())
        }
        () if member.is("metadata") => match likeness.filename {
            Some(filename) => Change::Whole([b"\"filename\":", filename].concat()),
            None => Change::Drop,
        },
        () => Change::Keep,
    })
}

/// A part `binary` as a medium, of the kind that its type says.
pub fn to_media(text: &[u8], part: &Part<'_>) -> Option<Vec<u8>> {
    let likeness = part.likeness()?;
    let (form, value) = match likeness.bytes {
        Bytes::Data(value) => ("data", value),
        Bytes::Url(value) => ("url", value),
    };
    let head = format!("\"source\":{{\"type\":\"{form}\",\"value\":");
    let source = [head.as_bytes(), value, b",\"mimeType\":", likeness.mime, b"}"].concat();
    edit::members(text, |member| match () {
        () if member.is("type") => Change::text(kind_of(likeness.mime)),
        () if is(member, MIME_TYPE) => Change::Whole(source.clone()),
        () if ["data", "url", "id"].iter().any(|name| member.is(name)) => Change::Drop,
        () if member.is("filename") => match likeness.filename {
            Some(filename) if part.metadata.is_none() => {
                Change::Whole([b"\"metadata\":{\"filename\":", filename, b"}"].concat())
            }
            _ => Change::Drop,
        },
        () if member.is("metadata") && member.is_null() => Change::Drop,
        () if member.is("metadata") => match likeness.filename {
            Some(filename) if filename_of(member.value).is_none() => {
                edit::appended(member.value, "filename", filename).into()
            }
            _ => Change::Keep,
        },
        () => Change::Keep,
    })
}

fn kind_of(mime: &[u8]) -> &'static str {
    let mime = string(mime).unwrap_or_default();
    let family = mime.split_once('/').map_or("", |(family, _)| family);
    ["image", "audio", "video"].into_iter().find(|known| family.eq_ignore_ascii_case(known)).unwrap_or("document")
}

/// A part without an id of its own, which nobody reads yet and older agents do not know.
pub fn without_id(part: &[u8]) -> Option<Vec<u8>> {
    edit::members(part, |member| super::drop_if(member.is("id")))
}

/// A medium without the members that hold nothing.
pub fn without_nulls(text: &[u8], part: &Part<'_>) -> Option<Vec<u8>> {
    if !part.kind.is_media() {
        return None;
    }
    edit::members(text, |member| match () {
        () if member.is("metadata") => super::drop_if(member.is_null()),
        () if member.is("source") => edit::members(member.value, |inner| {
            super::drop_if(inner.is_null() && (is(inner, MIME_TYPE) || inner.is("provider")))
        })
        .into(),
        () => Change::Keep,
    })
}
