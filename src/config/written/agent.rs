//! `[agents.NAME]` as people write it.

use std::{borrow::Cow, time};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use super::{AgentTls, Headers, OneOrMany, route::Encoding};
use crate::{
    agui::Version,
    config::text::{AgentUrl, Duration, DurationOrOff, HeaderName, HeaderValue, HealthPath, Release},
};

/// `[agents.NAME]`: what answers, at one or more urls.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields, extend("required" = ["url"]))]
pub(in crate::config) struct Agent {
    /// Where the agent takes runs, or a list of such urls. A connection that is refused is tried at the next one.
    pub(in crate::config) url: Option<OneOrMany<AgentUrl>>,
    /// What it speaks when its runs do not say: a version of the protocol or the release of the library it is built
    /// with. Where that is before 1.0, its events and its inputs are translated. Default: the current version.
    pub(in crate::config) version: Release,
    /// How it is told to go on after an interrupt: "native" is `resume` in the input, "forwarded_props" is a command
    /// in `forwardedProps`, for agents from before `resume`.
    pub(in crate::config) resume: Resume,
    /// The version of HTTP spoken with it: "auto" is 1 without TLS, and with it what the agent chooses; 2 without TLS
    /// is spoken by prior knowledge.
    pub(in crate::config) http: HttpVersion,
    /// What TLS is spoken with at its https urls. Default: the authorities that the system trusts.
    pub(in crate::config) tls: AgentTls,
    /// What it is asked for: "auto" is SSE, and protobuf too once it has spoken that and the client reads it.
    pub(in crate::config) encoding: Encoding,
    /// How long it may take.
    pub(in crate::config) timeouts: Timeouts,
    /// What is changed in a request's headers before the agent sees them; `remove` comes first.
    pub(in crate::config) headers: HeaderRules,
    /// Which of several urls a run goes to: "least_runs" is the one with the fewest runs of this gateway,
    /// "round_robin" each in turn, "thread" the same one for the same `threadId`.
    pub(in crate::config) balance: Balance,
    /// How each url is asked whether it works. Without it, none is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) health: Option<Health>,
    /// When a url of several is given no more runs because those before failed; or "off".
    pub(in crate::config) eject: EjectOrOff,
    /// Whether addresses inside (loopback, link-local, private and the like) are refused once the host is resolved.
    pub(in crate::config) deny_private: bool,
}

/// `balance`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(in crate::config) enum Balance {
    #[default]
    LeastRuns,
    RoundRobin,
    Thread,
}

/// `health`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields, inline, extend("required" = ["path"]))]
pub(in crate::config) struct Health {
    /// What is asked for, on the url's host; any status from 200 to 299 is health.
    pub(in crate::config) path: HealthPath,
    /// From the end of one check to the next.
    pub(in crate::config) every: Duration,
    /// How long an answer may take.
    pub(in crate::config) timeout: Duration,
}

/// `eject`: a table, or "off".
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(in crate::config) enum EjectOrOff {
    Eject(Eject),
    Off(Off),
}

/// The word "off".
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(in crate::config) enum Off {
    Off,
}

/// `eject` as a table.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields, inline)]
pub(in crate::config) struct Eject {
    /// How many failures in a row it takes: no connection, a status of 500 to 599, no answer or no first event.
    #[schemars(range(min = 1, max = 1000))]
    pub(in crate::config) failures: u16,
    /// How long it is given no runs; then one more failure is enough, until something succeeds.
    pub(in crate::config) r#for: Duration,
}

/// How an agent is told to go on after an interrupt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(in crate::config) enum Resume {
    #[default]
    Native,
    ForwardedProps,
}

/// The version of HTTP spoken with an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::config) enum HttpVersion {
    #[default]
    Auto,
    One,
    Two,
}

