//! The bodies of answers: short texts of the gateway's own, bodies relayed as they come, and event streams.

use std::{
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::{
    ahead::{Ahead, Shared},
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
    answering: Option<Answering>,
}

/// An answer on a connection that the next request follows on.
#[derive(Debug)]
struct Answering(Rc<Line>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.expect_head();
    }
}

#[derive(Debug)]
enum Content {
    Full(Option<Bytes>),
    Relay(Box<Download>),
    Stream(Box<EventStream>),
    Shared(Shared),
}

impl Body {
    /// A text of the gateway's own.
    pub fn full(text: Bytes) -> Self {
        Content::Full(Some(text).filter(|text| !text.is_empty())).into()
    }

    /// An agent's body as it comes, with its trailers.
    pub fn relay(download: Download) -> Self {
        Content::Relay(Box::new(download)).into()
    }

    /// An agent's event stream.
    pub fn stream(stream: Box<EventStream>) -> Self {
        match stream.is_read_ahead() {
            true => Content::Shared(Ahead::of(stream)),
            false => Content::Stream(stream),
        }
        .into()
    }

    /// Keeps this request in flight, and its place taken, for as long as the body lives.
    pub fn hold(&mut self, ticket: Ticket, place: Option<Place>) {
        self.ticket = Some((ticket, place));
    }

    /// Tells this connection when the answer is over.
    pub fn answers_on(&mut self, line: Rc<Line>) {
        self.answering = Some(Answering(line));
    }
}

impl From<Content> for Body {
    fn from(content: Content) -> Self {
        Self { content, ticket: None, answering: None }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match &mut self.content {
            Content::Full(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
            Content::Relay(download) => {
                let frame = ready!(Pin::new(&mut **download).poll_frame(cx));
                Poll::Ready(frame.map(|frame| frame.map_err(Broken::from)))
            }
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
            Content::Relay(download) => download.is_end_stream(),
            Content::Stream(_) | Content::Shared(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Full(text) => SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64)),
            Content::Relay(download) => download.size_hint(),
            Content::Stream(_) | Content::Shared(_) => SizeHint::default(),
        }
    }
}
