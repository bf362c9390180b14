//! One thread of the gateway: connections come in from its own listeners, each is served on this thread to its
//! end. Threads share nothing but the counters of the metrics, the standing of the agents' endpoints and who is let in.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    future::{Future, poll_fn},
    io,
    net::{SocketAddr, TcpListener as StdListener},
    pin::pin,
    rc::{Rc, Weak},
    time::{Duration, Instant},
};

use http::{Request, StatusCode};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{rt::TokioTimer, server::conn::auto};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Notify, mpsc, oneshot},
    task::JoinHandle,
};

use super::{
    agent::Agent,
    crowd::Presence,
    drain::{Connected, Drain},
    endpoint,
    farewell::Farewell,
    handshake::{self, Spoken},
    health::Checks,
    hurry::Hurried,
    listen::{self, Ports, Trouble},
    plan::Plan,
    run::{self, Peer},
    setup::Setup,
    socket::{ClientSocket, Line},
};
use crate::observe::{Metrics, Refusal};

/// The most bytes that one connection holds in each direction before it waits for the other side.
pub const MAX_BUFFER: usize = 64 * 1024;
/// The most bytes that the other side of HTTP/2 may send on one stream ahead of whoever reads it. Far peers send no
/// more than this in the time that a packet takes there and back.
pub const STREAM_WINDOW: u32 = 256 * 1024;
/// The same for all streams of a connection to an agent: so much that streams nobody reads never take the room of another.
pub const ALL_STREAMS: u32 = 1 << 30;
/// The same for all streams of a client's connection: room for 64 uploads that nobody takes. Whoever asks can make so
/// many wait, before anyone knows who that is.
const ALL_UPLOADS: u32 = 64 * STREAM_WINDOW;
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

/// What a thread is told to do.
#[derive(Debug)]
pub enum Order {
    /// To serve by this plan from now on.
    Serve {
        /// The plan.
        plan: Box<Plan>,
        /// Sockets to accept connections from, with their addresses.
        open: Vec<(SocketAddr, StdListener)>,
        /// Addresses at which no more are accepted.
        close: Vec<SocketAddr>,
    },
    /// To shut down; the runs left are ended at this time.
    Drain(Instant),
}

/// What all requests on one thread share.
#[derive(Debug)]
pub struct Worker {
    setup: RefCell<Rc<Setup>>,
    /// Agents that are configured no more, or otherwise, but have runs.
    past: RefCell<Vec<Weak<Agent>>>,
    /// The figures.
    pub metrics: Metrics,
    /// The order to shut down.
    pub drain: Rc<Drain>,
    ports: Ports,
    builders: Builders,
}

/// A listener's task, and how to end it.
type Listening = (oneshot::Sender<()>, JoinHandle<()>);

impl Worker {
    /// A thread's share of this plan.
    ///
    /// # Errors
    ///
    /// What cannot be made of the configuration.
    pub fn new(plan: &Plan, ports: Ports, metrics: &Metrics) -> io::Result<Rc<Self>> {
        Ok(Rc::new(Self {
            setup: RefCell::new(Setup::new(plan, None, metrics)?),
            past: RefCell::default(),
            metrics: metrics.clone(),
            drain: Rc::default(),
            ports,
            builders: Builders::new(),
        }))
    }

    /// What requests are served by at this moment.
    pub fn setup(&self) -> Rc<Setup> {
        self.setup.borrow().clone()
    }

    /// Serves until the process has drained. One thread `checks` the agents' endpoints for all.
    pub async fn run(
        self: Rc<Self>,
        listeners: Vec<(SocketAddr, StdListener)>,
        mut orders: mpsc::UnboundedReceiver<Order>,
        checks: bool,
    ) -> io::Result<()> {
        let mut checking = Checks::default();
        if checks {
            checking.check(&self.setup().agents);
        }
        let mut listening = BTreeMap::new();
        for (address, listener) in listeners {
            listening.insert(address, self.listen(listener)?);
        }
        let refresh = Rc::new(Notify::new());
        tokio::task::spawn_local(self.clone().sweep(refresh.clone()));
        let deadline = loop {
            match orders.recv().await {
                Some(Order::Serve { plan, open, close }) => {
                    self.change(&plan);
                    if checks {
                        checking.check(&self.setup().agents);
                    }
                    refresh.notify_one();
                    for (address, listener) in open {
                        listening.insert(address, self.listen(listener)?);
                    }
                    for address in close {
                        if let Some((stop, _)) = listening.remove(&address) {
                            let _ = stop.send(());
                        }
                    }
                }
                Some(Order::Drain(deadline)) => break deadline,
                None => break Instant::now(),
            }
        };
        self.drain.begin(deadline);
        let last = tokio::time::Instant::from_std(deadline) + LAST_WORDS;
        let finished = async {
            let (stops, ends): (Vec<_>, Vec<_>) = listening.into_values().unzip();
            for stop in stops {
                // One that is over needs no order.
                let _ = stop.send(());
            }
            for end in ends {
                let _ = end.await;
            }
            self.drain.finished().await;
        };
        let _ = tokio::time::timeout_at(last, finished).await;
        // Bodies that are over may still be on their way out of their connections.
        tokio::time::sleep(LAST_WORDS.min(Duration::from_millis(50))).await;
        Ok(())
    }

