//! The order to shut down comes in, everyone on this thread who has to know is woken. It closes nothing itself.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
    task::Waker,
    time::Instant,
};

/// Whether this thread is draining, and until when its runs may go on.
#[derive(Debug, Default)]
pub struct Drain {
    deadline: Cell<Option<Instant>>,
    inflight: Cell<usize>,
    next: Cell<u64>,
    wakers: RefCell<BTreeMap<u64, Waker>>,
    idle: tokio::sync::Notify,
}

impl Drain {
    /// Begins to drain: the runs left are ended at `deadline`.
    pub fn begin(&self, deadline: Instant) {
        self.deadline.set(Some(deadline));
        for waker in self.wakers.borrow().values() {
            waker.wake_by_ref();
        }
        if self.inflight.get() == 0 {
            self.idle.notify_one();
        }
    }

    /// When the runs left are ended; `None`: not draining.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline.get()
    }

    /// Waits until no request is in flight. Only once it drains.
    pub async fn finished(&self) {
        while self.inflight.get() > 0 || self.deadline.get().is_none() {
            self.idle.notified().await;
        }
    }

    /// Counts a request as in flight for as long as the ticket lives.
    pub fn ticket(self: &Rc<Self>) -> Ticket {
        self.inflight.set(self.inflight.get() + 1);
        Ticket(self.clone())
    }

    /// Has this task woken when the draining begins, for as long as the registration lives.
    pub fn register(self: &Rc<Self>, waker: &Waker) -> Registration {
        let key = self.next.get();
        self.next.set(key + 1);
        self.wakers.borrow_mut().insert(key, waker.clone());
        Registration { drain: self.clone(), key }
    }
}

/// A request in flight.
#[derive(Debug)]
pub struct Ticket(Rc<Drain>);

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.inflight.set(self.0.inflight.get() - 1);
        if self.0.inflight.get() == 0 && self.0.deadline.get().is_some() {
            self.0.idle.notify_one();
        }
    }
}

/// A task that is woken when the draining begins.
#[derive(Debug)]
pub struct Registration {
    drain: Rc<Drain>,
    key: u64,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.drain.wakers.borrow_mut().remove(&self.key);
    }
}
