//! A url comes in, the bytes behind it go out. One request on a connection of its own; redirects are not followed. Over
//! https the other side is whom an authority vouches for that the system trusts.

use bytes::Bytes;
use http::{Request, Uri, header};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

use super::super::{certificates, connect};

/// What went wrong, for the log.
pub type Why = Box<dyn std::error::Error + Send + Sync>;

/// Asks for this url; an answer that is not 200, or larger than `limit`, is an error.
pub async fn get(url: &Uri, limit: usize) -> Result<Bytes, Why> {
    let host = url.host().ok_or("the url has no host")?.trim_matches(['[', ']']);
    let connecting = TcpStream::connect((host, connect::port(url)));
    match url.scheme_str() {
        Some("http") => ask(connecting.await?, url, limit).await,
        Some("https") => {
            let name = ServerName::try_from(host.to_owned())?;
            // Read again each time, as the keys are: it is seldom, and authorities come and go.
            let trusted = tokio::task::spawn_blocking(certificates::of_whom_the_system_trusts).await??;
            ask(TlsConnector::from(trusted).connect(name, connecting.await?).await?, url, limit).await
        }
        _ => Err("only http:// and https:// urls can be asked".into()),
    }
}

async fn ask(stream: impl AsyncRead + AsyncWrite + Unpin, url: &Uri, limit: usize) -> Result<Bytes, Why> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let path = url.path_and_query().map_or("/", |path| path.as_str());
    let request = Request::get(path)
        .header(header::HOST, url.authority().map_or("", |authority| authority.as_str()))
        .header(header::ACCEPT, "application/json")
        .body(Empty::<Bytes>::new())?;
    let exchange = async {
        let answer = sender.send_request(request).await?;
        if answer.status() != http::StatusCode::OK {
            return Err(Why::from(format!("answered with status {}", answer.status().as_u16())));
        }
        Ok(Limited::new(answer.into_body(), limit).collect().await?.to_bytes())
    };
    let driven = async {
        // The exchange ends first, or with the connection's error.
        let _ = connection.await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        answer = exchange => answer,
        () = driven => Err("the connection ended".into()),
    }
}
