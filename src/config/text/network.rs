//! Addresses, urls, hosts and paths.

use std::net::{IpAddr, SocketAddr};

use http::{
    Uri,
    uri::{Authority, PathAndQuery},
};
use ipnet::IpNet;

use super::Text;

/// An address to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::config) struct Address(pub(in crate::config) SocketAddr);

/// An address to listen on, or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::config) struct AddressOrOff(pub(in crate::config) Option<SocketAddr>);

/// Where an agent is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct AgentUrl(pub(in crate::config) Uri);

/// A block of addresses; one address is a block of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::config) struct Network(pub(in crate::config) IpNet);

/// The host that a route answers to, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct Host(pub(in crate::config) String);

/// The path that a route begins with, without a slash at its end except for `/` itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct RoutePath(pub(in crate::config) String);

/// What an agent is asked for to see whether it works: a path, and a query if need be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct HealthPath(pub(in crate::config) PathAndQuery);

fn address(text: &str) -> Result<SocketAddr, String> {
    let Err(_) = text.parse::<SocketAddr>() else {
        return text.parse().map_err(|_| String::new());
    };
    let port = |text: &str| text.parse::<u16>().is_ok();
    let hint = match text.rsplit_once(':') {
        _ if port(text) => format!("write \"127.0.0.1:{text}\", or \"0.0.0.0:{text}\" to be reached from outside"),
        _ if text.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv6()) => format!("write \"[{text}]:8080\""),
        _ if text.parse::<IpAddr>().is_ok() => format!("write \"{text}:8080\""),
        Some(("" | "*", after)) if port(after) => format!("write \"0.0.0.0:{after}\""),
        Some(("localhost", after)) if port(after) => format!("write \"127.0.0.1:{after}\""),
        _ => "write an IP address and a port, as in \"127.0.0.1:8080\" or \"[::]:8080\"".to_owned(),
    };
    Err(format!("`{text}` is not an address to listen on; {hint}"))
}

impl Text for Address {
    const FORMAT: &'static str = "address";
    const WHAT: &'static str = "an address";
    const EXAMPLE: &'static str = "127.0.0.1:8080";

    fn read(text: &str) -> Result<Self, String> {
        address(text).map(Self)
    }

    fn write(&self) -> String {
        self.0.to_string()
    }
}

impl Text for AddressOrOff {
    const FORMAT: &'static str = "address-or-off";
    const WHAT: &'static str = "an address or \"off\"";
    const EXAMPLE: &'static str = "127.0.0.1:9090";

    fn read(text: &str) -> Result<Self, String> {
        if text == "off" { Ok(Self(None)) } else { address(text).map(|read| Self(Some(read))) }
    }

    fn write(&self) -> String {
        self.0.map_or_else(|| "off".to_owned(), |address| address.to_string())
    }
}

impl Text for AgentUrl {
    const FORMAT: &'static str = "agent-url";
    const WHAT: &'static str = "a url";
    const EXAMPLE: &'static str = "http://127.0.0.1:8000/agui";

    fn read(text: &str) -> Result<Self, String> {
        // The url itself is not repeated where it may hold a password.
        let authority = text.split_once("://").map_or(text, |(_, rest)| rest).split(['/', '?', '#']).next();
        if authority.is_some_and(|authority| authority.contains('@')) {
            return Err(
                "a url must not hold a name or password; write them into `headers.set.authorization` as a secret"
                    .into(),
            );
        }
        let without_query = text.split(['?', '#']).next().unwrap_or_default();
        let wrong = |what: &str| format!("`{without_query}` {what}");
        let example = "write one as in \"http://127.0.0.1:8000/agui\"";
        if !text.contains("://") {
            return Err(wrong(&format!("has no scheme; {example}")));
        }
        if text.contains('#') {
            return Err(wrong("has a fragment, which is never sent; leave out `#` and what follows"));
        }
        let url: Uri = text.parse().map_err(|_| wrong(&format!("is not a url; {example}")))?;
        match url.scheme_str() {
            Some("http" | "https") => {}
            _ => return Err(wrong(&format!("has a scheme that no agent speaks; {example}"))),
        }
        let named = url.host().is_some_and(|host| !host.is_empty());
        let port = url.authority().is_some_and(|authority| !authority.as_str().ends_with(':') && url_port(authority));
        if named && port { Ok(Self(url)) } else { Err(wrong(&format!("has no host or no proper port; {example}"))) }
    }

