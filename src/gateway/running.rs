//! A configuration comes in, the threads that serve it go out; then another configuration, or the order to shut down.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::Instant,
};

use tokio::sync::mpsc;

use super::{
    certificates::Certificates,
    listen::{self, Ports},
    plan::{self, Plan},
    worker::{Order, Worker},
};
use crate::{config::Config, observe::Metrics};

/// A gateway at work.
#[derive(Debug)]
pub struct Running {
    /// As configured, and as they are.
    listening: Vec<(SocketAddr, SocketAddr)>,
    addresses: Vec<SocketAddr>,
    ports: Ports,
    plan: Plan,
    metrics: Metrics,
    draining: AtomicBool,
    threads: Vec<Thread>,
}

/// One thread, and how it is told what to do.
#[derive(Debug)]
struct Thread {
    orders: mpsc::UnboundedSender<Order>,
    handle: JoinHandle<io::Result<()>>,
}

/// Binds the addresses and starts the threads. When it returns, connections are accepted.
///
/// # Errors
///
/// An address that cannot be bound or a certificate that cannot be used, named in the error; a thread that cannot
/// be started.
pub fn start(config: &Config, metrics: &Metrics) -> io::Result<Running> {
    start_on(Ports::Own, config, metrics)
}

/// The same, and whether other processes may listen on the same ports.
///
/// # Errors
///
/// As of [`start`].
pub fn start_on(ports: Ports, config: &Config, metrics: &Metrics) -> io::Result<Running> {
    let count = config.threads.get();
    let plan = Plan::first(config, metrics)?;
    let sockets = listen::bind(&config.listen, count, ports, &[])?;
    let mut threads = Vec::with_capacity(count);
    for (n, listeners) in sockets.per_thread.into_iter().enumerate() {
        let (plan, metrics) = (plan.clone(), metrics.clone());
        let (orders, told) = mpsc::unbounded_channel();
        let handle = thread::Builder::new().name(format!("worker-{n}")).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build_local(Default::default())?;
            let worker = Worker::new(&plan, ports, &metrics)?;
            drop(plan);
            runtime.block_on(worker.run(listeners, told, n == 0))
        })?;
        threads.push(Thread { orders, handle });
    }
    let listening = config.listen.iter().copied().zip(sockets.addresses.iter().copied()).collect();
    let metrics = metrics.clone();
    Ok(Running {
        listening,
        addresses: sockets.addresses,
        ports,
        plan,
        metrics,
        draining: AtomicBool::new(false),
        threads,
    })
}

impl Running {
    /// Where clients connect, with the ports that the system chose where the configuration says 0.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// What TLS is spoken with; whoever runs the gateway has it looked after, as by [`Certificates::watch`], anew after
    /// each [`Running::reload`].
    pub fn certificates(&self) -> &Arc<Certificates> {
        &self.plan.certificates
    }

    /// Serves by another configuration from now on, but for its number of threads. Runs that have begun go on as they
    /// began; counts, limits, connections and what is known of agents go on where they are configured as they were.
    /// Addresses that are gone take the connections that wait there, and no more.
    ///
    /// # Errors
    ///
    /// What cannot be served, by its name; an address that cannot be bound. Then nothing has changed.
    pub fn reload(&mut self, config: &Config) -> io::Result<()> {
        if *self.draining.get_mut() {
            return Err(io::Error::other("the gateway is shutting down"));
        }
        plan::try_out(config)?;
        let is_new = |asked: &&SocketAddr| !self.listening.iter().any(|(former, _)| former == *asked);
        let new: Vec<_> = config.listen.iter().filter(is_new).copied().collect();
        let mut sockets = listen::bind(&new, self.threads.len(), self.ports, &self.addresses)?;
        self.plan = self.plan.next(config, &self.metrics)?;
        // From here on nothing fails.
        let added: Vec<_> = new.into_iter().zip(sockets.addresses).collect();
        let (kept, gone): (Vec<_>, Vec<_>) =
            self.listening.drain(..).partition(|(asked, _)| config.listen.contains(asked));
        let gone: Vec<_> = gone.into_iter().map(|(_, bound)| bound).collect();
        self.listening = [kept, added].concat();
        let place = |asked: &SocketAddr| config.listen.iter().position(|other| other == asked);
        self.listening.sort_by_key(|(asked, _)| place(asked));
        self.addresses = self.listening.iter().map(|(_, bound)| *bound).collect();
        let none = || Vec::<(SocketAddr, TcpListener)>::new();
        let mut sockets = sockets.per_thread.drain(..);
        for thread in &self.threads {
            let (plan, open) = (Box::new(self.plan.clone()), sockets.next().unwrap_or_else(none));
            let _ = thread.orders.send(Order::Serve { plan, open, close: gone.clone() });
        }
        Ok(())
    }

    /// Begins to shut down: no connection is accepted any more, idle ones close, runs go on until the deadline.
    pub fn drain(&self) {
        if self.draining.swap(true, Relaxed) {
            return;
        }
        let deadline = Instant::now() + self.plan.config.drain.deadline;
        for thread in &self.threads {
            // A thread that is over needs no order.
            let _ = thread.orders.send(Order::Drain(deadline));
        }
    }

    /// Whether all threads have ended.
    pub fn is_over(&self) -> bool {
        self.threads.iter().all(|thread| thread.handle.is_finished())
    }

    /// Whether a thread has ended that was not told to.
    pub fn is_broken(&self) -> bool {
        !self.draining.load(Relaxed) && self.threads.iter().any(|thread| thread.handle.is_finished())
    }

    /// Waits until all threads have ended, after [`Running::drain`].
    ///
    /// # Errors
    ///
    /// What ended a thread other than the drain.
    pub fn wait(self) -> io::Result<()> {
        for thread in self.threads {
            drop(thread.orders);
            thread.handle.join().map_err(|_| io::Error::other("a worker thread panicked"))??;
        }
        Ok(())
    }
}
