//! Any stream, at any times, to a client that stops and begins to read, under any policy: what a client makes of it is the
//! same at every barrier and at the end, nothing is left for after the end, and what is held is bounded.
#![no_main]

mod client;
mod events;
mod made;
mod messages;

use std::{
    fmt,
    time::{Duration, Instant},
};

use libfuzzer_sys::{
    arbitrary::{Arbitrary, Result, Unstructured},
    fuzz_target,
};
use tidegate::{
    agui::Event,
    pipeline::{
        End, Peers, Recipe, Sink,
        throttle::{Policy, SlowClient},
    },
};

use self::client::at_barriers;

/// Kinds that this stage is about come more often than others.
const OFTEN: &[&str] = &[
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"@"}"#,
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"b","delta":"@","metadata":{"k":"@"}}"#,
    r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"b","subagentRunId":"s","delta":"@"}"#,
    r#"{"type":"TOOL_CALL_ARGS","toolCallId":"a","delta":"@","rawEvent":"@"}"#,
    r#"{"type":"REASONING_MESSAGE_CONTENT","messageId":"c","delta":"@","timestamp":1}"#,
    r#"{"type":"THINKING_TEXT_MESSAGE_CONTENT","delta":"@"}"#,
    r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"a","delta":"@"}"#,
    r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"d","subagentRunId":"s","role":"user","delta":"@"}"#,
    r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"@"}"#,
    r#"{"type":"TEXT_MESSAGE_CHUNK","subagentRunId":"s","delta":"@"}"#,
    r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"a","toolCallName":"f","delta":"@"}"#,
    r#"{"type":"TOOL_CALL_CHUNK","delta":"@"}"#,
    r#"{"type":"STATE_SNAPSHOT","snapshot":{"a":{"b":1},"l":[]}}"#,
    r#"{"type":"STATE_SNAPSHOT","snapshot":{"a":1},"subagentRunId":"s"}"#,
    r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/@","value":"@"}]}"#,
    r#"{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/a","value":1},{"op":"add","path":"/l/-","value":0}]}"#,
    r#"{"type":"STATE_DELTA","delta":[{"op":"test","path":"/a","value":1.0},{"op":"remove","path":"/a"}]}"#,
    r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"t","content":{"a":{}}}"#,
    r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"v","activityType":"u","content":{"a":1},"replace":false}"#,
    r#"{"type":"ACTIVITY_DELTA","messageId":"v","activityType":"t","patch":[{"op":"add","path":"/a/@","value":1}]}"#,
    r#"{"type":"RAW","event":"@"}"#,
];
const TEXTS: &[&str] = &["x", "", r"\ud83d", r"\ude00", r"\u00e9", "é", r#"\"\\"#, "some more text"];

/// What happens.
enum Step {
    Event(Vec<u8>),
    Slow(bool),
    Wait(Duration),
}

struct Case {
    policy: Policy,
    steps: Vec<Step>,
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Self> {
        let flags = made::byte(bytes);
        let policy = Policy {
            every: Duration::from_millis(*made::pick(bytes, &[50, 20, 0])),
            max_chars: *made::pick(bytes, &[usize::MAX, 64, 3]),
            slow_client: if flags & 1 == 0 { SlowClient::Merge } else { SlowClient::Wait },
            keep_raw_event: flags & 2 != 0,
            limit: *made::pick(bytes, &[1 << 20, 16 << 10, 2 << 10]),
        };
        let mut steps = Vec::new();
        for _ in 0..200 {
            if bytes.is_empty() {
                break;
            }
            match made::byte(bytes) {
                ..=139 => {
                    let text = made::pick(bytes, OFTEN).replace('@', made::pick(bytes, TEXTS));
                    steps.push(Step::Event(text.into_bytes()));
                }
                ..=179 => steps.push(Step::Event(events::one(bytes))),
                ..=229 => steps.push(Step::Wait(Duration::from_millis(u64::from(made::byte(bytes) % 64)))),
                ..=249 => steps.push(Step::Slow(made::byte(bytes) % 2 == 0)),
                _ => break,
            }
        }
        if flags >= 250 {
            steps.extend(events::stream(bytes, 1).into_iter().map(Step::Event));
        }
        Ok(Self { policy, steps })
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.policy)?;
        self.steps.iter().try_for_each(|step| match step {
            Step::Event(text) => write!(f, "\n{}", String::from_utf8_lossy(text)),
            Step::Slow(slow) => write!(f, "\n-- slow: {slow}"),
            Step::Wait(time) => write!(f, "\n-- {time:?}"),
        })
    }
}

fn check(case: &Case) {
    let Case { policy, steps } = case;
    let mut pipeline = Recipe { throttle: Some(*policy), ..Recipe::default() }.build(&Peers::default());
    let (mut sink, mut now) = (Sink::default(), Instant::now());
    let mut came = Vec::new();
    for step in steps {
        match step {
            Step::Event(text) => {
                came.push(text.clone());
                pipeline.event(Event::made(text.clone()), now, &mut sink);
            }
            Step::Slow(slow) => pipeline.slow(*slow, now, &mut sink),
            Step::Wait(time) => {
                let then = now + *time;
                while let Some(due) = pipeline.deadline().filter(|due| *due <= then) {
                    now = due.max(now);
                    pipeline.wake(now, &mut sink);
                    assert!(pipeline.deadline().is_none_or(|next| next > now), "it is woken for nothing");
                }
                now = then;
            }
        }
        let largest = came.last().map_or(0, Vec::len);
        assert!(pipeline.held() <= 4 * policy.limit + 4 * largest + (3 << 19), "{} are held", pipeline.held());
    }
    pipeline.end(End::Closed, now, &mut sink);
    assert!(pipeline.deadline().is_none());
    let count = sink.events.len();
    pipeline.end(End::Broken, now, &mut sink);
    assert_eq!(sink.events.len(), count, "what was held was held beyond the end");
    let left: Vec<_> = sink.events.iter().map(|event| event.text().to_vec()).collect();
    assert_eq!(left.len() + sink.merged.len(), came.len(), "each event is there or was merged");
    let (before, after) = (at_barriers(&came), at_barriers(&left));
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before, after);
    }
    assert_eq!(before.len(), after.len());
}

fuzz_target!(|case: Case| check(&case));
