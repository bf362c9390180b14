//! A text comes in letter by letter, each with how it is spelled; the same spelling goes out with every match replaced, as
//! soon as no match can take it in any more. What goes out does not depend on how the text was cut.
//!
//! The automaton of the rules is followed from every place at which a match may still be under way, those that began first
//! first. So it is always known from where on the text may still be needed: that, and no more, is held back.

use std::collections::VecDeque;

use regex_automata::{
    nfa::thompson::{NFA, State},
    util::{look::Look, primitives::StateID},
};

use super::rules::Set;

/// How many letters are held back of a text at most. A match that is still open when as many wait for it counts as one:
/// they are replaced, and what follows, as far as the pattern reaches, is part of it.
pub const HOLD_MAX: usize = 4096;

/// What a sieve works with, and where what goes out is put.
#[derive(Debug)]
pub struct Work<'a> {
    pub rules: &'a Set,
    pub scratch: &'a mut Scratch,
    pub out: &'a mut Vec<u8>,
    /// How many matches were replaced.
    pub replaced: usize,
    /// Whether the text stands in a JSON string within a JSON string.
    pub twice: bool,
}

/// A text under way.
#[derive(Clone, Debug, Default)]
pub struct Sieve {
    /// Where matches are under way, that which counts first first: none begins before the one ahead of it.
    threads: Vec<Thread>,
    /// The match that counts, unless a thread ahead of it comes to one.
    found: Option<Found>,
    /// The letters that are held, from place `base` on, and how they are spelled.
    units: VecDeque<Unit>,
    raw: VecDeque<u8>,
    base: u64,
    /// The letter before them.
    lead: Option<char>,
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    state: StateID,
    start: u64,
}

#[derive(Clone, Copy, Debug)]
struct Unit {
    letter: char,
    len: u32,
}

#[derive(Clone, Copy, Debug)]
struct Found {
    start: u64,
    end: u64,
    rule: usize,
    /// What stands in its place has gone out already.
    marked: bool,
}

impl Sieve {
    /// Whether no match is under way, so that nothing is held.
    pub fn is_idle(&self) -> bool {
        self.threads.is_empty() && self.found.is_none()
    }

    /// Bytes held.
    pub fn held(&self) -> usize {
        self.threads.len() * size_of::<Thread>() + self.units.len() * size_of::<Unit>() + self.raw.len()
    }

    /// Takes letters, the last of them this, with which no match can begin, while nothing is held.
    pub fn pass(&mut self, count: usize, last: char) {
        self.base += count as u64;
        self.lead = Some(last);
    }

    /// Takes one letter, spelled so.
    pub fn push(&mut self, letter: char, raw: &[u8], work: &mut Work<'_>) {
        self.take(letter, raw.iter().copied(), work);
        if !self.is_decided() {
            return;
        }
        // What was read beyond a match is judged again, from the match's end.
        let (mut units, mut bytes) = (VecDeque::new(), VecDeque::new());
        loop {
            if self.is_decided() {
                self.replace(work);
                self.units.append(&mut units);
                self.raw.append(&mut bytes);
                std::mem::swap(&mut self.units, &mut units);
                std::mem::swap(&mut self.raw, &mut bytes);
            }
            let Some(Unit { letter, len }) = units.pop_front() else { return };
            self.take(letter, bytes.drain(..len as usize), work);
        }
    }

    /// The text is over: all of it goes out.
    pub fn finish(&mut self, work: &mut Work<'_>) {
        loop {
            if work.rules.looks && !self.threads.is_empty() {
                self.close(self.end(), None, work);
            }
            self.threads.clear();
            if self.found.is_none() {
                return self.release(self.end(), work);
            }
            self.replace(work);
            let (units, mut bytes) = (std::mem::take(&mut self.units), std::mem::take(&mut self.raw));
            let mut raw = Vec::new();
            for Unit { letter, len } in units {
                raw.clear();
                raw.extend(bytes.drain(..len as usize));
                self.push(letter, &raw, work);
            }
        }
    }

