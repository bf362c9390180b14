//! A key that somebody shows comes in, whose it is goes out. Only digests are kept.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};

use crate::config::ApiKey;

/// The keys that are taken, by their SHA-256.
#[derive(Debug)]
pub struct Keys(Vec<(Arc<str>, [u8; 32])>);

impl Keys {
    /// These keys.
    pub fn new(keys: &[ApiKey]) -> Self {
        Self(keys.iter().map(|key| (Arc::from(key.name.as_str()), key.sha256)).collect())
    }

    /// Whether no key is taken.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whose key this is. How long that takes tells nothing of the keys: every digest is compared whole.
    pub fn name_of(&self, key: &[u8]) -> Option<&Arc<str>> {
        let shown = Sha256::digest(key);
        let mut place = u32::MAX;
        for (at, (_, digest)) in (0..).zip(&self.0) {
            let same: Choice = digest.as_slice().ct_eq(shown.as_slice());
            place.conditional_assign(&at, same);
        }
        self.0.get(usize::try_from(place).ok()?).map(|(name, _)| name)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_known_by_its_name_and_nothing_else_is() {
        let key = |name: &str, key: &str| ApiKey { name: name.into(), sha256: Sha256::digest(key).into() };
        let keys = Keys::new(&[key("old", "one"), key("new", "two"), key("new", "three")]);
        let name = |key: &str| keys.name_of(key.as_bytes()).map(|name| name.to_string());
        assert_eq!(name("one").as_deref(), Some("old"));
        assert_eq!(name("two").as_deref(), Some("new"));
        assert_eq!(name("three").as_deref(), Some("new"));
        for wrong in ["", "on", "one ", "One", "onetwo"] {
            assert_eq!(name(wrong), None, "{wrong}");
        }
        assert!(Keys::new(&[]).name_of(b"one").is_none());
    }
}
