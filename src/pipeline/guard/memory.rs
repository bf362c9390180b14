//! What `repair` remembers beyond the state of a run: how items were opened, to open them again; which identifiers it made
//! up; which messages hold the results of tool calls. All of it is bounded; past a bound less is mended.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use super::{
    members::Seen,
    state::{State, id_member, id_of},
};
use crate::agui::{
    EventKind,
    edit::{self, Change},
    json::{self, Members},
    lanes::Item,
};

/// How many openers of a run are kept.
const OPENERS_MAX: usize = 1024;
/// How many results of tool calls are known in a stream.
const RESULTS_MAX: usize = 1024;
/// How many bytes are kept in all.
const BYTES_MAX: usize = 256 * 1024;
/// How many lanes have a chunk stream that can be continued after it was closed.
const LANES_MAX: usize = 128;

/// Which identifier was made up for the item under way that has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unnamed {
    /// A text message.
    Text,
    /// A reasoning message.
    Reasoning,
    /// A reasoning span.
    Span,
}

/// The chunk stream that was last in its lane.
#[derive(Debug)]
struct Last {
    lane: Option<Box<str>>,
    item: Item,
    id: Box<str>,
    name: Option<Box<[u8]>>,
}

/// What is remembered.
#[derive(Debug, Default)]
pub struct Memory {
    openers: [HashMap<Box<str>, Box<[u8]>>; 3],
    last: Vec<Last>,
    unnamed: [Option<Box<str>>; 3],
    made: u32,
    /// The message of each call's result, over all runs: a client keeps both.
    results: HashMap<Box<str>, Box<str>>,
    bytes: usize,
    result_bytes: usize,
    /// The guard or the gateway ended the run: what the agent says until its next run is nobody's.
    muted: bool,
}

impl Memory {
    /// Bytes kept.
    pub fn held(&self) -> usize {
        self.bytes + self.result_bytes
    }

    /// Whether nothing is heard until the next run.
    pub fn is_muted(&self) -> bool {
        self.muted
    }

    /// Takes an event that was sent; `own`: the gateway made it to end the run.
    pub fn sent(&mut self, seen: &Seen<'_>, own: bool) {
        self.muted |= own;
        use EventKind as Kind;
        match seen.kind {
            Kind::RunStarted => {
                let (results, result_bytes) = (std::mem::take(&mut self.results), self.result_bytes);
                *self = Self { results, result_bytes, made: self.made, ..Self::default() };
            }
            Kind::TextMessageStart => self.opened(Item::Text, Kind::TextMessageStart, seen),
            Kind::ToolCallStart => self.opened(Item::ToolCall, Kind::ToolCallStart, seen),
            Kind::ReasoningMessageStart => self.opened(Item::Reasoning, Kind::ReasoningMessageStart, seen),
            Kind::ThinkingTextMessageStart => self.opened(Item::Reasoning, Kind::ThinkingTextMessageStart, seen),
            Kind::TextMessageChunk => self.chunk(Item::Text, Kind::TextMessageStart, seen),
            Kind::ToolCallChunk => self.chunk(Item::ToolCall, Kind::ToolCallStart, seen),
            Kind::ReasoningMessageChunk => self.chunk(Item::Reasoning, Kind::ReasoningMessageStart, seen),
            Kind::ToolCallResult => {
                let (Some(call), Some(message)) = (seen.text("toolCallId"), seen.text("messageId")) else { return };
                let bytes = call.len() + message.len();
                if self.results.len() < RESULTS_MAX && self.result_bytes + bytes <= BYTES_MAX {
                    self.result_bytes += bytes;
                    self.results.insert(Box::from(&*call), Box::from(&*message));
                }
            }
            _ => {}
        }
    }

    /// The event that opens this item again as it was opened first, without saying whose it is.
    pub fn opener(&self, item: Item, id: &str) -> Option<&[u8]> {
        self.openers[item as usize].get(id).map(|opener| &**opener)
    }

    /// The item that an unnamed chunk in this lane goes on with, and what its name was, as JSON, if it is a call.
    pub fn last(&self, item: Item, lane: Option<&str>) -> Option<(&str, Option<&[u8]>)> {
        let last = self.last.iter().find(|last| last.lane.as_deref() == lane && last.item == item)?;
        Some((&last.id, last.name.as_deref()))
    }

