//! One thread of the gateway: connections come in from its own listeners, each is served on this thread to its
//! end. Threads share nothing but the counters of the metrics, the standing of the agents' endpoints and who is let in.

use std::{
    future::{Future, poll_fn},
    io,
    net::TcpListener as StdListener,
    pin::pin,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use http::Request;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{rt::TokioTimer, server::conn::auto};
use ipnet::IpNet;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
};

use super::{
    admit::Gates,
    agent::Agent,
    certificates::Certificates,
    cors,
    crowd::{Crowd, Presence},
    drain::Drain,
    endpoint,
    handshake::{self, Spoken},
    health,
    hurry::Hurried,
    route,
    run::{self, Peer},
    site::Site,
    socket::{ClientSocket, Line},
    standing::Standings,
};
use crate::{
    config::Config,
    observe::{Metrics, Refusal},
};

/// The most bytes that one connection holds in each direction before it waits for the other side.
pub const MAX_BUFFER: usize = 64 * 1024;
/// The most bytes that the other side of HTTP/2 may send on one stream ahead of whoever reads it. Far peers send no
/// more than this in the time that a packet takes there and back.
pub const STREAM_WINDOW: u32 = 256 * 1024;
/// The same for all streams of a connection: so much that streams nobody reads never take the room of another.
pub const ALL_STREAMS: u32 = 1 << 30;
/// The most bytes of a request's head over HTTP/2; over HTTP/1.1 it has to fit the buffer, and has 100 headers at most.
const MAX_HEAD: u32 = 64 * 1024;
/// How long a client may take to begin its next request.
const HEAD_LIMIT: Duration = Duration::from_secs(75);
/// How often connections to agents are looked after.
const SWEEP: Duration = Duration::from_secs(10);
/// From the last ended run until the thread is given up, so that its last bytes reach their clients.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Runs tasks on the thread they were made on.
#[derive(Clone, Copy, Debug)]
pub struct Local;

impl<F: Future + 'static> hyper::rt::Executor<F> for Local {
    fn execute(&self, task: F) {
        tokio::task::spawn_local(async move {
            task.await;
        });
    }
}

/// Where the process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Serving.
    Up,
    /// Shutting down; the runs left are ended at this time.
    Draining(Instant),
}

/// What all requests on one thread share.
#[derive(Debug)]
pub struct Worker {
    /// The routes, in the order in which they are tried.
    pub sites: Vec<Rc<Site>>,
    /// The agents.
    pub agents: Vec<Rc<Agent>>,
    /// Peers whose word on who they speak for is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// What TLS is spoken with.
    pub certificates: Arc<Certificates>,
    /// The figures.
    pub metrics: Metrics,
    /// The order to shut down.
    pub drain: Rc<Drain>,
    crowd: Arc<Crowd>,
}

/// What all threads share.
#[derive(Clone, Debug)]
pub struct Shared {
    /// What TLS is spoken with.
    pub certificates: Arc<Certificates>,
    /// Who may ask, by route.
    pub gates: Gates,
    /// Who is connected.
    pub crowd: Arc<Crowd>,
    /// What is known of the agents' endpoints, in the order of the agents.
    pub standings: Arc<[Arc<Standings>]>,
}

impl Worker {
    /// A thread's share of this configuration, with what all threads know of its agents, in their order.
    pub fn new(config: &Config, shared: &Shared, metrics: &Metrics) -> io::Result<Rc<Self>> {
        let agents = config
            .agents
            .iter()
            .zip(&*shared.standings)
            .map(|(agent, standings)| Agent::new(agent, &shared.certificates, standings.clone()).map(Rc::new))
            .collect::<io::Result<Vec<_>>>()?;
        let mut routes = config.routes.clone();
        route::order(&mut routes);
        let sites = routes
            .iter()
            .map(|route| Site::new(route, &agents, &shared.gates, metrics))
            .collect::<io::Result<Vec<_>>>()?;
        Ok(Rc::new(Self {
            sites,
            agents,
            trusted_proxies: config.trusted_proxies.clone(),
            certificates: shared.certificates.clone(),
            metrics: metrics.clone(),
            drain: Rc::default(),
            crowd: shared.crowd.clone(),
        }))
    }

    /// The site that a request is for.
    pub fn site_for<B>(&self, request: &Request<B>) -> Option<&Rc<Site>> {
        let (path, headers) = (request.uri().path(), request.headers());
        let host = route::host_of(request.uri(), headers);
        if cors::is_preflight(request) {
            // A preflight has none of the headers that tell routes apart; any of them that knows the page will do.
            let first = self.sites.iter().find(|site| route::reaches(&site.config, host, path))?;
            let alike =
                |site: &&Rc<Site>| site.config.path == first.config.path && route::reaches(&site.config, host, path);
            let knows = |site: &&Rc<Site>| site.page(headers).is_some_and(|page| page.may_ask());
            if let Some(site) = self.sites.iter().filter(alike).find(knows) {
                return Some(site);
            }
        }
        self.sites.iter().find(|site| route::serves(&site.config, host, path, headers))
    }

