//! HTTP/2 by prior knowledge, on both sides of the gateway, each frame of a body as a test says.

use std::{
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use hyper::{body::Incoming, client, server, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{ClientConfig, ServerConfig};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{mpsc, oneshot},
    task::JoinHandle,
};
use tokio_rustls::TlsAcceptor;

use super::{Agent, Connection, Gateway, INPUT, STREAM, connection::Duplex, soon, tls};

/// A body that is what is sent into it. It breaks off when told to, and ends when the sender is dropped.
pub struct Feed(mpsc::Receiver<Option<Frame<Bytes>>>);

/// What fills a [`Feed`].
pub struct Feeder(mpsc::Sender<Option<Frame<Bytes>>>);

/// A body and what fills it.
pub fn feed() -> (Feeder, Feed) {
    let (sender, receiver) = mpsc::channel(1);
    (Feeder(sender), Feed(receiver))
}

impl Feeder {
    /// Sends data; whether anyone takes it.
    pub async fn data(&self, data: impl AsRef<[u8]>) -> bool {
        self.0.send(Some(Frame::data(Bytes::copy_from_slice(data.as_ref())))).await.is_ok()
    }

    /// Sends trailers.
    pub async fn trailers(self, trailers: HeaderMap) {
        assert!(self.0.send(Some(Frame::trailers(trailers))).await.is_ok());
    }

    /// Breaks the body off.
    pub async fn reset(self) {
        let _ = self.0.send(None).await;
    }

    /// Waits until nobody wants the body any more.
    pub async fn is_left(&self) {
        soon(self.0.closed()).await;
    }
}

impl Body for Feed {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<std::io::Result<Frame<Bytes>>>> {
        self.0.poll_recv(cx).map(|frame| frame.map(|frame| frame.ok_or(std::io::ErrorKind::Other.into())))
    }
}

/// A client's connection.
pub struct Client {
    sender: client::conn::http2::SendRequest<Feed>,
    connection: JoinHandle<()>,
    socket: std::net::TcpStream,
}

impl Client {
    pub async fn connect(gateway: &Gateway) -> Self {
        let stream = soon(TcpStream::connect(gateway.address())).await.unwrap().into_std().unwrap();
        stream.set_nodelay(true).unwrap();
        let socket = stream.try_clone().unwrap();
        Self::over(TcpStream::from_std(stream).unwrap(), socket).await
    }

    /// A client's connection over TLS.
    pub async fn connect_tls(gateway: &Gateway, config: Arc<ClientConfig>) -> Self {
        let (stream, socket) = tls::connect(gateway, config).await.unwrap();
        Self::over(stream, socket).await
    }

    /// A client's connection whose streams take no more than so many bytes that are not read.
    pub async fn narrow(gateway: &Gateway, window: u32) -> Self {
        let stream = soon(TcpStream::connect(gateway.address())).await.unwrap().into_std().unwrap();
        let socket = stream.try_clone().unwrap();
        Self::with(TcpStream::from_std(stream).unwrap(), socket, window).await
    }

    async fn over(stream: impl Duplex + 'static, socket: std::net::TcpStream) -> Self {
        Self::with(stream, socket, 1 << 20).await
    }

    async fn with(stream: impl Duplex + 'static, socket: std::net::TcpStream, window: u32) -> Self {
        let mut builder = client::conn::http2::Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(window);
        let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
        let connection = tokio::spawn(async move {
            let _ = connection.await;
        });
        Self { sender, connection, socket }
    }

    /// Sends a request with this body; the answer when its head is there.
    pub fn send(
        &mut self,
        request: http::request::Builder,
        body: Feed,
    ) -> impl Future<Output = hyper::Result<Response<Incoming>>> + use<> {
        self.sender.send_request(request.body(body).unwrap())
    }

    /// Asks for a run.
    pub async fn run(&mut self, path: &str) -> impl Future<Output = hyper::Result<Response<Incoming>>> + use<> {
        let (feeder, body) = feed();
        let request = Request::post(format!("http://gate{path}")).header("content-type", "application/json");
        let answer = self.send(request, body);
        assert!(feeder.data(INPUT).await);
        answer
    }

    /// The answer to a run at this agent whose stream has begun, and the agent's side of it; no event was sent.
    pub async fn stream(&mut self, agent: &Agent) -> (Response<Incoming>, Connection) {
        self.answered(agent, STREAM).await
    }

    /// A run whose agent has answered with this head.
    pub async fn answered(&mut self, agent: &Agent, head: &str) -> (Response<Incoming>, Connection) {
        let answer = self.run("/").await;
        let (mut connection, ..) = agent.request().await;
        connection.send(head).await;
        (soon(answer).await.unwrap(), connection)
    }

    /// Closes the connection with all that is on it.
    pub fn close(self) {
        self.socket.shutdown(std::net::Shutdown::Both).unwrap();
    }

    /// Waits until the gateway has closed the connection.
    pub async fn closed(self) {
        drop(self.sender);
        soon(self.connection).await.unwrap();
    }
}

/// Reads a body until so many bytes, or more, are there.
pub async fn at_least(body: &mut Incoming, n: usize) -> Vec<u8> {
    let mut data = Vec::new();
    while data.len() < n {
        let frame = soon(body.frame()).await.expect("the body ended early").unwrap();
        data.extend(frame.into_data().expect("data"));
    }
    data
}

/// Reads exactly this text.
pub async fn expect(body: &mut Incoming, text: &str) {
    assert_eq!(String::from_utf8(at_least(body, text.len()).await).unwrap(), text);
}

/// Reads a body to its proper end.
pub async fn rest(body: Incoming) -> String {
    let data = soon(body.collect()).await.expect("a proper end").to_bytes();
    String::from_utf8(data.to_vec()).unwrap()
}

/// An agent that speaks HTTP/2; a test answers its requests.
pub struct Http2Agent {
    address: SocketAddr,
    requests: mpsc::UnboundedReceiver<(Request<Incoming>, oneshot::Sender<Response<Feed>>)>,
    /// How many connections were made.
    pub connections: std::sync::Arc<std::sync::atomic::AtomicUsize>,
}

impl Http2Agent {
    pub async fn new() -> Self {
        Self::with(None, 200).await
    }

    /// One that is reached by TLS.
    pub async fn tls(config: Arc<ServerConfig>) -> Self {
        Self::with(Some(config.into()), 200).await
    }

    /// One that takes no more streams than this on a connection.
    pub async fn narrow(streams: u32) -> Self {
        Self::with(None, streams).await
    }

    async fn with(tls: Option<TlsAcceptor>, streams: u32) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, requests) = mpsc::unbounded_channel();
        let connections = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let count = connections.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).unwrap();
                count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let sender = sender.clone();
                let service = service_fn(move |request| {
                    let (reply, answer) = oneshot::channel();
                    let _ = sender.send((request, reply));
                    answer
                });
                let mut builder = server::conn::http2::Builder::new(TokioExecutor::new());
                builder.max_concurrent_streams(streams);
                let tls = tls.clone();
                tokio::spawn(async move {
                    match tls {
                        None => builder.serve_connection(TokioIo::new(stream), service).await,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => builder.serve_connection(TokioIo::new(stream), service).await,
                            Err(_) => Ok(()),
                        },
                    }
                });
            }
        });
        Self { address, requests, connections }
    }

    /// A gateway in front of it, with more keys of the agent's and more of the route's.
    pub fn gateway(&self, agent_keys: &str, route_keys: &str) -> Gateway {
        Gateway::start(&format!(
            "[agents.bot]\nurl = \"http://{}/agui\"\nhttp = 2\n{agent_keys}\n[[routes]]\nagent = \"bot\"\n{route_keys}\n",
            self.address
        ))
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The next request, and where its answer goes.
    pub async fn request(&mut self) -> (Request<Incoming>, oneshot::Sender<Response<Feed>>) {
        soon(self.requests.recv()).await.unwrap()
    }
}

/// An answer with an event stream, and what fills that.
pub fn stream() -> (Feeder, Response<Feed>) {
    let (feeder, body) = feed();
    (feeder, Response::builder().header("content-type", "text/event-stream").body(body).unwrap())
}
