//! A message's content parts come in, what an older peer reads in their place goes out: fewer parts, older parts, or
//! one string. Nothing stands in for a part that goes, and parts that nobody would accept are left as they are.

use std::borrow::Cow;

use super::{
    Version,
    edit::{self, Change},
    json::{self, Elements, Member, Members},
};

/// The content parts that a peer reads in a user's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// None: its content is one string. Before 0.0.41.
    Text,
    /// `text` and `binary`. Before 0.0.49.
    Binary,
    /// `text`, `image`, `audio`, `video` and `document`, each by `data` or by `url`. Before 1.0.
    Media,
    /// Whatever there is.
    All,
}

/// What content has become for an older peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reshaped {
    /// The new content, JSON.
    pub content: Vec<u8>,
    /// Whether a part had to go that is no text.
    pub lost: bool,
}

impl Parts {
    /// Those that this version reads.
    pub fn read_by(peer: Version) -> Self {
        match () {
            () if peer < Version::npm(41) => Self::Text,
            () if peer < Version::npm(49) => Self::Binary,
            () if peer < Version::V1_0 => Self::Media,
            () => Self::All,
        }
    }

    /// A user's content as a peer reads it that knows these parts; `None` if it reads it as it is, or if it is
    /// malformed, which is for the peer to find.
    pub fn reshape(self, content: &[u8]) -> Option<Reshaped> {
        match self {
            Self::All => None,
            Self::Text => flattened(content),
            Self::Binary | Self::Media if !are_parts(content) => None,
            Self::Binary => changed(content, binary),
            Self::Media => changed(content, media),
        }
    }
}

/// Content parts as one string: the texts one after another with nothing between them, the other parts gone. `None` if
/// it is no array of parts, or if one of them claims to be text and has none.
pub fn flattened(content: &[u8]) -> Option<Reshaped> {
    if !are_parts(content) {
        return None;
    }
    let (mut text, mut lost) = (vec![b'"'], false);
    for part in json::elements(content) {
        match (Part::of(part).kind.as_deref(), member(part, "text")) {
            // Two strings are joined as they are spelled, between their quotes.
            (Some("text"), Some([b'"', inner @ .., b'"'])) => text.extend_from_slice(inner),
            (Some("text"), _) => return None,
            _ => lost = true,
        }
    }
    text.push(b'"');
    Some(Reshaped { content: text, lost })
}

/// Whether this is a whole array of objects that each name their type.
fn are_parts(content: &[u8]) -> bool {
    let mut parts = Elements::of(content);
    parts.by_ref().all(|place| Part::of(&content[place]).kind.is_some()) && parts.is_complete()
}

fn changed(content: &[u8], change: fn(&Part<'_>) -> Change) -> Option<Reshaped> {
    let mut lost = false;
    let content = edit::elements(content, |part| {
        let change = change(&Part::of(part));
        lost |= change == Change::Drop;
        change
    })?;
    Some(Reshaped { content, lost })
}

/// One content part, as far as its type and its source go.
struct Part<'a> {
    text: &'a [u8],
    kind: Option<Cow<'a, str>>,
}

impl<'a> Part<'a> {
    fn of(text: &'a [u8]) -> Self {
        Self { text, kind: member(text, "type").and_then(json::string) }
    }

    fn kind(&self) -> &str {
        self.kind.as_deref().unwrap_or_default()
    }

    fn is_media(&self) -> bool {
        matches!(self.kind(), "image" | "audio" | "video" | "document")
    }

    fn source(&self) -> Option<&'a [u8]> {
        member(self.text, "source")
    }

    fn source_type(&self) -> Option<Cow<'a, str>> {
        json::string(member(self.source()?, "type")?)
    }
}

/// A part for a peer that knows media by data or by url. A source with no type that could be read is malformed.
fn media(part: &Part<'_>) -> Change {
    match (part.kind(), part.source_type().as_deref()) {
        ("text" | "binary", _) => Change::Keep,
        _ if !part.is_media() => Change::Drop,
        (_, Some("data" | "url") | None) => Change::Keep,
        _ => Change::Drop,
    }
}

