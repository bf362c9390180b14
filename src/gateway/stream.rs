//! An agent's event stream comes in, what the client reads goes out: decode, push through the pipeline,
//! encode, until the stream is over, and then say how it ended. Everything happens in the client's own task:
//! the client not reading holds the agent back, and the client leaving drops all of it.

mod clock;
mod parts;

use std::{
    cell::Cell,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body::Body as _;

use clock::Wake;
pub use parts::Parts;

use super::{
    alarm::Alarm,
    body::Broken,
    conversions::Conversions,
    drain::{Drain, Registration},
    socket::Line,
    source::Source,
    standing::Standing,
    tally::Tally,
    timers::{Due, Timers},
};
use crate::{
    agui::{Encoding, Event, EventKind, Kinds, Life, Version, json},
    config::{Budget, Fault},
    observe::{Code, Outcome},
    pipeline::{self, Dropped, End, Pipeline, Sink},
    wire::{Batch, Item, Reader, Unreadable, Writer, proto::NotCarried},
};

/// Events are handed on before more are read once this many bytes are waiting.
const FULL: usize = 64 * 1024;
/// So many bytes are read and kept for a client that does not read, where what waits is merged; then the agent waits.
const AHEAD: usize = 256 * 1024;

/// Whoever asks for more within this time was not waited for.
const AT_ONCE: Duration = Duration::from_millis(1);

/// The body of an answer that is an event stream.
pub struct EventStream {
    source: Option<Source>,
    standing: Option<Standing>,
    phase: Phase,
    reader: Reader,
    frame_limit: usize,
    budget: Budget,
    has_a_policy: bool,
    pipeline: Pipeline,
    reads_ahead: bool,
    /// The client was given bytes and has not asked for more since.
    given: bool,
    /// When that was, if it shares its connection, so that nobody sees when the socket takes them.
    given_at: Option<Instant>,
    /// The pipeline was told that the client does not read, when it held so many bytes.
    slow: Option<usize>,
    /// Whoever reads on meanwhile.
    reader_ahead: Option<Waker>,
    sink: Sink,
    writer: Writer,
    agent_encoding: Encoding,
    speaks_protobuf: Rc<Cell<bool>>,
    conversions: Conversions,
    out: Batch,
    life: Life,
    started: Option<Event>,
    truncated: Fault,
    timers: Timers,
    alarm: Alarm,
    tally: Tally,
    line: Option<Rc<Line>>,
    drain: Rc<Drain>,
    registration: Option<Registration>,
    broken: bool,
}

/// What the stream has turned out to be.
#[derive(Debug)]
enum Phase {
    /// Not known before its first event, which is not whole yet; these are the bytes so far.
    Undecided(Vec<Bytes>),
    /// AG-UI: judged, measured, ended properly.
    Run,
    /// Something else: passed on untouched.
    Foreign,
    /// Nothing more is read.
    Over,
}

impl std::fmt::Debug for EventStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventStream").field("phase", &self.phase).field("life", &self.life).finish_non_exhaustive()
    }
}

impl EventStream {
    /// A stream that is yet to be read.
    pub fn new(parts: Parts) -> Box<Self> {
        let reader = match parts.agent_encoding {
            Encoding::Sse => Reader::sse(parts.frame_limit),
            Encoding::Protobuf => {
                let to_json = parts.writer.encoding() == Encoding::Sse;
                Reader::protobuf(parts.frame_limit, if to_json { Kinds::ALL } else { parts.pipeline.kinds() }, to_json)
            }
        };
        let mut stream = Box::new(Self {
            source: Some(parts.source),
            standing: parts.standing,
            phase: Phase::Undecided(Vec::new()),
            reader,
            frame_limit: parts.frame_limit,
            budget: parts.budget,
            has_a_policy: parts.has_a_policy,
            pipeline: parts.pipeline,
            reads_ahead: parts.reads_ahead,
            given: false,
            given_at: None,
            slow: None,
            reader_ahead: None,
            sink: Sink::default(),
            writer: parts.writer,
            agent_encoding: parts.agent_encoding,
            speaks_protobuf: parts.speaks_protobuf,
            conversions: Conversions::new(parts.peers, parts.announces, &parts.input_losses),
            out: Batch::new(),
            life: Life::default(),
            started: parts.started,
            truncated: parts.truncated,
            timers: parts.timers,
            alarm: Alarm::default(),
            tally: parts.tally,
            line: parts.line,
            drain: parts.drain,
            registration: None,
            broken: false,
        });
        if parts.is_run {
            stream.becomes_a_run();
        }
        stream
    }

