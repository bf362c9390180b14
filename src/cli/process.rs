//! A checked configuration comes in; the gateway's threads, the operator's listener and the upkeep of the
//! metrics go out, on the runtime of the main thread.

use std::{
    io,
    net::{SocketAddr, TcpListener as StdListener},
    sync::Arc,
    time::Duration,
};

use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

use super::{demo, reload::Cause};
use crate::{
    admin::{self, AdminState, Readiness},
    config::{Config, Errors},
    gateway::{self, Keys, Ports, Running},
    observe::{Metrics, Reload},
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
    config: Config,
    /// The one that the process began with.
    first: Config,
    /// The last configuration that was read could not be used.
    refused: bool,
    ports: Ports,
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
    pub fn start(config: Config, ports: Ports) -> io::Result<Self> {
        let metrics = Metrics::new(env!("CARGO_PKG_VERSION"), REVISION);
        metrics.config_loaded(&config.hash());
        let state = Arc::new(AdminState::new(metrics.clone(), shown(&config), Keys::new(&config.admin.api_keys)));
        let admin = config.admin.listen.map(|address| bind(address, ports)).transpose()?;
        let running = gateway::start_on(ports, &config, &metrics)?;
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
        Ok(Self {
            running,
            admin: address,
            first: config.clone(),
            config,
            refused: false,
            ports,
            state,
            pages,
            upkeep,
            certificates,
        })
    }

    /// The configuration in use.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Uses the configuration that was read, or says why not. One that is in use already is not used anew.
    pub fn reload(&mut self, cause: Cause, loaded: Result<Config, Errors>) {
        let used = match loaded {
            Ok(config) if config == self.config => {
                if cause == Cause::Changed && !self.refused {
                    return;
                }
                tracing::info!("the configuration is the one in use");
                self.running.certificates().read();
                Ok(())
            }
            Ok(config) => self.running.reload(&config).map(|()| self.took(config)).map_err(|error| {
                tracing::error!(%error, "the changed configuration cannot be used, the former one stays");
            }),
            Err(errors) => {
                for problem in errors.problems() {
                    tracing::error!(error = %problem, "the changed configuration cannot be used, the former one stays");
                }
                Err(())
            }
        };
        self.refused = used.is_err();
        let result = if self.refused { Reload::Failure } else { Reload::Success };
        self.state.metrics().config_reload(result);
    }

    /// Another configuration is in use.
    fn took(&mut self, config: Config) {
        self.state.changed(shown(&config), Keys::new(&config.admin.api_keys));
        self.state.metrics().config_loaded(&config.hash());
        self.running.certificates().read();
        self.certificates.abort();
        self.certificates = tokio::spawn(self.running.certificates().clone().watch(self.state.metrics().clone()));
        for warning in &config.warnings {
            tracing::warn!("{warning}");
        }
        self.config = config;
        let listen: Vec<_> = self.running.addresses().iter().map(ToString::to_string).collect();
        tracing::info!(
            listen = listen.join(", "),
            routes = self.config.routes.len(),
            config = self.config.hash(),
            "the changed configuration is in use"
        );
        let (first, now) = (&self.first, &self.config);
        for (key, same) in [
            ("threads", first.threads == now.threads),
            ("admin.listen", first.admin.listen == now.admin.listen),
            ("log.format", first.log.format == now.log.format),
        ] {
            if !same {
                tracing::warn!(key, "a change of this needs a restart, and is not in use");
            }
        }
    }

    /// Waits until a thread ends that should not, whose share of the connections nobody takes any more.
    pub async fn breaks(&self) {
        while !self.running.is_broken() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    /// Begins to shut down. Readiness drops once the threads are told, so that whoever sees it finds no one who still takes
    /// connections. Where another process takes over, its pages are the operator's from now on.
    pub fn drain(&mut self) {
        self.running.drain();
        self.state.advance(Readiness::Draining);
        self.state.metrics().draining(true);
        if self.ports == Ports::Shared
            && let Some((stop, _)) = self.pages.take()
        {
            let _ = stop.send(());
        }
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

/// A configuration as operators see it.
fn shown(config: &Config) -> String {
    format!("{:#}", config.show())
}

fn bind(address: SocketAddr, ports: Ports) -> io::Result<TcpListener> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("cannot listen on {address} (admin): {error}"));
    let listener = match ports {
        Ports::Own => StdListener::bind(address),
        Ports::Shared => gateway::beside(address),
    };
    let listener = listener.map_err(named)?;
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

/// A gateway on loopback before the demo's agent, for `tidegate demo`.
pub fn demo_gateway(agent: SocketAddr) -> io::Result<(demo::Target, Process)> {
    let text = format!(
        "listen = \"127.0.0.1:0\"\nagent = \"http://{agent}/\"\nthreads = 1\n[admin]\nlisten = \"127.0.0.1:0\"\n"
    );
    let config = Config::from_toml(&text).map_err(|errors| io::Error::other(errors.to_string()))?;
    let process = Process::start(config, Ports::Own)?;
    let (gateway, admin) = (process.running.addresses().first().copied(), process.admin);
    let missing = || io::Error::other("the demo's gateway has no address");
    let target = demo::Target { gateway: gateway.ok_or_else(missing)?, admin: admin.ok_or_else(missing)? };
    Ok((target, process))
}
