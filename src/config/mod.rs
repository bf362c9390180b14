//! What can be configured: files, environment and flags come in, one checked [`Config`] goes out.
//!
//! A [`Config`] is complete: defaults are merged in, secrets are read, names are resolved. Nothing in here
//! opens a socket, and nothing else in the crate reads a configuration file or a `TIDEGATE_` variable.

mod access;
mod check;
mod files;
mod layer;
mod load;
mod pem;
mod policy;
mod private;
mod problem;
mod schema;
mod secret;
mod shape;
mod show;
mod text;
mod written;

use std::{net::SocketAddr, num::NonZeroUsize, time::Duration};

use http::{HeaderName, HeaderValue, Uri, uri::PathAndQuery};
use ipnet::IpNet;

use crate::agui::Version;

pub use access::{Algorithm, ApiKey, Auth, Budget, By, Cors, Jwt, KeySet, Rate};
pub use files::Files;
pub use load::{Flags, Sources};
pub use pem::{Identity, Pem, PemProblem, TlsFile, TlsFiles, TlsParts, cryptography};
pub use policy::{ArgumentRule, OnDenied, RawEvent, RawEvents, Redaction, ResultRule, SlowClient, Throttle, Tools};
pub use private::is_private;
pub use problem::{Errors, Place, Problem};
pub use schema::schema;
pub use show::{Shown, shown_url};

/// The whole checked configuration of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The addresses that clients connect to; never empty.
    pub listen: Vec<SocketAddr>,
    /// What TLS is spoken with there, always with an identity; `None`: clients connect without. Default: none.
    pub tls: Option<TlsFiles>,
    /// Single-threaded runtimes, each with listeners of its own. Default: one per core.
    pub threads: NonZeroUsize,
    /// Peers whose `Forwarded` and `X-Forwarded-*` are believed. Default: none.
    pub trusted_proxies: Vec<IpNet>,
    /// Connections that one address may have at once, but for the trusted proxies. Default: no limit.
    pub connections_per_address: Option<u32>,
    /// The operator's listener.
    pub admin: Admin,
    /// What happens at SIGTERM.
    pub drain: Drain,
    /// The process's own log.
    pub log: Log,
    /// What answers. Each is named by a route.
    pub agents: Vec<Agent>,
    /// What clients ask for; never empty.
    pub routes: Vec<Route>,
    /// What [`Config::show`] shows; nothing acts on it.
    pub shown: Shown,
    /// What is odd, but no reason not to serve.
    pub warnings: Vec<Problem>,
}

/// `[admin]`: the operator's listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admin {
    /// Where `/metrics`, `/livez`, `/readyz` and `/config` are served; `None`: nowhere. Default: `127.0.0.1:9090`.
    pub listen: Option<SocketAddr>,
    /// The keys of which one has to be shown, but for health; empty: none. Default: none.
    pub api_keys: Vec<ApiKey>,
}

/// `[drain]`: the end of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drain {
    /// From SIGTERM until the runs left get `RUN_ERROR` `GATEWAY_SHUTDOWN`. Default: 30 s.
    pub deadline: Duration,
}

/// `[log]`: the process's own log, on standard error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// Default: pretty on a terminal, else JSON.
    pub format: LogFormat,
    /// A level or a `tracing` filter. Default: `info`.
    pub level: String,
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// One JSON object a line.
    Json,
    /// For people.
    Pretty,
}

/// `[agents.NAME]`: what answers, at one or more urls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// The label in metrics and logs.
    pub name: String,
    /// `http` and `https` urls with an authority; never empty. A refused connection is tried at the next one.
    pub urls: Vec<Uri>,
    /// What it speaks when its runs do not say. Default: current.
    pub version: Version,
    /// How it is told to go on after an interrupt. Default: native.
    pub resume: Resume,
    /// The version of HTTP spoken with it.
    pub http: AgentHttp,
    /// What TLS is spoken with at its `https` urls. Default: the system's authorities, no certificate of one's own.
    pub tls: TlsFiles,
    /// What it is asked for. Default: auto.
    pub encoding: Encoding,
    /// How long it may take.
    pub timeouts: Timeouts,
    /// Changes to the request's headers.
    pub headers: HeaderRules,
    /// Which of several urls a run goes to. Default: the one with the fewest runs.
    pub balance: Balance,
    /// How each url is asked whether it works. Default: not at all.
    pub health: Option<Health>,
    /// When a url of several is given no more runs; `None` is `"off"`. Default: after 5 failures, for 30 s.
    pub eject: Option<Eject>,
    /// Whether [`is_private`] addresses are refused. Default: no.
    pub deny_private: bool,
}

