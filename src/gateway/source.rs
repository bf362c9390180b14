//! An agent's body comes in, plain bytes go out: a content coding that the agent used although it was asked
//! for none is undone on the way, as the bytes come.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderMap, Response, header};
use http_body::{Body, Frame};
use tower::ServiceExt as _;
use tower_http::decompression::{Decompression, DecompressionBody};

use super::{body::Broken, link::Download};

/// The plain bytes of an agent's body.
pub enum Source {
    /// As they come.
    Plain(Download),
    /// Decoded.
    Coded(Pin<Box<DecompressionBody<Download>>>),
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
                (head, Self::Coded(Box::pin(body)))
            }
            None => (Response::new(()).into_parts().0, Self::Empty),
        }
    }
}

/// This message with a body that undoes its content coding as it is read. A coding that is unknown stays, and so does
/// its header.
pub async fn undo_coding<B: Body<Data = Bytes>>(message: Response<B>) -> Option<Response<DecompressionBody<B>>> {
    let mut message = Some(message);
    let service = tower::service_fn(move |_: http::Request<()>| {
        let message = message.take();
        async move { message.ok_or("asked twice") }
    });
    Decompression::new(service).oneshot(http::Request::new(())).await.ok()
}

/// Whether the body has a content coding.
pub fn is_coded(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_ENCODING).is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

impl Body for Source {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match &mut *self {
            Self::Plain(body) => Pin::new(body).poll_frame(cx).map_err(Broken::from),
            Self::Coded(body) => body.as_mut().poll_frame(cx).map_err(Broken::from),
            Self::Empty => Poll::Ready(None),
        }
    }
}
