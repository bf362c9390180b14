//! Streams that are silent: a plan comes in; the memory that a held stream costs goes out.
//!
//! Each has had some events before it falls silent, as a run has that waits for a tool or a model.

use std::time::Duration;

use crate::{
    args::Args,
    check::now,
    proc,
    run::Shape,
    sink::{Streams, Target},
};

/// The most that one read of a silent stream takes, in bytes: thousands of them are open.
const BUFFER: usize = 4096;

/// A measurement of streams that are silent.
pub struct Plan {
    target: Target,
    pid: u32,
    events: u64,
    /// From the beginning to the end of the silence.
    hold: Duration,
    /// How long all must have been silent before memory is read.
    settle: Duration,
}

impl Plan {
    /// Reads `events=` (before the silence), `hold=` and `settle=` (ms); `pid=` has to be there.
    ///
    /// # Errors
    /// An argument that is missing or malformed.
    pub fn read(args: &Args) -> Result<Self, String> {
        Ok(Self {
            target: Target::read(args)?,
            pid: args.need("pid")?,
            events: args.or("events", 10)?,
            hold: Duration::from_millis(args.or("hold", 8000)?),
            settle: Duration::from_millis(args.or("settle", 3000)?),
        })
    }
}

/// Measures, and writes what it saw as lines of `key value`. The process should have answered a few runs before.
///
/// # Errors
/// A run that was not exact, streams that were not all silent at once, or too much time.
pub async fn measure(plan: &Plan) -> Result<String, String> {
    let Plan { target, .. } = plan;
    let before = proc::resident(plan.pid)?;
    let until = now() / 1000 + plan.hold.as_millis() as u64;
    let shape = Shape { events: plan.events, every: 5_000, burst: 1, hold_until: until, phase: 0 };
    let streams = Streams::begin(target, BUFFER, |_| shape);
    // One run each.
    streams.tally.stop.set(true);
    streams.wait("all streams to fall silent", |tally| tally.filled.get() == target.streams).await?;
    tokio::time::sleep(plan.settle).await;

    let during = proc::resident(plan.pid)?;
    if streams.tally.runs.get() > 0 || now() / 1000 > until {
        return Err("the silence was over before all streams were in it: raise hold=".into());
    }
    let runs = streams.end().await?;
    let each = during.saturating_sub(before) as f64 / target.streams as f64;
    Ok(format!("runs {runs}\nbefore_kib {before}\nduring_kib {during}\nkib_per_stream {each:.3}\n"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::sink::tests::with_source;
    use std::net::SocketAddr;

    fn plan(to: SocketAddr, hold: u64, settle: u64) -> Plan {
        let (pid, us) = (std::process::id(), format!("to={to}"));
        let words = [us, format!("pid={pid}"), "streams=50".into(), format!("hold={hold}"), format!("settle={settle}")];
        Plan::read(&Args::parse(words.into_iter()).unwrap()).unwrap()
    }

    #[tokio::test]
    async fn a_silence_that_is_too_short_is_an_error() {
        with_source(async |to| {
            let problem = measure(&plan(to, 100, 400)).await.unwrap_err();
            assert!(problem.contains("raise hold="), "{problem}");
        })
        .await;
    }
}