    /// Everything that is held has gone out, as if the text were over; yet it may go on.
    pub fn was_shown(&mut self) {
        self.raw.clear();
        self.units.iter_mut().for_each(|unit| unit.len = 0);
        if let Some(found) = &mut self.found {
            found.marked = true;
        }
    }

    fn end(&self) -> u64 {
        self.base + self.units.len() as u64
    }

    fn last(&self) -> Option<char> {
        self.units.back().map(|unit| unit.letter).or(self.lead)
    }

    fn is_decided(&self) -> bool {
        self.threads.is_empty() && self.found.is_some()
    }

    fn take(&mut self, letter: char, raw: impl ExactSizeIterator<Item = u8>, work: &mut Work<'_>) {
        let begins = work.rules.begins(letter);
        if !begins && self.is_idle() {
            work.out.extend(raw);
            return self.pass(1, letter);
        }
        let at = self.end();
        if work.rules.looks && !self.threads.is_empty() {
            self.close(at, Some(letter), work);
        }
        if begins && self.found.is_none() {
            self.begin(at, letter, work);
        }
        self.units.push_back(Unit { letter, len: raw.len() as u32 });
        self.raw.extend(raw);

        let mut bytes = [0; 4];
        let bytes = letter.encode_utf8(&mut bytes).as_bytes();
        for (n, byte) in bytes.iter().enumerate() {
            self.threads.retain_mut(|thread| match read(&work.rules.nfa, thread.state, *byte) {
                Some(next) => {
                    thread.state = next;
                    true
                }
                None => false,
            });
            // What may look ahead waits for the next letter.
            if n + 1 < bytes.len() || !work.rules.looks {
                self.close(at + 1, None, work);
            }
        }
        self.settle(work);
    }

    /// Follows every thread as far as it comes without reading, at this place, with this letter ahead.
    fn close(&mut self, at: u64, ahead: Option<char>, work: &mut Work<'_>) {
        let around = Around::new(self.last(), ahead);
        work.scratch.restart();
        for thread in &self.threads {
            if let Some(rule) = work.scratch.follow(&work.rules.nfa, *thread, &around) {
                let marked = self.found.is_some_and(|found| found.marked && found.start == thread.start);
                self.found = Some(Found { start: thread.start, end: at, rule, marked });
                break;
            }
        }
        std::mem::swap(&mut self.threads, &mut work.scratch.next);
    }

    /// A match may begin here.
    fn begin(&mut self, at: u64, letter: char, work: &mut Work<'_>) {
        let around = Around::new(self.last(), Some(letter));
        work.scratch.restart();
        let start = Thread { state: work.rules.nfa.start_anchored(), start: at };
        let _ = work.scratch.follow(&work.rules.nfa, start, &around);
        self.threads.append(&mut work.scratch.next);
    }

    /// Lets go of what no match can need.
    fn settle(&mut self, work: &mut Work<'_>) {
        let first = self.threads.first().copied();
        let open = first.map_or(self.end(), |first| first.start);
        match self.found {
            Some(found) => {
                self.release(open.min(found.start), work);
                if open >= found.start {
                    self.forget(found.end);
                }
            }
            None => self.release(open, work),
        }
        if let Some(first) = first.filter(|_| self.units.len() > HOLD_MAX) {
            let end = self.end();
            self.found = match self.found {
                Some(found) if found.start == first.start => Some(Found { end, ..found }),
                _ => {
                    let rule = work.rules.owner(first.state);
                    Some(Found { start: first.start, end, rule, marked: false })
                }
            };
            self.threads.retain(|thread| thread.start == first.start);
            self.forget(end);
        }
    }

