//! The text of a JSON value comes in, a tree goes out that is taken apart only where somebody looks. What nobody looks
//! at stays text: it costs no work, keeps the spelling of its numbers, and is written again as it came.

use std::borrow::Cow;

use bytes::Bytes;
use indexmap::IndexMap;

use super::Fault;
use crate::agui::{
    edit::quoted,
    json::{Elements, Members},
};

/// What a node costs beside its text.
pub(super) const NODE: usize = 64;

/// How deep a tree is taken apart: as deep as common readers of JSON go. Bounds every recursion over it.
pub(super) const DEPTH: usize = 128;

/// A value. The text of each node is whole, valid JSON without white space around it.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// As it was spelled.
    Text(Bytes),
    /// Taken apart.
    Array(Vec<Node>),
    /// Taken apart. Of members with the same name the last one counts, as in every client.
    Object(Box<IndexMap<String, Node>>),
}

/// How much may be done and held for one event.
#[derive(Debug)]
pub(super) struct Allowance {
    work: usize,
    room: usize,
}

/// Bytes of text in a tree, and nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) text: usize,
    pub(super) nodes: usize,
}

impl Allowance {
    /// Steps over elements or bytes of text for one event: a fraction of a second, far more than any state needs.
    const WORK: usize = 64 << 20;

    /// The work that one event may take, and this much room for what it takes apart or adds.
    pub(super) fn with(room: usize) -> Self {
        Self { work: Self::WORK, room }
    }

    /// Takes this much work.
    pub(super) fn work(&mut self, steps: usize) -> Result<(), Fault> {
        self.work = self.work.checked_sub(steps).ok_or(Fault::Beyond)?;
        Ok(())
    }

    /// Takes this much room.
    pub(super) fn room(&mut self, bytes: usize) -> Result<(), Fault> {
        self.room = self.room.checked_sub(bytes).ok_or(Fault::Beyond)?;
        Ok(())
    }
}

impl Size {
    /// All of it in bytes.
    pub(super) fn bytes(self) -> usize {
        self.text + self.nodes * NODE
    }
}

impl Node {
    /// `null`.
    pub(super) fn null() -> Self {
        Self::Text(Bytes::from_static(b"null"))
    }

    /// This node taken apart by one level; as it is if it is no array and no object.
    pub(super) fn opened(&self, allowance: &mut Allowance) -> Result<Cow<'_, Self>, Fault> {
        let Self::Text(text) = self else { return Ok(Cow::Borrowed(self)) };
        Ok(open(text, allowance)?.map_or(Cow::Borrowed(self), Cow::Owned))
    }

    /// Takes this node apart by one level, and says what that changed in its size.
    pub(super) fn open(&mut self, allowance: &mut Allowance) -> Result<Option<(Size, Size)>, Fault> {
        let Self::Text(text) = self else { return Ok(None) };
        let Some(opened) = open(text, allowance)? else { return Ok(None) };
        let before = self.size();
        *self = opened;
        Ok(Some((before, self.size())))
    }

    /// Its size, with everything in it.
    pub(super) fn size(&self) -> Size {
        let mut size = Size { text: 0, nodes: 1 };
        let mut add = |name: usize, node: &Self| {
            let part = node.size();
            size.text += name + part.text;
            size.nodes += part.nodes;
        };
        match self {
            Self::Text(text) => size.text = text.len(),
            Self::Array(list) => list.iter().for_each(|node| add(0, node)),
            Self::Object(members) => members.iter().for_each(|(name, node)| add(name.len(), node)),
        }
        size
    }

    /// By how many levels it has been taken apart.
    pub(super) fn depth(&self) -> usize {
        let deepest = match self {
            Self::Text(_) => return 0,
            Self::Array(list) => list.iter().map(Self::depth).max(),
            Self::Object(members) => members.values().map(Self::depth).max(),
        };
        1 + deepest.unwrap_or_default()
    }

    /// Writes its JSON: without white space where it has been taken apart, elsewhere as it was spelled.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Text(text) => out.extend_from_slice(text),
            Self::Array(list) => {
                out.push(b'[');
                for (i, node) in list.iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    node.write(out);
                }
                out.push(b']');
            }
            Self::Object(members) => {
                out.push(b'{');
                for (i, (name, node)) in members.iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    out.extend_from_slice(&quoted(name));
                    out.push(b':');
                    node.write(out);
                }
                out.push(b'}');
            }
        }
    }
}

/// The array or object in this text, taken apart by one level; its parts share the text.
fn open(text: &Bytes, allowance: &mut Allowance) -> Result<Option<Node>, Fault> {
    match text.first() {
        Some(b'[') => {
            allowance.work(text.len())?;
            let mut list = Vec::new();
            for place in Elements::of(text) {
                allowance.room(NODE)?;
                list.push(Node::Text(text.slice(place)));
            }
            Ok(Some(Node::Array(list)))
        }
        Some(b'{') => {
            allowance.work(text.len())?;
            let mut members = IndexMap::new();
            for member in Members::of(text) {
                // Half of a surrogate pair is a name to JavaScript, and none here.
                let name = member.name().ok_or(Fault::Beyond)?.into_owned();
                allowance.room(NODE + name.len())?;
                members.insert(name, Node::Text(text.slice(member.value_span())));
            }
            Ok(Some(Node::Object(Box::new(members))))
        }
        _ => Ok(None),
    }
}
