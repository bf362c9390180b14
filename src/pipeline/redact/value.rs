//! A JSON value that came whole comes in, the same with every match replaced goes out. Every string in it is judged, and
//! every number, but for what names or links things: identifiers, types, roles, paths and the names of members.
//!
//! What stands in a number's place is a string. Strings keep the spelling of what was not replaced.

use std::{borrow::Cow, ops::Range};

use super::{
    reader::Reader,
    rules::Set,
    sieve::{Scratch, Work},
    spell,
};
use crate::agui::{
    EventKind,
    edit::{self, quoted},
    json::{Elements, Member, Members},
};

/// How deep the protocol's own objects and lists lie in each other at most. Below, everything is judged.
const DEPTH_MAX: usize = 12;

/// What a value is to the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Anything: all of it is judged.
    Any,
    /// A name or a link: a string or number of it stays.
    Name,
    /// A message, or a list of them.
    Message,
    /// The tool calls of a message.
    ToolCall,
    /// What a tool call calls.
    Function,
    /// The arguments of a tool call: JSON in a string.
    Arguments,
    /// A content part, or a list of them.
    Part,
    /// A patch, or an operation of one.
    Operation,
    /// How a run or a subagent ended, with its interrupts.
    Outcome,
    /// What a run was started with.
    Input,
}

impl Shape {
    /// What the member of this name is of an event of this kind.
    pub fn of(kind: EventKind, member: &Member<'_>) -> Self {
        let Some(name) = member.name() else { return Self::Any };
        match (kind, &*name) {
            (
                _,
                "type"
                | "timestamp"
                | "threadId"
                | "runId"
                | "parentRunId"
                | "messageId"
                | "toolCallId"
                | "toolCallName"
                | "parentMessageId"
                | "subagentRunId"
                | "parentSubagentRunId"
                | "parentToolCallId"
                | "role"
                | "activityType"
                | "protocolVersion",
            ) => Self::Name,
            (EventKind::ReasoningEncryptedValue, "subtype" | "entityId" | "encryptedValue" | "encryptedValueType")
            | (EventKind::RunFinished | EventKind::RunError, "usage")
            | (EventKind::RunError | EventKind::SubagentError, "code") => Self::Name,
            (EventKind::MessagesSnapshot, "messages") => Self::Message,
            (EventKind::StateDelta, "delta") | (EventKind::ActivityDelta, "patch") => Self::Operation,
            (EventKind::ToolCallResult, "content") => Self::Part,
            (EventKind::RunFinished | EventKind::SubagentFinished, "outcome") => Self::Outcome,
            (EventKind::RunStarted, "input") => Self::Input,
            _ => Self::Any,
        }
    }

    fn member(self, member: &Member<'_>) -> Self {
        let Some(name) = member.name() else { return Self::Any };
        match (self, &*name) {
            (
                Self::Message,
                "id" | "role" | "toolCallId" | "subagentRunId" | "activityType" | "encryptedValue"
                | "encryptedValueType",
            )
            | (Self::ToolCall, "id" | "type" | "encryptedValue" | "encryptedValueType")
            | (Self::Function, "name")
            | (Self::Part, "id" | "type")
            | (Self::Operation, "op" | "path" | "from")
            | (Self::Outcome, "type" | "id" | "toolCallId" | "subagentRunId" | "pendingToolCallIds" | "interruptIds")
            | (Self::Input, "threadId" | "runId" | "parentRunId" | "protocolVersion") => Self::Name,
            (Self::Message, "toolCalls") => Self::ToolCall,
            (Self::Message, "content") => Self::Part,
            (Self::ToolCall, "function") => Self::Function,
            (Self::Function, "arguments") => Self::Arguments,
            (Self::Outcome, "interrupts") => Self::Outcome,
            (Self::Input, "messages") => Self::Message,
            _ => Self::Any,
        }
    }
}

/// Judges values, and counts what it replaced.
#[derive(Debug)]
pub struct Values<'a> {
    pub rules: &'a Set,
    pub scratch: &'a mut Scratch,
    pub replaced: usize,
}

