//! The known members of every event, and of what events carry: the schema of AG-UI 1.1 as a table. A kind comes in, its
//! members go out. The nulls that older producers write and current clients still take are marked as such.

use super::shape::{
    Field,
    Need::{self, Lax, May, Must},
    Shape::{self, Any, Flag, List, Object, OneOf, Open, Pointer, Present, Tagged, Text, TextOr, Whole},
};
use crate::agui::EventKind;

const fn field(name: &'static str, need: Need, shape: &'static Shape) -> Field {
    Field { name, shape, need }
}

const TYPE: Field = field("type", May, &Any);
const TIMESTAMP: Field = field("timestamp", May, &Whole(f64::NEG_INFINITY));
const RAW_EVENT: Field = field("rawEvent", Lax, &Present);
const METADATA: Field = field("metadata", May, &Open);
const TAG: Field = field("subagentRunId", May, &Text);
const ID: Field = field("id", Must, &Text);
const NAME: Field = field("name", May, &Text);
const MESSAGE_ID: Field = field("messageId", Must, &Text);
const CALL_ID: Field = field("toolCallId", Must, &Text);
const DELTA: Field = field("delta", Must, &Text);
const STEP: Field = field("stepName", Must, &Text);
const ENCRYPTED: Field = field("encryptedValue", May, &Text);
const ROLES: Shape = OneOf(&["developer", "system", "assistant", "user"]);
const COUNT: Shape = Whole(0.0);

/// The members of an event that may belong to a subagent.
macro_rules! tagged {
    ($($field:expr),* $(,)?) => { const { &[TYPE, TIMESTAMP, RAW_EVENT, METADATA, TAG, $($field),*] } };
}

/// The members of an event that is the run's.
macro_rules! plain {
    ($($field:expr),* $(,)?) => { const { &[TYPE, TIMESTAMP, RAW_EVENT, METADATA, $($field),*] } };
}

/// The members of a message of this role.
macro_rules! message {
    ($($field:expr),* $(,)?) => { &[ID, TAG, METADATA, ENCRYPTED, $($field),*] };
}

const SOURCES: Shape = Tagged(
    "type",
    &[
        ("data", &[field("value", Must, &Text), field("mimeType", Must, &Text)]),
        ("url", &[field("value", Must, &Text), field("mimeType", May, &Text)]),
        ("file", &[field("value", Must, &Text), field("provider", May, &Text), field("mimeType", May, &Text)]),
    ],
);
const MEDIA: &[Field] = &[field("id", May, &Text), field("source", Must, &SOURCES), field("metadata", Lax, &Present)];
const PARTS: Shape = Tagged(
    "type",
    &[
        ("text", &[field("id", May, &Text), field("text", Must, &Text), field("metadata", May, &Present)]),
        ("image", MEDIA),
        ("audio", MEDIA),
        ("video", MEDIA),
        ("document", MEDIA),
    ],
);
const CONTENT: Shape = TextOr(&PARTS);

const FUNCTION: Shape = Object(&[field("name", Must, &Text), field("arguments", Must, &Text)]);
const CALL: Shape =
    Object(&[ID, field("type", Must, &OneOf(&["function"])), field("function", Must, &FUNCTION), ENCRYPTED, METADATA]);
const PLAIN_MESSAGE: &[Field] = message![NAME, field("content", Must, &Text)];
const MESSAGE: Shape = Tagged(
    "role",
    &[
        ("developer", PLAIN_MESSAGE),
        ("system", PLAIN_MESSAGE),
        ("assistant", message![NAME, field("content", May, &Text), field("toolCalls", May, &List(&CALL, 0))]),
        ("user", message![NAME, field("content", Must, &CONTENT)]),
        ("tool", message![CALL_ID, field("content", Must, &CONTENT), field("error", May, &Text)]),
        ("activity", &[ID, TAG, METADATA, field("activityType", Must, &Text), field("content", Must, &Open)]),
        ("reasoning", message![field("content", Must, &Text)]),
    ],
);
const MESSAGES: Field = field("messages", Must, &List(&MESSAGE, 0));

