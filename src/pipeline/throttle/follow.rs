//! The events of a stream come in, in order; which open item each chunk continues, and which events close one, goes out.
//! It judges nothing: what breaks the rules is odd, and odd events are not merged.

use super::piece::{Piece, Shape};
use crate::agui::{
    Event, EventKind,
    lanes::{Item, Lanes, NAME_MAX, Place},
    word::SUBAGENT_RUN_ID,
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
        match event.kind() {
            EventKind::Raw
            | EventKind::ActivitySnapshot
            | EventKind::ActivityDelta
            | EventKind::ReasoningEncryptedValue
            | EventKind::SubagentStarted
            | EventKind::Other => false,
            EventKind::RunStarted | EventKind::RunFinished | EventKind::RunError => {
                self.lanes.forget();
                self.close_all()
            }
            EventKind::MessagesSnapshot => self.close_all(),
            EventKind::SubagentFinished | EventKind::SubagentError => {
                let owner = event.string("subagentRunId");
                owner.is_some_and(|owner| self.lanes.close(Some(&owner)).is_some())
            }
            kind => self.explicit(kind, event) || self.lost,
        }
    }

    /// Closes every chunk stream; whether there may have been one.
    pub(super) fn close_all(&mut self) -> bool {
        let lost = std::mem::take(&mut self.lost);
        !self.lanes.close_all().is_empty() || lost
    }

    /// A chunk came that is out of place: what is open is not known any more.
    pub(super) fn lose(&mut self) {
        self.close_all();
        self.lost = true;
    }

    /// The bytes of what is kept.
    pub(super) fn held(&self) -> usize {
        let fields = self.lanes.iter().flat_map(|open| open.data.fields.iter().flatten());
        self.lanes.held() + fields.map(|field| field.len()).sum::<usize>()
    }

    fn explicit(&mut self, kind: EventKind, event: &Event) -> bool {
        let opens = matches!(
            kind,
            EventKind::TextMessageStart
                | EventKind::ToolCallStart
                | EventKind::ReasoningStart
                | EventKind::ReasoningMessageStart
        );
        let tells = opens && (!self.lanes.is_unowned() || SUBAGENT_RUN_ID.is_in(event.text()));
        if self.lanes.is_idle() && !tells {
            return false;
        }
        let tag = event.string("subagentRunId");
        let id = item_of(kind).and_then(|(item, name)| Some((item, event.string(name)?)));
        let Some((item, id)) = id else { return self.lanes.close(tag.as_deref()).is_some() };
        let span = matches!(kind, EventKind::ReasoningStart | EventKind::ReasoningEnd);
        let closed = !span && self.lanes.close_item(item, &id).is_some();
        if kind == EventKind::ToolCallResult {
            return self.lanes.close(tag.as_deref()).is_some() || closed;
        }
        if opens && let Some(owner) = self.told(kind, event, tag.as_deref()) {
            self.lanes.own(item, &id, &owner);
        }
        let lane = self.lanes.lane_of(item, &id, tag.as_deref()).map(str::to_owned);
        self.lanes.close(lane.as_deref()).is_some() || closed
    }

    /// The owner that the opener of an item names: itself, or, of a tool call, by the message that carries it.
    fn told(&self, kind: EventKind, event: &Event, tag: Option<&str>) -> Option<String> {
        if let Some(tag) = tag {
            return Some(tag.to_owned());
        }
        let parent = event.string("parentMessageId").filter(|_| kind == EventKind::ToolCallStart)?;
        self.lanes.owner(Item::Text, &parent).map(str::to_owned)
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

/// Which item an event is about, and the member that names it.
fn item_of(kind: EventKind) -> Option<(Item, &'static str)> {
    match kind {
        EventKind::TextMessageStart | EventKind::TextMessageContent | EventKind::TextMessageEnd => {
            Some((Item::Text, "messageId"))
        }
        EventKind::ToolCallStart | EventKind::ToolCallArgs | EventKind::ToolCallEnd | EventKind::ToolCallResult => {
            Some((Item::ToolCall, "toolCallId"))
        }
        EventKind::ReasoningStart
        | EventKind::ReasoningEnd
        | EventKind::ReasoningMessageStart
        | EventKind::ReasoningMessageContent
        | EventKind::ReasoningMessageEnd => Some((Item::Reasoning, "messageId")),
        _ => None,
    }
}
