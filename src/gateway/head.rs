//! The head of a request comes in; that there is one way to read it goes out, or why it is refused. Who asks, and for what,
//! is not looked at.

use http::Request;

use super::{admit::Refused, headers, problem::Problem, route, socket::Line};
use crate::observe::Refusal;

/// Refuses what two readers could take for different requests. Who came over HTTP/1.1 has a `line`.
pub fn check<B>(request: &Request<B>, line: Option<&Line>) -> Result<(), Refused> {
    let malformed = |problem| Err((problem, Refusal::Malformed));
    // A length beside a transfer coding is gone from the headers by now.
    if line.is_some_and(|line| !line.is_clear()) || !headers::are_framed_plainly(request.headers()) {
        return malformed(Problem::BAD_FRAMING);
    }
    if !route::names_its_host(request.version(), request.headers()) {
        return malformed(Problem::BAD_HOST);
    }
    if route::climbs(request.uri().path()) {
        return malformed(Problem::BAD_PATH);
    }
    Ok(())
}
