//! The state before and the text of the one after come in; the JSON Patch that leads from one to the other goes out,
//! if there is a short one that every client can apply. Values are compared by their spelling, so that digits which a
//! client might keep never count as the same.

use bytes::Bytes;

use super::{
    Fault,
    tree::{Allowance, DEPTH, Node},
};
use crate::agui::edit::quoted;

/// Names that common libraries refuse to follow: in JavaScript they reach out of the value.
const REFUSED: &[&str] = &["__proto__", "prototype"];

/// The operations, a JSON array that is shorter than `new`; `None` if there is none that every client can apply. What
/// has to be looked at may take this much `room`.
pub(super) fn diff(old: &Node, new: &Bytes, room: usize) -> Option<Vec<u8>> {
    let (out, path, allowance) = (vec![b'['], String::new(), Allowance::with(room));
    let mut diff = Diff { out, path, most: new.len().saturating_sub(2), allowance };
    diff.value(old, new, 0).ok()?;
    diff.out.push(b']');
    Some(diff.out)
}

/// Why there is no diff.
enum Stop {
    /// It would be longer than what it leads to.
    Long,
    /// It takes too much, or not every client can apply it.
    Beyond,
}

impl From<Fault> for Stop {
    fn from(_: Fault) -> Self {
        Self::Beyond
    }
}

struct Diff {
    out: Vec<u8>,
    /// The pointer to where the walk is, escaped.
    path: String,
    most: usize,
    allowance: Allowance,
}

impl Diff {
    fn value(&mut self, old: &Node, new: &Bytes, depth: usize) -> Result<(), Stop> {
        if depth > DEPTH {
            return Err(Stop::Beyond);
        }
        if let Node::Text(old) = old {
            self.allowance.work(old.len().min(new.len()))?;
            if old == new {
                return Ok(());
            }
        }
        let (start, length, most) = (self.out.len(), self.path.len(), self.most);
        let whole = self.path.len() + new.len() + r#"{"op":"replace","path":"","value":},"#.len();
        self.most = most.min(start + whole);
        let told = self.parts(old, new, depth);
        self.most = most;
        match told {
            Ok(true) => Ok(()),
            // Where nearly everything is new, the new value itself is shorter.
            Ok(false) | Err(Stop::Long) => {
                self.out.truncate(start);
                self.path.truncate(length);
                self.operation("replace", Some(new))
            }
            Err(Stop::Beyond) => Err(Stop::Beyond),
        }
    }

    /// Tells the parts of two values of the same kind; whether they are that.
    fn parts(&mut self, old: &Node, new: &Bytes, depth: usize) -> Result<bool, Stop> {
        let new = Node::Text(new.clone());
        let (old, new) = (old.opened(&mut self.allowance)?, new.opened(&mut self.allowance)?);
        match (&*old, &*new) {
            (Node::Object(old), Node::Object(new)) => {
                for name in old.keys().filter(|name| !new.contains_key(*name)) {
                    self.at(name, |diff| diff.operation("remove", None))?;
                }
                for (name, new) in new.iter() {
                    let Node::Text(new) = new else { return Err(Stop::Beyond) };
                    self.at(name, |diff| match old.get(name) {
                        Some(old) => diff.value(old, new, depth + 1),
                        None => diff.operation("add", Some(new)),
                    })?;
                }
                Ok(true)
            }
            (Node::Array(old), Node::Array(new)) => self.list(old, new, depth).map(|()| true),
            _ => Ok(false),
        }
    }

    /// Elements that are the same at the beginning and the end stay; between them, one is told after the other.
    fn list(&mut self, old: &[Node], new: &[Node], depth: usize) -> Result<(), Stop> {
        let front = self.same(old.iter(), new.iter())?;
        let (old, new) = (&old[front..], &new[front..]);
        let back = self.same(old.iter().rev(), new.iter().rev())?;
        let (old, new) = (&old[..old.len() - back], &new[..new.len() - back]);
        for (i, (old, new)) in old.iter().zip(new).enumerate() {
            let Node::Text(new) = new else { return Err(Stop::Beyond) };
            self.at(&(front + i).to_string(), |diff| diff.value(old, new, depth + 1))?;
        }
        // From the end, so that no index moves before its turn.
        for i in (new.len()..old.len()).rev() {
            self.at(&(front + i).to_string(), |diff| diff.operation("remove", None))?;
        }
        for (i, new) in new.iter().enumerate().skip(old.len()) {
            let Node::Text(new) = new else { return Err(Stop::Beyond) };
            self.at(&(front + i).to_string(), |diff| diff.operation("add", Some(new)))?;
        }
        Ok(())
    }

    /// How many pairs are spelled the same, up to the first that is not.
    fn same<'n>(
        &mut self,
        old: impl Iterator<Item = &'n Node>,
        new: impl Iterator<Item = &'n Node>,
    ) -> Result<usize, Stop> {
        let mut count = 0;
        for pair in old.zip(new) {
            let (Node::Text(old), Node::Text(new)) = pair else { break };
            self.allowance.work(old.len().min(new.len()))?;
            if old != new {
                break;
            }
            count += 1;
        }
        Ok(count)
    }

    fn at(&mut self, token: &str, call: impl FnOnce(&mut Self) -> Result<(), Stop>) -> Result<(), Stop> {
        let length = self.path.len();
        self.path.push('/');
        for character in token.chars() {
            match character {
                '~' => self.path.push_str("~0"),
                '/' => self.path.push_str("~1"),
                other => self.path.push(other),
            }
        }
        let before = self.out.len();
        call(self)?;
        if self.out.len() > before && REFUSED.contains(&token) {
            return Err(Stop::Beyond);
        }
        self.path.truncate(length);
        Ok(())
    }

    fn operation(&mut self, op: &str, value: Option<&Bytes>) -> Result<(), Stop> {
        if self.out.len() > 1 {
            self.out.push(b',');
        }
        self.out.extend_from_slice(b"{\"op\":\"");
        self.out.extend_from_slice(op.as_bytes());
        self.out.extend_from_slice(b"\",\"path\":");
        self.out.extend_from_slice(&quoted(&self.path));
        if let Some(value) = value {
            self.out.extend_from_slice(b",\"value\":");
            self.out.extend_from_slice(value);
        }
        self.out.push(b'}');
        if self.out.len() > self.most { Err(Stop::Long) } else { Ok(()) }
    }
}
