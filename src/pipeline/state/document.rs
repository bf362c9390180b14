//! The operations of a JSON Patch come in and change the state as a whole or not at all. What it holds is counted:
//! it neither grows past its limit nor keeps what has gone out of the state.

use std::ops::{AddAssign, SubAssign};

use bytes::Bytes;

use super::{
    Fault,
    equal::equal,
    patch::Operation,
    tree::{Allowance, DEPTH, NODE, Node, Size},
};

/// Text that has gone out of the state, but shares memory with what is in it, may be as much as that and this.
const SLACK: usize = 16 << 10;

/// What a member costs in JSON beside its name and value: quotes, a colon, a comma, brackets.
const SYNTAX: usize = 6;

/// A state.
#[derive(Debug)]
pub(super) struct Document {
    root: Node,
    size: Size,
    /// Bytes of all texts that may be in memory.
    kept: usize,
}

/// How to take back one step. Members are counted as elements are.
enum Undo<'p> {
    Root(Node),
    Put { parent: &'p [String], index: usize, old: Node },
    Insert { parent: &'p [String], index: usize, name: Option<String>, old: Node },
    Remove { parent: &'p [String], index: usize },
}

/// One patch on its way through a document.
struct Change<'d, 'p> {
    document: &'d mut Document,
    allowance: Allowance,
    undo: Vec<Undo<'p>>,
}

impl Document {
    /// The state that is this JSON.
    pub(super) fn of(text: &[u8]) -> Self {
        let root = Node::Text(Bytes::copy_from_slice(text));
        Self { size: root.size(), root, kept: text.len() }
    }

    /// The bytes that it takes, or would take if no two values shared their text.
    pub(super) fn held(&self) -> usize {
        self.kept.max(self.size.text) + self.size.nodes * NODE
    }

    /// Whether its size is what counting again comes to.
    #[cfg(test)]
    pub(super) fn is_counted(&self) -> bool {
        self.size == self.root.size()
    }

    /// Its tree.
    pub(super) fn root(&self) -> &Node {
        &self.root
    }

    /// Its JSON.
    pub(super) fn text(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.size.text + self.size.nodes * SYNTAX);
        self.root.write(&mut out);
        out
    }

    /// Applies a patch, and names the operations that were `replace` and were read as `add`: there are none unless that
    /// is `lenient`.
    ///
    /// # Errors
    ///
    /// [`Fault::Mismatch`] if it does not apply: then nothing has changed. [`Fault::Beyond`] if the state before and
    /// after it takes more than `limit` bytes together, or too much work: then this is of no use any more.
    pub(super) fn apply(&mut self, patch: &[Operation], lenient: bool, limit: usize) -> Result<Vec<usize>, Fault> {
        let mut result = self.attempt(patch, lenient, limit);
        if result == Err(Fault::Beyond) {
            self.tidy();
            result = self.attempt(patch, lenient, limit);
        }
        if self.kept > 2 * (self.size.text + self.size.nodes * SYNTAX) + SLACK {
            self.tidy();
        }
        result
    }

    fn attempt(&mut self, patch: &[Operation], lenient: bool, limit: usize) -> Result<Vec<usize>, Fault> {
        let allowance = Allowance::with(limit.saturating_sub(self.held()));
        let mut change = Change { document: self, allowance, undo: Vec::new() };
        let mut added = Vec::new();
        for (i, operation) in patch.iter().enumerate() {
            match change.step(operation, lenient) {
                Ok(false) => {}
                Ok(true) => added.push(i),
                Err(fault) => {
                    change.take_back();
                    return Err(fault);
                }
            }
        }
        Ok(added)
    }

    /// Lets go of all memory that is not the state's.
    fn tidy(&mut self) {
        *self = Self::of(&self.text());
    }
}

impl<'p> Change<'_, 'p> {
    /// One operation; whether it was a `replace` that was read as `add`.
    fn step(&mut self, operation: &'p Operation, lenient: bool) -> Result<bool, Fault> {
        match operation {
            Operation::Add(path, value) => {
                let value = self.value(value)?;
                self.insert(path, value)?;
            }
            Operation::Remove(path) => self.remove(path)?,
            Operation::Replace(path, value) => {
                let value = self.value(value)?;
                if lenient && self.lacks(path)? {
                    self.insert(path, value)?;
                    return Ok(true);
                }
                self.put(path, value)?;
            }
            Operation::Move { from, to } if from == to => drop(self.at(from)?),
            Operation::Move { from, to } if to.starts_with(from) => return Err(Fault::Mismatch),
            Operation::Move { from, to } => {
                let node = self.copy(from)?;
                self.remove(from)?;
                self.insert(to, node)?;
            }
            Operation::Copy { from, to } => {
                let node = self.copy(from)?;
                self.insert(to, node)?;
            }
            Operation::Test(path, value) => {
                let Document { root, size, .. } = &mut *self.document;
                let found = walk(root, path, size, &mut self.allowance)?;
                if !equal(found, &Node::Text(value.clone()), &mut self.allowance)? {
                    return Err(Fault::Mismatch);
                }
            }
            Operation::Unknown => {}
        }
        Ok(false)
    }

    fn value(&mut self, text: &Bytes) -> Result<Node, Fault> {
        self.allowance.room(text.len() + NODE)?;
        self.document.kept += text.len();
        Ok(Node::Text(text.clone()))
    }

    fn copy(&mut self, path: &[String]) -> Result<Node, Fault> {
        let size = self.at(path)?.size();
        self.allowance.work(size.nodes)?;
        self.allowance.room(size.bytes())?;
        self.at(path).cloned()
    }

    fn at(&mut self, path: &[String]) -> Result<&mut Node, Fault> {
        let Document { root, size, .. } = &mut *self.document;
        walk(root, path, size, &mut self.allowance)
    }

    /// Whether all of `path` is there but for its last step, the name of a member.
    fn lacks(&mut self, path: &[String]) -> Result<bool, Fault> {
        let Some((last, parent)) = path.split_last() else { return Ok(false) };
        let Document { root, size, .. } = &mut *self.document;
        let container = container(root, parent, size, &mut self.allowance)?;
        Ok(matches!(container, Node::Object(members) if !members.contains_key(last)))
    }

    fn insert(&mut self, path: &'p [String], node: Node) -> Result<(), Fault> {
        let Some((last, parent)) = path.split_last() else { return self.put(path, node) };
        let gained = node.size();
        self.allowance.work(gained.nodes)?;
        if path.len() + node.depth() > DEPTH {
            return Err(Fault::Beyond);
        }
        let Document { root, size, .. } = &mut *self.document;
        let undo = match container(root, parent, size, &mut self.allowance)? {
            Node::Array(list) => {
                let index = if last == "-" { list.len() } else { index(last)? };
                let behind = list.len().checked_sub(index).ok_or(Fault::Mismatch)?;
                self.allowance.work(behind)?;
                list.insert(index, node);
                Undo::Remove { parent, index }
            }
            Node::Object(members) => match members.insert_full(last.clone(), node) {
                (index, Some(old)) => {
                    *size -= old.size();
                    Undo::Put { parent, index, old }
                }
                (index, None) => {
                    size.text += last.len();
                    Undo::Remove { parent, index }
                }
            },
            Node::Text(_) => return Err(Fault::Mismatch),
        };
        *size += gained;
        self.undo.push(undo);
        Ok(())
    }

    fn put(&mut self, path: &'p [String], node: Node) -> Result<(), Fault> {
        let Document { root, size, .. } = &mut *self.document;
        let Some((last, parent)) = path.split_last() else {
            *size = node.size();
            self.undo.push(Undo::Root(std::mem::replace(root, node)));
            return Ok(());
        };
        let container = container(root, parent, size, &mut self.allowance)?;
        let index = place(container, last)?;
        let old = part(container, index).ok_or(Fault::Mismatch)?;
        *size += node.size();
        let old = std::mem::replace(old, node);
        *size -= old.size();
        self.undo.push(Undo::Put { parent, index, old });
        Ok(())
    }

    /// Without the whole, `null` is left, as in the clients.
    fn remove(&mut self, path: &'p [String]) -> Result<(), Fault> {
        let Some((last, parent)) = path.split_last() else { return self.put(path, Node::null()) };
        let Document { root, size, .. } = &mut *self.document;
        let container = container(root, parent, size, &mut self.allowance)?;
        let index = place(container, last)?;
        let length = match container {
            Node::Array(list) => list.len(),
            Node::Object(members) => members.len(),
            Node::Text(_) => 0,
        };
        self.allowance.work(length.saturating_sub(index))?;
        let (name, old) = cut(container, index).ok_or(Fault::Mismatch)?;
        *size -= old.size();
        *size -= Size { text: name.as_ref().map_or(0, String::len), nodes: 0 };
        self.undo.push(Undo::Insert { parent, index, name, old });
        Ok(())
    }

    /// Undoes every step, the last one first.
    fn take_back(self) {
        let Document { root, size, .. } = self.document;
        // What a step has found is still there, in pieces.
        let mut allowance = Allowance::with(usize::MAX);
        for undo in self.undo.into_iter().rev() {
            match undo {
                Undo::Root(old) => *root = old,
                Undo::Put { parent, index, old } => {
                    let node = walk(root, parent, size, &mut allowance).ok();
                    if let Some(node) = node.and_then(|container| part(container, index)) {
                        *node = old;
                    }
                }
                Undo::Insert { parent, index, name, old } => match (walk(root, parent, size, &mut allowance), name) {
                    (Ok(Node::Array(list)), _) => list.insert(index, old),
                    (Ok(Node::Object(members)), Some(name)) => drop(members.shift_insert(index, name, old)),
                    _ => {}
                },
                Undo::Remove { parent, index } => {
                    if let Ok(container) = walk(root, parent, size, &mut allowance) {
                        cut(container, index);
                    }
                }
            }
        }
        *size = root.size();
    }
}

