//! A value comes in, then the patches that a stream makes to it; whether each applies goes out, where that can be told. For
//! stages that need to know it without acting on it.

use super::{
    Fault,
    document::Document,
    patch::{self, Operation},
    tree::Node,
};

/// Whether a patch applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pipeline) enum Verdict {
    /// In every client, and has been applied.
    Applies,
    /// It does not, and has changed nothing.
    Fails,
    /// It is no patch.
    Malformed,
    /// It cannot be told, or clients differ: the value is not known any more.
    Unknown,
}

/// A value that is followed.
#[derive(Debug)]
pub(in crate::pipeline) struct Followed(Document);

impl Followed {
    /// The value that is this JSON, valid and without white space around it.
    pub(in crate::pipeline) fn of(text: &[u8]) -> Self {
        Self(Document::of(text))
    }

    /// Applies the patch that is this JSON, valid. The value before and after it may take `limit` bytes together.
    pub(in crate::pipeline) fn apply(&mut self, text: &[u8], limit: usize) -> Verdict {
        let patch = match read(text) {
            Ok(patch) => patch,
            Err(verdict) => return verdict,
        };
        match self.0.apply(&patch, false, limit) {
            Ok(_) => Verdict::Applies,
            Err(Fault::Mismatch) => Verdict::Fails,
            Err(_) => Verdict::Unknown,
        }
    }

    /// What can be said of a patch to a value that is not known.
    pub(in crate::pipeline) fn blind(text: &[u8]) -> Verdict {
        read(text).err().unwrap_or(Verdict::Unknown)
    }

    /// Whether it is an object.
    pub(in crate::pipeline) fn is_object(&self) -> bool {
        match self.0.root() {
            Node::Object(_) => true,
            Node::Text(text) => text.starts_with(b"{"),
            Node::Array(_) => false,
        }
    }

    /// The bytes it takes.
    pub(in crate::pipeline) fn held(&self) -> usize {
        self.0.held()
    }
}

fn read(text: &[u8]) -> Result<Vec<Operation>, Verdict> {
    match patch::read(text) {
        // The current clients leave an unknown operation out, older ones refuse the whole patch.
        Ok(patch) if patch.contains(&Operation::Unknown) => Err(Verdict::Unknown),
        Ok(patch) => Ok(patch),
        Err(Fault::Beyond) => Err(Verdict::Unknown),
        Err(_) => Err(Verdict::Malformed),
    }
}
