//! Where an agent's url leads comes in, a new connection to it goes out: resolved, connected and, for https, with
//! TLS agreed on and the agent's certificate checked; and the version of HTTP to speak over it. Nothing of HTTP is said
//! here, and nothing is pooled.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Uri, Version, uri::Scheme};
use rustls::{ClientConfig, pki_types::ServerName};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::{
    certificates::{Current, H2},
    endpoint::{give_up_when_stuck, keep_alive},
    resolve::Host,
};
use crate::config::{self, AgentHttp};

/// How one url of an agent is connected to.
#[derive(Debug)]
pub struct Connector {
    host: Host,
    http: AgentHttp,
    /// For https: the name that its certificate must have, and what else TLS needs.
    tls: Option<(ServerName<'static>, Arc<Current<ClientConfig>>)>,
}

impl Connector {
    /// The way to `uri` of `agent`, which has an authority, as the configuration makes sure; `tls` is for https.
    pub fn new(agent: &config::Agent, uri: &Uri, tls: Option<Arc<Current<ClientConfig>>>) -> io::Result<Self> {
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let secure = uri.scheme() == Some(&Scheme::HTTPS);
        let tls = secure.then(|| {
            let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
            let tls = tls.ok_or_else(|| io::Error::other("an https url needs what TLS is spoken with"))?;
            Ok::<_, io::Error>((name, tls))
        });
        Ok(Self { host: Host::new(host, port(uri), agent.deny_private), http: agent.http, tls: tls.transpose()? })
    }

    /// Connects. Nothing limits its time.
    ///
    /// # Errors
    ///
    /// What stood in the way: of the kind `ConnectionRefused` only if nobody listens there, `PermissionDenied` if it
    /// is an address that must not be connected to.
    pub async fn connect(&self) -> io::Result<(AgentSocket, Version)> {
        let stream = self.host.connect().await?;
        stream.set_nodelay(true)?;
        keep_alive(&stream)?;
        let (socket, agreed) = match &self.tls {
            None => (AgentSocket::Plain(stream), false),
            Some((name, tls)) => {
                let shaking = TlsConnector::from(tls.get()).connect(name.clone(), stream);
                // Boxed, so that a connection without TLS does not keep room for it.
                let stream = Box::pin(shaking).await?;
                let agreed = stream.get_ref().1.alpn_protocol() == Some(H2);
                (AgentSocket::Tls(Box::new(stream)), agreed)
            }
        };
        let is_http2 = agreed || self.http == AgentHttp::Two;
        if is_http2 {
            give_up_when_stuck(socket.tcp())?;
        }
        Ok((socket, if is_http2 { Version::HTTP_2 } else { Version::HTTP_11 }))
    }
}

/// The port of a url, or else that of its scheme.
pub fn port(uri: &Uri) -> u16 {
    uri.port_u16().unwrap_or(if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 })
}

/// A socket to an agent.
#[derive(Debug)]
pub enum AgentSocket {
    /// As it is.
    Plain(TcpStream),
    /// With TLS over it.
    Tls(Box<TlsStream<TcpStream>>),
}

impl AgentSocket {
    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => stream.get_ref().0,
        }
    }
}

/// Does the same with either.
macro_rules! either {
    ($socket:expr, $io:ident => $act:expr) => {
        match $socket.get_mut() {
            AgentSocket::Plain($io) => {
                let $io = Pin::new($io);
                $act
            }
            AgentSocket::Tls($io) => {
                let $io = Pin::new($io);
                $act
            }
        }
    };
}

impl AsyncRead for AgentSocket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        either!(self, io => io.poll_read(cx, buf))
    }
}

impl AsyncWrite for AgentSocket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        either!(self, io => io.poll_write(cx, buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        either!(self, io => io.poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(io) => io.is_write_vectored(),
            Self::Tls(io) => io.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, io => io.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, io => io.poll_shutdown(cx))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scheme_has_its_port_and_a_url_may_say_another() {
        let ports = ["http://a/", "https://a/", "https://[::1]/", "http://a:443/", "https://a:8443/"];
        assert_eq!(ports.map(|url| port(&Uri::from_static(url))), [80, 443, 443, 443, 8443]);
    }
}
