//! What the tests are made of: a gateway in this process, agents and clients on bare sockets.

mod connection;
mod gateway;
pub mod http2;
pub mod issuer;
mod message;
pub mod tls;

use std::{future::Future, time::Duration};

pub use connection::{Agent, Connection};
pub use gateway::Gateway;
pub use message::Head;

/// Longer than anything here takes on the slowest machine: past it, something hangs.
const PATIENCE: Duration = Duration::from_secs(10);

/// The body of a request for a run.
pub const INPUT: &str = r#"{"threadId":"t1","runId":"r1","messages":[],"state":{},"tools":[],"context":[]}"#;
/// The head of an agent's event stream, whose body is chunked.
pub const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// Waits for what must happen.
pub async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("nothing happened for ten seconds")
}

/// A request for a run at this path.
pub fn post(path: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: gate\r\naccept: text/event-stream\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{INPUT}",
        INPUT.len()
    )
}

/// A request without a body.
pub fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: gate\r\n\r\n")
}

/// One frame of an event stream.
pub fn frame(event: &str) -> String {
    format!("data: {event}\n\n")
}

/// These bytes as one chunk of a body.
pub fn chunk(data: impl AsRef<[u8]>) -> Vec<u8> {
    let data = data.as_ref();
    [format!("{:x}\r\n", data.len()).as_bytes(), data, b"\r\n"].concat()
}

/// The end of a chunked body.
pub const END: &str = "0\r\n\r\n";

pub const STARTED: &str = r#"{"type":"RUN_STARTED","threadId":"t1","runId":"r1"}"#;
pub const FINISHED: &str = r#"{"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}"#;

/// A delta of a message.
pub fn delta(text: &str) -> String {
    format!(r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"{text}"}}"#)
}

/// The frames of these events, one after the other.
pub fn frames<'a>(events: impl IntoIterator<Item = &'a str>) -> String {
    events.into_iter().map(frame).collect()
}

/// The code of the `RUN_ERROR` that this text is, and nothing but that.
pub fn code_of(event: &str) -> String {
    let payload = event.strip_prefix("data: ").and_then(|e| e.strip_suffix("\n\n")).expect(event);
    let event: serde_json::Value = serde_json::from_str(payload).expect(payload);
    assert_eq!(event["type"], "RUN_ERROR", "{payload}");
    event["code"].as_str().expect(payload).to_owned()
}
