//! The rules of a stream, each with its stable name: what a metric counts, a log line says and a refusal names.

/// What becomes of a breach where the guard refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// The run ends with `MALFORMED_FRAME`.
    Malformed,
    /// The run ends with `PROTOCOL_VIOLATION`.
    Sequence,
    /// Nothing: clients live with it. It is counted, and `repair` mends it.
    Advice,
}

/// Declares the rules once, so that the enum, the names and the list cannot disagree.
macro_rules! rules {
    ($($(#[$doc:meta])* $rule:ident = $name:literal, $weight:ident;)*) => {
        /// A rule of the grammar.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Rule {
            $($(#[$doc])* $rule,)*
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &[Self] = &[$(Self::$rule,)*];

            /// Its name: a closed set, fit for a metric label.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$rule => $name,)*
                }
            }

            /// What a breach of it weighs.
            pub const fn weight(self) -> Weight {
                match self {
                    $(Self::$rule => Weight::$weight,)*
                }
            }
        }
    };
}

rules! {
    /// A payload is UTF-8.
    InvalidEncoding = "invalid_encoding", Malformed;
    /// A payload is JSON.
    MalformedJson = "malformed_json", Malformed;
    /// A payload is one event, not several.
    GluedFrames = "glued_frames", Malformed;
    /// A payload is no `[DONE]`.
    DoneSentinel = "done_sentinel", Malformed;
    /// A payload is an object.
    NotAnObject = "not_an_object", Malformed;
    /// An object has a `type`, a string.
    MissingType = "missing_type", Malformed;
    /// A failure is reported as `RUN_ERROR`, not in another protocol's frame.
    ForeignError = "foreign_error", Advice;
    /// A required member is there, and not null.
    MissingMember = "missing_member", Sequence;
    /// An optional member without a value is left out, not null.
    NullMember = "null_member", Malformed;
    /// A known member has a value that the schema takes.
    WrongType = "wrong_type", Malformed;
    /// A stream begins with `RUN_STARTED` or `RUN_ERROR`.
    RunNotStarted = "run_not_started", Sequence;
    /// A run begins when none is under way.
    RunAlreadyStarted = "run_already_started", Sequence;
    /// After `RUN_FINISHED` only `RUN_STARTED` or one `RUN_ERROR` follows.
    AfterFinish = "after_finish", Sequence;
    /// After `RUN_ERROR` only `RUN_STARTED` follows.
    AfterError = "after_error", Sequence;
    /// `RUN_FINISHED` has the `runId` of its `RUN_STARTED`.
    RunIdChanged = "run_id_changed", Advice;
    /// `RUN_FINISHED` has the `threadId` of its `RUN_STARTED`.
    ThreadIdChanged = "thread_id_changed", Advice;
    /// A text message is opened when it is not open.
    MessageAlreadyOpen = "message_already_open", Sequence;
    /// Content and end of a text message need it open.
    MessageNotOpen = "message_not_open", Sequence;
    /// Text messages are closed before `RUN_FINISHED`.
    MessageOpenAtFinish = "message_open_at_finish", Sequence;
    /// A tool call is opened when it is not open.
    ToolCallAlreadyOpen = "tool_call_already_open", Sequence;
    /// Arguments and end of a tool call need it open.
    ToolCallNotOpen = "tool_call_not_open", Sequence;
    /// Tool calls are closed before `RUN_FINISHED`.
    ToolCallOpenAtFinish = "tool_call_open_at_finish", Sequence;
    /// A reasoning message is opened when it is not open.
    ReasoningMessageAlreadyOpen = "reasoning_message_already_open", Sequence;
    /// Content and end of a reasoning message need it open.
    ReasoningMessageNotOpen = "reasoning_message_not_open", Sequence;
    /// Reasoning messages are closed before `RUN_FINISHED`.
    ReasoningMessageOpenAtFinish = "reasoning_message_open_at_finish", Sequence;
    /// A reasoning span is opened when it is not open.
    ReasoningAlreadyOpen = "reasoning_already_open", Sequence;
    /// The end of a reasoning span needs it open.
    ReasoningNotOpen = "reasoning_not_open", Sequence;
    /// Reasoning spans are closed before `RUN_FINISHED`.
    ReasoningOpenAtFinish = "reasoning_open_at_finish", Sequence;
    /// A step is started when its owner has none open of this name.
    StepAlreadyOpen = "step_already_open", Sequence;
    /// A step is finished by the owner who has it open.
    StepNotOpen = "step_not_open", Sequence;
    /// Steps are finished before `RUN_FINISHED`.
    StepOpenAtFinish = "step_open_at_finish", Sequence;
    /// A subagent is announced once in a run.
    SubagentAlreadyStarted = "subagent_already_started", Sequence;
    /// A subagent that ends was announced and has not ended.
    SubagentNotStarted = "subagent_not_started", Sequence;
    /// A parent subagent was announced in this run.
    SubagentParentUnknown = "subagent_parent_unknown", Sequence;
    /// Announced subagents end before `RUN_FINISHED`.
    SubagentOpenAtFinish = "subagent_open_at_finish", Sequence;
    /// An event's `subagentRunId` is that of the item it belongs to.
    OwnerMismatch = "owner_mismatch", Sequence;
    /// A chunk that opens an item carries its identifier.
    ChunkWithoutId = "chunk_without_id", Sequence;
    /// A chunk that opens a tool call carries its name.
    ChunkWithoutName = "chunk_without_name", Sequence;
    /// A chunk agrees with the one that opened its item.
    ChunkConflict = "chunk_conflict", Sequence;
    /// A chunk without identifier and owner could continue one item only.
    ChunkAmbiguous = "chunk_ambiguous", Sequence;
    /// A tool message keeps the identifier that its `TOOL_CALL_RESULT` gave it.
    ToolMessageRenamed = "tool_message_renamed", Advice;
    /// A tool message that a snapshot puts before what was streamed comes as `TOOL_CALL_RESULT` first.
    ToolMessageUntold = "tool_message_untold", Advice;
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_name_is_unique_and_snake_case() {
        let names: HashSet<_> = Rule::ALL.iter().map(|rule| rule.as_str()).collect();
        assert_eq!(names.len(), Rule::ALL.len());
        assert!(names.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')));
    }
}
