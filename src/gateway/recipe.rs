//! What a route says of its streams comes in, the recipe of their pipeline goes out: the configuration's words in the
//! pipeline's.

use std::{io, sync::Arc};

use crate::{
    config,
    pipeline::{Recipe, Select, Unrepresentable, guard, redact, state, throttle, tools},
};

/// The most bytes that the throttle holds of a stream, and its copy of the state and of activities takes.
const HELD: usize = 1 << 20;

/// What the streams of this route pass through.
///
/// # Errors
///
/// Patterns that are too large together.
pub fn of(route: &config::Route) -> io::Result<Recipe> {
    let named = |what: &dyn std::fmt::Display| io::Error::other(format!("the route `{}`: {what}", route.name));
    Ok(Recipe {
        upgrade: route.upgrade,
        expand: route.expand,
        guard: match route.guard {
            config::Guard::Off => guard::Mode::Off,
            config::Guard::Observe => guard::Mode::Observe,
            config::Guard::Repair => guard::Mode::Repair,
            config::Guard::Refuse => guard::Mode::Refuse,
        },
        select: route
            .select
            .as_ref()
            .map(|select| Select::new(select.drop.iter().map(String::as_str), select.strip.iter().map(String::as_str))),
        state: Some(followed(route)),
        tools: route.tools.as_ref().map(policy).transpose().map_err(|error| named(&error))?.map(Arc::new),
        redact: redacted(&route.redact).map_err(|error| named(&error))?,
        throttle: route.throttle.as_ref().map(throttled),
        unrepresentable: match route.downgrade.unrepresentable {
            config::Unrepresentable::Drop => Unrepresentable::Drop,
            config::Unrepresentable::Custom => Unrepresentable::Custom,
        },
    })
}

fn policy(tools: &config::Tools) -> Result<tools::Policy, tools::PolicyError> {
    let on_denied = match tools.on_denied {
        config::OnDenied::Drop => tools::OnDenied::Drop,
        config::OnDenied::Mask => tools::OnDenied::Mask,
        config::OnDenied::Error => tools::OnDenied::Error,
    };
    let raw = match tools.raw {
        config::RawEvents::Drop => tools::Raw::Drop,
        config::RawEvents::Pass => tools::Raw::Pass,
    };
    let arguments: Vec<_> = tools
        .arguments
        .iter()
        .map(|rule| tools::ArgumentRule {
            tool: rule.tool.clone(),
            path: rule.path.clone(),
            matches: rule.matches.clone(),
        })
        .collect();
    let results: Vec<_> = tools
        .results
        .iter()
        .map(|rule| tools::ResultRule { tool: rule.tool.clone(), matches: rule.matches.clone() })
        .collect();
    tools::Policy::new(tools.allow.as_deref(), &tools.deny, on_denied, raw, &arguments, &results)
}

fn redacted(rules: &[config::Redaction]) -> Result<Option<redact::Rules>, redact::Fault> {
    let list: Vec<_> = rules.iter().map(|rule| (rule.pattern.as_str(), rule.with.as_str())).collect();
    if list.is_empty() { Ok(None) } else { redact::Rules::new(&list).map(Some) }
}

fn followed(route: &config::Route) -> state::Policy {
    state::Policy {
        compact: route.state.compact,
        on_mismatch: match route.state.on_mismatch {
            config::OnMismatch::Forward => state::OnMismatch::Forward,
            config::OnMismatch::Drop => state::OnMismatch::Drop,
            config::OnMismatch::Resync => state::OnMismatch::Resync,
            config::OnMismatch::Lenient => state::OnMismatch::Lenient,
        },
        limit: route.limits.state,
    }
}

fn throttled(throttle: &config::Throttle) -> throttle::Policy {
    throttle::Policy {
        every: throttle.every,
        max_chars: throttle.max_chars,
        slow_client: match throttle.slow_client {
            config::SlowClient::Merge => throttle::SlowClient::Merge,
            config::SlowClient::Wait => throttle::SlowClient::Wait,
        },
        keep_raw_event: throttle.raw_event == config::RawEvent::Keep,
        limit: HELD,
    }
}
