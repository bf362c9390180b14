//! A client's bare socket comes in, the same with TLS agreed on goes out, and the version of HTTP that is spoken
//! over it. A client has to agree in time, and nobody else waits for it.

use std::{
    io,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use rustls::ServerConfig;
use tokio::{
    io::{AsyncRead as _, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::{
    certificates::{H2, HTTP1},
    socket::{ClientSocket, Line, Watched},
};

/// How long a client may take to agree on TLS.
const LIMIT: Duration = Duration::from_secs(10);

/// The version of HTTP on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoken {
    /// Whichever the client begins with.
    Any,
    /// HTTP/1.1, as was agreed.
    Http1,
    /// HTTP/2, as was agreed.
    Http2,
}

/// Agrees with a client on TLS.
///
/// # Errors
///
/// What stood in the way; of the kind `TimedOut` if the client took too long, `UnexpectedEof` or `ConnectionReset` if
/// it left.
pub async fn agree(config: Arc<ServerConfig>, stream: TcpStream, line: Rc<Line>) -> io::Result<(ClientSocket, Spoken)> {
    let accepting = TlsAcceptor::from(config).accept(Watched::new(stream, line.clone()));
    let stream = tokio::time::timeout(LIMIT, accepting).await??;
    let spoken = match stream.get_ref().1.alpn_protocol() {
        Some(protocol) if protocol == H2 => Spoken::Http2,
        Some(protocol) if protocol == HTTP1 => Spoken::Http1,
        _ => Spoken::Any,
    };
    Ok((ClientSocket::tls(stream, line), spoken))
}

/// Whether the client has left while nobody reads what it sent.
///
/// That it leaves comes as a message of TLS before the end of the socket, so both are read here; of what else the
/// client sends, TLS itself keeps a little until somebody asks for it, and takes no more.
pub fn is_left(stream: &mut TlsStream<Watched>, cx: &mut Context<'_>) -> bool {
    let (socket, session) = stream.get_mut();
    loop {
        match session.read_tls(&mut Reader { socket, cx }) {
            Ok(0) => return true,
            Ok(_) => match session.process_new_packets() {
                Ok(state) if state.peer_has_closed() => return true,
                Ok(_) => {}
                Err(_) => return true,
            },
            // Nothing there, or nothing more taken.
            Err(error) => return !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Other),
        }
    }
}

/// Reads from a socket as long as there is something.
struct Reader<'a, 'b, 'c> {
    socket: &'a mut Watched,
    cx: &'b mut Context<'c>,
}

impl io::Read for Reader<'_, '_, '_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut buf = ReadBuf::new(buf);
        match Pin::new(&mut *self.socket).poll_read(self.cx, &mut buf) {
            Poll::Ready(result) => result.map(|()| buf.filled().len()),
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}
