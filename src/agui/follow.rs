//! Events that are no chunks come in, in order; which chunk streams each of them closes goes out, and whose the items are
//! that it opens is remembered. It judges nothing and sends nothing. Where a chunk belongs is its reader's to say.

use super::{
    Event, EventKind,
    lanes::{Item, Lanes, Open},
    word::SUBAGENT_RUN_ID,
};

/// Which chunk streams an event closes, by its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closes {
    /// None: it stands aside, or is a chunk, which closes what is open where it opens.
    Nothing,
    /// Every one.
    All,
    /// That of the subagent that it names, if it names one.
    Subagent,
    /// That in its own lane, and that of its item.
    Lane,
}

/// Which chunk streams an event of this kind closes.
pub const fn closes(kind: EventKind) -> Closes {
    use EventKind as K;
    match kind {
        K::RunStarted | K::RunFinished | K::RunError | K::MessagesSnapshot => Closes::All,
        K::SubagentFinished | K::SubagentError => Closes::Subagent,
        K::Raw
        | K::ActivitySnapshot
        | K::ActivityDelta
        | K::ReasoningEncryptedValue
        | K::SubagentStarted
        | K::Other
        | K::TextMessageChunk
        | K::ToolCallChunk
        | K::ReasoningMessageChunk => Closes::Nothing,
        _ => Closes::Lane,
    }
}

/// Whether an event of this kind is a chunk.
pub const fn is_chunk(kind: EventKind) -> bool {
    matches!(kind, EventKind::TextMessageChunk | EventKind::ToolCallChunk | EventKind::ReasoningMessageChunk)
}

/// Whether an event of this kind, no chunk, opens an item, and so tells whose it is.
pub const fn opens(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::TextMessageStart
            | EventKind::ToolCallStart
            | EventKind::ReasoningStart
            | EventKind::ReasoningMessageStart
    )
}

/// A span is no item of its own here, though it may have a reasoning message's identifier, and its owner.
const fn is_span(kind: EventKind) -> bool {
    matches!(kind, EventKind::ReasoningStart | EventKind::ReasoningEnd)
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

/// What an event says of itself, as far as lanes go.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// What it is.
    pub kind: EventKind,
    /// The item's identifier.
    pub id: Option<&'a str>,
    /// Whose it is.
    pub tag: Option<&'a str>,
    /// The message that carries it, if it begins a tool call.
    pub parent: Option<&'a str>,
}

impl<T> Lanes<T> {
    /// Follows an event, and hands over what it closes, in the order in which that was opened. It is read no further than
    /// it can matter.
    pub fn follow(&mut self, event: &Event, closed: impl FnMut(Open<T>)) {
        let kind = event.kind();
        let (mut about, closing) = (About { kind, id: None, tag: None, parent: None }, closes(kind));
        let matters = match closing {
            Closes::Nothing => false,
            Closes::All => return self.follow_named(about, closed),
            Closes::Lane if opens(kind) => !self.is_idle() || !self.is_unowned() || SUBAGENT_RUN_ID.is_in(event.text()),
            Closes::Lane | Closes::Subagent => !self.is_idle(),
        };
        if !matters {
            return;
        }
        let id = item_of(kind).and_then(|item| event.string(item.member()));
        let tag = event.string("subagentRunId");
        let parent = match kind {
            EventKind::ToolCallStart if tag.is_none() => event.string("parentMessageId"),
            _ => None,
        };
        (about.id, about.tag, about.parent) = (id.as_deref(), tag.as_deref(), parent.as_deref());
        self.follow_named(about, closed);
    }

    /// Follows an event of which this is known, and hands over what it closes, in the order in which that was opened.
    pub fn follow_named(&mut self, about: About<'_>, closed: impl FnMut(Open<T>)) {
        match closes(about.kind) {
            Closes::Nothing => {}
            Closes::All => {
                self.close_all().into_iter().for_each(closed);
                if about.kind != EventKind::MessagesSnapshot {
                    self.forget();
                }
            }
            Closes::Subagent => {
                if about.tag.is_some() {
                    self.close(about.tag).into_iter().for_each(closed);
                }
            }
            Closes::Lane => self.explicit(about, closed),
        }
    }

