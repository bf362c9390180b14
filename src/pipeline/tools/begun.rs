//! The text messages that the client saw begin in a run go in, whether it saw one comes out. A plain set.

use std::collections::HashSet;

/// How many bytes their identifiers may take, each with what a set needs for it. Those that begin past it are not known,
/// so that they may be missing in a snapshot where a denied call was all that they held.
const BEGUN_BYTES: usize = 256 << 10;

/// About what an entry takes beside its text.
const ENTRY: usize = 64;

/// Text messages that the client has.
#[derive(Debug, Default)]
pub struct Begun {
    ids: HashSet<Box<str>>,
    bytes: usize,
}

impl Begun {
    pub fn has(&self, id: &str) -> bool {
        self.ids.contains(id)
    }

    /// A message begins, or goes on.
    pub fn add(&mut self, id: &str) {
        let bytes = id.len() + ENTRY;
        if self.bytes + bytes <= BEGUN_BYTES && self.ids.insert(id.into()) {
            self.bytes += bytes;
        }
    }

    /// Another run begins.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// The bytes that are kept.
    pub fn held(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_is_bounded() {
        let mut begun = Begun::default();
        (0..100_000).for_each(|n| begun.add(&format!("m{n}")));
        assert!(begun.has("m0") && !begun.has("m99999") && begun.held() <= BEGUN_BYTES);
        begun.forget();
        assert!(!begun.has("m0") && begun.held() == 0);
    }
}
