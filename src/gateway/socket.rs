//! A client's socket comes in, the same goes out, observed: when it was last written to, how long it would
//! not take more, and when to give up on it. The bytes are not touched, but for TLS between the two.

use std::{
    cell::{Cell, RefCell},
    io,
    mem::MaybeUninit,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::server::TlsStream;

use super::{alarm::Alarm, framing::Framing, handshake, unread::Instead};

/// Vectored writes up to this length are put together first.
const SMALL: usize = 512;
/// How much is read at once where the framing of requests has to be looked at.
const PIECE: usize = 16 * 1024;

/// What is seen of one client's socket, shared between it and the run that writes to it.
#[derive(Debug, Default)]
pub struct Line {
    watching: Cell<bool>,
    wrote_at: Cell<Option<Instant>>,
    stalled_at: Cell<Option<Instant>>,
    stalled: Cell<Duration>,
    give_up: Cell<Option<Instant>>,
    framing: RefCell<Framing>,
    requests: Cell<u64>,
    answering: Cell<bool>,
}

impl Line {
    /// The answer is over, and the next request may come.
    pub fn expect_head(&self) {
        self.answering.set(false);
    }

    /// The next request is answered from now on.
    pub fn answers(&self) {
        self.requests.set(self.requests.get() + 1);
        self.answering.set(true);
    }

    /// Whether the head of a request is there, and the request is yet to be answered. Over HTTP/2 it always is.
    pub fn has_head(&self) -> bool {
        self.answering.get() || self.has_unanswered() || self.framing.borrow().is_lost()
    }

    /// Whether some of the head of the next request is there.
    pub fn has_begun(&self) -> bool {
        self.framing.borrow().has_begun()
    }

    /// Whether there is a request that nobody has begun to answer.
    fn has_unanswered(&self) -> bool {
        self.framing.borrow().heads() > self.requests.get()
    }

    /// Whether there is a head, or some of one, that no answer was begun to.
    fn may_be_unread(&self) -> bool {
        let first = self.requests.get() == 0;
        !self.answering.get() && (first || self.has_unanswered() || self.has_begun() || self.framing.borrow().is_lost())
    }

    /// Whether there is one way to read the head of the request that is answered, and of all before it.
    pub fn is_clear(&self) -> bool {
        self.framing.borrow().heads() >= self.requests.get()
    }

    /// Wants to know when the socket next takes bytes.
    pub fn watch(&self) {
        self.watching.set(true);
    }

    /// When the socket took bytes after [`Line::watch`]; once for each call of that.
    pub fn wrote(&self) -> Option<Instant> {
        self.wrote_at.take()
    }

    /// The time spent waiting for the client to read, since the last call; also what of it still goes on.
    pub fn stalled(&self) -> Duration {
        let going_on = self.stalled_at.get().map_or(Duration::ZERO, |since| {
            let now = Instant::now();
            self.stalled_at.set(Some(now));
            now.saturating_duration_since(since)
        });
        self.stalled.take() + going_on
    }

    /// A client that takes nothing more at this time is cut off; `None`: it may wait.
    ///
    /// While the socket is full nobody asks the run for more, so its own timers cannot end it.
    pub fn give_up_at(&self, at: Option<Instant>) {
        self.give_up.set(at);
    }

    fn taken(&self) {
        if let Some(since) = self.stalled_at.take() {
            self.stalled.set(self.stalled.get() + since.elapsed());
        }
        if self.watching.replace(false) {
            self.wrote_at.set(Some(Instant::now()));
        }
    }

    fn full(&self) {
        if self.stalled_at.get().is_none() {
            self.stalled_at.set(Some(Instant::now()));
        }
    }
}

/// A client's socket as the network has it; its [`Line`] is told what happens here.
#[derive(Debug)]
pub struct Watched {
    stream: TcpStream,
    line: Rc<Line>,
    alarm: Alarm,
}

impl Watched {
    /// Observes this socket.
    pub fn new(stream: TcpStream, line: Rc<Line>) -> Self {
        Self { stream, line, alarm: Alarm::default() }
    }

    fn seen(&mut self, result: Poll<io::Result<usize>>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        match result {
            Poll::Ready(Ok(_)) => self.line.taken(),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => {
                self.line.full();
                if let Some(at) = self.line.give_up.get()
                    && self.alarm.poll(at, cx).is_ready()
                {
                    return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                }
            }
        }
        result
    }
}

impl AsyncRead for Watched {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.seen(result, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.seen(result, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// A client's socket as HTTP has it.
///
/// A client that says that nothing more comes has left: nobody can tell one that only has no more to ask from one that is
/// gone before its next bytes get no answer, and a run that nobody reads has to end at once. Its request, if it is there,
/// is begun all the same, so that it has an outcome.
#[derive(Debug)]
pub struct ClientSocket {
    io: Io,
    line: Rc<Line>,
    /// The last read gave bytes, so that whoever reads may have stopped for now.
    may_be_unread: bool,
    /// The client left before its request was begun, which was kept from whoever reads, once.
    kept_back: bool,
    /// What is written to a request that the server cannot read.
    instead: Option<Instead>,
}

/// Whether there is TLS between the two.
#[derive(Debug)]
enum Io {
    Plain(TokioIo<Watched>),
    Tls(Box<TokioIo<TlsStream<Watched>>>),
}

impl ClientSocket {
    /// Without TLS.
    pub fn plain(stream: TcpStream, line: Rc<Line>) -> Self {
        Self::over(Io::Plain(TokioIo::new(Watched::new(stream, line.clone()))), line)
    }

    /// With TLS over a socket that this line belongs to.
    pub fn tls(stream: TlsStream<Watched>, line: Rc<Line>) -> Self {
        Self::over(Io::Tls(Box::new(TokioIo::new(stream))), line)
    }

    fn over(io: Io, line: Rc<Line>) -> Self {
        Self { io, line, may_be_unread: false, kept_back: false, instead: None }
    }

    fn read(&mut self, cx: &mut Context<'_>, mut buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        if self.line.framing.borrow().is_lost() {
            return match &mut self.io {
                Io::Plain(io) => Pin::new(io).poll_read(cx, buf),
                Io::Tls(io) => Pin::new(io).poll_read(cx, buf),
            };
        }
        let most = buf.remaining().min(PIECE);
        let mut room = [MaybeUninit::uninit(); PIECE];
        let mut piece = ReadBuf::uninit(&mut room[..most]);
        ready!(match &mut self.io {
            Io::Plain(io) => Pin::new(io.inner_mut()).poll_read(cx, &mut piece),
            Io::Tls(io) => Pin::new(io.inner_mut()).poll_read(cx, &mut piece),
        })?;
        if piece.filled().is_empty() && self.line.has_unanswered() && !std::mem::replace(&mut self.kept_back, true) {
            // The end of the stream is still there when this is called again, after the request's turn.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.line.framing.borrow_mut().feed(piece.filled());
        buf.put_slice(piece.filled());
        Poll::Ready(Ok(()))
    }

    /// Writes, but for what the server says by itself to a request that it cannot read.
    fn write(&mut self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.line.may_be_unread() && self.instead.is_none() {
            self.instead = Instead::of(buf);
        }
        match &mut self.instead {
            None => self.io.write(cx, buf),
            Some(instead) => {
                ready!(instead.poll(cx, |cx, bytes| self.io.write(cx, bytes)))?;
                self.instead = None;
                Poll::Ready(Ok(buf.len()))
            }
        }
    }

    /// Whether the client has left while nobody reads: it sent more than the request that is being answered.
    ///
    /// Bytes that wait in the socket hide what comes after them; those that were read do not.
    fn is_left(&mut self, cx: &mut Context<'_>) -> bool {
        if !self.may_be_unread {
            return false;
        }
        match &mut self.io {
            Io::Plain(io) => {
                let mut byte = [0];
                let peeked = io.inner().stream.poll_peek(cx, &mut ReadBuf::new(&mut byte));
                matches!(peeked, Poll::Ready(Ok(0) | Err(_)))
            }
            Io::Tls(io) => handshake::is_left(io.inner_mut(), cx),
        }
    }
}

impl Io {
    fn write(&mut self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(io) => Pin::new(io).poll_write(cx, buf),
            Self::Tls(io) => {
                // What the network has not taken yet is not added to, so that a slow client is noticed as without TLS.
                ready!(Pin::new(&mut *io).poll_flush(cx))?;
                Pin::new(io).poll_write(cx, buf)
            }
        }
    }

    fn write_vectored(&mut self, cx: &mut Context<'_>, bufs: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(io) => Pin::new(io).poll_write_vectored(cx, bufs),
            Self::Tls(io) => {
                ready!(Pin::new(&mut *io).poll_flush(cx))?;
                Pin::new(io).poll_write_vectored(cx, bufs)
            }
        }
    }
}

impl Read for ClientSocket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let result = self.read(cx, buf);
        self.may_be_unread = matches!(result, Poll::Ready(Ok(())));
        result
    }
}

