//! What is known of an agent's endpoints, shared by all threads: who has how many runs, who fails, who is healthy. Runs
//! and checks tell it, the choice of an endpoint comes out. Touched a few times a run, never for an event.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::Instant,
};

use super::{
    balance::{self, By, Candidate},
    eject::Ejection,
    health::Health,
};
use crate::{
    config::{self, Balance},
    observe::{EndpointMetrics, Metrics},
};

/// The endpoints of one agent.
#[derive(Debug)]
pub struct Standings {
    config: config::Agent,
    /// Nobody is given runs by these any more.
    retired: AtomicBool,
    seats: Vec<Seat>,
    turn: AtomicUsize,
    judgements: Mutex<Vec<Judgement>>,
}

/// One endpoint.
#[derive(Debug)]
struct Seat {
    /// Its url, by which threads stick to it.
    url: Box<str>,
    /// The same as operators see it.
    name: Box<str>,
    /// At it now, on all threads.
    runs: AtomicUsize,
    metrics: Arc<EndpointMetrics>,
}

/// What is held of one endpoint.
#[derive(Debug, Default)]
struct Judgement {
    ejection: Ejection,
    health: Health,
}

impl Judgement {
    fn is_out(&self) -> bool {
        self.ejection.is_out() || self.health.is_sick()
    }
}

impl Standings {
    /// All endpoints of this agent are in, and nobody has a run.
    pub fn new(config: &config::Agent, metrics: &Metrics) -> Arc<Self> {
        let seat = |url: String| {
            let name = config::shown_url(&url);
            let metrics = metrics.endpoint(&config.name, &name);
            Seat { url: url.into(), name: name.into(), runs: AtomicUsize::new(0), metrics }
        };
        let seats: Vec<_> = config.urls.iter().map(|url| seat(url.to_string())).collect();
        Arc::new(Self {
            config: config.clone(),
            retired: AtomicBool::new(false),
            judgements: Mutex::new(seats.iter().map(|_| Judgement::default()).collect()),
            seats,
            turn: AtomicUsize::new(0),
        })
    }

    /// Whether what is known here is as true of this agent: the same urls, judged in the same way.
    pub fn are_of(&self, agent: &config::Agent) -> bool {
        let own = &self.config;
        own.name == agent.name
            && own.urls == agent.urls
            && own.balance == agent.balance
            && own.eject == agent.eject
            && own.health == agent.health
    }

    /// Takes them out of use. Runs that began with them still end with them, but nobody is judged by these any more, and
    /// the figures show nothing of endpoints that are not asked.
    pub fn retire(&self) {
        let judgements = self.judgements();
        self.retired.store(true, Relaxed);
        self.seats.iter().for_each(|seat| seat.metrics.gone());
        drop(judgements);
    }

    fn is_retired(&self) -> bool {
        self.retired.load(Relaxed)
    }

    /// One of them, by its place in the configuration.
    pub fn at(self: &Arc<Self>, place: usize) -> Standing {
        Standing { all: self.clone(), place }
    }

    /// Whether the choice needs to know the thread.
    pub fn sticks(&self) -> bool {
        self.config.balance == Balance::Thread && self.seats.len() > 1
    }

    /// The places in the order in which a run of this thread tries them.
    pub fn order(&self, thread: Option<&str>, now: Instant) -> Vec<usize> {
        let mut judgements = self.judgements();
        self.bring_back(&mut judgements, now);
        let candidates: Vec<_> = self
            .seats
            .iter()
            .zip(judgements.iter())
            .map(|(seat, judgement)| Candidate {
                name: &seat.url,
                runs: seat.runs.load(Relaxed),
                is_out: judgement.is_out(),
            })
            .collect();
        let by = match (self.config.balance, thread) {
            (Balance::Thread, Some(thread)) => By::Thread(thread),
            (Balance::RoundRobin, _) => By::Turn,
            (Balance::LeastRuns | Balance::Thread, _) => By::Runs,
        };
        balance::order(by, self.turn.fetch_add(1, Relaxed), &candidates)
    }

    /// Takes those in again whose time is over, also when no run asks for it.
    pub fn look(&self, now: Instant) {
        self.bring_back(&mut self.judgements(), now);
    }

    fn bring_back(&self, judgements: &mut [Judgement], now: Instant) {
        for (seat, judgement) in self.seats.iter().zip(judgements) {
            if judgement.ejection.is_back(now) && !self.is_retired() {
                tracing::info!(agent = %self.config.name, endpoint = %seat.name, "endpoint is given runs again after its failures");
                seat.metrics.healthy(!judgement.is_out());
            }
        }
    }

    fn judgements(&self) -> MutexGuard<'_, Vec<Judgement>> {
        // Nothing in here is ever half done.
        self.judgements.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One endpoint among the others of its agent.
#[derive(Clone, Debug)]
pub struct Standing {
    all: Arc<Standings>,
    place: usize,
}

impl Standing {
    fn seat(&self) -> &Seat {
        &self.all.seats[self.place]
    }

