//! What says who may ask and how often: digests of keys, origins of pages, rates.

use std::{num::NonZeroU32, time};

use http::{HeaderName, Uri};

use super::Text;

/// The SHA-256 of an API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::config) struct Sha256(pub(in crate::config) [u8; 32]);

/// The origin of a page, as a browser spells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct Origin(pub(in crate::config) http::HeaderValue);

/// So many requests in a time, counted by something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct Rate {
    pub(in crate::config) requests: NonZeroU32,
    pub(in crate::config) per: Unit,
    pub(in crate::config) by: By,
}

/// The time of a [`Rate`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::config) enum Unit {
    Second,
    Minute,
    Hour,
}

/// What a [`Rate`] is counted by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) enum By {
    Ip,
    Key,
    Claim(String),
    Header(HeaderName),
}

impl Text for Sha256 {
    const FORMAT: &'static str = "sha256";
    const WHAT: &'static str = "the SHA-256 of a key";
    const EXAMPLE: &'static str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

    // What was written may be the key itself and is never repeated.
    fn read(text: &str) -> Result<Self, String> {
        let wrong =
            || "not a SHA-256; write 64 hexadecimal digits, as `printf %s KEY | sha256sum` prints them".to_owned();
        let digits = text.as_bytes();
        let mut digest = [0; 32];
        if digits.len() != 2 * digest.len() {
            return Err(wrong());
        }
        for (byte, pair) in digest.iter_mut().zip(digits.chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.bytes().all(|b| b.is_ascii_hexdigit()));
            *byte = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()).ok_or_else(wrong)?;
        }
        Ok(Self(digest))
    }

    fn write(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Text for Origin {
    const FORMAT: &'static str = "origin";
    const WHAT: &'static str = "an origin";
    const EXAMPLE: &'static str = "https://app.example.com";

    fn read(text: &str) -> Result<Self, String> {
        let wrong = |hint: &str| Err(format!("`{text}` is not an origin; {hint}"));
        if text.contains('*') || text == "null" {
            return wrong("there are no patterns, and `null` stands for too many: write each origin out");
        }
        // Apps in a shell have schemes of their own, as capacitor://localhost.
        let Some((scheme, rest)) = text.split_once("://").filter(|(scheme, _)| is_scheme(scheme)) else {
            return wrong("write scheme and host, as in \"https://app.example.com\"");
        };
        if rest.contains(['/', '?', '#', '@']) {
            return wrong("write only scheme, host and port, without anything after them");
        }
        let default = match scheme {
            "https" => Some(":443"),
            "http" => Some(":80"),
            _ => None,
        };
        if let Some(default) = default.filter(|default| rest.ends_with(default)) {
            return wrong(&format!("browsers leave out the port `{default}`; leave it out too"));
        }
        let url: Option<Uri> = text.parse().ok();
        let named = url.is_some_and(|url| url.host().is_some_and(|host| !host.is_empty()) && !text.ends_with(':'));
        match text.to_ascii_lowercase().parse() {
            Ok(value) if named && text.is_ascii() => Ok(Self(value)),
            _ => wrong("write scheme and host as a browser would, as in \"https://app.example.com\""),
        }
    }

    fn write(&self) -> String {
        String::from_utf8_lossy(self.0.as_bytes()).into_owned()
    }
}

/// Whether this is a scheme as browsers write them (RFC 3986, 3.1).
fn is_scheme(text: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.');
    text.starts_with(|first: char| first.is_ascii_lowercase()) && text.bytes().all(known) && text != "file"
}

impl Rate {
    /// How long one request stands for.
    pub(in crate::config) fn per(&self) -> time::Duration {
        time::Duration::from_secs(match self.per {
            Unit::Second => 1,
            Unit::Minute => 60,
            Unit::Hour => 3600,
        })
    }
}

impl Text for Rate {
    const FORMAT: &'static str = "rate";
    const WHAT: &'static str = "a rate";
    const EXAMPLE: &'static str = "60/min by ip";

    fn read(text: &str) -> Result<Self, String> {
        const HINT: &str =
            "write one as in \"60/min by ip\": a number per s, min or h, by ip, key, claim:NAME or header:NAME";
        let wrong = || format!("`{text}` is not a rate; {HINT}");
        let (rate, by) = text.split_once(" by ").ok_or_else(wrong)?;
        let (requests, per) = rate.split_once('/').ok_or_else(wrong)?;
        let per = match per.trim() {
            "s" | "sec" | "second" => Unit::Second,
            "min" | "minute" => Unit::Minute,
            "h" | "hour" => Unit::Hour,
            _ => return Err(wrong()),
        };
        let by = match by.trim().split_once(':') {
            None if by.trim() == "ip" => By::Ip,
            None if by.trim() == "key" => By::Key,
            Some(("claim", name)) if !name.is_empty() => By::Claim(name.to_owned()),
            Some(("header", name)) => By::Header(name.parse().map_err(|_| wrong())?),
            _ => return Err(wrong()),
        };
        Ok(Self { requests: requests.trim().parse().map_err(|_| wrong())?, per, by })
    }

    fn write(&self) -> String {
        let per = match self.per {
            Unit::Second => "s",
            Unit::Minute => "min",
            Unit::Hour => "h",
        };
        let by = match &self.by {
            By::Ip => "ip".to_owned(),
            By::Key => "key".to_owned(),
            By::Claim(name) => format!("claim:{name}"),
            By::Header(name) => format!("header:{name}"),
        };
        format!("{}/{per} by {by}", self.requests)
    }
}

/// Where a set of public keys is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) enum KeySet {
    Url(Uri),
    File(String),
}

impl Text for KeySet {
    const FORMAT: &'static str = "key-set";
    const WHAT: &'static str = "the url or the file of a JWK set";
    const EXAMPLE: &'static str = "http://127.0.0.1:8080/jwks.json";

    fn read(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| Err(format!("`{}` {what}", text.split('?').next().unwrap_or_default()));
        match text.split_once("://") {
            _ if text.is_empty() => wrong("is no place; write the url or the file of a JWK set"),
            Some((_, rest)) if rest.split(['/', '?']).next().is_some_and(|authority| authority.contains('@')) => {
                Err("a url must not hold a name or password".into())
            }
            Some(("http" | "https", _)) => match text.parse::<Uri>() {
                Ok(url) if url.host().is_some_and(|host| !host.is_empty()) => Ok(Self::Url(url)),
                _ => wrong("is not a url; write one as in \"http://127.0.0.1:8080/jwks.json\""),
            },
            Some(_) => wrong("has a scheme that is not read; write a file, or an http:// or https:// url"),
            None => Ok(Self::File(text.to_owned())),
        }
    }

    fn write(&self) -> String {
        match self {
            Self::Url(url) => url.to_string(),
            Self::File(file) => file.clone(),
        }
    }
}
