//! A connection to an agent's endpoint. Over HTTP/1.1 nobody else drives it: whoever waits for its answer or
//! reads its body polls the connection in its own task, so no other task stands between the two sockets of a
//! run. Over HTTP/2 many exchanges share one connection, which has a task of its own.

use std::{
    cell::Cell,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    rc::Rc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{Request, Response, Version};
use http_body::{Body, Frame, SizeHint};
use hyper::{
    body::Incoming,
    client::conn::{TrySendError, http1, http2},
};
use hyper_util::rt::{TokioIo, TokioTimer};

use super::{
    connect::AgentSocket,
    endpoint::{Endpoint, PING},
    quiet::Quiet,
    standing::Running,
    upload::{Intake, Progress, Upload},
    worker::{ALL_STREAMS, Local, MAX_BUFFER, STREAM_WINDOW},
};

/// How often it is looked whether a request is sent over a connection that is driven elsewhere.
const LOOK: Duration = Duration::from_millis(10);

/// An HTTP/1.1 connection, driven by its user.
#[derive(Debug)]
pub struct Http1 {
    sender: http1::SendRequest<Upload>,
    connection: http1::Connection<TokioIo<AgentSocket>, Upload>,
    closed: bool,
    quiet: Quiet,
    idle_since: Instant,
}

impl Http1 {
    /// Speaks HTTP/1.1 over this socket.
    pub async fn over(socket: AgentSocket) -> hyper::Result<Box<Self>> {
        let (sender, connection) = http1::Builder::new()
            .max_buf_size(MAX_BUFFER)
            .allow_obsolete_multiline_headers_in_responses(true)
            .handshake(TokioIo::new(socket))
            .await?;
        Ok(Box::new(Self { sender, connection, closed: false, quiet: Quiet::default(), idle_since: Instant::now() }))
    }

    /// Moves bytes between the socket and those who wait. Ready: the connection is closed.
    fn drive(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.closed {
            match Pin::new(&mut self.connection).poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(_) => self.closed = true,
            }
        }
        Poll::Ready(())
    }

    /// Whether another request may be sent over it, as far as its socket tells.
    pub fn is_usable(&mut self, cx: &mut Context<'_>) -> bool {
        self.drive(cx).is_pending() && self.sender.is_ready()
    }

    /// Whether it has been idle for longer than `limit`.
    pub fn is_older_than(&self, limit: Duration) -> bool {
        self.idle_since.elapsed() > limit
    }
}

/// An HTTP/2 connection, shared.
#[derive(Clone, Debug)]
pub struct Http2 {
    sender: http2::SendRequest<Upload>,
    streams: Rc<Streams>,
}

/// The streams of an HTTP/2 connection.
#[derive(Debug)]
struct Streams {
    open: Cell<usize>,
    /// As many as the agent takes at once; those beyond would wait for the others to end.
    most: Cell<usize>,
}

/// A stream, for as long as it is open.
#[derive(Debug)]
struct Open(Rc<Streams>);

impl Http2 {
    /// Whether the connection is of no more use.
    pub fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Whether the agent takes another stream on it now.
    pub fn has_room(&self) -> bool {
        self.streams.open.get() < self.streams.most.get()
    }

    /// Whether any stream is on it.
    pub fn is_busy(&self) -> bool {
        self.streams.open.get() > 0
    }

    fn open(&self) -> Open {
        self.streams.open.set(self.streams.open.get() + 1);
        Open(self.streams.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.set(self.0.open.get().saturating_sub(1));
    }
}

/// Speaks HTTP/2 over this socket, as was agreed or is known.
pub async fn http2_over(socket: AgentSocket) -> hyper::Result<Http2> {
    let (sender, connection) = http2::Builder::new(Local)
        .timer(TokioTimer::new())
        .keep_alive_interval(PING)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(ALL_STREAMS)
        .max_send_buf_size(MAX_BUFFER)
        .handshake(TokioIo::new(socket))
        .await?;
    let streams = Rc::new(Streams { open: Cell::new(0), most: Cell::new(usize::MAX) });
    let told = streams.clone();
    tokio::task::spawn_local(async move {
        let mut connection = pin!(connection);
        let driven = poll_fn(|cx| {
            let result = connection.as_mut().poll(cx);
            told.most.set(connection.current_max_send_streams());
            result
        });
        if let Err(error) = driven.await {
            tracing::debug!(%error, "connection to agent closed");
        }
    });
    Ok(Http2 { sender, streams })
}

/// One connection, ready for a request.
#[derive(Debug)]
pub enum Link {
    /// This exchange's own.
    Http1(Box<Http1>),
    /// Shared with others.
    Http2(Http2),
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Unanswered {
    /// The connection was dead before any byte of the request was on it: here it is again.
    Unsent(Box<Request<Upload>>),
    /// The connection broke after that; the agent may have acted.
    Broken,
}

impl Link {
    /// The version of HTTP on it.
    pub fn version(&self) -> Version {
        match self {
            Self::Http1(_) => Version::HTTP_11,
            Self::Http2(_) => Version::HTTP_2,
        }
    }

