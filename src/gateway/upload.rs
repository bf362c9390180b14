//! A client's request body comes in, the same bytes go out to the agent, as they come. On the way it is
//! counted against its limit, and looked at: is it the input of a run, and which? Nothing of it is kept, unless it
//! is read whole to be translated, or as far as its thread to choose where it goes.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    future::poll_fn,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use super::{agent::Agent, headers, site::Site};
use crate::{
    agui::{InputFacts, InputScan, Version},
    observe::{ActiveRun, ClientVersion, Metrics, RouteMetrics},
    pipeline::{input::Converted, tools},
};

/// How long a body is read that nobody takes any more, so that one knows whether it was a run.
pub const UNWANTED: Duration = Duration::from_secs(1);
/// The most that is read of a body only for its end, in bytes.
const HEARD_OUT: usize = 256 * 1024;

/// How far the body of a request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More is to come.
    Going,
    /// All of it has been handed on.
    Complete,
    /// It is larger than its limit; the agent never gets the whole.
    TooLarge,
    /// The client broke it off, or framed it wrongly.
    Broken,
}

/// What is known of a request's body so far.
#[derive(Debug)]
pub struct Intake {
    limit: u64,
    /// What the client has yet to send, or is still to be taken.
    rest: RefCell<Option<Incoming>>,
    taken: Cell<u64>,
    progress: Cell<Progress>,
    moved_at: Cell<Instant>,
    /// Whoever takes the body has asked for more than the client has sent.
    is_awaited: Cell<bool>,
    /// All of it came, though not all of it was taken.
    is_heard_out: Cell<bool>,
    /// Nobody takes any more of it.
    is_unwanted: Cell<bool>,
    scan: RefCell<Option<InputScan>>,
    /// Whose agent takes it.
    agent: Rc<Agent>,
    metrics: Metrics,
    route: Arc<RouteMetrics>,
    active: RefCell<Option<ActiveRun>>,
    /// What got lost of it on the way to the agent's version.
    losses: RefCell<Vec<&'static str>>,
    /// The tool calls that it names.
    known: RefCell<tools::Known>,
}

impl Intake {
    /// Nothing is there yet of a body for this site's agent. `readable`: it is not compressed, so it can be looked at.
    pub fn new(site: &Site, readable: bool, metrics: Metrics) -> Rc<Self> {
        Rc::new(Self {
            limit: site.config.limits.body,
            rest: RefCell::default(),
            taken: Cell::new(0),
            progress: Cell::new(Progress::Going),
            moved_at: Cell::new(Instant::now()),
            is_awaited: Cell::new(false),
            is_heard_out: Cell::new(false),
            is_unwanted: Cell::new(false),
            scan: RefCell::new(readable.then(InputScan::new)),
            agent: site.agent.clone(),
            metrics,
            route: site.metrics.clone(),
            active: RefCell::default(),
            losses: RefCell::default(),
            known: RefCell::default(),
        })
    }

    /// The most that may be taken, in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// What the client says that it speaks, if the body is the input of a run.
    pub fn declared(&self) -> Option<Version> {
        let scan = self.scan.borrow();
        let facts = scan.as_ref().map(InputScan::facts).filter(|facts| facts.is_run_input())?;
        facts.protocol_version.as_ref().map(|text| Version::declared(&text.value))
    }

    /// This is the body, whose coding hid it.
    pub fn is_decoded(&self, plain: &[u8]) {
        let mut scan = InputScan::new();
        scan.feed(plain);
        self.scan.replace(Some(scan));
        self.is_run_now();
    }

    /// The tool policy has read the body. What it left out is named.
    pub fn is_filtered(&self, filtered: tools::input::Filtered) {
        let run_id = self.run().and_then(|run| run.run_id).map(|id| id.value);
        for reason in filtered.losses {
            self.route.dropped("tools", reason, 1);
            tracing::info!(reason, run_id, "left out of the run's input, for the route's tool policy");
        }
        self.known.replace(filtered.known);
    }

