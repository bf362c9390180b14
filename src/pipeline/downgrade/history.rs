//! A `MESSAGES_SNAPSHOT` comes in, the same with the messages of the client's time goes out.

use std::time::Instant;

use super::send;
use crate::{
    agui::{Event, EventKind, Kinds, Losses, Version, edit::Change, message},
    pipeline::{Out, Stage},
};

/// Fits the messages of a snapshot to a client of this version.
#[derive(Debug)]
pub struct History {
    client: Version,
}

impl History {
    pub fn new(client: Version) -> Self {
        Self { client }
    }
}

impl Stage for History {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[EventKind::MessagesSnapshot])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let mut losses = Losses::default();
        let edited = event.edited(|member| match member.is("messages") {
            true => message::all_for_older(member.value, self.client, &mut losses).into(),
            false => Change::Keep,
        });
        send(event, edited, losses, at, out);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::trial::Trial, *};
    use crate::pipeline::Loss;

    #[test]
    fn messages_are_reshaped_and_each_loss_named() {
        let event = r#"{"type":"MESSAGES_SNAPSHOT","x":1.0,"messages":[{"id":"1","role":"new"},{"id":"2","role":"tool","content":[{"type":"image"}]}]}"#;
        let trial = Trial::of(History::new(Version::npm(59)), &[event]);
        assert_eq!(
            trial.texts,
            [r#"{"type":"MESSAGES_SNAPSHOT","x":1.0,"messages":[{"id":"2","role":"tool","content":""}]}"#]
        );
        assert_eq!(trial.losses, [Loss::Part("message_role"), Loss::Part("image_part")]);
    }

    #[test]
    fn a_snapshot_that_the_client_reads_stays() {
        let events = [
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":"a","encryptedValue":"e"}]}"#,
            r#"{"type":"MESSAGES_SNAPSHOT","messages":{}}"#,
            r#"{"type":"MESSAGES_SNAPSHOT"}"#,
        ];
        Trial::of(History::new(Version::npm(41)), &events).assert_untouched(&events);
    }
}
