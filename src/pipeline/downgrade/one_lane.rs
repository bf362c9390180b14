//! Chunks of an agent and of its subagents come in, chunks that a client with one lane puts together rightly go out.
//! Clients before 0.0.59 end a chunk stream at whatever else comes, also from another lane. So chunks are expanded from
//! the first event on that belongs to a subagent; a stream without subagents passes as it is. Whose an event is has to be
//! still on it here.

use std::time::Instant;

use crate::{
    agui::{Event, EventKind, Kinds, edit, json::Members, word::SUBAGENT_RUN_ID},
    pipeline::{End, Loss, Out, Stage, Way, expand::Expand},
};

/// Expands the chunks of streams that have subagents.
#[derive(Debug, Default)]
pub struct OneLane {
    expand: Option<Expand>,
    /// The identifier of the agent's own chunk stream that is open as one, and the chunk that opened it.
    open: Option<(Box<str>, Event)>,
}

impl OneLane {
    /// Notes what the agent's own event opens or closes.
    fn follow(&mut self, event: &Event) {
        let Some(id) = id_of(event.kind()) else {
            self.open = None;
            return;
        };
        if let Some(id) = event.string(id)
            && self.open.as_ref().is_none_or(|(open, opener)| **open != *id || opener.kind() != event.kind())
        {
            self.open = Some((id.into(), event.clone()));
        }
    }

    /// The agent's own chunk, with what its stream was opened with if it goes on with one that was open before chunks
    /// were expanded: to whoever expands them now it opens that stream anew.
    fn opening(&mut self, event: Event) -> Event {
        let Some((_, opener)) = self.open.take().filter(|(_, opener)| opener.kind() == event.kind()) else {
            return event;
        };
        let said = ["messageId", "role", "name", "toolCallId", "toolCallName", "parentMessageId"];
        let missing = Members::of(opener.text()).filter(|m| said.iter().any(|name| m.is(name)));
        missing.fold(event, |event, m| match m.name() {
            Some(name) if event.member(&name).is_none() => {
                edit::appended(event.text(), &name, m.value).map_or(event, Event::made)
            }
            _ => event,
        })
    }
}

/// The member that names the item of a chunk of this kind.
const fn id_of(kind: EventKind) -> Option<&'static str> {
    match kind {
        EventKind::TextMessageChunk | EventKind::ReasoningMessageChunk => Some("messageId"),
        EventKind::ToolCallChunk => Some("toolCallId"),
        _ => None,
    }
}

impl Stage for OneLane {
    fn kinds(&self) -> Kinds {
        use EventKind::*;
        let aside = [Raw, ActivitySnapshot, ActivityDelta, ReasoningEncryptedValue, Other];
        let kinds: Vec<_> = EventKind::ALL.iter().copied().filter(|kind| !aside.contains(kind)).collect();
        Kinds::of(&kinds)
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let tagged = SUBAGENT_RUN_ID.is_in(event.text()) && event.member("subagentRunId").is_some();
        if tagged {
            self.expand.get_or_insert_default();
        }
        let Some(expand) = &self.expand else {
            self.follow(&event);
            return out.send(event, at);
        };
        let takes = expand.kinds().contains(event.kind());
        let event = match id_of(event.kind()) {
            _ if tagged || self.open.is_none() => event,
            Some(id) if event.member(id).is_none() => self.opening(event),
            Some(id) if event.string(id).as_deref() == self.open.as_ref().map(|(open, _)| &**open) => {
                self.opening(event)
            }
            _ => {
                self.open = None;
                event
            }
        };
        if id_of(event.kind()).is_some() {
            out.converted(Way::Down, event.kind(), Loss::None);
        }
        match self.expand.as_mut().filter(|_| takes) {
            Some(expand) => expand.event(event, at, out),
            None => out.send(event, at),
        }
    }

    fn end(&mut self, how: End, at: Instant, out: &mut Out<'_>) {
        if let Some(expand) = &mut self.expand {
            expand.end(how, at, out);
        }
    }

    fn held(&self) -> usize {
        let open = self.open.as_ref().map_or(0, |(id, opener)| id.len() + opener.text().len());
        open + self.expand.as_ref().map_or(0, Stage::held)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::trial::Trial, *};

    const A: &str = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"a","role":"user","delta":"1"}"#;
    const A2: &str = r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"2"}"#;
    const S: &str = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"s","delta":"3","subagentRunId":"o"}"#;
    const S2: &str = r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"4","subagentRunId":"o"}"#;
    const END: &str = r#"{"type":"RUN_FINISHED"}"#;

    /// What each message holds, as one that reads starts and contents would put it together.
    fn put_together(events: &[&str]) -> Vec<(String, String)> {
        let mut messages: Vec<(String, String)> = Vec::new();
        for text in Trial::of(OneLane::default(), events).texts {
            let event = Event::made(text);
            let (id, delta) = (event.string("messageId"), event.string("delta"));
            let Some(id) = id.or_else(|| messages.last().map(|(id, _)| id.clone().into())) else { continue };
            match messages.iter_mut().find(|(of, _)| *of == *id) {
                Some((_, content)) => content.push_str(&delta.unwrap_or_default()),
                None => messages.push((id.into(), delta.unwrap_or_default().into())),
            }
        }
        messages
    }

    #[test]
    fn a_stream_without_subagents_keeps_its_chunks() {
        let events = [A, A2, r#"{"type":"CUSTOM","name":"n","value":{"subagentRunId":"o"}}"#, A, END];
        Trial::of(OneLane::default(), &events).assert_untouched(&events);
    }

    #[test]
    fn lanes_that_take_turns_keep_their_texts_apart() {
        let announced = r#"{"type":"SUBAGENT_STARTED","subagentRunId":"o","name":"n"}"#;
        let expected = [("a".to_owned(), "122".to_owned()), ("s".to_owned(), "344".to_owned())];
        assert_eq!(put_together(&[announced, A, S, A2, S2, A2, S2, END]), expected);
        assert_eq!(put_together(&[A, A2, S, S2, A2, S2, END]), expected, "also with a stream open before");
    }

    #[test]
    fn a_stream_that_was_open_before_is_opened_anew() {
        let step = r#"{"type":"STEP_STARTED","stepName":"n","subagentRunId":"o"}"#;
        let trial = Trial::of(OneLane::default(), &[A, step, A2]);
        assert_eq!(trial.texts[2], r#"{"type":"TEXT_MESSAGE_START","messageId":"a","role":"user"}"#);
        assert_eq!(trial.texts[3], r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"2"}"#);
        let closed = r#"{"type":"STEP_STARTED","stepName":"n"}"#;
        let trial = Trial::of(OneLane::default(), &[A, step, closed, A2]);
        assert_eq!(trial.texts[3], A2, "what its own lane has closed is not opened again");
    }
}