    /// Serves by another plan from now on. Requests that have begun keep theirs.
    fn change(&self, plan: &Plan) {
        let before = self.setup();
        match Setup::new(plan, Some(&before), &self.metrics) {
            Ok(setup) => {
                let mut past = self.past.borrow_mut();
                past.retain(|agent| agent.strong_count() > 0);
                let gone =
                    before.agents.iter().filter(|agent| !setup.agents.iter().any(|other| Rc::ptr_eq(agent, other)));
                past.extend(gone.map(Rc::downgrade));
                self.setup.replace(setup);
            }
            // It was tried out before it came here.
            Err(error) => tracing::error!(%error, "a thread keeps the former configuration"),
        }
    }

    fn listen(self: &Rc<Self>, listener: StdListener) -> io::Result<Listening> {
        let (stop, stopped) = oneshot::channel();
        let listener = TcpListener::from_std(listener)?;
        Ok((stop, tokio::task::spawn_local(self.clone().accept(listener, stopped))))
    }

    /// Accepts connections until it is told to stop, and then those that wait.
    async fn accept(self: Rc<Self>, listener: TcpListener, mut stopped: oneshot::Receiver<()>) {
        let mut trouble = Trouble::default();
        let mut last = None;
        loop {
            let until = async {
                match last {
                    Some(last) => tokio::time::sleep_until(last).await,
                    None => drop((&mut stopped).await),
                }
            };
            tokio::select! {
                biased;
                () = until => {
                    if last.is_some() || self.ports == Ports::Own || !listen::turn_away(&listener) {
                        break;
                    }
                    last = Some(tokio::time::Instant::now() + listen::SETTLED);
                }
                accepted = listener.accept() => match accepted {
                    Ok((stream, address)) => self.enter(stream, address),
                    Err(error) => if let Some(pause) = trouble.pause(&error) {
                        tokio::time::sleep(pause).await;
                    },
                }
            }
        }
        let waiting = listener.into_std().and_then(|listener| {
            loop {
                match listener.accept() {
                    Ok((stream, address)) => {
                        stream.set_nonblocking(true)?;
                        self.enter(TcpStream::from_std(stream)?, address);
                    }
                    Err(error) if listen::is_of_the_peer(&error) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                    Err(error) => return Err(error),
                }
            }
        });
        if let Err(error) = waiting {
            tracing::warn!(%error, "connections that waited could not be accepted");
        }
    }

    /// Has a connection served, unless its address has too many.
    fn enter(self: &Rc<Self>, stream: TcpStream, address: SocketAddr) {
        match self.setup.borrow().crowd.enter(address.ip()) {
            Some(presence) => {
                let serving = self.clone().serve(stream, address, (presence, self.drain.connection()));
                tokio::task::spawn_local(serving);
            }
            None => self.metrics.refused(Refusal::Connections),
        }
    }

    /// Serves one connection to its end.
    async fn serve(self: Rc<Self>, stream: TcpStream, address: SocketAddr, _counted: (Presence, Connected)) {
        if let Err(error) = stream.set_nodelay(true).and_then(|()| endpoint::keep_alive(&stream)) {
            tracing::debug!(%error, "connection closed before it was served");
            return;
        }
        let line = Rc::new(Line::default());
        let certificates = self.setup.borrow().certificates.server();
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
        let asked = Rc::new(Cell::new(None));
        let mut farewell = Farewell::new(self.drain.clone(), line.clone(), asked.clone());
        let worker = self.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            asked.set(Some(request.version()));
            let line = (request.version() < http::Version::HTTP_2).then(|| line.clone());
            // Boxed, so that a connection does not keep room for it while its answer streams.
            Box::pin(run::answer(request, Peer { address, secure, line }, worker.clone()))
        });
        let mut connection = pin!(self.builders.of(spoken).serve_connection(socket, service));
        let served = poll_fn(|cx| {
            let served = connection.as_mut().poll(cx);
            if served.is_pending() && farewell.is_due(cx) {
                connection.as_mut().graceful_shutdown();
                return connection.as_mut().poll(cx);
            }
            served
        });
        if let Err(error) = served.await {
            tracing::debug!(%error, peer = %address, "connection ended");
            self.not_understood(&*error);
        }
    }

    /// Counts a request that was answered before it got here: nobody could read it.
    fn not_understood(&self, error: &(dyn std::error::Error + Send + Sync + 'static)) {
        let Some(error) = error.downcast_ref::<hyper::Error>().filter(|error| error.is_parse()) else { return };
        let too_large = error.is_parse_too_large();
        let status = if too_large { StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE } else { StatusCode::BAD_REQUEST };
        self.metrics.refused(Refusal::Malformed);
        self.metrics.request(status);
    }

    fn not_agreed(&self, error: &io::Error, address: std::net::SocketAddr) {
        tracing::debug!(%error, peer = %address, "no TLS was agreed on");
        // Whoever only looks whether somebody listens is not refused.
        if !matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) {
            self.metrics.refused(Refusal::Tls);
        }
    }

    /// Looks after gates and agents from time to time, and after gates also when something changed.
    async fn sweep(self: Rc<Self>, changed: Rc<Notify>) {
        loop {
            let setup = self.setup();
            for site in &setup.sites {
                let gate = site.gate.clone();
                tokio::task::spawn_local(async move { gate.upkeep().await });
            }
            drop(setup);
            if tokio::time::timeout(SWEEP, changed.notified()).await.is_err() {
                self.setup().agents.iter().for_each(|agent| agent.sweep());
                self.past.borrow().iter().filter_map(Weak::upgrade).for_each(|agent| agent.sweep());
            }
        }
    }
}

/// What serves connections, by the version of HTTP on them.
#[derive(Debug)]
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
        .initial_connection_window_size(ALL_UPLOADS)
        .max_send_buf_size(MAX_BUFFER)
        .max_header_list_size(MAX_HEAD)
        .max_concurrent_streams(1000);
    builder
}
