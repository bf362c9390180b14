//! The deltas of one item come in, as they are spelled; the same go out with every match replaced. A text is judged as it
//! is. The arguments of a tool call are JSON, of which the strings and what else stands between brackets and commas are
//! judged one by one, as what they say; so they stay JSON, and a match ends with its string.

use super::{
    sieve::{Sieve, Work},
    spell,
};

/// How many bytes a number or word among arguments has at most. A longer one is replaced.
const BARE_MAX: usize = 4096;

/// One item under way.
#[derive(Clone, Debug)]
pub struct Reader {
    sieve: Sieve,
    /// The end of the last delta that says nothing without what follows, and how much of it was shown.
    carry: Vec<u8>,
    shown: usize,
    /// All that is held was shown.
    told: bool,
    place: Place,
}

/// Where in its text an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Anywhere in what is no JSON.
    Text,
    /// Before the first letter of arguments, which may be JSON.
    Start,
    /// Between values.
    Between,
    /// In a string.
    Inside,
    /// In a number, or something else without quotes.
    Bare,
    /// In such a value, which is too long.
    Swallowed,
}

impl Reader {
    /// Reads a text.
    pub fn text() -> Self {
        Self { sieve: Sieve::default(), carry: Vec::new(), shown: 0, told: false, place: Place::Text }
    }

    /// Reads the arguments of a tool call.
    pub fn arguments() -> Self {
        Self { place: Place::Start, ..Self::text() }
    }

    /// Bytes held.
    pub fn held(&self) -> usize {
        self.sieve.held() + self.carry.len()
    }

    /// Whether something is held that may be needed, or replaced, with what follows.
    pub fn is_pending(&self) -> bool {
        !self.sieve.is_idle() || !self.carry.is_empty() || self.place == Place::Swallowed
    }

    /// Whether what follows must be judged with what came, even after the item's end.
    pub fn may_go_on(&self) -> bool {
        self.is_pending() || self.place == Place::Inside
    }

    /// Whether what follows can be judged without knowing what came.
    pub fn is_blank(&self, work: &Work<'_>) -> bool {
        self.place == Place::Text && !self.is_pending() && !work.rules.looks
    }

    /// Takes the inside of a delta; with `last`, nothing follows.
    pub fn feed(&mut self, inner: &[u8], last: bool, work: &mut Work<'_>) {
        self.told &= inner.is_empty();
        let carried = std::mem::take(&mut self.carry);
        let shown = std::mem::take(&mut self.shown);
        let joined;
        let raw = match carried.is_empty() {
            true => inner,
            false => {
                joined = [&carried, inner].concat();
                &joined
            }
        };
        let mut at = 0;
        while let Some(rest) = raw.get(at..).filter(|rest| !rest.is_empty()) {
            if at >= shown {
                let plain = self.plain(rest, work);
                if plain > 0 {
                    at += plain;
                    continue;
                }
            }
            let shown = shown.saturating_sub(at);
            match self.next(rest, shown, last, work) {
                Some(taken) => at += taken,
                None => {
                    self.carry = rest.to_vec();
                    self.shown = shown.min(rest.len());
                    break;
                }
            }
        }
        if last {
            self.finish(work);
        }
    }

    /// Sends all that is held, as if nothing followed; and is ready for what follows all the same.
    pub fn show(&mut self, work: &mut Work<'_>) {
        if self.is_pending() && !self.told {
            self.told = true;
            self.clone().feed(b"", true, work);
            self.sieve.was_shown();
            self.shown = self.carry.len();
        }
    }

    fn finish(&mut self, work: &mut Work<'_>) {
        work.twice = self.place == Place::Inside;
        self.sieve.finish(work);
    }

    /// How many bytes stand here with which nothing begins; they go out.
    fn plain(&mut self, rest: &[u8], work: &mut Work<'_>) -> usize {
        if !matches!(self.place, Place::Text | Place::Inside) || !self.sieve.is_idle() {
            return 0;
        }
        let next = rest.iter().skip(1).map(Some).chain([None]);
        let is_plain = |(byte, next): &(&u8, Option<&u8>)| {
            byte.is_ascii() && **byte != b'\\' && !work.rules.begins_before(**byte, next.copied())
        };
        let count = rest.iter().zip(next).take_while(is_plain).count();
        if let Some(plain) = rest.get(..count)
            && let Some(last) = plain.last()
        {
            work.out.extend_from_slice(plain);
            self.sieve.pass(count, char::from(*last));
        }
        count
    }

