//! Events for the tests of the shims, and what a shim makes of them.

use std::time::Instant;

use bytes::Bytes;

use super::shims;
use crate::{
    agui::{Encoding, Event, Version},
    pipeline::{End, Loss, Pipeline, Sink, Stage, Unrepresentable},
};

/// What came out: the texts, and each loss.
pub struct Trial {
    pub texts: Vec<String>,
    pub losses: Vec<Loss>,
    /// Which of the events are forwarded in the frame that they came in.
    pub verbatim: Vec<bool>,
}

impl Trial {
    /// Through one stage.
    pub fn of(stage: impl Stage + 'static, events: &[&str]) -> Self {
        Self::through(vec![Box::new(stage)], events)
    }

    /// Through all that a client `0.0.N` needs.
    pub fn npm(n: u32, events: &[&str]) -> Self {
        Self::through(shims(Version::npm(n), Unrepresentable::Drop), events)
    }

    pub fn through(stages: Vec<Box<dyn Stage>>, events: &[&str]) -> Self {
        let mut pipeline = Pipeline::of(stages);
        let (mut sink, at) = (Sink::default(), Instant::now());
        for text in events {
            let text = Bytes::copy_from_slice(text.as_bytes());
            pipeline.event(Event::new(text.clone(), Some((Encoding::Sse, text))), at, &mut sink);
        }
        pipeline.end(End::Closed, at, &mut sink);
        Self {
            texts: sink.events.iter().map(|e| String::from_utf8_lossy(e.text()).into_owned()).collect(),
            losses: sink.converted.iter().map(|c| c.loss).collect(),
            verbatim: sink.events.iter().map(|e| e.frame(Encoding::Sse).is_some()).collect(),
        }
    }

    /// Asserts that all events passed as they are, and that nothing is said to be converted.
    pub fn assert_untouched(&self, events: &[&str]) {
        assert_eq!(self.texts, events);
        assert!(self.verbatim.iter().all(|verbatim| *verbatim), "each in its own frame");
        assert_eq!(self.losses, []);
    }
}
