//! The events of a stream come in, which chunk streams each of them closes and which item a chunk means go out. It keeps
//! no event and judges none.

use crate::agui::{
    follow::About,
    lanes::{Item, Lanes, Open, Place},
};

/// Why a chunk has no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// It continues nothing, or could continue several items, or says it is another's.
    Astray,
    /// More streams are open than are followed.
    Full,
}

/// Where a chunk belongs.
#[derive(Debug)]
pub struct Placed {
    pub id: Box<str>,
    pub lane: Option<Box<str>>,
    /// Whether it opens the item's stream.
    pub opens: bool,
    /// What it closes.
    pub closed: Vec<Open<()>>,
}

/// The lanes of a stream.
#[derive(Debug, Default)]
pub struct Follow {
    lanes: Lanes<()>,
}

impl Follow {
    /// Whether nothing is open that an event could close.
    pub fn is_idle(&self) -> bool {
        self.lanes.is_idle()
    }

    /// Whether the same streams are open in both.
    pub fn is_like(&self, other: &Self) -> bool {
        let streams = |follow: &'_ Self| follow.lanes.iter().count();
        let mut pairs = self.lanes.iter().zip(other.lanes.iter());
        streams(self) == streams(other) && pairs.all(|(a, b)| a.item == b.item && a.id == b.id && a.lane() == b.lane())
    }

    /// The item that is open and that a chunk continues with this identifier and this owner, either or none.
    pub fn continued(&self, item: Item, id: Option<&str>, tag: Option<&str>) -> Option<&str> {
        match self.lanes.place(item, id, tag) {
            Place::Continues(open) => Some(&open.id),
            _ => None,
        }
    }

    /// What is open, in the order in which it was opened.
    pub fn close_all(&mut self) -> Vec<Open<()>> {
        self.lanes.close_all()
    }

    /// What an event closes that is no chunk.
    pub fn closes(&mut self, about: About<'_>) -> Vec<Open<()>> {
        let mut closed = Vec::new();
        self.lanes.follow_named(about, |open| closed.push(open));
        closed
    }

    /// Where a chunk belongs; from then on its stream is open. Of a stream that goes on nothing is said unless `by_name`
    /// wants that.
    pub fn chunk(&mut self, item: Item, about: About<'_>, by_name: bool) -> Result<Option<Placed>, Lost> {
        match self.lanes.place(item, about.id, about.tag) {
            Place::Continues(_) if !by_name => Ok(None),
            Place::Continues(open) => {
                let lane = open.lane().map(Box::from);
                Ok(Some(Placed { id: open.id.clone(), lane, opens: false, closed: Vec::new() }))
            }
            Place::Mismatch | Place::Ambiguous => Err(Lost::Astray),
            Place::Opens(lane) => {
                let id = about.id.ok_or(Lost::Astray)?;
                if !self.lanes.has_room(lane.as_deref(), id) {
                    return Err(Lost::Full);
                }
                let closed = self.lanes.close(lane.as_deref()).into_iter().collect();
                self.lanes.open(lane.clone(), item, id, ());
                Ok(Some(Placed { id: id.into(), lane, opens: true, closed }))
            }
        }
    }

    /// The bytes of the names that are kept.
    pub fn held(&self) -> usize {
        self.lanes.held()
    }
}
