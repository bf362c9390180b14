//! A word that many texts are searched for comes in once; whether a text holds it goes out. It says only that a closer
//! look is worth it: the word may stand anywhere.

use std::sync::OnceLock;

use memchr::memmem::Finder;

/// The member that says whose an event is.
pub static SUBAGENT_RUN_ID: Word = Word::new("subagentRunId");

/// The member that says what a run's producer speaks.
pub static PROTOCOL_VERSION: Word = Word::new("protocolVersion");

/// A word, and what makes looking for it fast, made at the first search.
#[derive(Debug)]
pub struct Word {
    word: &'static str,
    finder: OnceLock<Finder<'static>>,
}

impl Word {
    /// This word.
    pub const fn new(word: &'static str) -> Self {
        Self { word, finder: OnceLock::new() }
    }

    /// Whether it stands anywhere in this text.
    #[inline]
    pub fn is_in(&self, text: &[u8]) -> bool {
        self.finder.get_or_init(|| Finder::new(self.word)).find(text).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_anywhere() {
        static WORD: Word = Word::new("null");
        for (text, found) in
            [("", false), ("nul", false), ("null", true), (r#"{"a":null}"#, true), ("\u{0}nullnull", true)]
        {
            assert_eq!(WORD.is_in(text.as_bytes()), found, "{text}");
        }
    }
}
