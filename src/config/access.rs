//! Who may ask, how often, and for how much: the checked `auth`, `cors`, `limits.rate` and `limits.run`.

use std::{num::NonZeroU32, path::PathBuf, time::Duration};

use http::{HeaderName, HeaderValue, Uri};

/// `auth`: clients have to show one of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Auth {
    /// Keys; empty only beside `jwt`.
    pub api_keys: Vec<ApiKey>,
    /// Tokens.
    pub jwt: Option<Jwt>,
}

/// One of `auth.api_keys`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// Who shows it.
    pub name: String,
    /// Its SHA-256.
    pub sha256: [u8; 32],
}

/// `auth.jwt`: whose tokens are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jwt {
    /// The issuer's public keys.
    pub jwks: KeySet,
    /// What `iss` has to be.
    pub issuer: String,
    /// What `aud` has to name one of; never empty.
    pub audience: Vec<String>,
    /// How far the issuer's clock may be off. Default: 60 s.
    pub leeway: Duration,
    /// The signatures that are taken; never empty. Default: RS256 and ES256.
    pub algorithms: Vec<Algorithm>,
    /// The claim that names who asks. Default: `sub`.
    pub claim: String,
}

/// Where a JWK set is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySet {
    /// It is asked for.
    Url(Uri),
    /// It is read.
    File(PathBuf),
}

impl KeySet {
    /// The largest set that is read, in bytes.
    pub const LARGEST: usize = 1 << 20;
}

/// A signature of a public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of RFC 7518 and RFC 8037")]
pub enum Algorithm {
    RS256,
    RS384,
    RS512,
    PS256,
    PS384,
    PS512,
    ES256,
    ES384,
    EdDSA,
}

/// `cors`: which pages may ask and read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cors {
    /// Their origins; never empty.
    pub origins: Vec<HeaderValue>,
    /// Whether they may ask with cookies or client certificates. Default: no.
    pub credentials: bool,
}

/// `limits.rate`: so many requests in a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many at once, and in each `per`.
    pub requests: NonZeroU32,
    /// The time.
    pub per: Duration,
    /// Whose requests are counted together.
    pub by: By,
}

/// Whose requests are counted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// Those of one client's address.
    Ip,
    /// Those that show the same name.
    Key,
    /// Those whose tokens have the same value of this claim; all without it together.
    Claim(String),
    /// Those with the same value of this header; all without it together.
    Header(HeaderName),
}

/// `limits.run`: what an agent may send in one answer; `None`: as much as it likes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Events.
    pub events: Option<u64>,
    /// Their bytes.
    pub bytes: Option<u64>,
    /// Tool calls.
    pub tool_calls: Option<u64>,
}
