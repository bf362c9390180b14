//! One url of an agent: a request for it comes in, a connection to it goes out, pooled or new. A pooled
//! connection found dead is replaced without a word.

use std::{
    cell::RefCell,
    future::{Future, poll_fn},
    io,
    pin::pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use http::{
    HeaderValue, Request, Uri, Version, header,
    uri::{Authority, InvalidUriParts, PathAndQuery},
};
use tokio::{net::TcpStream, task::unconstrained};

use super::{
    connect::{AgentSocket, Connector},
    link::{self, Http1, Http2, Link},
    standing::Standing,
};
use crate::{
    config,
    observe::{Attempt, Connect},
};

/// How long a connection is kept for the next request; agents close theirs later than this, mostly.
const KEPT: Duration = Duration::from_secs(55);
/// How often a peer that is silent is asked whether it is still there.
pub const PING: Duration = Duration::from_secs(20);
/// How long a socket may be silent before the system asks whether its peer is still there, every [`PING`].
const SILENT: Duration = Duration::from_secs(60);
/// After so many questions without an answer the connection is broken.
const UNANSWERED: u32 = 3;
/// How long a peer of HTTP/2 may take nothing.
const STUCK: Duration = Duration::from_secs(40);
/// How many connections are kept at most, for each url and thread.
const KEPT_COUNT: usize = 1024;

/// One url of an agent, as one thread sees it.
#[derive(Debug)]
pub struct Endpoint {
    uri: Uri,
    label: Arc<str>,
    host_header: HeaderValue,
    /// The same, for HTTP/2.
    authority: Authority,
    connector: Connector,
    connect_limit: Duration,
    standing: Standing,
    #[allow(clippy::vec_box, reason = "a connection is moved between the pool and its users by its pointer")]
    idle: RefCell<Vec<Box<Http1>>>,
    shared: RefCell<Vec<Http2>>,
}

/// Why there is no connection.
#[derive(Debug)]
pub enum NoLink {
    /// Refused, unresolvable, or broken while it was made.
    Refused,
    /// Not there in time.
    Timeout,
}

impl Endpoint {
    /// The endpoint of `agent` at `uri`, which has an authority, as the configuration makes sure, and where
    /// `connector` leads.
    pub fn new(agent: &config::Agent, uri: &Uri, connector: Connector, standing: Standing) -> io::Result<Rc<Self>> {
        let authority = uri.authority().ok_or_else(|| io::Error::other("an agent's url needs a host"))?;
        let host_header = authority.as_str().rsplit_once('@').map_or(authority.as_str(), |(_, host)| host);
        let own_host = agent.headers.set.iter().rev().find(|(name, _)| name == header::HOST);
        let host_header = match own_host {
            Some((_, host)) => host.clone(),
            None => HeaderValue::from_str(host_header).map_err(io::Error::other)?,
        };
        let no_host = |error| io::Error::other(format!("the agent `{}` has a host that is none: {error}", agent.name));
        Ok(Rc::new(Self {
            authority: Authority::try_from(host_header.as_bytes()).map_err(no_host)?,
            host_header,
            label: Arc::from(config::shown_url(&uri.to_string())),
            uri: uri.clone(),
            connector,
            connect_limit: agent.timeouts.connect,
            standing,
            idle: RefCell::default(),
            shared: RefCell::default(),
        }))
    }

    /// The url, as configured.
    pub fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The url as a label of metrics and logs.
    pub fn label(&self) -> &Arc<str> {
        &self.label
    }

    /// How it stands among the others of its agent.
    pub fn standing(&self) -> &Standing {
        &self.standing
    }

    /// Addresses a request to it in this version of HTTP, for this path and query, at its own host unless the
    /// configuration has chosen another.
    ///
    /// # Errors
    ///
    /// What is asked for and where makes no url.
    pub fn address<B>(
        &self,
        request: &mut Request<B>,
        target: &PathAndQuery,
        version: Version,
    ) -> Result<(), InvalidUriParts> {
        let mut parts = http::uri::Parts::default();
        parts.path_and_query = Some(target.clone());
        if version == Version::HTTP_2 {
            parts.scheme = self.uri.scheme().cloned();
            parts.authority = Some(self.authority.clone());
            request.headers_mut().remove(header::HOST);
        } else {
            request.headers_mut().insert(header::HOST, self.host_header.clone());
        }
        *request.version_mut() = version;
        *request.uri_mut() = Uri::from_parts(parts)?;
        Ok(())
    }

    /// A connection that works as far as one can tell, and whether it was used before.
    pub async fn link(&self) -> Result<(Link, bool), NoLink> {
        if let Some(shared) = self.shared() {
            return Ok((Link::Http2(shared), true));
        }
        // Past what a task may do in a turn, every socket would look as if it were still open.
        if let Some(link) = unconstrained(poll_fn(|cx| Poll::Ready(self.pooled(cx)))).await {
            return Ok((Link::Http1(link), true));
        }
        let begun = Instant::now();
        let linking = async {
            let (socket, version) = self.connect().await?;
            speak_over(socket, version).await
        };
        let link = tokio::time::timeout(self.connect_limit, linking).await;
        let (result, link) = match link {
            Ok(Ok(link)) => {
                if let Link::Http2(shared) = &link {
                    self.shared.borrow_mut().push(shared.clone());
                }
                (Connect::Ok, Ok((link, false)))
            }
            Ok(Err(error)) => {
                if error.kind() == io::ErrorKind::PermissionDenied {
                    tracing::warn!(endpoint = %self.label, %error, "agent must not be connected to");
                } else {
                    tracing::debug!(endpoint = %self.label, %error, "agent did not take the connection");
                }
                let refused = error.kind() == io::ErrorKind::ConnectionRefused;
                (if refused { Connect::Refused } else { Connect::Error }, Err(NoLink::Refused))
            }
            Err(_) => (Connect::Timeout, Err(NoLink::Timeout)),
        };
        self.standing.metrics().connect(begun.elapsed(), result);
        link
    }

    /// A new connection over which nothing of HTTP has been said, and the version to speak. Nothing limits its time.
    pub async fn connect(&self) -> io::Result<(AgentSocket, Version)> {
        self.connector.connect().await
    }

    /// A connection of HTTP/2 that has room for another stream.
    fn shared(&self) -> Option<Http2> {
        let mut shared = self.shared.borrow_mut();
        shared.retain(|link| !link.is_closed());
        shared.iter().find(|link| link.has_room()).cloned()
    }

    fn pooled(&self, cx: &mut Context<'_>) -> Option<Box<Http1>> {
        loop {
            let mut link = self.idle.borrow_mut().pop()?;
            if !link.is_older_than(KEPT) && link.is_usable(cx) {
                return Some(link);
            }
        }
    }

    /// Keeps a connection for the next request.
    pub fn keep(&self, link: Box<Http1>) {
        let mut idle = self.idle.borrow_mut();
        if idle.len() < KEPT_COUNT {
            idle.push(link);
        }
    }

    /// Lets go of the connections that are old or were closed from the other side.
    pub fn sweep(&self) {
        let look = poll_fn(|cx| {
            self.idle.borrow_mut().retain_mut(|link| !link.is_older_than(KEPT) && link.is_usable(cx));
            Poll::Ready(())
        });
        // All of them in one turn, so that none looks open only because the turn is used up.
        let _ = pin!(unconstrained(look)).poll(&mut Context::from_waker(Waker::noop()));
        // Of those that are shared, one is enough while nobody uses them.
        let mut first = true;
        let keep = |link: &Http2| !link.is_closed() && (std::mem::take(&mut first) || link.is_busy());
        self.shared.borrow_mut().retain(keep);
    }

    /// Counts what became of a request at this url.
    pub fn attempted(&self, result: Attempt) {
        self.standing.metrics().attempts(result);
    }
}

async fn speak_over(socket: AgentSocket, version: Version) -> io::Result<Link> {
    if version == Version::HTTP_2 {
        return link::http2_over(socket).await.map(Link::Http2).map_err(io::Error::other);
    }
    Http1::over(socket).await.map(Link::Http1).map_err(io::Error::other)
}

/// Has the system look after silent connections, so that a peer that vanished is noticed.
pub fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    let every = socket2::TcpKeepalive::new().with_time(SILENT).with_interval(PING).with_retries(UNANSWERED);
    socket2::SockRef::from(stream).set_tcp_keepalive(&every)
}