    /// Puts what stands for the match that was found in its place.
    fn replace(&mut self, work: &mut Work<'_>) {
        if let Some(found) = self.found.take() {
            self.release(found.start, work);
            if !found.marked {
                work.out.extend_from_slice(work.rules.with(found.rule, work.twice));
                work.replaced += 1;
            }
            self.forget(found.end);
        }
    }

    /// Sends what stands before this place.
    fn release(&mut self, to: u64, work: &mut Work<'_>) {
        while self.base < to
            && let Some(unit) = self.units.pop_front()
        {
            work.out.extend(self.raw.drain(..unit.len as usize));
            self.pass(1, unit.letter);
        }
    }

    /// Forgets what stands before this place.
    fn forget(&mut self, to: u64) {
        while self.base < to
            && let Some(unit) = self.units.pop_front()
        {
            self.raw.drain(..unit.len as usize);
            self.pass(1, unit.letter);
        }
    }
}

/// Where a byte leads from a state.
fn read(nfa: &NFA, state: StateID, byte: u8) -> Option<StateID> {
    match nfa.state(state) {
        State::ByteRange { trans } => trans.matches_byte(byte).then_some(trans.next),
        State::Sparse(list) => list.matches_byte(byte),
        State::Dense(list) => list.matches_byte(byte),
        _ => None,
    }
}

/// The letters on both sides of a place.
struct Around {
    text: [u8; 8],
    at: usize,
    len: usize,
}

impl Around {
    fn new(before: Option<char>, ahead: Option<char>) -> Self {
        let mut text = [0; 8];
        let (left, right) = text.split_at_mut(4);
        let at = before.map_or(0, |letter| letter.encode_utf8(left).len());
        let mut len = at;
        if let Some(letter) = ahead {
            len += letter.encode_utf8(right).len();
            text.copy_within(4.., at);
        }
        Self { text, at, len }
    }

    fn fits(&self, nfa: &NFA, look: Look) -> bool {
        self.text.get(..self.len).is_some_and(|text| nfa.look_matcher().matches(look, text, self.at))
    }
}

/// Room to follow an automaton in, used again and again.
#[derive(Debug, Default)]
pub struct Scratch {
    next: Vec<Thread>,
    todo: Vec<StateID>,
    seen: Vec<u64>,
    marked: Vec<StateID>,
}

impl Scratch {
    fn restart(&mut self) {
        self.next.clear();
        for id in self.marked.drain(..) {
            if let Some(word) = self.seen.get_mut(id.as_usize() / 64) {
                *word = 0;
            }
        }
    }

    /// Whether this state is come to for the first time.
    fn is_new(&mut self, nfa: &NFA, id: StateID) -> bool {
        if self.seen.is_empty() {
            self.seen.resize(nfa.states().len() / 64 + 1, 0);
        }
        let bit = 1 << (id.as_usize() % 64);
        let Some(word) = self.seen.get_mut(id.as_usize() / 64).filter(|word| **word & bit == 0) else { return false };
        *word |= bit;
        self.marked.push(id);
        true
    }

    /// Adds the states that read to which this thread comes; the pattern of the match, if it comes to one: what counts
    /// less than that does not count at all.
    fn follow(&mut self, nfa: &NFA, thread: Thread, around: &Around) -> Option<usize> {
        self.todo.clear();
        self.todo.push(thread.state);
        while let Some(id) = self.todo.pop() {
            if !self.is_new(nfa, id) {
                continue;
            }
            match nfa.state(id) {
                State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) => {
                    self.next.push(Thread { state: id, ..thread });
                }
                State::Look { look, next } if around.fits(nfa, *look) => self.todo.push(*next),
                State::Look { .. } | State::Fail => {}
                State::Union { alternates } => self.todo.extend(alternates.iter().rev()),
                State::BinaryUnion { alt1, alt2 } => self.todo.extend([*alt2, *alt1]),
                State::Capture { next, .. } => self.todo.push(*next),
                State::Match { pattern_id } => return Some(pattern_id.as_usize()),
            }
        }
        None
    }
}
