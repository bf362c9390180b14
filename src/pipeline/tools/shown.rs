//! Events that the client may see come in; they go out, chunks so spelled that the client continues with them what the
//! agent does. It judges nothing.
//!
//! An event that is left out or comes later closes no chunk stream, or another one, so what is open for the client may be
//! something else than what is open for the agent. Where a chunk that names no item would continue another one for the
//! client, or none, it gets the name.

use std::time::Instant;

use super::{
    Tools,
    seen::{Name, Seen},
};
use crate::{
    agui::{
        Event, EventKind,
        edit::quoted,
        follow::{About, is_chunk, item_of, opens},
        lanes::Item,
    },
    pipeline::Out,
};

/// The member that names an item.
pub const fn name_of(item: Item) -> Name {
    match item {
        Item::ToolCall => Name::Call,
        Item::Text | Item::Reasoning => Name::Message,
    }
}

impl Tools {
    /// Sends an event. What was seen of it may be older than its last edit, where that left alone whose it is.
    pub(super) fn send(&mut self, event: Event, seen: &Seen<'_>, at: Instant, out: &mut Out<'_>) {
        self.show(event.kind(), seen);
        out.send(event, at);
    }

    /// Sends an event of which an edit may have changed whose it is.
    pub(super) fn send_anew(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        if let Ok(seen) = Seen::of(&event) {
            self.show(event.kind(), &seen);
        }
        out.send(event, at);
    }

    /// Sends a piece of this call, a chunk of this lane or none.
    pub(super) fn send_piece(
        &mut self,
        event: Event,
        seen: &Seen<'_>,
        id: &str,
        lane: Option<&str>,
        at: Instant,
        out: &mut Out<'_>,
    ) {
        match self.spelled(&event, seen, Item::ToolCall, id, lane) {
            Some(spelled) => self.send_anew(spelled, at, out),
            None => self.send(event, seen, at, out),
        }
    }

    /// A chunk that names no item, with the name of the one that it continues; `None` if the client knows without.
    pub(super) fn spelled(
        &self,
        event: &Event,
        seen: &Seen<'_>,
        item: Item,
        id: &str,
        lane: Option<&str>,
    ) -> Option<Event> {
        let name = name_of(item);
        if !is_chunk(event.kind()) || seen.value(name).is_some() {
            return None;
        }
        let tag = seen.text(Name::Tag).ok()?;
        if self.shown.continued(item, None, tag.as_deref()) == Some(id) {
            return None;
        }
        let mut spelled = event.with(name.as_str(), &quoted(id));
        if self.shown.continued(item, Some(id), tag.as_deref()).is_some() {
            return Some(spelled);
        }
        // The client has to begin it again.
        if let (Some(lane), None) = (lane, tag) {
            spelled = spelled.with(Name::Tag.as_str(), &quoted(lane));
        }
        let tool = self.calls.get(id).filter(|_| item == Item::ToolCall && seen.value(Name::Tool).is_none());
        Some(match tool {
            Some(call) => spelled.with(Name::Tool.as_str(), &quoted(&call.name)),
            None => spelled,
        })
    }

    /// Follows what the client makes of an event.
    fn show(&mut self, kind: EventKind, seen: &Seen<'_>) {
        if kind == EventKind::RunStarted {
            self.begun.forget();
        }
        let item = item_of(kind);
        let begins = is_chunk(kind) || opens(kind);
        if self.shown.is_idle() && !begins && kind != EventKind::ToolCallEnd {
            return;
        }
        let text = |name: Name| seen.text(name).ok().flatten();
        let (id, tag) = (item.and_then(|item| text(name_of(item))), text(Name::Tag));
        let parent = if item == Some(Item::ToolCall) { text(Name::ParentMessage) } else { None };
        let (id, tag, parent) = (id.as_deref(), tag.as_deref(), parent.as_deref());
        let about = About { kind, id, tag, parent };
        match item.filter(|_| is_chunk(kind)) {
            // What is out of place here is for whoever reads it.
            Some(item) => {
                let placed = self.shown.chunk(item, about, false);
                if item == Item::Text
                    && let Ok(Some(placed)) = placed
                {
                    self.begun.add(&placed.id);
                }
            }
            None => drop(self.shown.closes(about)),
        }
        match (kind, id) {
            (EventKind::TextMessageStart, Some(id)) => self.begun.add(id),
            (EventKind::ToolCallStart, Some(id)) => self.calls.seen(id, true),
            (EventKind::ToolCallEnd, Some(id)) => self.calls.seen(id, false),
            _ => {}
        }
    }
}