/// Has the system break a connection whose peer takes nothing for [`STUCK`]. Over HTTP/2 a peer that works always reads, and
/// no ping reaches one behind bytes that it does not take, while all runs would go on to be sent there.
pub fn give_up_when_stuck(stream: &TcpStream) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    return socket2::SockRef::from(stream).set_tcp_user_timeout(Some(STUCK));
    #[cfg(not(target_os = "linux"))]
    return Ok(());
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{super::standing::Standings, *};
    use crate::observe::Metrics;

    /// More than a task may look at in one turn.
    const MANY: usize = 300;

    fn endpoint(address: std::net::SocketAddr) -> Rc<Endpoint> {
        let toml = format!("agent = \"http://{address}/\"");
        let config = config::Config::from_toml(&toml).unwrap_or_else(|errors| panic!("{errors}"));
        let agent = &config.agents[0];
        let uri = format!("http://{address}/").parse().unwrap();
        let connector = Connector::new(agent, &uri, None).unwrap();
        Endpoint::new(agent, &uri, connector, Standings::new(agent, &Metrics::new("test", "test")).at(0)).unwrap()
    }

    /// An endpoint with many connections, and the other ends of them.
    async fn with_many() -> (Rc<Endpoint>, Vec<TcpStream>) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = endpoint(listener.local_addr().unwrap());
        let mut others = Vec::new();
        for _ in 0..MANY {
            let (Link::Http1(link), _) = endpoint.link().await.unwrap() else { panic!("HTTP/1.1 was asked for") };
            others.push((link, listener.accept().await.unwrap().0));
        }
        let (links, others): (Vec<_>, Vec<_>) = others.into_iter().unzip();
        links.into_iter().for_each(|link| endpoint.keep(link));
        (endpoint, others)
    }

    #[tokio::test]
    async fn all_connections_that_agents_closed_are_let_go_of_at_once() {
        let (endpoint, mut others) = with_many().await;
        endpoint.sweep();
        assert_eq!(endpoint.idle.borrow().len(), MANY);
        let open = others.split_off(MANY - 2);
        drop(others);
        tokio::time::sleep(Duration::from_millis(50)).await;
        endpoint.sweep();
        assert_eq!(endpoint.idle.borrow().len(), open.len());
    }

    #[tokio::test]
    async fn no_connection_that_the_agent_closed_is_used_again() {
        let (endpoint, others) = with_many().await;
        drop(others);
        tokio::time::sleep(Duration::from_millis(50)).await;
        let used_before = matches!(endpoint.link().await, Ok((_, true)));
        assert!(!used_before && endpoint.idle.borrow().is_empty());
    }

    #[tokio::test]
    async fn a_peer_that_vanished_is_noticed_within_two_minutes() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        keep_alive(&stream).unwrap();
        let socket = socket2::SockRef::from(&stream);
        assert!(socket.keepalive().unwrap());
        let asking = socket.tcp_keepalive_interval().unwrap() * socket.tcp_keepalive_retries().unwrap();
        assert_eq!(socket.tcp_keepalive_time().unwrap() + asking, Duration::from_secs(120));
    }
}
