//! One content part comes in, JSON; what it is goes out, and under which name it gets lost. Nothing is changed here.
//!
//! A medium is a part of its own type with a `source`, or, before there were those, a part `binary`.

use crate::agui::{
    Losses,
    edit::Change,
    json::{Member, Members, string},
};

/// Whether the member is the media type: as the protocol spells it, or as peers do that write Python's names.
pub(super) fn is_mime_type(member: &Member<'_>) -> bool {
    member.is("mimeType") || member.is("mime_type")
}

/// What kind of part it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Words.
    Text,
    /// A picture, as a part of its own type.
    Image,
    /// Sound.
    Audio,
    /// Moving pictures.
    Video,
    /// Any other file.
    Document,
    /// A medium in its form of before 0.0.49, which 1.0 has retired.
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
    /// Something else that not every peer can follow.
    Handle,
    /// Nothing that any version allows.
    Malformed,
}

/// A part of a message, as far as its conversion has to know it. Values are as they are spelled.
#[derive(Debug)]
pub struct Part<'a> {
    /// What kind of part it is.
    pub kind: Kind,
    /// Its `text`.
    pub text: Option<&'a [u8]>,
    /// Its metadata, unless that is `null`.
    pub metadata: Option<&'a [u8]>,
    /// Where its bytes are; of a part that is no medium, malformed.
    pub source: Source<'a>,
    mime: Option<&'a [u8]>,
    filename: Option<&'a [u8]>,
    unknown_source: bool,
}

/// What makes two parts the same medium, whatever their form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Likeness<'a> {
    pub(super) bytes: Bytes<'a>,
    pub(super) mime: &'a [u8],
    pub(super) filename: Option<&'a [u8]>,
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
                () if is_mime_type(&member) => mime = member.string().is_some().then_some(value),
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
                () if is_mime_type(&member) => self.mime = member.string().is_some().then_some(member.value),
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

    /// Leaves it out, and names it.
    pub fn lose(&self, losses: &mut Losses) -> Change {
        losses.name(self.lost());
        Change::Drop
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

/// The file name among a medium's metadata.
pub(super) fn filename_of(metadata: &[u8]) -> Option<&[u8]> {
    Members::of(metadata).filter(|member| member.is("filename")).last().and_then(|member| filled(member.value))
}
