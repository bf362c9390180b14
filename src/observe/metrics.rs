//! Everything one gateway measures: observations come in, the text that Prometheus reads goes out.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use http::StatusCode;
use metrics::{Counter, Gauge};
use metrics_exporter_prometheus::PrometheusHandle;

use super::{
    EndpointMetrics, RouteMetrics,
    endpoint::Health,
    exposition::{self, Exposition, Sample},
    families,
    handles::{Counters, Registry, Table},
    labels::{Refusal, Reload},
    process::Process,
    tallies::{Delays, Seconds},
};

/// What `tidegate_requests_total` calls the classes of status.
pub(super) const STATUS_CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// A status's place in [`STATUS_CLASSES`]; what is beyond them counts as the agent's or gateway's fault.
pub(super) fn status_class(status: StatusCode) -> usize {
    usize::from(status.as_u16() / 100).clamp(1, STATUS_CLASSES.len()) - 1
}

/// The route label of requests that no route wants.
const NO_ROUTE: &str = "none";

/// The metrics of one gateway; clones share them.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    exporter: PrometheusHandle,
    process: Process,
    held: HeldBytes,
    held_gauge: Gauge,
    draining: Gauge,
    config_timestamp: Gauge,
    config_hash: Mutex<Option<Box<str>>>,
    health: Mutex<Vec<Weak<Health>>>,
    reloads: [Counter; Reload::COUNT],
    refused: [Counter; Refusal::COUNT],
    requests: Counters<{ STATUS_CLASSES.len() }>,
    delays: Table<Box<str>, Arc<Delays>>,
    held_times: Table<Box<str>, Arc<Delays>>,
    stalls: Table<Box<str>, Arc<Seconds>>,
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    /// Metrics at zero, of a build with this version and source revision.
    pub fn new(version: &'static str, revision: &'static str) -> Self {
        let registry = Registry::new();
        registry.gauge(&families::BUILD_INFO, [version, revision]).set(1.0);
        let counted = |family, values: [&'static str; 1]| registry.counter(family, values);
        Self(Arc::new(Inner {
            exporter: registry.exporter(),
            process: Process::new(&registry),
            held: HeldBytes::default(),
            held_gauge: registry.gauge(&families::HELD_BYTES, []),
            draining: registry.gauge(&families::DRAINING, []),
            config_timestamp: registry.gauge(&families::CONFIG_TIMESTAMP, []),
            config_hash: Mutex::new(None),
            health: Mutex::default(),
            reloads: std::array::from_fn(|i| counted(&families::CONFIG_RELOADS, [Reload::ALL[i].as_str()])),
            refused: std::array::from_fn(|i| counted(&families::REQUESTS_REFUSED, [Refusal::ALL[i].as_str()])),
            requests: Counters::new(),
            delays: Table::new(),
            held_times: Table::new(),
            stalls: Table::new(),
            registry,
        }))
    }

    /// The handles of a route and the agent behind it, and of the tools that its policy names. All are names from the
    /// configuration (I10).
    pub fn route(&self, route: &str, agent: &str, tools: &[String]) -> Arc<RouteMetrics> {
        Arc::new(RouteMetrics::new(self.clone(), route, agent, tools))
    }

    /// The handles of one url of an agent, as configured, without any secret in it (I9, I10).
    pub fn endpoint(&self, agent: &str, endpoint: &str) -> Arc<EndpointMetrics> {
        Arc::new(EndpointMetrics::new(self.clone(), agent, endpoint))
    }

    /// A request was answered without asking an agent.
    pub fn refused(&self, reason: Refusal) {
        if let Some(counter) = self.0.refused.get(reason.index()) {
            counter.increment(1);
        }
    }

    /// A request that no route wants was answered.
    pub fn request(&self, status: StatusCode) {
        let class = status_class(status);
        self.0
            .requests
            .add(class, 1, || self.registry().counter(&families::REQUESTS, [NO_ROUTE, STATUS_CLASSES[class]]));
    }

    /// Whether the gateway is about to stop.
    pub fn draining(&self, draining: bool) {
        self.0.draining.set(f64::from(u8::from(draining)));
    }

    /// A configuration with this hash is in use from now on, in place of the one before.
    pub fn config_loaded(&self, hash: &str) {
        self.stamp();
        *self.0.config_hash.lock().unwrap_or_else(PoisonError::into_inner) = Some(hash.into());
    }

    /// The configuration was read again, or the certificates that it names. The first reading is no reload.
    pub fn config_reload(&self, result: Reload) {
        if result == Reload::Success {
            self.stamp();
        }
        if let Some(counter) = self.0.reloads.get(result.index()) {
            counter.increment(1);
        }
    }

    fn stamp(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.0.config_timestamp.set(now.as_secs_f64());
    }

    /// The bytes held for all runs.
    pub fn held_bytes(&self) -> &HeldBytes {
        &self.0.held
    }

    /// Sorts what the histograms were given into their buckets. Called by a timer, every second or so, because
    /// observations take memory until then, whether or not anybody scrapes.
    pub fn upkeep(&self) {
        self.0.exporter.run_upkeep();
    }

    /// Everything, in the classic text format of Prometheus, version 0.0.4.
    pub fn render(&self) -> String {
        self.expose().classic()
    }

    /// Everything, in OpenMetrics 1.0.
    pub fn render_openmetrics(&self) -> String {
        self.expose().openmetrics()
    }

    pub(super) fn registry(&self) -> &Registry {
        &self.0.registry
    }

    /// Has this endpoint's health shown from now on, in place of that of an earlier one by the same name.
    pub(super) fn shows(&self, health: &Arc<Health>) {
        let mut all = self.0.health.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|health| health.strong_count() > 0);
        all.push(Arc::downgrade(health));
    }

    fn health(&self) -> Vec<Sample> {
        let all = self.0.health.lock().unwrap_or_else(PoisonError::into_inner);
        let all: Vec<_> = all.iter().filter_map(Weak::upgrade).collect();
        let latest: BTreeMap<_, _> =
            all.iter().filter_map(|health| Some(((&*health.agent, &*health.endpoint), health.shown()?))).collect();
        let sample = |((agent, endpoint), value)| exposition::plain(&families::AGENT_HEALTHY, [agent, endpoint], value);
        latest.into_iter().map(sample).collect()
    }

    pub(super) fn delays(&self, route: &str) -> Arc<Delays> {
        self.0.delays.get(&route.into(), || Arc::new(Delays::new(families::DELAY)))
    }

    pub(super) fn held_times(&self, route: &str) -> Arc<Delays> {
        self.0.held_times.get(&route.into(), || Arc::new(Delays::new(families::HELD)))
    }

    pub(super) fn stall(&self, route: &str) -> Arc<Seconds> {
        self.0.stalls.get(&route.into(), Arc::default)
    }

    fn expose(&self) -> Exposition {
        self.0.held_gauge.set(self.0.held.get() as f64);
        let cpu = self.0.process.collect();
        let mut all = Exposition::read(&self.0.exporter.render());
        if let Some(cpu) = cpu {
            all.push(&families::PROCESS_CPU, vec![exposition::plain(&families::PROCESS_CPU, [], cpu)]);
        }
        let hash = self.0.config_hash.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(hash) = hash {
            all.push(&families::CONFIG_INFO, vec![exposition::plain(&families::CONFIG_INFO, [&hash], 1.0)]);
        }
        all.push(&families::AGENT_HEALTHY, self.health());
        let stalls = self.0.stalls.all();
        let stalls = stalls.iter().map(|(route, s)| exposition::plain(&families::CLIENT_STALL, [route], s.seconds()));
        all.push(&families::CLIENT_STALL, stalls.collect());
        for (family, table) in [(&families::EVENT_DELAY, &self.0.delays), (&families::EVENT_HELD, &self.0.held_times)] {
            let delays = table.all();
            let delays = delays.iter().flat_map(|(route, d)| exposition::delays(family, [route], &d.snapshot()));
            all.push(family, delays.collect());
        }
        all
    }
}

/// Bytes held for all runs; counted without a lock, read when somebody scrapes.
#[derive(Debug, Default)]
pub struct HeldBytes(AtomicI64);

impl HeldBytes {
    /// This many more bytes are held.
    pub fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes as i64, Relaxed);
    }

    /// This many fewer bytes are held.
    pub fn sub(&self, bytes: usize) {
        self.0.fetch_sub(bytes as i64, Relaxed);
    }

    /// Bytes held now.
    pub fn get(&self) -> i64 {
        self.0.load(Relaxed)
    }
}
