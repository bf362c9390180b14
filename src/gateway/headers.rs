//! The headers of a request or an answer come in, what the next hop should see goes out. Bodies are not its
//! business.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, HeaderName, HeaderValue, Method, Version, header};
use ipnet::IpNet;

use crate::{config::HeaderRules, wire::media};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// What belongs to one connection alone (RFC 9110, 7.6.1), whether or not `Connection` names it.
const HOP_BY_HOP: [HeaderName; 8] = [
    header::CONNECTION,
    KEEP_ALIVE,
    PROXY_CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Takes away what belongs to one connection alone, also what `Connection` names.
///
/// `Content-Length`, `Content-Type` and `Host` stay even if `Connection` names them: without them the message
/// would mean something else.
pub fn strip_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| HeaderName::from_bytes(name.trim().as_bytes()).ok())
        .filter(|name| ![header::CONTENT_LENGTH, header::CONTENT_TYPE, header::HOST].contains(name))
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

/// Whether the body may be the input of a run, by what is said of it.
pub fn carry_json(method: &Method, headers: &HeaderMap) -> bool {
    let json = |value: &HeaderValue| media::is_json(value.as_bytes());
    *method == Method::POST && headers.get(header::CONTENT_TYPE).is_none_or(json)
}

/// Whether the body has no transfer coding but `chunked`, said once. Any other one would be lost on the way.
pub fn are_framed_plainly(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    codings.next().is_none_or(|coding| coding.as_bytes().eq_ignore_ascii_case(b"chunked")) && codings.next().is_none()
}

/// Whether an answer's body comes as it is once it is out of its chunks. Any other coding would be lost on the way, but for
/// the one that is none, as old agents write it.
pub fn comes_plainly(headers: &HeaderMap) -> bool {
    let codings =
        headers.get_all(header::TRANSFER_ENCODING).iter().flat_map(|line| line.as_bytes().split(|b| *b == b','));
    let plain =
        |coding: &[u8]| [&b"chunked"[..], b"identity", b""].iter().any(|name| name.eq_ignore_ascii_case(coding));
    codings.map(<[u8]>::trim_ascii).all(plain)
}

/// Where a request came from, for those behind the gateway.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The other end of the connection.
    pub peer: IpAddr,
    /// Whether its own word on who it speaks for is believed.
    pub trusted: bool,
    /// Whether it spoke TLS.
    pub secure: bool,
    /// The host that the client asked for.
    pub host: Option<HeaderValue>,
    /// The version of HTTP that it spoke.
    pub version: Version,
}

impl Origin {
    /// Who the client is, by `X-Forwarded-For`, or by `Forwarded` where that is all there is: the last hop that is no
    /// trusted proxy. A hop that names no address is not looked behind, for whoever wrote it may have written all before
    /// it: then it is the one after that.
    pub fn client(&self, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
        let mut client = self.peer;
        if !self.trusted {
            return client;
        }
        let name = if headers.contains_key(&FORWARDED_FOR) { &FORWARDED_FOR } else { &header::FORWARDED };
        let lines = headers.get_all(name).iter().rev();
        for hop in lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b',')) {
            let hop = if *name == header::FORWARDED { node(hop) } else { Some(hop) };
            let Some(address) = hop.and_then(address) else { break };
            client = address;
            if !trusted.iter().any(|net| net.contains(&address)) {
                break;
            }
        }
        client
    }
}

/// For whom a hop of `Forwarded` speaks (RFC 7239, 4).
fn node(hop: &[u8]) -> Option<&[u8]> {
    let mut pairs = hop.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    let value =
        pairs.find_map(|pair| pair.split_at_checked(4).filter(|(name, _)| name.eq_ignore_ascii_case(b"for=")))?.1;
    Some(value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value))
}

/// The address of a hop, which some proxies write with its port.
fn address(hop: &[u8]) -> Option<IpAddr> {
    let hop = std::str::from_utf8(hop).ok()?.trim();
    let plain = hop.strip_prefix('[').and_then(|hop| hop.strip_suffix(']')).unwrap_or(hop);
    let address = plain.parse().ok().or_else(|| hop.parse::<SocketAddr>().ok().map(|address| address.ip()));
    address.map(|address: IpAddr| address.to_canonical())
}