    /// The tool calls that the body names, once; none unless a tool policy has read it.
    pub fn known_calls(&self) -> tools::Known {
        self.known.take()
    }

    /// The body was translated for an agent that speaks `agent`. What was lost on the way is named.
    pub fn is_translated(&self, converted: &Converted, agent: Version) {
        let (from, to) = (ClientVersion::of(converted.client), ClientVersion::of(agent));
        let changed = converted.text.is_some() && converted.losses.is_empty();
        for loss in converted.losses.iter().copied().chain(changed.then_some("none")) {
            self.route.converted(from, to, loss, 1);
        }
        let run_id = self.run().and_then(|run| run.run_id).map(|id| id.value);
        for loss in &converted.losses {
            tracing::info!(
                loss,
                from = from.as_str(),
                to = to.as_str(),
                run_id,
                "left out of the run's input, for the agent's version does not know it; upgrade the agent to send it"
            );
        }
        self.losses.borrow_mut().extend(&converted.losses);
    }

    /// What got lost of the input on the way to the agent's version.
    pub fn losses(&self) -> Vec<&'static str> {
        self.losses.borrow().clone()
    }

    /// How far it has come.
    pub fn progress(&self) -> Progress {
        self.progress.get()
    }

    /// Whether it is the client that the rest of the body is waited for, and not whoever has to take it.
    pub fn waits_for_client(&self) -> bool {
        self.progress.get() == Progress::Going && self.is_awaited.get()
    }

    /// Whether the client has sent all of it, as far as it was looked at.
    pub fn has_come(&self) -> bool {
        self.progress.get() == Progress::Complete || self.is_heard_out.get()
    }

    /// Whether nobody takes any more of it, though it is not over.
    pub fn is_unwanted(&self) -> bool {
        self.progress.get() == Progress::Going && self.is_unwanted.get()
    }

    /// How many bytes of it came.
    pub fn taken(&self) -> u64 {
        self.taken.get()
    }

    /// When bytes of it were last handed on.
    pub fn moved_at(&self) -> Instant {
        self.moved_at.get()
    }

    /// What the body says of the run it asks for, if it is the input of one, as far as it was read.
    pub fn run(&self) -> Option<InputFacts> {
        self.scan.borrow().as_ref().map(InputScan::facts).filter(|facts| facts.is_run_input()).cloned()
    }

    /// The thread that the body names, as far as it was read.
    pub fn thread(&self) -> Option<String> {
        self.scan.borrow().as_ref().and_then(|scan| scan.facts().thread_id.as_ref()).map(|id| id.value.clone())
    }

    /// Whether the body is the input of a run, as far as it was read.
    pub fn is_run(&self) -> bool {
        self.scan.borrow().as_ref().is_some_and(|scan| scan.facts().is_run_input())
    }

    /// The run, which is in flight as soon as its input is complete; once.
    pub fn active(&self) -> Option<ActiveRun> {
        self.active.take()
    }

    fn took(&self, data: &[u8]) -> Result<(), Progress> {
        self.moved_at.set(Instant::now());
        self.taken.set(self.taken.get() + data.len() as u64);
        if self.taken.get() > self.limit {
            return Err(Progress::TooLarge);
        }
        if let Some(scan) = self.scan.borrow_mut().as_mut() {
            scan.feed(data);
        }
        Ok(())
    }

    /// Takes the next frame of the body from the client.
    fn poll_frame(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Stopped>>> {
        let mut body = self.rest.borrow_mut();
        let Some(body) = body.as_mut() else { return Poll::Ready(Some(Err(Stopped))) };
        let frame = Pin::new(&mut *body).poll_frame(cx);
        self.is_awaited.set(frame.is_pending());
        let why = match ready!(frame) {
            None => {
                self.complete();
                return Poll::Ready(None);
            }
            Some(Ok(frame)) => match frame.data_ref().map_or(Ok(()), |data| self.took(data)) {
                Ok(()) => {
                    if body.is_end_stream() {
                        self.complete();
                    }
                    return Poll::Ready(Some(Ok(self.fit(frame))));
                }
                Err(why) => why,
            },
            Some(Err(_)) => Progress::Broken,
        };
        self.progress.set(why);
        Poll::Ready(Some(Err(Stopped)))
    }

    /// The same without trailers that the agent must not get.
    fn fit(&self, frame: Frame<Bytes>) -> Frame<Bytes> {
        if !frame.is_trailers() {
            return frame;
        }
        match frame.into_trailers() {
            Ok(mut trailers) => {
                headers::trailers_toward_agent(&mut trailers, &self.agent.config.headers);
                Frame::trailers(trailers)
            }
            Err(frame) => frame,
        }
    }

    /// Looks at what is there of a body that nobody is to take any more, so that one knows whether it was a run. Whoever
    /// asks for more of it, late, gets nothing that could be taken for its end.
    pub fn glance(&self) {
        if let Some(mut body) = self.untaken() {
            let _ = self.poll_unread(&mut body, &mut Context::from_waker(Waker::noop()));
        }
    }

    /// The same for what comes within this time.
    pub async fn look_on(&self, limit: Duration) {
        if let Some(mut body) = self.untaken() {
            let _ = tokio::time::timeout(limit, poll_fn(|cx| self.poll_unread(&mut body, cx))).await;
        }
    }

    fn untaken(&self) -> Option<Incoming> {
        self.rest.take().filter(|_| self.progress() == Progress::Going)
    }

    fn poll_unread(&self, body: &mut Incoming, cx: &mut Context<'_>) -> Poll<()> {
        while let Some(frame) = ready!(Pin::new(&mut *body).poll_frame(cx)) {
            let Ok(frame) = frame else { return Poll::Ready(()) };
            let read = frame.data_ref().map_or(Ok(()), |data| self.took(data));
            if read.is_err() {
                return Poll::Ready(());
            }
        }
        self.is_heard_out.set(true);
        Poll::Ready(())
    }

    fn complete(&self) {
        if self.progress.get() == Progress::Going {
            self.progress.set(Progress::Complete);
            self.moved_at.set(Instant::now());
            self.is_run_now();
        }
    }

    fn is_run_now(&self) {
        if self.is_run() {
            self.active.replace(Some(self.route.active()));
        }
    }
}

