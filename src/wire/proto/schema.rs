//! The message types of the wire: each field's number, the JSON member that it is, and since when. Data only.

use super::loss::Shape;
use crate::agui::EventKind;
use crate::agui::Version;

const V0_0_27: Version = Version::npm(27);
const V0_0_34: Version = Version::npm(34);
const V0_0_36: Version = Version::npm(36);
const V0_0_48: Version = Version::npm(48);
const V0_0_49: Version = Version::npm(49);
const V0_0_54: Version = Version::npm(54);
const V0_0_59: Version = Version::npm(59);
const V1_0: Version = Version::V1_0;
const V1_1: Version = Version::CURRENT;

/// More fields than this no message has.
pub(super) const MAX_FIELDS: usize = 14;

/// A message type.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) fields: &'static [Field],
    /// What a member is that none of the fields names.
    pub(super) unknown: Shape,
    /// Whether the JSON object has a `type` of its own, which chose this message and is no field of it.
    pub(super) typed: bool,
}

/// A field of a message, in the order of the numbers.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) number: u32,
    /// The member of the JSON object. `None`: what it holds is part of another member, as [`Kind`] says.
    pub(super) name: Option<&'static str>,
    pub(super) kind: Kind,
    /// Whether the member has to be there. A required text has no presence on the wire: absent is empty.
    pub(super) required: bool,
    pub(super) since: Version,
}