const TOOL: Shape = Object(&[
    field("name", Must, &Text),
    field("description", Must, &Text),
    field("parameters", Lax, &Present),
    METADATA,
]);
const CONTEXT: Shape = Object(&[field("description", Must, &Text), field("value", Must, &Text)]);
const RESUME: Shape = Object(&[
    field("interruptId", Must, &Text),
    field("status", Must, &OneOf(&["resolved", "cancelled"])),
    field("payload", Lax, &Present),
    METADATA,
]);
const INPUT: Shape = Object(&[
    field("threadId", Must, &Text),
    field("runId", Must, &Text),
    field("protocolVersion", May, &Text),
    field("parentRunId", May, &Text),
    MESSAGES,
    field("tools", May, &List(&TOOL, 0)),
    field("context", May, &List(&CONTEXT, 0)),
    field("resume", May, &List(&RESUME, 0)),
]);

const INTERRUPT: Shape = Object(&[
    TAG,
    ID,
    field("reason", Must, &Text),
    field("message", May, &Text),
    field("toolCallId", May, &Text),
    field("responseSchema", May, &Open),
    field("expiresAt", May, &Text),
    METADATA,
]);
const RUN_OUTCOME: Shape = Tagged(
    "type",
    &[
        ("success", &[field("pendingToolCallIds", May, &List(&Text, 0))]),
        ("interrupt", &[field("interrupts", Must, &List(&INTERRUPT, 1))]),
        ("cancelled", &[]),
    ],
);
const SUBAGENT_OUTCOME: Shape =
    Tagged("type", &[("success", &[]), ("suspended", &[field("interruptIds", May, &List(&Text, 0))])]);
const USAGE: Field = field(
    "usage",
    May,
    &List(
        &Object(&[
            field("provider", May, &Text),
            field("model", May, &Text),
            field("inputTokens", May, &COUNT),
            field("outputTokens", May, &COUNT),
            field("totalTokens", May, &COUNT),
            field("reasoningTokens", May, &COUNT),
            field("cachedInputTokens", May, &COUNT),
            field("cacheWriteInputTokens", May, &COUNT),
        ]),
        0,
    ),
);

const VALUED: &[Field] = &[field("path", Must, &Pointer), field("value", Must, &Any)];
const MOVED: &[Field] = &[field("from", Must, &Pointer), field("path", Must, &Pointer)];
const PATCH: Shape = List(
    &Tagged(
        "op",
        &[
            ("add", VALUED),
            ("replace", VALUED),
            ("test", VALUED),
            ("remove", &[field("path", Must, &Pointer)]),
            ("move", MOVED),
            ("copy", MOVED),
        ],
    ),
    0,
);

