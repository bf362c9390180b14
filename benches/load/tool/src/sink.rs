//! The sink: requests go out, each answer is read to its end and checked, and what was seen is counted.
//!
//! It stands for the front ends. It measures nothing by itself: `flow` and `idle` decide when to look.

use std::{
    cell::{Cell, RefCell},
    io,
    net::SocketAddr,
    rc::Rc,
    time::Duration,
};

use tokio::{io::AsyncWriteExt, net::TcpStream, task::JoinSet, time::Instant};

use crate::{
    args::Args,
    check::{Check, now},
    http::{Chunks, Wire, invalid},
    run::{self, Shape},
};

/// Between the beginnings of two streams, so that no listener's queue overflows.
const RAMP: Duration = Duration::from_micros(400);

/// How often a waiting measurement looks at the tally.
const LOOK: Duration = Duration::from_millis(20);

/// Whom to ask, and for how long at most.
pub struct Target {
    /// Where the streams are asked for.
    pub to: SocketAddr,
    /// The path of the request.
    pub path: String,
    /// Streams at a time.
    pub streams: usize,
    /// The process to measure, with its children; `None`: there is nothing between source and sink.
    pub pid: Option<u32>,
    /// The measurement has failed if it takes longer.
    pub limit: Duration,
}

impl Target {
    /// Reads `to=`, `path=`, `streams=`, `pid=` and `limit=` (in seconds).
    ///
    /// # Errors
    /// An argument that is missing or malformed, or an address of another machine.
    pub fn read(args: &Args) -> Result<Self, String> {
        let to: SocketAddr = args.need("to")?;
        if !to.ip().is_loopback() {
            return Err(format!("{to} is not on this machine: this load is meant for no other"));
        }
        Ok(Self {
            to,
            path: args.or("path", "/agui".to_owned())?,
            streams: args.need("streams")?,
            pid: args.get("pid")?,
            limit: Duration::from_secs(args.or("limit", 60)?),
        })
    }
}

/// What all streams together have seen.
#[derive(Default)]
pub struct Tally {
    /// Content events.
    pub events: Cell<u64>,
    /// Streams that have had as many content events as one run has, once.
    pub filled: Cell<usize>,
    /// Streams that have had a content event.
    pub begun: Cell<usize>,
    /// Runs that ended as they should.
    pub runs: Cell<u64>,
    /// No stream begins a further run once this is set.
    pub stop: Cell<bool>,
    /// Whether `delays` grows.
    pub recording: Cell<bool>,
    /// From the event's creation to its receipt, in microseconds.
    pub delays: RefCell<Vec<u32>>,
    failures: RefCell<Vec<String>>,
}

/// Streams in flight.
pub struct Streams {
    /// What they have seen.
    pub tally: Rc<Tally>,
    tasks: JoinSet<()>,
    until: Instant,
}

impl Streams {
    /// Begins `target.streams` streams, each of which does one run after the other; `shape` gets the number of a stream.
    pub fn begin(target: &Target, buffer: usize, shape: impl Fn(usize) -> Shape) -> Self {
        let tally = Rc::new(Tally::default());
        let mut tasks = JoinSet::new();
        for thread in 0..target.streams {
            let (tally, shape) = (Rc::clone(&tally), shape(thread));
            let (to, path) = (target.to, target.path.clone());
            tasks.spawn_local(async move {
                tokio::time::sleep(RAMP * thread as u32).await;
                if let Err(e) = stream(to, &path, thread, &shape, buffer, &tally).await {
                    tally.failures.borrow_mut().push(format!("thread-{thread}: {e}"));
                    tally.stop.set(true);
                }
            });
        }
        Self { tally, tasks, until: Instant::now() + target.limit }
    }

    /// Waits until `ready`.
    ///
    /// # Errors
    /// A stream that failed, or too long a wait; `what` says for what.
    pub async fn wait(&self, what: &str, ready: impl Fn(&Tally) -> bool) -> Result<(), String> {
        while !ready(&self.tally) {
            self.fine()?;
            if Instant::now() > self.until {
                return Err(format!("out of time waiting for {what}"));
            }
            tokio::time::sleep(LOOK).await;
        }
        self.fine()
    }

    /// Lets the current runs end, and begins no others. Returns how many ended as they should.
    ///
    /// # Errors
    /// A run that did not.
    pub async fn end(mut self) -> Result<u64, String> {
        self.tally.stop.set(true);
        let rest = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout_at(self.until, rest).await.is_err() {
            return Err(format!("{} streams did not end in time", self.tasks.len()));
        }
        self.fine()?;
        Ok(self.tally.runs.get())
    }

    fn fine(&self) -> Result<(), String> {
        let failures = self.tally.failures.borrow();
        match failures.first() {
            None => Ok(()),
            Some(first) => Err(format!("{} of the streams failed: {first}", failures.len())),
        }
    }
}

async fn stream(
    to: SocketAddr,
    path: &str,
    thread: usize,
    shape: &Shape,
    buffer: usize,
    tally: &Tally,
) -> io::Result<()> {
    let mut kept = None;
    for run in 0.. {
        let mut wire = match kept.take() {
            Some(wire) => wire,
            None => Wire::new(TcpStream::connect(to).await?, buffer)?,
        };
        let input = run::input(thread, run, shape);
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: {to}\r\ncontent-type: application/json\r\naccept: text/event-stream\r\n\
             content-length: {}\r\n\r\n{input}",
            input.len()
        );
        wire.stream.write_all(request.as_bytes()).await?;
        if answer(&mut wire, shape, run == 0, tally).await? {
            kept = Some(wire);
        }
        tally.runs.set(tally.runs.get() + 1);
        if tally.stop.get() {
            break;
        }
    }
    Ok(())
}