/// The node at `path`; what lies on the way is taken apart.
fn walk<'n>(
    root: &'n mut Node,
    path: &[String],
    size: &mut Size,
    allowance: &mut Allowance,
) -> Result<&'n mut Node, Fault> {
    let mut node = root;
    for token in path {
        open(node, size, allowance)?;
        let index = place(node, token)?;
        node = part(node, index).ok_or(Fault::Mismatch)?;
    }
    Ok(node)
}

/// The node at `path`, itself taken apart too.
fn container<'n>(
    root: &'n mut Node,
    path: &[String],
    size: &mut Size,
    allowance: &mut Allowance,
) -> Result<&'n mut Node, Fault> {
    let node = walk(root, path, size, allowance)?;
    open(node, size, allowance)?;
    Ok(node)
}

fn open(node: &mut Node, size: &mut Size, allowance: &mut Allowance) -> Result<(), Fault> {
    if let Some((before, after)) = node.open(allowance)? {
        *size -= before;
        *size += after;
    }
    Ok(())
}

/// Where in this array or object `token` leads.
fn place(container: &Node, token: &str) -> Result<usize, Fault> {
    match container {
        Node::Array(list) => index(token).ok().filter(|index| *index < list.len()),
        Node::Object(members) => members.get_index_of(token),
        Node::Text(_) => None,
    }
    .ok_or(Fault::Mismatch)
}

fn part(container: &mut Node, index: usize) -> Option<&mut Node> {
    match container {
        Node::Array(list) => list.get_mut(index),
        Node::Object(members) => members.get_index_mut(index).map(|(_, node)| node),
        Node::Text(_) => None,
    }
}

fn cut(container: &mut Node, index: usize) -> Option<(Option<String>, Node)> {
    match container {
        Node::Array(list) => (index < list.len()).then(|| (None, list.remove(index))),
        Node::Object(members) => members.shift_remove_index(index).map(|(name, node)| (Some(name), node)),
        Node::Text(_) => None,
    }
}

/// An index as RFC 6901 spells it: digits, without a zero in front.
fn index(token: &str) -> Result<usize, Fault> {
    let digits = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
    let plain = digits && (token.len() == 1 || !token.starts_with('0'));
    token.parse().ok().filter(|_| plain).ok_or(Fault::Mismatch)
}

impl AddAssign for Size {
    fn add_assign(&mut self, other: Self) {
        self.text += other.text;
        self.nodes += other.nodes;
    }
}

impl SubAssign for Size {
    fn sub_assign(&mut self, other: Self) {
        self.text = self.text.saturating_sub(other.text);
        self.nodes = self.nodes.saturating_sub(other.nodes);
    }
}
