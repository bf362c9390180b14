//! A client's request body comes in, the same bytes go out to the agent, as they come. On the way it is
//! counted against its limit, and looked at: is it the input of a run, and which? Nothing of it is kept.

use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use crate::{
    agui::{InputFacts, InputScan},
    observe::{ActiveRun, RouteMetrics},
};

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
    taken: Cell<u64>,
    progress: Cell<Progress>,
    moved_at: Cell<Instant>,
    scan: RefCell<Option<InputScan>>,
    route: Arc<RouteMetrics>,
    active: RefCell<Option<ActiveRun>>,
}

impl Intake {
    /// Nothing is there yet. `readable`: the body is not compressed, so it can be looked at.
    pub fn new(limit: u64, readable: bool, route: Arc<RouteMetrics>) -> Rc<Self> {
        Rc::new(Self {
            limit,
            taken: Cell::new(0),
            progress: Cell::new(Progress::Going),
            moved_at: Cell::new(Instant::now()),
            scan: RefCell::new(readable.then(InputScan::new)),
            route,
            active: RefCell::default(),
        })
    }

    /// How far it has come.
    pub fn progress(&self) -> Progress {
        self.progress.get()
    }

    /// When bytes of it were last handed on.
    pub fn moved_at(&self) -> Instant {
        self.moved_at.get()
    }

    /// What the body says of the run it asks for, if it is the input of one, as far as it was read.
    pub fn run(&self) -> Option<InputFacts> {
        self.scan.borrow().as_ref().map(InputScan::facts).filter(|facts| facts.is_run_input()).cloned()
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

    fn complete(&self) {
        if self.progress.get() == Progress::Going {
            self.progress.set(Progress::Complete);
            self.moved_at.set(Instant::now());
            if self.is_run() {
                self.active.replace(Some(self.route.active()));
            }
        }
    }
}

/// The body of the request that an agent gets.
#[derive(Debug)]
pub struct Upload {
    body: Incoming,
    intake: Rc<Intake>,
}

impl Upload {
    /// Hands `body` on and tells `intake` of it.
    pub fn new(body: Incoming, intake: Rc<Intake>) -> Self {
        if body.is_end_stream() {
            intake.complete();
        }
        Self { body, intake }
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

/// The upload stopped; the [`Intake`] knows why.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the request's body is not handed on any further")]
pub struct Stopped;

impl Body for Upload {
    type Data = Bytes;
    type Error = Stopped;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Stopped>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let why = match frame {
            None => {
                self.intake.complete();
                return Poll::Ready(None);
            }
            Some(Ok(frame)) => match frame.data_ref().map_or(Ok(()), |data| self.intake.took(data)) {
                Ok(()) => {
                    if self.body.is_end_stream() {
                        self.intake.complete();
                    }
                    return Poll::Ready(Some(Ok(frame)));
                }
                Err(why) => why,
            },
            Some(Err(_)) => Progress::Broken,
        };
        self.intake.progress.set(why);
        Poll::Ready(Some(Err(Stopped)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