/// The known members of an event of this kind; none for a kind that is not judged.
pub const fn of(kind: EventKind) -> &'static [Field] {
    match kind {
        EventKind::RunStarted => plain![
            field("threadId", Must, &Text),
            field("runId", Must, &Text),
            field("protocolVersion", May, &Text),
            field("parentRunId", May, &Text),
            field("input", May, &INPUT),
        ],
        EventKind::RunFinished => plain![
            field("threadId", Must, &Text),
            field("runId", Must, &Text),
            field("result", Lax, &Present),
            field("outcome", Lax, &RUN_OUTCOME),
            USAGE,
        ],
        EventKind::RunError => plain![field("message", Must, &Text), field("code", May, &Text), USAGE],
        EventKind::StepStarted | EventKind::StepFinished => tagged![STEP],
        EventKind::TextMessageStart => tagged![MESSAGE_ID, field("role", May, &ROLES), NAME],
        EventKind::TextMessageContent | EventKind::ReasoningMessageContent => tagged![MESSAGE_ID, DELTA],
        EventKind::TextMessageEnd
        | EventKind::ReasoningStart
        | EventKind::ReasoningEnd
        | EventKind::ReasoningMessageEnd => tagged![MESSAGE_ID],
        EventKind::TextMessageChunk => {
            tagged![field("messageId", May, &Text), field("role", May, &ROLES), field("delta", May, &Text), NAME,]
        }
        EventKind::ToolCallStart => {
            tagged![CALL_ID, field("toolCallName", Must, &Text), field("parentMessageId", Lax, &Text)]
        }
        EventKind::ToolCallArgs => tagged![CALL_ID, DELTA],
        EventKind::ToolCallEnd => tagged![CALL_ID],
        EventKind::ToolCallChunk => tagged![
            field("toolCallId", May, &Text),
            field("toolCallName", May, &Text),
            field("parentMessageId", Lax, &Text),
            field("delta", May, &Text),
        ],
        EventKind::ToolCallResult => {
            tagged![MESSAGE_ID, CALL_ID, field("content", Must, &CONTENT), field("role", May, &OneOf(&["tool"]))]
        }
        EventKind::StateSnapshot => tagged![field("snapshot", Must, &Any)],
        EventKind::StateDelta => tagged![field("delta", Must, &PATCH)],
        EventKind::MessagesSnapshot => plain![MESSAGES],
        EventKind::ActivitySnapshot => tagged![
            MESSAGE_ID,
            field("activityType", Must, &Text),
            field("content", Must, &Open),
            field("replace", May, &Flag),
        ],
        EventKind::ActivityDelta => {
            tagged![MESSAGE_ID, field("activityType", Must, &Text), field("patch", Must, &PATCH)]
        }
        EventKind::Raw => tagged![field("event", Must, &Any), field("source", May, &Text)],
        EventKind::Custom => tagged![field("name", Must, &Text), field("value", Must, &Any)],
        EventKind::ReasoningMessageStart => tagged![MESSAGE_ID, field("role", Must, &OneOf(&["reasoning"]))],
        EventKind::ReasoningMessageChunk => {
            tagged![field("messageId", May, &Text), field("delta", May, &Text)]
        }
        EventKind::ReasoningEncryptedValue => tagged![
            field("subtype", Must, &OneOf(&["tool-call", "message"])),
            field("entityId", Must, &Text),
            field("encryptedValue", Must, &Text),
        ],
        EventKind::SubagentStarted => plain![
            field("subagentRunId", Must, &Text),
            field("name", Must, &Text),
            field("description", May, &Text),
            field("parentSubagentRunId", May, &Text),
            field("parentToolCallId", May, &Text),
            field("parentMessageId", May, &Text),
        ],
        EventKind::SubagentFinished => plain![
            field("subagentRunId", Must, &Text),
            field("result", Lax, &Present),
            field("outcome", May, &SUBAGENT_OUTCOME),
        ],
        EventKind::SubagentError => {
            plain![field("subagentRunId", Must, &Text), field("message", Must, &Text), field("code", May, &Text),]
        }
        EventKind::ThinkingTextMessageContent => tagged![DELTA],
        EventKind::ThinkingStart
        | EventKind::ThinkingEnd
        | EventKind::ThinkingTextMessageStart
        | EventKind::ThinkingTextMessageEnd => tagged![],
        EventKind::Other => &[],
    }
}

/// The event of one kind, looked at once: the places of its known members.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// What it is.
    pub kind: EventKind,
    fields: &'static [Field],
    values: [Option<&'a [u8]>; super::shape::FIELDS_MAX],
}

impl<'a> Seen<'a> {
    /// An event of this kind of which nothing was looked at.
    pub fn nothing(kind: EventKind) -> Self {
        Self { kind, fields: &[], values: [None; super::shape::FIELDS_MAX] }
    }

    /// Looks at this payload, and what is wrong with its members.
    pub fn of(kind: EventKind, text: &'a [u8]) -> (Self, super::shape::Fit) {
        let fields = of(kind);
        let mut values = [None; super::shape::FIELDS_MAX];
        let fit = super::shape::object(fields, text, "type", &mut values);
        (Self { kind, fields, values }, fit)
    }

    /// The value of this member as it is spelled, if it is there and not null.
    pub fn value(&self, name: &str) -> Option<&'a [u8]> {
        let at = self.fields.iter().position(|field| field.name == name)?;
        self.values.get(at).copied().flatten().filter(|value| *value != b"null")
    }

    /// The text of this member, if it has one. Badly escaped text stands for itself, so that it can be compared.
    pub fn text(&self, name: &str) -> Option<std::borrow::Cow<'a, str>> {
        let value = self.value(name)?;
        let inner = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        Some(crate::agui::json::string(value).unwrap_or_else(|| String::from_utf8_lossy(inner)))
    }

    /// Whose event it says it is.
    pub fn tag(&self) -> Option<std::borrow::Cow<'a, str>> {
        self.text("subagentRunId")
    }
}

#[cfg(test)]
mod tests {
    use super::{super::shape::FIELDS_MAX, *};

    #[test]
    fn no_table_is_longer_than_what_is_kept_of_an_event() {
        for kind in EventKind::ALL {
            assert!(of(*kind).len() <= FIELDS_MAX, "{kind:?}");
        }
        assert!(matches!(INPUT, Object(fields) if fields.len() <= FIELDS_MAX));
    }
}
