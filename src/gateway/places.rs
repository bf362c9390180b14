//! How many runs may go on at once: a run that begins comes in, a place or that there is none goes out. A place is free
//! again when it is dropped. Threads share the counts; they change once a run.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use super::{auth::Who, counted::Counted};

/// The places of one route.
#[derive(Debug)]
pub struct Places {
    most: Option<u32>,
    most_of_one: Option<u32>,
    counts: Arc<Counts>,
}

/// How many are taken.
#[derive(Debug, Default)]
struct Counts {
    taken: AtomicU32,
    taken_by: Counted<Who>,
}

/// Why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// All are taken.
    All,
    /// Whoever asks has all that one may have.
    One,
}

/// A place, for as long as it lives.
#[derive(Debug)]
pub struct Place {
    of: Arc<Counts>,
    who: Option<Who>,
}

impl Places {
    /// So many for all, and so many for each; `None`: without end.
    pub fn new(most: Option<u32>, most_of_one: Option<u32>) -> Arc<Self> {
        Arc::new(Self { most, most_of_one, counts: Arc::default() })
    }

    /// The same with other limits: who has a place keeps it, also where there are too many now.
    pub fn with(&self, most: Option<u32>, most_of_one: Option<u32>) -> Arc<Self> {
        Arc::new(Self { most, most_of_one, counts: self.counts.clone() })
    }

    /// Takes a place for `who`; nobody in particular counts only among all.
    pub fn take(self: &Arc<Self>, who: Option<&Who>) -> Result<Place, Full> {
        let most = self.most.unwrap_or(u32::MAX);
        let add = |taken: u32| (taken < most).then_some(taken + 1);
        self.counts.taken.fetch_update(Relaxed, Relaxed, add).map_err(|_| Full::All)?;
        // From here on dropping it gives back what was taken.
        let mut place = Place { of: self.counts.clone(), who: None };
        if let (Some(most), Some(who)) = (self.most_of_one, who) {
            if !self.counts.taken_by.take(who.clone(), most) {
                return Err(Full::One);
            }
            place.who = Some(who.clone());
        }
        Ok(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.of.taken.fetch_sub(1, Relaxed);
        if let Some(who) = &self.who {
            self.of.taken_by.give_back(who);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_its_run_is_over() {
        let places = Places::new(Some(2), None);
        let first = places.take(None).unwrap();
        let _second = places.take(None).unwrap();
        assert_eq!(places.take(None).unwrap_err(), Full::All);
        drop(first);
        assert!(places.take(None).is_ok());
    }

    #[test]
    fn other_limits_count_those_who_are_there() {
        let places = Places::new(Some(2), None);
        let here = [places.take(None).unwrap(), places.take(None).unwrap()];
        let fewer = places.with(Some(1), None);
        assert_eq!(fewer.take(None).unwrap_err(), Full::All);
        drop(here);
        let _one = fewer.take(None).unwrap();
        assert_eq!(fewer.take(None).unwrap_err(), Full::All);
        assert!(places.with(Some(2), None).take(None).is_ok());
    }

    #[test]
    fn nobody_has_more_than_one_may_have_and_nothing_stays_of_those_who_left() {
        let places = Places::new(Some(3), Some(1));
        let (a, b) = (Who::Key(Arc::from("x")), Who::Token(Arc::from("x")));
        let first = places.take(Some(&a)).unwrap();
        assert_eq!(places.take(Some(&a)).unwrap_err(), Full::One);
        let second = places.take(Some(&b)).unwrap();
        assert_eq!(places.counts.taken.load(Relaxed), 2);
        drop((first, second));
        assert_eq!(places.counts.taken.load(Relaxed), 0);
        assert!(places.counts.taken_by.is_empty());
    }
}
