//! Events come in, in order; which chunk streams each of them ends goes out, and which one a chunk continues.

use crate::agui::{
    Event, EventKind,
    lanes::{Item, Lanes, Place},
    word::SUBAGENT_RUN_ID,
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
        use EventKind as Kind;
        let mut end = |open: Option<crate::agui::lanes::Open<()>>| {
            if let Some(open) = open {
                ended((open.item, open.id));
            }
        };
        match event.kind() {
            Kind::Raw
            | Kind::ActivitySnapshot
            | Kind::ActivityDelta
            | Kind::ReasoningEncryptedValue
            | Kind::SubagentStarted
            | Kind::Other => {}
            Kind::RunStarted | Kind::RunFinished | Kind::RunError => {
                self.lanes.close_all().into_iter().for_each(|open| end(Some(open)));
                self.lanes.forget();
            }
            Kind::MessagesSnapshot => self.lanes.close_all().into_iter().for_each(|open| end(Some(open))),
            Kind::SubagentFinished | Kind::SubagentError => {
                if !self.lanes.is_idle() {
                    end(event.string("subagentRunId").and_then(|owner| self.lanes.close(Some(&owner))));
                }
            }
            kind => {
                let opens = matches!(
                    kind,
                    Kind::TextMessageStart | Kind::ToolCallStart | Kind::ReasoningStart | Kind::ReasoningMessageStart
                );
                let tells = opens && (!self.lanes.is_unowned() || SUBAGENT_RUN_ID.is_in(event.text()));
                if self.lanes.is_idle() && !tells {
                    return;
                }
                let tag = event.string("subagentRunId");
                let about = item_of(kind).and_then(|(item, name)| Some((item, event.string(name)?)));
                let Some((item, id)) = about else { return end(self.lanes.close(tag.as_deref())) };
                if !matches!(kind, Kind::ReasoningStart | Kind::ReasoningEnd) {
                    end(self.lanes.close_item(item, &id));
                }
                if kind == Kind::ToolCallResult {
                    return end(self.lanes.close(tag.as_deref()));
                }
                let told = tag.as_deref().map(str::to_owned).or_else(|| {
                    let parent = event.string("parentMessageId").filter(|_| kind == Kind::ToolCallStart)?;
                    self.lanes.owner(Item::Text, &parent).map(str::to_owned)
                });
                if let Some(owner) = told.filter(|_| opens) {
                    self.lanes.own(item, &id, &owner);
                }
                let lane = self.lanes.lane_of(item, &id, tag.as_deref()).map(str::to_owned);
                end(self.lanes.close(lane.as_deref()));
            }
        }
    }

    /// Bytes kept.
    pub fn held(&self) -> usize {
        self.lanes.held()
    }
}

/// Which item an event is about, and the member that names it.
pub const fn item_of(kind: EventKind) -> Option<(Item, &'static str)> {
    use EventKind as Kind;
    match kind {
        Kind::TextMessageStart | Kind::TextMessageContent | Kind::TextMessageEnd | Kind::TextMessageChunk => {
            Some((Item::Text, "messageId"))
        }
        Kind::ToolCallStart | Kind::ToolCallArgs | Kind::ToolCallEnd | Kind::ToolCallChunk | Kind::ToolCallResult => {
            Some((Item::ToolCall, "toolCallId"))
        }
        Kind::ReasoningStart
        | Kind::ReasoningEnd
        | Kind::ReasoningMessageStart
        | Kind::ReasoningMessageContent
        | Kind::ReasoningMessageEnd
        | Kind::ReasoningMessageChunk => Some((Item::Reasoning, "messageId")),
        _ => None,
    }
}
