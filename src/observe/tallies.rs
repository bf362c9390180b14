//! What the exporter cannot hold: seconds counted with their fractions, and a histogram that costs the same for
//! one event and for a thousand. Durations come in, sums go out.
//!
//! The exporter's counters are whole numbers, and its histograms keep every single observation until they are
//! drained, which would make the memory of a gateway follow the rate of its events.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// Seconds that only grow.
#[derive(Default)]
pub(super) struct Seconds(AtomicU64);

impl Seconds {
    pub(super) fn add(&self, time: Duration) {
        self.0.fetch_add(nanos(time), Relaxed);
    }

    pub(super) fn seconds(&self) -> f64 {
        Duration::from_nanos(self.0.load(Relaxed)).as_secs_f64()
    }
}

/// Delays sorted under the bounds of a histogram.
pub(super) struct Delays {
    bounds: &'static [f64],
    /// One place for each bound and one above them all.
    places: Box<[AtomicU64]>,
    nanos: AtomicU64,
}

/// A moment of [`Delays`].
pub(super) struct DelaysSnapshot {
    /// Each bound, in seconds, and how many were at most that.
    pub(super) cumulative: Vec<(f64, u64)>,
    pub(super) count: u64,
    /// In seconds.
    pub(super) sum: f64,
}

impl Delays {
    /// None yet; they will be sorted under these bounds, in seconds.
    pub(super) fn new(bounds: &'static [f64]) -> Self {
        let places = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, places, nanos: AtomicU64::new(0) }
    }

    /// Records this delay `n` times.
    pub(super) fn add(&self, delay: Duration, n: u64) {
        let seconds = delay.as_secs_f64();
        let place = self.bounds.partition_point(|bound| *bound < seconds);
        if let Some(held) = self.places.get(place) {
            held.fetch_add(n, Relaxed);
        }
        self.nanos.fetch_add(nanos(delay).saturating_mul(n), Relaxed);
    }

    pub(super) fn snapshot(&self) -> DelaysSnapshot {
        let mut cumulative = Vec::with_capacity(self.bounds.len());
        let mut count = 0;
        for (i, place) in self.places.iter().enumerate() {
            count += place.load(Relaxed);
            cumulative.extend(self.bounds.get(i).map(|bound| (*bound, count)));
        }
        DelaysSnapshot { cumulative, count, sum: Duration::from_nanos(self.nanos.load(Relaxed)).as_secs_f64() }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{super::families::DELAY, *};

    #[test]
    fn a_bound_belongs_to_its_own_bucket_and_what_is_above_all_only_counts() {
        let delays = Delays::new(DELAY);
        delays.add(Duration::from_micros(10), 3);
        delays.add(Duration::from_nanos(10_001), 2);
        delays.add(Duration::from_secs(5), 1);
        let now = delays.snapshot();
        let at = |bound: f64| now.cumulative.iter().find(|(b, _)| *b == bound).map(|(_, n)| *n);
        assert_eq!((at(5e-6), at(1e-5), at(2e-5), at(1.0)), (Some(0), Some(3), Some(5), Some(5)));
        assert_eq!(now.count, 6);
        assert!((now.sum - 5.000_050_002).abs() < 1e-9, "{}", now.sum);
    }

    #[test]
    fn fractions_of_seconds_add_up() {
        let seconds = Seconds::default();
        for _ in 0..1000 {
            seconds.add(Duration::from_micros(1500));
        }
        assert!((seconds.seconds() - 1.5).abs() < 1e-9);
    }
}