/// `timeouts`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub(in crate::config) struct Timeouts {
    /// From the first packet until the connection stands. Then: HTTP status 504.
    pub(in crate::config) connect: Duration,
    /// From the last byte of the request until the first event, or "off". Models may think long before they speak.
    pub(in crate::config) first_event: DurationOrOff,
    /// Silence once the first event is there, or "off". Comments end a silence too.
    pub(in crate::config) idle: DurationOrOff,
    /// Time between two events, or "off". Unlike `idle`, comments do not count.
    pub(in crate::config) progress: DurationOrOff,
    /// The whole answer, or "off".
    pub(in crate::config) run: DurationOrOff,
}

/// `headers` of an agent.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub(in crate::config) struct HeaderRules {
    /// Headers that replace any of the same name: strings as they are, or secrets.
    pub(in crate::config) set: Headers<HeaderText>,
    /// Headers that are taken away.
    pub(in crate::config) remove: Vec<HeaderName>,
}

/// A header's value: a string, or a secret that is read from elsewhere.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(in crate::config) enum HeaderText {
    Literal(HeaderValue),
    Secret(Secret),
}

/// A secret, by where it is: `{ env = "NAME" }` or `{ file = "/path" }`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields, inline, extend("minProperties" = 1, "maxProperties" = 1))]
pub(in crate::config) struct Secret {
    /// The environment variable that holds it.
    pub(in crate::config) env: Option<String>,
    /// The file that holds it; one newline at its end does not count. A relative path begins at the configuration file.
    pub(in crate::config) file: Option<String>,
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            url: None,
            version: Release(Version::CURRENT),
            resume: Resume::default(),
            http: HttpVersion::default(),
            tls: AgentTls::default(),
            encoding: Encoding::default(),
            timeouts: Timeouts::default(),
            headers: HeaderRules::default(),
            balance: Balance::default(),
            health: None,
            eject: EjectOrOff::Eject(Eject::default()),
            deny_private: false,
        }
    }
}

impl Default for Health {
    fn default() -> Self {
        Self {
            path: HealthPath(http::uri::PathAndQuery::from_static("/health")),
            every: Duration(time::Duration::from_secs(10)),
            timeout: Duration(time::Duration::from_secs(3)),
        }
    }
}

impl Default for Eject {
    fn default() -> Self {
        Self { failures: 5, r#for: Duration(time::Duration::from_secs(30)) }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = time::Duration::from_secs;
        Self {
            connect: Duration(seconds(3)),
            first_event: DurationOrOff(Some(seconds(60))),
            idle: DurationOrOff(Some(seconds(5 * 60))),
            progress: DurationOrOff(None),
            run: DurationOrOff(Some(seconds(60 * 60))),
        }
    }
}

// Written only to be shown: what a secret holds is not known here, and where it is may be seen.
impl Serialize for HeaderText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Literal(value) => value.serialize(serializer),
            Self::Secret(Secret { env: Some(name), .. }) => {
                serializer.collect_str(&format_args!("[secret: env {name}]"))
            }
            Self::Secret(Secret { file, .. }) => {
                serializer.collect_str(&format_args!("[secret: file {}]", file.as_deref().unwrap_or_default()))
            }
        }
    }
}

impl Serialize for HttpVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::One => serializer.serialize_u8(1),
            Self::Two => serializer.serialize_u8(2),
        }
    }
}

impl<'de> Deserialize<'de> for HttpVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Spelling {
            Number(u8),
            Text(String),
        }
        match Spelling::deserialize(deserializer)? {
            Spelling::Number(1) => Ok(Self::One),
            Spelling::Number(2) => Ok(Self::Two),
            Spelling::Text(text) if text == "auto" => Ok(Self::Auto),
            Spelling::Text(text) if text == "1" => Ok(Self::One),
            Spelling::Text(text) if text == "2" => Ok(Self::Two),
            _ => Err(D::Error::custom("not a version of HTTP")),
        }
    }
}

impl JsonSchema for HttpVersion {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "HttpVersion".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "enum": ["auto", 1, 2, "1", "2"] })
    }
}