/// What a field holds, and how that looks in JSON.
#[derive(Debug)]
pub(super) enum Kind {
    /// A string.
    Text,
    /// A repeated string.
    Texts,
    /// An int64: a number, without a fraction, that JavaScript can hold.
    Integer,
    /// A bool.
    Flag,
    /// A patch operation's `op`, by [`OPERATIONS`].
    Operation,
    /// A `google.protobuf.Value`: any JSON; a null stands for absent.
    Any,
    /// A `google.protobuf.Value` where a null is a value like any other.
    Nullable,
    /// A `google.protobuf.Struct`: an object with any members.
    Object,
    /// A message: an object with these members.
    Message(&'static Message),
    /// A repeated message: an array of such objects.
    List(&'static Message),
    /// A repeated `InputContent`: an array of objects whose `type` chooses the arm.
    Parts,
    /// An `InputContentSource`: an object whose `type` chooses the arm.
    Source,
    /// A string, whose member may also be an array or an object, which other fields hold. Whether it has to be there
    /// is a question of the role.
    Content(Carriers),
    /// An outcome's type. Its member is an object; what else that has is in other fields.
    Outcome(&'static [Payload]),
}

/// Which fields, by their place, hold a content that is no string.
#[derive(Debug)]
pub(super) struct Carriers {
    /// The field that has the parts.
    pub(super) parts: usize,
    /// Where the role decides on the form: the field that has the role, and the one that has the object.
    pub(super) by_role: Option<(usize, usize)>,
}

/// A list that belongs to an outcome.
#[derive(Debug)]
pub(super) struct Payload {
    /// The place of the field that holds it.
    pub(super) field: usize,
    pub(super) name: &'static str,
    /// The outcome's type that has it.
    pub(super) of: &'static str,
    /// Whether it is there even if it is empty.
    pub(super) required: bool,
}

/// An arm of a oneof of content parts or sources; its place in the list is its number less one.
#[derive(Debug)]
pub(super) struct Arm {
    pub(super) name: &'static str,
    pub(super) message: &'static Message,
    pub(super) since: Version,
}

/// An arm of the envelope; its place in the list is its number less one.
#[derive(Debug)]
pub(super) struct EventArm {
    pub(super) kind: EventKind,
    /// The number of the type in the base event, which is not that of the arm.
    pub(super) number: u64,
    pub(super) message: &'static Message,
    /// Since when a peer can read it: with the later of the arm and the type's number.
    pub(super) since: Version,
}

impl Message {
    const fn new(fields: &'static [Field]) -> Self {
        assert!(fields.len() <= MAX_FIELDS);
        Self { fields, unknown: Shape::UnknownMember, typed: false }
    }

    /// Whether this is an operation of a patch.
    pub(super) fn is_patch_operation(&self) -> bool {
        std::ptr::eq(self, &PATCH_OPERATION)
    }

    const fn typed(fields: &'static [Field]) -> Self {
        Self { typed: true, ..Self::new(fields) }
    }
}

impl Field {
    /// Whether an empty text is written: for a required one, and an outcome, absent and empty are the same.
    pub(super) fn has_presence(&self) -> bool {
        match self.kind {
            Kind::Text => !self.required,
            Kind::Outcome(_) | Kind::Operation => false,
            _ => true,
        }
    }

    const fn since(self, since: Version) -> Self {
        Self { since, ..self }
    }
}

const fn optional(number: u32, name: &'static str, kind: Kind) -> Field {
    Field { number, name: Some(name), kind, required: false, since: V0_0_27 }
}

const fn required(number: u32, name: &'static str, kind: Kind) -> Field {
    Field { number, name: Some(name), kind, required: true, since: V0_0_27 }
}

/// A field whose content is part of another field's member.
const fn part(number: u32, kind: Kind) -> Field {
    Field { number, name: None, kind, required: false, since: V0_0_27 }
}

const fn subagent(number: u32) -> Field {
    optional(number, "subagentRunId", Kind::Text).since(V1_0)
}

use Kind::{Any, Content, Flag, Integer, List, Nullable, Object, Operation, Outcome, Parts, Source, Text, Texts};

/// The field of every event that has the base event.
pub(super) const BASE: u32 = 1;

/// The members of the base event beside the type, which is field 1.
pub(super) static BASE_EVENT: Message = Message::new(&[
    optional(2, "timestamp", Integer),
    optional(3, "rawEvent", Any),
    optional(4, "metadata", Object).since(V1_0),
]);

/// The names of patch operations, by their number.
pub(super) static OPERATIONS: [&str; 6] = ["add", "remove", "replace", "move", "copy", "test"];

static PATCH_OPERATION: Message = Message {
    unknown: Shape::PatchMember,
    ..Message::new(&[
        required(1, "op", Operation),
        required(2, "path", Text),
        optional(3, "from", Text),
        optional(4, "value", Nullable),
    ])
};

static TEXT_PART: Message = Message::typed(&[
    required(1, "text", Text),
    optional(2, "id", Text).since(V1_0),
    optional(3, "metadata", Any).since(V1_0),
]);

static MEDIA_PART: Message =
    Message::typed(&[required(1, "source", Source), optional(2, "metadata", Any), optional(3, "id", Text).since(V1_0)]);

/// The arms of `InputContent`.
pub(super) static PARTS: [Arm; 5] = [
    Arm { name: "text", message: &TEXT_PART, since: V0_0_49 },
    Arm { name: "image", message: &MEDIA_PART, since: V0_0_49 },
    Arm { name: "audio", message: &MEDIA_PART, since: V0_0_49 },
    Arm { name: "video", message: &MEDIA_PART, since: V0_0_49 },
    Arm { name: "document", message: &MEDIA_PART, since: V0_0_49 },
];

/// The arms of `InputContentSource`.
pub(super) static SOURCES: [Arm; 3] = [
    Arm {
        name: "data",
        message: &Message::typed(&[required(1, "value", Text), required(2, "mimeType", Text)]),
        since: V0_0_49,
    },
    Arm {
        name: "url",
        message: &Message::typed(&[required(1, "value", Text), optional(2, "mimeType", Text)]),
        since: V0_0_49,
    },
    Arm {
        name: "file",
        message: &Message::typed(&[
            required(1, "value", Text),
            optional(2, "provider", Text),
            optional(3, "mimeType", Text),
        ]),
        since: V1_0,
    },
];

static FUNCTION: Message = Message::new(&[required(1, "name", Text), required(2, "arguments", Text)]);

static TOOL_CALL: Message = Message::new(&[
    required(1, "id", Text),
    required(2, "type", Text),
    required(3, "function", Kind::Message(&FUNCTION)),
    optional(4, "metadata", Object).since(V1_0),
    optional(5, "encryptedValue", Text).since(V1_0),
    optional(6, "encryptedValueType", Text).since(V1_1),
]);

static MESSAGE: Message = Message::new(&[
    required(1, "id", Text),
    required(2, "role", Text),
    optional(3, "content", Content(Carriers { parts: 7, by_role: Some((1, 12)) })),
    optional(4, "name", Text),
    optional(5, "toolCalls", List(&TOOL_CALL)),
    optional(6, "toolCallId", Text),
    optional(7, "error", Text).since(V0_0_36),
    part(8, Parts).since(V0_0_49),
    optional(9, "metadata", Object).since(V1_0),
    subagent(10),
    optional(11, "encryptedValue", Text).since(V1_0),
    optional(12, "activityType", Text).since(V1_0),
    part(13, Object).since(V1_0),
    optional(14, "encryptedValueType", Text).since(V1_1),
]);

static TOOL: Message = Message::new(&[
    required(1, "name", Text),
    required(2, "description", Text),
    optional(3, "parameters", Any),
    optional(4, "metadata", Object),
]);

static CONTEXT: Message = Message::new(&[required(1, "description", Text), required(2, "value", Text)]);

static RESUME_ENTRY: Message = Message::new(&[
    required(1, "interruptId", Text),
    required(2, "status", Text),
    optional(3, "payload", Any),
    optional(4, "metadata", Object),
]);

/// The input that `RUN_STARTED` echoes. Of its lists none is ever absent in JSON that was protobuf.
pub(super) static RUN_AGENT_INPUT: Message = Message::new(&[
    required(1, "threadId", Text),
    required(2, "runId", Text),
    optional(3, "parentRunId", Text),
    optional(4, "state", Any),
    required(5, "messages", List(&MESSAGE)),
    optional(6, "tools", List(&TOOL)),
    optional(7, "context", List(&CONTEXT)),
    optional(8, "forwardedProps", Any),
    optional(9, "resume", List(&RESUME_ENTRY)),
    optional(10, "protocolVersion", Text),
]);

static INTERRUPT: Message = Message::new(&[
    required(1, "id", Text),
    required(2, "reason", Text),
    optional(3, "message", Text),
    optional(4, "toolCallId", Text),
    optional(5, "responseSchema", Any),
    optional(6, "expiresAt", Text),
    optional(7, "metadata", Any),
    subagent(8),
]);

static USAGE: Message = Message::new(&[
    optional(1, "provider", Text),
    optional(2, "model", Text),
    optional(3, "inputTokens", Integer),
    optional(4, "outputTokens", Integer),
    optional(5, "totalTokens", Integer),
    optional(6, "reasoningTokens", Integer),
    optional(7, "cachedInputTokens", Integer),
    optional(8, "cacheWriteInputTokens", Integer),
]);

static TEXT_MESSAGE_START: Message = Message::new(&[
    required(2, "messageId", Text),
    optional(3, "role", Text),
    optional(4, "name", Text).since(V0_0_48),
    subagent(5),
]);

static TEXT_MESSAGE_CONTENT: Message =
    Message::new(&[required(2, "messageId", Text), required(3, "delta", Text), subagent(4)]);

static TEXT_MESSAGE_END: Message = Message::new(&[required(2, "messageId", Text), subagent(3)]);

static TEXT_MESSAGE_CHUNK: Message = Message::new(&[
    optional(2, "messageId", Text),
    optional(3, "role", Text),
    optional(4, "delta", Text),
    optional(5, "name", Text).since(V0_0_48),
    subagent(6),
]);

static TOOL_CALL_START: Message = Message::new(&[
    required(2, "toolCallId", Text),
    required(3, "toolCallName", Text),
    optional(4, "parentMessageId", Text),
    subagent(5),
]);

static TOOL_CALL_ARGS: Message =
    Message::new(&[required(2, "toolCallId", Text), required(3, "delta", Text), subagent(4)]);

static TOOL_CALL_END: Message = Message::new(&[required(2, "toolCallId", Text), subagent(3)]);

static TOOL_CALL_CHUNK: Message = Message::new(&[
    optional(2, "toolCallId", Text),
    optional(3, "toolCallName", Text),
    optional(4, "parentMessageId", Text),
    optional(5, "delta", Text),
    subagent(6),
]);

static TOOL_CALL_RESULT: Message = Message::new(&[
    subagent(2),
    required(3, "messageId", Text),
    required(4, "toolCallId", Text),
    optional(5, "content", Content(Carriers { parts: 5, by_role: None })),
    optional(6, "role", Text),
    part(7, Parts),
]);

static STATE_SNAPSHOT: Message = Message::new(&[required(2, "snapshot", Nullable), subagent(3)]);

static STATE_DELTA: Message = Message::new(&[required(2, "delta", List(&PATCH_OPERATION)), subagent(3)]);

static MESSAGES_SNAPSHOT: Message = Message::new(&[required(2, "messages", List(&MESSAGE))]);

static ACTIVITY_SNAPSHOT: Message = Message::new(&[
    subagent(2),
    required(3, "messageId", Text),
    required(4, "activityType", Text),
    required(5, "content", Object),
    optional(6, "replace", Flag),
]);

static ACTIVITY_DELTA: Message = Message::new(&[
    subagent(2),
    required(3, "messageId", Text),
    required(4, "activityType", Text),
    required(5, "patch", List(&PATCH_OPERATION)),
]);

static RAW: Message = Message::new(&[required(2, "event", Nullable), optional(3, "source", Text), subagent(4)]);

static CUSTOM: Message = Message::new(&[required(2, "name", Text), required(3, "value", Nullable), subagent(4)]);

static RUN_STARTED: Message = Message::new(&[
    required(2, "threadId", Text),
    required(3, "runId", Text),
    optional(4, "parentRunId", Text).since(V1_0),
    optional(5, "input", Kind::Message(&RUN_AGENT_INPUT)).since(V1_0),
    optional(6, "protocolVersion", Text).since(V1_0),
]);

static RUN_FINISHED: Message = Message::new(&[
    required(2, "threadId", Text),
    required(3, "runId", Text),
    optional(4, "result", Any).since(V0_0_34),
    optional(
        5,
        "outcome",
        Outcome(&[
            Payload { field: 4, name: "interrupts", of: "interrupt", required: true },
            Payload { field: 6, name: "pendingToolCallIds", of: "success", required: false },
        ]),
    )
    .since(V0_0_54),
    part(6, List(&INTERRUPT)).since(V0_0_54),
    optional(7, "usage", List(&USAGE)).since(V1_0),
    part(8, Texts).since(V1_0),
]);

static RUN_ERROR: Message = Message::new(&[
    optional(2, "code", Text),
    required(3, "message", Text),
    optional(4, "usage", List(&USAGE)).since(V1_0),
]);

static STEP: Message = Message::new(&[required(2, "stepName", Text), subagent(3)]);

static REASONING: Message = Message::new(&[subagent(2), required(3, "messageId", Text)]);

static REASONING_MESSAGE_START: Message =
    Message::new(&[subagent(2), required(3, "messageId", Text), required(4, "role", Text)]);

static REASONING_MESSAGE_CONTENT: Message =
    Message::new(&[subagent(2), required(3, "messageId", Text), required(4, "delta", Text)]);

static REASONING_MESSAGE_CHUNK: Message =
    Message::new(&[subagent(2), optional(3, "messageId", Text), optional(4, "delta", Text)]);

static REASONING_ENCRYPTED_VALUE: Message = Message::new(&[
    subagent(2),
    required(3, "subtype", Text),
    required(4, "entityId", Text),
    required(5, "encryptedValue", Text),
    optional(6, "encryptedValueType", Text).since(V1_1),
]);

static SUBAGENT_STARTED: Message = Message::new(&[
    required(2, "subagentRunId", Text),
    required(3, "name", Text),
    optional(4, "description", Text),
    optional(5, "parentSubagentRunId", Text),
    optional(6, "parentToolCallId", Text),
    optional(7, "parentMessageId", Text),
]);

static SUBAGENT_FINISHED: Message = Message::new(&[
    required(2, "subagentRunId", Text),
    optional(3, "result", Any),
    optional(4, "outcome", Outcome(&[Payload { field: 3, name: "interruptIds", of: "suspended", required: false }])),
    part(5, Texts),
]);

static SUBAGENT_ERROR: Message =
    Message::new(&[required(2, "subagentRunId", Text), required(3, "message", Text), optional(4, "code", Text)]);

const fn arm(kind: EventKind, number: u64, message: &'static Message, since: Version) -> EventArm {
    EventArm { kind, number, message, since }
}

/// The arms of the envelope.
pub(super) static EVENTS: [EventArm; 31] = [
    arm(EventKind::TextMessageStart, 0, &TEXT_MESSAGE_START, V0_0_27),
    arm(EventKind::TextMessageContent, 1, &TEXT_MESSAGE_CONTENT, V0_0_27),
    arm(EventKind::TextMessageEnd, 2, &TEXT_MESSAGE_END, V0_0_27),
    arm(EventKind::ToolCallStart, 3, &TOOL_CALL_START, V0_0_27),
    arm(EventKind::ToolCallArgs, 4, &TOOL_CALL_ARGS, V0_0_27),
    arm(EventKind::ToolCallEnd, 5, &TOOL_CALL_END, V0_0_27),
    arm(EventKind::StateSnapshot, 6, &STATE_SNAPSHOT, V0_0_27),
    arm(EventKind::StateDelta, 7, &STATE_DELTA, V0_0_27),
    arm(EventKind::MessagesSnapshot, 8, &MESSAGES_SNAPSHOT, V0_0_27),
    arm(EventKind::Raw, 9, &RAW, V0_0_27),
    arm(EventKind::Custom, 10, &CUSTOM, V0_0_27),
    arm(EventKind::RunStarted, 11, &RUN_STARTED, V0_0_27),
    arm(EventKind::RunFinished, 12, &RUN_FINISHED, V0_0_27),
    arm(EventKind::RunError, 13, &RUN_ERROR, V0_0_27),
    arm(EventKind::StepStarted, 14, &STEP, V0_0_27),
    arm(EventKind::StepFinished, 15, &STEP, V0_0_27),
    // These two have arms since 0.0.28, but their types had no number before 1.0.0: nobody could read them.
    arm(EventKind::TextMessageChunk, 19, &TEXT_MESSAGE_CHUNK, V1_0),
    arm(EventKind::ToolCallChunk, 20, &TOOL_CALL_CHUNK, V1_0),
    arm(EventKind::SubagentStarted, 16, &SUBAGENT_STARTED, V0_0_59),
    arm(EventKind::SubagentFinished, 17, &SUBAGENT_FINISHED, V0_0_59),
    arm(EventKind::SubagentError, 18, &SUBAGENT_ERROR, V0_0_59),
    arm(EventKind::ToolCallResult, 21, &TOOL_CALL_RESULT, V1_0),
    arm(EventKind::ActivitySnapshot, 22, &ACTIVITY_SNAPSHOT, V1_0),
    arm(EventKind::ActivityDelta, 23, &ACTIVITY_DELTA, V1_0),
    arm(EventKind::ReasoningStart, 24, &REASONING, V1_0),
    arm(EventKind::ReasoningMessageStart, 25, &REASONING_MESSAGE_START, V1_0),
    arm(EventKind::ReasoningMessageContent, 26, &REASONING_MESSAGE_CONTENT, V1_0),
    arm(EventKind::ReasoningMessageEnd, 27, &REASONING, V1_0),
    arm(EventKind::ReasoningMessageChunk, 28, &REASONING_MESSAGE_CHUNK, V1_0),
    arm(EventKind::ReasoningEnd, 29, &REASONING, V1_0),
    arm(EventKind::ReasoningEncryptedValue, 30, &REASONING_ENCRYPTED_VALUE, V1_0),
];

/// The arm of the envelope with this number.
pub(super) fn event_arm(number: u32) -> Option<&'static EventArm> {
    EVENTS.get(usize::try_from(number).ok()?.checked_sub(1)?)
}

/// The number of a kind's arm, and the arm; `None` for a kind that has none.
pub(super) fn arm_of(kind: EventKind) -> Option<(u32, &'static EventArm)> {
    const NUMBERS: [u8; EventKind::COUNT] = {
        let mut numbers = [0; EventKind::COUNT];
        let mut i = 0;
        while i < EVENTS.len() {
            numbers[EVENTS[i].kind.index()] = i as u8 + 1;
            i += 1;
        }
        numbers
    };
    let number = u32::from(NUMBERS[kind.index()]);
    event_arm(number).map(|arm| (number, arm))
}
