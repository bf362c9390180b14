//! Events come in, in order; which chunk streams each of them ends goes out, and which one a chunk continues.

use crate::agui::{
    Event,
    lanes::{Item, Lanes, Place},
};

/// The chunk streams that are open.
#[derive(Debug, Default)]
pub struct Chunks {
    lanes: Lanes<()>,
}

/// A chunk stream that is over: its item, and that item's identifier.
pub type Ended = (Item, Box<str>);

/// Which item a chunk is about.
#[derive(Debug, Default)]
pub struct About {
    /// The item's identifier, unless the chunk continues nothing that is known.
    pub id: Option<Box<str>>,
    /// Whose item it is.
    pub lane: Option<Box<str>>,
    /// It opens the item.
    pub opens: bool,
    /// What it ends by that.
    pub ended: Option<Ended>,
}

impl Chunks {
    /// Whether none is open.
    pub fn is_idle(&self) -> bool {
        self.lanes.is_idle()
    }

    /// Takes a chunk with this identifier and this `subagentRunId`, either or none.
    pub fn chunk(&mut self, item: Item, id: Option<&str>, tag: Option<&str>) -> About {
        match self.lanes.place(item, id, tag) {
            Place::Continues(open) => {
                About { id: Some(open.id.clone()), lane: open.lane().map(Box::from), ..About::default() }
            }
            Place::Opens(lane) => {
                let ended = self.lanes.close(lane.as_deref()).map(|open| (open.item, open.id));
                if let Some(id) = id
                    && self.lanes.has_room(lane.as_deref(), id)
                {
                    self.lanes.open(lane.clone(), item, id, ());
                }
                About { id: id.map(Box::from), lane, opens: true, ended }
            }
            Place::Mismatch | Place::Ambiguous => {
                About { id: id.map(Box::from), lane: tag.map(Box::from), ..About::default() }
            }
        }
    }

    /// Takes an event that is no chunk, and hands over what it ends.
    pub fn other(&mut self, event: &Event, mut ended: impl FnMut(Ended)) {
        self.lanes.follow(event, |open| ended((open.item, open.id)));
    }

    /// Bytes kept.
    pub fn held(&self) -> usize {
        self.lanes.held()
    }
}
