//! The text of a delta of text, reasoning or a tool call comes in, what it says goes out, borrowed. What cannot be read
//! for certain is not read: such an event is not merged.

use std::{borrow::Cow, ops::Range};

use serde::de::IgnoredAny;

use super::text::{Measure, measure};
use crate::agui::{
    EventKind, Plain,
    json::{self, Member, Members},
    lanes::Item,
};

/// How many members that nobody describes an event may have to be merged.
const OTHERS_MAX: usize = 8;

/// What distinguishes the kinds of deltas.
#[derive(Debug)]
pub(super) struct Shape {
    /// Of what it is a delta, if that has a name.
    pub(super) item: Option<Item>,
    id: &'static str,
    /// The members by which a chunk opens its item.
    fields: &'static [&'static str],
    /// How many of them an opener needs.
    needs: usize,
    /// Whether it may open what it continues.
    pub(super) chunk: bool,
}

const TEXT: Shape = Shape { item: Some(Item::Text), id: "messageId", fields: &[], needs: 0, chunk: false };
const TEXT_CHUNK: Shape = Shape { fields: &["role", "name"], chunk: true, ..TEXT };
const CALL: Shape = Shape { item: Some(Item::ToolCall), id: "toolCallId", fields: &[], needs: 0, chunk: false };
const CALL_CHUNK: Shape = Shape { fields: &["toolCallName", "parentMessageId"], needs: 1, chunk: true, ..CALL };
const REASONING: Shape = Shape { item: Some(Item::Reasoning), ..TEXT };
const REASONING_CHUNK: Shape = Shape { chunk: true, ..REASONING };
/// Of thinking there is one message at a time, without a name.
const THINKING: Shape = Shape { item: None, id: "", ..TEXT };

impl Shape {
    /// The shape of the deltas of this kind, if they are deltas.
    pub(super) const fn of(kind: EventKind) -> Option<&'static Self> {
        Some(match kind {
            EventKind::TextMessageContent => &TEXT,
            EventKind::TextMessageChunk => &TEXT_CHUNK,
            EventKind::ToolCallArgs => &CALL,
            EventKind::ToolCallChunk => &CALL_CHUNK,
            EventKind::ReasoningMessageContent => &REASONING,
            EventKind::ReasoningMessageChunk => &REASONING_CHUNK,
            EventKind::ThinkingTextMessageContent => &THINKING,
            _ => return None,
        })
    }
}

/// What a delta says.
#[derive(Debug, Default)]
pub(super) struct Piece<'a> {
    /// The item's identifier, if the event names it.
    pub(super) id: Option<Cow<'a, str>>,
    /// Its owner's, likewise.
    pub(super) tag: Option<Cow<'a, str>>,
    /// What a chunk says to open its item, as it is spelled.
    pub(super) fields: [Option<&'a [u8]>; 2],
    /// The delta without its quotes.
    pub(super) body: &'a [u8],
    /// Where in the text that ends; `None` if there is no delta.
    pub(super) end: Option<usize>,
    /// What the delta measures.
    pub(super) measure: Measure,
    /// An object.
    pub(super) metadata: Option<&'a [u8]>,
    /// Whether it carries what it was made from.
    pub(super) raw_event: bool,
    /// Where the members stand that nobody describes.
    pub(super) others: Vec<Range<usize>>,
    names: Vec<String>,
    /// How many of the fields an opener needs.
    needs: usize,
}

impl<'a> Piece<'a> {
    /// What a plain delta says.
    pub(super) fn plain(plain: Plain<'a>) -> Option<Self> {
        let id = std::str::from_utf8(plain.id).ok()?;
        // Every byte of a letter but its first is below -64 as a signed number.
        let chars = plain.delta.iter().filter(|byte| byte.cast_signed() >= -64).count();
        Some(Self {
            id: Some(Cow::Borrowed(id)),
            body: plain.delta,
            end: Some(plain.end),
            measure: Measure { chars, half: false },
            ..Self::default()
        })
    }

    /// The delta in this text; `None` if it is no valid JSON, lacks what it needs, has a member twice or one of another
    /// kind than the protocol's.
    pub(super) fn read(shape: &'static Shape, text: &'a [u8]) -> Option<Self> {
        let mut piece = Self { needs: shape.needs, ..Self::default() };
        let (mut typed, mut timed) = (false, false);
        let mut members = Members::of(text);
        for member in members.by_ref() {
            let name = member.name()?;
            match &*name {
                "type" if !typed => typed = true,
                "delta" if piece.end.is_none() => {
                    piece.body = body(member.value)?;
                    piece.measure = measure(piece.body)?;
                    piece.end = Some(member.span.end - 1);
                }
                "subagentRunId" if piece.tag.is_none() => piece.tag = Some(word(member.value)?),
                "timestamp" if !timed && is_number(member.value) => timed = true,
                "metadata" if piece.metadata.is_none() && is_object(member.value) => {
                    piece.metadata = Some(member.value)
                }
                "rawEvent" if !piece.raw_event => piece.raw_event = true,
                "type" | "delta" | "subagentRunId" | "timestamp" | "metadata" | "rawEvent" => return None,
                name if name == shape.id && piece.id.is_none() => piece.id = Some(word(member.value)?),
                name if name == shape.id => return None,
                name => piece.other(shape, name, &member)?,
            }
        }
        let complete = members.is_complete() && (shape.chunk || piece.end.is_some());
        let named = shape.chunk || shape.item.is_none() || piece.id.is_some();
        // What is copied without being looked at must be valid too.
        let plain = piece.metadata.is_none() && !piece.raw_event && piece.others.is_empty();
        let valid =
            plain || std::str::from_utf8(text).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
        (complete && named && valid).then_some(piece)
    }

    fn other(&mut self, shape: &Shape, name: &str, member: &Member<'a>) -> Option<()> {
        let field = shape.fields.iter().position(|field| *field == name);
        if let Some(field) = field.and_then(|at| self.fields.get_mut(at)) {
            word(member.value)?;
            return field.replace(member.value).is_none().then_some(());
        }
        if self.others.len() == OTHERS_MAX || self.names.iter().any(|other| other == name) {
            return None;
        }
        self.others.push(member.span.clone());
        self.names.push(name.to_owned());
        Some(())
    }

    /// Whether it carries all that its start event would need.
    pub(super) fn can_open(&self) -> bool {
        self.id.is_some() && self.fields.iter().take(self.needs).all(Option::is_some)
    }

    /// Whether its delta says nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.body.is_empty()
    }
}

/// Whether the members of one text at these places and those of another are the same, spelled the same.
pub(super) fn alike(one: (&[u8], &[Range<usize>]), other: (&[u8], &[Range<usize>])) -> bool {
    let ((one, ones), (other, others)) = (one, other);
    ones.len() == others.len()
        && ones.iter().all(|span| others.iter().any(|there| one.get(span.clone()) == other.get(there.clone())))
}

fn body(value: &[u8]) -> Option<&[u8]> {
    value.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

/// What a string says, if every reader can tell.
pub(super) fn word(value: &[u8]) -> Option<Cow<'_, str>> {
    measure(body(value)?)?;
    json::string(value)
}

/// Whether this is an object whose members have names that can be told.
fn is_object(value: &[u8]) -> bool {
    let mut members = Members::of(value);
    members.by_ref().all(|member| member.name().is_some()) && members.is_complete()
}

/// Whether this is a number as JSON spells it.
fn is_number(value: &[u8]) -> bool {
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let plain = digits && (value.len() == 1 || !value.starts_with(b"0"));
    plain || (value.first() != Some(&b'"') && serde_json::from_slice::<f64>(value).is_ok())
}
