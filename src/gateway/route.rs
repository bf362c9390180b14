//! A request's host, path and headers come in, the route that serves it goes out. No two routes are alike:
//! the configuration is refused if they could be.

use http::{HeaderMap, HeaderValue, Uri, Version, header, uri::Authority};

use crate::config;

/// Puts the routes in the order in which they are tried: longest path first, then the more particular ones.
pub fn order(routes: &mut [config::Route]) {
    routes.sort_by_key(|route| {
        let length = if route.path == "/" { 0 } else { route.path.len() };
        std::cmp::Reverse((length, route.host.is_some(), route.headers.len()))
    });
}

/// Whether this route serves a request for `path` at `host` with these headers.
pub fn serves(route: &config::Route, host: Option<&str>, path: &str, headers: &HeaderMap) -> bool {
    reaches(route, host, path)
        && route.headers.iter().all(|(name, value)| headers.get_all(name).iter().any(|sent| sent == value))
}

/// Whether this route may serve a request for `path` at `host`, as far as these tell.
pub fn reaches(route: &config::Route, host: Option<&str>, path: &str) -> bool {
    rest_of(&route.path, path).is_some()
        && route.host.as_deref().is_none_or(|wanted| host.is_some_and(|host| host.eq_ignore_ascii_case(wanted)))
}

/// What is left of `path` below `base`, with its leading slash; `None` if it lies elsewhere.
///
/// What is no path, as in `CONNECT host:443` and `OPTIONS *`, lies nowhere: appended, it would become another one.
pub fn rest_of<'a>(base: &str, path: &'a str) -> Option<&'a str> {
    if !path.starts_with('/') {
        return None;
    }
    if base == "/" {
        return Some(if path == "/" { "" } else { path });
    }
    path.strip_prefix(base).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a segment of the path is `..`, spelled in any way: the agent could read it as a way out of its route.
pub fn climbs(path: &str) -> bool {
    path.contains("..") && path.split(['/', '\\']).any(|segment| segment == "..")
        || path.contains('%') && {
            let plain = path.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/").replace("%5c", "/");
            plain.split(['/', '\\']).any(|segment| segment == "..")
        }
}

/// Whether a request says for whom it is as its version asks for: HTTP/1.1 has one `Host`, and none is anything but a
/// host and a port (RFC 9112, 3.2).
pub fn names_its_host(version: Version, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    match hosts.next() {
        Some(host) => is_host(host) && hosts.next().is_none(),
        None => version != Version::HTTP_11,
    }
}

/// Whether this is a host with or without a port, or empty, as for a target that has none.
fn is_host(value: &HeaderValue) -> bool {
    value.is_empty()
        || Authority::try_from(value.as_bytes()).is_ok_and(|authority| {
            let port = authority.as_str().strip_prefix(authority.host());
            port.is_some_and(|port| port.strip_prefix(':').unwrap_or(port).bytes().all(|byte| byte.is_ascii_digit()))
        })
}

/// The host a request asks for, without its port.
pub fn host_of<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    let authority = match uri.authority() {
        Some(authority) => return Some(authority.host()),
        None => headers.get(http::header::HOST)?.to_str().ok()?,
    };
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => Some(host),
        _ => Some(authority),
    }
}

/// The path and query to ask the agent for: its own path, then the rest of the client's, then both queries.
pub fn target(agent: &Uri, rest: &str, query: Option<&str>) -> String {
    let base = agent.path();
    let mut target = String::with_capacity(base.len() + rest.len() + query.map_or(0, str::len) + 2);
    target.push_str(if rest.is_empty() { base } else { base.trim_end_matches('/') });
    target.push_str(rest);
    let queries = [agent.query(), query].into_iter().flatten().filter(|q| !q.is_empty());
    for (i, query) in queries.enumerate() {
        target.push(if i == 0 { '?' } else { '&' });
        target.push_str(query);
    }
    target
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_its_path_and_all_below() {
        assert_eq!(rest_of("/", "/"), Some(""));
        assert_eq!(rest_of("/", "/info"), Some("/info"));
        assert_eq!(rest_of("/support", "/support"), Some(""));
        assert_eq!(rest_of("/support", "/support/"), Some("/"));
        assert_eq!(rest_of("/support", "/support/a/b"), Some("/a/b"));
        assert_eq!(rest_of("/support", "/supporter"), None);
        assert_eq!(rest_of("/support", "/"), None);
        assert_eq!(rest_of("/", "*"), None);
        assert_eq!(rest_of("/", ""), None);
    }

    #[test]
    fn the_rest_and_the_query_are_appended_to_the_agents_url() {
        let target = |agent: &str, rest, query| super::target(&agent.parse().unwrap(), rest, query);
        assert_eq!(target("http://a/agui", "", None), "/agui");
        assert_eq!(target("http://a/agui/", "", None), "/agui/");
        assert_eq!(target("http://a/agui/", "/info", Some("x=1")), "/agui/info?x=1");
        assert_eq!(target("http://a", "", Some("x=%20")), "/?x=%20");
        assert_eq!(target("http://a?k=v", "/i", Some("x=1")), "/i?k=v&x=1");
        assert_eq!(target("http://a/agui", "/", None), "/agui/");
    }

    #[test]
    fn a_path_cannot_climb_out_of_its_route() {
        for path in ["/a/..", "/../b", "/a/%2e%2E/b", "/a/.%2e", "/a%2f..%2fb", "/a/..\\b", "/a%5c..%5cb"] {
            assert!(climbs(path), "{path}");
        }
        for path in ["/", "/a..b", "/...", "/a/b.c", "/%2e%2ea"] {
            assert!(!climbs(path), "{path}");
        }
    }

    #[test]
    fn the_host_is_read_without_its_port() {
        let host = |value: &'static str| {
            let headers = HeaderMap::from_iter([(http::header::HOST, http::HeaderValue::from_static(value))]);
            host_of(&Uri::from_static("/x"), &headers).map(str::to_owned)
        };
        assert_eq!(host("a.example:8080").as_deref(), Some("a.example"));
        assert_eq!(host("a.example").as_deref(), Some("a.example"));
        assert_eq!(host("[::1]:80").as_deref(), Some("[::1]"));
        assert_eq!(host("[::1]").as_deref(), Some("[::1]"));
    }
}
