//! A table: which members an object of the protocol may lack, so that `null` there means "none", and which members hold
//! further such objects. What it does not name is required, or data, where `null` is a value.

use crate::agui::{
    EventKind,
    edit::{self, Change},
    json::Members,
};

/// The optional members of one kind of object.
#[derive(Debug)]
pub(super) struct Shape {
    optional: &'static [&'static str],
    inner: &'static [(&'static str, Inner)],
}

#[derive(Debug)]
enum Inner {
    One(&'static Shape),
    Each(&'static Shape),
    Messages,
}

const fn plain(optional: &'static [&'static str]) -> Shape {
    Shape { optional, inner: &[] }
}

/// Every event may lack these.
const EVENT: &[&str] = &["timestamp", "rawEvent", "metadata"];

/// The optional members of events of this kind, without those that every event may lack.
const fn of(kind: EventKind) -> &'static Shape {
    match kind {
        EventKind::TextMessageStart => const { &plain(&["subagentRunId", "role", "name"]) },
        EventKind::TextMessageChunk => const { &plain(&["subagentRunId", "messageId", "role", "delta", "name"]) },
        EventKind::ToolCallStart => const { &plain(&["subagentRunId", "parentMessageId"]) },
        EventKind::ToolCallChunk => {
            const { &plain(&["subagentRunId", "toolCallId", "toolCallName", "parentMessageId", "delta"]) }
        }
        EventKind::ToolCallResult => &RESULT,
        EventKind::ReasoningMessageChunk => const { &plain(&["subagentRunId", "messageId", "delta"]) },
        EventKind::ReasoningEncryptedValue => const { &plain(&["subagentRunId", "encryptedValueType"]) },
        EventKind::ActivitySnapshot => const { &plain(&["subagentRunId", "replace"]) },
        EventKind::Raw => const { &plain(&["subagentRunId", "source"]) },
        EventKind::ThinkingStart => const { &plain(&["subagentRunId", "title"]) },
        EventKind::MessagesSnapshot => &SNAPSHOT,
        EventKind::RunStarted => &STARTED,
        EventKind::RunFinished => &FINISHED,
        EventKind::RunError => &ERROR,
        EventKind::SubagentStarted => {
            const { &plain(&["description", "parentSubagentRunId", "parentToolCallId", "parentMessageId"]) }
        }
        EventKind::SubagentFinished => &SUBAGENT_FINISHED,
        EventKind::SubagentError => const { &plain(&["code"]) },
        _ => const { &plain(&["subagentRunId"]) },
    }
}

const SNAPSHOT: Shape = Shape { optional: &[], inner: &[("messages", Inner::Messages)] };
const RESULT: Shape = Shape { optional: &["subagentRunId", "role"], inner: &[("content", Inner::Each(&PART))] };
const STARTED: Shape =
    Shape { optional: &["protocolVersion", "parentRunId", "input"], inner: &[("input", Inner::One(&INPUT))] };
const FINISHED: Shape = Shape {
    optional: &["result", "outcome", "usage"],
    inner: &[("outcome", Inner::One(&OUTCOME)), ("usage", Inner::Each(&USAGE))],
};
const ERROR: Shape = Shape { optional: &["code", "usage"], inner: &[("usage", Inner::Each(&USAGE))] };
const SUBAGENT_FINISHED: Shape =
    Shape { optional: &["result", "outcome"], inner: &[("outcome", Inner::One(&plain(&["interruptIds"])))] };

const INPUT: Shape = Shape {
    optional: &["protocolVersion", "parentRunId", "state", "tools", "context", "forwardedProps", "resume"],
    inner: &[
        ("messages", Inner::Messages),
        ("tools", Inner::Each(&plain(&["parameters", "metadata"]))),
        ("resume", Inner::Each(&plain(&["payload", "metadata"]))),
    ],
};
const OUTCOME: Shape =
    Shape { optional: &["pendingToolCallIds", "interrupts"], inner: &[("interrupts", Inner::Each(&INTERRUPT))] };
const INTERRUPT: Shape = plain(&["message", "toolCallId", "responseSchema", "expiresAt", "metadata", "subagentRunId"]);
const USAGE: Shape = plain(&[
    "provider",
    "model",
    "inputTokens",
    "outputTokens",
    "totalTokens",
    "reasoningTokens",
    "cachedInputTokens",
    "cacheWriteInputTokens",
]);

/// Only an assistant's message may lack its content.
const ASSISTANT: Shape = Shape {
    optional: &["content", "toolCalls", "name", "encryptedValue", "encryptedValueType", "metadata", "subagentRunId"],
    inner: &[("toolCalls", Inner::Each(&plain(&["encryptedValue", "encryptedValueType", "metadata"])))],
};
const MESSAGE: Shape = Shape {
    optional: &["toolCalls", "name", "encryptedValue", "encryptedValueType", "metadata", "subagentRunId", "error"],
    inner: &[("content", Inner::Each(&PART))],
};
const PART: Shape = Shape {
    optional: &["id", "metadata", "data", "url", "filename"],
    inner: &[("source", Inner::One(&plain(&["mimeType", "provider"])))],
};

/// The event in `text` without the optional members that are `null`, however deep; `None` if there are none.
pub(super) fn without_nulls(kind: EventKind, text: &[u8]) -> Option<Vec<u8>> {
    cleaned(text, of(kind), EVENT)
}

fn cleaned(text: &[u8], shape: &Shape, also: &[&str]) -> Option<Vec<u8>> {
    edit::members(text, |member| {
        if member.is_null() {
            let optional = shape.optional.iter().chain(also).any(|name| member.is(name));
            return if optional { Change::Drop } else { Change::Keep };
        }
        match shape.inner.iter().find(|(name, _)| member.is(name)) {
            Some((_, Inner::One(shape))) => cleaned(member.value, shape, &[]).into(),
            Some((_, Inner::Each(shape))) => edit::elements(member.value, |e| cleaned(e, shape, &[]).into()).into(),
            Some((_, Inner::Messages)) => edit::elements(member.value, |e| message(e).into()).into(),
            None => Change::Keep,
        }
    })
}

fn message(text: &[u8]) -> Option<Vec<u8>> {
    let role = Members::of(text).find(|member| member.is("role"))?;
    let shape = if role.string().as_deref() == Some("assistant") { &ASSISTANT } else { &MESSAGE };
    cleaned(text, shape, &[])
}
