//! A medium in one of its two forms comes in, the same in the other goes out. Bytes, addresses and the members that
//! neither form describes are copied as they are spelled; those of the other form, which mean nothing in this one, go.

use super::part::{Bytes, Likeness, Part, filename_of, is_mime_type};
use crate::agui::{
    edit::{self, Change},
    json::string,
};

/// A medium as a part `binary`.
pub fn to_binary(part: &[u8], likeness: &Likeness<'_>) -> Option<Vec<u8>> {
    let (name, value) = match likeness.bytes {
        Bytes::Data(value) => ("\"data\":", value),
        Bytes::Url(value) => ("\"url\":", value),
    };
    edit::members(part, |member| match () {
        () if member.is("type") => Change::text("binary"),
        () if ["id", "data", "url", "filename"].iter().any(|name| member.is(name)) || is_mime_type(member) => {
            Change::Drop
        }
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
    let mut source = Some(source);
    edit::members(text, |member| match () {
        () if member.is("type") => Change::text(kind_of(likeness.mime)),
        () if is_mime_type(member) => source.take().map_or(Change::Drop, Change::Whole),
        () if ["data", "url", "id", "source"].iter().any(|name| member.is(name)) => Change::Drop,
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
