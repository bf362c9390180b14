//! `[[routes]]` and `[defaults]` as people write them.

use std::time;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Headers, Redaction, Throttle, Tools,
    access::{AuthOrOff, Budget, Cors},
};
use crate::config::text::{
    DropType, DurationOrOff, HeaderName, HeaderValue, Host, Name, Rate, Release, RoutePath, Size, StripMember,
};

/// `[[routes]]`: one thing that clients ask for.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub(in crate::config) struct Route {
    /// The label in metrics and logs. Default: the path.
    pub(in crate::config) name: Option<Name>,
    /// This path and all below it; what follows it is appended to the agent's url.
    pub(in crate::config) path: RoutePath,
    /// Only for this host. Default: every host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) host: Option<Host>,
    /// Only where these headers have exactly these values.
    pub(in crate::config) headers: Headers<HeaderValue>,
    /// The name of the agent that answers. Default: the only one.
    pub(in crate::config) agent: Option<String>,
    /// Everything that `[defaults]` can say for all routes.
    #[serde(flatten)]
    pub(in crate::config) middleware: Middleware,
}

/// `[defaults]`: what happens to the runs of a route. A route's own keys win, one by one.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub(in crate::config) struct Middleware {
    /// What clients are answered with: "auto" follows what they accept and what the agent sends; "sse" is for
    /// every client, "protobuf" for all who do not rule it out.
    pub(in crate::config) encoding: Encoding,
    /// Silence after which a client gets an SSE comment, so that nothing on the way gives up; or "off".
    pub(in crate::config) keepalive: DurationOrOff,
    /// What clients have to show, or "off". Whoever does not gets HTTP status 401.
    pub(in crate::config) auth: AuthOrOff,
    /// Which pages in a browser may ask and read. None are answered for by default: what the agent says passes.
    pub(in crate::config) cors: Cors,
    /// Limits of size, number and rate.
    pub(in crate::config) limits: Limits,
    /// What clients speak when they do not say: a version, or the header in which they say it and a version for
    /// those that do not send it. Default: the current version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) client_version: Option<ClientVersion>,
    /// Whether retired shapes are translated also where the agent's version does not ask for it.
    pub(in crate::config) upgrade: bool,
    /// How events are told to clients of an older version.
    pub(in crate::config) downgrade: Downgrade,
    /// Whether chunks are written as start, content and end.
    pub(in crate::config) expand: bool,
    /// How far the grammar of the stream is held up: "observe" counts what breaks it, "repair" mends what can be
    /// mended, "refuse" ends the run, "off" does not look.
    pub(in crate::config) guard: Guard,
    /// What is left out of the stream.
    pub(in crate::config) select: Select,
    /// What is done with the shared state.
    pub(in crate::config) state: State,
    /// Which tools the agent may call. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) tools: Option<Tools>,
    /// What is replaced in texts, arguments, results and state.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in crate::config) redact: Vec<Redaction>,
    /// How deltas are merged. Default: not at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) throttle: Option<Throttle>,
    /// What is written as `\uXXXX` inside an event, for readers that break on it: "line_separators" is
    /// U+2028, U+2029 and U+0085, "non_ascii" is everything beyond ASCII.
    pub(in crate::config) escape: Escape,
    /// What a client sees of an agent's faults: "pass" as it is, "run_error" as one `RUN_ERROR`.
    pub(in crate::config) on_error: OnError,
}

/// `encoding`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(in crate::config) enum Encoding {
    #[default]
    Auto,
    Sse,
    Protobuf,
}

/// `client_version`: a version, or a table.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(in crate::config) enum ClientVersion {
    Release(Release),
    Header(VersionHeader),
}

/// `client_version` as a table.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields, inline)]
pub(in crate::config) struct VersionHeader {
    /// The header in which clients say their version. What they say in the input counts more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) header: Option<HeaderName>,
    /// For clients that do not say. Default: the current version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) default: Option<Release>,
}

