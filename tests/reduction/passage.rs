//! A stream passes through a pipeline under a made-up clock, and is compared with what came in.

use std::time::{Duration, Instant};

use bytes::Bytes;
use proptest::prelude::ProptestConfig;
use serde_json::Value;
use tidegate::{
    agui::Event,
    pipeline::{End, Peers, Pipeline, Recipe, Sink},
};

use crate::client::Client;

/// As many cases as `PROPTEST_CASES` says; what fails is not written into the tree.
pub fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, max_shrink_iters: 20_000, ..ProptestConfig::default() }
}

/// An event that left, with the millisecond in which it did.
#[derive(Clone, Debug)]
pub struct Told {
    #[allow(dead_code, reason = "shown where a test fails")]
    pub at: u64,
    pub text: String,
}

/// A pipeline, its clock and what has left it.
pub struct Passage {
    pub pipeline: Pipeline,
    epoch: Instant,
    pub told: Vec<Told>,
    pub sink: Sink,
}

impl Passage {
    pub fn new(recipe: &Recipe) -> Self {
        let pipeline = recipe.build(&Peers::default());
        Self { pipeline, epoch: Instant::now(), told: Vec::new(), sink: Sink::default() }
    }

    fn time(&self, at: u64) -> Instant {
        self.epoch + Duration::from_millis(at)
    }

    fn collect(&mut self, at: u64) {
        let events = std::mem::take(&mut self.sink.events);
        self.told
            .extend(events.iter().map(|event| Told { at, text: String::from_utf8(event.text().to_vec()).unwrap() }));
    }

    /// The time goes on until then, and whoever wants to be woken is.
    pub fn until(&mut self, at: u64) {
        while let Some(due) = self.pipeline.deadline().filter(|due| *due <= self.time(at)) {
            let now = u64::try_from(due.saturating_duration_since(self.epoch).as_millis()).unwrap();
            self.pipeline.wake(due, &mut self.sink);
            self.collect(now);
            assert!(self.pipeline.deadline() != Some(due), "woken at {now} ms and not content");
        }
    }

    /// The agent sends an event.
    pub fn event(&mut self, at: u64, text: &str) {
        self.until(at);
        self.event_unwoken(at, text);
    }

    /// The agent sends an event, and nobody was woken before.
    pub fn event_unwoken(&mut self, at: u64, text: &str) {
        self.pipeline.event(Event::new(Bytes::copy_from_slice(text.as_bytes()), None), self.time(at), &mut self.sink);
        self.collect(at);
    }

    /// The client stops reading, or reads again.
    pub fn slow(&mut self, at: u64, slow: bool) {
        self.pipeline.slow(slow, self.time(at), &mut self.sink);
        self.collect(at);
    }

    /// The stream is over.
    pub fn end(&mut self, at: u64, how: End) {
        self.until(at);
        self.pipeline.end(how, self.time(at), &mut self.sink);
        self.collect(at);
    }

    /// What has left.
    pub fn texts(&self) -> Vec<&str> {
        self.told.iter().map(|told| told.text.as_str()).collect()
    }
}

/// What comes out of this pipeline for these events, one a millisecond.
pub fn through(recipe: &Recipe, texts: &[&str]) -> Passage {
    let mut passage = Passage::new(recipe);
    for (at, text) in (0..).zip(texts) {
        passage.event(at, text);
    }
    passage.end(texts.len() as u64, End::Closed);
    assert_eq!(passage.pipeline.deadline(), None, "nothing is waited for at the end");
    passage
}

/// The type of an event, or nothing.
pub fn kind(text: &str) -> String {
    crate::json::parse(text).and_then(|event| Some(event["type"].as_str()?.to_owned())).unwrap_or_default()
}

/// An event with what a client holds after it.
pub type Mark = (String, Value);

/// What a client holds after each event of these kinds, and at the end; with the event.
pub fn held(client: Client, texts: &[&str], is_mark: impl Fn(&str) -> bool) -> Vec<Mark> {
    let mut client = client;
    let mut marks = Vec::new();
    for text in texts {
        client.take(text);
        if is_mark(&kind(text)) {
            marks.push(((*text).to_owned(), client.view()));
        }
    }
    client.end();
    let mut end = client.view();
    end["log"] = client.log.into();
    marks.push(("the end".into(), end));
    marks
}

/// The type of an event, where a snapshot of the state is as good as a delta.
fn alike(text: &str) -> String {
    kind(text).replace("STATE_DELTA", "STATE_SNAPSHOT")
}

/// Where the two differ first, in words.
pub fn difference(before: &[Mark], after: &[Mark]) -> Option<String> {
    for (at, (before, after)) in before.iter().zip(after).enumerate() {
        if alike(&before.0) != alike(&after.0) {
            return Some(format!("mark {at} is {} before and {} after", before.0, after.0));
        }
        if before.1 != after.1 {
            let parts = before.1.as_object().unwrap().iter().filter(|(name, value)| after.1[*name] != **value);
            let parts: Vec<_> = parts
                .map(|(name, value)| format!("\n  {name} before: {value}\n  {name} after:  {}", after.1[name]))
                .collect();
            return Some(format!("at mark {at}, {}:{}", before.0, parts.concat()));
        }
    }
    (before.len() != after.len()).then(|| format!("{} marks before, {} after", before.len(), after.len()))
}
