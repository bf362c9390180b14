//! Events of subagents come in, the same as if the agent itself had sent them go out: clients before 0.0.59 know no
//! subagents. Their announcements and ends are left out, or wrapped as `CUSTOM`; who an event belongs to is taken off it.

use std::time::Instant;

use super::{Unrepresentable, wrap::wrapped};
use crate::{
    agui::{
        Event, EventKind, Kinds,
        edit::{self, Change},
        json::Member,
        word::SUBAGENT_RUN_ID,
    },
    pipeline::{Loss, Out, Stage, Way},
};

/// Flattens subagents into their agent.
#[derive(Debug)]
pub struct Subagent {
    wraps: bool,
}

const TAG: &str = "subagentRunId";

impl Subagent {
    pub fn new(unrepresentable: Unrepresentable) -> Self {
        Self { wraps: unrepresentable == Unrepresentable::Custom }
    }
}

impl Stage for Subagent {
    fn kinds(&self) -> Kinds {
        use EventKind::*;
        Kinds::of(&[
            SubagentStarted,
            SubagentFinished,
            SubagentError,
            RunStarted,
            RunFinished,
            MessagesSnapshot,
            TextMessageStart,
            TextMessageContent,
            TextMessageEnd,
            TextMessageChunk,
            ToolCallStart,
            ToolCallArgs,
            ToolCallEnd,
            ToolCallChunk,
            ToolCallResult,
            ReasoningStart,
            ReasoningEnd,
            ReasoningMessageStart,
            ReasoningMessageContent,
            ReasoningMessageEnd,
            ReasoningMessageChunk,
            ReasoningEncryptedValue,
            StepStarted,
            StepFinished,
            StateSnapshot,
            StateDelta,
            ActivitySnapshot,
            ActivityDelta,
            Raw,
            Custom,
        ])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let kind = event.kind();
        if matches!(kind, EventKind::SubagentStarted | EventKind::SubagentFinished | EventKind::SubagentError) {
            if !self.wraps {
                return out.converted(Way::Down, kind, Loss::Whole("subagent"));
            }
            out.converted(Way::Down, kind, Loss::None);
            return out.send(wrapped(&event, kind.as_str()), at);
        }
        if !SUBAGENT_RUN_ID.is_in(event.text()) {
            return out.send(event, at);
        }
        let edited = match kind {
            EventKind::MessagesSnapshot => event.edited(|member| in_list(member, "messages")),
            EventKind::RunStarted => event.edited(|member| inside(member, "input", "messages")),
            EventKind::RunFinished => event.edited(|member| inside(member, "outcome", "interrupts")),
            _ => event.edited(untagged),
        };
        let Some(edited) = edited else { return out.send(event, at) };
        out.converted(Way::Down, kind, Loss::None);
        out.send(edited, at);
    }
}

fn untagged(member: &Member<'_>) -> Change {
    if member.is(TAG) { Change::Drop } else { Change::Keep }
}

/// Takes the tag off the elements of the list of this name.
fn in_list(member: &Member<'_>, list: &str) -> Change {
    if !member.is(list) {
        return Change::Keep;
    }
    edit::elements(member.value, |element| edit::members(element, untagged).into()).into()
}

/// The same in the object of this name.
fn inside(member: &Member<'_>, object: &str, list: &str) -> Change {
    if !member.is(object) {
        return Change::Keep;
    }
    edit::members(member.value, |inner| in_list(inner, list)).into()
}

#[cfg(test)]
mod tests {
    use super::{super::trial::Trial, *};

    fn dropping(events: &[&str]) -> Trial {
        Trial::of(Subagent::new(Unrepresentable::Drop), events)
    }

    #[test]
    fn announcements_and_ends_are_left_out_and_named() {
        let events = [
            r#"{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n"}"#,
            r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"s"}"#,
            r#"{"type":"SUBAGENT_ERROR","subagentRunId":"s","message":"m"}"#,
        ];
        let trial = dropping(&events);
        assert_eq!(trial.texts, [""; 0]);
        assert_eq!(trial.losses, [Loss::Whole("subagent"); 3]);
        let trial = Trial::of(Subagent::new(Unrepresentable::Custom), &events[1..2]);
        let custom = format!(r#"{{"type":"CUSTOM","name":"ag-ui.unknown.SUBAGENT_FINISHED","value":{}}}"#, events[1]);
        assert_eq!((trial.texts, trial.losses), (vec![custom], vec![Loss::None]));
    }

    #[test]
    fn the_owner_is_taken_off_events_messages_and_interrupts() {
        for (before, after) in [
            (
                r#"{"type":"TEXT_MESSAGE_START","subagentRunId":"s","messageId":"m"}"#,
                r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#,
            ),
            (
                r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","subagentRunId":"s"},{"id":"n"}]}"#,
                r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m"},{"id":"n"}]}"#,
            ),
            (
                r#"{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"i","subagentRunId":"s"}]}}"#,
                r#"{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"i"}]}}"#,
            ),
            (
                r#"{"type":"RUN_STARTED","input":{"messages":[{"id":"m","subagentRunId":"s"}]}}"#,
                r#"{"type":"RUN_STARTED","input":{"messages":[{"id":"m"}]}}"#,
            ),
        ] {
            let trial = dropping(&[before]);
            assert_eq!((trial.texts, trial.losses), (vec![after.to_owned()], vec![Loss::None]));
        }
    }

    #[test]
    fn data_that_only_looks_like_it_stays() {
        let events = [
            r#"{"type":"CUSTOM","name":"n","value":{"subagentRunId":"s"}}"#,
            r#"{"type":"STATE_SNAPSHOT","snapshot":{"messages":[{"subagentRunId":"s"}]}}"#,
            r#"{"type":"RUN_FINISHED","result":{"interrupts":[{"subagentRunId":"s"}]}}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\"subagentRunId\""}"#,
        ];
        dropping(&events).assert_untouched(&events);
    }
}
