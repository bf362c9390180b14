//! What a stream shows of activity and reasoning comes in, each such message as it stands comes out, in the order in which
//! the stream's messages began. It holds no more than [`HELD_MAX`] bytes.

use json_patch::{Patch, PatchOperation};

use super::roles;
use crate::agui::{
    edit::quoted,
    json::{self, Members, string},
};

/// How many bytes of messages, and of the identifiers of their neighbours, are held for a stream at most.
pub const HELD_MAX: usize = 256 * 1024;

/// How many values one patch may copy: each copy may double the content.
const COPIES_MAX: usize = 4;

/// The two roles of messages that the client may delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Activity,
    Reasoning,
}

impl Role {
    /// The shape of its loss.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Activity => "activity",
            Self::Reasoning => "reasoning",
        }
    }

    /// The role of a message, if it is one of the two.
    pub fn of(message: &[u8]) -> Option<Self> {
        match text(message, "role")?.as_ref() {
            "activity" => Some(Self::Activity),
            "reasoning" => Some(Self::Reasoning),
            _ => None,
        }
    }
}

/// One message of the stream.
#[derive(Debug)]
pub struct Item {
    pub id: Box<str>,
    pub state: State,
}

/// What there is to say of a message.
#[derive(Debug)]
pub enum State {
    /// Where it stands: a snapshot states it by itself.
    Neighbour,
    /// A reasoning message: the inside of its content's string, and its encrypted value, as they were spelled.
    Reasoning { content: Vec<u8>, encrypted: Option<Vec<u8>> },
    /// An activity message: its type and its content.
    Activity { kind: Vec<u8>, content: Vec<u8> },
}

impl Item {
    pub fn role(&self) -> Option<Role> {
        match self.state {
            State::Neighbour => None,
            State::Reasoning { .. } => Some(Role::Reasoning),
            State::Activity { .. } => Some(Role::Activity),
        }
    }

