//! The text of a chunk comes in, what it says and the events it stands for go out. A chunk with a described member of
//! another kind than the protocol's is not read: it is not this module's to mend.

use std::borrow::Cow;

use crate::agui::{
    EventKind,
    edit::quoted,
    json::{self, Members},
    lanes::Item,
};

/// What distinguishes the three kinds of chunks.
#[derive(Debug)]
pub(super) struct Shape {
    pub item: Item,
    id: &'static str,
    /// The members that describe the item; a continuation may repeat them, equal.
    fields: &'static [&'static str],
    /// How many of them an opener needs.
    needs: usize,
    start: &'static str,
    content: &'static str,
    end: &'static str,
}

const TEXT: Shape = Shape {
    item: Item::Text,
    id: "messageId",
    fields: &["role", "name"],
    needs: 0,
    start: "TEXT_MESSAGE_START",
    content: "TEXT_MESSAGE_CONTENT",
    end: "TEXT_MESSAGE_END",
};

const TOOL_CALL: Shape = Shape {
    item: Item::ToolCall,
    id: "toolCallId",
    fields: &["toolCallName", "parentMessageId"],
    needs: 1,
    start: "TOOL_CALL_START",
    content: "TOOL_CALL_ARGS",
    end: "TOOL_CALL_END",
};

const REASONING: Shape = Shape {
    item: Item::Reasoning,
    id: "messageId",
    fields: &[],
    needs: 0,
    start: "REASONING_MESSAGE_START",
    content: "REASONING_MESSAGE_CONTENT",
    end: "REASONING_MESSAGE_END",
};

/// The role of a text message whose opener names none.
const DEFAULT_ROLE: &str = "assistant";

impl Shape {
    /// The shape of the chunks of this kind, if they are chunks.
    pub(super) const fn of(kind: EventKind) -> Option<&'static Self> {
        match kind {
            EventKind::TextMessageChunk => Some(&TEXT),
            EventKind::ToolCallChunk => Some(&TOOL_CALL),
            EventKind::ReasoningMessageChunk => Some(&REASONING),
            _ => None,
        }
    }
}

/// A string member: as it is spelled, and what it says.
#[derive(Clone, Debug)]
struct Said<'a> {
    raw: &'a [u8],
    text: Cow<'a, str>,
}

impl<'a> Said<'a> {
    fn of(raw: &'a [u8]) -> Option<Self> {
        json::string(raw).map(|text| Self { raw, text })
    }
}

/// One chunk. Of a member that stands twice the last counts, as it does for those who read it.
#[derive(Debug)]
pub(super) struct Chunk<'a> {
    shape: &'static Shape,
    id: Option<Said<'a>>,
    tag: Option<Said<'a>>,
    fields: [Option<Said<'a>>; 2],
    delta: Option<&'a [u8]>,
    metadata: Option<&'a [u8]>,
    raw_event: Option<&'a [u8]>,
}

impl<'a> Chunk<'a> {
    /// The chunk in this text, if every described member is of its kind.
    pub(super) fn read(shape: &'static Shape, text: &'a [u8]) -> Option<Self> {
        let mut chunk =
            Self { shape, id: None, tag: None, fields: [None, None], delta: None, metadata: None, raw_event: None };
        let mut members = Members::of(text);
        for member in members.by_ref() {
            let name = member.name()?;
            match &*name {
                // Not read: half of a surrogate pair is a delta too.
                "delta" if member.value.first() != Some(&b'"') => return None,
                "delta" => chunk.delta = Some(member.value),
                "subagentRunId" => chunk.tag = Some(Said::of(member.value)?),
                "metadata" if member.value.first() != Some(&b'{') => return None,
                "metadata" => chunk.metadata = Some(member.value),
                "rawEvent" => chunk.raw_event = Some(member.value),
                "timestamp" if !is_integer(member.value) => return None,
                name if name == shape.id => chunk.id = Some(Said::of(member.value)?),
                name => {
                    let field = shape.fields.iter().position(|field| *field == name);
                    if let Some(field) = field.and_then(|at| chunk.fields.get_mut(at)) {
                        *field = Some(Said::of(member.value)?);
                    }
                }
            }
        }
        members.is_complete().then_some(chunk)
    }

    pub(super) fn id_text(&self) -> Option<&str> {
        self.id.as_ref().map(|id| &*id.text)
    }

    pub(super) fn tag_text(&self) -> Option<&str> {
        self.tag.as_ref().map(|tag| &*tag.text)
    }

    /// Whether it carries all that its start event needs.
    pub(super) fn can_open(&self) -> bool {
        self.id.is_some() && self.fields.iter().take(self.shape.needs).all(Option::is_some)
    }

