//! What `repair` remembers beyond the state of a run: how items were opened, to open them again; which identifiers it made
//! up; which messages hold the results of tool calls. All of it is bounded; past a bound less is mended.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use super::{
    Rule,
    members::Seen,
    state::{State, id_of},
};
use crate::agui::{
    EventKind,
    json::{self, Elements, Members},
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
                self.learn(&call, &message);
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

    /// Takes the messages, a JSON array, of a snapshot that is about to be sent. Gives the first of them, up to one with a
    /// call's result that the client does not have under this identifier, and the rule that is broken by it; `None` if
    /// there is none, or if the client puts it in its place by itself.
    ///
    /// A client takes what it has from a snapshot in place, and puts what is new at the end: such a result would come
    /// after the answer that was made of it. The agent knows its message by this identifier only, and takes another for a
    /// new message when the client sends its history. After a snapshot that ends with the result, all that follows is new.
    pub fn up_to_an_unknown_result(&mut self, messages: &[u8], state: &State) -> Option<(Rule, Vec<u8>)> {
        let mut elements = Elements::of(messages);
        let (mut cut, mut follows, mut ids) = (None, false, None);
        let (mut results, mut calls) = (Vec::new(), HashSet::new());
        for place in elements.by_ref() {
            let message = messages.get(place.clone())?;
            let streamed = self.is_streamed(message, state);
            if let Some((rule, _)) = cut {
                follows |= streamed || rule == Rule::ToolMessageRenamed;
            }
            if streamed {
                calls.extend(calls_of(message));
            }
            let Some(result) = ToolMessage::of(message) else { continue };
            let Some(rule) = self.unknown(&result, state, &calls) else { continue };
            let known = self.results.get(&*result.call);
            let ids = ids.get_or_insert_with(|| ids_of(messages));
            if known.is_some_and(|known| ids.contains(&**known)) || !self.has_room(&result.call, &result.id) {
                continue;
            }
            cut = cut.or(Some((rule, place.end)));
            results.push(result);
        }
        if !elements.is_complete() {
            return None;
        }
        results.iter().for_each(|result| self.learn(&result.call, &result.id));
        let (rule, end) = cut.filter(|_| follows)?;
        Some((rule, [messages.get(..end)?, b"]"].concat()))
    }

    /// The rule that this result breaks, if the client has none of its call, or has it under another identifier; `calls`:
    /// those of messages that were streamed, which may have been left out of the stream.
    fn unknown(&self, result: &ToolMessage<'_>, state: &State, calls: &HashSet<Cow<'_, str>>) -> Option<Rule> {
        let call = &*result.call;
        match self.results.get(call) {
            Some(known) => (**known != *result.id).then_some(Rule::ToolMessageRenamed),
            None if state.is_answered(call) => None,
            None => (calls.contains(call) || state.knows(Item::ToolCall, call)).then_some(Rule::ToolMessageUntold),
        }
    }

    /// Whether the client has this message from the run under way.
    fn is_streamed(&self, message: &[u8], state: &State) -> bool {
        if let Some(result) = ToolMessage::of(message) {
            return self.results.get(&*result.call).is_some_and(|known| **known == *result.id);
        }
        text_in(message, "id").is_some_and(|id| state.knows(Item::Text, &id))
            || calls_of(message).any(|id| state.knows(Item::ToolCall, &id))
    }

    fn has_room(&self, call: &str, message: &str) -> bool {
        let (known, more) = self.results.get(call).map_or((0, 1), |known| (call.len() + known.len(), 0));
        let bytes = self.result_bytes - known + call.len() + message.len();
        self.results.len() + more <= RESULTS_MAX && bytes <= BYTES_MAX
    }

    /// The client has this call's result in this message.
    fn learn(&mut self, call: &str, message: &str) {
        if self.has_room(call, message) {
            let known = self.results.insert(Box::from(call), Box::from(message));
            self.result_bytes += call.len() + message.len();
            self.result_bytes -= known.map_or(0, |known| call.len() + known.len());
        }
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
        let Some(id) = seen.text(item.member()) else { return };
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

/// A message with the result of a tool call.
struct ToolMessage<'a> {
    id: Cow<'a, str>,
    call: Cow<'a, str>,
}

impl<'a> ToolMessage<'a> {
    fn of(message: &'a [u8]) -> Option<Self> {
        let call = text_in(message, "toolCallId").filter(|_| text_in(message, "role").as_deref() == Some("tool"))?;
        Some(Self { id: text_in(message, "id")?, call })
    }
}

/// The identifiers of the tool calls of a message.
fn calls_of(message: &[u8]) -> impl Iterator<Item = Cow<'_, str>> {
    let calls = Members::of(message).find(|member| member.is("toolCalls")).map_or(&b""[..], |member| member.value);
    json::elements(calls).filter_map(|call| text_in(call, "id"))
}

fn ids_of(messages: &[u8]) -> HashSet<Cow<'_, str>> {
    json::elements(messages).filter_map(|message| text_in(message, "id")).collect()
}

/// The text of the last member of this name.
fn text_in<'a>(object: &'a [u8], name: &str) -> Option<Cow<'a, str>> {
    Members::of(object).filter(|member| member.is(name)).last().and_then(|member| json::string(member.value))
}
