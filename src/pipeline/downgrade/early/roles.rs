//! Text messages come in, the assistant's go out with their role written; those of other roles, which the client has
//! no shape for, go nowhere. It must not give a message a role that is not its own.

use std::{collections::HashSet, time::Instant};

use crate::{
    agui::{Event, EventKind, Kinds},
    pipeline::{Loss, Out, Stage, Way},
};

/// How many messages of other roles may be open at once. The next one is passed on as it is, and the client ends the
/// run over it.
const OPEN_LIMIT: usize = 1024;

/// Leaves only the assistant's messages.
#[derive(Debug, Default)]
pub struct Roles {
    /// The open messages that the client does not see.
    hidden: HashSet<String>,
}

impl Roles {
    fn start(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let Some(role) = event.member("role") else {
            out.converted(Way::Down, event.kind(), Loss::None);
            return out.send(event.with("role", br#""assistant""#), at);
        };
        let other = role.starts_with(b"\"") && event.string("role").is_some_and(|role| role != "assistant");
        match event.string("messageId") {
            Some(id) if other && self.hidden.len() < OPEN_LIMIT => {
                self.hidden.insert(id.into_owned());
                out.converted(Way::Down, event.kind(), Loss::Whole("message_role"));
            }
            _ => out.send(event, at),
        }
    }

    fn rest(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let hidden = !self.hidden.is_empty()
            && event.string("messageId").is_some_and(|id| match event.kind() {
                EventKind::TextMessageEnd => self.hidden.remove(&*id),
                _ => self.hidden.contains(&*id),
            });
        match hidden {
            true => out.converted(Way::Down, event.kind(), Loss::Whole("message_role")),
            false => out.send(event, at),
        }
    }
}

impl Stage for Roles {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[
            EventKind::TextMessageStart,
            EventKind::TextMessageContent,
            EventKind::TextMessageEnd,
            EventKind::RunStarted,
        ])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        match event.kind() {
            EventKind::TextMessageStart => self.start(event, at, out),
            EventKind::RunStarted => {
                self.hidden.clear();
                out.send(event, at);
            }
            _ => self.rest(event, at, out),
        }
    }

    fn held(&self) -> usize {
        self.hidden.iter().map(String::len).sum()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::tests::{run, texts};
    use super::*;

    fn roles() -> Vec<Box<dyn Stage>> {
        vec![Box::new(Roles::default())]
    }

    #[test]
    fn a_message_without_a_role_is_the_assistants() {
        let sink = run(roles(), &[r#"{"type":"TEXT_MESSAGE_START","messageId":"a"}"#]);
        assert_eq!(texts(&sink), [r#"{"type":"TEXT_MESSAGE_START","messageId":"a","role":"assistant"}"#]);
    }

    #[test]
    fn a_message_of_another_role_is_left_out_whole() {
        let sink = run(
            roles(),
            &[
                r#"{"type":"TEXT_MESSAGE_START","messageId":"a","role":"assistant"}"#,
                r#"{"type":"TEXT_MESSAGE_START","messageId":"u","role":"user"}"#,
                r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"u","delta":"x"}"#,
                r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"y"}"#,
                r#"{"type":"TEXT_MESSAGE_END","messageId":"u"}"#,
                r#"{"type":"TEXT_MESSAGE_END","messageId":"a"}"#,
                r#"{"type":"TEXT_MESSAGE_END","messageId":"u"}"#,
            ],
        );
        assert_eq!(
            texts(&sink),
            [
                r#"{"type":"TEXT_MESSAGE_START","messageId":"a","role":"assistant"}"#,
                r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"y"}"#,
                r#"{"type":"TEXT_MESSAGE_END","messageId":"a"}"#,
                r#"{"type":"TEXT_MESSAGE_END","messageId":"u"}"#,
            ],
            "a second end is the client's to judge"
        );
        assert_eq!(sink.converted.len(), 3);
        assert!(sink.converted.iter().all(|c| c.loss == Loss::Whole("message_role")));
    }

    #[test]
    fn a_role_that_is_no_text_is_left_to_the_client() {
        let odd = r#"{"type":"TEXT_MESSAGE_START","messageId":"a","role":null}"#;
        assert_eq!(texts(&run(roles(), &[odd])), [odd]);
    }
}
