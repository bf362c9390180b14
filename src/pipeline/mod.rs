//! Events come in, the events that follow from them go out, by way of the stages that a route configures.
//! Time comes in as an argument; no stage reads a clock, touches a socket or writes a log.

mod select;
#[cfg(test)]
mod tests;

use std::{fmt, time::Instant};

pub use select::Select;

use crate::agui::{Event, EventKind};

/// One step of a pipeline, with what it remembers of one stream.
pub trait Stage: fmt::Debug {
    /// Takes one event and sends on what follows from it: nothing, itself, or others.
    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>);

    /// When [`Stage::wake`] wants to be called, if this stage is holding anything.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// The deadline has passed.
    fn wake(&mut self, _at: Instant, _out: &mut Out<'_>) {}

    /// The stream is over; nothing may stay held.
    fn end(&mut self, _how: End, _at: Instant, _out: &mut Out<'_>) {}

    /// Bytes held for this stream.
    fn held(&self) -> usize {
        0
    }
}

/// How a stream came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The agent closed it.
    Closed,
    /// It broke off.
    Broken,
    /// The gateway stopped it: a limit, a timeout, a shutdown.
    Stopped,
}

/// What a stage did on purpose and has to name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The stage's name.
    pub stage: &'static str,
    /// Why, from a closed set.
    pub reason: &'static str,
    /// What was dropped, or the event that lost a member.
    pub kind: EventKind,
}

/// What came out of a pipeline.
#[derive(Debug, Default)]
pub struct Sink {
    /// Events for the client, in order.
    pub events: Vec<Event>,
    /// What was left out on the way.
    pub dropped: Vec<Dropped>,
}

/// Where a stage sends what follows: the stages after it, then the client.
#[derive(Debug)]
pub struct Out<'a> {
    rest: &'a mut [Box<dyn Stage>],
    sink: &'a mut Sink,
}

impl Out<'_> {
    /// Sends an event on.
    pub fn send(&mut self, event: Event, at: Instant) {
        match self.rest.split_first_mut() {
            Some((stage, rest)) => stage.event(event, at, &mut Out { rest, sink: self.sink }),
            None => self.sink.events.push(event),
        }
    }

    /// Names what this stage left out.
    pub fn dropped(&mut self, stage: &'static str, reason: &'static str, kind: EventKind) {
        self.sink.dropped.push(Dropped { stage, reason, kind });
    }
}

/// What a route configures, ready to be built for each of its streams.
#[derive(Clone, Debug, Default)]
pub struct Recipe {
    /// Leaves out event types and members.
    pub select: Option<Select>,
}

impl Recipe {
    /// A pipeline for one stream, its stages in the one order that is right.
    pub fn build(&self) -> Pipeline {
        let mut stages: Vec<Box<dyn Stage>> = Vec::new();
        if let Some(select) = &self.select {
            stages.push(Box::new(select.clone()));
        }
        Pipeline { stages }
    }
}

/// The stages of one stream.
#[derive(Debug, Default)]
pub struct Pipeline {
    stages: Vec<Box<dyn Stage>>,
}

impl Pipeline {
    /// Whether every event passes as it is.
    pub fn is_empty(&self) -> bool {
        self.stages.is_empty()
    }

    /// Takes one event of the agent's.
    pub fn event(&mut self, event: Event, at: Instant, sink: &mut Sink) {
        Out { rest: &mut self.stages, sink }.send(event, at);
    }

    /// The earliest time at which a stage wants to be woken.
    pub fn deadline(&self) -> Option<Instant> {
        self.stages.iter().filter_map(|s| s.deadline()).min()
    }

    /// Wakes the stages whose deadline has passed.
    pub fn wake(&mut self, at: Instant, sink: &mut Sink) {
        self.each(sink, |stage, out| {
            if stage.deadline().is_some_and(|due| due <= at) {
                stage.wake(at, out);
            }
        });
    }

    /// The stream is over: what is held comes out.
    pub fn end(&mut self, how: End, at: Instant, sink: &mut Sink) {
        self.each(sink, |stage, out| stage.end(how, at, out));
    }

    /// Bytes held by all stages.
    pub fn held(&self) -> usize {
        self.stages.iter().map(|s| s.held()).sum()
    }

    fn each(&mut self, sink: &mut Sink, mut call: impl FnMut(&mut Box<dyn Stage>, &mut Out<'_>)) {
        let mut stages = self.stages.as_mut_slice();
        while let Some((stage, rest)) = stages.split_first_mut() {
            call(stage, &mut Out { rest, sink });
            stages = rest;
        }
    }
}
