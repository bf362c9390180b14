//! `agent` and `[agents]` as written come in, the checked agents go out.

use std::collections::BTreeMap;

use http::{HeaderValue, Uri};

use super::{Context, tls};
use crate::config::{
    Agent, AgentHttp, Balance, Eject, HeaderRules, Health, Resume, Timeouts, is_private,
    problem::{Found, KeyPath, Place},
    show::is_credential,
    text::{HeaderName, Text},
    written::{self, EjectOrOff, HeaderText, HttpVersion, Written},
};

/// The name of the agent of a two-line configuration.
const ONLY: &str = "agent";

/// Checks the agents. `agent` becomes one of `[agents]`, so that only one way is left.
pub(super) fn check(written: &mut Written, context: &Context<'_>, found: &mut Found<'_>) -> Vec<Agent> {
    let (short, long) = (KeyPath::top().key("agent"), KeyPath::top().key("agents"));
    let none = written.agents.entries.is_empty();
    if let Some(url) = written.agent.take() {
        if !none {
            found.key(
                &short,
                "`agent` is short for a single agent and cannot stand beside `[agents]`; \
                 write its url as `[agents.NAME] url`, or take `[agents]` away",
            );
        }
        written.agents.entries.insert(ONLY.into(), written::Agent { url: Some(url), ..Default::default() });
    } else if none && !context.is_removed(&short) && !found.places().is_anything_below(&long) {
        found.key(
            &short,
            "no agent is configured; two lines are enough: listen = \"127.0.0.1:8080\" \
             and agent = \"http://127.0.0.1:8000/agui\" (or the flag --agent URL)",
        );
    }
    let agents = written.agents.entries.iter();
    agents.map(|(name, agent)| checked(name, agent, &long.key(name), context, found)).collect()
}

fn checked(
    name: &str,
    written: &written::Agent,
    path: &KeyPath,
    context: &Context<'_>,
    found: &mut Found<'_>,
) -> Agent {
    let urls = written.url.clone().map(written::OneOrMany::into_vec).unwrap_or_default();
    let urls: Vec<Uri> = urls.into_iter().map(|url| url.0).collect();
    let timeouts = &written.timeouts;
    if written.deny_private {
        deny_private(written, &path.key("url"), found);
    }
    Agent {
        name: name.to_owned(),
        version: written.version.0,
        resume: match written.resume {
            written::Resume::Native => Resume::Native,
            written::Resume::ForwardedProps => Resume::ForwardedProps,
        },
        encoding: super::encoding(written.encoding),
        http: match written.http {
            HttpVersion::Auto => AgentHttp::Auto,
            HttpVersion::One => AgentHttp::One,
            HttpVersion::Two => AgentHttp::Two,
        },
        timeouts: Timeouts {
            connect: timeouts.connect.0,
            first_event: timeouts.first_event.0,
            idle: timeouts.idle.0,
            progress: timeouts.progress.0,
            run: timeouts.run.0,
        },
        tls: tls::of_agent(&written.tls, &urls, &path.key("tls"), context, found),
        headers: headers(&written.headers, &path.key("headers"), context, found),
        balance: match written.balance {
            written::Balance::LeastRuns => Balance::LeastRuns,
            written::Balance::RoundRobin => Balance::RoundRobin,
            written::Balance::Thread => Balance::Thread,
        },
        health: written.health.as_ref().map(|health| Health {
            path: health.path.0.clone(),
            every: health.every.0,
            timeout: health.timeout.0,
        }),
        eject: match &written.eject {
            EjectOrOff::Eject(eject) => Some(Eject { failures: eject.failures.into(), duration: eject.r#for.0 }),
            EjectOrOff::Off(_) => None,
        },
        deny_private: written.deny_private,
        urls,
    }
}

/// A url whose host is an address inside can never be asked; names are judged once they are resolved.
fn deny_private(written: &written::Agent, path: &KeyPath, found: &mut Found<'_>) {
    let Some(urls) = &written.url else { return };
    let is_one = matches!(urls, written::OneOrMany::One(_));
    for (i, url) in urls.clone().into_vec().iter().enumerate() {
        let host = url.0.host().unwrap_or_default().trim_matches(['[', ']']);
        if host.parse().is_ok_and(is_private) {
            let path = if is_one { path.clone() } else { path.item(i) };
            let what = format!("`{host}` is an address inside, which deny_private refuses; take one of the two away");
            found.value(&path, what);
        }
    }
}

fn headers(
    written: &written::HeaderRules,
    path: &KeyPath,
    context: &Context<'_>,
    found: &mut Found<'_>,
) -> HeaderRules {
    const FRAMING: &str = "the gateway itself has to write this header; take it out of here";
    let mut rules = HeaderRules::default();
    let set = path.key("set");
    for (name, value) in names(&written.set.entries, &set, found) {
        let path = set.key(&name.written);
        if name.name.is_framing() {
            found.key(&path, FRAMING);
        }
        match header_value(name.name.0.as_str(), value, &path, context, found) {
            Ok(value) => rules.set.push((name.name.0, value)),
            Err(what) => found.value(&path, what),
        }
    }
    for (i, name) in written.remove.iter().enumerate() {
        if name.is_framing() {
            found.value(&path.key("remove").item(i), FRAMING);
        }
        rules.remove.push(name.0.clone());
    }
    rules
}

/// A header's name, and how it was spelled.
pub(super) struct Spelled {
    /// The name.
    pub(super) name: HeaderName,
    written: String,
}

/// The names of a table of headers, each only once whatever its case.
pub(super) fn names<'a, V>(
    entries: &'a BTreeMap<String, V>,
    path: &KeyPath,
    found: &mut Found<'_>,
) -> Vec<(Spelled, &'a V)> {
    let mut names: Vec<(Spelled, &V)> = Vec::new();
    for (written, value) in entries {
        let Ok(name) = HeaderName::read(written) else { continue };
        if let Some((earlier, _)) = names.iter().find(|(earlier, _)| earlier.name == name) {
            let what = format!("the same header as `{}`, for case does not count; write one of them", earlier.written);
            found.key(&path.key(written), what);
            continue;
        }
        names.push((Spelled { name, written: written.clone() }, value));
    }
    names
}

fn header_value(
    name: &str,
    written: &HeaderText,
    path: &KeyPath,
    context: &Context<'_>,
    found: &Found<'_>,
) -> Result<HeaderValue, String> {
    match written {
        HeaderText::Literal(literal) => {
            let mut value = literal.0.clone();
            let from_variable = matches!(found.places().value(path), Place::Variable(_));
            value.set_sensitive(from_variable || is_credential(name));
            Ok(value)
        }
        HeaderText::Secret(secret) => {
            let bytes = context.secrets.read(secret)?;
            let mut value = HeaderValue::from_bytes(&bytes)
                .map_err(|_| "the secret is not a header value; it must be one line without control characters")?;
            value.set_sensitive(true);
            Ok(value)
        }
    }
}
