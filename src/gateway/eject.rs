//! What came of the requests at one endpoint comes in; whether it is taken out, and for how long, goes out. Times are
//! told, no clock is read.

use std::time::Instant;

use crate::config::Eject;

/// How one endpoint has done lately.
#[derive(Debug, Default)]
pub struct Ejection {
    /// In a row, up to now.
    failures: u32,
    until: Option<Instant>,
}

impl Ejection {
    /// Whether it is taken out.
    pub fn is_out(&self) -> bool {
        self.until.is_some()
    }

    /// Something succeeded. What is out stays out for its time.
    pub fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// Something failed; whether that takes it out. Not if it is the `last`, however often it fails.
    ///
    /// What is out already stays out for its time and no longer: the runs that fail there now began before.
    pub fn failed(&mut self, rule: &Eject, last: bool, now: Instant) -> bool {
        if self.is_out() {
            return false;
        }
        self.failures = self.failures.saturating_add(1);
        let ejects = self.failures >= rule.failures && !last;
        if ejects {
            self.until = Some(now + rule.duration);
        }
        ejects
    }

    /// Whether its time is over just now. Then it is in again, and as its failures still count, one more takes it out.
    pub fn is_back(&mut self, now: Instant) -> bool {
        self.until.take_if(|until| *until <= now).is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const RULE: Eject = Eject { failures: 3, duration: Duration::from_secs(30) };

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn failures_in_a_row_take_it_out_for_a_time() {
        let (mut ejection, start) = (Ejection::default(), Instant::now());
        assert!(!ejection.failed(&RULE, false, start));
        assert!(!ejection.failed(&RULE, false, start));
        ejection.succeeded();
        assert!(!ejection.failed(&RULE, false, start));
        assert!(!ejection.failed(&RULE, false, start));
        assert!(ejection.failed(&RULE, false, start + seconds(1)) && ejection.is_out());
        assert!(!ejection.is_back(start + seconds(30)) && ejection.is_out());
        assert!(ejection.is_back(start + seconds(31)) && !ejection.is_out());
        assert!(!ejection.is_back(start + seconds(32)), "once");
    }

    #[test]
    fn after_its_time_one_failure_is_enough_until_something_succeeds() {
        let (mut ejection, start) = (Ejection::default(), Instant::now());
        let fails = |ejection: &mut Ejection, at| ejection.failed(&RULE, false, start + seconds(at));
        assert_eq!([0, 0, 0].map(|at| fails(&mut ejection, at)), [false, false, true]);
        assert!(ejection.is_back(start + seconds(30)));
        assert!(fails(&mut ejection, 31));
        assert!(ejection.is_back(start + seconds(61)));
        ejection.succeeded();
        assert_eq!([62, 62, 62].map(|at| fails(&mut ejection, at)), [false, false, true]);
    }

    #[test]
    fn what_still_fails_while_it_is_out_makes_that_no_longer() {
        let (mut ejection, start) = (Ejection::default(), Instant::now());
        for _ in 0..3 {
            ejection.failed(&RULE, false, start);
        }
        assert!(!ejection.failed(&RULE, false, start + seconds(29)));
        assert!(ejection.is_back(start + seconds(30)));
    }

    #[test]
    fn the_last_one_stays_until_there_is_another() {
        let (mut ejection, start) = (Ejection::default(), Instant::now());
        for _ in 0..10 {
            assert!(!ejection.failed(&RULE, true, start));
        }
        assert!(!ejection.is_out());
        assert!(ejection.failed(&RULE, false, start));
    }
}
