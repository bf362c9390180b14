//! Tool calls come in, the same without a parent that is not the last message go out. Clients before 0.0.52 look for the
//! parent at the end of their list only, and otherwise add a second message under its identifier, which no snapshot
//! ever mends; a call without a parent gets a message of its own. Calls that would share a parent share that message.

use std::{collections::HashSet, time::Instant};

use crate::{
    agui::{
        Event, EventKind, Kinds,
        edit::{self, Change},
        json::{self, Members},
    },
    pipeline::{Loss, Out, Stage, Way},
};

/// Takes off parents that the client would not find.
#[derive(Debug, Default)]
pub struct Parent {
    /// The messages that the client has from this stream.
    known: HashSet<Box<str>>,
    held: usize,
    /// The last of them, unless a snapshot has left that open.
    last: Option<Box<str>>,
    moved: Option<Moved>,
}

/// How many bytes of identifiers are remembered at most; a parent past that keeps its name.
const HELD_MAX: usize = 64 * 1024;

/// A call whose parent was not the last message.
#[derive(Debug)]
struct Moved {
    parent: Box<str>,
    /// The call that the new message is named by.
    first: Box<str>,
    /// The call that came last.
    call: Box<str>,
}

impl Parent {
    /// A message with this identifier has come, at the end of the client's list if it is new.
    fn message(&mut self, id: &str) {
        if self.known.contains(id) {
            return;
        }
        self.last = Some(id.into());
        if self.held + id.len() + SLOT <= HELD_MAX {
            self.held += id.len() + SLOT;
            self.known.insert(id.into());
        }
    }

    fn snapshot(&mut self, event: &Event) {
        *self = Self::default();
        for message in event.member("messages").into_iter().flat_map(json::elements) {
            if let Some(id) = Members::of(message).find(|m| m.is("id")).and_then(|m| json::string(m.value)) {
                self.message(&id);
            }
        }
        // Which of them stand where depends on what the client had before.
        self.last = None;
    }

    /// The call without its parent, or with the call that it shares a message with; `None` if the client finds it.
    fn call(&mut self, event: &Event) -> Option<Event> {
        let call = event.string("toolCallId");
        let parent = event.string("parentMessageId");
        let Some(parent) = parent.as_deref() else {
            self.message(call.as_deref()?);
            return None;
        };
        // A chunk that goes on with a call repeats what its first one said.
        let goes_on = |moved: &&Moved| *moved.parent == *parent && call.as_deref().is_none_or(|id| *moved.call == *id);
        if let Some(moved) = self.moved.as_ref().filter(goes_on) {
            return shared(event, moved);
        }
        let call = call.as_deref()?;
        if self.moved.as_ref().is_some_and(|m| *m.parent == *parent && self.last.as_deref() == Some(&*m.first)) {
            let moved = self.moved.as_mut()?;
            moved.call = call.into();
            return shared(event, moved);
        }
        let found = self.last.as_deref().is_none_or(|last| last == parent) || !self.known.contains(parent);
        if found {
            self.moved = None;
            self.message(parent);
            return None;
        }
        let moved = Moved { parent: parent.into(), first: call.into(), call: call.into() };
        let edited = shared(event, &moved);
        self.moved = Some(moved);
        self.message(call);
        edited
    }
}

/// Bytes that an identifier takes up beside its own.
const SLOT: usize = 32;

/// The call as one of the message that is named by the first call that was moved.
fn shared(event: &Event, moved: &Moved) -> Option<Event> {
    event.edited(|member| match member.is("parentMessageId") {
        true if moved.first == moved.call => Change::Drop,
        true => Change::Value(edit::quoted(&moved.first)),
        false => Change::Keep,
    })
}

impl Stage for Parent {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[
            EventKind::TextMessageStart,
            EventKind::TextMessageChunk,
            EventKind::ReasoningMessageStart,
            EventKind::ReasoningMessageChunk,
            EventKind::ActivitySnapshot,
            EventKind::ToolCallStart,
            EventKind::ToolCallChunk,
            EventKind::ToolCallResult,
            EventKind::MessagesSnapshot,
        ])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        match event.kind() {
            EventKind::MessagesSnapshot => self.snapshot(&event),
            EventKind::ToolCallStart | EventKind::ToolCallChunk => {
                if let Some(edited) = self.call(&event) {
                    out.converted(Way::Down, event.kind(), Loss::Part("parent_message"));
                    return out.send(edited, at);
                }
            }
            _ => {
                if let Some(id) = event.string("messageId") {
                    self.message(&id);
                }
            }
        }
        out.send(event, at);
    }

    fn held(&self) -> usize {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::{super::trial::Trial, *};

    fn text(id: &str) -> String {
        format!(r#"{{"type":"TEXT_MESSAGE_START","messageId":"{id}"}}"#)
    }

    fn call(id: &str, parent: &str) -> String {
        format!(r#"{{"type":"TOOL_CALL_START","toolCallId":"{id}","toolCallName":"n","parentMessageId":"{parent}"}}"#)
    }

    fn without(id: &str) -> String {
        format!(r#"{{"type":"TOOL_CALL_START","toolCallId":"{id}","toolCallName":"n"}}"#)
    }

    fn trial(events: &[String]) -> Trial {
        Trial::of(Parent::default(), &events.iter().map(String::as_str).collect::<Vec<_>>())
    }

    #[test]
    fn a_parent_that_is_not_the_last_message_is_taken_off() {
        let trial = trial(&[text("1"), text("2"), call("c", "1")]);
        assert_eq!(trial.texts[2], without("c"));
        assert_eq!(trial.losses, [Loss::Part("parent_message")]);
    }

    #[test]
    fn calls_of_one_parent_stay_together() {
        let chunk = r#"{"type":"TOOL_CALL_CHUNK","parentMessageId":"1","delta":"x"}"#.to_owned();
        let trial = trial(&[text("1"), text("2"), call("c", "1"), call("d", "1"), chunk]);
        assert_eq!(trial.texts[2..4], [without("c"), call("d", "c")]);
        assert_eq!(trial.texts[4], r#"{"type":"TOOL_CALL_CHUNK","parentMessageId":"c","delta":"x"}"#);
    }

    #[test]
    fn a_parent_that_the_client_finds_stays() {
        let snapshot = r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1"},{"id":"2"}]}"#.to_owned();
        for events in [
            vec![text("1"), call("c", "1"), call("d", "1")],
            vec![text("1"), call("c", "other"), call("d", "other")],
            vec![text("1"), without("c")],
            vec![call("c", "1")],
            vec![snapshot.clone(), call("c", "1")],
            vec![text("1"), text("2"), text("1"), call("c", "2")],
        ] {
            let texts: Vec<_> = events.iter().map(String::as_str).collect();
            Trial::of(Parent::default(), &texts).assert_untouched(&texts);
        }
        let trial = trial(&[snapshot, text("3"), call("c", "1")]);
        assert_eq!(trial.texts[2], without("c"), "after a snapshot too");
    }

    #[test]
    fn what_is_held_is_bounded() {
        let mut parent = Parent::default();
        for n in 0..10_000 {
            parent.message(&n.to_string());
        }
        assert!(parent.held() <= HELD_MAX);
        assert_eq!(parent.last.as_deref(), Some("9999"));
    }
}
