//! `auth`, `cors` and the limits of a route as people write them: who may ask, how often, and for how much.

use std::time;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::OneOrMany;
use crate::config::text::{KeySet, Name, Origin, Sha256, Size, Wait};

/// `auth`: a table, or "off".
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(in crate::config) enum AuthOrOff {
    Off(Off),
    Auth(Box<Auth>),
}

/// The word "off".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(in crate::config) enum Off {
    Off,
}

/// `auth` as a table.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields, inline)]
pub(in crate::config) struct Auth {
    /// Keys that clients show as `Authorization: Bearer` or `x-api-key`. Several, so that one can replace another.
    pub(in crate::config) api_keys: Vec<ApiKey>,
    /// Tokens that clients show as `Authorization: Bearer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) jwt: Option<Jwt>,
}

/// `auth` of the operator's listener: a table, or "off".
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(in crate::config) enum AdminAuthOrOff {
    Off(Off),
    Auth(AdminAuth),
}

/// `auth` of the operator's listener as a table.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields, inline)]
pub(in crate::config) struct AdminAuth {
    /// Keys that are shown as `Authorization: Bearer` or `x-api-key`.
    pub(in crate::config) api_keys: Vec<ApiKey>,
}

/// One of `api_keys`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
pub(in crate::config) struct ApiKey {
    /// Who shows it, for limits and the run log. Two keys may share a name.
    pub(in crate::config) name: Name,
    /// Its SHA-256 in hexadecimal digits; the key itself is nowhere.
    pub(in crate::config) sha256: Sha256,
}

/// `auth.jwt`: whose tokens are taken.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields, inline)]
pub(in crate::config) struct Jwt {
    /// The issuer's public keys: the url or the file of a JWK set, read again on its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) jwks: Option<KeySet>,
    /// What `iss` has to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) issuer: Option<String>,
    /// What `aud` has to name, or a list of which it has to name one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) audience: Option<OneOrMany<String>>,
    /// How far the issuer's clock may be off.
    pub(in crate::config) leeway: Wait,
    /// The signatures that are taken.
    pub(in crate::config) algorithms: Vec<Algorithm>,
    /// The claim that names who asks, for limits and the run log. A token without it is refused.
    pub(in crate::config) claim: Name,
}

/// A signature of a public key: of those alone the gateway can know the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(in crate::config) enum Algorithm {
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

/// `cors`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub(in crate::config) struct Cors {
    /// Origins whose pages may ask and read, exactly. With any, the agent's own word on it is replaced.
    pub(in crate::config) origins: Vec<Origin>,
    /// Whether pages may ask with cookies or client certificates.
    pub(in crate::config) credentials: bool,
}

/// `limits.run`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub(in crate::config) struct Budget {
    /// Events. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4294967295u64))]
    pub(in crate::config) events: Option<u32>,
    /// Their bytes. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) bytes: Option<Size>,
    /// Tool calls. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4294967295u64))]
    pub(in crate::config) tool_calls: Option<u32>,
}

impl Default for AuthOrOff {
    fn default() -> Self {
        Self::Off(Off::Off)
    }
}

impl Default for AdminAuthOrOff {
    fn default() -> Self {
        Self::Off(Off::Off)
    }
}

impl Default for Jwt {
    fn default() -> Self {
        Self {
            jwks: None,
            issuer: None,
            audience: None,
            leeway: Wait(time::Duration::from_secs(60)),
            algorithms: vec![Algorithm::RS256, Algorithm::ES256],
            claim: Name("sub".into()),
        }
    }
}
