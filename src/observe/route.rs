//! What is measured about the runs of one route at one agent: observations come in, cheaply and from any thread.

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use metrics::{Counter, Gauge, Histogram};

use super::{
    ClientVersion,
    families::{self, Family},
    handles::{Counters, Table},
    labels::{Decision, Direction, Outcome, StatePatch, TokenKind},
    metrics::{Metrics, STATUS_CLASSES, status_class},
    tallies::{Delays, Seconds},
};
use crate::agui::{Encoding, EventKind};

/// The handles of one route and agent; made by [`Metrics::route`] when the configuration is loaded, then held.
pub struct RouteMetrics {
    metrics: Metrics,
    route: Box<str>,
    agent: Box<str>,
    active: Gauge,
    first_event: Histogram,
    first_content: Histogram,
    max_gap: Histogram,
    tool_call_duration: Histogram,
    keepalives: Counter,
    delays: Arc<Delays>,
    held: Arc<Delays>,
    saved: Counter,
    stall: Arc<Seconds>,
    runs: Table<(Outcome, ClientVersion, Encoding), Counter>,
    durations: Table<Outcome, Histogram>,
    events_in: Counters<{ EventKind::COUNT }>,
    events_out: Counters<{ EventKind::COUNT }>,
    bytes: Counters<{ Direction::COUNT * Encoding::COUNT }>,
    merged: Counters<{ EventKind::COUNT }>,
    dropped: Table<(&'static str, &'static str), Counter>,
    repaired: Table<&'static str, Counter>,
    violations: Table<&'static str, Counter>,
    conversions: Table<(&'static str, &'static str, &'static str), Counter>,
    tools: Box<[Box<str>]>,
    tool_calls: Table<(Option<usize>, Decision), Counter>,
    tokens: Counters<{ TokenKind::COUNT }>,
    state_patches: Counters<{ StatePatch::COUNT }>,
    requests: Counters<{ STATUS_CLASSES.len() }>,
}

/// The tool label of every call that the configuration does not name.
const OTHER_TOOL: &str = "other";

impl std::fmt::Debug for RouteMetrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RouteMetrics").field("route", &self.route).field("agent", &self.agent).finish_non_exhaustive()
    }
}

impl RouteMetrics {
    pub(super) fn new(metrics: Metrics, route: &str, agent: &str, tools: &[String]) -> Self {
        let registry = metrics.registry();
        Self {
            route: route.into(),
            agent: agent.into(),
            active: registry.gauge(&families::RUNS_ACTIVE, [route, agent]),
            first_event: registry.histogram(&families::FIRST_EVENT, [route, agent]),
            first_content: registry.histogram(&families::FIRST_CONTENT, [route, agent]),
            max_gap: registry.histogram(&families::MAX_GAP, [route, agent]),
            tool_call_duration: registry.histogram(&families::TOOL_CALL_DURATION, [route]),
            keepalives: registry.counter(&families::KEEPALIVES, [route]),
            delays: metrics.delays(route),
            held: metrics.held_times(route),
            saved: registry.counter(&families::BYTES_SAVED, [route]),
            stall: metrics.stall(route),
            runs: Table::new(),
            durations: Table::new(),
            events_in: Counters::new(),
            events_out: Counters::new(),
            bytes: Counters::new(),
            merged: Counters::new(),
            dropped: Table::new(),
            repaired: Table::new(),
            violations: Table::new(),
            conversions: Table::new(),
            tools: tools.iter().map(|name| name.as_str().into()).collect(),
            tool_calls: Table::new(),
            tokens: Counters::new(),
            state_patches: Counters::new(),
            requests: Counters::new(),
            metrics,
        }
    }

    /// Counts one more stream in flight until the guard is dropped.
    pub fn active(self: &Arc<Self>) -> ActiveRun {
        self.active.increment(1.0);
        ActiveRun(Arc::clone(self))
    }

    /// A run is over; `lasted` from its request being read to the last byte being written.
    pub fn run_over(&self, outcome: Outcome, client: ClientVersion, encoding: Encoding, lasted: Duration) {
        let register = || {
            let labels = [&*self.route, &*self.agent, outcome.as_str(), client.as_str(), encoding.as_str()];
            self.metrics.registry().counter(&families::RUNS, labels)
        };
        self.runs.get(&(outcome, client, encoding), register).increment(1);
        let register = || self.metrics.registry().histogram(&families::RUN_DURATION, [&*self.route, outcome.as_str()]);
        self.durations.get(&outcome, register).record(lasted.as_secs_f64());
    }

    /// From the request being read to the first event of the agent.
    pub fn first_event(&self, after: Duration) {
        self.first_event.record(after.as_secs_f64());
    }

    /// From the request being read to the first delta that a person sees.
    pub fn first_content(&self, after: Duration) {
        self.first_content.record(after.as_secs_f64());
    }

    /// The longest silence of a run that is over.
    pub fn max_gap(&self, gap: Duration) {
        self.max_gap.record(gap.as_secs_f64());
    }

    /// What the gateway added to these events, from read to written; the same for all that one write carried.
    pub fn event_delay(&self, delay: Duration, events: usize) {
        if events > 0 {
            self.delays.add(delay, events as u64);
        }
    }

