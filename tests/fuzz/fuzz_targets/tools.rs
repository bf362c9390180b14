//! Streams of calls in any order, cut, doubled and glued anywhere, through any tool policy: nothing of a denied call comes
//! out, in whatever event and however it is spelled; once is enough; and what is held is bounded.
//!
//! Identifiers that begin with `no-` are of denied calls or of calls that were never heard of, and every text that must
//! not be seen holds `SECRET`.
#![no_main]

mod made;

use std::{fmt, sync::Arc, time::Instant};

use libfuzzer_sys::{
    arbitrary::{Arbitrary, Result, Unstructured},
    fuzz_target,
};
use serde_json::Value;
use tidegate::{
    agui::{Encoding, Event},
    pipeline::{
        End, Peers, Recipe, Sink,
        tools::{ArgumentRule, OnDenied, Policy, Raw, ResultRule, input::filter},
    },
};

/// How many events a stream has, but for those that come several at once.
const EVENTS: usize = 200;
/// What the stage holds at most, with one more event.
const HELD: usize = 6 << 20;

/// Calls: an identifier and the tool that it is always called with.
const CALLS: &[[&str; 2]] =
    &[["no-1", "rm-DENIED"], ["no-2", "rm-DENIED"], ["yes-1", "ls"], ["yes-2", "ls"], ["may-3", "fetch"]];
const UNHEARD: &str = "no-9";
/// The arguments of `may-3`: no choice of them in any order is allowed but none.
const PIECES: &[&str] = &[r#"{"url":"SEC"#, r#"RET"}"#, r#"{"url":"SECRET"}"#, r#"{"url":"x","url":"SECRET"}"#];
const TAGS: &[&str] = &["", "s", "t"];

const STANDALONE: &[&str] = &[
    r#"{"type":"RAW","event":{"name":"SECRET"}}"#,
    r#"{"type":"CUSTOM","name":"n","value":{"toolCallId":"x"}}"#,
    r#"{"type":"STATE_DELTA","delta":[]}"#,
    r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"m","activityType":"a","content":{}}"#,
    r#"{"type":"RUN_FINISHED"}"#,
    r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
    r#"{"type":"RUN_ERROR","message":"m"}"#,
    r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"s"}"#,
    r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"x"}"#,
    r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"x"}"#,
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x","rawEvent":"SECRET"}"#,
    "[DONE]",
];

/// Events that refer to the call `@`; what `#` stands for must not be seen if the call is denied.
const ABOUT: &[&str] = &[
    r#"{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":@,"content":#}"#,
    r#"{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":@,"content":[{"type":"text","text":#}]}"#,
    r#"{"type":"REASONING_ENCRYPTED_VALUE","subtype":"tool-call","entityId":@,"encryptedValue":#}"#,
    r#"{"type":"RUN_FINISHED","outcome":{"type":"success","pendingToolCallIds":[@,"yes-1"]}}"#,
    r#"{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"i","toolCallId":@,"message":#},{"id":"j"}]}}"#,
    r#"{"type":"CUSTOM","name":"on_interrupt","value":[{"id":"i","toolCallId":@,"message":#}]}"#,
    r#"{"type":"NEW","toolCallId":@,"x":#}"#,
    r#"{"type":"STEP_STARTED","stepName":"n","toolCallId":@}"#,
    r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"t","role":"tool","toolCallId":@,"content":#}]}"#,
    r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"t","role":"tool","tool_call_id":@,"content":"","error":#}]}"#,
];

/// Messages that hold the call `@` of the tool `%`.
const HOLDING: &[&str] = &[
    r#"[{"id":"a","role":"assistant","toolCalls":[{"id":@,"type":"function","function":{"name":%,"arguments":#},"encryptedValue":#}]},{"id":"t","role":"tool","toolCallId":@,"content":#}]"#,
    r#"[{"id":"a","role":"assistant","content":"x","tool_calls":[{"id":"yes-1","function":{"name":"ls","arguments":"{}"}},{"id":@,"function":{"arguments":#,"name":%}}]},{"id":"t","role":"tool","tool_call_id":@,"content":[#],"error":#},{"id":"u","role":"user","content":"x"}]"#,
];

/// A text as JSON, now and then in escapes.
fn spelled(bytes: &mut Unstructured<'_>, text: &str) -> String {
    match made::byte(bytes) {
        224.. => format!("\"{}\"", text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect::<String>()),
        _ => serde_json::json!(text).to_string(),
    }
}