    /// What to remember of it as the opener of its item.
    pub(super) fn opener(&self) -> Opener {
        let text = |said: &Option<Said<'_>>| said.as_ref().map(|said| Box::from(&*said.text));
        let mut fields = [text(&self.fields[0]), text(&self.fields[1])];
        if self.shape.item == Item::Text {
            fields[0].get_or_insert_with(|| DEFAULT_ROLE.into());
        }
        let raw = |said: &Option<Said<'_>>| said.as_ref().map(|said| said.raw.to_vec());
        Opener { shape: self.shape, id: raw(&self.id).unwrap_or_default(), tag: raw(&self.tag), fields }
    }

    /// The start event of the item that it opens.
    pub(super) fn start(&self) -> Vec<u8> {
        let mut event = Made::of(self.shape.start);
        event.put(self.shape.id, self.id.as_ref().map(|id| id.raw));
        match self.shape.item {
            Item::Text if self.fields[0].is_none() => event.put("role", Some(&quoted(DEFAULT_ROLE))),
            Item::Reasoning => event.put("role", Some(&quoted("reasoning"))),
            Item::Text | Item::ToolCall => {}
        }
        for (name, field) in self.shape.fields.iter().zip(&self.fields) {
            event.put(name, field.as_ref().map(|field| field.raw));
        }
        event.put("subagentRunId", self.tag.as_ref().map(|tag| tag.raw));
        event.put("metadata", self.metadata);
        event.put("rawEvent", self.raw_event);
        event.done()
    }

    /// The content event of an opener; what it says besides went into the start event.
    pub(super) fn first_content(&self) -> Option<Vec<u8>> {
        let mut event = Made::of(self.shape.content);
        event.put(self.shape.id, self.id.as_ref().map(|id| id.raw));
        event.put("delta", Some(self.delta?));
        event.put("subagentRunId", self.tag.as_ref().map(|tag| tag.raw));
        Some(event.done())
    }

    /// The content event of a continuation. One without a delta has an empty one if there is something else to carry.
    pub(super) fn continued(&self, opener: &Opener) -> Option<Vec<u8>> {
        if self.delta.is_none() && self.metadata.is_none() && self.raw_event.is_none() {
            return None;
        }
        let mut event = Made::of(self.shape.content);
        event.put(self.shape.id, Some(&opener.id));
        event.put("delta", Some(self.delta.unwrap_or(b"\"\"")));
        event.put("subagentRunId", opener.tag.as_deref());
        event.put("metadata", self.metadata);
        event.put("rawEvent", self.raw_event);
        Some(event.done())
    }
}

/// What the opener of a chunk stream said.
#[derive(Debug)]
pub(super) struct Opener {
    shape: &'static Shape,
    /// The identifier, as it was spelled.
    id: Vec<u8>,
    /// Whose item it is, as it was spelled.
    tag: Option<Vec<u8>>,
    fields: [Option<Box<str>>; 2],
}

impl Opener {
    /// Whether a continuation repeats nothing but what the opener said.
    pub(super) fn agrees(&self, chunk: &Chunk<'_>) -> bool {
        self.fields.iter().zip(&chunk.fields).all(|(own, repeated)| match (own, repeated) {
            (_, None) => true,
            (Some(own), Some(repeated)) => **own == *repeated.text,
            (None, Some(_)) => false,
        })
    }

    /// The end event.
    pub(super) fn end(&self) -> Vec<u8> {
        let mut event = Made::of(self.shape.end);
        event.put(self.shape.id, Some(&self.id));
        event.put("subagentRunId", self.tag.as_deref());
        event.done()
    }

    pub(super) fn held(&self) -> usize {
        let fields = self.fields.iter().flatten().map(|field| field.len()).sum::<usize>();
        self.id.len() + self.tag.as_ref().map_or(0, Vec::len) + fields
    }
}

/// An event in the making.
struct Made(Vec<u8>);

impl Made {
    fn of(name: &str) -> Self {
        Self(format!("{{\"type\":\"{name}\"").into_bytes())
    }

    fn put(&mut self, name: &str, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.0.extend_from_slice(format!(",\"{name}\":").as_bytes());
            self.0.extend_from_slice(value);
        }
    }

    fn done(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

/// Whether this is a whole number that every reader can hold, however it is spelled.
fn is_integer(value: &[u8]) -> bool {
    const SAFE: f64 = 9_007_199_254_740_991.0;
    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse::<f64>().ok());
    number.is_some_and(|number| number.fract() == 0.0 && number.abs() <= SAFE)
}
