//! Sockets that read and write exactly what a test says.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::{Head, soon};

/// An agent that does nothing by itself.
pub struct Agent {
    listener: TcpListener,
}

impl Agent {
    /// An agent at a port of its own.
    pub async fn new() -> Self {
        Self { listener: TcpListener::bind("127.0.0.1:0").await.unwrap() }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }

    /// The url of its runs.
    pub fn url(&self) -> String {
        format!("http://{}/agui", self.address())
    }

    /// The next connection.
    pub async fn accept(&self) -> Connection {
        Connection::new(self.socket().await)
    }

    /// The next connection, however long it takes.
    pub async fn accept_late(&self) -> Connection {
        Connection::new(self.listener.accept().await.unwrap().0)
    }

    /// The next connection, bare.
    pub async fn socket(&self) -> TcpStream {
        soon(self.listener.accept()).await.unwrap().0
    }

    /// The next connection, and the request on it with its body.
    pub async fn request(&self) -> (Connection, Head, Vec<u8>) {
        let mut connection = self.accept().await;
        let (head, body) = connection.message().await;
        (connection, head, body)
    }

    /// Whether nobody connects, as far as one can tell in a moment.
    pub async fn is_left_alone(&self) -> bool {
        tokio::time::timeout(Duration::from_millis(50), self.listener.accept()).await.is_err()
    }
}

/// What bytes pass over both ways: a socket, with TLS or without.
pub trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {
    fn socket(&self) -> &TcpStream;
    /// Has the next flush tell the other side that nothing more comes, where that can be told.
    fn goodbye(&mut self) {}
}

impl Duplex for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }
}

impl Duplex for tokio_rustls::client::TlsStream<TcpStream> {
    fn socket(&self) -> &TcpStream {
        self.get_ref().0
    }

    fn goodbye(&mut self) {
        self.get_mut().1.send_close_notify();
    }
}

impl Duplex for tokio_rustls::server::TlsStream<TcpStream> {
    fn socket(&self) -> &TcpStream {
        self.get_ref().0
    }
}

/// A connection, and what was read from it but not looked at.
pub struct Connection {
    stream: Box<dyn Duplex>,
    read: Vec<u8>,
}

impl Connection {
    pub fn new(stream: impl Duplex + 'static) -> Self {
        stream.socket().set_nodelay(true).unwrap();
        Self { stream: Box::new(stream), read: Vec::new() }
    }