/// Reads one answer to its end. Returns whether the connection may be used again.
async fn answer(wire: &mut Wire, shape: &Shape, first: bool, tally: &Tally) -> io::Result<bool> {
    let head = wire.head().await?.ok_or_else(|| invalid("closed without an answer"))?;
    if head.first().split(' ').nth(1) != Some("200") {
        return Err(invalid(&format!("answered {}", head.first())));
    }
    if !head.get("content-type").is_some_and(|t| t.starts_with("text/event-stream")) {
        return Err(invalid("an answer that is no event stream"));
    }
    if !head.is("transfer-encoding", "chunked") {
        return Err(invalid("an answer that is not chunked"));
    }
    let (mut chunks, mut check) = (Chunks::default(), Check::new(shape.events));
    while !chunks.done() {
        if wire.pending().is_empty() && wire.fill().await? == 0 {
            return Err(invalid("a stream that was cut off"));
        }
        let (before, read_at) = (check.seen(), now());
        let mut content = |stamp: u64| {
            if tally.recording.get() {
                let delay = u32::try_from(read_at.saturating_sub(stamp)).unwrap_or(u32::MAX);
                tally.delays.borrow_mut().push(delay);
            }
        };
        let used = chunks.feed(wire.pending(), |piece| check.feed(piece, &mut content))?;
        wire.used(used);
        let seen = check.seen();
        tally.events.set(tally.events.get() + seen - before);
        if first && before == 0 && seen > 0 {
            tally.begun.set(tally.begun.get() + 1);
        }
        if first && before < shape.events && seen == shape.events {
            tally.filled.set(tally.filled.get() + 1);
        }
    }
    check.end()?;
    Ok(!head.is("connection", "close"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
pub mod tests {
    use super::*;
    use crate::{http::Wire, source};
    use tokio::{
        net::TcpListener,
        task::{LocalSet, spawn_local},
    };

    /// Runs `test` beside a source, and gives it the source's address.
    pub async fn with_source<F: Future<Output = ()>>(test: impl FnOnce(SocketAddr) -> F) {
        let set = LocalSet::new();
        set.run_until(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            spawn_local(source::serve(listener));
            test(address).await;
        })
        .await;
    }

    fn target(to: SocketAddr) -> Target {
        Target { to, path: "/agui".into(), streams: 5, pid: None, limit: Duration::from_secs(10) }
    }

    #[test]
    fn only_this_machine_is_put_under_load() {
        let args = |to: &str| Args::parse([format!("to={to}"), "streams=1".into()].into_iter()).unwrap();
        assert!(Target::read(&args("127.0.0.1:80")).is_ok());
        assert!(Target::read(&args("192.0.2.1:80")).err().unwrap().contains("not on this machine"));
    }

    #[tokio::test]
    async fn every_event_of_every_run_is_counted() {
        with_source(async |to| {
            let shape = Shape { events: 1000, burst: 7, ..Shape::default() };
            let streams = Streams::begin(&target(to), 512, |_| shape);
            let tally = Rc::clone(&streams.tally);
            streams.wait("the third run", |tally| tally.runs.get() >= 15).await.unwrap();
            let runs = streams.end().await.unwrap();
            assert!(runs >= 15);
            assert_eq!(tally.events.get(), runs * 1000);
            assert_eq!((tally.begun.get(), tally.filled.get()), (5, 5));
        })
        .await;
    }

    /// A proxy that loses one content event: `lose` is what it looks for, and leaves out once.
    async fn thief(listener: TcpListener, agent: SocketAddr, lose: &'static [u8]) -> io::Result<()> {
        loop {
            let mut client = Wire::new(listener.accept().await?.0, 8192)?;
            let mut agent = Wire::new(TcpStream::connect(agent).await?, 8192)?;
            client.fill().await?;
            agent.stream.write_all(client.pending()).await?;
            let mut answer = Vec::new();
            while !answer.ends_with(b"\r\n0\r\n\r\n") {
                agent.fill().await?;
                answer.extend_from_slice(agent.pending());
                agent.used(agent.pending().len());
            }
            let at = memchr::memmem::find(&answer, lose).expect("what is to be lost was sent");
            let begin = memchr::memmem::rfind(&answer[..at], b"\r\n").expect("a chunk has a size line");
            let begin = memchr::memmem::rfind(&answer[..begin], b"\r\n").map_or(0, |b| b + 2);
            let end = at + memchr::memmem::find(&answer[at..], b"\n\n\r\n").expect("an event has an end") + 4;
            answer.drain(begin..end);
            client.stream.write_all(&answer).await?;
        }
    }

    async fn robbed(lose: &'static [u8]) -> String {
        let outcome = Rc::new(RefCell::new(String::new()));
        with_source(async |agent| {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let to = listener.local_addr().unwrap();
            spawn_local(thief(listener, agent, lose));
            let shape = Shape { events: 40, burst: 1, ..Shape::default() };
            let streams = Streams::begin(&Target { streams: 1, ..target(to) }, 8192, |_| shape);
            *outcome.borrow_mut() = streams.end_after_first().await.unwrap_err();
        })
        .await;
        outcome.take()
    }

    impl Streams {
        async fn end_after_first(self) -> Result<u64, String> {
            self.wait("a run", |tally| tally.runs.get() > 0).await?;
            self.end().await
        }
    }

    #[tokio::test]
    async fn a_lost_event_is_noticed() {
        assert!(robbed(b"TEXT_MESSAGE_CONTENT").await.contains("39 events where the run has 40"));
    }

    #[tokio::test]
    async fn a_lost_end_is_noticed() {
        assert!(robbed(b"RUN_FINISHED").await.contains("ended without RUN_FINISHED"));
    }
}
