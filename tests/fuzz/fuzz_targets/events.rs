//! Bytes come in, the texts of a stream's events go out: of every kind, over few identifiers, chunks and triads, with and
//! without subagents; odd payloads too; and now and then very many of one kind at once.

use libfuzzer_sys::arbitrary::Unstructured;
use tidegate::agui::EventKind;

use crate::{
    made::{
        Member,
        Shape::{self, Any, Each, Object, One},
        byte, members, pick,
    },
    messages::{CONTENT, DATA, ID, MESSAGES, TAG, TEXT},
};

/// How many events a stream has, but for those that come in a flood.
const EVENTS: usize = 128;
/// How many bytes all events of a stream may have.
const SIZE: usize = 4 << 20;

/// Members that every event may have.
const COMMON: &[Member] = &[
    ("subagentRunId", TAG),
    ("timestamp", One(&["1", "1.5", r#""2025-01-31T12:00:00Z""#, r#""x""#, "null", "1.7e12"])),
    ("metadata", DATA),
    ("rawEvent", DATA),
    ("x", DATA),
];

const RUN_ID: Shape = One(&[r#""r""#, r#""q""#]);
const STEP: &[Member] = &[("stepName", ID)];
const CALL_TAIL: &[Member] = &[("toolCallId", ID), ("delta", TEXT)];
const TAIL: &[Member] = &[("messageId", ID), ("delta", TEXT)];
const OPENER: &[Member] = &[
    ("messageId", ID),
    ("role", One(&[r#""assistant""#, r#""user""#, r#""reasoning""#, r#""tool""#, r#""new""#, "null"])),
    ("name", TEXT),
    ("title", TEXT),
    ("delta", TEXT),
];
const CALL_OPENER: &[Member] = &[("toolCallId", ID), ("toolCallName", TEXT), ("parentMessageId", ID), ("delta", TEXT)];
const USAGE: Shape = Each(&Object(&[("model", TEXT), ("inputTokens", One(&["1", "null", "1.5"])), ("x", DATA)]));
const OUTCOME: Shape = Object(&[
    ("type", One(&[r#""success""#, r#""interrupt""#, r#""cancelled""#, r#""suspended""#, r#""new""#])),
    (
        "interrupts",
        Each(&Object(&[
            ("id", ID),
            ("reason", TEXT),
            ("toolCallId", ID),
            ("message", TEXT),
            ("subagentRunId", TAG),
            ("value", DATA),
            ("metadata", DATA),
        ])),
    ),
    ("pendingToolCallIds", Each(&ID)),
    ("interruptIds", Each(&ID)),
]);
const PATCH: Shape = Each(&Object(&[
    ("op", One(&[r#""add""#, r#""replace""#, r#""remove""#, r#""move""#, r#""copy""#, r#""test""#, r#""new""#])),
    ("path", One(&[r#""/a""#, r#""""#, r#""/a/0""#, r#""/a/-""#, r#""/b""#, r#""/a/b""#, r#""a""#, r#""/~1~0""#])),
    ("value", One(&["1", r#"{"b":[1]}"#, "[]", "null", r#""x""#, "1.0"])),
    ("from", One(&[r#""/b""#, r#""/a""#, r#""""#])),
]));
const STATE: Shape = Any(&[
    Object(&[("a", One(&["[]", "1", r#"{"b":1}"#, "[1,2]", "1.00"])), ("b", DATA), ("", TEXT), ("/~", DATA)]),
    One(&["null", "{}", "[1]", "1"]),
]);
const INPUT: Shape = Object(&[
    ("threadId", ID),
    ("runId", RUN_ID),
    ("messages", MESSAGES),
    ("tools", Each(&DATA)),
    ("context", Each(&DATA)),
    ("state", DATA),
    ("forwardedProps", DATA),
    ("protocolVersion", TEXT),
    ("resume", DATA),
]);

const fn members_of(kind: EventKind) -> &'static [Member] {
    use EventKind::*;
    match kind {
        TextMessageStart
        | TextMessageChunk
        | ReasoningMessageStart
        | ReasoningMessageChunk
        | ReasoningStart
        | ThinkingStart
        | ThinkingTextMessageStart => OPENER,
        TextMessageContent
        | TextMessageEnd
        | ReasoningMessageContent
        | ReasoningMessageEnd
        | ReasoningEnd
        | ThinkingEnd
        | ThinkingTextMessageContent
        | ThinkingTextMessageEnd => TAIL,
        ToolCallStart | ToolCallChunk => CALL_OPENER,
        ToolCallArgs | ToolCallEnd => CALL_TAIL,
        ToolCallResult => {
            &[("messageId", ID), ("toolCallId", ID), ("content", CONTENT), ("role", One(&[r#""tool""#, "null"]))]
        }
        StateSnapshot => &[("snapshot", STATE), ("delta", PATCH)],
        StateDelta => &[("delta", PATCH), ("snapshot", STATE)],
        MessagesSnapshot => &[("messages", MESSAGES)],
        ActivitySnapshot | ActivityDelta => &[
            ("messageId", ID),
            ("activityType", TEXT),
            ("content", DATA),
            ("patch", PATCH),
            ("replace", One(&["true", "false", "null"])),
        ],
        Raw => &[("event", STATE), ("source", TEXT)],
        Custom => &[("name", TEXT), ("value", STATE)],
        RunStarted => &[
            ("threadId", ID),
            ("runId", RUN_ID),
            ("parentRunId", One(&["null", r#""r""#])),
            ("protocolVersion", One(&[r#""1.1""#, r#""0.0.45""#, r#""2.0""#, "null"])),
            ("input", INPUT),
        ],
        RunFinished => &[("threadId", ID), ("runId", RUN_ID), ("outcome", OUTCOME), ("result", DATA), ("usage", USAGE)],
        RunError => &[("message", TEXT), ("code", TEXT), ("usage", USAGE)],
        StepStarted | StepFinished => STEP,
        ReasoningEncryptedValue => &[
            ("subtype", One(&[r#""message""#, r#""tool-call""#, r#""new""#])),
            ("entityId", ID),
            ("encryptedValue", TEXT),
            ("encryptedValueType", TEXT),
        ],
        SubagentStarted => &[
            ("name", TEXT),
            ("description", TEXT),
            ("parentSubagentRunId", TAG),
            ("parentToolCallId", ID),
            ("parentMessageId", ID),
        ],
        SubagentFinished => &[("result", DATA), ("outcome", OUTCOME)],
        SubagentError => &[("message", TEXT), ("code", TEXT)],
        Other => &[("type", One(&[r#""NEW""#, r#""META_EVENT""#, "1", "null", r#""RAW""#])), ("error", TEXT)],
    }
}

const PAYLOADS: &[&str] = &[
    "[DONE]",
    "",
    "null",
    "oops",
    "{}",
    r#"{"type":"RAW""#,
    r#"{"type":"RAW","event":NaN}"#,
    r#"{"type":"RAW","event":1}{"type":"NEW"}"#,
    r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"a","delta":"#,
    r#"{"error":"x"}"#,
    r#"["type","RAW"]"#,
];

/// What comes in a flood; `@` is a number, and of any length.
const FLOODS: &[&str] = &[
    r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"@","subagentRunId":"@","delta":"x"}"#,
    r#"{"type":"TEXT_MESSAGE_START","messageId":"@","role":"user"}"#,
    r#"{"type":"TEXT_MESSAGE_START","messageId":"@","role":"assistant"}"#,
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"@"}"#,
    r#"{"type":"TEXT_MESSAGE_START","messageId":"@","subagentRunId":"@"}"#,
    r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"@","toolCallName":"@","parentMessageId":"@","subagentRunId":"@"}"#,
    r#"{"type":"TOOL_CALL_START","toolCallId":"@","toolCallName":"n","parentMessageId":"@"}"#,
    r#"{"type":"TOOL_CALL_RESULT","messageId":"@","toolCallId":"@","content":"x"}"#,
    r#"{"type":"REASONING_START","messageId":"@"}"#,
    r#"{"type":"REASONING_MESSAGE_START","messageId":"@","subagentRunId":"@"}"#,
    r#"{"type":"REASONING_MESSAGE_CONTENT","messageId":"a","delta":"@"}"#,
    r#"{"type":"REASONING_MESSAGE_CHUNK","messageId":"@","delta":"@"}"#,
    r#"{"type":"THINKING_START","subagentRunId":"@"}"#,
    r#"{"type":"STEP_STARTED","stepName":"@"}"#,
    r#"{"type":"STEP_STARTED","stepName":"a","subagentRunId":"@"}"#,
    r#"{"type":"SUBAGENT_STARTED","subagentRunId":"@","name":"@"}"#,
    r#"{"type":"STATE_SNAPSHOT","snapshot":{"@":"@"}}"#,
    r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/@","value":"@"}]}"#,
    r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"@","activityType":"t","content":{}}"#,
    r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"@","role":"assistant","content":"@"}]}"#,
    r#"{"type":"CUSTOM","name":"@","value":"@"}"#,
    r#"{"type":"NEW","x":"@"}"#,
    r#"{"type":"RUN_FINISHED","result":"@"}"#,
];

/// A stream's events, with so many floods at most: a stream with one takes as long as hundreds of others.
pub fn stream(bytes: &mut Unstructured<'_>, mut floods: u8) -> Vec<Vec<u8>> {
    let mut list = Vec::new();
    let mut left = SIZE;
    for _ in 0..EVENTS {
        if bytes.is_empty() {
            break;
        }
        match byte(bytes) {
            what @ ..=239 => {
                let kind = EventKind::ALL[usize::from(what) % EventKind::COUNT];
                list.push(event(bytes, kind).into_bytes());
            }
            ..=247 => list.push(pick(bytes, PAYLOADS).as_bytes().to_vec()),
            ..=251 => list.extend(list.last().cloned()),
            _ if floods == 0 => {}
            _ => {
                floods -= 1;
                flood(bytes, &mut left, &mut list);
            }
        }
    }
    list
}

/// One event of any kind.
#[allow(dead_code)]
pub fn one(bytes: &mut Unstructured<'_>) -> Vec<u8> {
    let kind = *pick(bytes, EventKind::ALL);
    event(bytes, kind).into_bytes()
}

fn event(bytes: &mut Unstructured<'_>, kind: EventKind) -> String {
    let mut text = String::from("{");
    let named = kind != EventKind::Other;
    if named {
        text.push_str(&format!("\"type\":\"{}\"", kind.as_str()));
    }
    let own = text.len();
    members(bytes, members_of(kind), named, &mut text);
    let follow = named || text.len() > own;
    if byte(bytes) >= 96 {
        members(bytes, COMMON, follow, &mut text);
    }
    text.push('}');
    text
}

fn flood(bytes: &mut Unstructured<'_>, left: &mut usize, list: &mut Vec<Vec<u8>>) {
    let text = pick(bytes, FLOODS);
    let padding = "p".repeat((1 << (byte(bytes) % 16)) - 1);
    for n in (list.len()..).take(byte(bytes).into()) {
        let text = text.replace('@', &format!("{n}{padding}")).into_bytes();
        let Some(rest) = left.checked_sub(text.len()) else { break };
        *left = rest;
        list.push(text);
    }
}
