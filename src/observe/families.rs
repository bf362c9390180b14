//! The catalogue: every metric's name, labels, help and buckets, once. Nothing here records anything.

/// What a family counts or measures, and how it is held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// Only grows.
    Counter,
    /// Goes both ways.
    Gauge,
    /// Observations sorted under upper bounds.
    Histogram(&'static [f64]),
}

/// One metric family.
#[derive(Clone, Copy, Debug)]
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) labels: &'static [&'static str],
    pub(super) help: &'static str,
}

/// Upper bounds that double from the first one; doubling is exact, so that 0.1 leads to 409.6 and nothing like it.
const fn doubling<const N: usize>(first: f64) -> [f64; N] {
    let mut bounds = [first; N];
    let mut i = 1;
    while i < N {
        bounds[i] = bounds[i - 1] * 2.0;
        i += 1;
    }
    bounds
}

/// 0.1 s … 409.6 s.
const LONG: &[f64] = &doubling::<13>(0.1);
/// 0.01 s … 81.92 s.
const SHORT: &[f64] = &doubling::<14>(0.01);
/// 0.01 s … 327.68 s: tools may be quick or may be agents themselves.
const TOOL: &[f64] = &doubling::<16>(0.01);
/// 1 ms … 4.096 s: the default limit of a connect is 3 s.
const CONNECT: &[f64] = &doubling::<13>(0.001);
/// 1 µs … 1 s, in seconds; closest where a healthy gateway is.
pub(super) const DELAY: &[f64] = &[1e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 2e-2, 1e-1, 1.0];

/// 1 ms … 1.024 s: a throttle's window is a fraction of a second.
pub(super) const HELD: &[f64] = &doubling::<11>(0.001);

/// Declares each family once and lists them all.
macro_rules! families {
    ($($id:ident = $kind:expr, $name:literal, $labels:expr, $help:literal;)*) => {
        $(pub(super) const $id: Family = Family { name: $name, kind: $kind, labels: &$labels, help: $help };)*
        /// Every family.
        pub(super) const ALL: &[Family] = &[$($id,)*];
    };
}

use Kind::{Counter, Gauge, Histogram};

