//! A client's socket comes in, the same goes out, with an end to waiting for the head of a request: whoever has begun one
//! has to finish it. Between two requests, and while one is answered, nobody is hurried. And whoever still sends when
//! the socket is closed is heard out for a moment.

use std::{
    io,
    mem::MaybeUninit,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};

use super::{alarm::Alarm, socket::Line};

/// How long a head may take from its first byte to its last. Far and lossy networks need a second or two; who sends a
/// byte now and then, only to hold the connection, is not waited for.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// How long a client that was said goodbye to is waited for until it sends more, or leaves. Its bytes are thrown away; left
/// unread, they would have the system take back the last answer, before the client has read it: some read nothing before
/// they have sent all of a large body.
const LINGER: Duration = Duration::from_secs(2);
/// How long it may go on sending.
const LONGEST_FAREWELL: Duration = Duration::from_secs(30);

/// A socket whose heads of requests come in time, or it is closed.
#[derive(Debug)]
pub struct Hurried<S> {
    socket: S,
    line: Rc<Line>,
    alarm: Alarm,
    due: Option<Instant>,
    has_begun: bool,
    farewell: Option<Farewell>,
}

/// The client was told that nothing more comes.
#[derive(Debug)]
struct Farewell {
    since: Instant,
    /// Then it sent nothing for too long.
    until: Instant,
}

/// The time by the clock that alarms ring by.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

impl<S> Hurried<S> {
    /// Hurries who sends on this line. `patience` is how long it may take until the first byte comes at all.
    pub fn new(socket: S, line: Rc<Line>, patience: Duration) -> Self {
        Self { socket, line, alarm: Alarm::default(), due: Some(now() + patience), has_begun: false, farewell: None }
    }

    /// Whether the head takes too long.
    fn is_late(&mut self, cx: &mut Context<'_>) -> bool {
        if self.line.has_head() {
            (self.due, self.has_begun) = (None, false);
        } else if self.line.has_begun() && !self.has_begun {
            (self.due, self.has_begun) = (Some(now() + HEAD_TIME), true);
        }
        self.due.is_some_and(|due| self.alarm.poll(due, cx).is_ready())
    }
}

impl<S: Read + Unpin> Hurried<S> {
    /// Throws away what the client still sends, until it has left, or long enough.
    fn linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(farewell) = &mut self.farewell else { return Poll::Ready(()) };
        let mut room = [MaybeUninit::uninit(); 16 * 1024];
        let end = farewell.since + LONGEST_FAREWELL;
        let mut came = false;
        loop {
            let mut piece = ReadBuf::uninit(&mut room);
            match Pin::new(&mut self.socket).poll_read(cx, piece.unfilled()) {
                Poll::Ready(Ok(())) if !piece.filled().is_empty() => came = true,
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => break,
            }
        }
        if came {
            farewell.until = end.min(now() + LINGER);
        }
        self.alarm.poll(farewell.until, cx)
    }
}

impl<S: Read + Unpin> Read for Hurried<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.socket).poll_read(cx, buf);
        if result.is_pending() && self.is_late(cx) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        result
    }
}

impl<S: Read + Write + Unpin> Write for Hurried<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.farewell.is_none() {
            ready!(Pin::new(&mut self.socket).poll_shutdown(cx))?;
            self.farewell = Some(Farewell { since: now(), until: now() + LINGER });
        }
        self.linger(cx).map(Ok)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::future::poll_fn;

    use tokio::{
        io::AsyncWriteExt as _,
        net::{TcpListener, TcpStream},
    };

    use super::{super::socket::ClientSocket, *};

    async fn pair() -> (TcpStream, Hurried<ClientSocket>, Rc<Line>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (socket, line) = (listener.accept().await.unwrap().0, Rc::new(Line::default()));
        let socket = ClientSocket::plain(socket, line.clone());
        (client, Hurried::new(socket, line.clone(), Duration::from_secs(75)), line)
    }

    /// The bytes of the next read; `None`: it took too long.
    async fn read(socket: &mut Hurried<ClientSocket>) -> Option<usize> {
        let mut room = [MaybeUninit::uninit(); 64];
        let mut buf = ReadBuf::uninit(&mut room);
        let read = poll_fn(|cx| Pin::new(&mut *socket).poll_read(cx, buf.unfilled())).await;
        read.ok().map(|()| buf.filled().len())
    }

    async fn seconds(socket: &mut Hurried<ClientSocket>) -> (Option<usize>, u64) {
        let start = tokio::time::Instant::now();
        (read(socket).await, start.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_has_begun_has_to_be_finished() {
        let (mut client, mut socket, _) = pair().await;
        client.write_all(b"POST / HT").await.unwrap();
        assert_eq!(read(&mut socket).await, Some(9));
        assert!(matches!(seconds(&mut socket).await, (None, 9..=11)));
    }

    #[tokio::test(start_paused = true)]
    async fn who_sends_nothing_is_not_waited_for_without_end() {
        let (_client, mut socket, _) = pair().await;
        assert!(matches!(seconds(&mut socket).await, (None, 74..=76)));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_hurried_while_a_request_is_answered() {
        let (mut client, mut socket, line) = pair().await;
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        assert_eq!(read(&mut socket).await, Some(18));
        line.answers();
        let waiting = tokio::time::timeout(Duration::from_secs(3600), read(&mut socket)).await;
        assert!(waiting.is_err());
        line.expect_head();
        let waiting = tokio::time::timeout(Duration::from_secs(60), read(&mut socket)).await;
        assert!(waiting.is_err());
        client.write_all(b"GET ").await.unwrap();
        assert_eq!(read(&mut socket).await, Some(4));
        assert!(matches!(seconds(&mut socket).await, (None, 9..=11)));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_still_sends_is_heard_out_but_not_without_end() {
        for (every, sent, waited) in [(1, 0, 2), (1, 5, 7), (1, 100, 30), (3, 100, 2)] {
            let (mut client, mut socket, _) = pair().await;
            let start = tokio::time::Instant::now();
            let sending = tokio::spawn(async move {
                for _ in 0..sent {
                    tokio::time::sleep(Duration::from_secs(every)).await;
                    if client.write_all(b"x").await.is_err() {
                        return;
                    }
                    // What was written has to arrive before the clock goes on.
                    tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_millis(2))).await.unwrap();
                }
                std::future::pending::<()>().await;
            });
            poll_fn(|cx| Pin::new(&mut socket).poll_shutdown(cx)).await.unwrap();
            let seconds = start.elapsed().as_secs();
            assert!(seconds.abs_diff(waited) <= 1, "{seconds} s instead of {waited}");
            sending.abort();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_has_left_is_not_waited_for() {
        let (client, mut socket, _) = pair().await;
        drop(client);
        let start = tokio::time::Instant::now();
        poll_fn(|cx| Pin::new(&mut socket).poll_shutdown(cx)).await.unwrap();
        assert_eq!(start.elapsed().as_secs(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_hurried_over_http2() {
        let (mut client, mut socket, _) = pair().await;
        client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        assert_eq!(read(&mut socket).await, Some(24));
        assert!(tokio::time::timeout(Duration::from_secs(3600), read(&mut socket)).await.is_err());
    }
}