    /// A stream of one `RUN_ERROR`, in place of an answer that is none.
    pub fn of_error(parts: Parts, code: Code, outcome: Outcome, message: &str) -> Box<Self> {
        let mut stream = Self::new(parts);
        stream.ends_with(End::Stopped, Some((code, outcome, message)), Instant::now());
        stream
    }

    /// Whether somebody has to call [`EventStream::read_ahead`] while the client does not read.
    pub fn is_read_ahead(&self) -> bool {
        self.reads_ahead
    }

    /// When somebody has to call [`EventStream::has_to_be_over`], whether or not the client reads: `timeouts.run` of a
    /// stream with no socket of its own that could be given up.
    pub fn needs_a_curfew(&self) -> Option<Instant> {
        let own = self.line.is_some() || matches!(self.phase, Phase::Over);
        self.timers.run_ends().filter(|_| !own)
    }

    /// `timeouts.run` has passed. A run that still goes on ends now and lets go of its agent; its client finds the end
    /// once it reads, if ever.
    pub fn has_to_be_over(&mut self) {
        match self.phase {
            Phase::Run => self.is_due(Wake::Limit(Due::Run), Instant::now()),
            // What it is was never looked at, for the client never asked.
            Phase::Undecided(_) if self.registration.is_none() => self.foreign_ends(true),
            Phase::Undecided(_) | Phase::Foreign => return,
            // All of it is there, and waits for the client.
            Phase::Over => {}
        }
        self.tally.over(self.life, Outcome::TimeoutRun);
        self.tally.holds(self.held());
    }

