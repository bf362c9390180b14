//! An event that clients see comes in, what is known of the run changes. Breaches are not judged: whatever rule an event
//! breaks, what is known afterwards is what a reader who goes on would know.

use std::collections::HashMap;

use super::{Closes, KNOWN_MAX, Known, NAMES_MAX, Open, RUN_ID_MAX, Said, State, closes, id_of, opener_members};
use crate::{
    agui::{
        EventKind, Life,
        json::{self, Elements, Members},
        lanes::{Item, Place},
    },
    pipeline::guard::members::Seen,
};

impl State {
    /// Takes this event as one that clients see, whatever rule it breaks.
    pub fn apply(&mut self, seen: &Seen<'_>) {
        use EventKind as Kind;
        if seen.kind == Kind::Other || (seen.kind == Kind::RunStarted && self.life == Life::Active) {
            return;
        }
        self.life = self.life.after(seen.kind);
        let tag = seen.tag();
        let tag = tag.as_deref();
        if !self.lanes.is_idle() {
            self.close(closes(seen.kind, tag));
        }
        match seen.kind {
            Kind::RunStarted => self.begin(seen),
            Kind::TextMessageStart => self.opens(Item::Text, seen, Open::Start),
            Kind::ToolCallStart => self.opens(Item::ToolCall, seen, Open::Start),
            Kind::ReasoningMessageStart | Kind::ThinkingTextMessageStart => {
                self.opens(Item::Reasoning, seen, Open::Start);
            }
            Kind::TextMessageEnd => self.ends(Item::Text, seen),
            Kind::ToolCallEnd => self.ends(Item::ToolCall, seen),
            Kind::ReasoningMessageEnd | Kind::ThinkingTextMessageEnd => self.ends(Item::Reasoning, seen),
            Kind::ReasoningStart | Kind::ThinkingStart => {
                let Some(id) = id_of(Item::Reasoning, seen) else { return };
                let order = self.next();
                if let Some(known) = self.know(Item::Reasoning, &id, tag) {
                    (known.span, known.span_order) = (true, order);
                }
            }
            Kind::ReasoningEnd | Kind::ThinkingEnd => {
                if let Some(id) = id_of(Item::Reasoning, seen)
                    && let Some(known) = self.items[Item::Reasoning as usize].get_mut(&*id)
                {
                    known.span = false;
                }
            }
            Kind::TextMessageChunk => self.apply_chunk(Item::Text, seen),
            Kind::ToolCallChunk => self.apply_chunk(Item::ToolCall, seen),
            Kind::ReasoningMessageChunk => self.apply_chunk(Item::Reasoning, seen),
            Kind::StepStarted => {
                let Some(name) = seen.text("stepName") else { return };
                if self.has_room(name.len() + tag.map_or(0, str::len)) {
                    self.steps.push((tag.map(Box::from), Box::from(&*name)));
                }
            }
            Kind::StepFinished => {
                let Some(name) = seen.text("stepName") else { return };
                let found = self.steps.iter().rposition(|step| *step.1 == *name && step.0.as_deref() == tag);
                if let Some(at) = found {
                    self.steps.remove(at);
                }
            }
            Kind::SubagentStarted => {
                let Some(id) = tag else { return };
                let order = self.next();
                if self.subagents.contains_key(id) || self.has_room(id.len()) {
                    self.subagents.insert(id.into(), Some(order));
                }
            }
            Kind::SubagentFinished | Kind::SubagentError => {
                if let Some(active) = tag.and_then(|id| self.subagents.get_mut(id)) {
                    *active = None;
                }
            }
            Kind::ActivitySnapshot => {
                let Some(id) = seen.text("messageId") else { return };
                let known = self.activities.contains_key(&*id);
                if (!known && self.has_room(id.len())) || (known && seen.value("replace") != Some(b"false")) {
                    self.activities.insert(Box::from(&*id), tag.map(Box::from));
                }
            }
            Kind::ToolCallResult => {
                if let Some(call) = seen.text("toolCallId")
                    && let Some(known) = self.items[Item::ToolCall as usize].get_mut(&*call)
                {
                    known.answered = true;
                }
                if let Some(id) = seen.text("messageId") {
                    self.owns(Item::Text, &id, tag);
                }
            }
            Kind::MessagesSnapshot => self.restate(seen.value("messages").unwrap_or_default(), true),
            _ => {}
        }
    }

    fn begin(&mut self, seen: &Seen<'_>) {
        *self = Self { life: self.life, ..Self::default() };
        let id = |name| seen.text(name).filter(|id| id.len() <= RUN_ID_MAX).map(|id| Box::from(&*id));
        (self.run_id, self.thread_id) = (id("runId"), id("threadId"));
        self.names = [&self.run_id, &self.thread_id].into_iter().flatten().map(|id| id.len()).sum();
        let input = seen.value("input").unwrap_or_default();
        if let Some(messages) = Members::of(input).find(|member| member.is("messages")) {
            self.restate(messages.value, false);
        }
    }

