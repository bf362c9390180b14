//! A host and a port come in, an open socket goes out. A name is resolved anew for every connection, and each of its
//! addresses is tried in turn; addresses that must not be asked are left out before any of them is.

use std::{
    io,
    net::{IpAddr, SocketAddr, ToSocketAddrs as _},
    sync::Arc,
    time::Duration,
};

use tokio::{
    net::TcpStream,
    sync::Semaphore,
    task::{JoinSet, spawn_blocking},
};

use crate::config::is_private;

/// How long an address has before the next one is tried beside it (RFC 8305 recommends this).
const HEAD_START: Duration = Duration::from_millis(250);
/// How many addresses of a name are tried at most.
const TRIED: usize = 16;
/// How many lookups of one host a thread does at once. The system's resolver cannot be interrupted: where it hangs, each
/// lookup holds a thread of the system, also after nobody waits for it. Past this, connections wait for their turn.
const LOOKUPS: usize = 8;

/// Where connections go.
#[derive(Debug)]
pub struct Host {
    name: Arc<str>,
    port: u16,
    deny_private: bool,
    lookups: Arc<Semaphore>,
}

impl Host {
    /// A name or an address, and whether addresses inside are refused.
    pub fn new(name: &str, port: u16, deny_private: bool) -> Self {
        Self { name: name.into(), port, deny_private, lookups: Arc::new(Semaphore::new(LOOKUPS)) }
    }

    /// Connects to the first of its addresses that takes the connection.
    pub async fn connect(&self) -> io::Result<TcpStream> {
        let addresses = alternating(allowed(&self.name, self.lookup().await?, self.deny_private)?);
        match addresses.as_slice() {
            [only] => TcpStream::connect(only).await,
            _ => first_of(addresses).await,
        }
    }

    async fn lookup(&self) -> io::Result<Vec<SocketAddr>> {
        if let Ok(address) = self.name.parse::<IpAddr>() {
            return Ok(vec![(address, self.port).into()]);
        }
        let turn = self.lookups.clone().acquire_owned().await.map_err(io::Error::other)?;
        let (name, port) = (self.name.clone(), self.port);
        let found = spawn_blocking(move || {
            let found = (&*name, port).to_socket_addrs().map(Iterator::collect);
            drop(turn);
            found
        });
        found.await.map_err(io::Error::other)?
    }
}

/// Those that may be asked, of which there has to be one.
fn allowed(host: &str, mut found: Vec<SocketAddr>, deny_private: bool) -> io::Result<Vec<SocketAddr>> {
    let inside = found.iter().map(SocketAddr::ip).find(|address| is_private(*address));
    found.retain(|address| !deny_private || !is_private(address.ip()));
    match inside {
        Some(inside) if found.is_empty() => {
            let why = format!("`{host}` is {inside}, an address inside, which deny_private refuses");
            Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
        }
        _ if found.is_empty() => Err(io::Error::new(io::ErrorKind::NotFound, format!("`{host}` has no address"))),
        _ => Ok(found),
    }
}

/// The system's order, but so that the two families take turns: one may lead nowhere as a whole.
fn alternating(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first = addresses.first().map(SocketAddr::is_ipv6);
    let (one, other): (Vec<_>, Vec<_>) = addresses.into_iter().partition(|address| Some(address.is_ipv6()) == first);
    let mut other = other.into_iter();
    let mut all: Vec<_> = one.into_iter().flat_map(|address| [Some(address), other.next()]).flatten().collect();
    all.extend(other);
    all.truncate(TRIED);
    all
}

/// Tries one after the other: the next as soon as one has failed, and beside it when it takes long.
async fn first_of(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut left = addresses.into_iter();
    let mut tries = JoinSet::new();
    let mut failure = io::Error::from(io::ErrorKind::NotFound);
    loop {
        if let Some(address) = left.next() {
            tries.spawn(TcpStream::connect(address));
        } else if tries.is_empty() {
            return Err(failure);
        }
        let next = if left.len() > 0 {
            tokio::time::timeout(HEAD_START, tries.join_next()).await.ok().flatten()
        } else {
            tries.join_next().await
        };
        match next {
            Some(Ok(Ok(stream))) => return Ok(stream),
            Some(Ok(Err(error))) => failure = error,
            Some(Err(error)) => failure = io::Error::other(error),
            None => {}
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    fn addresses(all: &[&str]) -> Vec<SocketAddr> {
        all.iter().map(|address| address.parse().unwrap()).collect()
    }

    #[test]
    fn the_families_take_turns() {
        let found = addresses(&["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1", "1.1.1.2:1"]);
        let expected = addresses(&["[::1]:1", "1.1.1.1:1", "[::2]:1", "1.1.1.2:1", "[::3]:1"]);
        assert_eq!(alternating(found), expected);
        let found = addresses(&["1.1.1.1:1", "[::1]:1", "[::2]:1"]);
        assert_eq!(alternating(found.clone()), found);
        assert_eq!(alternating(Vec::new()), []);
        assert_eq!(alternating(vec!["1.1.1.1:1".parse().unwrap(); 50]).len(), TRIED);
    }

    #[test]
    fn addresses_inside_are_left_out_and_if_none_is_left_that_is_said() {
        let found = addresses(&["127.0.0.1:1", "8.8.8.8:1", "[::ffff:10.0.0.1]:1"]);
        assert_eq!(allowed("x", found.clone(), true).unwrap(), addresses(&["8.8.8.8:1"]));
        assert_eq!(allowed("x", found.clone(), false).unwrap(), found);
        let error = allowed("x.example", addresses(&["[::1]:1"]), true).unwrap_err();
        assert_eq!(error.to_string(), "`x.example` is ::1, an address inside, which deny_private refuses");
        assert_eq!(allowed("x", Vec::new(), true).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[tokio::test]
    async fn a_lookup_waits_for_its_turn_and_an_address_needs_none() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let host = Host { lookups: Arc::new(Semaphore::new(0)), ..Host::new("localhost", port, false) };
        let connecting = tokio::time::timeout(Duration::from_millis(50), host.connect());
        assert!(connecting.await.is_err());
        host.lookups.add_permits(1);
        for _ in 0..3 {
            host.connect().await.unwrap();
        }
        assert_eq!(host.lookups.available_permits(), 1);
        let host = Host { lookups: Arc::new(Semaphore::new(0)), ..Host::new("127.0.0.1", port, false) };
        host.connect().await.unwrap();
    }

    #[tokio::test]
    async fn the_next_address_is_tried_when_one_refuses_and_the_last_failure_is_told() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let there = listener.local_addr().unwrap();
        let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let stream = first_of(vec![gone, gone, there]).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), there);
        assert_eq!(first_of(vec![gone, gone]).await.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }

    #[tokio::test]
    async fn an_address_that_says_nothing_is_not_waited_for() {
        use socket2::{Domain, SockAddr, Socket, Type};
        let silent = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        silent.bind(&SockAddr::from(addresses(&["127.0.0.1:0"])[0])).unwrap();
        silent.listen(0).unwrap();
        let nowhere = silent.local_addr().unwrap().as_socket().unwrap();
        let mut waiting = Vec::new();
        while let Ok(Ok(stream)) = tokio::time::timeout(Duration::from_millis(100), TcpStream::connect(nowhere)).await {
            waiting.push(stream);
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let there = listener.local_addr().unwrap();
        let connecting = tokio::time::timeout(Duration::from_secs(5), first_of(vec![nowhere, there]));
        assert_eq!(connecting.await.unwrap().unwrap().peer_addr().unwrap(), there);
    }
}
