//! Families and label values come in, handles go out: registered once, then held, so that recording looks nothing up.

use std::sync::{OnceLock, PoisonError, RwLock};

use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder, SharedString};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

use super::families::{self, Family, Kind};

static METADATA: Metadata<'static> = Metadata::new("tidegate", Level::INFO, None);

/// The recorder of one gateway. There is no global one, so that several gateways may live in one process.
pub(super) struct Registry {
    recorder: PrometheusRecorder,
}

impl Registry {
    pub(super) fn new() -> Self {
        let mut histograms = families::ALL.iter().filter_map(|family| match family.kind {
            Kind::Histogram(bounds) => Some((Matcher::Full(family.name.to_owned()), bounds)),
            _ => None,
        });
        // Refused only where there are no bounds; a test proves that every histogram has its own.
        let recorder = histograms
            .try_fold(PrometheusBuilder::new(), |builder, (matcher, bounds)| {
                builder.set_buckets_for_metric(matcher, bounds)
            })
            .unwrap_or_default()
            .build_recorder();
        for family in families::ALL {
            let (name, help) = (family.name.into(), family.help.into());
            match family.kind {
                Kind::Counter => recorder.describe_counter(name, family.unit(), help),
                Kind::Gauge => recorder.describe_gauge(name, family.unit(), help),
                Kind::Histogram(_) => recorder.describe_histogram(name, family.unit(), help),
            }
        }
        Self { recorder }
    }

    pub(super) fn exporter(&self) -> PrometheusHandle {
        self.recorder.handle()
    }

    pub(super) fn counter<const N: usize>(&self, family: &Family, values: [&str; N]) -> Counter {
        debug_assert_eq!(family.kind, Kind::Counter, "{}", family.name);
        self.recorder.register_counter(&key(family, values), &METADATA)
    }

    pub(super) fn gauge<const N: usize>(&self, family: &Family, values: [&str; N]) -> Gauge {
        debug_assert_eq!(family.kind, Kind::Gauge, "{}", family.name);
        self.recorder.register_gauge(&key(family, values), &METADATA)
    }

    pub(super) fn histogram<const N: usize>(&self, family: &Family, values: [&str; N]) -> Histogram {
        debug_assert!(matches!(family.kind, Kind::Histogram(_)), "{}", family.name);
        self.recorder.register_histogram(&key(family, values), &METADATA)
    }
}

fn key<const N: usize>(family: &Family, values: [&str; N]) -> Key {
    debug_assert_eq!(family.labels.len(), N, "{}", family.name);
    let labels: Vec<Label> = family
        .labels
        .iter()
        // The exporter takes a backslash for the start of an escape; a doubled one it leaves as it is.
        .zip(values)
        .map(|(name, value)| Label::new(*name, SharedString::from_owned(value.replace('\\', r"\\"))))
        .collect();
    Key::from_parts(family.name, labels)
}

/// Counters of one closed set, each registered when it first counts.
pub(super) struct Counters<const N: usize>([OnceLock<Counter>; N]);

impl<const N: usize> Counters<N> {
    pub(super) fn new() -> Self {
        Self(std::array::from_fn(|_| OnceLock::new()))
    }

    /// Adds to the counter in this place; nothing, not even a zero, appears for `n = 0`.
    pub(super) fn add(&self, place: usize, n: u64, register: impl FnOnce() -> Counter) {
        if n > 0
            && let Some(counter) = self.0.get(place)
        {
            counter.get_or_init(register).increment(n);
        }
    }
}

/// Handles under keys that are few but not listed in one place, found by comparing.
pub(super) struct Table<K, V>(RwLock<Vec<(K, V)>>);

impl<K: PartialEq + Clone, V: Clone> Table<K, V> {
    pub(super) fn new() -> Self {
        Self(RwLock::new(Vec::new()))
    }

    /// The handle under this key, made if there is none.
    pub(super) fn get(&self, key: &K, make: impl FnOnce() -> V) -> V {
        let find = |held: &[(K, V)]| held.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone());
        if let Some(found) = find(&self.0.read().unwrap_or_else(PoisonError::into_inner)) {
            return found;
        }
        let mut held = self.0.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been first between the two locks.
        find(&held).unwrap_or_else(|| {
            let made = make();
            held.push((key.clone(), made.clone()));
            made
        })
    }

    /// Every key and handle there is so far.
    pub(super) fn all(&self) -> Vec<(K, V)> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
