//! What happened on a run comes in, once for each time; how often it did goes out when the counts are handed over, so that
//! no event touches what threads share. It knows nothing of what is counted.

/// Counts that wait. Their keys are few and found by comparing.
#[derive(Debug)]
pub struct Pending<K>(Vec<(K, u64)>);

impl<K> Default for Pending<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: PartialEq> Pending<K> {
    /// It happened once more.
    pub fn add(&mut self, key: K) {
        match self.0.iter_mut().find(|(other, _)| *other == key) {
            Some((_, n)) => *n += 1,
            None => self.0.push((key, 1)),
        }
    }

    /// What happened since the last call, and how often.
    pub fn take(&mut self) -> impl Iterator<Item = (K, u64)> {
        self.0.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_counts_once_and_is_handed_over_once() {
        let mut pending = Pending::default();
        ["a", "b", "a"].into_iter().for_each(|key| pending.add(key));
        assert_eq!(pending.take().collect::<Vec<_>>(), [("a", 2), ("b", 1)]);
        assert_eq!(pending.take().count(), 0);
    }
}
