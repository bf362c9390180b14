//! `[[routes]]` as written, with `[defaults]` in them, come in; the checked routes go out.

use std::collections::BTreeSet;

use super::{
    Context,
    access::{self, Places},
    agents::names,
    policy,
};
use crate::{
    agui::Version,
    config::{
        ClientVersion, Downgrade, Escape, Fault, Guard, Limits, OnError, OnMismatch, Route, Select, State,
        Unrepresentable,
        problem::{Found, KeyPath},
        text::{Release, Size, nearest},
        written::{self, Written},
    },
};

/// Checks the routes, and that every agent has one. Where a name or an agent is left out, it is filled in.
pub(super) fn check(written: &mut Written, context: &Context<'_>, found: &mut Found<'_>) -> Vec<Route> {
    let top = KeyPath::top();
    let path = top.key("routes");
    let agents: Vec<String> = written.agents.entries.keys().cloned().collect();
    let misread = context.is_removed(&path);
    if written.routes.is_empty() && !misread {
        if agents.len() > 1 {
            found.key(
                &path,
                "there are several agents and no route; write a [[routes]] with `path` and `agent` for each",
            );
            return Vec::new();
        }
        let defaults = written::Route { middleware: written.defaults.clone(), ..Default::default() };
        written.routes.push(defaults);
    }
    let mut checked: Vec<Route> = Vec::new();
    let mut readable: Vec<(usize, Route)> = Vec::new();
    for (i, route) in written.routes.iter_mut().enumerate() {
        let path = path.item(i);
        route.agent = agent(route, &agents, &path, context, found);
        let name = route.name.get_or_insert_with(|| crate::config::text::Name(route.path.0.clone())).0.clone();
        let client_version = client_version(&mut route.middleware.client_version);
        let next = self::checked(name, client_version, route, &path, context, found);
        let unread = ["path", "host", "headers", "name"].iter().any(|key| context.is_removed(&path.key(key)));
        if !unread {
            distinct(&readable, &next, &path, found);
            readable.push((i, next.clone()));
        }
        checked.push(next);
    }
    let used: BTreeSet<&str> = checked.iter().map(|route| route.agent.as_str()).collect();
    for name in agents.iter().filter(|name| !misread && agents.len() > 1 && !used.contains(name.as_str())) {
        let what =
            format!("no route leads to this agent; write `agent = {name:?}` in one of [[routes]], or take it away");
        found.key(&top.key("agents").key(name), what);
    }
    checked
}

fn agent(
    route: &written::Route,
    agents: &[String],
    path: &KeyPath,
    context: &Context<'_>,
    found: &mut Found<'_>,
) -> Option<String> {
    let key = path.key("agent");
    let all: Vec<String> = agents.iter().map(|name| format!("`{name}`")).collect();
    let all = all.join(", ");
    match &route.agent {
        Some(name) if agents.contains(name) => Some(name.clone()),
        // The agent is there, but not readable, which has been said; or there is none at all, which will be.
        Some(name) if context.is_removed(&KeyPath::top().key("agents").key(name)) || agents.is_empty() => None,
        Some(name) => {
            let near = nearest(name, agents.iter().map(String::as_str));
            let meant = match near {
                Some(near) => format!("; did you mean `{near}`?"),
                None => format!("; the agents are {all}"),
            };
            found.value(&key, format!("there is no agent `{name}`{meant}"));
            // What was meant has a route.
            near.map(str::to_owned)
        }
        None => match agents {
            [only] => Some(only.clone()),
            [] => None,
            _ if context.is_removed(&key) => None,
            _ => {
                found.key(&key, format!("is missing; there are several agents: {all}"));
                None
            }
        },
    }
}

/// Fills in what is left out: that nothing was said is remembered for the figures alone.
fn client_version(written: &mut Option<written::ClientVersion>) -> ClientVersion {
    let current = Release(Version::CURRENT);
    let (header, said) = match written {
        None => (None, None),
        Some(written::ClientVersion::Release(release)) => (None, Some(*release)),
        Some(written::ClientVersion::Header(table)) => {
            let said = table.default;
            table.default.get_or_insert(current);
            (table.header.clone().map(|name| name.0), said)
        }
    };
    written.get_or_insert(written::ClientVersion::Release(current));
    ClientVersion { header, version: said.unwrap_or(current).0, configured: said.is_some() }
}

