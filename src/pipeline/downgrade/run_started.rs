//! A `RUN_STARTED` comes in, one that an older client reads goes out: without the version that the stream no longer
//! speaks, and with the echoed input in the shape of the client's time, which clients from 0.0.41 on check in full and
//! take messages from.

use std::time::Instant;

use super::send;
use crate::{
    agui::{
        Event, EventKind, Kinds, Losses, Version,
        edit::{self, Change},
        json::Members,
        message,
    },
    pipeline::{Out, Stage},
};

/// Fits `RUN_STARTED` to a client of this version.
#[derive(Debug)]
pub struct RunStarted {
    client: Version,
}

impl RunStarted {
    pub fn new(client: Version) -> Self {
        Self { client }
    }

    /// The echoed input as this client reads it; `None` if it reads it as it is.
    fn input(&self, input: &[u8], losses: &mut Losses) -> Option<Vec<u8>> {
        if self.client < Version::npm(41) {
            return None;
        }
        let edited = edit::members(input, |member| match member.is("messages") {
            true => message::all_for_older(member.value, self.client, losses).into(),
            false if member.is("protocolVersion") => Change::Drop,
            false => Change::Keep,
        });
        ["tools", "context"].into_iter().fold(edited, |edited, name| {
            let input = edited.as_deref().unwrap_or(input);
            if Members::of(input).any(|m| m.is(name)) {
                return edited;
            }
            // What may be absent now had to be there then: an empty list says the same.
            edit::appended(input, name, b"[]").or(edited)
        })
    }
}

impl Stage for RunStarted {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[EventKind::RunStarted])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let mut losses = Losses::default();
        let edited = event.edited(|member| {
            if member.is("protocolVersion") {
                Change::Drop
            } else if member.is("input") {
                self.input(member.value, &mut losses).into()
            } else {
                Change::Keep
            }
        });
        send(event, edited, losses, at, out);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::trial::Trial, *};
    use crate::pipeline::Loss;

    fn start(npm: u32, event: &str) -> Trial {
        Trial::of(RunStarted::new(Version::npm(npm)), &[event])
    }

    #[test]
    fn the_version_of_the_agent_is_no_longer_declared() {
        let trial = start(59, r#"{"type":"RUN_STARTED","protocolVersion":"1.0","threadId":"t","parentRunId":"p"}"#);
        assert_eq!(trial.texts, [r#"{"type":"RUN_STARTED","threadId":"t","parentRunId":"p"}"#]);
        assert_eq!(trial.losses, [Loss::None]);
    }

    #[test]
    fn an_echo_is_complete_and_has_messages_that_the_client_knows() {
        let event = r#"{"type":"RUN_STARTED","input":{"protocolVersion":"1.0","messages":[{"role":"new"},{"role":"tool","content":[]}]}}"#;
        let trial = start(41, event);
        let input = r#"{"messages":[{"role":"tool","content":""}],"tools":[],"context":[]}"#;
        assert_eq!(trial.texts, [format!(r#"{{"type":"RUN_STARTED","input":{input}}}"#)]);
        assert_eq!(trial.losses, [Loss::Part("message_role")]);
    }

    #[test]
    fn what_the_client_reads_stays() {
        let complete = r#"{"type":"RUN_STARTED","input":{"messages":[],"tools":[],"context":[]}}"#;
        for (npm, event) in [
            (59, complete),
            (41, complete),
            (40, r#"{"type":"RUN_STARTED","input":{"messages":[{"role":"new"}]}}"#),
            (59, r#"{"type":"RUN_STARTED"}"#),
            (59, r#"{"type":"RUN_STARTED","input":null}"#),
            (59, r#"{"type":"RUN_STARTED","input":[]}"#),
        ] {
            start(npm, event).assert_untouched(&[event]);
        }
    }
}
