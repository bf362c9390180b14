//! The bodies of answers: short texts of the gateway's own, bodies relayed as they come, and event streams.

use std::{
    cell::RefCell,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
    time::Instant,
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::{
    ahead::{Ahead, Shared},
    alarm::Alarm,
    curfew::Curfew,
    drain::Ticket,
    link::Download,
    places::Place,
    socket::Line,
    stream::EventStream,
};

/// What breaks a body off.
pub type Broken = Box<dyn std::error::Error + Send + Sync>;

/// The body of an answer to a client. While it lives, its request is in flight.
#[derive(Debug)]
pub struct Body {
    content: Content,
    ticket: Option<(Ticket, Option<Place>)>,
    curfew: Option<Curfew>,
    answering: Option<Answering>,
}

/// An answer on a connection that the next request follows on.
#[derive(Debug)]
struct Answering(Rc<Line>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.give_up_at(None);
        self.0.expect_head();
    }
}

#[derive(Debug)]
enum Content {
    Full(Option<Bytes>),
    Relay(Rc<RefCell<Relay>>),
    Stream(Box<EventStream>),
    Shared(Shared),
}

/// An agent's body that is passed on, and for how long.
#[derive(Debug)]
struct Relay {
    /// Let go of when its time is over.
    download: Option<Download>,
    until: Option<Instant>,
    alarm: Alarm,
}

impl Relay {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        // One that never pauses ends in time too.
        if let Some(download) = &mut self.download
            && self.until.is_none_or(|until| until > Instant::now())
        {
            let frame = http_body::Body::poll_frame(Pin::new(download), cx);
            match self.until {
                Some(until) if frame.is_pending() => ready!(self.alarm.poll(until, cx)),
                _ => return frame.map(|frame| frame.map(|frame| frame.map_err(Broken::from))),
            }
        }
        self.has_to_be_over();
        Poll::Ready(Some(Err("the agent's answer took longer than it may".into())))
    }

    fn has_to_be_over(&mut self) {
        self.download = None;
    }
}

impl Body {
    /// A text of the gateway's own.
    pub fn full(text: Bytes) -> Self {
        Content::Full(Some(text).filter(|text| !text.is_empty())).into()
    }

    /// An agent's body as it comes, with its trailers. What is not there by `until` is not waited for: the body breaks
    /// off. If the client `shares` its connection among several answers, the agent is let go of then by itself.
    pub fn relay(download: Download, until: Option<Instant>, shares: bool) -> Self {
        let ends = until.filter(|_| shares && !http_body::Body::is_end_stream(&download));
        let relay = Rc::new(RefCell::new(Relay { download: Some(download), until, alarm: Alarm::default() }));
        let curfew = ends.map(|ends| Curfew::of(&relay, ends, Relay::has_to_be_over));
        Self { curfew, ..Content::Relay(relay).into() }
    }

    /// An agent's event stream.
    pub fn stream(stream: Box<EventStream>) -> Self {
        let (reads_ahead, ends) = (stream.is_read_ahead(), stream.needs_a_curfew());
        if !reads_ahead && ends.is_none() {
            return Content::Stream(stream).into();
        }
        let shared = Rc::new(RefCell::new(stream));
        if reads_ahead {
            Ahead::of(&shared);
        }
        let curfew = ends.map(|ends| Curfew::of(&shared, ends, |stream| stream.has_to_be_over()));
        Self { curfew, ..Content::Shared(shared).into() }
    }

    /// Keeps this request in flight for as long as the body lives, and its place taken until then or its curfew.
    pub fn hold(&mut self, ticket: Ticket, mut place: Option<Place>) {
        if let Some(curfew) = &self.curfew {
            curfew.keeps(place.take());
        }
        self.ticket = Some((ticket, place));
    }

    /// Tells this connection when the answer is over.
    pub fn answers_on(&mut self, line: Rc<Line>) {
        if let Content::Relay(relay) = &self.content {
            line.give_up_at(relay.borrow().until);
        }
        self.answering = Some(Answering(line));
    }
}

impl From<Content> for Body {
    fn from(content: Content) -> Self {
        Self { content, ticket: None, curfew: None, answering: None }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match &mut self.content {
            Content::Full(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
            Content::Relay(relay) => relay.borrow_mut().poll_frame(cx),
            Content::Stream(stream) => {
                let piece = ready!(stream.poll_piece(cx));
                Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
            }
            Content::Shared(stream) => {
                let piece = ready!(stream.borrow_mut().poll_piece(cx));
                Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Full(text) => text.is_none(),
            Content::Relay(relay) => relay.borrow().download.as_ref().is_some_and(http_body::Body::is_end_stream),
            Content::Stream(_) | Content::Shared(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Full(text) => SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64)),
            Content::Relay(relay) => {
                relay.borrow().download.as_ref().map(http_body::Body::size_hint).unwrap_or_default()
            }
            Content::Stream(_) | Content::Shared(_) => SizeHint::default(),
        }
    }
}
