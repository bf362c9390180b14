//! The source: requests with a `RunAgentInput` come in, AG-UI runs over SSE go out, paced or as fast as it goes.
//!
//! It stands for the agent behind a proxy. One event is one HTTP chunk; connections are kept alive.

use std::{io, time::Duration};

use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    time::{Instant, sleep_until},
};

use crate::{
    check::{STAMP_DIGITS, now},
    http::{Chunks, Head, Wire, invalid},
    run::{self, Shape},
};

/// The largest request body that is read, in bytes.
const BODY_LIMIT: usize = 64 * 1024;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n\
                    transfer-encoding: chunked\r\n\r\n";

/// Answers every connection until the listener fails.
///
/// # Errors
/// What the listener says.
pub async fn serve(listener: TcpListener) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::task::spawn_local(async move {
            // A client that goes away is the sink's to report.
            let _ = connection(stream).await;
        });
    }
}

async fn connection(stream: TcpStream) -> io::Result<()> {
    let mut wire = Wire::new(stream, 4096)?;
    while let Some(head) = wire.head().await? {
        let input = body(&mut wire, &head).await?;
        match run::shape(&input) {
            Some(shape) if head.first().starts_with("POST ") => answer(&mut wire, &input, &shape).await?,
            _ => {
                let refusal = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
                wire.stream.write_all(refusal.as_bytes()).await?;
            }
        }
    }
    Ok(())
}

async fn body(wire: &mut Wire, head: &Head) -> io::Result<String> {
    let mut body = Vec::new();
    let mut chunks = Chunks::default();
    let chunked = head.is("transfer-encoding", "chunked");
    let length: usize = head.get("content-length").and_then(|n| n.parse().ok()).unwrap_or(0);
    while if chunked { !chunks.done() } else { body.len() < length } {
        if wire.pending().is_empty() && wire.fill().await? == 0 {
            return Err(invalid("a request that was cut off"));
        }
        let used = if chunked {
            chunks.feed(wire.pending(), |piece| {
                body.extend_from_slice(piece);
                Ok(())
            })?
        } else {
            let used = wire.pending().len().min(length - body.len());
            body.extend_from_slice(&wire.pending()[..used]);
            used
        };
        wire.used(used);
        if body.len() > BODY_LIMIT {
            return Err(invalid("a request that is too large"));
        }
    }
    String::from_utf8(body).map_err(|_| invalid("a request that is not UTF-8"))
}

/// One run. Bursts are due at fixed times, so that a late one does not delay those after it.
async fn answer(wire: &mut Wire, input: &str, shape: &Shape) -> io::Result<()> {
    let began = Instant::now() + Duration::from_micros(shape.phase);
    let ids = format!(
        r#""threadId":"{}","runId":"{}""#,
        run::text(input, "threadId").unwrap_or_default(),
        run::text(input, "runId").unwrap_or_default()
    );
    let message = r#""messageId":"5d5a4b9e-7a31-4c58-9c0e-2f6f1d0c8a77""#;

    let mut out = HEAD.as_bytes().to_vec();
    event(&mut out, &format!(r#"{{"type":"RUN_STARTED",{ids}}}"#));
    event(&mut out, &format!(r#"{{"type":"TEXT_MESSAGE_START",{message},"role":"assistant"}}"#));
    wire.stream.write_all(&out).await?;

    let mut content = Content::new(message);
    let (mut sent, mut bursts) = (0, 0);
    while sent < shape.events {
        if shape.every > 0 {
            sleep_until(began + Duration::from_micros(shape.every * bursts)).await;
        }
        let burst = shape.burst.min(shape.events - sent);
        wire.stream.write_all(content.burst(burst as usize)).await?;
        sent += burst;
        bursts += 1;
    }
    if shape.hold_until > 0 {
        let left = (shape.hold_until * 1000).saturating_sub(now());
        tokio::time::sleep(Duration::from_micros(left)).await;
    }

    out.clear();
    event(&mut out, &format!(r#"{{"type":"TEXT_MESSAGE_END",{message}}}"#));
    event(&mut out, &format!(r#"{{"type":"RUN_FINISHED",{ids}}}"#));
    out.extend_from_slice(b"0\r\n\r\n");
    wire.stream.write_all(&out).await
}

fn event(out: &mut Vec<u8>, json: &str) {
    let frame = format!("data: {json}\n\n");
    out.extend_from_slice(format!("{:x}\r\n{frame}\r\n", frame.len()).as_bytes());
}

/// Content events, written once and stamped with the time again for each use: the source must not be the slow one.
struct Content {
    chunk: Vec<u8>,
    /// Where the stamp is in a chunk.
    stamp: usize,
    burst: Vec<u8>,
}

impl Content {
    fn new(message: &str) -> Self {
        let blank = "0".repeat(STAMP_DIGITS);
        let mut chunk = Vec::new();
        event(&mut chunk, &format!(r#"{{"type":"TEXT_MESSAGE_CONTENT",{message},"delta":"{blank} tide"}}"#));
        let stamp = memchr::memmem::find(&chunk, blank.as_bytes()).unwrap_or(0);
        Self { chunk, stamp, burst: Vec::new() }
    }

    fn burst(&mut self, events: usize) -> &[u8] {
        let mut left = now();
        for digit in self.chunk[self.stamp..self.stamp + STAMP_DIGITS].iter_mut().rev() {
            *digit = b'0' + (left % 10) as u8;
            left /= 10;
        }
        self.burst.clear();
        for _ in 0..events {
            self.burst.extend_from_slice(&self.chunk);
        }
        &self.burst
    }
}