    /// The whole message, JSON; empty for a neighbour.
    pub fn stated(&self) -> Vec<u8> {
        let id = quoted(&self.id);
        match &self.state {
            State::Neighbour => Vec::new(),
            State::Reasoning { content, encrypted } => {
                let content = [&b"\""[..], content, b"\""].concat();
                let mut out = [&br#"{"id":"#[..], &id, br#","role":"reasoning","content":"#, &content].concat();
                if let Some(encrypted) = encrypted {
                    out.extend_from_slice(br#","encryptedValue":"#);
                    out.extend_from_slice(encrypted);
                }
                out.push(b'}');
                out
            }
            State::Activity { kind, content } => [
                &br#"{"id":"#[..],
                &id,
                br#","role":"activity","activityType":"#,
                kind,
                br#","content":"#,
                content,
                b"}",
            ]
            .concat(),
        }
    }

    fn size(&self) -> usize {
        size_of::<Self>()
            + self.id.len()
            + match &self.state {
                State::Neighbour => 0,
                State::Reasoning { content, encrypted } => content.len() + encrypted.as_ref().map_or(0, Vec::len),
                State::Activity { kind, content } => kind.len() + content.len(),
            }
    }
}

/// The messages of a stream, in order.
#[derive(Debug)]
pub struct Kept {
    activity: bool,
    reasoning: bool,
    items: Vec<Item>,
    held: usize,
    /// The reasoning message that chunks go on with.
    chunk: Option<Box<str>>,
    /// The roles of which something is no longer held.
    lost: Vec<Role>,
    full: bool,
}

impl Kept {
    /// Keeps the messages of these roles.
    pub fn new(activity: bool, reasoning: bool) -> Self {
        Self { activity, reasoning, items: Vec::new(), held: 0, chunk: None, lost: Vec::new(), full: false }
    }

    pub fn items(&self) -> &[Item] {
        &self.items
    }

    pub fn held(&self) -> usize {
        self.held
    }

    /// A message of another role has begun.
    pub fn neighbour(&mut self, id: &str) {
        if self.find(id).is_none() {
            self.push(id, State::Neighbour);
        }
    }

    /// A reasoning message has begun, or goes on.
    pub fn reasoning(&mut self, id: &str) {
        if self.reasoning && self.find(id).is_none() {
            self.push(id, State::Reasoning { content: Vec::new(), encrypted: None });
        }
    }

    /// A reasoning message has more text, a JSON string.
    pub fn delta(&mut self, id: &str, delta: Option<&[u8]>) {
        let Some([b'"', inner @ .., b'"']) = delta else { return };
        self.change(id, |state| {
            if let State::Reasoning { content, .. } = state {
                content.extend_from_slice(inner);
            }
            true
        });
    }

    /// A chunk of a reasoning message.
    pub fn chunk(&mut self, id: Option<&str>, delta: Option<&[u8]>) {
        if !self.reasoning {
            return;
        }
        if let Some(id) = id {
            self.reasoning(id);
            self.chunk = Some(id.into());
        }
        if let Some(id) = self.chunk.take() {
            self.delta(&id, delta);
            self.chunk = Some(id);
        }
    }

    /// A message has got an encrypted value, a JSON string.
    pub fn encrypted(&mut self, id: &str, value: Option<&[u8]>) {
        self.change(id, |state| {
            if let State::Reasoning { encrypted, .. } = state {
                *encrypted = value.map(<[u8]>::to_vec);
            }
            true
        });
    }

    /// An activity message has begun, or has new content.
    pub fn activity(&mut self, id: &str, kind: &[u8], content: &[u8], replace: bool) {
        if !self.activity {
            return self.neighbour(id);
        }
        let new = || State::Activity { kind: kind.to_vec(), content: content.to_vec() };
        if self.find(id).is_none() {
            return self.push(id, new());
        }
        if replace {
            self.change(id, |state| {
                *state = new();
                true
            });
        }
    }

    /// An activity message has changed. A patch that does not apply leaves it as it was.
    pub fn patch(&mut self, id: &str, kind: &[u8], patch: &[u8]) {
        self.change(id, |state| {
            let State::Activity { kind: old, content } = state else { return true };
            let Ok(patch) = serde_json::from_slice::<Patch>(patch) else { return true };
            let copies = patch.iter().filter(|operation| matches!(operation, PatchOperation::Copy(_))).count();
            let Ok(mut value) = serde_json::from_slice(content) else { return false };
            if copies > COPIES_MAX {
                return false;
            }
            if json_patch::patch(&mut value, &patch).is_ok() {
                *content = value.to_string().into_bytes();
                *old = kind.to_vec();
            }
            true
        });
    }

    /// The roles of which the client loses something with this snapshot, because it is no longer held here.
    pub fn given_up(&self, messages: &[u8]) -> Vec<Role> {
        let mut lost = self.lost.clone();
        if !lost.is_empty() {
            roles(messages).for_each(|role| lost.retain(|of| *of != role));
        }
        lost
    }

    /// The client's messages are these now.
    pub fn adopt(&mut self, messages: &[u8]) {
        if self.full {
            return;
        }
        (self.items, self.held) = (Vec::new(), 0);
        for message in json::elements(messages) {
            let Some(id) = text(message, "id") else { continue };
            let state = match Role::of(message) {
                Some(Role::Reasoning) if self.reasoning => match member(message, "content") {
                    Some([b'"', content @ .., b'"']) => State::Reasoning {
                        content: content.to_vec(),
                        encrypted: member(message, "encryptedValue").map(<[u8]>::to_vec),
                    },
                    _ => State::Neighbour,
                },
                Some(Role::Activity) if self.activity => {
                    match (member(message, "activityType"), member(message, "content")) {
                        (Some(kind), Some(content)) => {
                            State::Activity { kind: kind.to_vec(), content: content.to_vec() }
                        }
                        _ => State::Neighbour,
                    }
                }
                _ => State::Neighbour,
            };
            self.push(&id, state);
        }
    }

    fn find(&self, id: &str) -> Option<usize> {
        self.items.iter().rposition(|item| *item.id == *id)
    }

    fn push(&mut self, id: &str, state: State) {
        let item = Item { id: id.into(), state };
        if self.full {
            return self.lose(item.role());
        }
        self.held += item.size();
        self.items.push(item);
        self.check();
    }

    /// Changes a message; gives up if that cannot be followed.
    fn change(&mut self, id: &str, change: impl FnOnce(&mut State) -> bool) {
        let Some(item) = self.find(id).and_then(|at| self.items.get_mut(at)) else { return };
        self.held -= item.size();
        let followed = change(&mut item.state);
        self.held += item.size();
        if followed { self.check() } else { self.give_up() }
    }

    fn check(&mut self) {
        if self.held > HELD_MAX {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        self.full = true;
        self.held = 0;
        for item in std::mem::take(&mut self.items) {
            self.lose(item.role());
        }
    }

    fn lose(&mut self, role: Option<Role>) {
        if let Some(role) = role.filter(|role| !self.lost.contains(role)) {
            self.lost.push(role);
        }
    }
}

fn member<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    Members::of(object).find(|m| m.is(name)).map(|m| m.value)
}

fn text<'a>(object: &'a [u8], name: &str) -> Option<std::borrow::Cow<'a, str>> {
    string(member(object, name)?)
}