impl Write for ClientSocket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length: usize = bufs.iter().map(|buf| buf.len()).sum();
        if length > SMALL {
            return self.io.write_vectored(cx, bufs);
        }
        // A chunk's head, an event and a chunk's end: one plain write costs less than a vectored one.
        let mut whole = [0; SMALL];
        let mut rest = &mut whole[..];
        for buf in bufs {
            let (part, after) = rest.split_at_mut(buf.len());
            part.copy_from_slice(buf);
            rest = after;
        }
        self.write(cx, &whole[..length])
    }

    fn is_write_vectored(&self) -> bool {
        match &self.io {
            Io::Plain(io) => io.is_write_vectored(),
            Io::Tls(io) => io.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_left(cx) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_flush(cx),
            Io::Tls(io) => Pin::new(io).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_shutdown(cx),
            Io::Tls(io) => Pin::new(io).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_for_the_client_is_told_while_it_goes_on_and_only_once() {
        let line = Line::default();
        assert_eq!(line.stalled(), Duration::ZERO);
        let begun = Instant::now();
        line.full();
        std::thread::sleep(Duration::from_millis(20));
        let first = line.stalled();
        assert!(first >= Duration::from_millis(20), "{first:?}");
        std::thread::sleep(Duration::from_millis(20));
        line.taken();
        let rest = line.stalled();
        assert!(rest >= Duration::from_millis(20) && first + rest <= begun.elapsed(), "{first:?} {rest:?}");
        assert_eq!(line.stalled(), Duration::ZERO);
    }
}
