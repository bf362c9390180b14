//! What a run measures: its events and moments come in, metrics and its line in the run log go out. Counts are
//! kept on the run's own thread and handed over about once a second, so that no event touches what threads
//! share.

use std::{
    borrow::Cow,
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{budget::Spent, pending::Pending, socket::Line, usage};
use crate::{
    agui::{Encoding, Event, EventKind, Life, Version},
    observe::{
        ActiveRun, ClientVersion, Code, Decision, Direction, Metrics, Outcome, RouteMetrics, RunRecord, StatePatch,
    },
    pipeline::{self, Called, Dropped, Merged, PatchResult},
    wire::proto::Losses,
};

/// How long counts may stay on the run.
const HAND_OVER: Duration = Duration::from_secs(1);
/// How many tool calls are timed at once; the oldest is forgotten for another.
const TIMED_CALLS: usize = 64;

/// The figures of one stream.
pub struct Tally {
    metrics: Metrics,
    route: Arc<RouteMetrics>,
    active: Option<ActiveRun>,
    record: Box<RunRecord>,
    received: Instant,
    read: Counts,
    sent: Counts,
    handed_over: Instant,
    unwritten: Option<(Instant, usize)>,
    fresh: usize,
    /// The agent's last event, unless it ended the run: the run has waited for the next one since then.
    silent_since: Option<Instant>,
    calls: VecDeque<(String, Instant)>,
    billed: bool,
    outcome: Option<Outcome>,
    past: Vec<Outcome>,
    /// What is named already: each once, a closed set.
    named: Vec<Named>,
    /// Between which versions, and at what cost.
    conversions: Pending<(ClientVersion, ClientVersion, &'static str)>,
    /// From which encoding, and what.
    losses: Pending<(Encoding, &'static str)>,
    /// By which stage, and why.
    dropped: Pending<(&'static str, &'static str)>,
    violations: Pending<&'static str>,
    repaired: Pending<&'static str>,
    merged: Pending<EventKind>,
    saved: u64,
    /// Which tool, by its place in the configuration.
    decided: Pending<(Option<usize>, Decision)>,
    /// A policy decides about tool calls, and says so itself.
    has_policy: bool,
    held: usize,
}

/// What is logged once a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    /// A shape of events of this kind was left out or lost.
    Shape(&'static str, EventKind),
    /// A rule was broken.
    Broken(&'static str),
    /// A breach of a rule was mended.
    Mended(&'static str),
}

/// Events and bytes of one direction.
#[derive(Debug)]
struct Counts {
    /// Not handed over yet, by kind.
    fresh: [u32; EventKind::COUNT],
    fresh_events: u32,
    fresh_bytes: u64,
    events: u64,
    bytes: u64,
}

impl Counts {
    fn new() -> Self {
        Self { fresh: [0; EventKind::COUNT], fresh_events: 0, fresh_bytes: 0, events: 0, bytes: 0 }
    }

    fn add(&mut self, kind: EventKind, size: usize) {
        self.fresh[kind.index()] += 1;
        self.fresh_events += 1;
        self.fresh_bytes += size as u64;
        self.events += 1;
        self.bytes += size as u64;
    }

    fn hand_over(&mut self, route: &RouteMetrics, direction: Direction, encoding: Encoding) {
        if std::mem::take(&mut self.fresh_events) == 0 {
            return;
        }
        for (kind, count) in EventKind::ALL.iter().zip(&mut self.fresh) {
            if *count > 0 {
                route.events(direction, *kind, u64::from(std::mem::take(count)));
            }
        }
        route.event_bytes(direction, encoding, std::mem::take(&mut self.fresh_bytes));
    }
}

impl Tally {
    /// Nothing has happened yet since the request was read at `received`, or had come so far if it is not read whole.
    ///
    /// `active` is the run, if it is known to be one; `record` holds what is known of it before its stream begins.
    pub fn new(
        metrics: Metrics,
        route: Arc<RouteMetrics>,
        active: Option<ActiveRun>,
        record: RunRecord,
        received: Instant,
    ) -> Self {
        Self {
            metrics,
            route,
            active,
            record: Box::new(record),
            received,
            read: Counts::new(),
            sent: Counts::new(),
            handed_over: received,
            unwritten: None,
            fresh: 0,
            silent_since: None,
            calls: VecDeque::new(),
            billed: false,
            outcome: None,
            past: Vec::new(),
            named: Vec::new(),
            conversions: Pending::default(),
            losses: Pending::default(),
            dropped: Pending::default(),
            violations: Pending::default(),
            repaired: Pending::default(),
            merged: Pending::default(),
            saved: 0,
            decided: Pending::default(),
            has_policy: false,
            held: 0,
        }
    }

    /// A policy decides about tool calls, and says so: they are not counted as allowed here.
    pub fn has_policy(self, has_policy: bool) -> Self {
        Self { has_policy, ..self }
    }

    /// It is a run.
    pub fn begin(&mut self) {
        self.active.get_or_insert_with(|| self.route.active());
    }

    /// An event came from the agent.
    pub fn read(&mut self, event: &Event, at: Instant) {
        if event.kind() == EventKind::RunStarted {
            self.run_started(event);
        }
        self.read.add(event.kind(), event.size());
        if self.record.first_event.is_none() {
            self.record.first_event = Some(at - self.received);
            self.route.first_event(at - self.received);
        }
        self.silent_until(at);
        // A run of one event was never silent.
        self.record.max_gap.get_or_insert_default();
        let kind = event.kind();
        if self.record.first_content.is_none() && kind.is_content() {
            self.record.first_content = Some(at - self.received);
            self.route.first_content(at - self.received);
        }
        match kind {
            // Nothing that follows makes a failed run a success.
            EventKind::RunFinished if self.outcome == Some(Outcome::AgentError) => {}
            EventKind::RunFinished => {
                self.outcome = Some(usage::outcome(event));
                self.bill(event);
            }
            EventKind::RunError => {
                self.outcome = Some(Outcome::AgentError);
                self.record.code = event.string("code").map(Cow::into_owned);
                self.bill(event);
            }
            EventKind::ToolCallStart | EventKind::ToolCallChunk | EventKind::ToolCallResult => {
                self.tool_call(event, at)
            }
            _ => {}
        }
        self.silent_since = self.outcome.is_none().then_some(at);
    }

    /// The agent was silent until now, if the run owed its end. What comes next, if anything, is no silence.
    pub fn silent_until(&mut self, at: Instant) {
        if let Some(since) = self.silent_since.take() {
            self.record.max_gap = self.record.max_gap.max(Some(at.saturating_duration_since(since)));
        }
    }

    fn run_started(&mut self, event: &Event) {
        if let Some(outcome) = self.outcome.take() {
            self.ends_as(outcome);
        }
        self.record.code = None;
        self.billed = false;
        let record = &mut *self.record;
        for (name, place) in [
            ("threadId", &mut record.thread_id),
            ("runId", &mut record.run_id),
            ("parentRunId", &mut record.parent_run_id),
            ("protocolVersion", &mut record.agent_version),
        ] {
            if let Some(text) = event.string(name) {
                *place = Some(text.into_owned());
            }
        }
    }

    /// Adds up usage, once a run: a late `RUN_ERROR` may tell the same again.
    fn bill(&mut self, event: &Event) {
        let Some(tokens) = usage::Tokens::of(event).filter(|_| !self.billed) else { return };
        self.billed = true;
        for (kind, n) in tokens.each() {
            self.route.tokens(kind, n);
            let sum = &mut self.record.tokens[kind.index()];
            *sum = sum.saturating_add(n);
        }
    }

    fn tool_call(&mut self, event: &Event, at: Instant) {
        let Some(id) = event.string("toolCallId") else { return };
        let known = self.calls.iter().position(|(call, _)| *call == id);
        match event.kind() {
            EventKind::ToolCallResult => {
                if let Some((_, begun)) = known.and_then(|place| self.calls.remove(place)) {
                    self.route.tool_call_duration(at - begun);
                }
            }
            EventKind::ToolCallChunk if known.is_some() || event.member("toolCallName").is_none() => {}
            _ => {
                self.record.tool_calls += 1;
                if !self.has_policy {
                    self.decided.add((None, Decision::Allowed));
                }
                if self.calls.len() == TIMED_CALLS {
                    self.calls.pop_front();
                }
                if id.len() <= 256 {
                    self.calls.push_back((id.into(), at));
                }
            }
        }
    }

    /// What the agent has sent so far.
    pub fn spent(&self) -> Spent {
        Spent { events: self.read.events, bytes: self.read.bytes, tool_calls: self.record.tool_calls }
    }

    /// An event goes to the client.
    pub fn sent(&mut self, kind: EventKind, size: usize) {
        self.sent.add(kind, size);
        self.fresh += 1;
    }

    /// A stage left something out. Each shape is logged once a run.
    pub fn dropped(&mut self, dropped: &Dropped) {
        self.left_out(dropped, || dropped.kind.as_str().into());
    }

    /// The agent broke this rule. Each is logged once a stream.
    pub fn violated(&mut self, rule: &'static str) {
        self.violations.add(rule);
        if self.is_new(Named::Broken(rule)) {
            tracing::info!(rule, run_id = self.record.run_id, "the agent broke a rule of the protocol");
        }
    }

    /// The guard mended a breach of this rule. Each is logged once a stream.
    pub fn repaired(&mut self, rule: &'static str) {
        self.repaired.add(rule);
        if self.is_new(Named::Mended(rule)) {
            tracing::info!(rule, run_id = self.record.run_id, "a breach of the protocol was mended");
        }
    }

    /// A `RUN_ERROR` goes to the client. If nobody else has said so, it is the agent's own, in other words.
    pub fn failed(&mut self, event: &Event) {
        if self.outcome.is_none() {
            self.outcome = Some(Outcome::AgentError);
            self.record.code = event.string("code").map(Cow::into_owned);
        }
    }

    /// What became of a change to the shared state.
    pub fn patched(&mut self, result: PatchResult) {
        self.route.state_patch(match result {
            PatchResult::Applied => StatePatch::Applied,
            PatchResult::Failed => StatePatch::Failed,
            PatchResult::Compacted => StatePatch::Compacted,
            PatchResult::Resynced => StatePatch::Resynced,
        });
    }

    /// An event went into another one.
    pub fn merged(&mut self, merged: Merged) {
        self.record.merged += 1;
        self.saved += merged.saved as u64;
        self.merged.add(merged.kind);
    }

    /// The throttle held an event this long.
    pub fn waited(&mut self, time: Duration) {
        self.route.event_held(time);
    }

    /// The policy decided about a tool call.
    pub fn called(&mut self, called: Called) {
        let decision = match called.decision {
            pipeline::Decision::Allowed => Decision::Allowed,
            pipeline::Decision::Dropped => Decision::Dropped,
            pipeline::Decision::Masked => Decision::Masked,
            pipeline::Decision::Refused => Decision::Refused,
        };
        self.decided.add((called.tool, decision));
    }

    /// What the encoding `of` could say of an event and the other one could not.
    pub fn lost(&mut self, losses: Losses, kind: EventKind, of: Encoding) {
        if losses.is_empty() {
            return;
        }
        let to = of.other();
        for shape in losses.iter().map(|shape| shape.as_str()) {
            self.losses.add((of, shape));
            if self.is_new(Named::Shape(shape, kind)) {
                let (r#type, run_id) = (kind.as_str(), self.record.run_id.as_deref());
                tracing::info!(loss = shape, r#type, from = of.as_str(), to = to.as_str(), run_id, "lost on the way");
            }
        }
    }

    /// Events were reshaped between these versions; `loss` is what it cost, or `none`. Whether that is new in this
    /// stream.
    pub fn converted(&mut self, from: Version, to: Version, kind: EventKind, loss: &'static str) -> bool {
        let (from, to) = (ClientVersion::of(from), ClientVersion::of(to));
        self.conversions.add((from, to, loss));
        self.is_new(Named::Shape(loss, kind))
    }

    /// The run that is read now.
    pub fn run_id(&self) -> Option<&str> {
        self.record.run_id.as_deref()
    }

    /// An event for which the client's encoding has no place.
    pub fn not_carried(&mut self, event: &Event, shape: &'static str) {
        let dropped = Dropped { stage: "protobuf", reason: shape, kind: event.kind() };
        self.left_out(&dropped, || event.type_name().unwrap_or_default().chars().take(64).collect());
    }

    /// Counts what was left out, and logs its shape by this name once a run.
    fn left_out(&mut self, dropped: &Dropped, name: impl FnOnce() -> String) {
        let Dropped { stage, reason, kind } = *dropped;
        if self.is_new(Named::Shape(reason, kind)) {
            tracing::info!(stage, reason, r#type = name(), run_id = self.record.run_id, "left out of the run");
        }
        self.record.dropped += 1;
        self.dropped.add((stage, reason));
    }

    /// Whether this is met for the first time in this stream.
    fn is_new(&mut self, named: Named) -> bool {
        let new = !self.named.contains(&named);
        if new {
            self.named.push(named);
        }
        new
    }

    /// A comment goes to a quiet client.
    pub fn kept_alive(&self) {
        self.route.keepalives(1);
    }

    /// The events sent since the last call, read at `read_at`, are on their way to the client; what the throttle held, and
    /// what the gateway makes by its own clock, counts from when it was let go.
    pub fn handed_over(&mut self, read_at: Option<Instant>, line: Option<&Line>) {
        let events = std::mem::take(&mut self.fresh);
        let Some(read_at) = read_at.filter(|_| events > 0) else { return };
        match (line, &mut self.unwritten) {
            (Some(_), Some((_, waiting))) => *waiting += events,
            (Some(line), none) => {
                *none = Some((read_at, events));
                line.watch();
            }
            (None, _) => self.delayed(read_at.elapsed(), events),
        }
        if read_at.duration_since(self.handed_over) > HAND_OVER {
            self.handed_over = read_at;
            self.hand_over();
        }
    }

    /// The events sent since the last call wait for a client that does not read: their delay is the client's.
    pub fn not_handed_over(&mut self) {
        self.fresh = 0;
    }

    /// Looks whether the client's socket has taken what was handed over.
    pub fn delivered(&mut self, line: Option<&Line>) {
        let Some(line) = line else { return };
        if let Some(wrote_at) = line.wrote()
            && let Some((read_at, events)) = self.unwritten.take()
        {
            self.delayed(wrote_at.saturating_duration_since(read_at), events);
        }
        self.stalled(line.stalled());
    }

    /// The client was waited for so long.
    pub fn stalled(&mut self, time: Duration) {
        if !time.is_zero() {
            self.route.client_stall(time);
            // Meanwhile nobody read what the agent may have said.
            self.silent_since = self.silent_since.map(|since| (since + time).min(Instant::now()));
        }
    }

    /// The last events are handed over: nobody will ask any more when the socket took them.
    pub fn handed_over_last(&mut self) {
        if let Some((read_at, events)) = self.unwritten.take() {
            self.delayed(read_at.elapsed(), events);
        }
    }

    fn delayed(&mut self, delay: Duration, events: usize) {
        self.record.delay.add(delay, events);
        self.route.event_delay(delay, events);
    }

    fn hand_over(&mut self) {
        let (from, to) = (self.record.agent_encoding, self.record.client_encoding);
        self.read.hand_over(&self.route, Direction::In, from.unwrap_or(Encoding::Sse));
        self.sent.hand_over(&self.route, Direction::Out, to.unwrap_or(Encoding::Sse));
        let route = &self.route;
        self.conversions.take().for_each(|((from, to, loss), n)| route.converted(from, to, loss, n));
        self.losses.take().for_each(|((of, shape), n)| route.lost(of, of.other(), shape, n));
        self.dropped.take().for_each(|((stage, reason), n)| route.dropped(stage, reason, n));
        self.violations.take().for_each(|(rule, n)| route.violation(rule, n));
        self.repaired.take().for_each(|(rule, n)| route.repaired(rule, n));
        self.merged.take().for_each(|(kind, n)| route.merged(kind, n));
        route.saved(std::mem::take(&mut self.saved));
        self.decided.take().for_each(|((tool, decision), n)| route.tool_call(tool, decision, n));
    }

    /// The bytes that are held for this stream now.
    pub fn holds(&mut self, bytes: usize) {
        if bytes != self.held {
            let held = self.metrics.held_bytes();
            held.add(bytes);
            held.sub(std::mem::replace(&mut self.held, bytes));
        }
    }

    /// The gateway ends the run.
    pub fn stopped(&mut self, code: Code, outcome: Outcome) {
        self.outcome = Some(outcome);
        self.record.code = Some(code.as_str().into());
    }

    /// The stream is over without a word of the gateway's: this was its outcome, if the run had none.
    pub fn ended(&mut self, outcome: Outcome, life: Life) {
        if life.owes_an_end() {
            self.outcome = Some(outcome);
        }
    }

    /// Nothing more will come. `left`: the outcome if neither the agent nor the gateway ended the run.
    pub fn over(&mut self, life: Life, left: Outcome) {
        self.holds(0);
        if self.active.is_none() {
            return;
        }
        self.hand_over();
        self.silent_until(Instant::now());
        let outcome = self.outcome.unwrap_or(if life.owes_an_end() { left } else { Outcome::Finished });
        self.ends_as(outcome);
        let version = self.client_version();
        let encoding = self.record.client_encoding.unwrap_or(Encoding::Sse);
        for outcome in std::mem::take(&mut self.past) {
            self.route.run_over(outcome, version, encoding, self.received.elapsed());
        }
        self.active = None;
    }

    fn client_version(&self) -> ClientVersion {
        match &self.record.client_version {
            Some(version) => ClientVersion::from_declared(version),
            None => ClientVersion::UNDECLARED,
        }
    }

    /// One run of the stream is over. The next one's silence is its own.
    fn ends_as(&mut self, outcome: Outcome) {
        self.log(outcome);
        self.past.push(outcome);
        if let Some(gap) = self.record.max_gap.take() {
            self.route.max_gap(gap);
        }
    }

    /// One line: ids, outcome and longest gap are this run's, other figures are the stream's so far.
    fn log(&mut self, outcome: Outcome) {
        let record = &mut *self.record;
        record.outcome = outcome;
        record.lasted = self.received.elapsed();
        (record.events_in, record.bytes_in) = (self.read.events, self.read.bytes);
        (record.events_out, record.bytes_out) = (self.sent.events, self.sent.bytes);
        record.log();
    }
}
