//! Streams that flow: a plan comes in; rate, latency and CPU over a window of time go out.
//!
//! The window begins when every stream has begun and ends before any may end, so it sees neither ramp nor tail.

use std::{fmt::Write, time::Duration};

use tokio::time::Instant;

use crate::{
    args::Args,
    proc,
    run::Shape,
    sink::{Streams, Target},
};

/// The most that one read of a flowing stream takes, in bytes.
const BUFFER: usize = 64 * 1024;

/// A measurement of streams that flow.
pub struct Plan {
    target: Target,
    shape: Shape,
    /// Between the last stream's first event and the window.
    warm: Duration,
    window: Duration,
}

impl Plan {
    /// Reads `events=` (in a run), `every=` (µs between bursts, 0: unpaced), `burst=`, `warm=` and `window=` (ms).
    ///
    /// # Errors
    /// An argument that is missing or malformed.
    pub fn read(args: &Args) -> Result<Self, String> {
        Ok(Self {
            target: Target::read(args)?,
            shape: Shape {
                events: args.need("events")?,
                every: args.or("every", 0)?,
                burst: args.or("burst", 1)?,
                ..Shape::default()
            },
            warm: Duration::from_millis(args.or("warm", 1000)?),
            window: Duration::from_millis(args.need("window")?),
        })
    }
}

/// Measures, and writes what it saw as lines of `key value`.
///
/// # Errors
/// A run that was not exact, a process that is gone, or too much time.
pub async fn measure(plan: &Plan) -> Result<String, String> {
    let Plan { target, shape, .. } = plan;
    let cost = || target.pid.map(|pid| Ok::<_, String>((proc::cpu(pid)?, proc::waited(pid)?))).transpose();
    let streams = Streams::begin(target, BUFFER, |thread| Shape {
        phase: shape.every * thread as u64 / target.streams as u64,
        ..*shape
    });
    let tally = &streams.tally;
    streams.wait("the first events", |tally| tally.begun.get() == target.streams).await?;
    tokio::time::sleep(plan.warm).await;

    tally.recording.set(shape.every > 0);
    let (began, events_before, before) = (Instant::now(), tally.events.get(), cost()?);
    tokio::time::sleep(plan.window).await;
    let (after, events, seconds) = (cost()?, tally.events.get() - events_before, began.elapsed().as_secs_f64());
    tally.recording.set(false);
    let mut delays = tally.delays.take();

    let runs = streams.end().await?;
    if events == 0 {
        return Err("no event in the window".into());
    }
    let mut report =
        format!("runs {runs}\nevents {events}\nseconds {seconds:.3}\nrate {:.0}\n", events as f64 / seconds);
    if let (Some((cpu_before, waited_before)), Some((cpu_after, waited_after))) = (before, after) {
        let cpu = cpu_after.saturating_sub(cpu_before).as_secs_f64();
        let waited = waited_after.saturating_sub(waited_before).as_secs_f64();
        let _ = writeln!(report, "cpu_us_per_event {:.3}", cpu * 1e6 / events as f64);
        let _ = writeln!(report, "busy {:.3}\nwaited {:.3}", cpu / seconds, waited / seconds);
    }
    delays.sort_unstable();
    for (name, share) in [("delay_p50_us", 0.50), ("delay_p99_us", 0.99)] {
        if let Some(delay) = quantile(&delays, share) {
            let _ = writeln!(report, "{name} {delay}");
        }
    }
    Ok(report)
}

/// The smallest value that `share` of the sorted values do not exceed.
fn quantile(sorted: &[u32], share: f64) -> Option<u32> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::sink::tests::with_source;

    fn number(report: &str, key: &str) -> f64 {
        let line = report.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {key} in {report}")).parse().unwrap()
    }

    fn plan(words: &[String]) -> Plan {
        Plan::read(&Args::parse(words.iter().cloned()).unwrap()).unwrap()
    }

    #[test]
    fn quantiles_are_values_that_were_seen() {
        let hundred: Vec<u32> = (1..=100).collect();
        assert_eq!((quantile(&hundred, 0.5), quantile(&hundred, 0.99)), (Some(50), Some(99)));
        assert_eq!((quantile(&[7], 0.5), quantile(&[], 0.5)), (Some(7), None));
    }

    #[tokio::test]
    async fn paced_streams_arrive_at_their_pace() {
        with_source(async |to| {
            let words = ["streams=20", "events=40", "every=20000", "warm=100", "window=400"].map(String::from);
            let words = [&words[..], &[format!("to={to}"), format!("pid={}", std::process::id())]].concat();
            let report = measure(&plan(&words)).await.unwrap();
            // 20 streams at 50 events a second; a busy machine may delay a few.
            let rate = number(&report, "rate");
            assert!((500.0..1200.0).contains(&rate), "{report}");
            assert_eq!(number(&report, "runs"), 20.0);
            assert!(number(&report, "delay_p50_us") <= number(&report, "delay_p99_us"));
            assert!(number(&report, "cpu_us_per_event") < 10_000.0);
        })
        .await;
    }

    #[tokio::test]
    async fn unpaced_streams_are_not_held_back() {
        with_source(async |to| {
            let words = ["streams=4", "events=2000", "burst=16", "warm=50", "window=200"].map(String::from);
            let report = measure(&plan(&[&words[..], &[format!("to={to}")]].concat())).await.unwrap();
            assert!(number(&report, "rate") > 5_000.0, "{report}");
            assert!(!report.contains("delay") && !report.contains("cpu"), "{report}");
        })
        .await;
    }
}
