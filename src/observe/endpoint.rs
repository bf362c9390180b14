//! What is measured about one url of one agent: connects, attempts and health come in.

use std::time::Duration;

use metrics::{Counter, Gauge, Histogram};

use super::{
    families,
    handles::{Counters, Table},
    labels::{Attempt, Connect},
    metrics::Metrics,
};

/// The handles of one endpoint; made by [`Metrics::endpoint`] and held by whoever connects to it.
pub struct EndpointMetrics {
    metrics: Metrics,
    agent: Box<str>,
    endpoint: Box<str>,
    connect: Table<Connect, Histogram>,
    attempts: Counters<{ Attempt::COUNT }>,
    healthy: Gauge,
    ejections: Counter,
}

impl std::fmt::Debug for EndpointMetrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EndpointMetrics")
            .field("agent", &self.agent)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

impl EndpointMetrics {
    pub(super) fn new(metrics: Metrics, agent: &str, endpoint: &str) -> Self {
        let registry = metrics.registry();
        let healthy = registry.gauge(&families::AGENT_HEALTHY, [agent, endpoint]);
        let ejections = registry.counter(&families::AGENT_EJECTIONS, [agent, endpoint]);
        Self {
            agent: agent.into(),
            endpoint: endpoint.into(),
            connect: Table::new(),
            attempts: Counters::new(),
            healthy,
            ejections,
            metrics,
        }
    }

    /// A connection was opened, or was not, after this time.
    pub fn connect(&self, took: Duration, result: Connect) {
        let register = || {
            let labels = [&*self.agent, &*self.endpoint, result.as_str()];
            self.metrics.registry().histogram(&families::AGENT_CONNECT, labels)
        };
        self.connect.get(&result, register).record(took.as_secs_f64());
    }

    /// A request was sent, or could not be, with this result.
    pub fn attempts(&self, result: Attempt) {
        self.attempts.add(result.index(), 1, || {
            let labels = [&*self.agent, &*self.endpoint, result.as_str()];
            self.metrics.registry().counter(&families::AGENT_ATTEMPTS, labels)
        });
    }

    /// Whether the endpoint is given runs. Unset it reads 0, so say it at the start.
    pub fn healthy(&self, healthy: bool) {
        self.healthy.set(f64::from(u8::from(healthy)));
    }

    /// The endpoint was taken out after failures.
    pub fn ejected(&self) {
        self.ejections.increment(1);
    }
}
