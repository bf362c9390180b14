//! What happened on a run and when comes in, the next limit to look at goes out. It reads no clock.

use std::time::{Duration, Instant};

use crate::config::Timeouts;

/// A limit whose time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// `timeouts.run`.
    Run,
    /// `timeouts.first_event`.
    FirstEvent,
    /// `timeouts.idle`.
    Idle,
    /// `timeouts.progress`.
    Progress,
    /// `keepalive`: the client hears that the run lives.
    Keepalive,
}

/// The clocks of one run. Each is a time at which something last happened; none is a timer of its own.
#[derive(Clone, Debug)]
pub struct Timers {
    run: Option<Instant>,
    first_event: Option<Instant>,
    idle: Option<Duration>,
    progress: Option<Duration>,
    keepalive: Option<Duration>,
    bytes_at: Instant,
    event_at: Option<Instant>,
    /// The last write of a run that goes on.
    wrote_at: Option<Instant>,
}

impl Timers {
    /// Clocks for a run whose request was read at `received` and whose body had been sent at `sent`.
    pub fn new(limits: &Timeouts, keepalive: Option<Duration>, received: Instant, sent: Instant) -> Self {
        Self {
            run: limits.run.map(|limit| received + limit),
            first_event: limits.first_event.map(|limit| sent + limit),
            idle: limits.idle,
            progress: limits.progress,
            keepalive,
            bytes_at: sent,
            event_at: None,
            wrote_at: None,
        }
    }

    /// Bytes of any kind came from the agent.
    pub fn bytes(&mut self, at: Instant) {
        self.bytes_at = at;
    }

    /// An event came from the agent.
    pub fn event(&mut self, at: Instant) {
        self.event_at = Some(at);
    }

    /// Something was written to the client. `more`: the run goes on, so that silence may be filled.
    pub fn wrote(&mut self, at: Instant, more: bool) {
        self.wrote_at = more.then_some(at);
    }

    /// The end of `timeouts.run`.
    pub fn run_ends(&self) -> Option<Instant> {
        self.run
    }

    /// The next limit and its time. Before the first event only `first_event` and `run` count.
    pub fn next(&self) -> Option<(Instant, Due)> {
        let due = |at: Option<Instant>, due| at.map(|at| (at, due));
        let run = due(self.run, Due::Run);
        let rest = match self.event_at {
            None => [due(self.first_event, Due::FirstEvent), None, None],
            Some(event_at) => [
                due(self.idle.map(|limit| self.bytes_at + limit), Due::Idle),
                due(self.progress.map(|limit| event_at + limit), Due::Progress),
                due(self.keepalive.zip(self.wrote_at).map(|(limit, at)| at + limit), Due::Keepalive),
            ],
        };
        rest.into_iter().chain([run]).flatten().min_by_key(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn timers(start: Instant) -> Timers {
        let limits = Timeouts {
            connect: MS,
            first_event: Some(60 * MS),
            idle: Some(50 * MS),
            progress: Some(80 * MS),
            run: Some(1000 * MS),
        };
        Timers::new(&limits, Some(15 * MS), start, start + 5 * MS)
    }

    #[test]
    fn before_the_first_event_only_its_own_limit_counts() {
        let start = Instant::now();
        let mut timers = timers(start);
        timers.bytes(start + 30 * MS);
        assert_eq!(timers.next(), Some((start + 65 * MS, Due::FirstEvent)));
    }

    #[test]
    fn bytes_restart_idle_and_only_events_restart_progress() {
        let start = Instant::now();
        let mut timers = timers(start);
        timers.event(start + 10 * MS);
        timers.bytes(start + 10 * MS);
        assert_eq!(timers.next(), Some((start + 60 * MS, Due::Idle)));
        timers.bytes(start + 55 * MS);
        assert_eq!(timers.next(), Some((start + 90 * MS, Due::Progress)));
        timers.event(start + 88 * MS);
        assert_eq!(timers.next(), Some((start + 105 * MS, Due::Idle)));
    }

    #[test]
    fn a_keepalive_follows_silence_toward_the_client_and_stops_with_the_run() {
        let start = Instant::now();
        let mut timers = timers(start);
        timers.event(start);
        timers.bytes(start);
        timers.wrote(start, true);
        assert_eq!(timers.next(), Some((start + 15 * MS, Due::Keepalive)));
        timers.wrote(start + 15 * MS, true);
        assert_eq!(timers.next(), Some((start + 30 * MS, Due::Keepalive)));
        timers.wrote(start + 20 * MS, false);
        assert_eq!(timers.next(), Some((start + 50 * MS, Due::Idle)));
    }

    #[test]
    fn the_run_ends_whatever_happens() {
        let start = Instant::now();
        let mut timers = timers(start);
        for ms in (0..1000).step_by(10) {
            timers.event(start + ms * MS);
            timers.bytes(start + ms * MS);
            timers.wrote(start + ms * MS, true);
        }
        assert_eq!(timers.next(), Some((start + 1000 * MS, Due::Run)));
    }

    #[test]
    fn off_is_off() {
        let start = Instant::now();
        let limits = Timeouts { connect: MS, first_event: None, idle: None, progress: None, run: None };
        let mut timers = Timers::new(&limits, None, start, start);
        assert_eq!(timers.next(), None);
        timers.event(start);
        timers.wrote(start, true);
        assert_eq!(timers.next(), None);
    }
}
