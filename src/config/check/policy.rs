//! `throttle`, `tools` and `redact` as written come in; the checked ones go out.

use crate::config::{
    ArgumentRule, OnDenied, RawEvent, RawEvents, Redaction, ResultRule, SlowClient, Throttle, Tools,
    text::ToolName,
    written::{self, Middleware},
};

/// What is merged; nothing where it would change nothing.
pub(super) fn throttle(middleware: &Middleware) -> Option<Throttle> {
    let written = middleware.throttle?;
    let throttle = Throttle {
        every: written.every.0,
        max_chars: written.max_chars as usize,
        slow_client: match written.slow_client {
            written::SlowClient::Merge => SlowClient::Merge,
            written::SlowClient::Wait => SlowClient::Wait,
        },
        raw_event: match written.raw_event {
            written::RawEvent::Drop => RawEvent::Drop,
            written::RawEvent::Keep => RawEvent::Keep,
        },
    };
    let idle = throttle.every.is_zero() && throttle.slow_client == SlowClient::Wait;
    (!idle).then_some(throttle)
}

/// The tool policy.
pub(super) fn tools(middleware: &Middleware) -> Option<Tools> {
    let written = middleware.tools.as_ref()?;
    let names = |names: &[ToolName]| names.iter().map(|name| name.0.clone()).collect();
    Some(Tools {
        allow: written.allow.as_deref().map(names),
        deny: names(&written.deny),
        on_denied: match written.on_denied {
            written::OnDenied::Drop => OnDenied::Drop,
            written::OnDenied::Mask => OnDenied::Mask,
            written::OnDenied::Error => OnDenied::Error,
        },
        raw: match written.raw {
            written::Raw::Drop => RawEvents::Drop,
            written::Raw::Pass => RawEvents::Pass,
        },
        arguments: written
            .arguments
            .iter()
            .map(|rule| ArgumentRule {
                tool: rule.tool.0.clone(),
                path: rule.path.0.clone(),
                matches: rule.matches.0.clone(),
            })
            .collect(),
        results: written
            .results
            .iter()
            .map(|rule| ResultRule { tool: rule.tool.0.clone(), matches: rule.matches.0.clone() })
            .collect(),
    })
}

/// What is replaced.
pub(super) fn redact(middleware: &Middleware) -> Vec<Redaction> {
    let redaction = |rule: &written::Redaction| Redaction { pattern: rule.pattern.0.clone(), with: rule.with.clone() };
    middleware.redact.iter().map(redaction).collect()
}