    /// Sends a request and waits for the head of its answer. Dropping the future cancels the exchange.
    pub async fn exchange(
        self,
        request: Request<Upload>,
        home: &Rc<Endpoint>,
    ) -> Result<Response<Download>, Unanswered> {
        match self {
            Self::Http1(mut link) => {
                let mut answer = pin!(link.sender.try_send_request(request));
                let answer = poll_fn(|cx| {
                    if let Poll::Ready(answer) = answer.as_mut().poll(cx) {
                        return Poll::Ready(answer.map_err(unanswered));
                    }
                    match link.drive(cx) {
                        Poll::Pending => answer.as_mut().poll(cx).map_err(unanswered),
                        Poll::Ready(()) => match answer.as_mut().poll(cx) {
                            Poll::Ready(answer) => Poll::Ready(answer.map_err(unanswered)),
                            Poll::Pending => Poll::Ready(Err(Unanswered::Broken)),
                        },
                    }
                })
                .await?;
                let (head, incoming) = answer.into_parts();
                let mut download = Download { incoming, link: Some((link, home.clone())), running: None, _open: None };
                if download.incoming.is_end_stream() {
                    poll_fn(|cx| {
                        download.settle(cx);
                        Poll::Ready(())
                    })
                    .await;
                }
                Ok(Response::from_parts(head, download))
            }
            Self::Http2(mut shared) => {
                let open = shared.open();
                let sender = &mut shared.sender;
                if sender.ready().await.is_err() {
                    return Err(Unanswered::Unsent(Box::new(request)));
                }
                let answer = sender.try_send_request(request).await.map_err(unanswered)?;
                Ok(answer.map(|incoming| Download { incoming, link: None, running: None, _open: Some(open) }))
            }
        }
    }
}

fn unanswered(mut error: TrySendError<Request<Upload>>) -> Unanswered {
    match error.take_message() {
        Some(request) => Unanswered::Unsent(Box::new(request)),
        None => Unanswered::Broken,
    }
}

/// The body of an agent's answer. Reading it drives the connection; dropping it early closes that.
#[derive(Debug)]
pub struct Download {
    incoming: Incoming,
    link: Option<(Box<Http1>, Rc<Endpoint>)>,
    running: Option<Running>,
    _open: Option<Open>,
}

impl Download {
    /// The run counts at its endpoint until the body is over or dropped.
    pub fn counts(&mut self, running: Running) {
        self.running = Some(running).filter(|_| !self.incoming.is_end_stream());
    }

    /// Has the request sent on while its answer has begun, until all of it was or for so long.
    pub async fn upload(&mut self, intake: &Intake, limit: Duration) {
        if intake.progress() != Progress::Going {
            return;
        }
        let mut looks = tokio::time::interval(LOOK);
        let sent = poll_fn(|cx| {
            if let Some((link, _)) = &mut self.link {
                let _ = link.drive(cx);
            }
            // A shared connection is driven elsewhere, and tells nobody here.
            while looks.poll_tick(cx).is_ready() {}
            let over = intake.progress() != Progress::Going || intake.is_unwanted();
            if over { Poll::Ready(()) } else { Poll::Pending }
        });
        let _ = tokio::time::timeout(limit, sent).await;
        if intake.is_unwanted() {
            intake.look_on(limit).await;
        }
    }

    /// The body is over: the connection goes back to its pool if it can be used again.
    fn settle(&mut self, cx: &mut Context<'_>) {
        self.running = None;
        if let Some((mut link, home)) = self.link.take()
            && link.is_usable(cx)
        {
            link.idle_since = Instant::now();
            home.keep(link);
        }
    }
}

impl Body for Download {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        let incoming = &mut this.incoming;
        let frame = match &mut this.link {
            None => Pin::new(incoming).poll_frame(cx),
            Some((link, _)) => {
                let Http1 { connection, closed, quiet, .. } = &mut **link;
                quiet.drive(cx, |cx| {
                    // What is read here is what the body gives below.
                    *closed = *closed || Pin::new(&mut *connection).poll(cx).is_ready();
                    Pin::new(&mut *incoming).poll_frame(cx)
                })
            }
        };
        // Whoever knows the length of a body does not ask for more once it is there.
        let over = match &frame {
            Poll::Ready(Some(Ok(_))) => this.incoming.is_end_stream(),
            Poll::Ready(None) => true,
            _ => false,
        };
        if over {
            this.settle(cx);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