families! {
    RUNS = Counter, "tidegate_runs_total", ["route", "agent", "outcome", "client_version", "client_encoding"],
        "Runs, counted when their stream is over.";
    RUNS_ACTIVE = Gauge, "tidegate_runs_active", ["route", "agent"],
        "Streams in flight.";
    RUN_DURATION = Histogram(LONG), "tidegate_run_duration_seconds", ["route", "outcome"],
        "From the request being read to the last byte being written.";
    FIRST_EVENT = Histogram(SHORT), "tidegate_time_to_first_event_seconds", ["route", "agent"],
        "From the request being read to the first event from the agent.";
    FIRST_CONTENT = Histogram(SHORT), "tidegate_time_to_first_content_seconds", ["route", "agent"],
        "From the request being read to the first delta of text, reasoning or a tool call.";
    MAX_GAP = Histogram(LONG), "tidegate_max_event_gap_seconds", ["route", "agent"],
        "The longest silence of a run, also the one before its end, one observation a run.";
    EVENT_DELAY = Histogram(DELAY), "tidegate_event_delay_seconds", ["route"],
        "What the gateway adds to an event, from read to written, without the time that the throttle held it.";
    EVENTS = Counter, "tidegate_events_total", ["route", "direction", "type"],
        "Events, in from agents and out to clients.";
    EVENT_BYTES = Counter, "tidegate_event_bytes_total", ["route", "direction", "encoding"],
        "Bytes of events, in from agents and out to clients: the JSON alone of an SSE event, the whole frame of a binary one.";
    EVENTS_MERGED = Counter, "tidegate_events_merged_total", ["route", "type"],
        "Events that the throttle merged into another.";
    BYTES_SAVED = Counter, "tidegate_merged_bytes_saved_total", ["route"],
        "Bytes of payload that merging saved.";
    EVENT_HELD = Histogram(HELD), "tidegate_event_held_seconds", ["route"],
        "How long the throttle held an event, by the oldest that was merged into it.";
    EVENTS_DROPPED = Counter, "tidegate_events_dropped_total", ["route", "stage", "reason"],
        "Events dropped on purpose.";
    EVENTS_REPAIRED = Counter, "tidegate_events_repaired_total", ["route", "rule"],
        "Events that the guard closed, dropped or made.";
    VIOLATIONS = Counter, "tidegate_violations_total", ["agent", "rule"],
        "Breaches of the protocol's grammar.";
    CONVERSIONS = Counter, "tidegate_conversions_total", ["route", "from", "to", "loss"],
        "Events reshaped between versions, with the shape that was lost, or none.";
    TOOL_CALLS = Counter, "tidegate_tool_calls_total", ["route", "tool", "decision"],
        "Tool calls by what the policy decided.";
    TOOL_CALL_DURATION = Histogram(TOOL), "tidegate_tool_call_duration_seconds", ["route"],
        "From the start of a tool call to its result.";
    TOKENS = Counter, "tidegate_tokens_total", ["route", "agent", "kind"],
        "Tokens that agents reported.";
    STATE_PATCHES = Counter, "tidegate_state_patches_total", ["route", "result"],
        "Changes to the shared state by what became of them.";
    REQUESTS = Counter, "tidegate_requests_total", ["route", "status"],
        "HTTP answers by class of status.";
    REQUESTS_REFUSED = Counter, "tidegate_requests_refused_total", ["reason"],
        "Requests answered without asking an agent.";
    KEEPALIVES = Counter, "tidegate_keepalives_total", ["route"],
        "Comments sent to quiet clients.";
    CLIENT_STALL = Counter, "tidegate_client_stall_seconds_total", ["route"],
        "Time spent waiting for clients to read.";
    HELD_BYTES = Gauge, "tidegate_held_bytes", [],
        "Bytes held for all runs: buffers, throttle, tracked state.";
    AGENT_CONNECT = Histogram(CONNECT), "tidegate_agent_connect_seconds", ["agent", "endpoint", "result"],
        "Time to open a connection to an agent.";
    AGENT_ATTEMPTS = Counter, "tidegate_agent_attempts_total", ["agent", "endpoint", "result"],
        "Requests sent to agents by what came of them.";
    AGENT_HEALTHY = Gauge, "tidegate_agent_healthy", ["agent", "endpoint"],
        "1 while an endpoint is given runs, else 0.";
    AGENT_EJECTIONS = Counter, "tidegate_agent_ejections_total", ["agent", "endpoint"],
        "Times that an endpoint was taken out after failures.";
    CONFIG_RELOADS = Counter, "tidegate_config_reloads_total", ["result"],
        "Times that the configuration was read again; a failed one keeps the old.";
    CONFIG_TIMESTAMP = Gauge, "tidegate_config_last_reload_success_timestamp_seconds", [],
        "When the configuration in use was loaded, in seconds since 1970.";
    CONFIG_INFO = Gauge, "tidegate_config_info", ["hash"],
        "1 for the configuration in use.";
    DRAINING = Gauge, "tidegate_draining", [],
        "1 once the gateway takes no more runs.";
    BUILD_INFO = Gauge, "tidegate_build_info", ["version", "revision"],
        "1 for this build.";
    PROCESS_CPU = Counter, "process_cpu_seconds_total", [],
        "Processor time of the process, user and system.";
    PROCESS_OPEN_FDS = Gauge, "process_open_fds", [],
        "File descriptors that are open.";
    PROCESS_MAX_FDS = Gauge, "process_max_fds", [],
        "File descriptors that may be open.";
    PROCESS_VIRTUAL = Gauge, "process_virtual_memory_bytes", [],
        "Virtual memory.";
    PROCESS_VIRTUAL_MAX = Gauge, "process_virtual_memory_max_bytes", [],
        "Virtual memory that may be used.";
    PROCESS_RESIDENT = Gauge, "process_resident_memory_bytes", [],
        "Resident memory.";
    PROCESS_START = Gauge, "process_start_time_seconds", [],
        "When the process started, in seconds since 1970.";
    PROCESS_THREADS = Gauge, "process_threads", [],
        "Threads of the process.";
}

impl Family {
    /// The unit, as the name tells it by convention.
    pub(super) fn unit(&self) -> Option<metrics::Unit> {
        let base = self.name.trim_end_matches("_total");
        if base.ends_with("_seconds") {
            Some(metrics::Unit::Seconds)
        } else if base.ends_with("_bytes") {
            Some(metrics::Unit::Bytes)
        } else {
            None
        }
    }
}
