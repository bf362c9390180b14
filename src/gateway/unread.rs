//! What the server writes by itself to a request that it cannot read comes in, the same with a body that says what is wrong
//! goes out: nobody else hears of such a request before its connection is closed.

use std::task::{Context, Poll, ready};

use memchr::memmem;

use super::problem::Problem;

/// How the server says that nothing follows it.
const CLOSES: &[u8] = b"connection: close\r\n";
/// How the server says that no body follows.
const NO_BODY: &[u8] = b"content-length: 0\r\n";

/// An answer on its way, in place of the server's own.
#[derive(Debug)]
pub struct Instead {
    bytes: Vec<u8>,
    written: usize,
}

impl Instead {
    /// What is written in place of these bytes, if they are the whole of such an answer.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let status = bytes.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
        let problem = match status {
            b"400" => Problem::BAD_REQUEST,
            b"414" => Problem::URI_TOO_LONG,
            b"431" => Problem::HEAD_TOO_LARGE,
            _ => return None,
        };
        let head = bytes.strip_suffix(b"\r\n\r\n")?;
        // It has this, the date and the end of the connection, and nothing else.
        let lines = head.split(|byte| *byte == b'\n').count();
        let closes = memmem::find(bytes, CLOSES).is_some();
        let at = memmem::find(bytes, NO_BODY).filter(|_| closes && lines <= 4)?;
        let json = problem.json();
        let body = format!(
            "content-type: application/problem+json\r\ncache-control: no-store\r\ncontent-length: {}\r\n",
            json.len()
        );
        let (before, after) = (bytes.get(..at)?, bytes.get(at + NO_BODY.len()..)?);
        Some(Self { bytes: [before, body.as_bytes(), after, json.as_bytes()].concat(), written: 0 })
    }

    /// Writes what is left of it.
    pub fn poll<E>(
        &mut self,
        cx: &mut Context<'_>,
        mut write: impl FnMut(&mut Context<'_>, &[u8]) -> Poll<Result<usize, E>>,
    ) -> Poll<Result<(), E>> {
        while let Some(rest) = self.bytes.get(self.written..).filter(|rest| !rest.is_empty()) {
            match ready!(write(cx, rest))? {
                0 => break,
                written => self.written += written,
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{convert::Infallible, task::Waker};

    use super::*;

    #[test]
    fn the_servers_own_refusals_get_a_body_and_nothing_else_does() {
        let own = |status: &str, more: &str| {
            format!("HTTP/1.1 {status}\r\n{more}content-length: 0\r\nconnection: close\r\ndate: today\r\n\r\n")
        };
        for (status, code) in [
            ("400 Bad Request", "BAD_REQUEST"),
            ("431 Request Header Fields Too Large", "HEAD_TOO_LARGE"),
            ("414 URI Too Long", "URI_TOO_LONG"),
        ] {
            let mut instead = Instead::of(own(status, "").as_bytes()).unwrap();
            let mut wrote = Vec::new();
            let mut write = |_: &mut Context<'_>, bytes: &[u8]| {
                wrote.extend(&bytes[..bytes.len().min(7)]);
                Poll::Ready(Ok::<_, Infallible>(bytes.len().min(7)))
            };
            assert!(instead.poll(&mut Context::from_waker(Waker::noop()), &mut write).is_ready());
            let text = String::from_utf8(wrote).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with(&format!("HTTP/1.1 {status}\r\n")) && head.ends_with("date: today"), "{head}");
            assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{head}");
            assert!(body.contains(&format!("\"code\":\"{code}\"")), "{body}");
        }
        for other in [
            own("404 Not Found", ""),
            own("400 Bad Request", "x-agent: 1\r\n"),
            own("400 Bad Request", "").replace("connection: close\r\n", ""),
            own("400 Bad Request", "").replace("length: 0", "length: 2") + "no",
            "PRI * HTTP/2.0".into(),
            String::new(),
        ] {
            assert!(Instead::of(other.as_bytes()).is_none(), "{other}");
        }
    }
}
