//! Which pages in a browser may ask and read: the headers of a request come in, what the answer has to say of it goes
//! out. Preflights are answered here and need no key, for a browser sends none with them.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};

use super::{admit::Refused, body::Body, problem::Problem};
use crate::{config, observe::Refusal};

/// How long a browser may keep what a preflight said, in seconds. Longer would outlast a change of the configuration.
const MAX_AGE: u32 = 600;
/// What pages may read of an answer's headers, besides what browsers show anyway.
const EXPOSED: &str = "retry-after, traceparent, www-authenticate, x-request-id";
/// What all headers about this begin with.
const OURS: &str = "access-control-";

/// What a page is told.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its origin, if it may ask.
    origin: Option<HeaderValue>,
    credentials: bool,
}

/// Whether a browser asks whether a page may ask.
pub fn is_preflight<B>(request: &Request<B>) -> bool {
    let has = |name| request.headers().contains_key(name);
    *request.method() == Method::OPTIONS && has(header::ORIGIN) && has(header::ACCESS_CONTROL_REQUEST_METHOD)
}

impl Page {
    /// The page that sent a request, if it was one.
    pub fn of(cors: &config::Cors, headers: &HeaderMap) -> Self {
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let origin = origins.next().filter(|origin| origins.next().is_none() && cors.origins.contains(origin));
        Self { origin: origin.cloned(), credentials: cors.credentials }
    }

    /// Whether it may ask.
    pub fn may_ask(&self) -> bool {
        self.origin.is_some()
    }

    /// Whether another page than may ask, nor one of this host, has a browser send this without asking first: as browsers
    /// do with what a form could send, with the cookies of whoever looks at that page. Everything else they ask for first.
    pub fn is_foreign_form<B>(&self, request: &Request<B>) -> bool {
        let headers = request.headers();
        if self.may_ask() || *request.method() != Method::POST || !headers.contains_key(header::ORIGIN) {
            return false;
        }
        let host = request.uri().authority().map(http::uri::Authority::as_str);
        let host = host.or_else(|| headers.get(header::HOST)?.to_str().ok());
        let own = |origin: &HeaderValue| {
            let (_, authority) = origin.to_str().ok()?.split_once("://")?;
            Some(host?.eq_ignore_ascii_case(authority))
        };
        let of_own_page = headers.get_all(header::ORIGIN).iter().all(|origin| own(origin) == Some(true));
        !of_own_page && headers.get(header::CONTENT_TYPE).is_none_or(is_of_a_form)
    }

    /// Answers a preflight: the page may use the method and the headers that it asks for, for the agent judges those.
    pub fn preflight(&self, asked: &HeaderMap) -> Result<Response<Body>, Refused> {
        if !self.may_ask() {
            return Err((Problem::ORIGIN, Refusal::Origin));
        }
        let mut response = Response::new(Body::full(Bytes::new()));
        *response.status_mut() = StatusCode::NO_CONTENT;
        let headers = response.headers_mut();
        for (wish, grant) in [
            (header::ACCESS_CONTROL_REQUEST_METHOD, header::ACCESS_CONTROL_ALLOW_METHODS),
            (header::ACCESS_CONTROL_REQUEST_HEADERS, header::ACCESS_CONTROL_ALLOW_HEADERS),
        ] {
            for value in asked.get_all(&wish) {
                headers.append(&grant, value.clone());
            }
            vary(headers, &wish);
        }
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from(MAX_AGE));
        Ok(response)
    }

    /// Tells the browser of the page, in any answer, that it may read it. What the agent said of that goes.
    pub fn mark(&self, response: &mut Response<Body>, is_preflight: bool) {
        let headers = response.headers_mut();
        if !is_preflight {
            let theirs: Vec<HeaderName> =
                headers.keys().filter(|name| name.as_str().starts_with(OURS)).cloned().collect();
            for name in theirs {
                headers.remove(name);
            }
        }
        vary(headers, &header::ORIGIN);
        let Some(origin) = &self.origin else { return };
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        if self.credentials {
            headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        }
        if !is_preflight {
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
        }
    }
}

/// Whether forms send this media type (Fetch, 2.2.2).
fn is_of_a_form(media_type: &HeaderValue) -> bool {
    let essence = media_type.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    [&b"text/plain"[..], b"application/x-www-form-urlencoded", b"multipart/form-data"]
        .iter()
        .any(|form| form.eq_ignore_ascii_case(essence))
}

