//! Events come in, the events that follow from them go out, by way of the stages that a route configures.
//! Time comes in as an argument; no stage reads a clock, touches a socket or writes a log.

mod downgrade;
mod expand;
pub mod guard;
pub mod input;
pub mod redact;
mod select;
pub mod state;
#[cfg(test)]
mod tests;
pub mod throttle;
pub mod tools;
mod upgrade;

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

pub use downgrade::Unrepresentable;
pub use select::Select;

use crate::agui::{Encoding, Event, EventKind, Kinds, Version};

/// One step of a pipeline, with what it remembers of one stream.
pub trait Stage: fmt::Debug {
    /// The events that it has to see; the others go past it. Asked once, before the first event.
    fn kinds(&self) -> Kinds {
        Kinds::ALL
    }

    /// Takes one event and sends on what follows from it: nothing, itself, or others.
    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>);

    /// When [`Stage::wake`] wants to be called, if this stage is holding anything.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// The deadline has passed.
    fn wake(&mut self, _at: Instant, _out: &mut Out<'_>) {}

    /// The client has stopped reading, or reads again. While it does not, what may be merged can be held.
    fn slow(&mut self, _slow: bool, _at: Instant, _out: &mut Out<'_>) {}

    /// The stream is over; nothing may stay held.
    fn end(&mut self, _how: End, _at: Instant, _out: &mut Out<'_>) {}

    /// Bytes held for this stream.
    fn held(&self) -> usize {
        0
    }

    /// Whether a run's terminal event is among them, so that the stream will have an end.
    fn holds_an_end(&self) -> bool {
        false
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

/// Between which versions an event was reshaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// From an older agent's to the current one.
    Up,
    /// From the current one to an older client's.
    Down,
}

impl Way {
    /// Which side is the older one.
    pub const fn older(self) -> &'static str {
        match self {
            Self::Up => "agent",
            Self::Down => "client",
        }
    }
}

/// What became of an event on its way between two versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Converted {
    /// Which way.
    pub way: Way,
    /// What it came as.
    pub kind: EventKind,
    /// What got lost.
    pub loss: Loss,
}

/// What a conversion costs. The shapes are fixed texts of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Nothing: the same is said in other words.
    None,
    /// A part of the event of this shape.
    Part(&'static str),
    /// All of it, for being of this shape.
    Whole(&'static str),
}

/// What became of a change to the shared state. What could not be judged is not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchResult {
    /// A delta applied.
    Applied,
    /// A delta did not apply, and was passed on or left out.
    Failed,
    /// A snapshot was sent as a delta.
    Compacted,
    /// A delta did not apply, and a snapshot was sent instead.
    Resynced,
}

/// An event that went into another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merged {
    /// What it was.
    pub kind: EventKind,
    /// How many bytes of payload that saved.
    pub saved: usize,
}

/// What the policy decided about a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It goes on.
    Allowed,
    /// It is left out.
    Dropped,
    /// It is shown without its arguments and its result.
    Masked,
    /// It ends the run.
    Refused,
}

/// A tool call that was decided about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Called {
    /// The place, among the names that the policy was written with, of the one that means this tool.
    pub tool: Option<usize>,
    /// What becomes of it.
    pub decision: Decision,
}

/// What came out of a pipeline.
#[derive(Debug, Default)]
pub struct Sink {
    /// Events for the client, in order.
    pub events: Vec<Event>,
    /// What was left out on the way.
    pub dropped: Vec<Dropped>,
    /// What was reshaped on the way.
    pub converted: Vec<Converted>,
    /// What became of changes to the shared state.
    pub patched: Vec<PatchResult>,
    /// The rules that the agent broke, by name, once for each time.
    pub violations: Vec<&'static str>,
    /// The rules that were mended, by name, once for each event that was left out, changed or added.
    pub repaired: Vec<&'static str>,
    /// Events that went into others.
    pub merged: Vec<Merged>,
    /// How long events were held: one entry for each that was, by the oldest that it is made of.
    pub waited: Vec<Duration>,
    /// The tool calls that were decided about.
    pub called: Vec<Called>,
    /// The run must be ended here, after `events`. What comes in after this is swallowed.
    pub refused: Option<Refused>,
}

/// Why a run must be ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// For what.
    pub fault: Fault,
    /// The rule's name, from a closed set.
    pub rule: &'static str,
    /// What the client may be told.
    pub message: String,
}

