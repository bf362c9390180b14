//! The headers of a request come in; who asks, or why that is not known, goes out. Whether they may, and how often, is
//! not decided here.

mod crypto;
mod fetch;
mod jwks;
mod keys;
mod tokens;

use std::sync::Arc;

use http::{HeaderMap, HeaderName, header};
use serde_json::{Map, Value};

use crate::config;
pub use keys::Keys;
use tokens::Tokens;

const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// What a route's clients have to show.
#[derive(Debug)]
pub struct Auth {
    keys: Keys,
    tokens: Option<Tokens>,
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Who {
    /// Whoever has a key of this name.
    Key(Arc<str>),
    /// Whom the issuer of tokens calls so.
    Token(Arc<str>),
}

/// Who asks, and what their token says.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Who.
    pub who: Who,
    /// The claims of the token; none of a key.
    pub claims: Map<String, Value>,
}

/// Why it is not known who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Nothing was shown.
    Nothing,
    /// What was shown is not taken.
    Wrong,
    /// The token is good, but does not say who.
    Nameless,
    /// No key of the issuer could be read so far.
    Unavailable,
}

impl Who {
    /// The name, for the run log.
    pub fn name(&self) -> &Arc<str> {
        let (Self::Key(name) | Self::Token(name)) = self;
        name
    }
}

impl Auth {
    /// As configured. Nothing is read yet.
    pub fn new(config: &config::Auth) -> Self {
        Self { keys: Keys::new(&config.api_keys), tokens: config.jwt.as_ref().map(Tokens::new) }
    }

    /// Who sent these headers. Waits only where a token names a key that is not there yet.
    ///
    /// # Errors
    ///
    /// [`Unknown`]; a header that stands twice is taken for wrong.
    pub async fn identify(&self, headers: &HeaderMap) -> Result<Identity, Unknown> {
        let (key, bearer) = (one(headers, &X_API_KEY), bearer(headers));
        let known = [key, bearer].into_iter().flatten().flatten().find_map(|shown| self.keys.name_of(shown));
        if let Some(name) = known {
            return Ok(Identity { who: Who::Key(name.clone()), claims: Map::new() });
        }
        match (&self.tokens, bearer) {
            (Some(tokens), Some(Some(token))) => tokens.identify(token).await,
            _ if key.is_none() && !headers.contains_key(header::AUTHORIZATION) => Err(Unknown::Nothing),
            _ => Err(Unknown::Wrong),
        }
    }

    /// Takes away what was shown to the gateway, for the agent has no use for it. `Authorization` stays if it can only
    /// be meant for the agent: no tokens are taken here, and it is none of the keys.
    pub fn hide(&self, headers: &mut HeaderMap) {
        let is_ours = |shown: Option<&[u8]>| shown.is_none_or(|shown| self.keys.name_of(shown).is_some());
        if self.tokens.is_some() || bearer(headers).is_some_and(is_ours) {
            headers.remove(header::AUTHORIZATION);
        }
        if !self.keys.is_empty() {
            headers.remove(X_API_KEY);
        }
    }

    /// Reads the issuer's keys again, if it is time to.
    pub async fn upkeep(&self) {
        if let Some(tokens) = &self.tokens {
            tokens.upkeep().await;
        }
    }
}

/// The value of a header; `Some(None)` if it stands more than once.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<Option<&'a [u8]>> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?;
    Some(all.next().is_none().then_some(first.as_bytes()))
}

/// What stands after `Bearer`; `Some(None)` if there are several.
fn bearer(headers: &HeaderMap) -> Option<Option<&[u8]>> {
    let Some(value) = one(headers, &header::AUTHORIZATION)? else { return Some(None) };
    let (scheme, rest) = value.split_at_checked(6)?;
    (scheme.eq_ignore_ascii_case(b"bearer") && rest.first() == Some(&b' ')).then(|| Some(rest.trim_ascii()))
}

/// Whether one of these keys is shown in these headers.
pub fn shows_one(headers: &HeaderMap, keys: &Keys) -> bool {
    let shown = [one(headers, &X_API_KEY), bearer(headers)];
    shown.into_iter().flatten().flatten().any(|shown| keys.name_of(shown).is_some())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;

    fn auth() -> Auth {
        let key = |name: &str, key: &str| config::ApiKey { name: name.into(), sha256: Sha256::digest(key).into() };
        Auth::new(&config::Auth { api_keys: vec![key("web", "one"), key("app", "two")], jwt: None })
    }

    fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in list {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    async fn who(list: &[(&'static str, &'static str)]) -> Result<String, Unknown> {
        auth().identify(&headers(list)).await.map(|identity| identity.who.name().to_string())
    }

    #[tokio::test]
    async fn a_key_is_shown_in_either_header() {
        assert_eq!(who(&[("authorization", "Bearer one")]).await, Ok("web".into()));
        assert_eq!(who(&[("authorization", "bEARER  two ")]).await, Ok("app".into()));
        assert_eq!(who(&[("x-api-key", "two")]).await, Ok("app".into()));
        assert_eq!(who(&[("x-api-key", "one"), ("authorization", "Bearer for-the-agent")]).await, Ok("web".into()));
    }

    #[tokio::test]
    async fn what_is_no_key_is_wrong_and_nothing_is_nothing() {
        assert_eq!(who(&[]).await, Err(Unknown::Nothing));
        for wrong in [
            &[("authorization", "Bearer three")][..],
            &[("authorization", "Bearer")],
            &[("authorization", "Bearerone")],
            &[("authorization", "Basic one")],
            &[("authorization", "one")],
            &[("x-api-key", "")],
            &[("x-api-key", "one"), ("x-api-key", "one")],
            &[("authorization", "Bearer one"), ("authorization", "Bearer two")],
        ] {
            assert_eq!(who(wrong).await, Err(Unknown::Wrong), "{wrong:?}");
        }
    }

    #[test]
    fn keys_go_and_what_is_for_the_agent_stays() {
        let hidden = |list: &[(&'static str, &'static str)]| {
            let mut headers = headers(list);
            auth().hide(&mut headers);
            headers.keys().map(|name| name.to_string()).collect::<Vec<_>>()
        };
        assert!(hidden(&[("authorization", "Bearer one"), ("x-api-key", "two")]).is_empty());
        assert!(hidden(&[("authorization", "Bearer x"), ("authorization", "Bearer one")]).is_empty());
        assert_eq!(hidden(&[("authorization", "Bearer user"), ("x-api-key", "one")]), ["authorization"]);
        assert_eq!(hidden(&[("authorization", "Basic eDp5"), ("x-api-key", "one")]), ["authorization"]);
    }
}
