//! A url comes in, the bytes behind it go out. One request on a connection of its own; redirects are not followed.

use bytes::Bytes;
use http::{Request, Uri, header};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// What went wrong, for the log.
pub type Why = Box<dyn std::error::Error + Send + Sync>;

/// Asks for this url; an answer that is not 200, or larger than `limit`, is an error.
pub async fn get(url: &Uri, limit: usize) -> Result<Bytes, Why> {
    // TLS is put around the stream here, once agents are spoken to that way too.
    if url.scheme_str() != Some("http") {
        return Err("only http:// urls can be asked".into());
    }
    let host = url.host().ok_or("the url has no host")?;
    let stream = TcpStream::connect((host.trim_matches(['[', ']']), url.port_u16().unwrap_or(80))).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let path = url.path_and_query().map_or("/", |path| path.as_str());
    let request = Request::get(path)
        .header(header::HOST, url.authority().map_or(host, |authority| authority.as_str()))
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
