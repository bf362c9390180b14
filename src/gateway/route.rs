//! A request's host, path and headers come in, the route that serves it goes out. No two routes are alike:
//! the configuration is refused if they could be.

use http::{
    HeaderMap, HeaderValue, Request, Uri, Version, header,
    uri::{Authority, PathAndQuery, Scheme},
};

use crate::config;

/// Puts the routes in the order in which they are tried: longest path first, then the more particular ones.
pub fn order(routes: &mut [config::Route]) {
    routes.sort_by_key(|route| {
        let length = if route.path == "/" { 0 } else { route.path.len() };
        std::cmp::Reverse((length, route.host.is_some(), route.headers.len()))
    });
}

/// Whether this route serves requests at `host`, as far as that tells. With a dot behind it a host is the same one.
pub fn is_at(route: &config::Route, host: Option<&str>) -> bool {
    let host = host.map(|host| host.strip_suffix('.').unwrap_or(host));
    route.host.as_deref().is_none_or(|wanted| host.is_some_and(|host| host.eq_ignore_ascii_case(wanted)))
}

/// Whether this route serves requests with these headers, as far as they tell: no line of them may say otherwise.
pub fn is_for(route: &config::Route, headers: &HeaderMap) -> bool {
    route.headers.iter().all(|(name, value)| {
        let mut lines = headers.get_all(name).iter().peekable();
        lines.peek().is_some() && lines.all(|line| line == value)
    })
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

/// Whether a request says for whom it is as its version asks for: HTTP/1.1 has one `Host`, and HTTP/2 an authority or
/// that, or both and the same in them; none is anything but a host and a port (RFC 9112, 3.2; RFC 9113, 8.3.1). Where the
/// target of HTTP/1.1 has an authority too, it alone counts.
pub fn names_its_host<B>(request: &Request<B>) -> bool {
    let (version, authority) = (request.version(), request.uri().authority().map(Authority::as_str));
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let host = hosts.next();
    if hosts.next().is_some() || !host.is_none_or(is_host) || !authority.is_none_or(is_named) {
        return false;
    }
    match (authority, host.map(HeaderValue::as_bytes)) {
        (Some(authority), Some(host)) => version != Version::HTTP_2 || same(authority, host, request.uri().scheme()),
        (None, Some(host)) => version != Version::HTTP_2 || !host.is_empty(),
        (None, None) => version < Version::HTTP_11,
        (Some(_), None) => version != Version::HTTP_11,
    }
}

/// Whether this is a host with or without a port, or empty, as for a target that has none.
fn is_host(value: &HeaderValue) -> bool {
    value.is_empty() || value.to_str().is_ok_and(is_named)
}

/// Whether this is a host with or without a port. No name has a comma, which is what stands between two that were put
/// together.
fn is_named(text: &str) -> bool {
    text.parse::<Authority>().is_ok_and(|authority| {
        let host = authority.host();
        !host.is_empty()
            && !host.contains(',')
            && text.strip_prefix(host).is_some_and(|port| port.is_empty() || port_of(port).is_some())
    })
}

/// The port in what follows a host; `Some(None)` if the colon has nothing behind it.
fn port_of(text: &str) -> Option<Option<u16>> {
    let digits = text.strip_prefix(':')?;
    if digits.is_empty() {
        return Some(None);
    }
    // A sign would be taken for a part of it.
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten().map(Some)
}

/// Whether this authority and this `Host` are the same place.
fn same(authority: &str, host: &[u8], scheme: Option<&Scheme>) -> bool {
    let usual = if scheme == Some(&Scheme::HTTPS) { 443 } else { 80 };
    let place = |text: &str| {
        let host = text.parse::<Authority>().ok()?.host().to_ascii_lowercase();
        let port = text.get(host.len()..).and_then(port_of).flatten().unwrap_or(usual);
        Some((host.trim_end_matches('.').to_owned(), port))
    };
    authority.as_bytes() == host
        || std::str::from_utf8(host).is_ok_and(|host| place(host).is_some_and(|host| Some(host) == place(authority)))
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

/// The path and query to ask the agent for: its own path, then the rest of the client's, then both queries. `None`: it is
/// longer than a target can be.
pub fn target(agent: &Uri, rest: &str, query: Option<&str>) -> Option<PathAndQuery> {
    let base = agent.path();
    let mut target = String::with_capacity(base.len() + rest.len() + query.map_or(0, str::len) + 2);
    target.push_str(if rest.is_empty() { base } else { base.trim_end_matches('/') });
    target.push_str(rest);
    let queries = [agent.query(), query].into_iter().flatten().filter(|q| !q.is_empty());
    for (i, query) in queries.enumerate() {
        target.push(if i == 0 { '?' } else { '&' });
        target.push_str(query);
    }
    target.try_into().ok()
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
        let target = |agent: &str, rest: &str, query| {
            super::target(&agent.parse().unwrap(), rest, query).map(|target| target.to_string())
        };
        assert_eq!(target("http://a/agui", "", None).as_deref(), Some("/agui"));
        assert_eq!(target("http://a/agui/", "", None).as_deref(), Some("/agui/"));
        assert_eq!(target("http://a/agui/", "/info", Some("x=1")).as_deref(), Some("/agui/info?x=1"));
        assert_eq!(target("http://a", "", Some("x=%20")).as_deref(), Some("/?x=%20"));
        assert_eq!(target("http://a?k=v", "/i", Some("x=1")).as_deref(), Some("/i?k=v&x=1"));
        assert_eq!(target("http://a/agui", "/", None).as_deref(), Some("/agui/"));
        let long = |bytes: usize| target("http://a/agui", &format!("/{}", "b".repeat(bytes - 6)), None);
        assert!(long(65_534).is_some() && long(65_535).is_none());
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

    #[test]
    fn a_request_names_one_host() {
        let names = |version, target: &str, hosts: &[&'static str]| {
            let request = Request::builder().version(version).uri(target);
            names_its_host(&hosts.iter().fold(request, |request, host| request.header("host", *host)).body(()).unwrap())
        };
        let (old, new) = (Version::HTTP_11, Version::HTTP_2);
        for host in ["a", "a.b-c_d.example:8080", "10.0.0.1", "[::1]:80", "a:", "a:65535", "a."] {
            assert!(names(old, "/x", &[host]), "{host}");
            assert!(names(new, &format!("http://{host}/x"), &[]), "{host}");
            assert!(names(new, &format!("http://{host}/x"), &[host]), "{host}");
            assert!(names(new, "/x", &[host]), "{host}");
        }
        for host in ["u@a", "u:p@a", "a,b", "a:65536", "a:b", "a:+1", ":80"] {
            assert!(!names(old, "/x", &[host]), "{host}");
            assert!(!names(new, &format!("http://{host}/x"), &[]), "{host}");
            assert!(!names(old, &format!("http://{host}/x"), &["a"]), "{host}");
            assert!(!names(new, "http://a/x", &[host]), "{host}");
        }
        assert!(names(old, "/x", &[""]) && !names(new, "/x", &[""]) && !names(new, "http://a/x", &[""]));
        assert!(!names(old, "/x", &[]) && !names(new, "/x", &[]) && names(Version::HTTP_10, "/x", &[]));
        assert!(!names(old, "/x", &["a", "a"]) && !names(new, "http://a/x", &["a", "a"]));
        for (authority, host, same) in [
            ("a", "A", true),
            ("a:80", "a", true),
            ("a.", "a:", true),
            ("a:8080", "a:08080", true),
            ("a", "b", false),
            ("a:8080", "a", false),
            ("a:443", "a", false),
        ] {
            assert_eq!(names(new, &format!("http://{authority}/x"), &[host]), same, "{authority} {host}");
            assert!(names(old, &format!("http://{authority}/x"), &[host]), "the target alone counts");
        }
        assert!(names(new, "https://a:443/x", &["a"]) && !names(new, "https://a:80/x", &["a"]));
    }
}
