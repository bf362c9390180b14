//! Patterns and what stands in their place come in, a checked set of them goes out, which whole texts are judged by. A
//! text that comes piece by piece is judged by the same automaton in [`super::sieve`].

use std::{fmt, sync::Arc};

use regex_automata::{
    meta,
    nfa::thompson::{self, NFA, State, WhichCaptures},
    util::{primitives::StateID, syntax},
};

use super::spell;

/// How much memory the patterns of a set may compile to, in bytes.
const COMPILED_MAX: usize = 4 << 20;

/// Why a list of patterns is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It is no regular expression.
    #[error("the pattern '{pattern}' cannot be read: {why}")]
    Syntax {
        /// The pattern.
        pattern: String,
        /// What the parser says.
        why: String,
    },
    /// It would stand between any two letters.
    #[error("the pattern '{pattern}' matches the empty text, and so everywhere")]
    Empty {
        /// The pattern.
        pattern: String,
    },
    /// It is too large, alone or with those before it.
    #[error("the pattern '{pattern}' compiles to more than 4 MiB, with those before it")]
    TooLarge {
        /// The pattern.
        pattern: String,
    },
}

/// What must not leave, and what stands in its place. Cheap to clone: it is shared.
///
/// In a stream, a match that is undecided for 4096 letters counts as one: `\w+@` replaces a longer word, `\w{1,64}@` does
/// not.
///
/// The match that begins first is replaced; of several that begin at one place, that of the pattern that stands first in
/// the list. Matches do not overlap. What stands in a match's place is literal text, and is not looked at again.
#[derive(Clone)]
pub struct Rules(Arc<Set>);

/// A compiled list of patterns.
pub(super) struct Set {
    /// Judges whole texts.
    whole: meta::Regex,
    /// Judges texts that come piece by piece.
    pub nfa: NFA,
    /// What stands in the place of a match of each pattern.
    with: Vec<With>,
    /// Which pattern a state of the automaton belongs to.
    owners: Vec<u32>,
    /// The bytes with which a match can begin.
    first: [bool; 256],
    /// The bytes that can follow these in a match, or be what follows a match that is over.
    second: [bool; 256],
    /// Whether a pattern looks at what stands around a match.
    pub looks: bool,
}

/// A replacement, spelled for a JSON string and for a JSON string within one, both without quotes.
struct With {
    once: Box<[u8]>,
    twice: Box<[u8]>,
}

impl Rules {
    /// The rules of this list: patterns in the syntax of the `regex` crate, each with what stands in the place of its
    /// matches.
    pub fn new(list: &[(&str, &str)]) -> Result<Self, Fault> {
        let mut left = COMPILED_MAX;
        for &(pattern, _) in list {
            let name = || pattern.to_owned();
            let tree = syntax::parse(pattern).map_err(|why| Fault::Syntax { pattern: name(), why: why.to_string() })?;
            if tree.properties().minimum_len() == Some(0) {
                return Err(Fault::Empty { pattern: name() });
            }
            let alone = compiled(&[pattern], left).map_err(|_| Fault::TooLarge { pattern: name() })?;
            left = left.saturating_sub(alone.memory_usage());
        }
        let patterns: Vec<_> = list.iter().map(|(pattern, _)| *pattern).collect();
        let too_large = || Fault::TooLarge { pattern: patterns.last().map_or("", |pattern| *pattern).to_owned() };
        // Each fits, so these fail at nothing but what all share.
        let nfa = compiled(&patterns, 2 * COMPILED_MAX).map_err(|_| too_large())?;
        let config = meta::Config::new().nfa_size_limit(Some(4 * COMPILED_MAX));
        let whole = meta::Builder::new().configure(config).build_many(&patterns).map_err(|_| too_large())?;
        let with = list.iter().map(|(_, with)| With::of(with)).collect();
        let (owners, looks) = (owners(&nfa), !nfa.look_set_any().is_empty());
        let (first, after_first) = reads(&nfa, vec![nfa.start_anchored()]);
        let (second, _) = reads(&nfa, after_first);
        Ok(Self(Arc::new(Set { whole, nfa, with, owners, first, second, looks })))
    }

    pub(super) fn set(&self) -> Arc<Set> {
        Arc::clone(&self.0)
    }

    /// This text with every match replaced.
    pub fn apply(&self, text: &str) -> String {
        let (mut out, mut from) = (String::new(), 0);
        for (place, rule) in self.0.matches(text.as_bytes()) {
            out.push_str(text.get(from..place.start).unwrap_or_default());
            let with = [b"\"", self.0.with(rule, false), b"\""].concat();
            out.push_str(&crate::agui::json::string(&with).unwrap_or_default());
            from = place.end;
        }
        out.push_str(text.get(from..).unwrap_or_default());
        out
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rules({})", self.0.with.len())
    }
}

impl fmt::Debug for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Set({})", self.with.len())
    }
}

