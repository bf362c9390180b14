//! The time comes in, and what is due by it happens to a stream: a stage's own deadline, a limit of the run, or the order to
//! shut down. Bytes are not read here.

use std::{
    task::{Context, Poll},
    time::Instant,
};

use super::{EventStream, Phase};
use crate::{
    gateway::timers::Due,
    observe::{Code, Outcome},
    pipeline::End,
};

/// What a stream waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wake {
    Stage,
    Drain,
    Limit(Due),
}

impl EventStream {
    /// Does what is due; when that was, if anything was. `read_at`: bytes came just now, at this time.
    pub(super) fn look_at_the_clock(&mut self, cx: &mut Context<'_>, read_at: Option<Instant>) -> Option<Instant> {
        let mut due_at = None;
        while let Some((at, due)) = self.next_due() {
            let now = match read_at {
                // More will be asked for at once: the alarm is for a stream that waits.
                Some(now) if !self.out.is_empty() && self.slow.is_none() => {
                    if at > now {
                        return due_at;
                    }
                    now
                }
                _ => match self.alarm.poll(at, cx) {
                    Poll::Pending => break,
                    Poll::Ready(()) => Instant::now(),
                },
            };
            self.is_due(due, now);
            due_at.get_or_insert(now);
        }
        if self.registration.is_none() && matches!(self.phase, Phase::Run | Phase::Undecided(_)) {
            self.registration = Some(self.drain.register(cx.waker()));
        }
        due_at
    }

    fn next_due(&self) -> Option<(Instant, Wake)> {
        if !matches!(self.phase, Phase::Run) {
            let draining = matches!(self.phase, Phase::Undecided(_) | Phase::Foreign);
            return self.drain.deadline().filter(|_| draining).map(|at| (at, Wake::Drain));
        }
        let stage = self.pipeline.deadline().map(|at| (at, Wake::Stage));
        let drain = self.drain.deadline().map(|at| (at, Wake::Drain));
        let limit = self.timers.next().map(|(at, due)| (at, Wake::Limit(due)));
        [stage, drain, limit].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    pub(super) fn is_due(&mut self, wake: Wake, now: Instant) {
        let (code, outcome) = match wake {
            Wake::Stage => {
                self.pipeline.wake(now, &mut self.sink);
                return self.send_what_came_out(now);
            }
            Wake::Limit(Due::Keepalive) => {
                // A client that does not read has enough to read.
                if self.slow.is_none() && self.writer.keepalive(&mut self.out) {
                    self.tally.kept_alive();
                }
                return self.timers.wrote(now, true);
            }
            Wake::Drain if !matches!(self.phase, Phase::Run) => return self.foreign_ends(true),
            Wake::Drain => (Code::GatewayShutdown, Outcome::Drained),
            Wake::Limit(Due::Run) => (Code::RunTimeout, Outcome::TimeoutRun),
            Wake::Limit(Due::FirstEvent) => {
                if let Some(standing) = self.standing.take() {
                    standing.failed(now);
                }
                (Code::FirstEventTimeout, Outcome::TimeoutFirstEvent)
            }
            Wake::Limit(Due::Idle | Due::Progress) => (Code::IdleTimeout, Outcome::TimeoutIdle),
        };
        self.stop(End::Stopped, Some((code, outcome)), now);
    }
}
