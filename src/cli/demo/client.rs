//! The demo's client: a run input comes in, the events of the answer go out as they arrive. It reads a
//! stream as the strictest AG-UI clients do: LF line ends, one blank line after each event.

use std::{
    io,
    net::SocketAddr,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, time::timeout};

/// No scripted run takes this long.
const PATIENCE: Duration = Duration::from_secs(20);

/// One event as it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Since the request was sent.
    pub at: Duration,
    /// The payload of its frame.
    pub json: String,
}

/// Why a run or a request has no proper end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The connection could not be made or broke before the answer.
    #[error("no answer from {0}: {1}")]
    NoAnswer(SocketAddr, #[source] Box<dyn std::error::Error + Send + Sync>),
    /// An answer that is no event stream.
    #[error("answered {0}: {1}")]
    Refused(StatusCode, String),
    /// A body that was cut instead of ended: some clients do not survive it.
    #[error("the body was cut off: {0}")]
    Cut(#[source] hyper::Error),
    /// Bytes that a strict client cannot read.
    #[error("not a frame that every client reads: {0:?}")]
    Frame(String),
    /// Nothing ended the run.
    #[error("the run did not end within {} s", PATIENCE.as_secs())]
    Endless,
    /// The events could not be shown.
    #[error(transparent)]
    Show(#[from] io::Error),
}

/// Starts a run and hands each event to `show` as it arrives, until the body has properly ended.
///
/// # Errors
/// Everything that keeps a client from reading the run to its end.
pub async fn run(to: SocketAddr, input: String, show: impl FnMut(Arrived) -> io::Result<()>) -> Result<(), Error> {
    timeout(PATIENCE, read_run(to, input, show)).await.unwrap_or(Err(Error::Endless))
}

async fn read_run(to: SocketAddr, input: String, mut show: impl FnMut(Arrived) -> io::Result<()>) -> Result<(), Error> {
    let begun = Instant::now();
    let mut response = send(to, Method::POST, "/", input).await?;
    let media = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if response.status() != StatusCode::OK || media.is_none_or(|media| !media.starts_with("text/event-stream")) {
        let status = response.status();
        let body = response.into_body().collect().await.map_err(Error::Cut)?.to_bytes();
        return Err(Error::Refused(status, String::from_utf8_lossy(&body).trim().to_owned()));
    }
    let mut pending = Vec::new();
    while let Some(frame) = response.body_mut().frame().await {
        let Ok(data) = frame.map_err(Error::Cut)?.into_data() else {
            continue;
        };
        pending.extend_from_slice(&data);
        while let Some(end) = pending.windows(2).position(|pair| pair == b"\n\n") {
            let frame: Vec<u8> = pending.drain(..end + 2).collect();
            if let Some(json) = payload(&frame)? {
                show(Arrived { at: begun.elapsed(), json })?;
            }
        }
    }
    // A last comment is no loss, anything else would be.
    match payload(&pending)? {
        None => Ok(()),
        Some(json) => Err(Error::Frame(json)),
    }
}

/// The joined `data` lines of a frame; `None` if it holds comments only.
fn payload(frame: &[u8]) -> Result<Option<String>, Error> {
    let unreadable = || Error::Frame(String::from_utf8_lossy(frame).into_owned());
    let text = std::str::from_utf8(frame).map_err(|_| unreadable())?;
    if text.contains('\r') {
        return Err(unreadable());
    }
    let mut data = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with(':')) {
        data.push(line.strip_prefix("data: ").ok_or_else(unreadable)?);
    }
    Ok((!data.is_empty()).then(|| data.join("\n")))
}

/// Fetches a page of text.
///
/// # Errors
/// No connection, or a status other than 200.
pub async fn get(from: SocketAddr, path: &str) -> Result<String, Error> {
    let page = async {
        let response = send(from, Method::GET, path, String::new()).await?;
        let status = response.status();
        let body = response.into_body().collect().await.map_err(Error::Cut)?.to_bytes();
        let text = String::from_utf8_lossy(&body).into_owned();
        if status == StatusCode::OK { Ok(text) } else { Err(Error::Refused(status, text)) }
    };
    timeout(PATIENCE, page).await.unwrap_or(Err(Error::Endless))
}

async fn send(to: SocketAddr, method: Method, path: &str, body: String) -> Result<Response<Incoming>, Error> {
    let no_answer = |error: Box<dyn std::error::Error + Send + Sync>| Error::NoAnswer(to, error);
    let stream = TcpStream::connect(to).await.map_err(|error| no_answer(error.into()))?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| no_answer(error.into()))?;
    tokio::spawn(connection);
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, to.to_string())
        .header(header::ACCEPT, "text/event-stream, text/plain;q=0.5")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| no_answer(error.into()))?;
    sender.send_request(request).await.map_err(|error| no_answer(error.into()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_its_data_lines_and_comments_are_skipped() {
        assert_eq!(payload(b":\ndata: {}\n\n").unwrap().unwrap(), "{}");
        assert_eq!(payload(b"data: {\ndata: }\n\n").unwrap().unwrap(), "{\n}");
        assert_eq!(payload(b": hello\n").unwrap(), None);
        assert_eq!(payload(b"").unwrap(), None);
    }

    #[test]
    fn what_strict_clients_stumble_over_is_an_error() {
        for frame in ["data:{}\n\n", "data: {}\r\n\n", "event: x\n\n", "nonsense"] {
            assert!(matches!(payload(frame.as_bytes()), Err(Error::Frame(_))), "{frame:?}");
        }
    }
}