impl Set {
    /// Whether something in this whole text must be replaced.
    pub fn is_in(&self, text: &[u8]) -> bool {
        self.whole.is_match(text)
    }

    /// The places to replace in a whole text, with the pattern of each.
    pub fn matches<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = (std::ops::Range<usize>, usize)> + 'a {
        self.whole.find_iter(text).map(|found| (found.range(), found.pattern().as_usize()))
    }

    /// What stands in the place of a match of this pattern, spelled for a JSON string, or one within one.
    pub fn with(&self, rule: usize, twice: bool) -> &[u8] {
        let with = self.with.get(rule);
        with.map_or(&[], |with| if twice { &with.twice } else { &with.once })
    }

    /// Whether a match can begin with this letter.
    pub fn begins(&self, letter: char) -> bool {
        let mut bytes = [0; 4];
        letter.encode_utf8(&mut bytes);
        self.first[usize::from(bytes[0])]
    }

    /// Whether a match can begin with this byte of a letter.
    pub fn begins_with(&self, byte: u8) -> bool {
        self.first[usize::from(byte)]
    }

    /// Whether a match can begin with this byte where that one follows, as it is spelled. What begins an escape may
    /// be anything, and so may what is not there yet.
    pub fn begins_before(&self, byte: u8, next: Option<u8>) -> bool {
        self.begins_with(byte) && next.is_none_or(|next| next == b'\\' || self.second[usize::from(next)])
    }

    /// Whether a match can begin with a letter that is spelled as two halves.
    pub fn begins_with_a_pair(&self) -> bool {
        self.first[0xF0..=0xF4].contains(&true)
    }

    /// Whether a match can begin with a sign or digit of a number.
    pub fn begins_with_a_number(&self) -> bool {
        b"-+.eE0123456789".iter().any(|byte| self.begins_with(*byte))
    }

    /// The pattern that this state of the automaton belongs to.
    pub fn owner(&self, state: StateID) -> usize {
        self.owners.get(state.as_usize()).map_or(0, |owner| *owner as usize)
    }
}

impl With {
    fn of(text: &str) -> Self {
        let once = spell::bare(text);
        let twice = spell::bare(&once);
        Self { once: once.into_bytes().into(), twice: twice.into_bytes().into() }
    }
}

fn compiled(patterns: &[&str], limit: usize) -> Result<NFA, Box<thompson::BuildError>> {
    let config = thompson::Config::new().nfa_size_limit(Some(limit)).which_captures(WhichCaptures::None);
    thompson::Compiler::new().configure(config).build_many(patterns).map_err(Box::new)
}

/// Where the automaton can go from this state: without reading, or by one byte.
fn after(state: &State, mut free: impl FnMut(StateID), mut read: impl FnMut(u8, u8, StateID)) {
    match state {
        State::ByteRange { trans } => read(trans.start, trans.end, trans.next),
        State::Sparse(list) => list.transitions.iter().for_each(|trans| read(trans.start, trans.end, trans.next)),
        State::Dense(list) => {
            (0..=u8::MAX).for_each(|byte| list.matches_byte(byte).into_iter().for_each(|next| read(byte, byte, next)));
        }
        State::Look { next, .. } | State::Capture { next, .. } => free(*next),
        State::Union { alternates } => alternates.iter().for_each(|next| free(*next)),
        State::BinaryUnion { alt1, alt2 } => [*alt1, *alt2].into_iter().for_each(free),
        State::Fail | State::Match { .. } => {}
    }
}

fn owners(nfa: &NFA) -> Vec<u32> {
    let mut owners = vec![u32::MAX; nfa.states().len()];
    for pattern in nfa.patterns() {
        let mut todo: Vec<_> = nfa.start_pattern(pattern).into_iter().collect();
        while let Some(id) = todo.pop() {
            if let Some(owner) = owners.get_mut(id.as_usize()).filter(|owner| **owner == u32::MAX) {
                *owner = pattern.as_u32();
                let mut next = Vec::new();
                after(nfa.state(id), |to| next.push(to), |_, _, _| {});
                after(nfa.state(id), |_| {}, |_, _, to| next.push(to));
                todo.append(&mut next);
            }
        }
    }
    owners
}

/// The bytes that can be read next from these states, all where a match may end here, and the states that they lead to.
fn reads(nfa: &NFA, mut todo: Vec<StateID>) -> ([bool; 256], Vec<StateID>) {
    let (mut bytes, mut next) = ([false; 256], Vec::new());
    let mut seen = vec![false; nfa.states().len()];
    while let Some(id) = todo.pop() {
        if seen.get_mut(id.as_usize()).is_none_or(|seen| std::mem::replace(seen, true)) {
            continue;
        }
        if matches!(nfa.state(id), State::Match { .. }) {
            bytes = [true; 256];
        }
        let read = |from: u8, to: u8, state| {
            (from..=to).for_each(|byte| bytes[usize::from(byte)] = true);
            next.push(state);
        };
        after(nfa.state(id), |to| todo.push(to), read);
    }
    (bytes, next)
}
