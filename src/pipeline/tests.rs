//! The pipeline as a whole: order, deadlines and what `select` does to a stream.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use bytes::Bytes;

use super::*;
use crate::agui::{Encoding, Kinds};

fn event(text: &str) -> Event {
    let frame = format!("data: {text}\n\n");
    Event::new(Bytes::copy_from_slice(text.as_bytes()), Some((Encoding::Sse, frame.into())))
}

fn texts(sink: &Sink) -> Vec<String> {
    sink.events.iter().map(|e| String::from_utf8(e.text().to_vec()).unwrap()).collect()
}

fn through(recipe: &Recipe, list: &[&str]) -> Sink {
    let mut pipeline = recipe.build(&Peers::default());
    let mut sink = Sink::default();
    let at = Instant::now();
    for text in list {
        pipeline.event(event(text), at, &mut sink);
    }
    pipeline.end(End::Closed, at, &mut sink);
    sink
}

#[test]
fn a_route_without_middleware_has_no_stage() {
    assert_eq!(Recipe::default().build(&Peers::default()).kinds(), Kinds::default());
    let sink = through(&Recipe::default(), &[r#"{"type":"RAW","n":1.0}"#, "[DONE]"]);
    assert_eq!(texts(&sink), [r#"{"type":"RAW","n":1.0}"#, "[DONE]"]);
    assert!(sink.events.iter().all(|e| e.frame(Encoding::Sse).is_some()), "the frame is still there to forward");
}

#[test]
fn select_drops_types_known_or_not_and_names_each() {
    let recipe = Recipe { select: Some(Select::new(["RAW", "VENDOR_PING"], [])), ..Recipe::default() };
    let sink = through(
        &recipe,
        &[r#"{"type":"RAW"}"#, r#"{"type":"VENDOR_PING"}"#, r#"{"type":"VENDOR_PONG"}"#, r#"{"type":"CUSTOM"}"#],
    );
    assert_eq!(texts(&sink), [r#"{"type":"VENDOR_PONG"}"#, r#"{"type":"CUSTOM"}"#]);
    assert_eq!(sink.dropped.len(), 2);
    assert_eq!(sink.dropped[0], Dropped { stage: "select", reason: "type", kind: EventKind::Raw });
    assert_eq!(sink.dropped[1].kind, EventKind::Other);
}

#[test]
fn select_strips_members_and_keeps_the_frame_of_events_without_them() {
    let recipe = Recipe { select: Some(Select::new([], ["rawEvent"])), ..Recipe::default() };
    let sink = through(&recipe, &[r#"{"type":"CUSTOM","rawEvent":{},"f":1e2}"#, r#"{"type":"CUSTOM","f":1e2}"#]);
    assert_eq!(texts(&sink), [r#"{"type":"CUSTOM","f":1e2}"#, r#"{"type":"CUSTOM","f":1e2}"#]);
    let frames: Vec<_> = sink.events.iter().map(|e| e.frame(Encoding::Sse).is_some()).collect();
    assert_eq!(frames, [false, true], "only an edited event is encoded again");
    assert_eq!(sink.dropped, [Dropped { stage: "select", reason: "member", kind: EventKind::Custom }]);
}

/// Holds one event for a while, to try out deadlines.
#[derive(Debug)]
struct Hold {
    wait: Duration,
    held: Option<(Event, Instant)>,
}

impl Stage for Hold {
    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        self.end(End::Closed, at, out);
        self.held = Some((event, at + self.wait));
    }
    fn deadline(&self) -> Option<Instant> {
        self.held.as_ref().map(|h| h.1)
    }
    fn wake(&mut self, at: Instant, out: &mut Out<'_>) {
        self.end(End::Closed, at, out);
    }
    fn end(&mut self, _: End, at: Instant, out: &mut Out<'_>) {
        if let Some((event, _)) = self.held.take() {
            out.send(event, at);
        }
    }
    fn held(&self) -> usize {
        self.held.as_ref().map_or(0, |h| h.0.text().len())
    }
}

#[test]
fn a_stage_is_woken_at_its_deadline_and_not_before() {
    let hold = |ms| -> Box<dyn Stage> { Box::new(Hold { wait: Duration::from_millis(ms), held: None }) };
    let mut pipeline = Pipeline::of(vec![hold(20), hold(5)]);
    let (mut sink, start) = (Sink::default(), Instant::now());
    pipeline.event(event("{}"), start, &mut sink);
    assert_eq!(pipeline.deadline(), Some(start + Duration::from_millis(20)));
    pipeline.wake(start + Duration::from_millis(19), &mut sink);
    assert_eq!(pipeline.held(), 2);
    pipeline.wake(start + Duration::from_millis(20), &mut sink);
    assert_eq!(pipeline.deadline(), Some(start + Duration::from_millis(25)));
    assert!(sink.events.is_empty());
    pipeline.wake(start + Duration::from_millis(25), &mut sink);
    assert_eq!(texts(&sink), ["{}"]);
    assert_eq!(pipeline.deadline(), None);
}

#[test]
fn nothing_stays_held_at_the_end() {
    let hold = |ms| -> Box<dyn Stage> { Box::new(Hold { wait: Duration::from_millis(ms), held: None }) };
    let mut pipeline = Pipeline::of(vec![hold(20), hold(5), hold(9)]);
    let (mut sink, start) = (Sink::default(), Instant::now());
    for text in ["1", "2", "3", "4", "5"] {
        pipeline.event(event(text), start, &mut sink);
    }
    pipeline.end(End::Broken, start, &mut sink);
    assert_eq!(texts(&sink), ["1", "2", "3", "4", "5"]);
    assert_eq!(pipeline.held(), 0);
}
