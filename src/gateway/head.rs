//! The head of a request comes in; the same goes out, spelled so that there is one way to read it, or why it is refused. Who
//! asks, and for what, is not looked at.

use std::rc::Rc;

use http::{HeaderMap, HeaderValue, Method, Request, Version, header};

use super::{
    admit::Refused, headers, length, problem::Problem, route, setup::Setup, site::Site, socket::Line, spelling,
};
use crate::observe::Refusal;

/// The most lines of a head. Over HTTP/1.1 nobody gets here with more.
const MOST_LINES: usize = 100;

/// Refuses what two readers could take for different requests. Who came over HTTP/1.1 has a `line`; the `site` is the one
/// of `setup` that the request is for.
pub fn check<B>(
    request: &mut Request<B>,
    line: Option<&Line>,
    (setup, site): (&Setup, Option<&Rc<Site>>),
) -> Result<(), Refused> {
    let malformed = |problem| Err((problem, Refusal::Malformed));
    // A length beside a transfer coding is gone from the headers by now.
    let is_framed = line.is_none_or(Line::is_clear) && headers::are_framed_plainly(request.headers());
    if !is_framed || !length::settle(request.headers_mut()) {
        return malformed(Problem::BAD_FRAMING);
    }
    if [Method::CONNECT, Method::TRACE].contains(request.method()) {
        return malformed(Problem::METHOD_NOT_ALLOWED);
    }
    if lines(request.headers()) > MOST_LINES {
        return malformed(Problem::TOO_MANY_HEADERS);
    }
    if request.version() == Version::HTTP_2 {
        join_cookies(request.headers_mut());
    }
    if !route::names_its_host(request) {
        return malformed(Problem::BAD_HOST);
    }
    if spelling::climbs(request.uri().path()) {
        return malformed(Problem::BAD_PATH);
    }
    if setup.slips_by(request, site) {
        return malformed(Problem::BAD_SPELLING);
    }
    Ok(())
}

/// The lines of a head. Over HTTP/2 the cookies of one line may come apart, to be compressed better.
fn lines(headers: &HeaderMap) -> usize {
    let crumbs = headers.get_all(header::COOKIE).iter().count();
    headers.len() - crumbs.saturating_sub(1)
}

/// Puts the cookies together that HTTP/2 takes apart: in other versions they are one line (RFC 9113, 8.2.3).
fn join_cookies(headers: &mut HeaderMap) {
    let crumbs: Vec<&[u8]> = headers.get_all(header::COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if crumbs.len() > 1
        && let Ok(cookies) = HeaderValue::from_bytes(&crumbs.join(&b"; "[..]))
    {
        headers.insert(header::COOKIE, cookies);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_that_were_cut_are_one_again() {
        let mut headers = HeaderMap::new();
        for cookie in ["a=1", "b=2"] {
            headers.append(header::COOKIE, HeaderValue::from_static(cookie));
        }
        join_cookies(&mut headers);
        let lines: Vec<_> = headers.get_all(header::COOKIE).iter().collect();
        assert_eq!(lines, ["a=1; b=2"]);
    }

    #[test]
    fn cookies_are_one_line_however_many_they_come_in() {
        let mut headers = HeaderMap::new();
        assert_eq!(lines(&headers), 0);
        for (name, count) in [(header::ACCEPT, 1), (header::COOKIE, 2), (header::COOKIE, 2), (header::ACCEPT, 3)] {
            headers.append(name, HeaderValue::from_static("x"));
            assert_eq!(lines(&headers), count);
        }
    }
}
