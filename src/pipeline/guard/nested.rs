//! Starts of runs within a run come in, as they are left out; whose end an event is that ends a run goes out. It sends
//! nothing and holds nothing but identifiers.
//!
//! Some agents report a child's run in the run that waits for it, others start one run twice. The end of what was left
//! out belongs with its start, or all that follows it would be late.

/// How many starts are known by their identifiers. More are only counted.
const KNOWN_MAX: usize = 64;
/// How long an identifier is to be known.
const ID_MAX: usize = 4096;

/// Whose end it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// The run's own.
    Run,
    /// That of a run within it.
    Nested,
    /// Either, for both have this identifier: what follows tells.
    Either,
}

/// The starts that were left out and have not ended.
#[derive(Debug, Default)]
pub struct Nested {
    ids: Vec<Box<str>>,
    /// How many more there are of which no identifier is known.
    unnamed: u32,
}

impl Nested {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty() && self.unnamed == 0
    }

    /// Bytes kept.
    pub fn held(&self) -> usize {
        self.ids.iter().map(|id| id.len()).sum()
    }

    /// The start of a run of this identifier was left out.
    pub fn starts(&mut self, id: Option<&str>) {
        match id.filter(|id| id.len() <= ID_MAX && self.ids.len() < KNOWN_MAX) {
            Some(id) => self.ids.push(id.into()),
            None => self.unnamed = self.unnamed.saturating_add(1),
        }
    }

    /// A run of this identifier ends, within the run of identifier `outer`. An identifier that tells nothing is that of
    /// the last that began.
    pub fn ends(&mut self, id: Option<&str>, outer: Option<&str>) -> Ends {
        if self.is_empty() {
            return Ends::Run;
        }
        let is_outer = id.is_some() && id == outer;
        match self.ids.iter().rposition(|known| id == Some(known)) {
            Some(at) => drop(self.ids.remove(at)),
            None if is_outer => {
                *self = Self::default();
                return Ends::Run;
            }
            None if self.unnamed > 0 => self.unnamed -= 1,
            None => drop(self.ids.pop()),
        }
        if is_outer { Ends::Either } else { Ends::Nested }
    }

    /// Whether a run of this identifier is among them, and not the run around them; it is not from now on.
    pub fn fails(&mut self, id: &str, outer: Option<&str>) -> bool {
        let found = self.ids.iter().rposition(|known| **known == *id).filter(|_| outer != Some(id));
        found.map(|at| self.ids.remove(at)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(ids: &[Option<&str>]) -> Nested {
        let mut nested = Nested::default();
        ids.iter().for_each(|id| nested.starts(*id));
        nested
    }

    #[test]
    fn identifiers_tell_whose_end_it_is() {
        let mut runs = nested(&[Some("a"), Some("b")]);
        assert_eq!(runs.ends(Some("a"), Some("r")), Ends::Nested);
        assert_eq!(runs.ends(Some("r"), Some("r")), Ends::Run);
        assert!(runs.is_empty() && runs.held() == 0, "the run's end is that of all within it");
        assert_eq!(runs.ends(Some("b"), Some("r")), Ends::Run);
    }

    #[test]
    fn where_they_tell_nothing_the_nesting_counts() {
        let mut runs = nested(&[Some("a"), None]);
        for id in [None, Some("x")] {
            assert_eq!(runs.ends(id, Some("r")), Ends::Nested);
        }
        assert_eq!(runs.ends(None, Some("r")), Ends::Run);
        let mut same = nested(&[Some("r")]);
        assert_eq!(same.ends(Some("r"), Some("r")), Ends::Either);
        assert_eq!(same.ends(Some("r"), Some("r")), Ends::Run);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut runs = nested(&vec![Some("abc"); 1000]);
        runs.starts(Some(&"x".repeat(ID_MAX + 1)));
        assert_eq!((runs.held(), runs.unnamed), (3 * KNOWN_MAX, 1001 - 64));
    }

    #[test]
    fn a_failure_is_a_childs_by_name_only() {
        let mut runs = nested(&[Some("a"), Some("r")]);
        assert!(!runs.fails("x", Some("r")) && !runs.fails("r", Some("r")));
        assert!(runs.fails("a", Some("r")) && !runs.fails("a", Some("r")));
    }
}