/// `balance`: which of several urls a run goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Balance {
    /// The one with the fewest runs of this process; among equals each in turn.
    #[default]
    LeastRuns,
    /// Each in turn.
    RoundRobin,
    /// The same one for the same `threadId`. What has none goes to the one with the fewest runs.
    Thread,
}

/// `health`: how each url is asked whether it works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// What is asked for, on the url's host.
    pub path: PathAndQuery,
    /// From the end of one check to the next. Default: 10 s.
    pub every: Duration,
    /// How long an answer may take. Default: 3 s.
    pub timeout: Duration,
}

/// `eject`: when a url of several is given no more runs because those before failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eject {
    /// How many failures in a row it takes. Default: 5.
    pub failures: u32,
    /// How long it is given no runs. Default: 30 s.
    pub duration: Duration,
}

/// `resume`: how an agent is told to go on after an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Resume {
    /// By `resume` in the input, as the client said it.
    #[default]
    Native,
    /// By a command in `forwardedProps`.
    ForwardedProps,
}

/// The version of HTTP spoken with an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentHttp {
    /// HTTP/1.1 without TLS, with it as the agent chooses.
    Auto,
    /// HTTP/1.1.
    One,
    /// HTTP/2; without TLS by prior knowledge.
    Two,
}

/// The limits of an agent's time; `None` is `"off"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From the first packet until the connection stands. Default: 3 s.
    pub connect: Duration,
    /// From the last byte of the request until the first event. Default: 60 s.
    pub first_event: Option<Duration>,
    /// Between two reads of any bytes, comments too, once the first event is there. Default: 5 min.
    pub idle: Option<Duration>,
    /// Between two events. Default: off.
    pub progress: Option<Duration>,
    /// From the request's head until the end of the stream. Default: 1 h.
    pub run: Option<Duration>,
}

/// What is changed in a request's headers before the agent sees them: `remove` first, then `set`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderRules {
    /// Headers that replace any of the same name. Values that came from a secret are marked sensitive.
    pub set: Vec<(HeaderName, HeaderValue)>,
    /// Headers that are taken away.
    pub remove: Vec<HeaderName>,
}

/// One `[[routes]]` with `[defaults]` merged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The label in metrics and logs. Default: the path.
    pub name: String,
    /// This path and all below it, without a slash at its end except for `/` itself.
    pub path: String,
    /// The host that must be asked for, lower case, without a port.
    pub host: Option<String>,
    /// Headers that must be there with exactly these values.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The [`Agent::name`] of what answers.
    pub agent: String,
    /// What clients are answered with. Default: auto.
    pub encoding: Encoding,
    /// Silence after which a client gets a comment; `None` is `"off"`. Default: 15 s.
    pub keepalive: Option<Duration>,
    /// What clients speak when they do not say.
    pub client_version: ClientVersion,
    /// Whether retired shapes are translated whatever the agent's version. Default: no.
    pub upgrade: bool,
    /// How events are told to older clients.
    pub downgrade: Downgrade,
    /// Whether chunks are written as start, content and end. Default: no.
    pub expand: bool,
    /// What clients have to show; `None`: nothing, and what they show is passed on.
    pub auth: Option<Auth>,
    /// Which pages may ask and read; `None`: the agent's word passes.
    pub cors: Option<Cors>,
    /// Limits of size, number and rate.
    pub limits: Limits,
    /// Event types and members that are left out; `None`: the stage is not in the pipeline.
    pub select: Option<Select>,
    /// How far the grammar of the stream is held up. Default: observe.
    pub guard: Guard,
    /// What is done with the shared state.
    pub state: State,
    /// Which tools the agent may call; `None`: the stage is not in the pipeline.
    pub tools: Option<Tools>,
    /// What is replaced in texts, arguments, results and state.
    pub redact: Vec<Redaction>,
    /// How deltas are merged; `None`: the stage is not in the pipeline.
    pub throttle: Option<Throttle>,
    /// What is escaped for readers that break on it. Default: off.
    pub escape: Escape,
    /// What a client sees of an agent's faults.
    pub on_error: OnError,
}

