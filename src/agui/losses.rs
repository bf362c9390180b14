//! The names of shapes that a conversion leaves out come in, each of them once goes out.

use super::json::Member;

/// The shapes that got lost, each named once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses(Vec<&'static str>);

impl Losses {
    /// Names a shape.
    pub fn name(&mut self, shape: &'static str) {
        if !self.0.contains(&shape) {
            self.0.push(shape);
        }
    }

    /// Names the shape of a member, unless it held nothing.
    pub fn member(&mut self, member: &Member<'_>, shape: &'static str) {
        if !member.is_null() {
            self.name(shape);
        }
    }

    /// Names what `others` holds.
    pub fn extend(&mut self, others: Self) {
        others.0.into_iter().for_each(|shape| self.name(shape));
    }

    /// The first of them.
    pub fn first(&self) -> Option<&'static str> {
        self.0.first().copied()
    }

    /// All of them, in the order in which they got lost first.
    pub fn into_vec(self) -> Vec<&'static str> {
        self.0
    }
}
