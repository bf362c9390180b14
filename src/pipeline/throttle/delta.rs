//! Deltas of one item come in, one delta that says the same goes out: their text joined as it is spelled, so that halves
//! of a surrogate pair that came apart are a pair again, and their metadata merged key by key.

use std::{borrow::Cow, ops::Range};

use indexmap::IndexMap;

use super::{
    grown::Grown,
    piece::{Piece, alike},
};
use crate::agui::{Event, edit::quoted, json::Members};

/// Deltas that are held as one.
#[derive(Debug)]
pub(super) struct Delta {
    grown: Grown,
    /// Characters of all of them.
    pub(super) chars: usize,
    /// Whether they end in the first half of a surrogate pair.
    pub(super) half: bool,
    /// Where in the first one the members stand that nobody describes.
    others: Vec<Range<usize>>,
    /// The metadata of those after the first, where it differs from what came before it.
    metadata: Vec<Box<[u8]>>,
    /// Where the metadata of the first one stands, for comparison.
    first_metadata: Option<Box<[u8]>>,
}

impl Delta {
    /// This event, which is this piece, alone.
    pub(super) fn of(event: &Event, piece: Piece<'_>) -> Self {
        Self {
            grown: Grown::of(event, piece.end.unwrap_or_default(), piece.raw_event),
            chars: piece.measure.chars,
            half: piece.measure.half,
            others: piece.others,
            metadata: Vec::new(),
            first_metadata: piece.metadata.map(Box::from),
        }
    }

    /// Whether nothing gets lost if this piece, of `text`, is merged into it.
    pub(super) fn takes(&self, piece: &Piece<'_>, text: &[u8]) -> bool {
        alike((self.grown.first(), &self.others), (text, &piece.others))
    }

    /// Merges this piece into it.
    pub(super) fn push(&mut self, piece: &Piece<'_>) {
        self.grown.push(b"", piece.body, piece.raw_event);
        self.chars += piece.measure.chars;
        // An empty delta leaves the end as it is.
        self.half = piece.measure.half || (self.half && piece.is_empty());
        if let Some(metadata) = piece.metadata
            && self.metadata.last().or(self.first_metadata.as_ref()).is_none_or(|last| **last != *metadata)
        {
            self.metadata.push(metadata.into());
        }
    }

    /// The bytes it takes.
    pub(super) fn held(&self) -> usize {
        let metadata = self.metadata.iter().chain(&self.first_metadata);
        self.grown.held() + metadata.map(|metadata| metadata.len() + size_of::<Box<[u8]>>()).sum::<usize>()
    }

    /// What it has become, and how many events lost what they were made from.
    pub(super) fn finish(self) -> (Event, usize) {
        if self.grown.is_alone() {
            return (self.grown.finish(), 0);
        }
        let lost = self.grown.raw_events();
        let event = self.grown.finish();
        if self.metadata.is_empty() {
            return (event, lost);
        }
        let all = self.first_metadata.iter().chain(&self.metadata);
        (event.with("metadata", &merged(all.map(|metadata| &**metadata))), lost)
    }
}

/// The objects as one: of a key that is there more than once the last value counts.
fn merged<'a>(objects: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut keys: IndexMap<String, &[u8]> = IndexMap::new();
    for member in objects.flat_map(Members::of) {
        if let Some(name) = member.name().map(Cow::into_owned) {
            keys.insert(name, member.value);
        }
    }
    let mut out = vec![b'{'];
    for (at, (name, value)) in keys.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&quoted(name));
        out.push(b':');
        out.extend_from_slice(value);
    }
    out.push(b'}');
    out
}
