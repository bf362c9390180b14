//! All shims together: what holds for every stream and every client.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::trial::Trial;
use crate::agui::{Event, EventKind};

const OLDEST: u32 = 27;
const NEWEST: u32 = 59;
/// The first client that takes what comes in the order in which it comes.
const IN_ORDER: u32 = 37;
/// The first client that reads all of [`plain`].
const PLAIN: u32 = 41;

/// The first release that reads events of this kind.
fn since(kind: EventKind) -> u32 {
    use EventKind::*;
    match kind {
        ReasoningStart
        | ReasoningEnd
        | ReasoningMessageStart
        | ReasoningMessageContent
        | ReasoningMessageEnd
        | ReasoningMessageChunk
        | ReasoningEncryptedValue => 45,
        ActivitySnapshot | ActivityDelta => 41,
        ToolCallResult => 30,
        TextMessageChunk | ToolCallChunk => 28,
        ThinkingStart
        | ThinkingEnd
        | ThinkingTextMessageStart
        | ThinkingTextMessageContent
        | ThinkingTextMessageEnd => 37,
        SubagentStarted | SubagentFinished | SubagentError => 59,
        Other => u32::MAX,
        _ => OLDEST,
    }
}

/// Events that every client from [`PLAIN`] on reads as they are. `n` tells the identifiers of one block from another's.
fn plain(n: usize) -> impl Strategy<Value = Vec<Value>> {
    let message = format!("m{n}");
    let call = format!("c{n}");
    prop_oneof![
        "[a-z\\\\\"é ]{1,8}".prop_map(move |delta| vec![
            json!({"type": "TEXT_MESSAGE_START", "messageId": message, "role": "assistant"}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": message, "delta": delta}),
            json!({"type": "TEXT_MESSAGE_END", "messageId": message}),
        ]),
        Just(vec![
            json!({"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": "n"}),
            json!({"type": "TOOL_CALL_ARGS", "toolCallId": call, "delta": ""}),
            json!({"type": "TOOL_CALL_END", "toolCallId": call}),
            json!({"type": "TOOL_CALL_RESULT", "messageId": format!("r{n}"), "toolCallId": call, "content": "[]"}),
        ]),
        Just(vec![
            json!({"type": "STEP_STARTED", "stepName": format!("s{n}")}),
            json!({"type": "STEP_FINISHED", "stepName": format!("s{n}")}),
        ]),
        Just(vec![json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": format!("k{n}"), "delta": ""})]),
        Just(vec![json!({"type": "CUSTOM", "name": "n", "value": {"subagentRunId": "x", "type": "NEW"}})]),
        Just(vec![json!({"type": "RAW", "event": {"type": "NEW"}}), json!({"type": "STATE_SNAPSHOT", "snapshot": 1})]),
    ]
}

/// Events of which an older client may not read some.
fn current(n: usize) -> impl Strategy<Value = Vec<Value>> {
    let id = format!("z{n}");
    let owner = format!("o{n}");
    let call = move |parent: &str| json!({"type": "TOOL_CALL_START", "toolCallId": format!("c{n}"), "toolCallName": "n", "parentMessageId": parent});
    let call_end = json!({"type": "TOOL_CALL_END", "toolCallId": format!("c{n}")});
    let parts = json!([{"type": "text", "text": "t"}, {"type": "image", "source": {"type": "file", "value": "f"}}, {"type": "new"}]);
    prop_oneof![
        Just(vec![json!({"type": "NEW", "x": 1})]),
        Just(vec![
            json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": format!("k{n}"), "delta": "x", "subagentRunId": owner}),
            json!({"type": "TEXT_MESSAGE_CHUNK", "delta": "x", "subagentRunId": owner}),
        ]),
        Just(vec![
            json!({"type": "REASONING_START", "messageId": id}),
            json!({"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"}),
            json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": id, "delta": ""}),
            json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": id, "delta": "x"}),
            json!({"type": "REASONING_MESSAGE_END", "messageId": id}),
            json!({"type": "REASONING_END", "messageId": id}),
        ]),
        Just(vec![
            json!({"type": "ACTIVITY_SNAPSHOT", "messageId": format!("a{n}"), "activityType": "A", "content": {}}),
            json!({"type": "ACTIVITY_DELTA", "messageId": format!("a{n}"), "activityType": "A",
                "patch": [{"op": "add", "path": "/x", "value": 1}]}),
        ]),
        Just(vec![
            json!({"type": "SUBAGENT_STARTED", "subagentRunId": owner, "name": "n"}),
            json!({"type": "STEP_STARTED", "stepName": "same"}),
            json!({"type": "STEP_STARTED", "stepName": "same", "subagentRunId": owner}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "open", "delta": "x", "subagentRunId": owner}),
            json!({"type": "STEP_FINISHED", "stepName": "same"}),
            json!({"type": "STEP_FINISHED", "stepName": "same", "subagentRunId": owner}),
            json!({"type": "SUBAGENT_FINISHED", "subagentRunId": owner, "outcome": {"type": "suspended", "x": 1}}),
        ]),
        Just(vec![json!({"type": "TOOL_CALL_RESULT", "messageId": id, "toolCallId": "c", "content": parts})]),
        (0..n + 1).prop_map(move |parent| vec![call(&format!("m{parent}")), call_end.clone()]),
        prop::sample::subsequence(
            vec![
                json!({"id": "u", "role": "user", "content": parts}),
                json!({"id": "t", "role": "tool", "toolCallId": "c", "content": parts, "subagentRunId": "o"}),
                json!({"id": "r", "role": "reasoning", "content": "x"}),
                json!({"id": "a", "role": "activity", "activityType": "A", "content": {}}),
                json!({"id": "f", "role": "new"}),
                json!({"id": "m0", "role": "assistant", "content": "x"}),
            ],
            0..=6,
        )
        .prop_map(|messages| vec![json!({"type": "MESSAGES_SNAPSHOT", "messages": messages})]),
    ]
}

fn terminal() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({"type": "RUN_FINISHED"}),
        json!({"type": "RUN_FINISHED", "outcome": {"type": "success", "pendingToolCallIds": ["c"]}}),
        json!({"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "subagentRunId": "o"}], "x": 1}}),
        json!({"type": "RUN_FINISHED", "outcome": {"type": "cancelled"}}),
        json!({"type": "RUN_FINISHED", "outcome": {"type": "new"}}),
        json!({"type": "RUN_ERROR", "message": "m"}),
    ])
}

/// Numbers the events by their timestamps and writes them.
fn written(events: impl IntoIterator<Item = Value>) -> Vec<String> {
    let number = |(n, mut event): (usize, Value)| {
        event["timestamp"] = n.into();
        event.to_string()
    };
    events.into_iter().enumerate().map(number).collect()
}

fn run<S: Strategy<Value = Vec<Value>> + 'static>(block: fn(usize) -> S) -> impl Strategy<Value = Vec<Value>> {
    let blocks =
        prop::collection::vec(0..8_usize, 0..8).prop_flat_map(move |ns| ns.into_iter().map(block).collect::<Vec<_>>());
    (blocks, terminal()).prop_map(|(blocks, end)| {
        let start = json!({"type": "RUN_STARTED", "protocolVersion": "1.1", "input": {"messages": []}});
        std::iter::once(start).chain(blocks.concat()).chain([end]).collect()
    })
}

