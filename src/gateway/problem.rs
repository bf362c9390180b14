//! What went wrong before a stream began comes in, an `application/problem+json` answer (RFC 9457) goes out.
//! It says what to do and carries no inner detail.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};

use super::body::Body;

/// An error that is answered over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The status of the answer.
    pub status: StatusCode,
    /// Stable, for programs.
    pub code: &'static str,
    /// For people: what happened and what to do.
    pub detail: &'static str,
    /// Seconds after which it may be tried again.
    pub retry_after: Option<u32>,
    /// Whether the connection cannot be used again.
    pub close: bool,
    /// What to show in a request, as `WWW-Authenticate` says it.
    pub challenge: Option<&'static str>,
    /// The methods that are taken instead, as `Allow` says it.
    pub allow: Option<&'static str>,
}

impl Problem {
    const fn new(status: StatusCode, code: &'static str, detail: &'static str) -> Self {
        Self { status, code, detail, retry_after: None, close: false, challenge: None, allow: None }
    }

    /// No route for this host, path and headers.
    pub const NOT_FOUND: Self =
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", "no route of this gateway has this host, path and headers");
    /// Nothing was shown that tells who asks.
    pub const UNAUTHORIZED: Self = Self {
        challenge: Some("Bearer realm=\"tidegate\""),
        ..Self::new(
            StatusCode::UNAUTHORIZED,
            "UNAUTHORIZED",
            "this route has to know who asks; send a key or token as `Authorization: Bearer`, or a key as `x-api-key`",
        )
    };
    /// What was shown is not taken.
    pub const WRONG_CREDENTIALS: Self = Self {
        challenge: Some("Bearer realm=\"tidegate\", error=\"invalid_token\""),
        ..Self::new(
            StatusCode::UNAUTHORIZED,
            "UNAUTHORIZED",
            "the key or token is not taken here; it may be mistyped, withdrawn, expired or meant for somebody else",
        )
    };
    /// A good token that does not name anybody.
    pub const FORBIDDEN: Self = Self::new(
        StatusCode::FORBIDDEN,
        "FORBIDDEN",
        "the token is good, but lacks the claim that tells who asks; get one that has it",
    );
    /// The issuer's keys could not be read yet.
    pub const NO_KEYS: Self = Self {
        retry_after: Some(10),
        ..Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "AUTH_UNAVAILABLE",
            "tokens cannot be checked at the moment, for the keys of their issuer cannot be read; try again later",
        )
    };
    /// A page of an origin that may not ask.
    pub const ORIGIN: Self = Self::new(
        StatusCode::FORBIDDEN,
        "ORIGIN_NOT_ALLOWED",
        "pages of this origin may not ask here; its exact spelling has to be in cors.origins",
    );
    /// `limits.rate`.
    pub const RATE_LIMITED: Self = Self {
        retry_after: Some(1),
        ..Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "RATE_LIMITED",
            "too many requests in a short time; try again when Retry-After has passed",
        )
    };
    /// `limits.runs`.
    pub const TOO_MANY_RUNS: Self = Self {
        retry_after: Some(1),
        ..Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "TOO_MANY_RUNS",
            "as many runs are in flight as this route takes; try again when Retry-After has passed",
        )
    };
    /// `limits.runs_per_key`.
    pub const TOO_MANY_RUNS_OF_KEY: Self = Self {
        retry_after: Some(1),
        ..Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "TOO_MANY_RUNS",
            "you have as many runs in flight as one may have here; wait until one of them is over",
        )
    };
    /// A client that reads no encoding of a run.
    pub const NOT_ACCEPTABLE: Self = Self::new(
        StatusCode::NOT_ACCEPTABLE,
        "NOT_ACCEPTABLE",
        "a run is answered with text/event-stream or application/vnd.ag-ui.event+proto; accept one of them",
    );
    /// A path that could climb out of its route.
    pub const BAD_PATH: Self =
        Self::new(StatusCode::BAD_REQUEST, "BAD_PATH", "the path has a `..` segment; ask for the path it leads to");
    /// A path that an agent could read as one of another route.
    pub const BAD_SPELLING: Self = Self::new(
        StatusCode::BAD_REQUEST,
        "BAD_PATH",
        "spelled plainly, the path is another route's; ask without `//`, `/./`, `;` and escapes that need not be",
    );
    /// `Content-Length` and `Transfer-Encoding` at odds.
    pub const BAD_FRAMING: Self = Self {
        close: true,
        ..Self::new(
            StatusCode::BAD_REQUEST,
            "BAD_FRAMING",
            "a request has one Content-Length, or Transfer-Encoding: chunked, and never both",
        )
    };
    /// A method that is for a proxy of another kind, or shows what a request looks like on its way.
    pub const METHOD_NOT_ALLOWED: Self = Self {
        allow: Some("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"),
        ..Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "METHOD_NOT_ALLOWED",
            "this gateway opens no tunnels and shows no requests; CONNECT and TRACE end here",
        )
    };
    /// A path that is too long behind the agent's own.
    pub const URI_TOO_LONG: Self = Self::new(
        StatusCode::URI_TOO_LONG,
        "URI_TOO_LONG",
        "the request's path and query are too long to be passed on",
    );
    /// What is no request, or is none that HTTP allows.
    pub const BAD_REQUEST: Self = Self {
        close: true,
        ..Self::new(
            StatusCode::BAD_REQUEST,
            "BAD_REQUEST",
            "this is not a request as HTTP has them; look at its request line, its headers and how its body is framed",
        )
    };
    /// A head without end.
    pub const HEAD_TOO_LARGE: Self = Self {
        close: true,
        ..Self::new(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            "HEAD_TOO_LARGE",
            "the request's head has more than 64 KiB or 100 headers; send less in it",
        )
    };
    /// More lines in the head than anyone reads.
    pub const TOO_MANY_HEADERS: Self = Self::new(
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        "TOO_MANY_HEADERS",
        "the request has more than 100 headers; send fewer",
    );
    /// No host, or none that can be told, or several, of which each reader may take another.
    pub const BAD_HOST: Self = Self::new(
        StatusCode::BAD_REQUEST,
        "BAD_HOST",
        "a request has one Host: the name or address that it is for, with or without a port",
    );
    /// `limits.body`.
    pub const BODY_TOO_LARGE: Self = Self {
        close: true,
        ..Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "BODY_TOO_LARGE",
            "the request's body is larger than this route takes; send a smaller one, or raise limits.body",
        )
    };
    /// The body stopped coming.
    pub const BODY_TIMEOUT: Self = Self {
        close: true,
        ..Self::new(StatusCode::REQUEST_TIMEOUT, "BODY_TIMEOUT", "the rest of the request's body did not come in time")
    };
    /// The body broke off, or was framed wrongly.
    pub const BODY_BROKEN: Self = Self {
        close: true,
        ..Self::new(StatusCode::BAD_REQUEST, "BODY_BROKEN", "the request's body broke off or was framed wrongly")
    };
    /// A body that has to be read and cannot be.
    pub const BODY_CODING: Self = Self {
        close: true,
        ..Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "BODY_CODING",
            "this route has to read the request's body; send it as gzip, deflate, br, zstd or without a content coding",
        )
    };
    /// A body that a tool policy cannot read.
    pub const BODY_UNREADABLE: Self = Self::new(
        StatusCode::BAD_REQUEST,
        "BODY_UNREADABLE",
        "this route has a tool policy, which has to read the request's body; send one JSON object in UTF-8, with \
         `tools` and `messages` once and as AG-UI has them",
    );
    /// The gateway is shutting down.
    pub const DRAINING: Self = Self {
        retry_after: Some(1),
        close: true,
        ..Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "GATEWAY_SHUTDOWN",
            "this gateway is shutting down; send the request again, on a new connection",
        )
    };
    /// The gateway had to stop before the agent answered.
    pub const SHUT_DOWN: Self = Self {
        close: true,
        ..Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "GATEWAY_SHUTDOWN",
            "this gateway had to stop before the agent answered; the agent may still be acting on the request",
        )
    };
    /// No connection to the agent.
    pub const UNREACHABLE: Self = Self::new(
        StatusCode::BAD_GATEWAY,
        "UPSTREAM_UNREACHABLE",
        "the agent did not take the connection; the request was not sent and can be tried again",
    );
    /// No connection to the agent in time.
    pub const CONNECT_TIMEOUT: Self = Self::new(
        StatusCode::GATEWAY_TIMEOUT,
        "UPSTREAM_UNREACHABLE",
        "the agent did not take the connection in time; the request was not sent and can be tried again",
    );
    /// The agent closed the connection instead of answering.
    pub const NO_ANSWER: Self = Self::new(
        StatusCode::BAD_GATEWAY,
        "UPSTREAM_TRUNCATED",
        "the agent broke the connection before it answered; it may have acted on the request",
    );
    /// A success that is no event stream, where the agent is held to the protocol.
    pub const NO_STREAM: Self = Self::new(
        StatusCode::BAD_GATEWAY,
        "UPSTREAM_STATUS",
        "the agent answered a run with something that is no event stream; ask the agent",
    );
    /// `timeouts.first_event`, before the agent's headers.
    pub const FIRST_EVENT_TIMEOUT: Self = Self::new(
        StatusCode::GATEWAY_TIMEOUT,
        "FIRST_EVENT_TIMEOUT",
        "the agent did not answer in time; it may still be acting on the request",
    );
    /// `timeouts.run`, before the agent's headers.
    pub const RUN_TIMEOUT: Self = Self::new(
        StatusCode::GATEWAY_TIMEOUT,
        "RUN_TIMEOUT",
        "the run took longer than this agent may take; it may still be acting on the request",
    );

    /// The same, to be tried again after so many seconds.
    pub fn after(self, seconds: u32) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    /// The body of the answer.
    pub fn json(&self) -> String {
        let json = serde_json::json!({
            "type": "about:blank",
            "title": self.status.canonical_reason().unwrap_or("Error"),
            "status": self.status.as_u16(),
            "code": self.code,
            "detail": self.detail,
        });
        json.to_string()
    }

    /// The answer.
    pub fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::full(Bytes::from(self.json())));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(challenge) = self.challenge {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        if let Some(allow) = self.allow {
            headers.insert(header::ALLOW, HeaderValue::from_static(allow));
        }
        if self.close {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}
