//! The demo's agent: AG-UI runs come in over HTTP, the scripted events of [`Scenario`] go out as an SSE
//! stream. It calls no model and no tool, and knows nothing of a gateway.

use std::{
    convert::Infallible,
    io,
    pin::Pin,
    task::{Context, Poll},
    vec,
};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Either, Full, Limited};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    time::{Instant, Sleep, sleep},
};

use super::script::{Ids, Scenario, Step, What};

/// The largest run input that is read, in bytes.
const INPUT_LIMIT: usize = 4 << 20;

type Answer = Response<Either<Playing, Full<Bytes>>>;

/// Serves runs on any path until it is dropped; `GET /health` says `ok`.
///
/// # Errors
/// Whatever `accept` reports; a failing connection ends only itself.
pub async fn serve(listener: TcpListener) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        // Without this a token may wait for the acknowledgement of the one before it.
        let _ = stream.set_nodelay(true);
        tokio::spawn(async move {
            let service = service_fn(|request| async { Ok::<_, Infallible>(answer(request).await) });
            // A client that leaves is an ordinary end of a connection, and a broken run breaks it on purpose.
            let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn answer(request: Request<Incoming>) -> Answer {
    match (request.method(), request.uri().path()) {
        (&Method::POST, _) => {}
        (&Method::GET, "/health") => return plain(StatusCode::OK, "text/plain", "ok\n".into()),
        _ => return refused(StatusCode::METHOD_NOT_ALLOWED, "a run is started with POST"),
    }
    let Ok(body) = Limited::new(request.into_body(), INPUT_LIMIT).collect().await else {
        return refused(StatusCode::PAYLOAD_TOO_LARGE, "the input could not be read, or is larger than 4 MiB");
    };
    let input: Input = match serde_json::from_slice(&body.to_bytes()) {
        Ok(input) => input,
        Err(error) => {
            return refused(StatusCode::UNPROCESSABLE_ENTITY, &format!("not a run input: {error}"));
        }
    };
    let scenario = Scenario::asked_by(&input.last_question());
    let steps = scenario.steps(&Ids { thread: input.thread_id, run: input.run_id });
    let mut response = Response::new(Either::Left(Playing::new(steps)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-cache"));
    response
}

fn refused(status: StatusCode, detail: &str) -> Answer {
    plain(status, "application/json", json!({ "detail": detail }).to_string())
}

fn plain(status: StatusCode, media: &'static str, text: String) -> Answer {
    let mut response = Response::new(Either::Right(Full::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(media));
    response
}

/// What the agent reads of a `RunAgentInput`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    thread_id: String,
    run_id: String,
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    /// Text, or a list of parts.
    #[serde(default)]
    content: Value,
}

impl Input {
    /// The text of the last user message; empty without one.
    fn last_question(&self) -> String {
        let Some(message) = self.messages.iter().rev().find(|message| message.role == "user") else {
            return String::new();
        };
        match &message.content {
            Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
            content => content.as_str().unwrap_or_default().to_owned(),
        }
    }
}

/// A script being played: each event leaves after its pause. Dropping it ends the run at once.
struct Playing {
    steps: vec::IntoIter<Step>,
    next: Option<What>,
    pause: Pin<Box<Sleep>>,
}

impl Playing {
    fn new(steps: Vec<Step>) -> Self {
        let mut steps = steps.into_iter();
        let first = steps.next();
        let pause = Box::pin(sleep(first.as_ref().map(|step| step.pause).unwrap_or_default()));
        Self { steps, next: first.map(|step| step.what), pause }
    }
}

impl Body for Playing {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.next.is_none() {
            return Poll::Ready(None);
        }
        std::task::ready!(self.pause.as_mut().poll(cx));
        let now = self.next.take();
        if let Some(step) = self.steps.next() {
            self.pause.as_mut().reset(Instant::now() + step.pause);
            self.next = Some(step.what);
        }
        Poll::Ready(now.map(|what| match what {
            What::Event(json) => Ok(Frame::data(Bytes::from(format!("data: {json}\n\n")))),
            What::BreakOff => Err(io::Error::other("broken off, as the script says")),
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.next.is_none()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn question(messages: Value) -> String {
        let input = json!({"threadId": "t", "runId": "r", "messages": messages});
        serde_json::from_value::<Input>(input).unwrap().last_question()
    }

    #[test]
    fn the_last_user_message_counts_as_text_or_as_parts() {
        assert_eq!(question(json!([])), "");
        assert_eq!(
            question(json!([
                {"id": "1", "role": "user", "content": "weather"},
                {"id": "2", "role": "user", "content": "plan"},
                {"id": "3", "role": "assistant", "content": "fail"}
            ])),
            "plan"
        );
        let parts = json!([{"type": "text", "text": "bre"}, {"type": "image"}, {"type": "text", "text": "ak"}]);
        assert_eq!(question(json!([{"id": "1", "role": "user", "content": parts}])), "break");
    }

    #[tokio::test]
    async fn an_input_without_ids_is_refused_with_a_reason() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve(listener));
        let error = super::super::client::run(address, "{}".to_owned(), |_| Ok(())).await.unwrap_err();
        assert!(error.to_string().contains("422"), "{error}");
        assert!(error.to_string().contains("missing field `threadId`"), "{error}");
        assert_eq!(super::super::client::get(address, "/health").await.unwrap(), "ok\n");
    }
}
