//! The issuer's public keys: the id of a key comes in, the keys that it may mean go out. The set is read again by the
//! clock, and when a token names a key that is not there, but not more often than tokens can be made up.

use std::{
    fs::File,
    io::Read as _,
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant},
};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use jsonwebtoken::{
    Algorithm, AlgorithmFamily, DecodingKey,
    jwk::{Jwk, KeyAlgorithm, PublicKeyUse},
};
use serde_json::Value;

use super::fetch::{self, Why};
use crate::config::KeySet;

/// How old a set may become before it is read again.
const REFRESH: Duration = Duration::from_secs(5 * 60);
/// A key that is not there is looked for this often, on the long run.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// How often it is looked for at once, before that.
const LOOKS: std::num::NonZeroU32 = std::num::NonZeroU32::MIN.saturating_add(3);
/// How long reading may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most keys of a set; those beyond are not looked at.
const MOST: usize = 64;

/// The keys of one issuer.
#[derive(Debug)]
pub struct Jwks {
    place: KeySet,
    keys: RwLock<Option<Arc<[Key]>>>,
    /// One reads at a time; the rest wait for what comes of it.
    reading: tokio::sync::Mutex<Option<Instant>>,
    looks: DefaultDirectRateLimiter,
}

/// A key that signatures can be checked with.
#[derive(Debug)]
pub struct Key {
    /// How tokens name it.
    id: Option<String>,
    /// The only algorithm it is for, if it says so.
    algorithm: Option<KeyAlgorithm>,
    /// The key.
    pub key: DecodingKey,
}

impl Key {
    /// The key of this entry, if signatures can be checked with it by whoever must not make any.
    fn of(jwk: Jwk, key: DecodingKey) -> Option<Self> {
        let common = jwk.common;
        let signs = common.public_key_use.is_none_or(|used| used == PublicKeyUse::Signature);
        let is_public = key.family() != AlgorithmFamily::Hmac;
        (signs && is_public).then_some(Self { id: common.key_id, algorithm: common.key_algorithm, key })
    }

    /// Whether a token that names this key and algorithm may have been signed with it.
    pub fn may_have_signed(&self, id: Option<&str>, algorithm: Algorithm) -> bool {
        let named = id.is_none_or(|id| self.id.as_deref() == Some(id));
        let fits = self.algorithm.is_none_or(|only| only == KeyAlgorithm::from(algorithm));
        named && fits && self.key.family().algorithms().contains(&algorithm)
    }
}

impl Jwks {
    /// The set at this place, of which nothing is read yet.
    pub fn new(place: KeySet) -> Arc<Self> {
        let quota = Quota::with_period(LOOK_AGAIN).unwrap_or(Quota::per_minute(LOOKS)).allow_burst(LOOKS);
        Arc::new(Self {
            place,
            keys: RwLock::default(),
            reading: tokio::sync::Mutex::default(),
            looks: RateLimiter::direct(quota),
        })
    }

    /// The keys, as last read; `None`: they never were.
    pub fn keys(&self) -> Option<Arc<[Key]>> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads them again because one is missing, unless that was tried too often already.
    pub async fn look_again(self: &Arc<Self>) {
        let asked = Instant::now();
        // A client that leaves must not keep the others from what it waits for.
        let this = self.clone();
        let reading = tokio::spawn(async move {
            let mut read_at = this.reading.lock().await;
            if read_at.is_none_or(|at| at < asked) && this.looks.check().is_ok() {
                this.read(&mut read_at).await;
            }
        });
        let _ = reading.await;
    }

    /// Reads them again if they are old, unless somebody does.
    pub async fn upkeep(&self) {
        let Ok(mut read_at) = self.reading.try_lock() else { return };
        if read_at.is_none_or(|at| at.elapsed() >= REFRESH) {
            self.read(&mut read_at).await;
        }
    }

    /// Takes what is there now; if nothing can be read, the old keys stay.
    async fn read(&self, read_at: &mut Option<Instant>) {
        let read = tokio::time::timeout(PATIENCE, self.load()).await;
        *read_at = Some(Instant::now());
        match read.unwrap_or_else(|_| Err("it took too long".into())) {
            Ok((keys, unread)) => {
                if !unread.is_empty() {
                    let keys = format!("{unread:?}");
                    tracing::warn!(%keys, place = %self, "some of the keys that tokens are signed with cannot be read");
                }
                *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Some(keys);
            }
            Err(error) => tracing::warn!(%error, place = %self, "the keys that tokens are signed with cannot be read"),
        }
    }

    async fn load(&self) -> Result<(Arc<[Key]>, Vec<usize>), Why> {
        let bytes = match &self.place {
            KeySet::Url(url) => fetch::get(url, KeySet::LARGEST).await?,
            KeySet::File(path) => {
                let mut bytes = Vec::new();
                File::open(path)?.take(KeySet::LARGEST as u64 + 1).read_to_end(&mut bytes)?;
                bytes.into()
            }
        };
        parse(&bytes)
    }
}

/// A JWK set, whose keys may be of any kind.
#[derive(serde::Deserialize)]
struct Set {
    keys: Vec<Value>,
}

/// The keys of a set that are of use here, and the places of those that cannot be read: one that is of a kind that nobody
/// knows yet must not shut out those who have others. A set without any is an error: it would shut everyone out.
fn parse(bytes: &[u8]) -> Result<(Arc<[Key]>, Vec<usize>), Why> {
    if bytes.len() > KeySet::LARGEST {
        return Err("it is too large".into());
    }
    let set: Set = serde_json::from_slice(bytes).map_err(|_| "it is not a JWK set")?;
    let (mut keys, mut unread) = (Vec::new(), Vec::new());
    for (place, key) in set.keys.into_iter().take(MOST).enumerate() {
        let read =
            serde_json::from_value::<Jwk>(key).ok().and_then(|jwk| Some((DecodingKey::from_jwk(&jwk).ok()?, jwk)));
        match read {
            Some((key, jwk)) => keys.extend(Key::of(jwk, key)),
            None => unread.push(place),
        }
    }
    if keys.is_empty() { Err("it has no public key for signatures".into()) } else { Ok((keys.into(), unread)) }
}

impl std::fmt::Display for Jwks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.place {
            // The query may hold a secret.
            KeySet::Url(url) => {
                let authority = url.authority().map_or("", |authority| authority.as_str());
                write!(f, "{}://{authority}{}", url.scheme_str().unwrap_or_default(), url.path())
            }
            KeySet::File(path) => path.display().fmt(f),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_that_cannot_be_read_does_not_take_the_others_with_it() {
        super::super::crypto::install();
        let good =
            json!({ "kty": "OKP", "crv": "Ed25519", "kid": "d", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" });
        let bad = [
            json!(null),
            json!([]),
            json!({}),
            json!({ "kty": "AKP", "kid": "new" }),
            json!({ "kty": "OKP", "crv": "Ed9", "x": "AA" }),
            json!({ "kty": "OKP", "crv": "Ed25519", "kid": 7, "x": "AA" }),
        ];
        for bad in &bad {
            let set = json!({ "keys": [bad, good, bad] });
            let (keys, unread) = parse(set.to_string().as_bytes()).unwrap();
            assert_eq!(unread, [0, 2], "{bad}");
            assert!(keys.len() == 1 && keys[0].may_have_signed(Some("d"), Algorithm::EdDSA), "{bad}");
        }
        assert!(parse(json!({ "keys": bad }).to_string().as_bytes()).is_err());
        let symmetric = json!({ "keys": [{ "kty": "oct", "k": "AAAA" }] });
        assert!(parse(symmetric.to_string().as_bytes()).is_err());
    }
}