/// Takes out of a request's trailers what no agent may take from there: whatever frames, routes, admits or forwards a
/// request (RFC 9110, 6.5.1), and what this agent's headers are set to or freed of.
pub fn trailers_toward_agent(trailers: &mut HeaderMap, rules: &HeaderRules) {
    strip_hop_by_hop(trailers);
    let is_ruled = |name: &HeaderName| rules.remove.contains(name) || rules.set.iter().any(|(other, _)| other == name);
    let names: Vec<HeaderName> = trailers.keys().filter(|name| is_of_a_head(name) || is_ruled(name)).cloned().collect();
    for name in names {
        trailers.remove(name);
    }
}

/// Whether a field of this name has its meaning in a head alone.
fn is_of_a_head(name: &HeaderName) -> bool {
    const NAMES: [&str; 13] = [
        "authorization",
        "cache-control",
        "cookie",
        "expect",
        "forwarded",
        "host",
        "max-forwards",
        "pragma",
        "range",
        "trailer",
        "via",
        "x-api-key",
        "x-real-ip",
    ];
    let name = name.as_str();
    NAMES.contains(&name) || ["content-", "if-", "x-forwarded-"].iter().any(|begin| name.starts_with(begin))
}

/// Turns a client's headers into what its agent gets.
pub fn toward_agent(headers: &mut HeaderMap, origin: &Origin, rules: &HeaderRules) {
    let trailers = accepts_trailers(headers);
    strip_hop_by_hop(headers);
    headers.remove(header::EXPECT);
    if trailers {
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
    }
    forwarded(headers, origin);
    headers.append(header::VIA, via(origin.version));
    for name in &rules.remove {
        headers.remove(name);
    }
    for (name, value) in &rules.set {
        headers.insert(name.clone(), value.clone());
    }
}

/// Adds this hop to `Forwarded` and `X-Forwarded-*`; what an untrusted peer wrote there goes first.
fn forwarded(headers: &mut HeaderMap, origin: &Origin) {
    if !origin.trusted {
        for name in [&header::FORWARDED, &FORWARDED_FOR, &FORWARDED_HOST, &FORWARDED_PROTO] {
            headers.remove(name);
        }
    }
    let proto = if origin.secure { "https" } else { "http" };
    let peer = origin.peer.to_string();
    let node = if origin.peer.is_ipv6() { format!("\"[{peer}]\"") } else { peer.clone() };
    let host = origin.host.as_ref().and_then(|host| host.to_str().ok());
    let quoted = host.filter(|h| !h.contains(['"', '\\'])).map(|h| format!(";host=\"{h}\"")).unwrap_or_default();
    append(headers, header::FORWARDED, &format!("for={node}{quoted};proto={proto}"));
    append(headers, FORWARDED_FOR, &peer);
    if let Some(host) = &origin.host {
        headers.entry(FORWARDED_HOST).or_insert_with(|| host.clone());
    }
    headers.entry(FORWARDED_PROTO).or_insert(HeaderValue::from_static(proto));
}

/// Adds to a list header, all of it in one line, as most readers expect of `X-Forwarded-For`.
fn append(headers: &mut HeaderMap, name: HeaderName, last: &str) {
    let mut list: Vec<&[u8]> = headers.get_all(&name).iter().map(HeaderValue::as_bytes).collect();
    list.push(last.as_bytes());
    if let Ok(value) = HeaderValue::from_bytes(&list.join(&b", "[..])) {
        headers.insert(name, value);
    }
}

fn via(version: Version) -> HeaderValue {
    HeaderValue::from_static(match version {
        Version::HTTP_2 => "2 tidegate",
        Version::HTTP_10 => "1.0 tidegate",
        _ => "1.1 tidegate",
    })
}

fn accepts_trailers(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::TE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|coding| coding.trim().eq_ignore_ascii_case("trailers"))
}

/// Readies the headers of an event stream that may turn out to be anything: its frames pass untouched, but for
/// a content coding that had to be undone to look at them. Its length goes, since a run may get a longer end.
pub fn of_stream(headers: &mut HeaderMap) {
    strip_hop_by_hop(headers);
    headers.remove(header::CONTENT_LENGTH);
}

