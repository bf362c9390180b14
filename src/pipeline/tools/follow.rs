//! The events of a stream come in, which chunk streams each of them closes and which item a chunk means go out. It keeps
//! no event and judges none.

use crate::agui::{
    EventKind,
    lanes::{Item, Lanes, Open, Place},
};

/// What an event says of itself, as far as lanes go.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    pub kind: EventKind,
    /// The item's identifier.
    pub id: Option<&'a str>,
    /// Whose it is.
    pub tag: Option<&'a str>,
    /// The message that carries it.
    pub parent: Option<&'a str>,
}

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

    /// Another run begins, or this one is over.
    pub fn forget(&mut self) {
        self.lanes.forget();
    }

    /// What an event closes that is no chunk.
    pub fn closes(&mut self, about: About<'_>) -> Vec<Open<()>> {
        use EventKind as K;
        match about.kind {
            K::RunStarted | K::RunFinished | K::RunError | K::MessagesSnapshot => self.lanes.close_all(),
            K::SubagentFinished | K::SubagentError => match about.tag {
                Some(_) => self.lanes.close(about.tag).into_iter().collect(),
                None => Vec::new(),
            },
            K::Raw
            | K::ActivitySnapshot
            | K::ActivityDelta
            | K::ReasoningEncryptedValue
            | K::SubagentStarted
            | K::Other => Vec::new(),
            _ => self.explicit(about),
        }
    }

    fn explicit(&mut self, about: About<'_>) -> Vec<Open<()>> {
        let opens = opens(about.kind);
        if self.lanes.is_idle() && !opens {
            return Vec::new();
        }
        let mut closed = Vec::new();
        let (Some(item), Some(id)) = (item_of(about.kind), about.id) else {
            closed.extend(self.lanes.close(about.tag));
            return closed;
        };
        let is_span = matches!(about.kind, EventKind::ReasoningStart | EventKind::ReasoningEnd);
        if !is_span {
            closed.extend(self.lanes.close_item(item, id));
        }
        if about.kind == EventKind::ToolCallResult {
            // It makes a message of its own, that belongs to whom it says.
            closed.extend(self.lanes.close(about.tag));
            return closed;
        }
        if opens && let Some(owner) = self.owner(about) {
            self.lanes.own(item, id, &owner);
        }
        let lane = self.lanes.lane_of(item, id, about.tag).map(str::to_owned);
        closed.extend(self.lanes.close(lane.as_deref()));
        closed
    }

    /// The owner that the opener of an item names: itself, or, of a tool call, by the message that carries it.
    fn owner(&self, about: About<'_>) -> Option<String> {
        let carried = || about.parent.and_then(|parent| self.lanes.owner(Item::Text, parent));
        about.tag.or_else(carried).map(str::to_owned)
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

/// Whether an event of this kind is a chunk.
pub const fn is_chunk(kind: EventKind) -> bool {
    matches!(kind, EventKind::TextMessageChunk | EventKind::ToolCallChunk | EventKind::ReasoningMessageChunk)
}

/// Whether an event of this kind, no chunk, opens an item.
pub const fn opens(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::TextMessageStart
            | EventKind::ToolCallStart
            | EventKind::ReasoningStart
            | EventKind::ReasoningMessageStart
    )
}

/// Which item an event is about.
pub const fn item_of(kind: EventKind) -> Option<Item> {
    use EventKind as K;
    match kind {
        K::TextMessageStart | K::TextMessageContent | K::TextMessageEnd | K::TextMessageChunk => Some(Item::Text),
        K::ToolCallStart | K::ToolCallArgs | K::ToolCallEnd | K::ToolCallChunk | K::ToolCallResult => {
            Some(Item::ToolCall)
        }
        K::ReasoningStart
        | K::ReasoningEnd
        | K::ReasoningMessageStart
        | K::ReasoningMessageContent
        | K::ReasoningMessageEnd
        | K::ReasoningMessageChunk => Some(Item::Reasoning),
        _ => None,
    }
}