/// A part for a peer that knows `binary` in place of all media.
fn binary(part: &Part<'_>) -> Change {
    let place: &[u8] = match (part.kind(), part.source_type().as_deref()) {
        ("text" | "binary", _) => return Change::Keep,
        _ if !part.is_media() => return Change::Drop,
        (_, None) => return Change::Keep,
        (_, Some("data")) => b"data",
        (_, Some("url")) => b"url",
        _ => return Change::Drop,
    };
    let of_source = |name| part.source().and_then(|source| member(source, name));
    let (mime, value) = match (of_source("mimeType"), of_source("value")) {
        (Some(mime @ [b'"', ..]), Some(value @ [b'"', ..])) if value != b"\"\"" => (mime, value),
        // Without a media type, or with nothing in it, there is no `binary` part, and neither can be made up.
        (None, Some([b'"', ..])) if place == b"url" => return Change::Drop,
        (Some([b'"', ..]), Some(b"\"\"")) => return Change::Drop,
        _ => return Change::Keep,
    };
    let filename = member(part.text, "metadata")
        .and_then(|metadata| member(metadata, "filename"))
        .filter(|name| name.starts_with(b"\""));
    let mut out = [&br#"{"type":"binary","mimeType":"#[..], mime, b",\"", place, b"\":", value].concat();
    if let Some(filename) = filename {
        out.extend_from_slice(b",\"filename\":");
        out.extend_from_slice(filename);
    }
    out.push(b'}');
    Change::Value(out)
}

fn member<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    Members::of(object).find(|m: &Member<'_>| m.is(name)).map(|m| m.value)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn text(reshaped: Option<Reshaped>) -> Option<(String, bool)> {
        reshaped.map(|r| (String::from_utf8(r.content).unwrap(), r.lost))
    }

    fn some(content: &str, lost: bool) -> Option<(String, bool)> {
        Some((content.into(), lost))
    }

    const IMAGE: &str = r#"{"type":"image","source":{"type":"data","value":"QQ==","mimeType":"image/png"}}"#;

    #[test]
    fn texts_are_joined_with_nothing_between_them_and_keep_their_spelling() {
        let two = r#"[{"type":"text","text":"a\u00e9"},{"text":"\"b","type":"text"}]"#;
        assert_eq!(text(flattened(two.as_bytes())), some(r#""a\u00e9\"b""#, false));
        assert_eq!(text(flattened(b"[]")), some(r#""""#, false));
        let mixed = format!(r#"[{IMAGE},{{"type":"text","text":"a"}},{{"type":"new"}}]"#);
        assert_eq!(text(flattened(mixed.as_bytes())), some(r#""a""#, true));
    }

    #[test]
    fn malformed_content_is_not_repaired() {
        let malformed = [
            r#""text""#,
            "null",
            "{}",
            "[1]",
            "[{}]",
            r#"[{"type":1}]"#,
            r#"[{"type":"text","text":"a"}"#,
            r#"[{"type":"text","text":42}]"#,
            r#"[{"type":"text"}]"#,
        ];
        for content in malformed {
            assert_eq!(flattened(content.as_bytes()), None, "{content}");
            for parts in [Parts::Text, Parts::Binary, Parts::Media, Parts::All] {
                assert_eq!(parts.reshape(content.as_bytes()), None, "{content}");
            }
        }
    }

    #[test]
    fn media_become_binary_where_their_type_is_known() {
        let reshape = |part: &str| text(Parts::Binary.reshape(format!("[{part}]").as_bytes()));
        let named = r#"{"type":"document","id":"p","metadata":{"filename":"f"},
            "source":{"type":"url","value":"http://x/","mimeType":"text/csv"}}"#;
        assert_eq!(
            reshape(named),
            some(r#"[{"type":"binary","mimeType":"text/csv","url":"http://x/","filename":"f"}]"#, false)
        );
        assert_eq!(reshape(IMAGE), some(r#"[{"type":"binary","mimeType":"image/png","data":"QQ=="}]"#, false));
        for gone in [
            r#"{"type":"image","source":{"type":"url","value":"http://x/"}}"#,
            r#"{"type":"image","source":{"type":"file","value":"f","mimeType":"image/png"}}"#,
            r#"{"type":"image","source":{"type":"data","value":"","mimeType":"image/png"}}"#,
            r#"{"type":"new"}"#,
        ] {
            assert_eq!(reshape(gone), some("[]", true), "{gone}");
        }
        for kept in [
            r#"{"type":"text","text":"a","id":"p"}"#,
            r#"{"type":"image","source":{"type":"data","value":"QQ=="}}"#,
            r#"{"type":"image","source":{"type":"url","value":1,"mimeType":"image/png"}}"#,
            r#"{"type":"image","source":{}}"#,
        ] {
            assert_eq!(reshape(kept), None, "what the peer reads, and what nobody reads, stays: {kept}");
        }
    }

    #[test]
    fn handles_and_unknown_parts_go_where_media_are_known() {
        let reshape = |part: &str| text(Parts::Media.reshape(format!("[{part}]").as_bytes()));
        assert_eq!(reshape(IMAGE), None);
        assert_eq!(reshape(r#"{"type":"video","source":{"type":"url","value":"http://x/"}}"#), None);
        assert_eq!(reshape(r#"{"type":"image","source":{"type":"file","value":"f"}}"#), some("[]", true));
        assert_eq!(reshape(r#"{"type":"image","source":{"type":"new"}}"#), some("[]", true));
        assert_eq!(reshape(r#"{"type":"new"}"#), some("[]", true));
        assert_eq!(reshape(r#"{"type":"image","source":1}"#), None, "the peer refuses it");
    }

    #[test]
    fn a_version_reads_the_parts_of_its_time() {
        let parts = [40, 41, 48, 49, 59].map(|n| Parts::read_by(Version::npm(n)));
        assert_eq!(parts, [Parts::Text, Parts::Binary, Parts::Binary, Parts::Media, Parts::Media]);
        assert_eq!(Parts::read_by(Version::V1_0), Parts::All);
    }
}
