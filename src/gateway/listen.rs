//! Addresses come in, listening sockets go out: one for each address and thread, sharing the port, so that the
//! system spreads connections and no thread hands one to another.

use std::{
    io,
    net::{SocketAddr, TcpListener},
};

use socket2::{Domain, Protocol, Socket, Type};

/// Connections that may wait for a thread to accept them.
const BACKLOG: i32 = 4096;
/// The most bytes that the system keeps of a connection beyond those that are on their way to the client: what waits
/// any longer waits here, where it can be merged and is counted. Connections have it from their listener.
#[cfg(target_os = "linux")]
const UNSENT: u32 = 64 * 1024;

/// The listening sockets of a gateway.
#[derive(Debug)]
pub struct Sockets {
    /// The addresses, with the ports that the system chose where 0 was asked for.
    pub addresses: Vec<SocketAddr>,
    /// A socket for each address, for each thread.
    pub per_thread: Vec<Vec<TcpListener>>,
}

/// Binds each address once for each of `threads`.
///
/// # Errors
///
/// The address that cannot be bound, and why. A port that another process listens on is an error, although
/// sharing ports would let the system split connections between the two.
pub fn bind(addresses: &[SocketAddr], threads: usize) -> io::Result<Sockets> {
    let mut bound = Vec::new();
    let mut per_thread: Vec<Vec<TcpListener>> = (0..threads).map(|_| Vec::new()).collect();
    for asked in addresses {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("cannot listen on {asked}: {error}"));
        socket(*asked, false).map_err(named)?;
        let mut address = *asked;
        for listeners in &mut per_thread {
            let listener = socket(address, true).and_then(listen).map_err(named)?;
            address = listener.local_addr()?;
            listeners.push(listener);
        }
        bound.push(address);
    }
    Ok(Sockets { addresses: bound, per_thread })
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
        let sockets = bind(&["127.0.0.1:0".parse().unwrap()], 3).unwrap();
        assert_eq!(sockets.per_thread.len(), 3);
        for listeners in &sockets.per_thread {
            assert_eq!(listeners[0].local_addr().unwrap(), sockets.addresses[0]);
        }
    }

    #[test]
    fn a_port_in_use_is_an_error_that_names_the_address() {
        let first = bind(&["127.0.0.1:0".parse().unwrap()], 1).unwrap();
        let error = bind(&first.addresses, 2).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        assert!(error.to_string().contains(&first.addresses[0].to_string()), "{error}");
    }
}