    fn next(&mut self) -> u32 {
        self.order = self.order.wrapping_add(1);
        self.order
    }

    /// Whether one more name of this length can be kept; from the first that cannot, the run is not wholly known.
    fn has_room(&mut self, bytes: usize) -> bool {
        let known = self.items.iter().map(HashMap::len).sum::<usize>()
            + self.activities.len()
            + self.steps.len()
            + self.subagents.len();
        let room = known < KNOWN_MAX && self.names + bytes <= NAMES_MAX;
        match room {
            true => self.names += bytes,
            false => self.half_blind = true,
        }
        room
    }

    /// What is known of this item; it is its owner's who names it first.
    fn know(&mut self, item: Item, id: &str, owner: Option<&str>) -> Option<&mut Known> {
        if !self.items[item as usize].contains_key(id) {
            if !self.has_room(id.len() + owner.map_or(0, str::len)) {
                return None;
            }
            let known = Known { owner: owner.map(Box::from), ..Known::default() };
            self.items[item as usize].insert(id.into(), known);
        }
        self.items[item as usize].get_mut(id)
    }

    /// It is this owner's, whose ever it was.
    fn owns(&mut self, item: Item, id: &str, owner: Option<&str>) {
        if let Some(known) = self.know(item, id, owner)
            && known.owner.as_deref() != owner
        {
            known.owner = owner.map(Box::from);
        }
    }

    fn opens(&mut self, item: Item, seen: &Seen<'_>, how: Open) {
        let Some(id) = id_of(item, seen) else { return };
        let order = self.next();
        let parent = seen.text("parentMessageId").filter(|_| item == Item::ToolCall);
        let parent = parent.and_then(|id| self.items[Item::Text as usize].get(&*id));
        let owner = seen.tag().map(|tag| Box::from(&*tag)).or_else(|| parent.and_then(|known| known.owner.clone()));
        if let Some(known) = self.know(item, &id, owner.as_deref()) {
            (known.open, known.order) = (how, order);
        }
    }

    fn ends(&mut self, item: Item, seen: &Seen<'_>) {
        if let Some(id) = id_of(item, seen)
            && let Some(known) = self.items[item as usize].get_mut(&*id)
        {
            known.open = Open::No;
        }
    }

    fn apply_chunk(&mut self, item: Item, seen: &Seen<'_>) {
        let (id, tag) = (seen.text(item.member()), seen.tag());
        let Place::Opens(lane) = self.lanes.place(item, id.as_deref(), tag.as_deref()) else { return };
        self.close(Closes::Lane(lane.as_deref()));
        let Some(id) = id else { return };
        if !self.lanes.has_room(lane.as_deref(), &id) {
            self.half_blind = true;
            return;
        }
        self.opens(item, seen, Open::Chunk);
        let (role, name) = opener_members(item);
        let said = |member: &str| seen.text(member).map(|value| Box::from(&*value));
        let assistant = || (item == Item::Text).then(|| Box::from("assistant"));
        self.lanes.open(lane, item, &id, Said { role: said(role).or_else(assistant), name: said(name) });
        // Whose items are is known here already.
        self.lanes.forget();
    }

    fn close(&mut self, closes: Closes<'_>) {
        let closed = match closes {
            Closes::None => return,
            Closes::Lane(lane) => Vec::from_iter(self.lanes.close(lane)),
            Closes::All => self.lanes.close_all(),
        };
        for open in closed {
            if let Some(known) = self.items[open.item as usize].get_mut(&open.id)
                && known.open == Open::Chunk
            {
                known.open = Open::No;
            }
        }
    }

    /// Whose the messages of a history are, and the calls in them.
    fn restate(&mut self, messages: &[u8], authoritative: bool) {
        for place in Elements::of(messages) {
            let (mut id, mut role, mut tag, mut calls) = (None, None, None, None);
            for member in Members::of(&messages[place]) {
                match member.name().as_deref() {
                    Some("id") => id = json::string(member.value),
                    Some("role") => role = json::string(member.value),
                    Some("subagentRunId") => tag = json::string(member.value),
                    Some("toolCalls") => calls = Some(member.value),
                    _ => {}
                }
            }
            let Some(id) = id else { continue };
            let item = match role.as_deref() {
                Some("activity") => {
                    let known = self.activities.contains_key(&*id);
                    if (known && authoritative) || (!known && self.has_room(id.len())) {
                        self.activities.insert(Box::from(&*id), tag.as_deref().map(Box::from));
                    }
                    continue;
                }
                Some("reasoning") => Item::Reasoning,
                _ => Item::Text,
            };
            let mut own = |item, id: &str| match authoritative {
                true => self.owns(item, id, tag.as_deref()),
                false => drop(self.know(item, id, tag.as_deref())),
            };
            own(item, &id);
            for call in json::elements(calls.unwrap_or_default()) {
                let id = Members::of(call).find(|member| member.is("id")).and_then(|member| json::string(member.value));
                if let Some(id) = id {
                    own(Item::ToolCall, &id);
                }
            }
        }
    }
}
