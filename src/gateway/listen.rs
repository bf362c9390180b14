//! Addresses come in, listening sockets go out: one for each address and thread, sharing the port, so that the
//! system spreads connections and no thread hands one to another.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    os::fd::AsFd,
    time::{Duration, Instant},
};

#[cfg(target_os = "linux")]
use socket2::SockFilter;
use socket2::{Domain, Protocol, Socket, Type};

/// Connections that may wait for a thread to accept them.
const BACKLOG: i32 = 4096;
/// The most bytes that the system keeps of a connection beyond those that are on their way to the client: what waits
/// any longer waits here, where it can be merged and is counted. Connections have it from their listener.
#[cfg(target_os = "linux")]
const UNSENT: u32 = 64 * 1024;

/// How long a listener that takes no more connections still waits for those that had begun to come: longer than a packet
/// takes there and back.
pub const SETTLED: Duration = Duration::from_millis(250);
/// How long nothing is accepted after the system could not: without file descriptors, the next try would fail as well.
const PAUSE: Duration = Duration::from_millis(50);
/// How often it is logged that nothing can be accepted.
const REPEATED: Duration = Duration::from_secs(10);

/// Whether other processes may listen on the same ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ports {
    /// No: a port that is taken is an error.
    Own,
    /// Yes: the system spreads connections, so that one process can take the place of another.
    Shared,
}

/// The listening sockets of a gateway.
#[derive(Debug)]
pub struct Sockets {
    /// The addresses, with the ports that the system chose where 0 was asked for.
    pub addresses: Vec<SocketAddr>,
    /// A socket for each address, for each thread.
    pub per_thread: Vec<Vec<(SocketAddr, TcpListener)>>,
}

/// Binds each address once for each of `threads`. Ports in `held` are this process's already.
///
/// # Errors
///
/// The address that cannot be bound, and why. A port that another process listens on is an error unless ports are
/// shared, for by accident two would split the connections.
pub fn bind(addresses: &[SocketAddr], threads: usize, ports: Ports, held: &[SocketAddr]) -> io::Result<Sockets> {
    let mut bound = Vec::new();
    let mut per_thread: Vec<Vec<_>> = (0..threads).map(|_| Vec::new()).collect();
    for asked in addresses {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("cannot listen on {asked}: {error}"));
        if ports == Ports::Own && !held.iter().any(|held| held.port() == asked.port()) {
            socket(*asked, false).map_err(named)?;
        }
        let mut address = *asked;
        for listeners in &mut per_thread {
            let listener = socket(address, true).and_then(listen).map_err(named)?;
            address = listener.local_addr()?;
            listeners.push((address, listener));
        }
        bound.push(address);
    }
    Ok(Sockets { addresses: bound, per_thread })
}

/// Binds one address beside whoever else does.
pub fn beside(address: SocketAddr) -> io::Result<TcpListener> {
    listen(socket(address, true)?)
}

/// Has the system begin no more connections at this socket: a client that tries is not answered, and tries again after a
/// second, when another process has the port for itself. Whether that can be done; where it cannot, connections
/// that come in the instant in which the socket is closed are lost.
pub fn turn_away(listener: &impl AsFd) -> bool {
    #[cfg(target_os = "linux")]
    let turned = {
        // A program for the system's packet filter, which sees TCP's header: packets that begin a connection have SYN,
        // and not ACK, among the flags in byte 13. They are dropped, and all others pass.
        let program = [
            SockFilter::new(0x30, 0, 0, 13),
            SockFilter::new(0x54, 0, 0, 0x12),
            SockFilter::new(0x15, 0, 1, 0x02),
            SockFilter::new(0x06, 0, 0, 0),
            SockFilter::new(0x06, 0, 0, u32::MAX),
        ];
        socket2::SockRef::from(listener).attach_filter(&program)
    };
    #[cfg(not(target_os = "linux"))]
    let turned = io::Result::<()>::Err(io::ErrorKind::Unsupported.into());
    if let Err(error) = &turned {
        tracing::debug!(%error, "new connections cannot be turned away");
    }
    turned.is_ok()
}

/// Whether a connection was not accepted because it was over already.
pub fn is_of_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// Connections that could not be accepted.
#[derive(Debug, Default)]
pub struct Trouble {
    told: Option<Instant>,
}

impl Trouble {
    /// How long to leave the socket alone after this error. Whoever comes waits meanwhile, and is served once there are
    /// file descriptors again. It is logged from time to time.
    pub fn pause(&mut self, error: &io::Error) -> Option<Duration> {
        if is_of_the_peer(error) {
            return None;
        }
        if self.told.is_none_or(|at| at.elapsed() >= REPEATED) {
            self.told = Some(Instant::now());
            tracing::warn!(%error, "connections cannot be accepted and wait");
        }
        Some(PAUSE)
    }
}

fn socket(address: SocketAddr, shared: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if shared {
        socket.set_reuse_port(true)?;
    }
    if address.is_ipv6() {
        socket.set_only_v6(address.ip() != std::net::Ipv6Addr::UNSPECIFIED)?;
    }
    socket.bind(&address.into())?;
    Ok(socket)
}

fn listen(socket: Socket) -> io::Result<TcpListener> {
    socket.set_nonblocking(true)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_notsent_lowat(UNSENT)?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_has_a_socket_on_the_same_port() {
        let sockets = bind(&["127.0.0.1:0".parse().unwrap()], 3, Ports::Own, &[]).unwrap();
        assert_eq!(sockets.per_thread.len(), 3);
        for listeners in &sockets.per_thread {
            assert_eq!(listeners[0].1.local_addr().unwrap(), sockets.addresses[0]);
        }
    }

    #[test]
    fn a_port_in_use_is_an_error_that_names_the_address() {
        let first = bind(&["127.0.0.1:0".parse().unwrap()], 1, Ports::Own, &[]).unwrap();
        let error = bind(&first.addresses, 2, Ports::Own, &[]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        assert!(error.to_string().contains(&first.addresses[0].to_string()), "{error}");
        assert!(bind(&first.addresses, 2, Ports::Shared, &[]).is_ok());
        assert!(bind(&first.addresses, 2, Ports::Own, &first.addresses).is_ok(), "it is our own");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn who_is_turned_away_finds_another_and_who_waits_stays() {
        use std::net::TcpStream;
        let address = "127.0.0.1:0".parse().unwrap();
        let old = bind(&[address], 1, Ports::Shared, &[]).unwrap();
        let address = old.addresses[0];
        let waiting = TcpStream::connect(address).unwrap();
        let (_, old) = &old.per_thread[0][0];
        assert!(turn_away(old));
        assert!(TcpStream::connect_timeout(&address, Duration::from_millis(100)).is_err());
        assert_eq!(old.accept().unwrap().1, waiting.local_addr().unwrap());
        assert_eq!(old.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
}
