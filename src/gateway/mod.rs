//! Sockets: a configuration comes in, a running gateway goes out. The story of one run is in `run`, and every
//! other module here is a noun of that story.

mod admit;
mod agent;
mod ahead;
mod alarm;
mod auth;
mod balance;
mod body;
mod budget;
mod certificates;
mod connect;
mod conversions;
mod cors;
mod crowd;
mod drain;
mod eject;
mod endpoint;
mod handshake;
mod head;
mod headers;
mod health;
mod hurry;
mod link;
mod listen;
mod places;
mod problem;
mod quiet;
mod rate;
mod recipe;
mod resolve;
mod route;
mod run;
mod site;
mod socket;
mod source;
mod standing;
mod stream;
mod tally;
mod timers;
mod translate;
mod upload;
mod usage;
mod worker;

use std::{
    io,
    net::SocketAddr,
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tokio::sync::watch;

use crate::{config::Config, observe::Metrics};
use admit::Gates;
pub use auth::{Keys, shows_one};
pub use certificates::Certificates;
use crowd::Crowd;
pub use recipe::of as recipe;
use standing::Standings;
use worker::{Phase, Shared, Worker};

/// A gateway at work.
#[derive(Debug)]
pub struct Running {
    addresses: Vec<SocketAddr>,
    drain_for: Duration,
    phase: watch::Sender<Phase>,
    certificates: Arc<Certificates>,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

/// Binds the addresses and starts the threads. When it returns, connections are accepted.
///
/// # Errors
///
/// An address that cannot be bound or a certificate that cannot be used, named in the error; a thread that cannot
/// be started.
pub fn start(config: &Config, metrics: &Metrics) -> io::Result<Running> {
    let count = config.threads.get();
    let certificates = Certificates::new(config)?;
    let sockets = listen::bind(&config.listen, count)?;
    let (phase, receiver) = watch::channel(Phase::Up);
    let config = Arc::new(config.clone());
    let shared = Shared {
        certificates: certificates.clone(),
        gates: Gates::new(&config.routes),
        crowd: Crowd::new(config.connections_per_address, &config.trusted_proxies),
        standings: config.agents.iter().map(|agent| Standings::new(agent, metrics)).collect(),
    };
    let mut threads = Vec::with_capacity(count);
    for (n, listeners) in sockets.per_thread.into_iter().enumerate() {
        let (config, metrics, shared, receiver) = (config.clone(), metrics.clone(), shared.clone(), receiver.clone());
        let thread = thread::Builder::new().name(format!("worker-{n}")).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build_local(Default::default())?;
            let worker = Worker::new(&config, &shared, &metrics)?;
            runtime.block_on(worker.run(listeners, receiver, n == 0))
        })?;
        threads.push(thread);
    }
    Ok(Running { addresses: sockets.addresses, drain_for: config.drain.deadline, phase, certificates, threads })
}

impl Running {
    /// Where clients connect, with the ports that the system chose where the configuration says 0.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// What TLS is spoken with; whoever runs the gateway has it looked after, as by [`Certificates::watch`].
    pub fn certificates(&self) -> &Arc<Certificates> {
        &self.certificates
    }

    /// Begins to shut down: new requests get 503, idle connections close, runs go on until the deadline.
    pub fn drain(&self) {
        let deadline = Instant::now() + self.drain_for;
        self.phase.send_if_modified(|phase| {
            let first = *phase == Phase::Up;
            if first {
                *phase = Phase::Draining(deadline);
            }
            first
        });
    }

    /// Whether all threads have ended.
    pub fn is_over(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Waits until all threads have ended, after [`Running::drain`].
    ///
    /// # Errors
    ///
    /// What ended a thread other than the drain.
    pub fn wait(self) -> io::Result<()> {
        for thread in self.threads {
            thread.join().map_err(|_| io::Error::other("a worker thread panicked"))??;
        }
        Ok(())
    }
}