    /// These messages, a JSON array, with the identifiers that the client already has for the results among them; `None`
    /// if they have them, or if that would give two messages one identifier.
    pub fn with_known_results(&self, messages: &[u8]) -> Option<Vec<u8>> {
        let wanted: HashSet<&str> = json::elements(messages).filter_map(|message| self.known_result(message)).collect();
        if wanted.is_empty() {
            return None;
        }
        let ids = json::elements(messages).filter_map(|message| text_in(message, "id"));
        let taken: HashSet<String> = ids.map(|id| id.into_owned()).collect();
        let mut given = HashSet::new();
        edit::elements(messages, |message| match self.known_result(message) {
            Some(id) if !taken.contains(id) && given.insert(id) => edit::with(message, "id", &edit::quoted(id)).into(),
            _ => Change::Keep,
        })
    }

    /// The identifier that the client has for this message, a call's result, if that is another than the message's own.
    fn known_result(&self, message: &[u8]) -> Option<&str> {
        let call = text_in(message, "toolCallId").filter(|_| text_in(message, "role").as_deref() == Some("tool"))?;
        let known = self.results.get(&*call)?;
        text_in(message, "id").is_some_and(|id| id != **known).then_some(known)
    }

    /// Whether no result is known.
    pub fn has_no_result(&self) -> bool {
        self.results.is_empty()
    }

    /// The identifier made up for what is under way.
    pub fn unnamed(&self, what: Unnamed) -> Option<&str> {
        self.unnamed[what as usize].as_deref()
    }

    /// Makes up an identifier, which that of the run and a number make unique.
    pub fn name(&mut self, what: Unnamed, state: &State) -> String {
        let (word, item) = match what {
            Unnamed::Text => ("message", Item::Text),
            Unnamed::Reasoning | Unnamed::Span => ("reasoning", Item::Reasoning),
        };
        loop {
            self.made = self.made.wrapping_add(1);
            let name = format!("{}-{word}-{}", state.run_id().unwrap_or("run"), self.made);
            if !state.knows(item, &name) {
                self.unnamed[what as usize] = Some(Box::from(&*name));
                return name;
            }
        }
    }

    fn opened(&mut self, item: Item, kind: EventKind, seen: &Seen<'_>) {
        let Some(id) = id_of(item, seen) else { return };
        let members: &[&str] = match kind {
            EventKind::TextMessageStart => &["messageId", "role", "name"],
            EventKind::ToolCallStart => &["toolCallId", "toolCallName", "parentMessageId"],
            EventKind::ReasoningMessageStart => &["messageId"],
            _ => &[],
        };
        let mut opener = format!(r#"{{"type":"{}""#, kind.as_str()).into_bytes();
        for (member, value) in members.iter().filter_map(|member| Some((member, seen.value(member)?))) {
            opener.extend_from_slice(format!(r#","{member}":"#).as_bytes());
            opener.extend_from_slice(value);
        }
        if kind == EventKind::ReasoningMessageStart {
            opener.extend_from_slice(br#","role":"reasoning""#);
        }
        opener.extend_from_slice(b"}");
        let openers = &mut self.openers[item as usize];
        let bytes = id.len() + opener.len();
        if !openers.contains_key(&*id) && openers.len() < OPENERS_MAX && self.bytes + bytes <= BYTES_MAX {
            self.bytes += bytes;
            openers.insert(Box::from(&*id), opener.into());
        }
    }

    fn chunk(&mut self, item: Item, kind: EventKind, seen: &Seen<'_>) {
        let Some(id) = seen.text(id_member(item)) else { return };
        let tag = seen.tag();
        if self.last.iter().any(|last| last.item == item && *last.id == *id) {
            return;
        }
        self.opened(item, kind, seen);
        self.last.retain(|last| last.lane.as_deref() != tag.as_deref());
        let name = seen.value("toolCallName").filter(|_| item == Item::ToolCall);
        let bytes = id.len() + tag.as_deref().map_or(0, str::len) + name.map_or(0, <[u8]>::len);
        if self.last.len() < LANES_MAX && bytes <= BYTES_MAX / LANES_MAX {
            let lane = tag.map(|tag| Box::from(&*tag));
            self.last.push(Last { lane, item, id: Box::from(&*id), name: name.map(Box::from) });
        }
    }
}

/// The text of the last member of this name.
fn text_in<'a>(object: &'a [u8], name: &str) -> Option<Cow<'a, str>> {
    Members::of(object).filter(|member| member.is(name)).last().and_then(|member| json::string(member.value))
}