/// For what a run must be ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// What came cannot be read.
    Malformed,
    /// What came came at the wrong time.
    Violation,
    /// More would have to be held than may be.
    Budget,
    /// A policy forbids what came.
    Denied,
}

/// Where a stage sends what follows: the stages after it, then the client.
#[derive(Debug)]
pub struct Out<'a> {
    rest: &'a mut [Placed],
    sink: &'a mut Sink,
}

impl Out<'_> {
    /// Sends an event on.
    pub fn send(&mut self, event: Event, at: Instant) {
        let next = self.rest.iter().position(|placed| placed.kinds.contains(event.kind()));
        match next.and_then(|next| self.rest.get_mut(next..)).and_then(<[_]>::split_first_mut) {
            Some((placed, rest)) => placed.stage.event(event, at, &mut Out { rest, sink: self.sink }),
            None => self.sink.events.push(event),
        }
    }

    /// Names what this stage left out.
    pub fn dropped(&mut self, stage: &'static str, reason: &'static str, kind: EventKind) {
        self.sink.dropped.push(Dropped { stage, reason, kind });
    }

    /// Names what this stage reshaped, and what it cost.
    pub fn converted(&mut self, way: Way, kind: EventKind, loss: Loss) {
        self.sink.converted.push(Converted { way, kind, loss });
    }

    /// Says what became of a change to the shared state.
    pub fn patched(&mut self, result: PatchResult) {
        self.sink.patched.push(result);
    }

    /// Names a rule that the agent broke.
    pub fn violated(&mut self, rule: &'static str) {
        self.sink.violations.push(rule);
    }

    /// Names a rule whose breach this stage mended.
    pub fn repaired(&mut self, rule: &'static str) {
        self.sink.repaired.push(rule);
    }

    /// Names an event that went into another one, and the bytes that this saved.
    pub fn merged(&mut self, kind: EventKind, saved: usize) {
        self.sink.merged.push(Merged { kind, saved });
    }

    /// Says how long an event that is sent was held, or the oldest of those that it is made of.
    pub fn waited(&mut self, time: Duration) {
        self.sink.waited.push(time);
    }

    /// Says what the policy decided about a tool call; `tool` is the place of the name that it was written with.
    pub fn called(&mut self, tool: Option<usize>, decision: Decision) {
        self.sink.called.push(Called { tool, decision });
    }

    /// Asks for the end of the run. The first to ask is heard.
    pub fn refuse(&mut self, why: Refused) {
        self.sink.refused.get_or_insert(why);
    }
}

/// A stage in its place.
#[derive(Debug)]
struct Placed {
    kinds: Kinds,
    stage: Box<dyn Stage>,
}

/// What a route configures, ready to be built for each of its streams.
#[derive(Clone, Debug, Default)]
pub struct Recipe {
    /// Translates retired shapes whatever the agent says it speaks.
    pub upgrade: bool,
    /// Turns chunks into start, content and end.
    pub expand: bool,
    /// What becomes of breaches of the protocol's grammar.
    pub guard: guard::Mode,
    /// Leaves out the tool calls that are denied.
    pub tools: Option<Arc<tools::Policy>>,
    /// Replaces what must not leave.
    pub redact: Option<redact::Rules>,
    /// Leaves out event types and members.
    pub select: Option<Select>,
    /// Follows the shared state.
    pub state: Option<state::Policy>,
    /// Merges what comes close together.
    pub throttle: Option<throttle::Policy>,
    /// What becomes of events that a client's version cannot show.
    pub unrepresentable: Unrepresentable,
}

impl Recipe {
    /// Whether anything is kept from clients, which fails closed (as opposed to what only makes streams better).
    pub fn has_a_policy(&self) -> bool {
        self.tools.is_some() || self.redact.is_some()
    }
}

/// The two ends of one stream.
#[derive(Clone, Copy, Debug)]
pub struct Peers {
    /// What the client speaks.
    pub client: Version,
    /// What it is answered in.
    pub encoding: Encoding,
    /// What the agent speaks, unless its runs say otherwise.
    pub agent: Version,
    /// What it answers in.
    pub agent_encoding: Encoding,
}

impl Peers {
    /// Whether events need no JSON between the two. What only watches a stream is not worth reading it for.
    fn are_binary(&self) -> bool {
        self.encoding == Encoding::Protobuf && self.agent_encoding == Encoding::Protobuf
    }
}

