//! The wake-ups of something that a task drives by itself come in; those that the driving itself causes are
//! noted, the others reach the task. Without it, handing a chunk from a connection to its own reader would
//! wake the task that is just doing so, once for every event.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll, Wake, Waker},
};

/// A waker between a task and what it drives.
#[derive(Debug)]
pub struct Quiet {
    shared: Arc<Shared>,
    waker: Waker,
    /// The task, as the shared part knows it.
    task: Waker,
}

#[derive(Debug)]
struct Shared {
    /// Taken when the task changes and when it is woken, on the one thread that has both.
    task: Mutex<Waker>,
    driving: AtomicBool,
    noted: AtomicBool,
}

impl Default for Quiet {
    fn default() -> Self {
        let shared = Arc::new(Shared {
            task: Mutex::new(Waker::noop().clone()),
            driving: AtomicBool::new(false),
            noted: AtomicBool::new(false),
        });
        Self { waker: Waker::from(shared.clone()), task: Waker::noop().clone(), shared }
    }
}

impl Quiet {
    /// Drives until `step` is ready, or has nothing more to do: it is called again as long as it wakes itself.
    pub fn drive<T>(&mut self, cx: &mut Context<'_>, mut step: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
        if !self.task.will_wake(cx.waker()) {
            self.task.clone_from(cx.waker());
            self.shared.task.lock().unwrap_or_else(PoisonError::into_inner).clone_from(cx.waker());
        }
        let mut own = Context::from_waker(&self.waker);
        self.shared.driving.store(true, Relaxed);
        let result = loop {
            self.shared.noted.store(false, Relaxed);
            match step(&mut own) {
                Poll::Pending if self.shared.noted.load(Relaxed) => {}
                result => break result,
            }
        };
        self.shared.driving.store(false, Relaxed);
        result
    }
}

impl Wake for Shared {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.driving.load(Relaxed) {
            self.noted.store(true, Relaxed);
        } else {
            self.task.lock().unwrap_or_else(PoisonError::into_inner).wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    #[test]
    fn waking_oneself_drives_again_and_wakes_nobody() {
        let (mut quiet, count) = (Quiet::default(), Arc::new(Count::default()));
        let waker = Waker::from(count.clone());
        let mut steps = 0;
        let result: Poll<()> = quiet.drive(&mut Context::from_waker(&waker), |cx| {
            steps += 1;
            if steps < 3 {
                cx.waker().wake_by_ref();
            }
            Poll::Pending
        });
        assert!(result.is_pending());
        assert_eq!((steps, count.0.load(SeqCst)), (3, 0));
    }

    #[test]
    fn a_wake_up_from_outside_reaches_the_task() {
        let (mut quiet, count) = (Quiet::default(), Arc::new(Count::default()));
        let waker = Waker::from(count.clone());
        let mut kept = None;
        let _: Poll<()> = quiet.drive(&mut Context::from_waker(&waker), |cx| {
            kept = Some(cx.waker().clone());
            Poll::Pending
        });
        if let Some(kept) = kept {
            kept.wake();
        }
        assert_eq!(count.0.load(SeqCst), 1);
    }

    #[test]
    fn what_is_ready_is_handed_over_at_once() {
        let mut quiet = Quiet::default();
        let result = quiet.drive(&mut Context::from_waker(Waker::noop()), |cx| {
            cx.waker().wake_by_ref();
            Poll::Ready(7)
        });
        assert_eq!(result, Poll::Ready(7));
    }
}