fn checked(
    name: String,
    client_version: ClientVersion,
    written: &written::Route,
    path: &KeyPath,
    context: &Context<'_>,
    found: &mut Found<'_>,
) -> Route {
    let middleware = &written.middleware;
    let places = Places { route: path, context };
    let auth = access::auth(&middleware.auth, &places, found);
    let rate = access::rate(&middleware.limits, auth.as_ref(), &places, found);
    let headers = names(&written.headers.entries, &path.key("headers"), found);
    let fault = |fault| match fault {
        written::Fault::Pass => Fault::Pass,
        written::Fault::RunError => Fault::RunError,
    };
    let bytes = |size: Size| usize::try_from(size.0).unwrap_or(usize::MAX);
    let drop: Vec<String> = middleware.select.drop.iter().map(|name| name.0.clone()).collect();
    let strip: Vec<String> = middleware.select.strip.iter().map(|name| name.0.clone()).collect();
    Route {
        name,
        path: written.path.0.clone(),
        host: written.host.as_ref().map(|host| host.0.clone()),
        headers: headers.into_iter().map(|(name, value)| (name.name.0, value.0.clone())).collect(),
        agent: written.agent.clone().unwrap_or_default(),
        keepalive: middleware.keepalive.0,
        client_version,
        auth,
        cors: access::cors(&middleware.cors),
        upgrade: middleware.upgrade,
        downgrade: Downgrade {
            unrepresentable: match middleware.downgrade.unrepresentable {
                written::Unrepresentable::Drop => Unrepresentable::Drop,
                written::Unrepresentable::Custom => Unrepresentable::Custom,
            },
            announce: middleware.downgrade.announce,
        },
        expand: middleware.expand,
        limits: Limits {
            body: middleware.limits.body.0,
            frame: bytes(middleware.limits.frame),
            state: bytes(middleware.limits.state),
            runs: middleware.limits.runs,
            runs_per_key: middleware.limits.runs_per_key,
            rate,
            run: access::budget(middleware.limits.run),
        },
        select: (!drop.is_empty() || !strip.is_empty()).then_some(Select { drop, strip }),
        guard: match middleware.guard {
            written::Guard::Off => Guard::Off,
            written::Guard::Observe => Guard::Observe,
            written::Guard::Repair => Guard::Repair,
            written::Guard::Refuse => Guard::Refuse,
        },
        state: State {
            compact: middleware.state.compact,
            on_mismatch: match middleware.state.on_mismatch {
                written::OnMismatch::Forward => OnMismatch::Forward,
                written::OnMismatch::Drop => OnMismatch::Drop,
                written::OnMismatch::Resync => OnMismatch::Resync,
                written::OnMismatch::Lenient => OnMismatch::Lenient,
            },
        },
        throttle: policy::throttle(middleware),
        tools: policy::tools(middleware),
        redact: policy::redact(middleware),
        encoding: super::encoding(middleware.encoding),
        escape: match middleware.escape {
            written::Escape::Off => Escape::Off,
            written::Escape::LineSeparators => Escape::LineSeparators,
            written::Escape::NonAscii => Escape::NonAscii,
        },
        on_error: OnError {
            truncated: fault(middleware.on_error.truncated),
            status: fault(middleware.on_error.status),
        },
    }
}

/// A route that another one hides is never asked; a label that two share says nothing.
fn distinct(earlier: &[(usize, Route)], route: &Route, path: &KeyPath, found: &mut Found<'_>) {
    let sorted = |route: &Route| {
        let mut headers = route.headers.clone();
        headers.sort_by(|a, b| a.0.as_str().cmp(b.0.as_str()));
        headers
    };
    let same = |other: &Route| other.path == route.path && other.host == route.host && sorted(other) == sorted(route);
    let first = |found: &dyn Fn(&Route) -> bool| earlier.iter().find(|(_, other)| found(other)).map(|(i, _)| *i);
    if let Some(i) = first(&same) {
        let what =
            format!("`{}` has the same path, host and headers as routes[{i}]; change one, or take it away", route.path);
        found.value(&path.key("path"), what);
    } else if let Some(i) = first(&|other| other.name == route.name) {
        let what = format!("`{}` is also the name of routes[{i}]; write a `name` of its own", route.name);
        found.value(&path.key("name"), what);
    }
}