/// `downgrade`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub(in crate::config) struct Downgrade {
    /// What becomes of an event that the client's version has no shape for: "drop" leaves it out, "custom" wraps it
    /// as `CUSTOM`.
    pub(in crate::config) unrepresentable: Unrepresentable,
    /// Whether the client is told what it does not get.
    pub(in crate::config) announce: bool,
}

/// What becomes of an event that a client's version has no shape for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(in crate::config) enum Unrepresentable {
    #[default]
    Drop,
    Custom,
}

/// `guard`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(in crate::config) enum Guard {
    Off,
    #[default]
    Observe,
    Repair,
    Refuse,
}

/// `limits`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub(in crate::config) struct Limits {
    /// The body of a request. Past it: HTTP status 413.
    pub(in crate::config) body: Size,
    /// One event of a stream. Past it the run ends with the code `FRAME_TOO_LARGE`.
    pub(in crate::config) frame: Size,
    /// The shared state of a stream, with what a change to it needs. Past it the state is not followed: everything is
    /// passed on, until a snapshot that fits.
    pub(in crate::config) state: Size,
    /// Runs at once. Past it new ones get HTTP status 503. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4294967295u64))]
    pub(in crate::config) runs: Option<u32>,
    /// Runs at once of one key's name, or one value of the token's claim. Past it: 429. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4294967295u64))]
    pub(in crate::config) runs_per_key: Option<u32>,
    /// Requests in a time, by ip, key, claim:NAME or header:NAME, as in "60/min by ip". Past it: 429. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) rate: Option<Rate>,
    /// What an agent may send in one answer. Past it the run ends with the code `BUDGET_EXCEEDED`.
    pub(in crate::config) run: Budget,
}

/// `select`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub(in crate::config) struct Select {
    /// Event types, known or not. None that begins or ends a run.
    pub(in crate::config) drop: Vec<DropType>,
    /// Members at the top level of events. None that the protocol needs.
    pub(in crate::config) strip: Vec<StripMember>,
}

/// `state`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub(in crate::config) struct State {
    /// Whether a snapshot is sent as a delta where that is shorter.
    pub(in crate::config) compact: bool,
    /// What becomes of a delta that does not apply: "forward" passes it on, "drop" leaves it out, "resync" tells the
    /// state before it instead, "lenient" reads a `replace` of a missing member as `add`.
    pub(in crate::config) on_mismatch: OnMismatch,
}

/// What becomes of a delta that does not apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(in crate::config) enum OnMismatch {
    #[default]
    Forward,
    Drop,
    Resync,
    Lenient,
}

/// What is escaped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(in crate::config) enum Escape {
    #[default]
    Off,
    LineSeparators,
    NonAscii,
}

/// `on_error`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub(in crate::config) struct OnError {
    /// A stream that ends without a terminal event. Passed on, most clients take it for a run that never ended.
    pub(in crate::config) truncated: Fault,
    /// An answer that is no stream, such as a status of 500.
    pub(in crate::config) status: Fault,
}

/// Whether a fault is shown as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(in crate::config) enum Fault {
    Pass,
    RunError,
}

impl Default for Route {
    fn default() -> Self {
        Self {
            name: None,
            path: RoutePath("/".into()),
            host: None,
            headers: Headers::default(),
            agent: None,
            middleware: Middleware::default(),
        }
    }
}

impl Default for Middleware {
    fn default() -> Self {
        Self {
            encoding: Encoding::default(),
            keepalive: DurationOrOff(Some(time::Duration::from_secs(15))),
            client_version: None,
            upgrade: false,
            downgrade: Downgrade::default(),
            expand: false,
            auth: AuthOrOff::default(),
            cors: Cors::default(),
            limits: Limits::default(),
            guard: Guard::default(),
            select: Select::default(),
            state: State::default(),
            tools: None,
            redact: Vec::new(),
            throttle: None,
            escape: Escape::default(),
            on_error: OnError::default(),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: Size(32 << 20),
            frame: Size(10 << 20),
            state: Size(8 << 20),
            runs: None,
            runs_per_key: None,
            rate: None,
            run: Budget::default(),
        }
    }
}

impl Default for OnError {
    fn default() -> Self {
        Self { truncated: Fault::RunError, status: Fault::Pass }
    }
}
