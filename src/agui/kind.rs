//! The name of an event type comes in, its kind goes out; nothing here reads an event's other members.

/// Declares the kinds once, so that the enum, the names and the list cannot disagree.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// What an event is, by its `type`.
        ///
        /// The types of AG-UI 1.1 and the retired `THINKING_*` ones have a kind of their own; every other
        /// type, also one of a later version, is [`EventKind::Other`] and is not an error.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum EventKind {
            $($(#[$doc])* #[doc = concat!("`", $name, "`")] $kind,)*
            /// A type that this build does not know, or a payload without one.
            Other,
        }

        impl EventKind {
            /// Every kind, [`EventKind::Other`] last; a kind's place is its [`EventKind::index`].
            pub const ALL: &[Self] = &[$(Self::$kind,)* Self::Other];

            /// The kind of this `type`, compared exactly: case and spelling count.
            pub fn from_name(name: &[u8]) -> Self {
                match std::str::from_utf8(name) {
                    $(Ok($name) => Self::$kind,)*
                    _ => Self::Other,
                }
            }

            /// The protocol's name, `other` for [`EventKind::Other`]: a closed set, fit for a metric label.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                    Self::Other => "other",
                }
            }
        }
    };
}

kinds! {
    TextMessageContent = "TEXT_MESSAGE_CONTENT",
    TextMessageStart = "TEXT_MESSAGE_START",
    TextMessageEnd = "TEXT_MESSAGE_END",
    TextMessageChunk = "TEXT_MESSAGE_CHUNK",
    ToolCallArgs = "TOOL_CALL_ARGS",
    ToolCallStart = "TOOL_CALL_START",
    ToolCallEnd = "TOOL_CALL_END",
    ToolCallChunk = "TOOL_CALL_CHUNK",
    ToolCallResult = "TOOL_CALL_RESULT",
    StateSnapshot = "STATE_SNAPSHOT",
    StateDelta = "STATE_DELTA",
    MessagesSnapshot = "MESSAGES_SNAPSHOT",
    ActivitySnapshot = "ACTIVITY_SNAPSHOT",
    ActivityDelta = "ACTIVITY_DELTA",
    Raw = "RAW",
    Custom = "CUSTOM",
    RunStarted = "RUN_STARTED",
    RunFinished = "RUN_FINISHED",
    RunError = "RUN_ERROR",
    StepStarted = "STEP_STARTED",
    StepFinished = "STEP_FINISHED",
    ReasoningStart = "REASONING_START",
    ReasoningEnd = "REASONING_END",
    ReasoningMessageStart = "REASONING_MESSAGE_START",
    ReasoningMessageContent = "REASONING_MESSAGE_CONTENT",
    ReasoningMessageEnd = "REASONING_MESSAGE_END",
    ReasoningMessageChunk = "REASONING_MESSAGE_CHUNK",
    ReasoningEncryptedValue = "REASONING_ENCRYPTED_VALUE",
    SubagentStarted = "SUBAGENT_STARTED",
    SubagentFinished = "SUBAGENT_FINISHED",
    SubagentError = "SUBAGENT_ERROR",
    ThinkingStart = "THINKING_START",
    ThinkingEnd = "THINKING_END",
    ThinkingTextMessageStart = "THINKING_TEXT_MESSAGE_START",
    ThinkingTextMessageContent = "THINKING_TEXT_MESSAGE_CONTENT",
    ThinkingTextMessageEnd = "THINKING_TEXT_MESSAGE_END",
}

impl EventKind {
    /// How many kinds there are.
    pub const COUNT: usize = Self::ALL.len();

    /// This kind's place in [`EventKind::ALL`], for tables.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Whether a run is over with this event: `RUN_FINISHED` or `RUN_ERROR`.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::RunFinished | Self::RunError)
    }

    /// Whether a person sees something of the answer in this event: a delta of text, reasoning or a tool call.
    pub const fn is_content(self) -> bool {
        matches!(
            self,
            Self::TextMessageContent
                | Self::TextMessageChunk
                | Self::ReasoningMessageContent
                | Self::ReasoningMessageChunk
                | Self::ThinkingTextMessageContent
                | Self::ToolCallArgs
                | Self::ToolCallChunk
        )
    }
}

/// A set of kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds(u64);

const _: () = assert!(EventKind::COUNT <= u64::BITS as usize);

impl Kinds {
    /// Every kind.
    pub const ALL: Self = Self(u64::MAX);

    /// Reasoning under the name that 1.0 has retired.
    pub const THINKING: Self = Self::of(&[
        EventKind::ThinkingStart,
        EventKind::ThinkingEnd,
        EventKind::ThinkingTextMessageStart,
        EventKind::ThinkingTextMessageContent,
        EventKind::ThinkingTextMessageEnd,
    ]);

    /// The set of these.
    pub const fn of(kinds: &[EventKind]) -> Self {
        let (mut set, mut i) = (0, 0);
        while i < kinds.len() {
            set |= 1 << kinds[i].index();
            i += 1;
        }
        Self(set)
    }

    /// These kinds and those.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Whether this kind is one of them.
    pub const fn contains(self, kind: EventKind) -> bool {
        self.0 & (1 << kind.index()) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_kind() {
        for (i, kind) in EventKind::ALL.iter().enumerate() {
            assert_eq!(kind.index(), i);
            assert_eq!(EventKind::from_name(kind.as_str().as_bytes()), *kind);
        }
    }

    #[test]
    fn a_set_holds_what_it_was_made_of() {
        let set = Kinds::of(&[EventKind::Raw, EventKind::Other]);
        for kind in EventKind::ALL {
            assert_eq!(set.contains(*kind), matches!(kind, EventKind::Raw | EventKind::Other));
            assert!(Kinds::ALL.contains(*kind) && !Kinds::default().contains(*kind));
        }
    }

    #[test]
    fn other_spellings_are_unknown_and_not_an_error() {
        for name in ["run_started", "RunStarted", "RUN_STARTED ", ""] {
            assert_eq!(EventKind::from_name(name.as_bytes()), EventKind::Other);
        }
    }
}
