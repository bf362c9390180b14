//! A terminal event comes in, what it says of the run's outcome and of the tokens it cost goes out.

use serde::Deserialize;

use crate::{
    agui::{Event, json},
    observe::{Outcome, TokenKind},
};

/// Tokens by kind, summed over the entries of `usage`. Cached, cache-write and reasoning tokens are parts of
/// input and output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens([u64; TokenKind::COUNT]);

/// One entry of `usage`; what is not a whole number counts as not said.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Entry {
    input_tokens: serde_json::Value,
    output_tokens: serde_json::Value,
    cached_input_tokens: serde_json::Value,
    cache_write_input_tokens: serde_json::Value,
    reasoning_tokens: serde_json::Value,
}

impl Tokens {
    /// The usage that this event tells; `None` if it tells none.
    pub fn of(event: &Event) -> Option<Self> {
        let mut tokens = Self::default();
        let mut told = false;
        for entry in json::elements(event.member("usage")?) {
            let Ok(entry) = serde_json::from_slice::<Entry>(entry) else { continue };
            told = true;
            for (kind, value) in [
                (TokenKind::Input, entry.input_tokens),
                (TokenKind::Output, entry.output_tokens),
                (TokenKind::CachedInput, entry.cached_input_tokens),
                (TokenKind::CacheWriteInput, entry.cache_write_input_tokens),
                (TokenKind::Reasoning, entry.reasoning_tokens),
            ] {
                let sum = &mut tokens.0[kind.index()];
                *sum = sum.saturating_add(value.as_u64().unwrap_or(0));
            }
        }
        told.then_some(tokens)
    }

    /// Each kind of which there are any.
    pub fn each(&self) -> impl Iterator<Item = (TokenKind, u64)> {
        TokenKind::ALL.iter().map(|kind| (*kind, self.0[kind.index()])).filter(|(_, n)| *n > 0)
    }
}

/// How the run ended, by its `RUN_FINISHED`. An outcome that this build does not know reads as success.
pub fn outcome(event: &Event) -> Outcome {
    let kind = event.member("outcome").and_then(|outcome| {
        let kind = json::Members::of(outcome).find(|m| m.is("type"))?;
        kind.string().map(|text| text.into_owned())
    });
    match kind.as_deref() {
        Some("interrupt") => Outcome::Interrupted,
        Some("cancelled") => Outcome::Cancelled,
        _ => Outcome::Finished,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn event(text: &str) -> Event {
        Event::new(bytes::Bytes::copy_from_slice(text.as_bytes()), None)
    }

    #[test]
    fn usage_is_summed_over_models_and_nonsense_is_not_said() {
        let told = r#"{"type":"RUN_FINISHED","usage":[{"model":"a","inputTokens":10,"outputTokens":2,"cachedInputTokens":4},
            {"inputTokens":1,"outputTokens":"many","reasoningTokens":-3},7]}"#;
        let tokens = Tokens::of(&event(told)).unwrap();
        let each: Vec<_> = tokens.each().collect();
        assert_eq!(each, [(TokenKind::Input, 11), (TokenKind::Output, 2), (TokenKind::CachedInput, 4)]);
        for none in [r#"{"type":"RUN_FINISHED"}"#, r#"{"usage":[]}"#, r#"{"usage":null}"#] {
            assert_eq!(Tokens::of(&event(none)), None, "{none}");
        }
    }

    #[test]
    fn the_agents_word_decides_the_outcome() {
        let cases = [
            (r#"{"type":"RUN_FINISHED"}"#, Outcome::Finished),
            (r#"{"outcome":{"type":"success"}}"#, Outcome::Finished),
            (r#"{"outcome":{"interrupts":[{"type":"x"}],"type":"interrupt"}}"#, Outcome::Interrupted),
            (r#"{"outcome":{"type":"cancelled"}}"#, Outcome::Cancelled),
            (r#"{"outcome":{"type":"paused"}}"#, Outcome::Finished),
            (r#"{"outcome":["interrupt"]}"#, Outcome::Finished),
        ];
        for (text, outcome) in cases {
            assert_eq!(super::outcome(&event(text)), outcome, "{text}");
        }
    }
}