    /// Reads one letter and gives the bytes that it takes, of which these many were shown; or none, if only its place is
    /// another now. `None` if more has to come first.
    fn next(&mut self, rest: &[u8], shown: usize, last: bool, work: &mut Work<'_>) -> Option<usize> {
        let unseen = |len: usize| rest.get(shown.min(len)..len).unwrap_or_default();
        if self.place == Place::Bare {
            return self.bare(rest, shown, last, work);
        }
        if self.place == Place::Inside {
            let (letter, len, escaped) = spell::nested(rest, last)?;
            if letter == '"' && !escaped {
                self.finish(work);
                work.out.extend_from_slice(unseen(len));
                self.place = Place::Between;
            } else {
                work.twice = true;
                self.sieve.push(letter, unseen(len), work);
            }
            return Some(len);
        }
        // Halves of a letter with which nothing begins may go apart, as they came.
        let apart =
            self.place == Place::Text && self.sieve.is_idle() && !work.rules.looks && !work.rules.begins_with_a_pair();
        let (letter, len) = spell::letter(rest, last || apart)?;
        match (self.place, letter) {
            (Place::Text, _) => {
                work.twice = false;
                self.sieve.push(letter, unseen(len), work);
            }
            (Place::Start, '{' | '[' | '"' | '-' | '0'..='9') => {
                self.place = Place::Between;
                return Some(0);
            }
            (Place::Start, letter) if !is_space(letter) => {
                self.place = Place::Text;
                return Some(0);
            }
            (Place::Between, '"') => {
                self.sieve = Sieve::default();
                self.place = Place::Inside;
                work.out.extend_from_slice(unseen(len));
            }
            (Place::Between, letter) if !ends_bare(letter) => {
                self.place = Place::Bare;
                return Some(0);
            }
            (Place::Swallowed, letter) => {
                if ends_bare(letter) {
                    self.place = Place::Between;
                    return Some(0);
                }
            }
            _ => work.out.extend_from_slice(unseen(len)),
        }
        Some(len)
    }

    /// A value without quotes, as a whole: what stands in its place is a string.
    fn bare(&mut self, rest: &[u8], shown: usize, last: bool, work: &mut Work<'_>) -> Option<usize> {
        let (mut end, mut text) = (0, String::new());
        while let Some(more) = rest.get(end..).filter(|more| !more.is_empty()) {
            let (letter, len) = spell::letter(more, last)?;
            if ends_bare(letter) {
                break;
            }
            text.push(letter);
            end += len;
            if end > BARE_MAX {
                if shown == 0 {
                    work.out.extend([b"\\\"", work.rules.with(0, true), b"\\\""].concat());
                }
                work.replaced += 1;
                self.place = Place::Swallowed;
                return Some(end);
            }
        }
        if end == rest.len() && !last {
            return None;
        }
        let matched = work.rules.is_in(text.as_bytes());
        if !matched {
            work.out.extend_from_slice(rest.get(shown.min(end)..end).unwrap_or_default());
        } else if shown == 0 {
            work.out.extend_from_slice(b"\\\"");
            let mut from = 0;
            for (place, rule) in work.rules.matches(text.as_bytes()) {
                put_twice(text.get(from..place.start).unwrap_or_default(), work.out);
                work.out.extend_from_slice(work.rules.with(rule, true));
                work.replaced += 1;
                from = place.end;
            }
            put_twice(text.get(from..).unwrap_or_default(), work.out);
            work.out.extend_from_slice(b"\\\"");
        } else {
            work.replaced += 1;
        }
        self.place = Place::Between;
        Some(end)
    }
}

/// Spells a text for a JSON string within a JSON string.
fn put_twice(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(&spell::bare(&spell::bare(text)).into_bytes());
}

fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r')
}

/// Whether a value without quotes ends before this letter.
fn ends_bare(letter: char) -> bool {
    is_space(letter) || matches!(letter, ',' | ':' | '{' | '}' | '[' | ']' | '"')
}
