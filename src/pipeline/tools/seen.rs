//! An event comes in, the members that the policy has to know go out, read in one walk. It judges nothing but whether
//! they can be read, and whether every reader would read the same.

use std::borrow::Cow;

use crate::agui::{Event, EventKind, json, json::Members};

/// Declares the members once, so that names and places cannot disagree.
macro_rules! names {
    ($($name:ident = $text:literal,)*) => {
        /// A top-level member that the policy looks at.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Name { $($name,)* }

        const NAMES: &[&str] = &[$($text,)*];
    };
}

names! {
    Type = "type",
    Tag = "subagentRunId",
    Call = "toolCallId",
    Tool = "toolCallName",
    ParentCall = "parentToolCallId",
    ParentTag = "parentSubagentRunId",
    ParentMessage = "parentMessageId",
    Message = "messageId",
    Delta = "delta",
    Content = "content",
    Messages = "messages",
    Input = "input",
    Outcome = "outcome",
    Interrupts = "interrupts",
    Pending = "pendingToolCallIds",
    Entity = "entityId",
    Subtype = "subtype",
    Title = "name",
    Value = "value",
    Raw = "rawEvent",
}

impl Name {
    /// Its name in an event.
    pub const fn as_str(self) -> &'static str {
        NAMES[self as usize]
    }
}

const fn set(names: &[Name]) -> u32 {
    let (mut set, mut i) = (0, 0);
    while i < names.len() {
        set |= 1 << names[i] as u32;
        i += 1;
    }
    set
}

const _: () = assert!(NAMES.len() <= u32::BITS as usize);

/// The members that an event of this kind may have once only, since what they say is judged.
const fn judged(kind: EventKind) -> u32 {
    use EventKind as K;
    use Name as N;
    set(&[N::Type, N::Tag, N::Call, N::Tool, N::ParentCall])
        | match kind {
            K::ToolCallStart => set(&[N::ParentMessage]),
            K::ToolCallArgs | K::ToolCallChunk => set(&[N::Delta, N::ParentMessage]),
            K::ToolCallResult => set(&[N::Content]),
            K::MessagesSnapshot => set(&[N::Messages]),
            K::RunStarted => set(&[N::Input]),
            K::RunFinished => set(&[N::Outcome, N::Interrupts, N::Pending]),
            K::ReasoningEncryptedValue => set(&[N::Entity, N::Subtype]),
            K::SubagentStarted => set(&[N::ParentTag]),
            K::Custom => set(&[N::Title, N::Value]),
            K::TextMessageStart
            | K::TextMessageContent
            | K::TextMessageEnd
            | K::TextMessageChunk
            | K::ReasoningStart
            | K::ReasoningEnd
            | K::ReasoningMessageStart
            | K::ReasoningMessageContent
            | K::ReasoningMessageEnd
            | K::ReasoningMessageChunk
            | K::ActivitySnapshot
            | K::ActivityDelta => set(&[N::Message]),
            _ => 0,
        }
}

/// Why an event cannot be judged: the rule that it breaks, from a closed set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unread(pub &'static str);

/// What the policy knows of an event.
#[derive(Debug)]
pub struct Seen<'a> {
    values: [Option<&'a [u8]>; NAMES.len()],
}

impl<'a> Seen<'a> {
    /// Reads an event; an error if it is no whole JSON object in UTF-8, or if a member that is judged is there more than
    /// once: of those, one reader takes the first and another the last.
    pub fn of(event: &'a Event) -> Result<Self, Unread> {
        if !event.is_utf8() {
            return Err(Unread("unreadable"));
        }
        let once = judged(event.kind());
        let mut seen = Self { values: [None; NAMES.len()] };
        let mut members = Members::of(event.text());
        for member in members.by_ref() {
            let name = member.name().ok_or(Unread("unreadable"))?;
            let Some(place) = NAMES.iter().position(|other| *other == name) else { continue };
            if let Some(value) = seen.values.get_mut(place)
                && value.replace(member.value).is_some()
                && once & (1 << place) != 0
            {
                return Err(Unread("given_twice"));
            }
        }
        if members.is_complete() { Ok(seen) } else { Err(Unread("unreadable")) }
    }

