//! The `tls` tables of a configuration come in; what TLS is to be spoken with at this moment goes out. Files that
//! changed are used from the next handshake on; connections keep what they began with. What cannot be used
//! changes nothing.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwap;
use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    crypto::ring::Ticketer,
    server::{NoServerSessionStorage, WebPkiClientVerifier},
    sign::SingleCertAndKey,
};

use crate::{
    config::{self, AgentHttp, Config, Pem, PemProblem, TlsFiles, TlsParts, cryptography},
    observe::{Metrics, Reload},
};

/// How often files are looked at.
const EVERY: Duration = Duration::from_secs(1);
/// HTTP/2, as TLS names it.
pub const H2: &[u8] = b"h2";
/// HTTP/1.1, as TLS names it.
pub const HTTP1: &[u8] = b"http/1.1";

/// What TLS is spoken with, on all threads; it changes with the files.
#[derive(Debug)]
pub struct Certificates {
    listeners: Option<Arc<Current<ServerConfig>>>,
    agents: BTreeMap<String, Arc<Current<ClientConfig>>>,
}

/// What one `tls` table means at this moment.
pub struct Current<C> {
    /// The way to the table in the configuration.
    key: String,
    files: TlsFiles,
    make: Make<C>,
    /// What is in use.
    used: ArcSwap<C>,
    seen: Mutex<Seen>,
}

/// Makes something of what the files say.
type Make<C> = Box<dyn Fn(&TlsParts) -> io::Result<C> + Send + Sync>;

/// The contents that were seen, by their fingerprints.
#[derive(Debug)]
struct Seen {
    used: u64,
    /// Cannot be used, but may be only half written: it is refused if it stays so.
    doubted: Option<u64>,
    /// Cannot be used, and was reported.
    refused: Option<u64>,
}

/// What came of looking at files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Looked {
    Unchanged,
    Changed,
    Refused,
}

// === impl Certificates ===

impl Certificates {
    /// Reads the files that a configuration names.
    ///
    /// # Errors
    ///
    /// A file that cannot be used, with its key in the configuration.
    pub fn new(config: &Config) -> io::Result<Arc<Self>> {
        Self { listeners: None, agents: BTreeMap::new() }.of(config, |_| false)
    }

    /// The certificates of another configuration than that `before`. Tables that say the same are not read again.
    ///
    /// # Errors
    ///
    /// As of [`Certificates::new`].
    pub fn next(&self, before: &Config, config: &Config) -> io::Result<Arc<Self>> {
        self.of(config, |agent| {
            let before = before.agents.iter().find(|other| other.name == agent.name);
            before.is_some_and(|other| other.tls == agent.tls && other.http == agent.http)
        })
    }

    fn of(&self, config: &Config, goes_on: impl Fn(&config::Agent) -> bool) -> io::Result<Arc<Self>> {
        let listeners = match (&config.tls, &self.listeners) {
            (Some(files), Some(current)) if current.files == *files => Some(current.clone()),
            (Some(files), _) => Some(Arc::new(Current::new("tls".into(), files, Box::new(server))?)),
            (None, _) => None,
        };
        let mut system = None;
        let mut agents = BTreeMap::new();
        for agent in &config.agents {
            if !agent.urls.iter().any(|url| url.scheme() == Some(&http::uri::Scheme::HTTPS)) {
                continue;
            }
            if let Some(current) = self.agents.get(&agent.name).filter(|_| goes_on(agent)) {
                agents.insert(agent.name.clone(), current.clone());
                continue;
            }
            let system = match &agent.tls.authorities {
                Some(_) => Arc::new(RootCertStore::empty()),
                None => system.get_or_insert_with(|| Arc::new(of_the_system())).clone(),
            };
            let http = agent.http;
            let make = Box::new(move |parts: &TlsParts| client(parts, &system, http));
            let current = Current::new(format!("agents.{}.tls", agent.name), &agent.tls, make)?;
            agents.insert(agent.name.clone(), Arc::new(current));
        }
        Ok(Arc::new(Self { listeners, agents }))
    }

    /// What clients are served with, if by TLS.
    pub fn server(&self) -> Option<Arc<ServerConfig>> {
        self.listeners.as_ref().map(|current| current.get())
    }

    /// What this agent is connected to with at its https urls, if it has any.
    pub fn client(&self, agent: &str) -> Option<Arc<Current<ClientConfig>>> {
        self.agents.get(agent).cloned()
    }

    /// Uses what has changed. A change that cannot be used counts once it was seen twice, for files are written one
    /// after the other.
    pub fn look(&self, metrics: &Metrics) {
        match self.reload(false) {
            Looked::Unchanged => {}
            Looked::Changed => metrics.config_reload(Reload::Success),
            Looked::Refused => metrics.config_reload(Reload::Failure),
        }
    }

    /// Uses what has changed, as part of a reload that is counted by itself.
    pub fn read(&self) {
        self.reload(true);
    }

    fn reload(&self, at_once: bool) -> Looked {
        let listeners = self.listeners.iter().map(|current| current.look(at_once));
        let agents = self.agents.values().map(|current| current.look(at_once));
        listeners.chain(agents).max().unwrap_or(Looked::Unchanged)
    }

