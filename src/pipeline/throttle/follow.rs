//! The events of a stream come in, in order; which open item each chunk continues, and which events close one, goes out.
//! It judges nothing: what breaks the rules is odd, and odd events are not merged.

use super::piece::{Piece, Shape};
use crate::agui::{
    Event,
    follow::{Closes, closes},
    lanes::{Item, Lanes, NAME_MAX, Place},
};

/// What the opener of a chunk stream said, as it was spelled.
#[derive(Debug)]
struct Opener {
    fields: [Option<Box<[u8]>>; 2],
}

/// Who continues what.
#[derive(Debug, Default)]
pub(super) struct Follow {
    lanes: Lanes<Opener>,
    /// Whether a client may have streams open that are not known here, until all are closed.
    lost: bool,
}

/// What a chunk is.
#[derive(Debug)]
pub(super) enum Turn<'a> {
    /// More of the item with this owner and identifier.
    Continues(Option<&'a str>, &'a str),
    /// The first of an item in this lane.
    Opens(Option<Box<str>>),
    /// Something else.
    Odd,
}

impl Follow {
    /// Whether no chunk stream is open, for certain.
    pub(super) fn is_idle(&self) -> bool {
        self.lanes.is_idle() && !self.lost
    }

    /// What this chunk is.
    pub(super) fn turn(&self, shape: &Shape, piece: &Piece<'_>) -> Turn<'_> {
        let Some(item) = shape.item else { return Turn::Odd };
        match self.lanes.place(item, piece.id.as_deref(), piece.tag.as_deref()) {
            Place::Continues(open) if open.data.agrees(item, piece) => Turn::Continues(open.lane(), &open.id),
            Place::Opens(lane) if piece.can_open() => {
                let id = piece.id.as_deref().unwrap_or_default();
                let short = piece.fields.iter().flatten().all(|field| field.len() <= NAME_MAX);
                if short && self.lanes.has_room(lane.as_deref(), id) { Turn::Opens(lane) } else { Turn::Odd }
            }
            _ => Turn::Odd,
        }
    }

    /// Opens the item of this chunk, in place of what is open in its lane.
    pub(super) fn open(&mut self, lane: Option<Box<str>>, shape: &Shape, piece: &Piece<'_>) {
        if let Some(item) = shape.item {
            let opener = Opener { fields: piece.fields.map(|field| field.map(Box::from)) };
            self.lanes.open(lane, item, piece.id.as_deref().unwrap_or_default(), opener);
        }
    }

    /// Follows an event that is no chunk; whether it may close anything.
    pub(super) fn event(&mut self, event: &Event) -> bool {
        let mut closed = false;
        self.lanes.follow(event, |_| closed = true);
        let lost = match closes(event.kind()) {
            Closes::All => std::mem::take(&mut self.lost),
            Closes::Lane => self.lost,
            Closes::Nothing | Closes::Subagent => false,
        };
        closed || lost
    }

    /// Closes every chunk stream.
    pub(super) fn close_all(&mut self) {
        self.lanes.close_all();
        self.lost = false;
    }

    /// A chunk came that is out of place: what is open is not known any more.
    pub(super) fn lose(&mut self) {
        self.lanes.close_all();
        self.lost = true;
    }

    /// The bytes of what is kept.
    pub(super) fn held(&self) -> usize {
        let fields = self.lanes.iter().flat_map(|open| open.data.fields.iter().flatten());
        self.lanes.held() + fields.map(|field| field.len()).sum::<usize>()
    }
}

impl Opener {
    /// Whether a continuation repeats nothing but what the opener said. A text message whose opener names no role is the
    /// assistant's.
    fn agrees(&self, item: Item, piece: &Piece<'_>) -> bool {
        let default: Option<&[u8]> = (item == Item::Text).then_some(br#""assistant""#);
        let said = self.fields.iter().map(Option::as_deref);
        let mut pairs = said.zip(&piece.fields).zip([default, None]);
        pairs.all(|((said, field), default)| field.is_none() || *field == said.or(default))
    }
}