    /// Writes bytes.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        soon(self.stream.write_all(bytes.as_ref())).await.unwrap();
    }

    /// Writes bytes, whatever comes of it.
    pub async fn try_send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = soon(self.stream.write_all(bytes.as_ref())).await;
    }

    /// Writes bytes, for as long as it takes; whether they were taken.
    pub async fn pour(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).await.is_ok()
    }

    /// Writes each of these, with a moment between them so that each arrives alone.
    pub async fn send_apart<T: AsRef<[u8]>>(&mut self, pieces: impl IntoIterator<Item = T>) {
        for piece in pieces {
            self.send(piece).await;
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    async fn fill(&mut self) -> std::io::Result<usize> {
        let mut piece = vec![0; 64 * 1024];
        let n = soon(self.stream.read(&mut piece)).await?;
        self.read.extend_from_slice(&piece[..n]);
        Ok(n)
    }

    async fn must_fill(&mut self) {
        let n = self.fill().await.unwrap();
        assert!(n > 0, "closed after {:?}", String::from_utf8_lossy(&self.read));
    }

    /// Reads to the end of these bytes, which must come.
    pub async fn until(&mut self, end: &str) -> Vec<u8> {
        loop {
            if let Some(at) = find(&self.read, end.as_bytes()) {
                return self.read.drain(..at + end.len()).collect();
            }
            self.must_fill().await;
        }
    }

    /// Reads so many bytes.
    pub async fn exactly(&mut self, n: usize) -> Vec<u8> {
        while self.read.len() < n {
            self.must_fill().await;
        }
        self.read.drain(..n).collect()
    }

    /// Reads the head of a message.
    pub async fn head(&mut self) -> Head {
        Head::parse(&self.until("\r\n\r\n").await)
    }

    /// Reads one chunk of a chunked body; `None`: its end, without trailers.
    pub async fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = self.until("\r\n").await;
        let size = usize::from_str_radix(std::str::from_utf8(&size).unwrap().trim(), 16).unwrap();
        if size == 0 {
            assert_eq!(self.exactly(2).await, b"\r\n");
            return None;
        }
        let mut data = self.exactly(size + 2).await;
        assert_eq!(data.split_off(size), b"\r\n");
        Some(data)
    }

    /// Reads chunks until so many bytes of a body, or more, are there.
    pub async fn at_least(&mut self, n: usize) -> Vec<u8> {
        let mut data = Vec::new();
        while data.len() < n {
            data.extend(self.chunk().await.expect("the body ended early"));
        }
        data
    }

    /// Reads exactly this text from a chunked body.
    pub async fn expect(&mut self, text: &str) {
        let data = self.at_least(text.len()).await;
        assert_eq!(String::from_utf8_lossy(&data), text);
    }

    /// Reads a chunked body to its proper end.
    pub async fn rest(&mut self) -> String {
        let mut data = Vec::new();
        while let Some(chunk) = self.chunk().await {
            data.extend(chunk);
        }
        String::from_utf8(data).unwrap()
    }

    /// Reads a message that tells its length or is chunked.
    pub async fn message(&mut self) -> (Head, Vec<u8>) {
        let head = self.head().await;
        let body = match head.length() {
            _ if head.is_chunked() => self.rest().await.into_bytes(),
            Some(length) => self.exactly(length).await,
            None => Vec::new(),
        };
        (head, body)
    }

    /// Reads an answer that says why there is no other: its head, and its code.
    pub async fn refusal(&mut self) -> (Head, String) {
        let (head, body) = self.message().await;
        let problem: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(head.header("content-type"), Some("application/problem+json"));
        assert_eq!(problem["status"], head.status());
        let code = problem["code"].as_str().unwrap().to_owned();
        (head, code)
    }

    /// As [`Self::message`]; `None` if the other side leaves before its end.
    pub async fn try_message(&mut self) -> Option<(Head, Vec<u8>)> {
        loop {
            let end = find(&self.read, b"\r\n\r\n").map(|at| at + 4);
            let head = end.map(|end| Head::parse(&self.read[..end]));
            let whole = match (&head, end) {
                (Some(head), Some(end)) if head.is_chunked() => find(&self.read[end - 2..], b"\r\n0\r\n\r\n").is_some(),
                (Some(head), Some(end)) => self.read.len() >= end + head.length().unwrap_or(0),
                _ => false,
            };
            if whole {
                return Some(self.message().await);
            }
            if !self.fill().await.is_ok_and(|n| n > 0) {
                return None;
            }
        }
    }

    /// Reads until the other side closes or resets; what came, and whether it closed properly.
    pub async fn leftover(&mut self) -> (Vec<u8>, bool) {
        loop {
            match self.fill().await {
                Ok(0) => return (std::mem::take(&mut self.read), true),
                Ok(_) => {}
                Err(_) => return (std::mem::take(&mut self.read), false),
            }
        }
    }

    /// Waits until the other side leaves, and says how long that took. What still comes is thrown away.
    pub async fn is_left(&mut self) -> Duration {
        let begun = Instant::now();
        self.leftover().await;
        begun.elapsed()
    }

    /// Whether nothing came for a moment.
    pub async fn is_quiet(&mut self) -> bool {
        let mut piece = [0; 1];
        let read = tokio::time::timeout(Duration::from_millis(50), self.stream.socket().peek(&mut piece)).await;
        self.read.is_empty() && read.is_err()
    }

    /// Waits until the other side leaves, for as long as it takes.
    pub async fn end(&mut self) {
        while self.stream.read(&mut [0; 1024]).await.is_ok_and(|n| n > 0) {}
    }

    /// Leaves as TLS asks for, telling so first; without TLS only half of it.
    pub async fn shut_down(&mut self) {
        soon(self.stream.shutdown()).await.unwrap();
    }

    /// Tells that it leaves, as TLS asks for, and stays.
    pub async fn say_goodbye(&mut self) {
        self.stream.goodbye();
        soon(self.stream.flush()).await.unwrap();
    }

    /// Leaves with a reset.
    pub fn reset(self) {
        self.stream.socket().set_zero_linger().unwrap();
    }
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}
