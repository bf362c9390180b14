//! `throttle`, `tools` and `redact`: what the checked configuration says of them.

use std::time::Duration;

/// `throttle`: deltas are merged, so that a client is woken less often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttle {
    /// How long deltas are merged before they leave. Zero: only while the client does not read. Default: 33 ms.
    pub every: Duration,
    /// From this many characters on, what is merged leaves early. Default: 4096.
    pub max_chars: usize,
    /// What becomes of the agent while the client does not read. Default: it is read on and merged.
    pub slow_client: SlowClient,
    /// What becomes of the `rawEvent` of merged events. Default: it is left out.
    pub raw_event: RawEvent,
}

/// `throttle.slow_client`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowClient {
    /// It is read on, up to a bound, and what waits is merged.
    Merge,
    /// It waits.
    Wait,
}

/// `throttle.raw_event`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawEvent {
    /// It is left out of events that are merged.
    Drop,
    /// Events that have one are not merged.
    Keep,
}

/// `tools`: which tools an agent may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tools {
    /// Names, with `*` for any characters; nothing else may be called. `None`: everything may.
    pub allow: Option<Vec<String>>,
    /// Names that may not be called, whatever `allow` says.
    pub deny: Vec<String>,
    /// What becomes of a call that is denied. Default: it is left out.
    pub on_denied: OnDenied,
    /// What becomes of `RAW` events and `rawEvent` members. Default: they are left out.
    pub raw: RawEvents,
    /// Calls that are denied for what their arguments say.
    pub arguments: Vec<ArgumentRule>,
    /// Results that are denied for what they say.
    pub results: Vec<ResultRule>,
}

/// `tools.on_denied`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDenied {
    /// It is left out.
    Drop,
    /// It is shown without its arguments and its result.
    Mask,
    /// It ends the run.
    Error,
}

/// `tools.raw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawEvents {
    /// They are left out.
    Drop,
    /// They pass, whatever they repeat.
    Pass,
}

/// An entry of `tools.arguments`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentRule {
    /// The tools it is about.
    pub tool: String,
    /// Which of the arguments, as a JSON pointer.
    pub path: String,
    /// A regular expression; a call in which it is found is denied.
    pub matches: String,
}

/// An entry of `tools.results`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultRule {
    /// The tools it is about.
    pub tool: String,
    /// A regular expression; a result in which it is found is denied.
    pub matches: String,
}

/// An entry of `redact`: a pattern that is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redaction {
    /// A regular expression that matches nowhere where nothing is.
    pub pattern: String,
    /// What stands in its place, as it is.
    pub with: String,
}