/// The part of an event that says whose it is.
fn tag(bytes: &mut Unstructured<'_>, tags: &[&str]) -> String {
    match made::pick(bytes, tags) {
        &"" => String::new(),
        tag => format!(r#","subagentRunId":"{tag}""#),
    }
}

/// What a call says: its pieces, or something about it.
fn says(bytes: &mut Unstructured<'_>, id: &str) -> String {
    let text = match id {
        "may-3" => made::pick(bytes, PIECES),
        id if id.starts_with("no-") => "SECRET",
        _ => "fine",
    };
    spelled(bytes, text)
}

fn filled(bytes: &mut Unstructured<'_>, template: &str, id: &str, name: &str) -> String {
    let mut text = String::new();
    for letter in template.chars() {
        match letter {
            '@' => text.push_str(&spelled(bytes, id)),
            '%' => text.push_str(&spelled(bytes, name)),
            '#' if id == "may-3" => text.push_str(&spelled(bytes, PIECES[2])),
            '#' => text.push_str(&says(bytes, id)),
            letter => text.push(letter),
        }
    }
    text
}

/// Writes a stream.
#[derive(Default)]
struct Writer {
    list: Vec<String>,
    /// A subagent of a denied call was announced.
    has_hidden: bool,
}

impl Writer {
    fn step(&mut self, bytes: &mut Unstructured<'_>) {
        let [id, name] = *made::pick(bytes, CALLS);
        let text = match made::byte(bytes) % 16 {
            0..=2 => {
                let (spelled_id, spelled_name) = (spelled(bytes, id), spelled(bytes, name));
                let tag = tag(bytes, TAGS);
                format!(r#"{{"type":"TOOL_CALL_START","toolCallId":{spelled_id},"toolCallName":{spelled_name}{tag}}}"#)
            }
            3..=5 => {
                let id = if made::byte(bytes) > 240 { UNHEARD } else { id };
                let (delta, id) = (says(bytes, id), spelled(bytes, id));
                format!(r#"{{"type":"TOOL_CALL_ARGS","toolCallId":{id},"delta":{delta}}}"#)
            }
            6 => format!(r#"{{"type":"TOOL_CALL_END","toolCallId":{}}}"#, spelled(bytes, id)),
            7..=8 => return self.chunks(bytes, id, name),
            9..=10 => {
                // That of `may-3` may be shown, so nothing of it may be said elsewhere.
                let id = *made::pick(bytes, &["no-1", "no-2", "yes-1", UNHEARD]);
                let about = made::pick(bytes, ABOUT);
                filled(bytes, about, id, name)
            }
            11 => {
                let holding = made::pick(bytes, HOLDING);
                let messages = filled(bytes, holding, id, name);
                match made::byte(bytes) {
                    0..=191 => format!(r#"{{"type":"MESSAGES_SNAPSHOT","messages":{messages}}}"#),
                    _ => {
                        let tools = r#"[{"name":"ls"},{"name":"rm-DENIED","description":"SECRET"}]"#;
                        format!(r#"{{"type":"RUN_STARTED","input":{{"tools":{tools},"messages":{messages}}}}}"#)
                    }
                }
            }
            12 => {
                let id = *made::pick(bytes, &["no-1", "no-2", UNHEARD]);
                self.has_hidden = true;
                let id = spelled(bytes, id);
                format!(r#"{{"type":"SUBAGENT_STARTED","subagentRunId":"no-s","name":"SECRET","parentToolCallId":{id}}}"#)
            }
            13 if self.has_hidden => (*made::pick(bytes, &[
                r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"h","delta":"SECRET","subagentRunId":"no-s"}"#,
                r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"h","delta":"SECRET","subagentRunId":"no-s"}"#,
                r#"{"type":"STEP_STARTED","stepName":"SECRET","subagentRunId":"no-s"}"#,
                r#"{"type":"STATE_DELTA","delta":[],"subagentRunId":"no-s"}"#,
                r#"{"type":"SUBAGENT_STARTED","subagentRunId":"no-t","name":"SECRET","parentSubagentRunId":"no-s"}"#,
                r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"x","role":"assistant","content":"SECRET","subagentRunId":"no-s"}]}"#,
                r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"no-s","result":"SECRET"}"#,
            ]))
            .to_owned(),
            _ => (*made::pick(bytes, STANDALONE)).to_owned(),
        };
        self.list.push(text);
    }

    /// A call in chunks: what opens it, and pieces that name their lane at most.
    fn chunks(&mut self, bytes: &mut Unstructured<'_>, id: &str, name: &str) {
        let tag = tag(bytes, TAGS);
        let (delta, spelled_id, spelled_name) = (says(bytes, id), spelled(bytes, id), spelled(bytes, name));
        self.list.push(format!(
            r#"{{"type":"TOOL_CALL_CHUNK","toolCallId":{spelled_id},"toolCallName":{spelled_name},"delta":{delta}{tag}}}"#
        ));
        for _ in 0..made::byte(bytes) % 4 {
            if made::byte(bytes) > 200 {
                self.list.push(STANDALONE[0].to_owned());
            }
            let delta = says(bytes, id);
            self.list.push(format!(r#"{{"type":"TOOL_CALL_CHUNK","delta":{delta}{tag}}}"#));
        }
    }

    /// Breaks an event, or does not.
    fn damaged(bytes: &mut Unstructured<'_>, list: &[String], n: usize) -> String {
        let text = &list[n];
        match made::byte(bytes) {
            // Of an empty event nobody could know what it was.
            255 => text.chars().take(usize::from(made::byte(bytes)).max(1)).collect(),
            254 => format!("{text}{}", made::pick(bytes, list)),
            253 => text.replacen('{', r#"{"toolCallId":"yes-1","#, 1),
            252 => format!(r#"{},"type":"CUSTOM"}}"#, text.strip_suffix('}').unwrap_or(text)),
            251 => format!(r#"{},"toolCallName":"ls"}}"#, text.strip_suffix('}').unwrap_or(text)),
            _ => text.clone(),
        }
    }
}

fn policy(bytes: &mut Unstructured<'_>) -> (Policy, OnDenied, bool) {
    let flags = made::byte(bytes);
    let on_denied = *made::pick(bytes, &[OnDenied::Drop, OnDenied::Mask, OnDenied::Drop, OnDenied::Error]);
    let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let allow = (flags & 1 != 0).then(|| names(&["l*", "f*"]));
    let rule = ArgumentRule { tool: "fe*".into(), path: "/url".into(), matches: "SECRET".into() };
    let result = ResultRule { tool: "ls".into(), matches: "unheard".into() };
    let deny = names(if flags & 2 != 0 { &["rm-*"] } else { &["rm-DENIED"] });
    let policy = Policy::new(allow.as_deref(), &deny, on_denied, Raw::Drop, &[rule], &[result]);
    (policy.unwrap(), on_denied, allow.is_some())
}

fn through(policy: &Arc<Policy>, list: &[String]) -> Sink {
    let recipe = Recipe { tools: Some(policy.clone()), ..Recipe::default() };
    let (mut pipeline, mut sink, at) = (recipe.build(&Peers::default()), Sink::default(), Instant::now());
    for text in list {
        let frame = format!("data: {text}\n\n");
        let came = Event::new(text.clone().into(), Some((Encoding::Sse, frame.into())));
        pipeline.event(came, at, &mut sink);
        assert!(pipeline.held() <= HELD, "{} are held", pipeline.held());
    }
    pipeline.end(End::Closed, at, &mut sink);
    let count = sink.events.len();
    pipeline.end(End::Broken, at, &mut sink);
    assert_eq!(count, sink.events.len(), "what was held was held beyond the end");
    sink
}

/// What a text says, without escapes, also in a text within it.
fn read(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    serde_json::from_str::<Value>(&text).map_or_else(|_| text.into_owned(), |value| value.to_string())
}

fn assert_no_leak(said: &str, on_denied: OnDenied) {
    let is_masked = on_denied == OnDenied::Mask;
    let marks = if is_masked { &["SEC", "RET", "no-9", "no-s"][..] } else { &["SEC", "RET", "DENIED", "no-"][..] };
    assert!(!marks.iter().any(|mark| said.contains(mark)), "{said}");
}

/// A stream, and the policy that it goes through.
struct Case {
    policy: Arc<Policy>,
    on_denied: OnDenied,
    list: Vec<String>,
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Self> {
        let (policy, on_denied, _) = policy(bytes);
        let mut writer = Writer::default();
        while !bytes.is_empty() && writer.list.len() < EVENTS {
            writer.step(bytes);
            if let Some(last) = writer.list.len().checked_sub(1) {
                let text = Writer::damaged(bytes, &writer.list, last);
                writer.list[last] = text;
            }
        }
        Ok(Self { policy: Arc::new(policy), on_denied, list: writer.list })
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.on_denied)?;
        self.list.iter().try_for_each(|text| write!(f, "\n{text}"))
    }
}

fuzz_target!(|case: Case| {
    let Case { policy, on_denied, list } = case;
    let sink = through(&policy, &list);
    let out: Vec<_> = sink.events.iter().map(|event| String::from_utf8_lossy(event.text()).into_owned()).collect();
    out.iter().for_each(|text| assert_no_leak(&read(text.as_bytes()), on_denied));

    let verbatim = sink.events.iter().filter(|event| event.frame(Encoding::Sse).is_some()).count();
    assert!(sink.refused.is_some() || verbatim + sink.dropped.len() >= list.len(), "each loss is named");

    // A call that is looked into may be taken up again by what was left out between.
    if on_denied == OnDenied::Drop && !list.iter().any(|text| read(text.as_bytes()).contains("fetch")) {
        let again = through(&policy, &out);
        let twice: Vec<_> =
            again.events.iter().map(|event| String::from_utf8_lossy(event.text()).into_owned()).collect();
        assert_eq!(twice, out);
    }
    for text in list.iter().filter(|text| text.contains(r#""input""#)) {
        let event = Event::made(text.clone());
        let Some(filtered) = event.member("input").and_then(|input| filter(input, &policy).ok()) else { continue };
        // What a client knows of a call that no message holds is its own.
        let body = filtered.body.as_deref().unwrap_or_else(|| event.member("input").unwrap_or_default());
        assert_no_leak(&read(body), on_denied);
    }
});
