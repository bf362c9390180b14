//! A message's content parts come in, what a peer of another age reads in their place goes out: fewer parts, parts in the
//! form of its time, or one string. Nothing stands in for a part that goes, every loss is named, and parts that nobody
//! would accept are left as they are.

mod media;
mod part;

use std::collections::HashSet;

use part::Likeness;
pub use part::{Bytes, Kind, Part, Source};

use super::{
    Losses, Version, Word,
    edit::{self, Change},
    json::{self, Elements},
};

static BINARY: Word = Word::new("binary");

/// The content parts that a peer knows in a user's message, each of these more than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parts {
    /// None: its content is one string.
    Text,
    /// `text` and `binary`.
    Binary,
    /// `image`, `audio`, `video` and `document` too, each by `data` or by `url`.
    Media,
    /// Whatever there is, but `binary` no more.
    All,
}

impl Parts {
    /// Those that a client of this version reads in a stream: any parts from 0.0.41 on.
    pub fn read_by_client(client: Version) -> Self {
        Self::known(client, Version::npm(41))
    }

    /// Those that an agent of this version reads in an input, and its clients send: any parts from 0.0.40 on.
    pub fn read_by_agent(agent: Version) -> Self {
        Self::known(agent, Version::npm(40))
    }

    fn known(peer: Version, first: Version) -> Self {
        match () {
            () if peer < first => Self::Text,
            () if peer < Version::npm(49) => Self::Binary,
            () if peer.is_old() => Self::Media,
            () => Self::All,
        }
    }
}

/// A user's content as a peer reads it that knows these parts, from one that has sent what it knows. `None` if nothing
/// changes, or if it is no array of parts.
///
/// `kept` says what becomes of a part that is not converted: one that is read as it is, or that is malformed.
pub fn reshaped(
    content: &[u8],
    (sent, read): (Parts, Parts),
    losses: &mut Losses,
    kept: impl Fn(&[u8], &Part<'_>, &mut Losses) -> Change,
) -> Option<Vec<u8>> {
    if read == Parts::Text {
        return flattened(content, losses);
    }
    let way = Reshape::of(content, sent, read);
    let mut lost = Losses::default();
    let edited = edit::elements(content, |text| {
        let Some(part) = Part::of(text) else { return Change::Keep };
        way.part(text, &part, &mut lost).unwrap_or_else(|| kept(text, &part, &mut lost))
    })?;
    losses.extend(lost);
    Some(edited)
}

/// Content parts as one string: the texts one after another with nothing between them, as they are spelled, and the
/// other parts gone. `None` if it is no array of parts, or if one of them claims to be text and has none.
pub fn flattened(content: &[u8], losses: &mut Losses) -> Option<Vec<u8>> {
    let mut walk = Elements::of(content);
    let (mut joined, mut lost) = (vec![b'"'], Losses::default());
    for place in walk.by_ref() {
        let part = Part::of(&content[place])?;
        if part.kind == Kind::Text {
            joined.extend_from_slice(part.text?.strip_prefix(b"\"")?.strip_suffix(b"\"")?);
            if part.metadata.is_some() {
                lost.name("part_metadata");
            }
        } else {
            lost.name(part.lost());
        }
    }
    if !walk.is_complete() {
        return None;
    }
    joined.push(b'"');
    losses.extend(lost);
    Some(joined)
}

/// How the parts of one message are converted.
struct Reshape<'a> {
    read: Parts,
    /// Whether `binary` parts become media: the reader knows more than them, and the sender knew less than the reader.
    raises: bool,
    /// Some peers send a medium in both forms, for readers of any age. What stays as it is makes the other form one too
    /// many: this is what stays.
    twins: HashSet<Likeness<'a>>,
}

impl<'a> Reshape<'a> {
    fn of(content: &'a [u8], sent: Parts, read: Parts) -> Self {
        let raises = read > Parts::Binary && sent < read;
        let stays = |part: &Part<'_>| match read {
            Parts::Binary => part.kind == Kind::Binary,
            _ => raises && part.kind.is_media(),
        };
        let mut twins = HashSet::new();
        // Without a part of the older form there is nothing twice.
        if BINARY.is_in(content) {
            for likeness in json::elements(content).filter_map(Part::of).filter(stays).filter_map(|p| p.likeness()) {
                twins.insert(likeness.unnamed());
                twins.insert(likeness);
            }
        }
        Self { read, raises, twins }
    }

    /// What becomes of a part; `None` if it is not for this to convert.
    fn part(&self, text: &[u8], part: &Part<'_>, losses: &mut Losses) -> Option<Change> {
        let binary = part.kind == Kind::Binary;
        let converts = match part.kind {
            Kind::Text => false,
            Kind::Binary => self.raises,
            Kind::Unknown | Kind::Image | Kind::Audio | Kind::Video | Kind::Document => self.read < Parts::All,
        };
        match part.source {
            _ if !converts => None,
            _ if part.kind == Kind::Unknown => Some(part.lose(losses)),
            Source::Malformed => None,
            Source::Handle => Some(part.lose(losses)),
            Source::Bytes(_) if !binary && self.read == Parts::Media => None,
            Source::Bytes(_) => Some(match part.likeness() {
                // Both forms have to say what and where it is, and nobody said it.
                None => part.lose(losses),
                Some(likeness) if self.twins.contains(&likeness) => Change::Drop,
                Some(_) if binary => media::to_media(text, part).into(),
                Some(likeness) => {
                    if part.has_other_metadata() {
                        losses.name("part_metadata");
                    }
                    media::to_binary(text, &likeness).into()
                }
            }),
        }
    }
}

#[cfg(test)]
mod tests;