    /// Serves until the process has drained. One thread `checks` the agents' endpoints for all.
    pub async fn run(
        self: Rc<Self>,
        listeners: Vec<StdListener>,
        mut phase: watch::Receiver<Phase>,
        checks: bool,
    ) -> io::Result<()> {
        let _checking = checks.then(|| health::watch(&self.agents));
        for listener in listeners {
            let listener = TcpListener::from_std(listener)?;
            tokio::task::spawn_local(self.clone().accept(listener));
        }
        tokio::task::spawn_local(self.clone().sweep());
        let deadline = loop {
            if let Phase::Draining(deadline) = *phase.borrow_and_update() {
                break deadline;
            }
            if phase.changed().await.is_err() {
                break Instant::now();
            }
        };
        self.drain.begin(deadline);
        let last = tokio::time::Instant::from_std(deadline) + LAST_WORDS;
        let _ = tokio::time::timeout_at(last, self.drain.finished()).await;
        // Bodies that are over may still be on their way out of their connections.
        tokio::time::sleep(LAST_WORDS.min(Duration::from_millis(50))).await;
        Ok(())
    }

    async fn accept(self: Rc<Self>, listener: TcpListener) {
        let builders = Rc::new(Builders::new());
        loop {
            match listener.accept().await {
                Ok((stream, address)) => match self.crowd.enter(address.ip()) {
                    Some(presence) => {
                        let serving = self.clone().serve(builders.clone(), stream, address, presence);
                        tokio::task::spawn_local(serving);
                    }
                    None => self.metrics.refused(Refusal::Connections),
                },
                Err(error) => {
                    // Out of file descriptors, mostly: whoever waits is served once some are free.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    /// Serves one connection to its end.
    async fn serve(
        self: Rc<Self>,
        builders: Rc<Builders>,
        stream: TcpStream,
        address: std::net::SocketAddr,
        _presence: Presence,
    ) {
        if let Err(error) = stream.set_nodelay(true).and_then(|()| endpoint::keep_alive(&stream)) {
            tracing::debug!(%error, "connection closed before it was served");
            return;
        }
        let line = Rc::new(Line::default());
        let certificates = self.certificates.server();
        let secure = certificates.is_some();
        let (socket, spoken) = match certificates {
            None => (ClientSocket::plain(stream, line.clone()), Spoken::Any),
            // Boxed, so that a connection does not keep room for it.
            Some(config) => match Box::pin(handshake::agree(config, stream, line.clone())).await {
                Ok(agreed) => agreed,
                Err(error) => return self.not_agreed(&error, address),
            },
        };
        let socket = Hurried::new(socket, line.clone(), HEAD_LIMIT);
        let worker = self.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let line = (request.version() < http::Version::HTTP_2).then(|| line.clone());
            // Boxed, so that a connection does not keep room for it while its answer streams.
            Box::pin(run::answer(request, Peer { address, secure, line }, worker.clone()))
        });
        let mut connection = pin!(builders.of(spoken).serve_connection(socket, service));
        let mut registration = None;
        // Whoever comes while it drains is told so in an answer to a request.
        let mut closing = self.drain.deadline().is_some();
        let served = poll_fn(|cx| {
            registration.get_or_insert_with(|| self.drain.register(cx.waker()));
            if !closing && self.drain.deadline().is_some() {
                closing = true;
                connection.as_mut().graceful_shutdown();
            }
            connection.as_mut().poll(cx)
        });
        if let Err(error) = served.await {
            tracing::debug!(%error, peer = %address, "connection ended");
        }
    }

    fn not_agreed(&self, error: &io::Error, address: std::net::SocketAddr) {
        tracing::debug!(%error, peer = %address, "no TLS was agreed on");
        // Whoever only looks whether somebody listens is not refused.
        if !matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) {
            self.metrics.refused(Refusal::Tls);
        }
    }

    async fn sweep(self: Rc<Self>) {
        loop {
            for site in &self.sites {
                let gate = site.gate.clone();
                tokio::task::spawn_local(async move { gate.upkeep().await });
            }
            tokio::time::sleep(SWEEP).await;
            for agent in &self.agents {
                agent.sweep();
            }
        }
    }
}

/// What serves connections, by the version of HTTP on them.
struct Builders {
    any: auto::Builder<Local>,
    http1: auto::Builder<Local>,
    http2: auto::Builder<Local>,
}

impl Builders {
    fn new() -> Self {
        Self { any: builder(), http1: builder().http1_only(), http2: builder().http2_only() }
    }

    fn of(&self, spoken: Spoken) -> &auto::Builder<Local> {
        match spoken {
            Spoken::Any => &self.any,
            Spoken::Http1 => &self.http1,
            Spoken::Http2 => &self.http2,
        }
    }
}

fn builder() -> auto::Builder<Local> {
    let mut builder = auto::Builder::new(Local);
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_LIMIT).max_buf_size(MAX_BUFFER);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(endpoint::PING)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(ALL_STREAMS)
        .max_send_buf_size(MAX_BUFFER)
        .max_header_list_size(MAX_HEAD)
        .max_concurrent_streams(1000);
    builder
}