/// Turns the headers of an agent's event stream into those of a run: nothing on the way may hold it back,
/// and its length and coding are the gateway's own.
pub fn of_run(headers: &mut HeaderMap, content_type: &'static str) {
    strip_hop_by_hop(headers);
    for name in [header::CONTENT_LENGTH, header::CONTENT_ENCODING, header::TRAILER, header::ACCEPT_RANGES, header::ETAG]
    {
        headers.remove(name);
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn chunked_is_the_only_transfer_coding_and_is_said_once() {
        let plain = |codings: &[&'static str]| {
            let codings = codings.iter().map(|coding| (header::TRANSFER_ENCODING, HeaderValue::from_static(coding)));
            let mut headers = HeaderMap::new();
            headers.extend(codings);
            are_framed_plainly(&headers)
        };
        assert!(plain(&[]) && plain(&["chunked"]) && plain(&["Chunked"]));
        for codings in
            [&["gzip, chunked"][..], &["chunked, chunked"], &["chunked", "chunked"], &["identity", "chunked"], &[""]]
        {
            assert!(!plain(codings), "{codings:?}");
        }
    }

    #[test]
    fn an_answer_comes_in_chunks_or_as_it_is() {
        for (coding, plain) in
            [("chunked", true), ("Identity", true), ("identity, chunked", true), ("gzip, chunked", false), ("x", false)]
        {
            assert_eq!(comes_plainly(&map(&[("transfer-encoding", coding)])), plain, "{coding}");
        }
        assert!(comes_plainly(&HeaderMap::new()));
    }

    fn map(list: &[(&'static str, &'static str)]) -> HeaderMap {
        list.iter().map(|(k, v)| (HeaderName::from_static(k), HeaderValue::from_static(v))).collect()
    }

    fn origin(trusted: bool) -> Origin {
        Origin {
            peer: "192.0.2.7".parse().unwrap(),
            trusted,
            secure: false,
            host: Some(HeaderValue::from_static("chat.example.com")),
            version: Version::HTTP_11,
        }
    }

    #[test]
    fn hop_by_hop_headers_go_also_those_that_connection_names() {
        let mut headers = map(&[
            ("connection", "keep-alive, X-Hop , content-length"),
            ("keep-alive", "timeout=5"),
            ("x-hop", "secret"),
            ("upgrade", "h2c"),
            ("te", "gzip"),
            ("content-length", "3"),
            ("x-kept", "1"),
        ]);
        strip_hop_by_hop(&mut headers);
        let mut names: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["content-length", "x-kept"]);
    }

    #[test]
    fn an_untrusted_peer_does_not_choose_who_it_speaks_for() {
        let sent = [("x-forwarded-for", "1.2.3.4"), ("forwarded", "for=1.2.3.4"), ("x-forwarded-proto", "https")];
        let mut headers = map(&sent);
        toward_agent(&mut headers, &origin(false), &HeaderRules::default());
        assert_eq!(headers["x-forwarded-for"], "192.0.2.7");
        assert_eq!(headers["forwarded"], "for=192.0.2.7;host=\"chat.example.com\";proto=http");
        assert_eq!(headers["x-forwarded-proto"], "http");
        assert_eq!(headers["x-forwarded-host"], "chat.example.com");
        assert_eq!(headers["via"], "1.1 tidegate");
    }

    #[test]
    fn a_trusted_proxy_is_added_to() {
        let mut headers = map(&[("x-forwarded-for", "1.2.3.4"), ("x-forwarded-proto", "https")]);
        toward_agent(&mut headers, &origin(true), &HeaderRules::default());
        assert_eq!(headers["x-forwarded-for"], "1.2.3.4, 192.0.2.7");
        assert_eq!(headers["x-forwarded-proto"], "https");
    }

    #[test]
    fn the_client_is_the_last_hop_that_is_no_trusted_proxy() {
        let trusted: Vec<IpNet> = vec!["192.0.2.0/24".parse().unwrap(), "10.0.0.0/8".parse().unwrap()];
        let client = |value, origin: Origin| origin.client(&map(&[("x-forwarded-for", value)]), &trusted).to_string();
        assert_eq!(client("9.9.9.9, 203.0.113.5, 10.1.1.1", origin(true)), "203.0.113.5");
        assert_eq!(client("10.1.1.1", origin(true)), "10.1.1.1");
        assert_eq!(client("203.0.113.5", origin(false)), "192.0.2.7");
        assert_eq!(client("nonsense", origin(true)), "192.0.2.7");
        for forged in
            ["9.9.9.9, x, 203.0.113.5", "9.9.9.9,, 203.0.113.5", "unknown, 203.0.113.5", "9.9.9.9, 203.0.113.5"]
        {
            assert_eq!(client(forged, origin(true)), "203.0.113.5", "{forged}");
        }
        assert_eq!(client("9.9.9.9, x, 10.1.1.1", origin(true)), "10.1.1.1", "nobody knows what is behind");
        for spelled in
            ["203.0.113.5:4711", "::ffff:203.0.113.5", "[::ffff:203.0.113.5]:4711", "203.0.113.5 ,::ffff:10.1.1.1"]
        {
            assert_eq!(client(spelled, origin(true)), "203.0.113.5", "{spelled}");
        }
        assert_eq!(client("[2001:db8::1]", origin(true)), "2001:db8::1");
        let forwarded = |value| origin(true).client(&map(&[("forwarded", value)]), &trusted).to_string();
        assert_eq!(forwarded("for=9.9.9.9, For=\"203.0.113.5:80\";proto=http, proto=http;for=10.1.1.1"), "203.0.113.5");
        assert_eq!(forwarded("for=\"[2001:db8::1]:80\""), "2001:db8::1");
        assert_eq!(forwarded("for=9.9.9.9, for=_hidden"), "192.0.2.7");
        let lines = [("x-forwarded-for", "9.9.9.9"), ("x-forwarded-for", "203.0.113.5, 10.1.1.1")];
        let mut headers = HeaderMap::new();
        let _ = lines.map(|(name, line)| headers.append(name, HeaderValue::from_static(line)));
        assert_eq!(origin(true).client(&headers, &trusted).to_string(), "203.0.113.5");
    }

    #[test]
    fn set_replaces_and_remove_comes_first() {
        let mut headers = map(&[("authorization", "Bearer user"), ("cookie", "a=b")]);
        let rules = HeaderRules {
            set: vec![(header::AUTHORIZATION, HeaderValue::from_static("Bearer service"))],
            remove: vec![header::COOKIE],
        };
        toward_agent(&mut headers, &origin(false), &rules);
        assert_eq!(headers.get_all("authorization").iter().count(), 1);
        assert_eq!(headers["authorization"], "Bearer service");
        assert!(!headers.contains_key("cookie"));
    }

    #[test]
    fn trailers_get_round_nothing() {
        let rules = HeaderRules {
            set: vec![(HeaderName::from_static("x-tenant"), HeaderValue::from_static("acme"))],
            remove: vec![HeaderName::from_static("x-internal")],
        };
        let mut trailers = map(&[
            ("x-sum", "7"),
            ("x-tenant", "evil"),
            ("x-internal", "1"),
            ("authorization", "Bearer evil"),
            ("x-api-key", "evil"),
            ("cookie", "a=b"),
            ("x-forwarded-for", "9.9.9.9"),
            ("forwarded", "for=9.9.9.9"),
            ("content-length", "3"),
            ("transfer-encoding", "chunked"),
            ("host", "evil"),
            ("if-match", "x"),
        ]);
        trailers_toward_agent(&mut trailers, &rules);
        assert_eq!(trailers, map(&[("x-sum", "7")]));
    }

    #[test]
    fn only_the_wish_for_trailers_is_passed_on() {
        let mut headers = map(&[("te", "trailers, deflate;q=0.5"), ("expect", "100-continue")]);
        toward_agent(&mut headers, &origin(false), &HeaderRules::default());
        assert_eq!(headers["te"], "trailers");
        assert!(!headers.contains_key("expect"));
    }
}