/// The body of the request that an agent gets.
#[derive(Debug)]
pub struct Upload {
    body: Content,
    intake: Rc<Intake>,
}

#[derive(Debug)]
enum Content {
    /// As it comes from the client, after what was read of it before there was anyone to take it.
    Passing { read: VecDeque<Frame<Bytes>> },
    /// It has been read; all of it is here until it is sent.
    Whole(Bytes),
}

impl Upload {
    /// Hands `body` on and tells `intake` of it.
    pub fn new(body: Incoming, intake: Rc<Intake>) -> Self {
        if body.is_end_stream() {
            intake.complete();
        }
        intake.rest.replace(Some(body));
        Self { body: Content::Passing { read: VecDeque::new() }, intake }
    }

    /// A body that has been read.
    pub fn whole(body: Bytes, intake: Rc<Intake>) -> Self {
        intake.metrics.held_bytes().add(body.len());
        Self { body: Content::Whole(body), intake }
    }

    /// Whether it has been read.
    pub fn is_whole(&self) -> bool {
        matches!(self.body, Content::Whole(_))
    }

    /// Reads all of it.
    ///
    /// # Errors
    ///
    /// [`Stopped`]; the [`Intake`] knows why.
    pub async fn read(self) -> Result<(Bytes, Rc<Intake>), Stopped> {
        let intake = self.intake.clone();
        let body = self.collect().await?.to_bytes();
        Ok((body, intake))
    }