    /// A member as it is spelled; `null` is as good as none.
    pub fn value(&self, name: Name) -> Option<&'a [u8]> {
        self.values.get(name as usize).copied().flatten().filter(|value| *value != b"null")
    }

    /// Whether the member is there, whatever it holds.
    pub fn has(&self, name: Name) -> bool {
        self.values.get(name as usize).is_some_and(Option::is_some)
    }

    /// Whether a piece of text or reasoning says more than that.
    pub fn says_more(&self) -> bool {
        [Name::Raw, Name::Call, Name::ParentCall, Name::Tool].into_iter().any(|name| self.has(name))
    }

    /// The text of a member, if it is there; an error if it is something else.
    pub fn text(&self, name: Name) -> Result<Option<Cow<'a, str>>, Unread> {
        self.value(name).map(|value| json::string(value).ok_or(Unread("unreadable"))).transpose()
    }

    /// The text of a member that has to be there.
    pub fn needed(&self, name: Name) -> Result<Cow<'a, str>, Unread> {
        self.text(name)?.ok_or(Unread("incomplete"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<String>, Unread> {
        let event = Event::made(text.to_owned());
        let seen = Seen::of(&event)?;
        Ok(seen.text(Name::Call)?.map(Cow::into_owned))
    }

    #[test]
    fn members_are_read_as_what_they_say() {
        assert_eq!(read(r#"{"type":"TOOL_CALL_END","toolC\u0061llId":"\u0063 "}"#), Ok(Some("c ".into())));
        assert_eq!(read(r#"{"type":"TOOL_CALL_CHUNK","toolCallId":null}"#), Ok(None));
        assert_eq!(read(r#"{"type":"TEXT_MESSAGE_CONTENT","delta":"a","delta":"b"}"#), Ok(None), "not judged");
    }

    #[test]
    fn what_readers_would_read_in_several_ways_is_not_read() {
        for twice in [
            r#"{"type":"TOOL_CALL_END","toolCallId":"a","toolCallId":"a"}"#,
            r#"{"type":"TOOL_CALL_END","toolCallId":"a","toolCall\u0049d":"b"}"#,
            r#"{"type":"TOOL_CALL_START","type":"CUSTOM"}"#,
            r#"{"type":"TOOL_CALL_ARGS","delta":"a","delta":"b"}"#,
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[],"messages":[]}"#,
        ] {
            assert_eq!(read(twice), Err(Unread("given_twice")), "{twice}");
        }
    }

    #[test]
    fn what_is_no_object_of_texts_is_not_read() {
        for odd in [
            r#"{"type":"CUSTOM"}{"type":"TOOL_CALL_START"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","delta":"#,
            "[]",
            "oops",
            r#"{"type":"TOOL_CALL_END","toolCallId":7}"#,
            r#"{"type":"TOOL_CALL_END","toolCallId":"\ud83d"}"#,
            r#"{"type":"TOOL_CALL_END","\ud83d":1}"#,
        ] {
            assert_eq!(read(odd), Err(Unread("unreadable")), "{odd}");
        }
        for no_utf8 in [
            &b"{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"caf\xe9\"}"[..],
            b"{\"type\":\"TOOL_CALL_ARGS\",\"toolCallId\":\"c\",\"delta\":\"\xff\"}",
            b"{\"type\":\"TOOL_CALL_START\",\"toolCallId\":\"c\",\"toolCallName\":\"rm\xff\"}",
            b"{\"type\":\"CUSTOM\",\"name\":\"n\",\"value\":{\"\xff\":1}}",
            b"{\"type\":\"VENDOR\",\"x\":\"\xff\"}",
        ] {
            let event = Event::made(no_utf8);
            assert_eq!(Seen::of(&event).err(), Some(Unread("unreadable")), "{}", no_utf8.escape_ascii());
        }
    }
}