fn mixed(n: usize) -> BoxedStrategy<Vec<Value>> {
    prop_oneof![plain(n), current(n)].boxed()
}

fn any_stream() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(run(mixed), 1..3).prop_map(|runs| written(runs.concat()))
}

fn any_client() -> impl Strategy<Value = u32> {
    OLDEST..=NEWEST
}

fn through(npm: u32, stream: &[String]) -> Trial {
    Trial::npm(npm, &stream.iter().map(String::as_str).collect::<Vec<_>>())
}

fn member(text: &str, name: &str) -> Option<Value> {
    serde_json::from_str::<Value>(text).ok()?.get(name).cloned()
}

proptest! {
    #[test]
    fn a_client_gets_no_type_that_it_does_not_know(stream in any_stream(), npm in any_client()) {
        for text in through(npm, &stream).texts {
            let kind = Event::made(text.clone()).kind();
            prop_assert!(since(kind) <= npm, "{} for 0.0.{}", text, npm);
        }
    }

    #[test]
    fn what_every_version_reads_passes_as_it_is(
        blocks in prop::collection::vec((0..8_usize).prop_flat_map(plain), 0..8),
        npm in PLAIN..=NEWEST,
    ) {
        let start = json!({"type": "RUN_STARTED", "input": {"messages": [], "tools": [], "context": []}});
        let end = json!({"type": "RUN_FINISHED", "outcome": {"type": "success"}});
        let stream = written(std::iter::once(start).chain(blocks.concat()).chain([end]));
        through(npm, &stream).assert_untouched(&stream.iter().map(String::as_str).collect::<Vec<_>>());
    }

    #[test]
    fn order_and_identifiers_stay(stream in any_stream(), npm in IN_ORDER..=NEWEST) {
        let mut last = None;
        for text in through(npm, &stream).texts {
            let Some(n) = member(&text, "timestamp").and_then(|n| n.as_u64()) else {
                let of_chunk = member(&text, "messageId").is_some_and(|id| id.as_str().is_some_and(|id| id.starts_with('k')));
                prop_assert!(of_chunk || member(&text, "name") == Some("on_interrupt".into()), "{} is new", text);
                continue;
            };
            prop_assert!(last.is_none_or(|last| last < n), "{} after {:?}", text, last);
            last = Some(n);
            for name in ["messageId", "toolCallId", "snapshot", "delta", "name", "value"] {
                prop_assert_eq!(member(&text, name), member(&stream[n as usize], name));
            }
        }
    }

    #[test]
    fn whatever_is_changed_is_named(stream in any_stream(), npm in any_client()) {
        let trial = through(npm, &stream);
        let verbatim = trial.verbatim.iter().filter(|verbatim| **verbatim).count();
        prop_assert!(trial.losses.len() >= stream.len() - verbatim);
    }

    #[test]
    fn what_comes_out_needs_no_further_change(stream in any_stream(), npm in any_client()) {
        let once = through(npm, &stream).texts;
        through(npm, &once).assert_untouched(&once.iter().map(String::as_str).collect::<Vec<_>>());
    }
}