    /// Looks every second, for as long as it is polled. Returns at once if there is nothing to look at.
    pub async fn watch(self: Arc<Self>, metrics: Metrics) {
        if self.listeners.is_none() && self.agents.values().all(|agent| agent.files == TlsFiles::default()) {
            return;
        }
        loop {
            tokio::time::sleep(EVERY).await;
            let (this, metrics) = (self.clone(), metrics.clone());
            // A file system may take its time; whatever else this thread does need not wait for it.
            if tokio::task::spawn_blocking(move || this.look(&metrics)).await.is_err() {
                tracing::error!("looking at certificates failed");
            }
        }
    }
}

// === impl Current ===

impl<C> std::fmt::Debug for Current<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Current").field("key", &self.key).field("files", &self.files).finish_non_exhaustive()
    }
}

impl<C> Current<C> {
    fn new(key: String, files: &TlsFiles, make: Make<C>) -> io::Result<Self> {
        let pem = files.read();
        let seen = Seen { used: pem.fingerprint(), doubted: None, refused: None };
        let (used, _) = made(&pem, &key, &make).map_err(io::Error::other)?;
        Ok(Self { key, files: files.clone(), make, used: ArcSwap::from_pointee(used), seen: Mutex::new(seen) })
    }

    /// What is in use at this moment.
    pub fn get(&self) -> Arc<C> {
        self.used.load_full()
    }

    fn look(&self, at_once: bool) -> Looked {
        let pem = self.files.read();
        let now = pem.fingerprint();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.used == now {
            (seen.doubted, seen.refused) = (None, None);
            return Looked::Unchanged;
        }
        if seen.refused == Some(now) && !at_once {
            return Looked::Unchanged;
        }
        match made(&pem, &self.key, &self.make) {
            Ok((new, warnings)) => {
                self.used.store(Arc::new(new));
                *seen = Seen { used: now, doubted: None, refused: None };
                tracing::info!(key = self.key, "changed certificates are in use");
                warnings.iter().for_each(|warning| tracing::warn!(key = self.key, "{}", warning.what));
                Looked::Changed
            }
            Err(_) if !at_once && seen.doubted != Some(now) => {
                seen.doubted = Some(now);
                Looked::Unchanged
            }
            Err(error) => {
                (seen.doubted, seen.refused) = (None, Some(now));
                tracing::error!(key = self.key, error, "changed certificates cannot be used, the former ones stay");
                Looked::Refused
            }
        }
    }
}

/// What this content means and what is odd about it, or everything that is wrong with it.
fn made<C>(pem: &Pem, key: &str, make: &Make<C>) -> Result<(C, Vec<PemProblem>), String> {
    let parts = pem.parts().map_err(|problems| {
        let problems: Vec<_> = problems.into_iter().map(|problem| format!("{key}: {}", problem.what)).collect();
        problems.join("; ")
    })?;
    let new = make(&parts).map_err(|error| format!("{key}: {error}"))?;
    Ok((new, parts.warnings))
}

fn server(parts: &TlsParts) -> io::Result<ServerConfig> {
    let identity = parts.identity.clone().ok_or_else(|| io::Error::other("a listener needs a certificate"))?;
    let provider = cryptography();
    let builder = ServerConfig::builder_with_provider(provider.clone());
    let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
    let builder = match &parts.authorities {
        None => builder.with_no_client_auth(),
        Some(roots) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider);
            builder.with_client_cert_verifier(verifier.build().map_err(io::Error::other)?)
        }
    };
    let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(identity)));
    config.alpn_protocols = vec![H2.into(), HTTP1.into()];
    // Sessions are kept by the clients, so that nothing grows and no thread waits for another.
    config.ticketer = Ticketer::new().map_err(io::Error::other)?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(config)
}

fn client(parts: &TlsParts, system: &Arc<RootCertStore>, http: AgentHttp) -> io::Result<ClientConfig> {
    let roots = parts.authorities.as_ref().unwrap_or(system);
    let builder = ClientConfig::builder_with_provider(cryptography());
    let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
    let builder = builder.with_root_certificates(roots.clone());
    let mut config = match &parts.identity {
        None => builder.with_no_client_auth(),
        Some(identity) => builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(identity.clone()))),
    };
    config.alpn_protocols = match http {
        AgentHttp::Auto => vec![H2.into(), HTTP1.into()],
        AgentHttp::One => vec![HTTP1.into()],
        AgentHttp::Two => vec![H2.into()],
    };
    Ok(config)
}

/// What somebody is connected to with, over HTTP/1.1, whom the system trusts. Reads files, which takes a while.
pub fn of_whom_the_system_trusts() -> io::Result<Arc<ClientConfig>> {
    client(&TlsParts::default(), &Arc::new(of_the_system()), AgentHttp::One).map(Arc::new)
}

/// The authorities that the system trusts, as they are now. Those that cannot be read are left out.
fn of_the_system() -> RootCertStore {
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "some certificates of the system cannot be read");
    }
    let mut roots = RootCertStore::empty();
    let (taken, left) = roots.add_parsable_certificates(found.certs);
    tracing::debug!(taken, left, "certificates of the system's authorities");
    roots
}