/// Says that the answer depends on this header.
fn vary(headers: &mut HeaderMap, name: &HeaderName) {
    let lines = headers.get_all(header::VARY);
    let mut named = lines.iter().filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(','));
    if !named.any(|one| one.trim() == "*" || one.trim().eq_ignore_ascii_case(name.as_str())) {
        headers.append(header::VARY, HeaderValue::from(name.clone()));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn page(origins: &[&'static str], credentials: bool) -> Page {
        let cors = config::Cors { origins: vec![HeaderValue::from_static("https://a.example")], credentials };
        let origins = origins.iter().map(|origin| (header::ORIGIN, HeaderValue::from_static(origin)));
        let mut headers = HeaderMap::new();
        origins.for_each(|(name, value)| {
            headers.append(name, value);
        });
        Page::of(&cors, &headers)
    }

    fn marked(page: &Page, agents: &[(&'static str, &'static str)]) -> Vec<String> {
        let mut response = Response::new(Body::full(Bytes::new()));
        for (name, value) in agents {
            response.headers_mut().append(*name, HeaderValue::from_static(value));
        }
        page.mark(&mut response, false);
        let line = |(name, value): (&HeaderName, &HeaderValue)| format!("{name}: {}", value.to_str().unwrap());
        response.headers().iter().map(line).collect()
    }

    #[test]
    fn only_the_exact_origin_may_ask() {
        assert!(page(&["https://a.example"], false).may_ask());
        for other in
            ["https://a.example.evil", "http://a.example", "https://a.example:8443", "null", "https://A.example"]
        {
            assert!(!page(&[other], false).may_ask(), "{other}");
        }
        assert!(!page(&[], false).may_ask());
        assert!(!page(&["https://a.example", "https://a.example"], false).may_ask());
    }

    #[test]
    fn the_agents_own_word_is_replaced() {
        let agents = [("access-control-allow-origin", "*"), ("access-control-foo", "x"), ("vary", "Accept, ORIGIN")];
        let said = marked(&page(&["https://a.example"], true), &agents);
        let origin = said.iter().filter(|line| line.starts_with("access-control-allow-origin")).collect::<Vec<_>>();
        assert_eq!(origin, ["access-control-allow-origin: https://a.example"]);
        assert!(said.contains(&"access-control-allow-credentials: true".to_owned()));
        assert!(!said.iter().any(|line| line.contains("foo")));
        assert_eq!(said.iter().filter(|line| line.starts_with("vary")).count(), 1);
        assert_eq!(marked(&page(&["https://b.example"], true), &agents), ["vary: Accept, ORIGIN"]);
        assert_eq!(marked(&page(&[], false), &[]), ["vary: origin"]);
    }

    #[test]
    fn what_another_page_could_send_as_a_form_is_foreign() {
        let request = |origin: Option<&str>, media_type: Option<&str>| {
            let request = Request::post("/").header("host", "gate.example:8443");
            let request = origin.into_iter().fold(request, |request, origin| request.header("origin", origin));
            media_type.into_iter().fold(request, |request, kind| request.header("content-type", kind)).body(()).unwrap()
        };
        let foreign = |origin: Option<&str>, media_type: Option<&str>| {
            let request = request(origin, media_type);
            let cors =
                config::Cors { origins: vec![HeaderValue::from_static("https://a.example")], credentials: false };
            Page::of(&cors, request.headers()).is_foreign_form(&request)
        };
        for media_type in
            [None, Some("text/plain;charset=utf-8"), Some("Text/Plain"), Some("multipart/form-data; boundary=x")]
        {
            assert!(foreign(Some("https://evil.example"), media_type), "{media_type:?}");
            assert!(foreign(Some("null"), media_type), "{media_type:?}");
            assert!(!foreign(Some("https://a.example"), media_type), "{media_type:?}");
            assert!(!foreign(Some("https://gate.example:8443"), media_type), "{media_type:?}");
            assert!(!foreign(None, media_type), "{media_type:?}");
        }
        assert!(!foreign(Some("https://evil.example"), Some("application/json")), "browsers ask for that first");
    }

    #[test]
    fn a_preflight_is_granted_what_it_asks_for_or_nothing() {
        let asked: HeaderMap = [
            (header::ACCESS_CONTROL_REQUEST_METHOD, HeaderValue::from_static("POST")),
            (header::ACCESS_CONTROL_REQUEST_HEADERS, HeaderValue::from_static("authorization,content-type")),
        ]
        .into_iter()
        .collect();
        let granted = page(&["https://a.example"], false).preflight(&asked).unwrap();
        assert_eq!(granted.headers()["access-control-allow-methods"], "POST");
        assert_eq!(granted.headers()["access-control-allow-headers"], "authorization,content-type");
        assert!(page(&["https://b.example"], false).preflight(&asked).is_err());
    }
}
