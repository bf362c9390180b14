//! A gateway in this process, at a port of its own.

use std::{io, net::SocketAddr, time::Duration};

use tidegate::{
    config::Config,
    gateway::{self, Running},
    observe::Metrics,
};
use tokio::net::TcpStream;

use super::{Agent, Connection, STARTED, STREAM, chunk, frame, post, soon};

/// A gateway at work. It ends with the test.
pub struct Gateway {
    running: Running,
    metrics: Metrics,
}

impl Gateway {
    /// A gateway with this configuration, on one thread unless that says otherwise.
    pub fn start(toml: &str) -> Self {
        let threads = if toml.contains("threads") { "" } else { "threads = 1\n" };
        let config = Config::from_toml(&format!("listen = \"127.0.0.1:0\"\n{threads}{toml}"));
        let config = config.unwrap_or_else(|errors| panic!("{errors}"));
        let metrics = Metrics::new("test", "test");
        let running = gateway::start(&config, &metrics).unwrap();
        tokio::spawn(running.certificates().clone().watch(metrics.clone()));
        Self { running, metrics }
    }

    /// A gateway in front of this agent, with nothing configured.
    pub fn before(agent: &Agent) -> Self {
        Self::start(&format!("agent = \"{}\"", agent.url()))
    }

    /// A gateway in front of this agent, with more keys of the agent's and more of the route's.
    pub fn with(agent: &Agent, agent_keys: &str, route_keys: &str) -> Self {
        Self::start(&format!(
            "[agents.bot]\nurl = \"{}\"\n{agent_keys}\n[[routes]]\nagent = \"bot\"\n{route_keys}\n",
            agent.url()
        ))
    }

    /// Another configuration, at the same address and with as many threads.
    pub fn reload(&mut self, toml: &str) -> io::Result<()> {
        self.reload_whole(&format!("listen = \"127.0.0.1:0\"\nthreads = 1\n{toml}"))
    }

    /// Another configuration.
    pub fn reload_whole(&mut self, toml: &str) -> io::Result<()> {
        let config = Config::from_toml(toml).map_err(io::Error::other)?;
        self.running.reload(&config)
    }

    pub fn addresses(&self) -> &[SocketAddr] {
        self.running.addresses()
    }

    pub fn address(&self) -> SocketAddr {
        self.running.addresses()[0]
    }

    /// A new connection to it.
    pub async fn connect(&self) -> Connection {
        Connection::new(soon(TcpStream::connect(self.address())).await.unwrap())
    }

    /// A new connection to it, if it still takes any.
    pub async fn try_connect(&self) -> Option<Connection> {
        soon(TcpStream::connect(self.address())).await.ok().map(Connection::new)
    }

    /// Sends a request on a new connection.
    pub async fn ask(&self, request: impl AsRef<[u8]>) -> Connection {
        let mut connection = self.connect().await;
        connection.send(request).await;
        connection
    }

    /// A client and its agent, between which a stream has begun: the client has its head, and no event was sent.
    pub async fn stream(&self, agent: &Agent) -> (Connection, Connection) {
        self.stream_of(&post("/"), agent).await
    }

    /// The same for this request.
    pub async fn stream_of(&self, request: &str, agent: &Agent) -> (Connection, Connection) {
        let mut client = self.ask(request).await;
        let (mut connection, ..) = agent.request().await;
        connection.send(STREAM).await;
        assert_eq!(client.head().await.status(), 200);
        (client, connection)
    }

    /// A client and its agent, between which a run has begun: the client has seen `RUN_STARTED`.
    pub async fn run(&self, agent: &Agent) -> (Connection, Connection) {
        self.run_of(&post("/"), agent).await
    }

    /// The same for this request.
    pub async fn run_of(&self, request: &str, agent: &Agent) -> (Connection, Connection) {
        let (mut client, mut connection) = self.stream_of(request, agent).await;
        connection.send(chunk(frame(STARTED))).await;
        client.expect(&frame(STARTED)).await;
        (client, connection)
    }

    /// Begins to drain.
    pub fn drain(&self) {
        self.running.drain();
    }

    /// Waits until all threads have ended.
    pub async fn ends(self) {
        soon(async {
            while !self.running.is_over() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        self.running.wait().unwrap();
    }

    /// The figures that are not zero, without the histograms.
    fn in_short(&self) -> String {
        let all = self.figures();
        let said =
            all.lines().filter(|line| !line.starts_with('#') && !line.ends_with(" 0") && !line.contains("le=\""));
        said.collect::<Vec<_>>().join("\n")
    }

    /// All figures, as Prometheus reads them.
    pub fn figures(&self) -> String {
        self.metrics.render()
    }

    /// The sum of the samples of this name whose labels include these, written `label="value"`.
    pub fn figure(&self, name: &str, labels: &[&str]) -> f64 {
        let all = self.figures();
        let values = all.lines().filter_map(|line| {
            let (sample, value) = line.rsplit_once(' ')?;
            let (found, rest) = sample.split_once('{').unwrap_or((sample, ""));
            let rest: Vec<&str> = rest.trim_end_matches('}').split(',').collect();
            (found == name && labels.iter().all(|label| rest.contains(label))).then(|| value.parse::<f64>().unwrap())
        });
        values.sum()
    }

    /// Waits until a figure has this value.
    pub async fn shows(&self, name: &str, labels: &[&str], value: f64) {
        for _ in 0..1000 {
            if self.figure(name, labels) == value {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("{name} {labels:?} is {}, not {value}:\n{}", self.figure(name, labels), self.in_short());
    }

    /// Waits until exactly this many runs were counted, all with this outcome, and nothing of them is left.
    pub async fn counted(&self, outcome: &str, runs: f64) {
        self.shows("tidegate_runs_total", &[&format!("outcome=\"{outcome}\"")], runs).await;
        assert_eq!(self.figure("tidegate_runs_total", &[]), runs, "{}", self.in_short());
        self.is_clean().await;
    }

    /// Waits until no run is left, nor a byte of one.
    pub async fn is_clean(&self) {
        self.shows("tidegate_runs_active", &[], 0.0).await;
        self.shows("tidegate_held_bytes", &[], 0.0).await;
    }
}
