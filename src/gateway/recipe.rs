//! What a route says of its streams comes in, the recipe of their pipeline goes out: the configuration's words in the
//! pipeline's.

use crate::{
    config,
    pipeline::{Recipe, Select, Unrepresentable, guard, state, throttle},
};

/// The most bytes that the throttle holds of a stream, and its copy of the state and of activities takes.
const HELD: usize = 1 << 20;

/// What the streams of this route pass through.
pub fn of(route: &config::Route) -> Recipe {
    Recipe {
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
        redact: None,
        throttle: route.throttle.as_ref().map(throttled),
        unrepresentable: match route.downgrade.unrepresentable {
            config::Unrepresentable::Drop => Unrepresentable::Drop,
            config::Unrepresentable::Custom => Unrepresentable::Custom,
        },
    }
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