impl Default for Peers {
    fn default() -> Self {
        let (encoding, version) = (Encoding::Sse, Version::CURRENT);
        Self { client: version, encoding, agent: version, agent_encoding: encoding }
    }
}

impl Recipe {
    /// A pipeline for one stream, its stages in the one order that is right.
    pub fn build(&self, peers: &Peers) -> Pipeline {
        self.build_knowing(peers, &tools::Known::default())
    }

    /// The same, for the answer to an input whose messages hold these calls.
    pub fn build_knowing(&self, peers: &Peers, known: &tools::Known) -> Pipeline {
        let mut stages: Vec<Box<dyn Stage>> = Vec::new();
        if self.upgrade || peers.agent.is_old() {
            stages.extend(upgrade::shims(self.upgrade));
        }
        if self.expand || downgrade::needs_expansion(peers, self.unrepresentable) {
            stages.push(Box::new(expand::Expand::default()));
        }
        let watches = self.guard == guard::Mode::Observe;
        if self.guard != guard::Mode::Off && !(watches && peers.are_binary()) {
            stages.push(Box::new(guard::Guard::new(self.guard)));
        }
        if let Some(policy) = &self.tools {
            stages.push(Box::new(tools::Tools::new(policy.clone(), known)));
        }
        if let Some(rules) = &self.redact {
            stages.push(Box::new(redact::Redact::new(rules)));
        }
        if let Some(select) = &self.select {
            stages.push(Box::new(select.clone()));
        }
        if let Some(policy) = self.state.filter(|policy| policy.acts() || !peers.are_binary()) {
            stages.push(Box::new(state::State::new(policy)));
        }
        if let Some(policy) = self.throttle.filter(throttle::Policy::acts) {
            stages.push(Box::new(throttle::Throttle::new(policy)));
        }
        if peers.client.is_old() {
            stages.extend(downgrade::shims(peers.client, self.unrepresentable));
        }
        Pipeline::of(stages)
    }
}

/// The stages of one stream.
#[derive(Debug, Default)]
pub struct Pipeline {
    stages: Vec<Placed>,
    kinds: Kinds,
}

impl Pipeline {
    fn of(stages: Vec<Box<dyn Stage>>) -> Self {
        let stages: Vec<_> = stages.into_iter().map(|stage| Placed { kinds: stage.kinds(), stage }).collect();
        let kinds = stages.iter().fold(Kinds::default(), |all, placed| all.and(placed.kinds));
        Self { stages, kinds }
    }

    /// The events that some stage has to see. The others need not be handed in.
    pub fn kinds(&self) -> Kinds {
        self.kinds
    }

    /// Takes one event of the agent's.
    pub fn event(&mut self, event: Event, at: Instant, sink: &mut Sink) {
        Out { rest: &mut self.stages, sink }.send(event, at);
    }

    /// The earliest time at which a stage wants to be woken.
    pub fn deadline(&self) -> Option<Instant> {
        self.stages.iter().filter_map(|placed| placed.stage.deadline()).min()
    }

    /// Wakes the stages whose deadline has passed.
    pub fn wake(&mut self, at: Instant, sink: &mut Sink) {
        self.each(sink, |stage, out| {
            if stage.deadline().is_some_and(|due| due <= at) {
                stage.wake(at, out);
            }
        });
    }

    /// The client has stopped reading, or reads again.
    pub fn slow(&mut self, slow: bool, at: Instant, sink: &mut Sink) {
        self.each(sink, |stage, out| stage.slow(slow, at, out));
    }

    /// The stream is over: what is held comes out.
    pub fn end(&mut self, how: End, at: Instant, sink: &mut Sink) {
        self.each(sink, |stage, out| stage.end(how, at, out));
    }

    /// Whether a stage holds a run's terminal event.
    pub fn holds_an_end(&self) -> bool {
        self.stages.iter().any(|placed| placed.stage.holds_an_end())
    }

    /// Bytes held by all stages.
    pub fn held(&self) -> usize {
        self.stages.iter().map(|placed| placed.stage.held()).sum()
    }

    fn each(&mut self, sink: &mut Sink, mut call: impl FnMut(&mut dyn Stage, &mut Out<'_>)) {
        let mut stages = self.stages.as_mut_slice();
        while let Some((placed, rest)) = stages.split_first_mut() {
            call(&mut *placed.stage, &mut Out { rest, sink });
            stages = rest;
        }
    }
}