/// `encoding`: how events are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Encoding {
    /// As both sides can best be served.
    #[default]
    Auto,
    /// Server-sent events.
    Sse,
    /// Length-prefixed protobuf.
    Protobuf,
}

/// `client_version`: what clients speak when they do not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientVersion {
    /// The header in which a client says it.
    pub header: Option<HeaderName>,
    /// What a client speaks that says nothing. Default: current.
    pub version: Version,
    /// Whether `version` was written rather than a default, so that metrics can tell.
    pub configured: bool,
}

/// `downgrade`: how events are told to older clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Downgrade {
    /// What becomes of an event that the client's version has no shape for. Default: it is left out.
    pub unrepresentable: Unrepresentable,
    /// Whether the client is told what it does not get. Default: no.
    pub announce: bool,
}

/// `downgrade.unrepresentable`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Unrepresentable {
    /// It is left out.
    #[default]
    Drop,
    /// It is wrapped as `CUSTOM`.
    Custom,
}

/// `limits`: sizes in bytes, numbers and rates; `None`: no limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The body of a request. Default: 32 MiB.
    pub body: u64,
    /// One event of a stream. Default: 10 MiB.
    pub frame: usize,
    /// The shared state of a stream, with what a change to it needs. Default: 8 MiB.
    pub state: usize,
    /// Runs at once.
    pub runs: Option<u32>,
    /// Runs at once of one name, where [`Route::auth`] tells it.
    pub runs_per_key: Option<u32>,
    /// Requests in a time.
    pub rate: Option<Rate>,
    /// What an agent may send in one answer.
    pub run: Budget,
}

/// `select`: what is left out of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Select {
    /// Names of event types, known or not. Never one that begins or ends a run.
    pub drop: Vec<String>,
    /// Names of members at the top level of an event. Never one that the protocol needs.
    pub strip: Vec<String>,
}

/// `guard`: how far the grammar of a stream is held up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Guard {
    /// Nobody looks.
    Off,
    /// What breaks it is counted.
    #[default]
    Observe,
    /// What can be mended is mended.
    Repair,
    /// What breaks it ends the run.
    Refuse,
}

/// `state`: what is done with the shared state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct State {
    /// Whether a snapshot is sent as a delta where that is shorter. Default: no.
    pub compact: bool,
    /// What becomes of a delta that does not apply. Default: it is passed on.
    pub on_mismatch: OnMismatch,
}

/// `state.on_mismatch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnMismatch {
    /// It is passed on.
    #[default]
    Forward,
    /// It is left out.
    Drop,
    /// The state before it is told instead.
    Resync,
    /// A `replace` of a missing member is read as `add`.
    Lenient,
}

/// `escape`: characters written as `\uXXXX` inside the JSON of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Escape {
    /// Nothing: every byte as it came.
    #[default]
    Off,
    /// U+2028, U+2029 and U+0085, which some readers take for line ends.
    LineSeparators,
    /// Everything beyond ASCII.
    NonAscii,
}

/// `on_error`: what a client sees of an agent's faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnError {
    /// A stream that ends without a terminal event. Default: [`Fault::RunError`].
    pub truncated: Fault,
    /// An answer to a run that is no stream. Default: [`Fault::Pass`].
    pub status: Fault,
}

/// Whether a fault is shown as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// As the agent answered.
    Pass,
    /// As one `RUN_ERROR`.
    RunError,
}