impl Values<'_> {
    /// Whether nothing in this text can have to be replaced, by a glance.
    pub fn is_clean(&self, text: &[u8]) -> bool {
        !self.rules.looks && memchr::memchr(b'\\', text).is_none() && !self.rules.is_in(text)
    }

    /// This value of this shape, with every match replaced; `None` if there is none.
    pub fn value(&mut self, value: &[u8], shape: Shape) -> Option<Vec<u8>> {
        self.nested(value, shape, 0)
    }

    fn nested(&mut self, value: &[u8], shape: Shape, depth: usize) -> Option<Vec<u8>> {
        let nests = matches!(value.first(), Some(b'{' | b'['));
        match shape {
            Shape::Name if !nests || is_list_of_strings(value) => None,
            Shape::Arguments => self.arguments(value),
            Shape::Any | Shape::Name => self.any(value),
            _ if self.is_clean(value) => None,
            _ if depth == DEPTH_MAX => self.any(value),
            _ if is_object(value) => edit::members(value, |m| self.nested(m.value, shape.member(m), depth + 1).into()),
            _ if is_array(value) => edit::elements(value, |element| self.nested(element, shape, depth + 1).into()),
            _ => self.any(value),
        }
    }

    fn arguments(&mut self, value: &[u8]) -> Option<Vec<u8>> {
        let Some(inner) = inside(value) else { return self.any(value) };
        let mut out = vec![b'"'];
        let mut work = Work { rules: self.rules, scratch: self.scratch, out: &mut out, replaced: 0, twice: false };
        Reader::arguments().feed(inner, true, &mut work);
        self.replaced += work.replaced;
        out.push(b'"');
        (out != value).then_some(out)
    }

    /// Every string that is no member's name, and every number, however deep they are.
    pub fn any(&mut self, text: &[u8]) -> Option<Vec<u8>> {
        let numbers = self.rules.begins_with_a_number();
        let (mut out, mut from, mut at) = (Vec::new(), 0, 0);
        while let Some(byte) = text.get(at) {
            let (end, edited) = match byte {
                b'"' => {
                    let end = end_of_string(text, at);
                    let string =
                        text.get(at + 1..end).map_or(&b""[..], |rest| rest.strip_suffix(b"\"").unwrap_or(rest));
                    (end, if is_name(text, end) { None } else { self.string(string) })
                }
                b'-' | b'0'..=b'9' if numbers => {
                    let is_number = |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                    let rest = text.get(at..).unwrap_or_default();
                    let number = rest.get(..rest.iter().take_while(|byte| is_number(byte)).count()).unwrap_or_default();
                    (at + number.len(), self.number(number))
                }
                _ => {
                    at += 1;
                    continue;
                }
            };
            if let Some(edited) = edited {
                out.extend_from_slice(text.get(from..at).unwrap_or_default());
                out.extend_from_slice(&edited);
                from = end;
            }
            at = end;
        }
        if from == 0 {
            return None;
        }
        out.extend_from_slice(text.get(from..).unwrap_or_default());
        Some(out)
    }

    fn number(&mut self, number: &[u8]) -> Option<Vec<u8>> {
        if !self.rules.is_in(number) {
            return None;
        }
        Some(quoted(&String::from_utf8_lossy(number))).and_then(|text| self.string(inside(&text)?))
    }

    /// The string with this inside, with its quotes, if there is something to replace in it.
    fn string(&mut self, inner: &[u8]) -> Option<Vec<u8>> {
        let plain = memchr::memchr(b'\\', inner).is_none().then(|| std::str::from_utf8(inner).ok()).flatten();
        let text = plain.map_or_else(|| Cow::Owned(read(inner)), Cow::Borrowed);
        if !self.rules.is_in(text.as_bytes()) {
            return None;
        }
        let found: Vec<(Range<usize>, usize)> = self.rules.matches(text.as_bytes()).collect();
        let mut found = found.into_iter().peekable();
        let (mut out, mut at, mut place) = (vec![b'"'], 0, 0);
        while let Some((letter, len)) = spell::letter(inner.get(at..).unwrap_or_default(), true) {
            if let Some((_, rule)) = found.next_if(|(range, _)| range.end <= place) {
                self.put(rule, &mut out);
            }
            if found.peek().is_none_or(|(range, _)| place < range.start) {
                out.extend_from_slice(inner.get(at..at + len).unwrap_or_default());
            }
            at += len;
            place += letter.len_utf8();
        }
        if let Some((_, rule)) = found.next() {
            self.put(rule, &mut out);
        }
        out.push(b'"');
        Some(out)
    }

    fn put(&mut self, rule: usize, out: &mut Vec<u8>) {
        self.replaced += 1;
        out.extend_from_slice(self.rules.with(rule, false));
    }
}

/// What a JSON string holds between its quotes.
pub fn inside(value: &[u8]) -> Option<&[u8]> {
    value.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

fn read(inner: &[u8]) -> String {
    let (mut text, mut at) = (String::new(), 0);
    while let Some((letter, len)) = spell::letter(inner.get(at..).unwrap_or_default(), true) {
        text.push(letter);
        at += len;
    }
    text
}

/// The place after the string that begins at `at`; the end of the text if it has no end.
fn end_of_string(text: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(found) = text.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        if text.get(at + found) == Some(&b'"') {
            return at + found + 1;
        }
        at += found + 2;
    }
    text.len()
}

/// Whether what ends here is a member's name.
fn is_name(text: &[u8], end: usize) -> bool {
    let mut rest = text.get(end..).unwrap_or_default().iter().skip_while(|byte| byte.is_ascii_whitespace());
    rest.next() == Some(&b':')
}

fn is_object(value: &[u8]) -> bool {
    let mut members = Members::of(value);
    members.by_ref().for_each(drop);
    members.is_complete()
}

fn is_array(value: &[u8]) -> bool {
    let mut elements = Elements::of(value);
    elements.by_ref().for_each(drop);
    elements.is_complete()
}

fn is_list_of_strings(value: &[u8]) -> bool {
    is_array(value) && Elements::of(value).all(|place| value.get(place).is_some_and(|item| item.starts_with(b"\"")))
}
