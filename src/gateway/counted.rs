//! Who takes one more of something, and who gives it back, comes in; whether they may goes out. Shared by threads, for what
//! changes once a run or a connection.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, PoisonError},
};

/// How many each has. Who has none is forgotten, so there are no more than of what is counted.
#[derive(Debug)]
pub struct Counted<K>(Mutex<HashMap<K, u32>>);

impl<K> Default for Counted<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash> Counted<K> {
    /// Takes one more for `who`, and says whether that was possible: nobody has more than `most`.
    pub fn take(&self, who: K, most: u32) -> bool {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(who).or_default();
        let free = *count < most;
        *count += u32::from(free);
        free
    }

    /// Gives one back.
    pub fn give_back(&self, who: &K) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(who) {
            *count -= 1;
            if *count == 0 {
                counts.remove(who);
            }
        }
    }

    /// Whether nobody has any.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}
