//! An event comes in, the bracket it belongs to goes out: a text message or a tool call, by its identifier.

use crate::agui::{Event, EventKind, edit};

/// Which bracket an event is part of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    tool_call: bool,
    id: String,
}

impl Key {
    /// The bracket of this event, if it is part of one.
    pub fn of(event: &Event) -> Option<Self> {
        let (tool_call, member) = match event.kind() {
            EventKind::TextMessageStart | EventKind::TextMessageContent | EventKind::TextMessageEnd => {
                (false, "messageId")
            }
            EventKind::ToolCallStart | EventKind::ToolCallArgs | EventKind::ToolCallEnd => (true, "toolCallId"),
            _ => return None,
        };
        Some(Self { tool_call, id: event.string(member)?.into_owned() })
    }

    /// Whether it is a tool call, not a text message.
    pub fn is_tool_call(&self) -> bool {
        self.tool_call
    }

    /// The event that closes it.
    pub fn end(&self) -> Event {
        match self.tool_call {
            true => self.made(r#"{"type":"TOOL_CALL_END","toolCallId":"#, "}"),
            false => self.made(r#"{"type":"TEXT_MESSAGE_END","messageId":"#, "}"),
        }
    }

    /// The event that opens a text message again.
    pub fn start(&self) -> Event {
        self.made(r#"{"type":"TEXT_MESSAGE_START","messageId":"#, r#","role":"assistant"}"#)
    }

    fn made(&self, before: &str, behind: &str) -> Event {
        let mut text = before.as_bytes().to_vec();
        text.extend_from_slice(&edit::quoted(&self.id));
        text.extend_from_slice(behind.as_bytes());
        Event::made(text)
    }
}

/// Whether an event of this kind opens a bracket.
pub fn starts(kind: EventKind) -> bool {
    matches!(kind, EventKind::TextMessageStart | EventKind::ToolCallStart)
}

/// Whether an event of this kind closes a bracket.
pub fn ends(kind: EventKind) -> bool {
    matches!(kind, EventKind::TextMessageEnd | EventKind::ToolCallEnd)
}
