//! The pages: the head of a request comes in, a whole answer goes out. No I/O.

use bytes::Bytes;
use http::{
    HeaderValue, Method, Response, StatusCode,
    header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS},
    request::Parts,
};
use http_body_util::Full;
use serde_json::json;

use super::{
    accept::Format,
    state::{AdminState, Readiness},
};

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const PROBLEM: &str = "application/problem+json";

const INDEX: &str = "\
Tidegate, the operator's pages

/metrics  what is measured, for Prometheus
/livez    200 while the process runs
/readyz   200 while it wants runs, else 503
/config   the configuration in use, without secrets
";

/// Answers one request; a `HEAD` gets the answer of a `GET`, whose body is not sent.
pub(super) fn answer(state: &AdminState, request: &Parts) -> Response<Full<Bytes>> {
    let page: fn(&AdminState, &Parts) -> Response<Full<Bytes>> = match request.uri.path() {
        "/" => |_, _| page(StatusCode::OK, TEXT, INDEX),
        "/metrics" => metrics,
        "/livez" => |_, _| page(StatusCode::OK, TEXT, "ok\n"),
        "/readyz" => readyz,
        "/config" => |state, _| page(StatusCode::OK, JSON, state.config()),
        _ => {
            return problem(StatusCode::NOT_FOUND, "There is no such page; / lists them.");
        }
    };
    let is_health = matches!(request.uri.path(), "/livez" | "/readyz");
    if !is_health && !state.lets_in(&request.headers) {
        let mut refused = problem(StatusCode::UNAUTHORIZED, "Show a key of admin.auth as `Authorization: Bearer`.");
        refused.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"tidegate admin\""));
        return refused;
    }
    if matches!(request.method, Method::GET | Method::HEAD) {
        return page(state, request);
    }
    let mut refused = problem(StatusCode::METHOD_NOT_ALLOWED, "The pages can only be read.");
    refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    refused
}

fn metrics(state: &AdminState, request: &Parts) -> Response<Full<Bytes>> {
    let format = Format::accepted(&request.headers);
    let text = match format {
        Format::Classic => state.metrics().render(),
        Format::OpenMetrics => state.metrics().render_openmetrics(),
    };
    page(StatusCode::OK, format.content_type(), text)
}

fn readyz(state: &AdminState, _: &Parts) -> Response<Full<Bytes>> {
    match state.readiness() {
        Readiness::Ready => page(StatusCode::OK, TEXT, "ready\n"),
        Readiness::Starting => page(StatusCode::SERVICE_UNAVAILABLE, TEXT, "starting\n"),
        Readiness::Draining => page(StatusCode::SERVICE_UNAVAILABLE, TEXT, "draining\n"),
    }
}

fn problem(status: StatusCode, detail: &str) -> Response<Full<Bytes>> {
    let title = status.canonical_reason();
    let body = json!({ "type": "about:blank", "title": title, "status": status.as_u16(), "detail": detail });
    page(status, PROBLEM, body.to_string())
}

fn page(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
