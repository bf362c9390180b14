//! A well-shaped configuration comes in; what must not stand together is found, names are resolved and secrets
//! read; the checked [`Config`] goes out.

mod access;
mod agents;
mod listeners;
mod policy;
mod routes;
mod tls;

use std::{io::IsTerminal, num::NonZeroUsize, thread};

use figment::{Figment, providers::Serialized};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{
    Admin, Config, Drain, Encoding, Errors, Log, LogFormat, Shown,
    problem::{Found, KeyPath, Place, Problem},
    secret::Secrets,
    shape::Removed,
    written::{self, Route, Written},
};

/// The checked word for a written one.
fn encoding(written: written::Encoding) -> Encoding {
    match written {
        written::Encoding::Auto => Encoding::Auto,
        written::Encoding::Sse => Encoding::Sse,
        written::Encoding::Protobuf => Encoding::Protobuf,
    }
}

/// Checks the whole. The result only counts if nothing was found.
pub(super) fn config(
    mut merged: Map<String, Value>,
    removed: &Removed,
    secrets: &Secrets<'_>,
    found: &mut Found<'_>,
) -> Result<Config, Errors> {
    let routes = merged.remove("routes");
    let defaults = merged.get("defaults").cloned().unwrap_or_default();
    let mut written: Written = read(Value::Object(merged))?;
    if let Some(Value::Array(routes)) = routes {
        written.routes = routes.into_iter().map(|route| with_defaults(&defaults, route)).collect::<Result<_, _>>()?;
    }
    let context = Context { removed, secrets };
    let agents = agents::check(&mut written, &context, found);
    let routes = routes::check(&mut written, &context, found);
    listeners::check(&written, &context, found);
    let api_keys = access::admin(&written.admin, &context, found);
    let tls = written.tls.as_ref().and_then(|tls| tls::of_listeners(tls, &context, found));
    let mut shown = Shown::new(&written, found.places());
    let threads = threads(written.threads);
    let log = log(written.log);
    shown.fill(
        threads.get(),
        match log.format {
            LogFormat::Json => "json".into(),
            LogFormat::Pretty => "pretty".into(),
        },
    );
    Ok(Config {
        listen: written.listen.into_vec().into_iter().map(|address| address.0).collect(),
        tls,
        threads,
        trusted_proxies: written.trusted_proxies.into_iter().map(|block| block.0).collect(),
        connections_per_address: written.connections_per_address,
        admin: Admin { listen: written.admin.listen.0, api_keys },
        drain: Drain { deadline: written.drain.deadline.0 },
        log,
        agents,
        routes,
        shown,
        warnings: found.warnings(),
    })
}

/// What the checks look things up in.
struct Context<'a> {
    removed: &'a Removed,
    secrets: &'a Secrets<'a>,
}

impl Context<'_> {
    /// Whether this was written, but so that nothing follows from it.
    fn is_removed(&self, path: &KeyPath) -> bool {
        self.removed.contains(path)
    }
}

/// A route's own keys win over `[defaults]`, one by one, also inside of tables.
fn with_defaults(defaults: &Value, route: Value) -> Result<Route, Errors> {
    let defaults = if defaults.is_object() { defaults.clone() } else { Value::Object(Map::new()) };
    let merged = Figment::from(Serialized::defaults(defaults)).merge(Serialized::defaults(route));
    let merged: Value = merged.extract().map_err(|error| misread(&error))?;
    read(merged)
}

/// What fits the schema also fits the types; if ever it does not, the error names no value.
fn read<T: DeserializeOwned>(value: Value) -> Result<T, Errors> {
    serde_json::from_value(value).map_err(|_| misread(&"a value fits the schema, but cannot be read"))
}

fn misread(what: &dyn std::fmt::Display) -> Errors {
    Problem { place: Place::Nowhere, key: String::new(), what: what.to_string() }.into()
}

fn threads(written: Option<u16>) -> NonZeroUsize {
    let cores = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    written.and_then(|threads| NonZeroUsize::new(threads.into())).unwrap_or_else(cores)
}

fn log(written: written::Log) -> Log {
    let format = match written.format {
        Some(written::LogFormat::Json) => LogFormat::Json,
        Some(written::LogFormat::Pretty) => LogFormat::Pretty,
        None if std::io::stderr().is_terminal() => LogFormat::Pretty,
        None => LogFormat::Json,
    };
    Log { format, level: written.level.0 }
}