    fn write(&self) -> String {
        self.0.to_string()
    }
}

/// Whether what follows the host, if anything, is a port that can be connected to.
fn url_port(authority: &Authority) -> bool {
    let rest = authority.as_str().get(authority.host().len()..).unwrap_or_default();
    rest.is_empty() || authority.port_u16().is_some_and(|port| port != 0)
}

impl Text for HealthPath {
    const FORMAT: &'static str = "health-path";
    const WHAT: &'static str = "a path";
    const EXAMPLE: &'static str = "/health";

    fn read(text: &str) -> Result<Self, String> {
        let wrong = |hint: &str| Err(format!("`{text}` is not a path; {hint}"));
        match text.parse() {
            _ if !text.starts_with('/') => wrong("begin it with a slash, as in \"/health\"; the host is the url's"),
            _ if text.contains('#') => wrong("leave out `#` and what follows, which is never sent"),
            Ok(path) if text.is_ascii() => Ok(Self(path)),
            _ => wrong("write other characters as %XX, as a browser would"),
        }
    }

    fn write(&self) -> String {
        self.0.to_string()
    }
}

impl Text for Network {
    const FORMAT: &'static str = "network";
    const WHAT: &'static str = "a block of addresses";
    const EXAMPLE: &'static str = "10.0.0.0/8";

    fn read(text: &str) -> Result<Self, String> {
        let one = |_| text.parse::<IpAddr>().map(IpNet::from);
        text.parse::<IpNet>().or_else(one).map(|block| Self(block.trunc())).map_err(|_| {
            format!(
                "`{text}` is not a block of addresses; write one as in \"10.0.0.0/8\", \"fd00::/8\" or \"10.1.2.3\""
            )
        })
    }

    fn write(&self) -> String {
        self.0.to_string()
    }
}

impl Text for Host {
    const FORMAT: &'static str = "host";
    const WHAT: &'static str = "a host name";
    const EXAMPLE: &'static str = "chat.example.com";

    fn read(text: &str) -> Result<Self, String> {
        let wrong = |hint: &str| Err(format!("`{text}` is not a host name; {hint}"));
        if text.contains('*') {
            return wrong("there are no patterns: write one route a host, or leave `host` out to answer to all");
        }
        let Ok(authority) = text.parse::<Authority>() else {
            return wrong("write only the name, as in \"chat.example.com\"");
        };
        if authority.host() != text || text.is_empty() {
            return wrong("write only the name, without scheme, port or path");
        }
        // With a dot behind it a host is the same one.
        match text.strip_suffix('.').unwrap_or(text) {
            "" => wrong("write the name, as in \"chat.example.com\""),
            name => Ok(Self(name.to_ascii_lowercase())),
        }
    }

    fn write(&self) -> String {
        self.0.clone()
    }
}

impl Text for RoutePath {
    const FORMAT: &'static str = "route-path";
    const WHAT: &'static str = "a path";
    const EXAMPLE: &'static str = "/support";

    fn read(text: &str) -> Result<Self, String> {
        const ENCODED: &str = "write other characters as %XX, as a browser would";
        let wrong = |hint: &str| Err(format!("`{text}` is not a path; {hint}"));
        if !text.starts_with('/') {
            return wrong(&format!("begin it with a slash, as in \"/{}\"", text.trim_start_matches('/')));
        }
        if text.contains(['?', '#']) {
            return wrong("leave out the query; a route is chosen by path, host and headers");
        }
        if text.contains('*') {
            return wrong("there are no patterns: a path stands for itself and all below it");
        }
        let short = text.trim_end_matches('/');
        if short.contains("//") || short.split('/').any(|part| matches!(part, "." | "..")) {
            return wrong("write it without empty parts, `.` or `..`");
        }
        match text.parse::<http::uri::PathAndQuery>() {
            _ if !text.is_ascii() => wrong(ENCODED),
            Ok(_) if short.is_empty() => Ok(Self("/".into())),
            Ok(_) => Ok(Self(short.to_owned())),
            Err(_) => wrong(ENCODED),
        }
    }

    fn write(&self) -> String {
        self.0.clone()
    }
}
