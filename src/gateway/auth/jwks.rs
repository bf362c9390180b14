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
    jwk::{Jwk, JwkSet, KeyAlgorithm, PublicKeyUse},
};

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
/// The largest set, in bytes.
const LARGEST: usize = 1 << 20;
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
    fn of(jwk: &Jwk) -> Option<Self> {
        let common = &jwk.common;
        let signs = common.public_key_use.as_ref().is_none_or(|used| *used == PublicKeyUse::Signature);
        let key = DecodingKey::from_jwk(jwk).ok().filter(|key| signs && key.family() != AlgorithmFamily::Hmac)?;
        Some(Self { id: common.key_id.clone(), algorithm: common.key_algorithm, key })
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
            Ok(keys) => *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Some(keys),
            Err(error) => tracing::warn!(%error, place = %self, "the keys that tokens are signed with cannot be read"),
        }
    }

    async fn load(&self) -> Result<Arc<[Key]>, Why> {
        let bytes = match &self.place {
            KeySet::Url(url) => fetch::get(url, LARGEST).await?,
            KeySet::File(path) => {
                let mut bytes = Vec::new();
                File::open(path)?.take(LARGEST as u64 + 1).read_to_end(&mut bytes)?;
                bytes.into()
            }
        };
        parse(&bytes)
    }
}

/// The keys of a set that are of use here. A set without any is an error: it would shut everyone out.
fn parse(bytes: &[u8]) -> Result<Arc<[Key]>, Why> {
    if bytes.len() > LARGEST {
        return Err("it is too large".into());
    }
    let set: JwkSet = serde_json::from_slice(bytes).map_err(|_| "it is not a JWK set")?;
    let keys: Arc<[Key]> = set.keys.iter().take(MOST).filter_map(Key::of).collect();
    if keys.is_empty() { Err("it has no public key for signatures".into()) } else { Ok(keys) }
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
