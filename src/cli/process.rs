//! A checked configuration comes in; the gateway's threads, the operator's listener and the upkeep of the
//! metrics go out, on the runtime of the main thread.

use std::{
    io,
    net::{SocketAddr, TcpListener as StdListener},
    sync::Arc,
    time::Duration,
};

use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

use super::demo;
use crate::{
    admin::{self, AdminState, Readiness},
    config::Config,
    gateway::{self, Keys, Running},
    observe::Metrics,
};

/// How often histograms are folded, scraped or not.
const UPKEEP: Duration = Duration::from_secs(5);
/// The commit that a build was made from, where the build says so.
const REVISION: &str = match option_env!("TIDEGATE_REVISION") {
    Some(revision) => revision,
    None => "unknown",
};

/// Everything that runs.
pub struct Process {
    /// The threads that serve clients.
    pub running: Running,
    /// Where the operator's pages are.
    pub admin: Option<SocketAddr>,
    state: Arc<AdminState>,
    pages: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
    upkeep: JoinHandle<()>,
    certificates: JoinHandle<()>,
}

impl Process {
    /// Binds every address, then starts; called on the main thread's runtime.
    ///
    /// # Errors
    ///
    /// An address that cannot be bound, which is named.
    pub fn start(config: &Config) -> io::Result<Self> {
        let metrics = Metrics::new(env!("CARGO_PKG_VERSION"), REVISION);
        metrics.config_loaded(&config.hash());
        let shown = format!("{:#}", config.show());
        let state = AdminState::new(metrics.clone(), move || shown.clone());
        let state = Arc::new(state.guarded(Keys::new(&config.admin.api_keys)));
        let admin = config.admin.listen.map(bind).transpose()?;
        let running = gateway::start(config, &metrics)?;
        let address = admin.as_ref().map(TcpListener::local_addr).transpose()?;
        let pages = admin.map(|listener| {
            let (stop, stopped) = oneshot::channel();
            let serving = admin::serve(listener, state.clone(), async {
                let _ = stopped.await;
            });
            (stop, tokio::spawn(serving))
        });
        let certificates = tokio::spawn(running.certificates().clone().watch(metrics.clone()));
        let upkeep = tokio::spawn(async move {
            loop {
                tokio::time::sleep(UPKEEP).await;
                metrics.upkeep();
            }
        });
        state.advance(Readiness::Ready);
        Ok(Self { running, admin: address, state, pages, upkeep, certificates })
    }

    /// Begins to shut down: readiness drops first.
    pub fn drain(&self) {
        self.state.advance(Readiness::Draining);
        self.state.metrics().draining(true);
        self.running.drain();
    }

    /// Waits until the last run is over; the operator's pages answer until then.
    ///
    /// # Errors
    ///
    /// What ended a thread other than the drain.
    pub async fn over(self) -> io::Result<()> {
        while !self.running.is_over() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.upkeep.abort();
        self.certificates.abort();
        if let Some((stop, pages)) = self.pages {
            let _ = stop.send(());
            let _ = pages.await;
        }
        self.running.wait()
    }
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("cannot listen on {address} (admin): {error}"));
    let listener = StdListener::bind(address).map_err(named)?;
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

/// A gateway on loopback before the demo's agent, for `tidegate demo`.
pub fn demo_gateway(agent: SocketAddr) -> io::Result<(demo::Target, Process)> {
    let text = format!(
        "listen = \"127.0.0.1:0\"\nagent = \"http://{agent}/\"\nthreads = 1\n[admin]\nlisten = \"127.0.0.1:0\"\n"
    );
    let config = Config::from_toml(&text).map_err(|errors| io::Error::other(errors.to_string()))?;
    let process = Process::start(&config)?;
    let (gateway, admin) = (process.running.addresses().first().copied(), process.admin);
    let missing = || io::Error::other("the demo's gateway has no address");
    let target = demo::Target { gateway: gateway.ok_or_else(missing)?, admin: admin.ok_or_else(missing)? };
    Ok((target, process))
}