    fn explicit(&mut self, about: About<'_>, mut closed: impl FnMut(Open<T>)) {
        let About { kind, id, tag, .. } = about;
        let opens = opens(kind);
        if self.is_idle() && !opens {
            return;
        }
        let (Some(item), Some(id)) = (item_of(kind), id) else {
            return self.close(tag).into_iter().for_each(closed);
        };
        if !is_span(kind) {
            self.close_item(item, id).into_iter().for_each(&mut closed);
        }
        if kind == EventKind::ToolCallResult {
            // It makes a message of its own, that belongs to whom it says.
            return self.close(tag).into_iter().for_each(closed);
        }
        // The opener of a tool call may name its owner by the message that carries it.
        let parent = about.parent.filter(|_| kind == EventKind::ToolCallStart);
        let owner = tag.or_else(|| parent.and_then(|parent| self.owner(Item::Text, parent)));
        if opens && let Some(owner) = owner.map(str::to_owned) {
            self.own(item, id, &owner);
        }
        let lane = self.lane_of(item, id, tag).map(str::to_owned);
        self.close(lane.as_deref()).into_iter().for_each(closed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOBODY: About<'_> = About { kind: EventKind::Custom, id: None, tag: None, parent: None };

    /// Text messages of the parent agent (m) and of two subagents (a, b) are open.
    fn lanes() -> Lanes<()> {
        let mut lanes = Lanes::default();
        for (lane, id) in [(None, "m"), (Some("a"), "of-a"), (Some("b"), "of-b")] {
            lanes.open(lane.map(Box::from), Item::Text, id, ());
        }
        lanes
    }

    fn closed(lanes: &mut Lanes<()>, about: About<'_>) -> Vec<String> {
        let mut ids = Vec::new();
        lanes.follow_named(about, |open| ids.push(open.id.to_string()));
        ids
    }

    #[test]
    fn an_event_closes_what_is_open_in_its_lane_and_what_is_of_its_item() {
        let close = |about| closed(&mut lanes(), about);
        assert_eq!(close(NOBODY), ["m"]);
        assert_eq!(close(About { tag: Some("a"), ..NOBODY }), ["of-a"]);
        let end = About { kind: EventKind::TextMessageEnd, ..NOBODY };
        assert_eq!(close(About { id: Some("of-a"), ..end }), ["of-a"], "its owner's lane");
        assert_eq!(close(About { id: Some("of-a"), tag: Some("b"), ..end }), ["of-a", "of-b"]);
        let span = About { kind: EventKind::ReasoningEnd, id: Some("of-a"), ..NOBODY };
        assert_eq!(close(span), ["m"]);
        let result = About { kind: EventKind::ToolCallResult, id: Some("c"), tag: Some("b"), ..NOBODY };
        assert_eq!(close(result), ["of-b"]);
    }

    #[test]
    fn some_close_all_and_some_none() {
        let close = |kind| closed(&mut lanes(), About { kind, ..NOBODY });
        for kind in [EventKind::RunError, EventKind::MessagesSnapshot] {
            assert_eq!(close(kind), ["m", "of-a", "of-b"]);
        }
        for kind in [EventKind::Raw, EventKind::Other, EventKind::TextMessageChunk, EventKind::SubagentFinished] {
            assert!(close(kind).is_empty(), "{kind:?}");
        }
        assert_eq!(closed(&mut lanes(), About { kind: EventKind::SubagentError, tag: Some("b"), ..NOBODY }), ["of-b"]);
    }

    #[test]
    fn a_call_belongs_to_whom_it_says_or_to_whom_its_message_does() {
        let mut lanes = lanes();
        let start = About { kind: EventKind::ToolCallStart, id: Some("c"), parent: Some("of-a"), ..NOBODY };
        assert_eq!(closed(&mut lanes, start), ["of-a"]);
        assert_eq!(lanes.owner(Item::ToolCall, "c"), Some("a"));
        closed(&mut lanes, About { id: Some("d"), tag: Some("b"), ..start });
        assert_eq!(lanes.owner(Item::ToolCall, "d"), Some("b"));
        closed(&mut lanes, About { kind: EventKind::RunFinished, ..NOBODY });
        assert!(lanes.is_unowned());
    }

    #[test]
    fn events_are_read_as_what_they_name() {
        let mut lanes = Lanes::<()>::default();
        let mut closed = Vec::new();
        for text in [
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m","subagentRunId":"s"}"#,
            r#"{"type":"TOOL_CALL_START","toolCallId":"c","parentMessageId":"m"}"#,
        ] {
            lanes.follow(&Event::made(text), |open| closed.push(open.id));
        }
        assert_eq!(lanes.owner(Item::ToolCall, "c"), Some("s"));
        lanes.open(Some("s".into()), Item::Reasoning, "k", ());
        lanes.follow(&Event::made(r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":""}"#), |open| {
            closed.push(open.id);
        });
        assert_eq!(closed, ["k".into()]);
    }
}
