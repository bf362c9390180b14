//! What is wrong with a configuration, and where: key paths and places go in, lines for people come out.
//! A problem names keys, files, variables and flags; it never quotes a value that may be secret.

use std::{collections::BTreeMap, fmt};

/// Everything that is wrong with a configuration, in the order of the file; never empty.
///
/// `Display` writes one problem a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Errors(Vec<Problem>);

/// One thing that is wrong: `place: key.path: what is wrong; what to do`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where the key or value was written.
    pub place: Place,
    /// The key's path, as in `routes[0].limits.frame`; empty for a file that cannot be read at all.
    pub key: String,
    /// What is wrong, and what to do about it.
    pub what: String,
}

/// Where something was written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A file as a whole, by the name it was given with.
    File(String),
    /// A file's line and column, both counted from 1, the column in characters.
    Position(String, usize, usize),
    /// An environment variable.
    Variable(String),
    /// A command-line flag.
    Flag(String),
    /// Nowhere: it is missing and there is no file to write it in.
    Nowhere,
}

/// The way to a value: keys and list indices from the top.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct KeyPath(Vec<Step>);

/// One step of a [`KeyPath`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Key(String),
    Item(usize),
}

/// Where each key and value of a configuration was written.
#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    of: BTreeMap<KeyPath, Written>,
}

/// The two places of a key with its value; the same one where there is no key.
#[derive(Debug, Clone)]
struct Written {
    key: Place,
    value: Place,
}

/// Problems as they are found.
pub(super) struct Found<'a> {
    places: &'a Places,
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
}

// === impl Errors ===

impl Errors {
    /// The problems, in the order of the file, then of the environment and the flags.
    pub fn problems(&self) -> &[Problem] {
        &self.0
    }
}

impl From<Problem> for Errors {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Errors {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.what)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => f.write_str(file),
            Self::Position(file, line, column) => write!(f, "{file}:{line}:{column}"),
            Self::Variable(name) => f.write_str(name),
            Self::Flag(flag) => f.write_str(flag),
            Self::Nowhere => f.write_str("configuration"),
        }
    }
}

// === impl KeyPath ===

impl KeyPath {
    /// The top of the configuration.
    pub(super) fn top() -> Self {
        Self::default()
    }

    /// The way on to this key.
    pub(super) fn key(&self, key: &str) -> Self {
        let mut steps = self.0.clone();
        steps.push(Step::Key(key.to_owned()));
        Self(steps)
    }

    /// The way on to this entry of a list.
    pub(super) fn item(&self, index: usize) -> Self {
        let mut steps = self.0.clone();
        steps.push(Step::Item(index));
        Self(steps)
    }

    /// The keys on the way, without list indices.
    pub(super) fn keys(&self) -> Vec<&str> {
        let key = |step| match step {
            &Step::Item(_) => None,
            Step::Key(key) => Some(String::as_str(key)),
        };
        self.0.iter().filter_map(key).collect()
    }

    fn parent(&self) -> Option<Self> {
        let (_, rest) = self.0.split_last()?;
        Some(Self(rest.to_vec()))
    }

    /// Whether this lies inside of what the other leads to.
    pub(super) fn is_below(&self, other: &Self) -> bool {
        self.0.len() > other.0.len() && self.0.starts_with(&other.0)
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            match step {
                Step::Item(index) => write!(f, "[{index}]")?,
                Step::Key(key) => {
                    if i > 0 {
                        f.write_str(".")?;
                    }
                    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '$');
                    if !key.is_empty() && key.chars().all(bare) {
                        f.write_str(key)?;
                    } else {
                        write!(f, "{key:?}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

// === impl Places ===

impl Places {
    /// Notes where a key and its value were written.
    pub(super) fn note(&mut self, path: KeyPath, key: Place, value: Place) {
        self.of.insert(path, Written { key, value });
    }

    /// Takes the places of a layer that is merged over this one. What it replaces is forgotten: `replaced`
    /// are the values of the upper layer that are no tables.
    pub(super) fn overlay(&mut self, upper: Self, replaced: &[KeyPath]) {
        for path in replaced {
            self.of.retain(|known, _| !known.is_below(path));
        }
        self.of.extend(upper.of);
    }

    /// Where this value was written, or else what surrounds it.
    pub(super) fn value(&self, path: &KeyPath) -> Place {
        self.find(path, |written| &written.value)
    }

    /// Where this key was written, or else what surrounds it.
    pub(super) fn key(&self, path: &KeyPath) -> Place {
        self.find(path, |written| &written.key)
    }

    /// Whether somebody wrote exactly this key, rather than leaving it to its default.
    pub(super) fn is_written(&self, path: &KeyPath) -> bool {
        self.of.contains_key(path)
    }

    /// Whether somebody wrote anything inside of this table.
    pub(super) fn is_anything_below(&self, path: &KeyPath) -> bool {
        self.of.keys().any(|known| known.is_below(path))
    }

    fn find(&self, path: &KeyPath, place: impl Fn(&Written) -> &Place) -> Place {
        let mut at = Some(path.clone());
        let mut exact = true;
        while let Some(path) = at {
            if let Some(written) = self.of.get(&path) {
                return if exact { place(written) } else { &written.key }.clone();
            }
            exact = false;
            at = path.parent();
        }
        Place::Nowhere
    }
}

// === impl Found ===

impl<'a> Found<'a> {
    /// Nothing yet.
    pub(super) fn new(places: &'a Places) -> Self {
        Self { places, problems: Vec::new(), warnings: Vec::new() }
    }

    /// Where everything was written.
    pub(super) fn places(&self) -> &'a Places {
        self.places
    }

    /// A value is wrong.
    pub(super) fn value(&mut self, path: &KeyPath, what: impl Into<String>) {
        self.push(self.places.value(path), path, what);
    }

    /// A key is wrong, or a value is missing there.
    pub(super) fn key(&mut self, path: &KeyPath, what: impl Into<String>) {
        self.push(self.places.key(path), path, what);
    }

    /// A value, or a key without one, is odd.
    pub(super) fn warn(&mut self, path: &KeyPath, what: impl Into<String>) {
        let place = self.places.value(path);
        self.warnings.push(Problem { place, key: path.to_string(), what: what.into() });
    }

    /// What is odd, in the order of the file.
    pub(super) fn warnings(&mut self) -> Vec<Problem> {
        self.warnings.sort_by(|a, b| a.place.cmp(&b.place));
        std::mem::take(&mut self.warnings)
    }

    fn push(&mut self, place: Place, path: &KeyPath, what: impl Into<String>) {
        self.problems.push(Problem { place, key: path.to_string(), what: what.into() });
    }

    /// Adds problems that were found elsewhere.
    pub(super) fn extend(&mut self, problems: Vec<Problem>) {
        self.problems.extend(problems);
    }

    /// All problems, or none.
    pub(super) fn finish(mut self) -> Result<(), Errors> {
        self.problems.sort_by(|a, b| a.place.cmp(&b.place));
        self.problems.dedup();
        if self.problems.is_empty() { Ok(()) } else { Err(Errors(self.problems)) }
    }
}
