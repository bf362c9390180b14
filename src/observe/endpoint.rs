//! What is measured about one url of one agent: connects, attempts and health come in.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering::Relaxed},
    },
    time::Duration,
};

use metrics::{Counter, Histogram};

use super::{
    families,
    handles::{Counters, Table},
    labels::{Attempt, Connect},
    metrics::Metrics,
};

/// The handles of one endpoint; made by [`Metrics::endpoint`] and held by whoever connects to it.
pub struct EndpointMetrics {
    metrics: Metrics,
    health: Arc<Health>,
    connect: Table<Connect, Histogram>,
    attempts: Counters<{ Attempt::COUNT }>,
    ejections: Counter,
}

/// Whether one endpoint is given runs. It is shown while the endpoint is in use, and no longer: an alert on an endpoint that
/// is gone would never end.
#[derive(Debug)]
pub(super) struct Health {
    pub(super) agent: Box<str>,
    pub(super) endpoint: Box<str>,
    value: AtomicU8,
}

impl Health {
    const OUT: u8 = 0;
    const IN: u8 = 1;
    const GONE: u8 = 2;

    /// What is shown, if anything is.
    pub(super) fn shown(&self) -> Option<f64> {
        Some(self.value.load(Relaxed)).filter(|value| *value != Self::GONE).map(f64::from)
    }

    fn set(&self, value: u8) {
        self.value.store(value, Relaxed);
    }
}

impl std::fmt::Debug for EndpointMetrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EndpointMetrics")
            .field("agent", &self.health.agent)
            .field("endpoint", &self.health.endpoint)
            .finish_non_exhaustive()
    }
}

impl EndpointMetrics {
    pub(super) fn new(metrics: Metrics, agent: &str, endpoint: &str) -> Self {
        let ejections = metrics.registry().counter(&families::AGENT_EJECTIONS, [agent, endpoint]);
        let health =
            Arc::new(Health { agent: agent.into(), endpoint: endpoint.into(), value: AtomicU8::new(Health::IN) });
        metrics.shows(&health);
        Self { health, connect: Table::new(), attempts: Counters::new(), ejections, metrics }
    }

    /// A connection was opened, or was not, after this time.
    pub fn connect(&self, took: Duration, result: Connect) {
        let register = || {
            let labels = [&*self.health.agent, &*self.health.endpoint, result.as_str()];
            self.metrics.registry().histogram(&families::AGENT_CONNECT, labels)
        };
        self.connect.get(&result, register).record(took.as_secs_f64());
    }

    /// A request was sent, or could not be, with this result.
    pub fn attempts(&self, result: Attempt) {
        self.attempts.add(result.index(), 1, || {
            let labels = [&*self.health.agent, &*self.health.endpoint, result.as_str()];
            self.metrics.registry().counter(&families::AGENT_ATTEMPTS, labels)
        });
    }

    /// Whether the endpoint is given runs. At first it is.
    pub fn healthy(&self, healthy: bool) {
        self.health.set(if healthy { Health::IN } else { Health::OUT });
    }

    /// The endpoint is in use no more, or by others: whether it is given runs is not for this one to show.
    pub fn gone(&self) {
        self.health.set(Health::GONE);
    }

    /// The endpoint was taken out after failures.
    pub fn ejected(&self) {
        self.ejections.increment(1);
    }
}