    /// Its figures.
    pub fn metrics(&self) -> &EndpointMetrics {
        &self.seat().metrics
    }

    /// Counts a run at it for as long as this lives.
    pub fn run(&self) -> Running {
        self.seat().runs.fetch_add(1, Relaxed);
        Running(self.clone())
    }

    /// A request succeeded at it.
    pub fn succeeded(&self) {
        if let Some(judgement) = self.all.judgements().get_mut(self.place) {
            judgement.ejection.succeeded();
        }
    }

    /// A request failed at it, by its own fault.
    pub fn failed(&self, now: Instant) {
        let Some(rule) = &self.all.config.eject else { return };
        let mut judgements = self.all.judgements();
        if self.all.is_retired() {
            return;
        }
        let last = !judgements.iter().enumerate().any(|(place, other)| place != self.place && !other.is_out());
        let Some(judgement) = judgements.get_mut(self.place) else { return };
        if judgement.ejection.failed(rule, last, now) {
            let seat = self.seat();
            seat.metrics.healthy(false);
            seat.metrics.ejected();
            let (agent, endpoint, failures) = (&self.all.config.name, &seat.name, rule.failures);
            tracing::warn!(%agent, %endpoint, failures, duration = ?rule.duration, "endpoint is taken out after failures");
        }
    }

    /// A check found that it works, or why not.
    pub fn checked(&self, result: Result<(), String>) {
        let mut judgements = self.all.judgements();
        let Some(judgement) = judgements.get_mut(self.place).filter(|_| !self.all.is_retired()) else { return };
        if !judgement.health.checked(result.is_ok()) {
            return;
        }
        let seat = self.seat();
        seat.metrics.healthy(!judgement.is_out());
        let (agent, endpoint) = (&self.all.config.name, &seat.name);
        match result {
            Ok(()) => tracing::info!(%agent, %endpoint, "endpoint is healthy again"),
            Err(why) => tracing::warn!(%agent, %endpoint, why, "endpoint is not healthy"),
        }
    }
}

/// A run at an endpoint.
#[derive(Debug)]
pub struct Running(Standing);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.seat().runs.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn standings(keys: &str) -> Arc<Standings> {
        let toml = format!("[agents.a]\nurl = [\"http://a/\", \"http://b/\", \"http://c/\"]\n{keys}");
        let config = config::Config::from_toml(&toml).unwrap_or_else(|errors| panic!("{errors}"));
        Standings::new(&config.agents[0], &Metrics::new("test", "test"))
    }

    fn firsts(standings: &Standings, now: Instant) -> Vec<usize> {
        let mut firsts: Vec<_> = (0..6).map(|_| standings.order(None, now)[0]).collect();
        firsts.sort_unstable();
        firsts.dedup();
        firsts
    }

    #[test]
    fn runs_count_for_as_long_as_they_last() {
        let all = standings("");
        let now = Instant::now();
        let running: Vec<_> = (0..4).map(|_| all.at(all.order(None, now)[0]).run()).collect();
        let counts: Vec<_> = all.seats.iter().map(|seat| seat.runs.load(Relaxed)).collect();
        assert_eq!(counts.iter().sum::<usize>(), 4);
        assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
        drop(running);
        assert!(all.seats.iter().all(|seat| seat.runs.load(Relaxed) == 0));
    }

    #[test]
    fn who_fails_is_out_for_a_time_and_the_last_one_never() {
        let all = standings("eject = { failures = 2, for = \"10s\" }");
        let start = Instant::now();
        for place in [0, 1, 2] {
            for _ in 0..5 {
                all.at(place).failed(start);
            }
        }
        assert_eq!(firsts(&all, start), [2]);
        assert_eq!(firsts(&all, start + Duration::from_secs(10)), [0, 1, 2]);
        all.at(2).failed(start + Duration::from_secs(11));
        assert_eq!(firsts(&all, start + Duration::from_secs(12)), [0, 1], "it went on failing while it was the last");
    }

    #[test]
    fn without_a_rule_nobody_is_taken_out() {
        let all = standings("eject = \"off\"");
        (0..100).for_each(|_| all.at(0).failed(Instant::now()));
        assert_eq!(firsts(&all, Instant::now()), [0, 1, 2]);
    }

    #[test]
    fn the_sick_do_not_count_as_others_and_if_all_are_sick_all_are_in() {
        let all = standings("eject = { failures = 1, for = \"10s\" }");
        let now = Instant::now();
        let sick = |place| (0..2).for_each(|_| all.at(place).checked(Err("no".into())));
        sick(0);
        sick(1);
        all.at(2).failed(now);
        assert_eq!(firsts(&all, now), [2]);
        sick(2);
        assert_eq!(firsts(&all, now), [0, 1, 2]);
        all.at(1).checked(Ok(()));
        assert_eq!(firsts(&all, now), [1]);
    }
}
