//! A configuration as people write it: its shape, descriptions and defaults, and nothing about what may go
//! together. The schema and the check for unknown keys both come from these types.

mod access;
mod agent;
mod policy;
mod route;
mod tls;

use std::{borrow::Cow, collections::BTreeMap, net::Ipv4Addr, time};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::text::{Address, AddressOrOff, AgentUrl, LogFilter, Network, Text, Wait};

pub(super) use access::{AdminAuthOrOff, Algorithm, ApiKey, AuthOrOff, Budget, Cors, Jwt};
pub(super) use agent::{Agent, Balance, EjectOrOff, HeaderRules, HeaderText, HttpVersion, Resume, Secret};
pub(super) use policy::{OnDenied, Raw, RawEvent, Redaction, SlowClient, Throttle, Tools};
pub(super) use route::{
    ClientVersion, Encoding, Escape, Fault, Guard, Limits, Middleware, OnMismatch, Route, Unrepresentable,
};
pub(super) use tls::{AgentTls, ListenerTls};

/// The configuration of a Tidegate process.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields, title = "Tidegate")]
pub(super) struct Written {
    /// The schema that an editor checks this file with; Tidegate does not read it.
    #[serde(rename = "$schema", skip_serializing)]
    pub(super) schema: Option<String>,
    /// The address that clients connect to, or a list of them.
    pub(super) listen: OneOrMany<Address>,
    /// What TLS is spoken with there. Default: none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tls: Option<ListenerTls>,
    /// The url of the only agent, for a configuration of two lines: short for `[agents.agent] url`.
    #[serde(skip_serializing)]
    pub(super) agent: Option<OneOrMany<AgentUrl>>,
    /// Threads that serve runs. Default: one per core.
    #[schemars(range(min = 1, max = 1024))]
    pub(super) threads: Option<u16>,
    /// The proxies in front, as blocks of addresses, whose `Forwarded` and `X-Forwarded-*` headers are believed.
    pub(super) trusted_proxies: Vec<Network>,
    /// Connections that one address may have at once; more are closed. Proxies of `trusted_proxies` are not counted.
    /// Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4294967295u64))]
    pub(super) connections_per_address: Option<u32>,
    /// The operator's listener.
    pub(super) admin: Admin,
    /// What happens at SIGTERM.
    pub(super) drain: Drain,
    /// The process's own log, on standard error.
    pub(super) log: Log,
    /// What answers, by name. The name is the label in metrics and logs.
    pub(super) agents: Names<Agent>,
    /// What every route does that does not say otherwise.
    #[serde(skip_serializing)]
    pub(super) defaults: Middleware,
    /// What clients ask for. Without any, `/` leads to the only agent.
    pub(super) routes: Vec<Route>,
}

/// `[admin]`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub(super) struct Admin {
    /// The address of `/metrics`, `/livez`, `/readyz` and `/config`, or "off". Keep it away from clients.
    pub(super) listen: AddressOrOff,
    /// What has to be shown there, but for `/livez` and `/readyz`; or "off".
    pub(super) auth: AdminAuthOrOff,
}

/// `[drain]`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub(super) struct Drain {
    /// From SIGTERM until the runs left get `RUN_ERROR` with the code `GATEWAY_SHUTDOWN`.
    pub(super) deadline: Wait,
}

/// `[log]`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub(super) struct Log {
    /// Default: "pretty" on a terminal, else "json".
    pub(super) format: Option<LogFormat>,
    /// "off", "error", "warn", "info", "debug" or "trace", or a filter as in "info,hyper=warn".
    pub(super) level: LogFilter,
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum LogFormat {
    Json,
    Pretty,
}

/// One value, or a list of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

/// A table whose keys are free names of the spelling `K`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Named<K, V> {
    pub(super) entries: BTreeMap<String, V>,
    #[serde(skip)]
    keys: std::marker::PhantomData<K>,
}

/// A table by name.
pub(super) type Names<V> = Named<super::text::Name, V>;
/// A table by header name.
pub(super) type Headers<V> = Named<super::text::HeaderName, V>;

impl Default for Written {
    fn default() -> Self {
        Self {
            schema: None,
            listen: OneOrMany::One(Address((Ipv4Addr::LOCALHOST, 8080).into())),
            tls: None,
            agent: None,
            threads: None,
            trusted_proxies: Vec::new(),
            connections_per_address: None,
            admin: Admin::default(),
            drain: Drain::default(),
            log: Log::default(),
            agents: Named::default(),
            defaults: Middleware::default(),
            routes: Vec::new(),
        }
    }
}

impl Default for Admin {
    fn default() -> Self {
        Self { listen: AddressOrOff(Some((Ipv4Addr::LOCALHOST, 9090).into())), auth: AdminAuthOrOff::default() }
    }
}

impl Default for Drain {
    fn default() -> Self {
        Self { deadline: Wait(time::Duration::from_secs(30)) }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self { format: None, level: LogFilter("info".into()) }
    }
}

impl<T> OneOrMany<T> {
    /// All of them.
    pub(super) fn into_vec(self) -> Vec<T> {
        match self {
            Self::One(one) => vec![one],
            Self::Many(many) => many,
        }
    }
}

impl<T: JsonSchema> JsonSchema for OneOrMany<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("OneOrMany{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
    }
}

impl<K, V> Default for Named<K, V> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), keys: std::marker::PhantomData }
    }
}

impl<K: Text, V: JsonSchema> JsonSchema for Named<K, V> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("{}By{}", V::schema_name(), K::FORMAT).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<V>();
        json_schema!({
            "type": "object",
            "propertyNames": { "format": K::FORMAT },
            "additionalProperties": value,
        })
    }
}
