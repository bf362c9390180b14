//! Streams with times come in, what left and when goes out; clocks are made up, and whoever holds something is woken when
//! it asks to be.
#![allow(clippy::unwrap_used)]

mod barriers;
mod chunks;
mod deltas;
mod members;
mod properties;
mod reducer;
mod slow;
mod state;

use std::time::{Duration, Instant};

use super::*;
use crate::{
    agui::Encoding,
    pipeline::{Peers, Pipeline, Recipe, Sink},
};

/// A window of this many milliseconds, and room for everything.
fn every(ms: u64) -> Policy {
    Policy {
        every: Duration::from_millis(ms),
        max_chars: usize::MAX,
        slow_client: SlowClient::Merge,
        keep_raw_event: false,
        limit: 1 << 20,
    }
}

/// A stream that goes through a throttle.
struct Stream {
    pipeline: Pipeline,
    sink: Sink,
    start: Instant,
    now: u64,
    /// The events that left, and when.
    sent: Vec<(u64, String)>,
}

impl Stream {
    fn with(policy: Policy) -> Self {
        let pipeline = Recipe { throttle: Some(policy), ..Recipe::default() }.build(&Peers::default());
        Self { pipeline, sink: Sink::default(), start: Instant::now(), now: 0, sent: Vec::new() }
    }

    fn at(&self) -> Instant {
        self.start + Duration::from_millis(self.now)
    }

    fn take(&mut self) {
        for event in self.sink.events.drain(..) {
            self.sent.push((self.now, String::from_utf8(event.text().to_vec()).unwrap()));
        }
    }

    /// Lets the time pass, and wakes whoever wants to be.
    fn until(&mut self, ms: u64) {
        while let Some(due) = self.pipeline.deadline().filter(|due| *due <= self.start + Duration::from_millis(ms)) {
            self.now = self.now.max(due.saturating_duration_since(self.start).as_millis() as u64);
            let at = self.at();
            self.pipeline.wake(at, &mut self.sink);
            assert!(self.pipeline.deadline().is_none_or(|next| next > at), "it is not woken for nothing");
            self.take();
        }
        self.now = ms;
    }

    fn event(&mut self, text: &str) {
        let frame = format!("data: {text}\n\n");
        let event = Event::new(text.to_owned().into(), Some((Encoding::Sse, frame.into())));
        let at = self.at();
        self.pipeline.event(event, at, &mut self.sink);
        self.take();
    }

    fn slow(&mut self, slow: bool) {
        let at = self.at();
        self.pipeline.slow(slow, at, &mut self.sink);
        self.take();
    }

    fn end(&mut self) {
        let at = self.at();
        self.pipeline.end(End::Broken, at, &mut self.sink);
        self.take();
        assert!(self.pipeline.deadline().is_none());
    }

    fn texts(&self) -> Vec<&str> {
        self.sent.iter().map(|(_, text)| &**text).collect()
    }
}

/// What becomes of these events, each at its time; the stream ends with the last.
fn played<T: AsRef<str>>(policy: Policy, events: &[(u64, T)]) -> Stream {
    let mut stream = Stream::with(policy);
    for (ms, text) in events {
        stream.until(*ms);
        stream.event(text.as_ref());
    }
    stream.until(stream.now);
    stream
}

/// What leaves, at which time.
fn sent<T: AsRef<str>>(policy: Policy, events: &[(u64, T)]) -> Vec<(u64, String)> {
    let mut stream = played(policy, events);
    stream.end();
    stream.sent
}

fn text(id: &str, delta: &str) -> String {
    format!(r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"{id}","delta":"{delta}"}}"#)
}

const START: &str = r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}"#;
const END: &str = r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#;
const STEP: &str = r#"{"type":"STEP_STARTED","stepName":"s"}"#;