    /// The next bytes for the client: whole events, all that are ready.
    pub fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        if self.slow.is_some() {
            self.is_slow(false);
        }
        self.takes_again();
        let piece = self.poll_next(cx);
        self.given = matches!(piece, Poll::Ready(Some(_)));
        self.given_at = (self.given && self.line.is_none()).then(Instant::now);
        if let Some(reader) = self.reader_ahead.as_ref().filter(|_| self.given) {
            reader.wake_by_ref();
        }
        piece
    }

    /// The client takes more of a connection that it shares, or has left. What it was given goes at once where it has room.
    fn takes_again(&mut self) {
        let waited = self.given_at.take().map(|at| at.elapsed()).filter(|time| *time > AT_ONCE);
        self.tally.stalled(waited.unwrap_or_default());
    }

    /// Reads on if the client has not asked for more since it was given something. Wakes the caller when there may be
    /// more to read, when a limit has passed, and when the client was given something again.
    pub fn read_ahead(&mut self, cx: &mut Context<'_>) {
        if self.reader_ahead.as_ref().is_none_or(|reader| !reader.will_wake(cx.waker())) {
            self.reader_ahead = Some(cx.waker().clone());
        }
        if !self.given || !matches!(self.phase, Phase::Run) {
            return;
        }
        if self.slow.is_none() {
            self.is_slow(true);
        }
        let read_at = self.read_what_is_ready(cx);
        self.look_at_the_clock(cx, read_at);
        self.tally.holds(self.held());
        self.tally.not_handed_over();
    }

    /// The client has stopped reading, or reads again.
    fn is_slow(&mut self, slow: bool) {
        let now = Instant::now();
        self.slow = slow.then(|| self.pipeline.held());
        self.pipeline.slow(slow, now, &mut self.sink);
        self.send_what_came_out(now);
    }

    /// Bytes held for this stream.
    fn held(&self) -> usize {
        self.reader.held() + self.pipeline.held() + self.out.len()
    }

    /// Whether there is room for more.
    fn has_room(&self) -> bool {
        match self.slow {
            Some(before) => self.pipeline.held().saturating_sub(before) + self.out.len() < AHEAD,
            None => self.out.len() < FULL,
        }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        if let Some(piece) = self.out.pop() {
            return Poll::Ready(Some(Ok(piece)));
        }
        self.tally.delivered(self.line.as_deref());
        let read_at = self.read_what_is_ready(cx);
        let due_at = self.look_at_the_clock(cx, read_at);
        self.tally.holds(self.held());
        if let Some(piece) = self.out.pop() {
            self.tally.handed_over(read_at.or(due_at), self.line.as_deref());
            return Poll::Ready(Some(Ok(piece)));
        }
        if !matches!(self.phase, Phase::Over) {
            return Poll::Pending;
        }
        self.registration = None;
        self.tally.handed_over_last();
        Poll::Ready(std::mem::take(&mut self.broken).then(|| Err("the agent's stream broke off".into())))
    }

    /// Reads until nothing is ready, or enough is; the time of the first bytes, if there were any.
    fn read_what_is_ready(&mut self, cx: &mut Context<'_>) -> Option<Instant> {
        let mut read_at = None;
        while self.has_room() {
            let Some(source) = &mut self.source else { break };
            let frame = match Pin::new(source).poll_frame(cx) {
                Poll::Pending => break,
                Poll::Ready(frame) => frame,
            };
            let at = *read_at.get_or_insert_with(Instant::now);
            match frame {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.read(data, at);
                    }
                }
                Some(Err(error)) => {
                    tracing::debug!(%error, "agent's stream broke off");
                    self.closed(End::Broken, at);
                }
                None => self.closed(End::Closed, at),
            }
        }
        read_at
    }

    fn read(&mut self, data: Bytes, at: Instant) {
        match &mut self.phase {
            Phase::Foreign => return self.out.push(data),
            Phase::Over => return,
            Phase::Undecided(held) => held.push(data.clone()),
            Phase::Run => self.timers.bytes(at),
        }
        self.reader.feed(data);
        loop {
            match (self.reader.next(), &self.phase) {
                (Ok(Some(item)), Phase::Run) => self.take(item, at),
                (Ok(Some(item)), Phase::Undecided(_)) => {
                    if !matches!(&item, Item::Event { event, .. } if event.kind() != EventKind::Other) {
                        return self.is_foreign();
                    }
                    self.becomes_a_run();
                    self.timers.bytes(at);
                    self.take(item, at);
                }
                (Ok(None), Phase::Undecided(held)) => {
                    if held.iter().map(Bytes::len).sum::<usize>() > self.frame_limit {
                        self.is_foreign();
                    }
                    return;
                }
                (Err(_), Phase::Undecided(_)) => return self.is_foreign(),
                (Err(why), Phase::Run) => {
                    let code = match why {
                        Unreadable::TooLarge => Code::FrameTooLarge,
                        Unreadable::Malformed => Code::MalformedFrame,
                    };
                    return self.stop(End::Stopped, Some((code, Outcome::Violation)), at);
                }
                _ => return,
            }
        }
    }

    /// The endpoint has shown that it works.
    fn began(&mut self) {
        if let Some(standing) = self.standing.take() {
            standing.succeeded();
        }
    }

    fn becomes_a_run(&mut self) {
        self.phase = Phase::Run;
        self.tally.begin();
        if let Some(line) = &self.line {
            line.give_up_at(self.timers.run_ends());
        }
    }

    fn is_foreign(&mut self) {
        self.began();
        if let Phase::Undecided(held) = std::mem::replace(&mut self.phase, Phase::Foreign) {
            held.into_iter().for_each(|bytes| self.out.push(bytes));
        }
    }

    /// What is no run ends as it does; what is held of it comes out.
    fn foreign_ends(&mut self, broken: bool) {
        self.is_foreign();
        self.broken = broken;
        self.phase = Phase::Over;
        self.source = None;
    }

    fn take(&mut self, item: Item, at: Instant) {
        let (event, losses) = match item {
            Item::Event { event, losses } => (event, losses),
            Item::Left(reason) => {
                return self.tally.dropped(&Dropped { stage: "protobuf", reason, kind: EventKind::Other });
            }
        };
        self.began();
        self.timers.event(at);
        self.tally.read(&event, at);
        self.tally.lost(losses, event.kind(), Encoding::Protobuf);
        // The end of a run is never too much, but there is one for each.
        let ends_it = event.kind().is_terminal() && self.life.owes_an_end();
        if !ends_it && self.tally.spent().exceeds(&self.budget) {
            return self.stop(End::Stopped, Some((Code::BudgetExceeded, Outcome::Budget)), at);
        }
        if event.kind() == EventKind::RunStarted {
            let declared = event.string("protocolVersion").map(|version| Version::declared(&version));
            if self.agent_encoding == Encoding::Protobuf {
                self.speaks_protobuf.set(declared.is_some_and(|version| !version.is_old()));
            }
            self.conversions.run_started(declared);
        }
        self.begin_with(event.kind(), at);
        if !self.pipeline.kinds().contains(event.kind()) {
            return self.send(&event, at);
        }
        self.pipeline.event(event, at, &mut self.sink);
        self.send_what_came_out(at);
    }

    /// An event of this kind comes next; if it is the first one, what has to be before it is sent.
    fn begin_with(&mut self, kind: EventKind, at: Instant) {
        if let Some(started) = self.started.take()
            && kind == EventKind::RunError
        {
            self.pipeline.event(started, at, &mut self.sink);
            self.send_what_came_out(at);
        }
    }

    fn send_what_came_out(&mut self, at: Instant) {
        for dropped in self.sink.dropped.drain(..) {
            self.tally.dropped(&dropped);
        }
        for result in self.sink.patched.drain(..) {
            self.tally.patched(result);
        }
        for rule in self.sink.violations.drain(..) {
            self.tally.violated(rule);
        }
        for rule in self.sink.repaired.drain(..) {
            self.tally.repaired(rule);
        }
        for converted in self.sink.converted.drain(..) {
            self.conversions.happened(converted, &mut self.tally);
        }
        for merged in self.sink.merged.drain(..) {
            self.tally.merged(merged);
        }
        for time in self.sink.waited.drain(..) {
            self.tally.waited(time);
        }
        for called in self.sink.called.drain(..) {
            self.tally.called(called);
        }
        let mut events = std::mem::take(&mut self.sink.events);
        for event in events.drain(..) {
            self.send(&event, at);
        }
        self.sink.events = events;
        if let Some(refused) = self.sink.refused.take() {
            let (code, outcome) = match refused.fault {
                pipeline::Fault::Malformed => (Code::MalformedFrame, Outcome::Violation),
                pipeline::Fault::Violation => (Code::ProtocolViolation, Outcome::Violation),
                pipeline::Fault::Budget => (Code::BudgetExceeded, Outcome::Budget),
                pipeline::Fault::Denied => (Code::ToolDenied, Outcome::ToolDenied),
            };
            self.ends_with(End::Stopped, Some((code, outcome, &refused.message)), at);
        }
    }

    fn send(&mut self, event: &Event, at: Instant) {
        if self.life == Life::Active {
            self.conversions.announce(&self.writer, &mut self.out);
        }
        let before = self.out.len();
        match self.writer.event(event, &mut self.out) {
            Ok(losses) => self.tally.lost(losses, event.kind(), Encoding::Sse),
            Err(NotCarried { shape }) => return self.tally.not_carried(event, shape.as_str()),
        }
        self.life = self.life.after(event.kind());
        if event.kind() == EventKind::RunError {
            self.tally.failed(event);
        }
        let size = match self.writer.encoding() {
            Encoding::Sse => event.text().len(),
            Encoding::Protobuf => self.out.len() - before,
        };
        self.tally.sent(event.kind(), size);
        self.timers.wrote(at, self.life.owes_an_end());
    }

    /// The agent's body is over.
    fn closed(&mut self, how: End, at: Instant) {
        match self.phase {
            Phase::Run => {}
            Phase::Over => return,
            Phase::Undecided(_) | Phase::Foreign => return self.foreign_ends(how == End::Broken),
        }
        let pass = self.truncated == Fault::Pass;
        let mut half = None;
        if how == End::Closed
            && let Ok(Some(item)) = self.reader.finish()
        {
            match item {
                Item::Event { event, .. } if !json::is_whole(event.text()) => half = Some(event),
                item => self.take(item, at),
            }
        }
        self.broken = pass && how == End::Broken && self.life.owes_an_end();
        if pass {
            self.tally.ended(Outcome::Truncated, self.life);
        }
        let error = (!pass).then_some((Code::UpstreamTruncated, Outcome::Truncated));
        self.stop(how, error, at);
        // No stage can judge half an event, and no policy lets it pass.
        if let Some(event) = half.filter(|_| pass && !self.has_a_policy) {
            self.tally.read(&event, at);
            self.send(&event, at);
        }
    }

    /// Nothing more is read. What is held comes out, and one `RUN_ERROR` if the run has not ended.
    fn stop(&mut self, how: End, error: Option<(Code, Outcome)>, at: Instant) {
        self.ends_with(how, error.map(|(code, outcome)| (code, outcome, code.message())), at);
    }

    fn ends_with(&mut self, how: End, error: Option<(Code, Outcome, &str)>, at: Instant) {
        self.source = None;
        self.phase = Phase::Over;
        self.tally.silent_until(at);
        if let Some((code, outcome, message)) = error
            && self.life.owes_an_end()
            && !self.pipeline.holds_an_end()
        {
            self.tally.stopped(code, outcome);
            let event = Event::run_error(message, code.as_str());
            self.begin_with(event.kind(), at);
            self.pipeline.event(event, at, &mut self.sink);
        }
        self.pipeline.end(how, at, &mut self.sink);
        self.send_what_came_out(at);
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        if let Some(reader) = &self.reader_ahead {
            reader.wake_by_ref();
        }
        if let Some(line) = &self.line {
            line.give_up_at(None);
        }
        self.tally.delivered(self.line.as_deref());
        self.takes_again();
        let late = self.timers.run_ends().is_some_and(|at| at <= Instant::now());
        self.tally.over(self.life, if late { Outcome::TimeoutRun } else { Outcome::ClientGone });
    }
}