    /// The thread that the body names. For that it is read until one is named, which may be all of it; what was read
    /// stays here until it is sent, within the body's limit.
    ///
    /// # Errors
    ///
    /// [`Stopped`]; the [`Intake`] knows why.
    pub async fn thread(&mut self) -> Result<Option<String>, Stopped> {
        while let Content::Passing { read } = &mut self.body
            && self.intake.thread().is_none()
        {
            let intake = &self.intake;
            let Some(frame) = poll_fn(|cx| intake.poll_frame(cx)).await.transpose()? else { break };
            intake.metrics.held_bytes().add(size(&frame));
            read.push_back(frame);
        }
        Ok(self.intake.thread())
    }

    /// What is known of the body.
    pub fn intake(&self) -> &Rc<Intake> {
        &self.intake
    }

    /// Reads what comes of the body within this time, for nobody but its [`Intake`].
    pub async fn read_on(mut self, limit: Duration) {
        let reading = async { while let Some(Ok(_)) = poll_fn(|cx| Pin::new(&mut self).poll_frame(cx)).await {} };
        let _ = tokio::time::timeout(limit, reading).await;
    }
}

/// Whether the rest of a body that nobody wants is there, and is small: then its connection can be used again.
pub fn has_come(body: &mut Incoming) -> bool {
    poll_rest(body, &mut { HEARD_OUT }, &mut Context::from_waker(Waker::noop())) == Poll::Ready(true)
}

/// Reads what comes of a body that nobody wants, for a while: over HTTP/2 a stream whose body is not taken is reset behind
/// its answer, and there are clients that then take the answer for lost.
pub async fn hear_out(mut body: Incoming) {
    let mut left = HEARD_OUT;
    let _ = tokio::time::timeout(UNWANTED, poll_fn(|cx| poll_rest(&mut body, &mut left, cx))).await;
}

/// Throws away what comes of a body, of which so many bytes are left to be read. Ready: whether it ended within them.
fn poll_rest(body: &mut Incoming, left: &mut usize, cx: &mut Context<'_>) -> Poll<bool> {
    loop {
        match ready!(Pin::new(&mut *body).poll_frame(cx)) {
            None => return Poll::Ready(true),
            Some(Ok(frame)) => match left.checked_sub(size(&frame)) {
                Some(rest) => *left = rest,
                None => return Poll::Ready(false),
            },
            Some(Err(_)) => return Poll::Ready(false),
        }
    }
}

/// The upload stopped; the [`Intake`] knows why.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the request's body is not handed on any further")]
pub struct Stopped;

impl Body for Upload {
    type Data = Bytes;
    type Error = Stopped;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Stopped>>> {
        let Self { body, intake } = &mut *self;
        match body {
            Content::Passing { read } => match read.pop_front() {
                Some(frame) => {
                    intake.metrics.held_bytes().sub(size(&frame));
                    Poll::Ready(Some(Ok(frame)))
                }
                None => intake.poll_frame(cx),
            },
            Content::Whole(body) => {
                let body = std::mem::take(body);
                intake.metrics.held_bytes().sub(body.len());
                Poll::Ready((!body.is_empty()).then_some(Ok(Frame::data(body))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.body {
            Content::Passing { read } => {
                read.is_empty() && self.intake.rest.borrow().as_ref().is_some_and(Incoming::is_end_stream)
            }
            Content::Whole(body) => body.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.body {
            Content::Passing { read } => {
                let read = read.iter().map(size).sum::<usize>() as u64;
                let rest = self.intake.rest.borrow().as_ref().map(Incoming::size_hint).unwrap_or_default();
                let mut hint = SizeHint::new();
                hint.set_lower(rest.lower().saturating_add(read));
                if let Some(upper) = rest.upper() {
                    hint.set_upper(upper.saturating_add(read));
                }
                hint
            }
            Content::Whole(body) => SizeHint::with_exact(body.len() as u64),
        }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.intake.is_unwanted.set(true);
        let held = match &self.body {
            Content::Passing { read } => read.iter().map(size).sum(),
            Content::Whole(body) => body.len(),
        };
        if held > 0 {
            self.intake.metrics.held_bytes().sub(held);
        }
    }
}

/// How many bytes of data a frame holds.
fn size(frame: &Frame<Bytes>) -> usize {
    frame.data_ref().map_or(0, Bytes::len)
}
