//! The stages for clients before 0.0.45, which know neither reasoning nor, the older they are, activity, results,
//! roles or two things at once. They come last: what reaches them has the shapes of 0.0.45.

mod idle_run;
mod omit;
mod one_run;
#[cfg(test)]
mod properties;
mod roles;
mod serial;
mod steps;
#[cfg(test)]
mod tests;
mod thinking;

use omit::Omit;

use super::Unrepresentable;
use crate::{
    agui::{
        EventKind::{self, *},
        Version,
    },
    pipeline::Stage,
};

const REASONING: &[EventKind] = &[
    ReasoningStart,
    ReasoningEnd,
    ReasoningMessageStart,
    ReasoningMessageContent,
    ReasoningMessageEnd,
    ReasoningMessageChunk,
    ThinkingStart,
    ThinkingEnd,
    ThinkingTextMessageStart,
    ThinkingTextMessageContent,
    ThinkingTextMessageEnd,
];

/// What a stream for a client of this version passes through besides, newest boundary first.
pub fn shims(client: Version, instead: Unrepresentable) -> Vec<Box<dyn Stage>> {
    let mut stages: Vec<Box<dyn Stage>> = Vec::new();
    let mut below = |n, stage: fn(Unrepresentable) -> Box<dyn Stage>| {
        if client < Version::npm(n) {
            stages.push(stage(instead));
        }
    };
    if client >= Version::npm(37) {
        below(45, |_| Box::new(thinking::Thinking::default()));
    }
    below(41, |instead| Box::new(Omit::new(&[ActivitySnapshot, ActivityDelta], "activity", instead)));
    below(37, |_| Box::new(Omit::new(REASONING, "reasoning", Unrepresentable::Drop)));
    below(37, |_| Box::new(Omit::new(&[ReasoningEncryptedValue], "encrypted_value", Unrepresentable::Drop)));
    below(37, |_| Box::new(roles::Roles::default()));
    below(34, |_| Box::new(steps::Steps::default()));
    below(37, |_| Box::new(one_run::OneRun::default()));
    below(30, |instead| Box::new(Omit::new(&[ToolCallResult], "tool_result", instead)));
    // Chunks are expanded before: one that still comes was none to expand.
    below(28, |_| Box::new(Omit::new(&[TextMessageChunk, ToolCallChunk], "chunk", Unrepresentable::Drop)));
    below(37, |_| Box::new(serial::Serial::default()));
    below(34, |_| Box::new(idle_run::IdleRun::default()));
    stages
}
