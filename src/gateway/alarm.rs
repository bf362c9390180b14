//! The time of the next limit comes in, a wake-up goes out: one timer a run, re-armed only when it must be
//! earlier or has fired. Between two events nothing is touched.

use std::{
    future::Future,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
    time::Instant,
};

use tokio::{task::unconstrained, time::Sleep};

/// A timer that may ring early, and then is told its new time.
#[derive(Debug, Default)]
pub struct Alarm {
    sleep: Option<Pin<Box<Sleep>>>,
    /// Who is woken.
    waker: Option<Waker>,
}

impl Alarm {
    /// Makes sure that the task is woken at `due`, or somewhat before. Ready: `due` has passed.
    pub fn poll(&mut self, due: Instant, cx: &mut Context<'_>) -> Poll<()> {
        let due = tokio::time::Instant::from_std(due);
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due)));
        let same = self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
        if same && sleep.deadline() <= due && !sleep.is_elapsed() {
            return Poll::Pending;
        }
        self.waker = Some(cx.waker().clone());
        if sleep.deadline() > due {
            sleep.as_mut().reset(due);
        }
        // Also for a task that has used up its turn: otherwise the timer would not be set, and never ring.
        while pin!(unconstrained(sleep.as_mut())).poll(cx).is_ready() {
            if sleep.deadline() >= due {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(due);
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, time::Duration};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_limit_that_moved_away_rings_at_its_new_time() {
        let mut alarm = Alarm::default();
        let start = tokio::time::Instant::now();
        let at = |ms| (start + Duration::from_millis(ms)).into_std();
        poll_fn(|cx| {
            assert!(alarm.poll(at(10), cx).is_pending());
            Poll::Ready(())
        })
        .await;
        poll_fn(|cx| alarm.poll(at(25), cx)).await;
        assert_eq!(start.elapsed(), Duration::from_millis(25));
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_has_used_up_its_turn_is_woken_too() {
        let mut alarm = Alarm::default();
        let start = tokio::time::Instant::now();
        let due = (start + Duration::from_millis(10)).into_std();
        let mut first = true;
        poll_fn(|cx| {
            while first && pin!(tokio::task::consume_budget()).poll(cx).is_ready() {}
            first = false;
            alarm.poll(due, cx)
        })
        .await;
        assert_eq!(start.elapsed(), Duration::from_millis(10));
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_that_came_nearer_rings_in_time() {
        let mut alarm = Alarm::default();
        let start = tokio::time::Instant::now();
        let at = |ms| (start + Duration::from_millis(ms)).into_std();
        poll_fn(|cx| {
            assert!(alarm.poll(at(60_000), cx).is_pending());
            Poll::Ready(())
        })
        .await;
        poll_fn(|cx| alarm.poll(at(5), cx)).await;
        assert_eq!(start.elapsed(), Duration::from_millis(5));
    }
}
