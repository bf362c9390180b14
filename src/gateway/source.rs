//! An agent's body comes in, plain bytes go out: a content coding that the agent used although it was asked
//! for none is undone on the way, as the bytes come.

use std::{
    cell::Cell,
    io,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};

use async_compression::tokio::bufread::GzipDecoder;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Response, header};
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use tokio::io::AsyncRead;
use tokio_util::io::{StreamReader, poll_read_buf};
use tower::ServiceExt as _;
use tower_http::decompression::Decompression;

use super::{body::Broken, link::Download};

/// How much is decoded at once, in bytes.
const PIECE: usize = 4096;

/// A body whose content coding is undone as it is read.
pub type Decoded = Pin<Box<dyn Body<Data = Bytes, Error = Broken>>>;

/// The plain bytes of an agent's body.
pub enum Source {
    /// As they come.
    Plain(Download),
    /// Decoded.
    Coded(Decoded),
    /// No bytes at all.
    Empty,
}

impl Source {
    /// The plain bytes of this answer. A coding that is unknown stays as it is, and so does its header.
    pub async fn of(answer: Response<Download>) -> (http::response::Parts, Self) {
        if !is_coded(answer.headers()) {
            let (head, body) = answer.into_parts();
            return (head, Self::Plain(body));
        }
        match undo_coding(answer).await {
            Some(answer) => {
                let (head, body) = answer.into_parts();
                if let Some(coding) = head.headers.get(header::CONTENT_ENCODING) {
                    tracing::warn!(?coding, "an agent's stream has a content coding that cannot be undone");
                }
                (head, Self::Coded(body))
            }
            None => (Response::new(()).into_parts().0, Self::Empty),
        }
    }
}

/// This message with a body that undoes its content coding as it is read. A coding that is unknown stays, and so does
/// its header.
pub async fn undo_coding<B>(mut message: Response<B>) -> Option<Response<Decoded>>
where
    B: Body<Data = Bytes, Error: Into<Broken>> + 'static,
{
    let coding = coding(message.headers());
    if coding.as_deref() == Some("gzip") {
        message.headers_mut().remove(header::CONTENT_ENCODING);
        message.headers_mut().remove(header::CONTENT_LENGTH);
        return Some(message.map(|body| Box::pin(Gunzip::of(body)) as Decoded));
    }
    if let Some(coding) = coding.and_then(|coding| HeaderValue::try_from(coding).ok()) {
        message.headers_mut().insert(header::CONTENT_ENCODING, coding);
    }
    let mut message = Some(message);
    let service = tower::service_fn(move |_: http::Request<()>| {
        let message = message.take();
        async move { message.ok_or("asked twice") }
    });
    let plain = Decompression::new(service).oneshot(http::Request::new(())).await.ok()?;
    Some(plain.map(|body| Box::pin(body) as Decoded))
}

/// What a gzip body holds, of all its members: whoever compresses piece by piece may write one for each (RFC 1952, 2.2),
/// and [`Decompression`] takes the first for the whole.
struct Gunzip {
    reader: Pin<Box<dyn AsyncRead>>,
    /// The body was not empty.
    begun: Rc<Cell<bool>>,
    piece: BytesMut,
    is_over: bool,
}

impl Gunzip {
    fn of<B: Body<Data = Bytes, Error: Into<Broken>> + 'static>(body: B) -> Self {
        let begun = Rc::new(Cell::new(false));
        let begins = begun.clone();
        let body = body.map_frame(move |frame| {
            begins.set(true);
            frame
        });
        let mut reader = GzipDecoder::new(StreamReader::new(body.map_err(io::Error::other).into_data_stream()));
        reader.multiple_members(true);
        Self { reader: Box::pin(reader), begun, piece: BytesMut::new(), is_over: false }
    }
}

impl Body for Gunzip {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let Self { reader, begun, piece, is_over } = &mut *self;
        if *is_over {
            return Poll::Ready(None);
        }
        if piece.capacity() == 0 {
            piece.reserve(PIECE);
        }
        let read = ready!(poll_read_buf(reader.as_mut(), cx, piece));
        *is_over = !matches!(read, Ok(1..));
        Poll::Ready(match read {
            Ok(0) => None,
            Ok(_) => Some(Ok(Frame::data(piece.split().freeze()))),
            // Nothing at all is no broken gzip.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && !begun.get() => None,
            Err(error) => Some(Err(error.into())),
        })
    }
}

/// Whether the body has a content coding.
pub fn is_coded(headers: &HeaderMap) -> bool {
    coding(headers).is_some()
}

/// The content codings of a body as a decoder knows them: names are in any case, one has two, and `identity` is none
/// (RFC 9110, 8.4.1).
fn coding(headers: &HeaderMap) -> Option<String> {
    let lines = headers.get_all(header::CONTENT_ENCODING).iter();
    let names = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    let names = names.map(|name| String::from_utf8_lossy(name).trim().to_ascii_lowercase());
    let names = names.filter(|name| !matches!(name.as_str(), "" | "identity"));
    let names: Vec<_> = names.map(|name| if name == "x-gzip" { "gzip".to_owned() } else { name }).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

impl Body for Source {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match &mut *self {
            Self::Plain(body) => Pin::new(body).poll_frame(cx).map_err(Broken::from),
            Self::Coded(body) => body.as_mut().poll_frame(cx),
            Self::Empty => Poll::Ready(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coding_is_known_however_it_is_spelled() {
        for (lines, known) in [
            (&["gzip"][..], Some("gzip")),
            (&["GZip"], Some("gzip")),
            (&["x-gzip"], Some("gzip")),
            (&[" Identity , BR"], Some("br")),
            (&["identity"], None),
            (&[""], None),
            (&["identity", "IDENTITY,"], None),
            (&["identity", "zstd"], Some("zstd")),
            (&["gzip", "br"], Some("gzip, br")),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(header::CONTENT_ENCODING, HeaderValue::from_static(line));
            }
            assert_eq!(coding(&headers).as_deref(), known, "{lines:?}");
        }
    }
}
