//! The order to shut down comes in, everyone on this thread who has to know is woken. It closes nothing itself.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
    task::Waker,
    time::{Duration, Instant},
};

/// How long a connection is kept after the order for a request that may be on its way: over HTTP/1.1 from its last
/// answer on, over HTTP/2, where clients are told, for all of them together.
pub const GRACE: Duration = Duration::from_secs(1);

/// Whether this thread is draining, and until when its runs may go on.
#[derive(Debug, Default)]
pub struct Drain {
    begun: Cell<Option<Instant>>,
    deadline: Cell<Option<Instant>>,
    inflight: Cell<usize>,
    connections: Cell<usize>,
    next: Cell<u64>,
    wakers: RefCell<BTreeMap<u64, Waker>>,
    fewer: tokio::sync::Notify,
}

impl Drain {
    /// Begins to drain: the runs left are ended at `deadline`.
    pub fn begin(&self, deadline: Instant) {
        self.begun.set(Some(Instant::now()));
        self.deadline.set(Some(deadline));
        for waker in self.wakers.borrow().values() {
            waker.wake_by_ref();
        }
    }

    /// When it began to drain; `None`: it does not.
    pub fn begun(&self) -> Option<Instant> {
        self.begun.get()
    }

    /// When the runs left are ended; `None`: not draining.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline.get()
    }

    /// Waits until no request is in flight, nor one on its way over a connection that was kept for it. Only once it drains.
    pub async fn finished(&self) {
        loop {
            while self.inflight.get() > 0 {
                self.fewer.notified().await;
            }
            // A client that does not even take the end of its answer is not waited for.
            let gone = async {
                while self.inflight.get() == 0 && self.connections.get() > 0 {
                    self.fewer.notified().await;
                }
            };
            let _ = tokio::time::timeout(GRACE + GRACE / 4, gone).await;
            if self.inflight.get() == 0 {
                return;
            }
        }
    }

    /// Counts a request as in flight for as long as the ticket lives.
    pub fn ticket(self: &Rc<Self>) -> Ticket {
        self.inflight.set(self.inflight.get() + 1);
        // It may be what was waited for.
        self.fewer.notify_one();
        Ticket(self.clone())
    }

    /// Counts a connection for as long as the result lives.
    pub fn connection(self: &Rc<Self>) -> Connected {
        self.connections.set(self.connections.get() + 1);
        Connected(self.clone())
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
        if self.0.inflight.get() == 0 {
            self.0.fewer.notify_one();
        }
    }
}

/// A connection that is open.
#[derive(Debug)]
pub struct Connected(Rc<Drain>);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.connections.set(self.0.connections.get() - 1);
        if self.0.connections.get() == 0 {
            self.0.fewer.notify_one();
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
