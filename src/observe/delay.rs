//! Delays of one run's events come in, their middle and their maximum go out; of fixed size, one a run.

use std::time::Duration;

/// Upper bounds of all places but the last: 2 µs, doubling to 16.4 ms.
const BOUNDS: usize = 14;

/// What the gateway added to the events of one run: a histogram in powers of two, 64 bytes in all.
#[derive(Clone, Copy, Debug, Default)]
pub struct DelayStats {
    /// Events by delay: under 2 µs, under 4 µs, …, and whatever takes longer.
    places: [u32; BOUNDS + 1],
    /// The longest delay, in microseconds, at most 71 minutes.
    max: u32,
}

impl DelayStats {
    /// Adds `n` events with this delay.
    pub fn add(&mut self, delay: Duration, n: usize) {
        if n == 0 {
            return;
        }
        let micros = u32::try_from(delay.as_micros()).unwrap_or(u32::MAX);
        self.max = self.max.max(micros);
        let place = (micros.max(1).ilog2() as usize).min(BOUNDS);
        if let Some(count) = self.places.get_mut(place) {
            *count = count.saturating_add(u32::try_from(n).unwrap_or(u32::MAX));
        }
    }

    /// The delay that half of the events stay under, or nothing without events.
    ///
    /// Exact to a factor of two, within its power of two by proportion.
    pub fn p50(&self) -> Option<Duration> {
        let all: u64 = self.places.iter().map(|n| u64::from(*n)).sum();
        let half = all.div_ceil(2);
        let mut below = 0;
        for (place, n) in self.places.iter().enumerate().filter(|(_, n)| **n > 0) {
            let n = u64::from(*n);
            if below + n >= half {
                let low = if place == 0 { 0 } else { 1_u64 << place };
                let max = u64::from(self.max);
                let high = if place == BOUNDS { max } else { max.min(2 << place) };
                let micros = low + high.saturating_sub(low) * (half - below) / n;
                return Some(Duration::from_micros(micros.min(max)));
            }
            below += n;
        }
        None
    }

    /// The longest delay, or nothing without events.
    pub fn max(&self) -> Option<Duration> {
        let any = self.places.iter().any(|n| *n > 0);
        any.then(|| Duration::from_micros(self.max.into()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_run_pays_64_bytes_for_it() {
        assert!(size_of::<DelayStats>() <= 64);
    }

    #[test]
    fn no_events_have_no_delay() {
        let mut stats = DelayStats::default();
        stats.add(Duration::from_secs(1), 0);
        assert_eq!((stats.p50(), stats.max()), (None, None));
    }

    #[test]
    fn a_rare_long_delay_moves_the_maximum_and_not_the_middle() {
        let mut stats = DelayStats::default();
        stats.add(Duration::from_micros(40), 100_000);
        stats.add(Duration::from_secs(3), 1);
        assert!(stats.p50().unwrap() < Duration::from_micros(64), "{:?}", stats.p50());
        assert_eq!(stats.max(), Some(Duration::from_secs(3)));
    }

    #[test]
    fn absurd_numbers_saturate() {
        let mut stats = DelayStats::default();
        stats.add(Duration::MAX, usize::MAX);
        stats.add(Duration::MAX, usize::MAX);
        assert_eq!(stats.max(), Some(Duration::from_micros(u32::MAX.into())));
        assert!(stats.p50().is_some());
    }

    proptest! {
        #[test]
        fn the_middle_is_right_to_a_factor_of_two_and_never_beyond_the_maximum(
            mut delays in proptest::collection::vec(0_u64..16_000, 1..200),
        ) {
            let mut stats = DelayStats::default();
            for delay in &delays {
                stats.add(Duration::from_micros(*delay), 1);
            }
            delays.sort_unstable();
            let exact = delays[delays.len().div_ceil(2) - 1];
            let told = stats.p50().unwrap().as_micros() as u64;
            prop_assert!(told <= exact.max(1) * 2 && told * 2 >= exact, "told {told}, exact {exact}");
            prop_assert!(stats.p50() <= stats.max());
            prop_assert_eq!(stats.max(), delays.last().map(|d| Duration::from_micros(*d)));
        }
    }
}