    /// The throttle held an event this long.
    pub fn event_held(&self, time: Duration) {
        self.held.add(time, 1);
    }

    /// Bytes of payload that merging saved.
    pub fn saved(&self, bytes: u64) {
        self.saved.increment(bytes);
    }

    /// Events of this kind went this way.
    pub fn events(&self, direction: Direction, kind: EventKind, n: u64) {
        let counters = match direction {
            Direction::In => &self.events_in,
            Direction::Out => &self.events_out,
        };
        counters
            .add(kind.index(), n, || self.counter(&families::EVENTS, [&self.route, direction.as_str(), kind.as_str()]));
    }

    /// Bytes of events went this way: of SSE the JSON alone, of protobuf whole frames.
    pub fn event_bytes(&self, direction: Direction, encoding: Encoding, n: u64) {
        let place = direction.index() * Encoding::COUNT + encoding.index();
        self.bytes.add(place, n, || {
            self.counter(&families::EVENT_BYTES, [&self.route, direction.as_str(), encoding.as_str()])
        });
    }

    /// Events of this kind were merged into another.
    pub fn merged(&self, kind: EventKind, n: u64) {
        self.merged.add(kind.index(), n, || self.counter(&families::EVENTS_MERGED, [&self.route, kind.as_str()]));
    }

    /// Events were dropped on purpose: by this stage, for this reason. Both are fixed texts of the code (I10).
    pub fn dropped(&self, stage: &'static str, reason: &'static str, n: u64) {
        if n > 0 {
            let register = || self.counter(&families::EVENTS_DROPPED, [&self.route, stage, reason]);
            self.dropped.get(&(stage, reason), register).increment(n);
        }
    }

    /// The guard closed, dropped or made events by this rule, a fixed text of the code (I10).
    pub fn repaired(&self, rule: &'static str, n: u64) {
        if n > 0 {
            let register = || self.counter(&families::EVENTS_REPAIRED, [&self.route, rule]);
            self.repaired.get(&rule, register).increment(n);
        }
    }

    /// The agent broke this rule of the protocol, a fixed text of the code (I10).
    pub fn violation(&self, rule: &'static str, n: u64) {
        let register = || self.counter(&families::VIOLATIONS, [&self.agent, rule]);
        self.violations.get(&rule, register).increment(n);
    }

    /// Events were reshaped between versions; `loss` names the shape that was lost, or is `none`.
    pub fn converted(&self, from: ClientVersion, to: ClientVersion, loss: &'static str, n: u64) {
        self.conversion(from.as_str(), to.as_str(), loss, n);
    }

    /// Events lost this on the way from one encoding to the other.
    pub fn lost(&self, from: Encoding, to: Encoding, loss: &'static str, n: u64) {
        self.conversion(from.as_str(), to.as_str(), loss, n);
    }

    fn conversion(&self, from: &'static str, to: &'static str, loss: &'static str, n: u64) {
        if n > 0 {
            let register = || self.counter(&families::CONVERSIONS, [&self.route, from, to, loss]);
            self.conversions.get(&(from, to, loss), register).increment(n);
        }
    }

    /// The policy decided about calls of the tool in this place of those that the configuration names.
    pub fn tool_call(&self, tool: Option<usize>, decision: Decision, n: u64) {
        let register = || {
            let tool = tool.and_then(|place| self.tools.get(place)).map_or(OTHER_TOOL, |name| name);
            self.counter(&families::TOOL_CALLS, [&self.route, tool, decision.as_str()])
        };
        self.tool_calls.get(&(tool, decision), register).increment(n);
    }

    /// From the start of a tool call to its result.
    pub fn tool_call_duration(&self, took: Duration) {
        self.tool_call_duration.record(took.as_secs_f64());
    }

    /// Tokens that the agent reported.
    pub fn tokens(&self, kind: TokenKind, n: u64) {
        self.tokens.add(kind.index(), n, || self.counter(&families::TOKENS, [&self.route, &self.agent, kind.as_str()]));
    }

    /// What became of a change to the shared state.
    pub fn state_patch(&self, result: StatePatch) {
        self.state_patches
            .add(result.index(), 1, || self.counter(&families::STATE_PATCHES, [&self.route, result.as_str()]));
    }

    /// A request of this route was answered.
    pub fn request(&self, status: StatusCode) {
        let class = status_class(status);
        self.requests.add(class, 1, || self.counter(&families::REQUESTS, [&self.route, STATUS_CLASSES[class]]));
    }

    /// Comments were sent to a quiet client.
    pub fn keepalives(&self, n: u64) {
        self.keepalives.increment(n);
    }

    /// The gateway waited this long for a client to read.
    pub fn client_stall(&self, waited: Duration) {
        self.stall.add(waited);
    }

    fn counter<const N: usize>(&self, family: &Family, values: [&str; N]) -> Counter {
        self.metrics.registry().counter(family, values)
    }
}

/// One stream in flight, in `tidegate_runs_active` for as long as this lives.
#[must_use = "the stream counts only while this lives"]
#[derive(Debug)]
pub struct ActiveRun(Arc<RouteMetrics>);

impl Drop for ActiveRun {
    fn drop(&mut self) {
        self.0.active.decrement(1.0);
    }
}
