//! What one binding can say and the other cannot comes in, its name from a closed set goes out, fit for a metric label.

use std::fmt;

/// Declares the shapes once, so that the enum, the names and the list cannot disagree.
macro_rules! shapes {
    ($($(#[$doc:meta])* $shape:ident = $name:literal,)*) => {
        /// What got lost on the way between JSON and protobuf.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Shape {
            $($(#[$doc])* $shape,)*
        }

        impl Shape {
            /// Every shape.
            pub const ALL: &[Self] = &[$(Self::$shape,)*];

            /// Its name, fit for a metric label.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$shape => $name,)*
                }
            }
        }
    };
}

shapes! {
    /// A payload that is no JSON object.
    NoJson = "no_json",
    /// An event without a `type`, or with several that differ.
    NoType = "no_type",
    /// An event type that has no place on the wire.
    UnknownType = "unknown_type",
    /// An event type that the peer's version does not know.
    NewerType = "newer_type",
    /// JSON, or a protobuf value, nested more deeply than is carried.
    Nesting = "nesting",
    /// A member that the protocol does not have there.
    UnknownMember = "unknown_member",
    /// A member that the peer's version does not know.
    NewerMember = "newer_member",
    /// A member that stands in an object twice; the last one counts.
    DuplicateMember = "duplicate_member",
    /// A member that has to be there and is not; it arrives empty.
    MissingMember = "missing_member",
    /// A known member whose value is of another type; it is spelled as text, or left out.
    WrongType = "wrong_type",
    /// A patch operation's member beyond `op`, `path`, `from` and `value`.
    PatchMember = "patch_member",
    /// A patch operation of a kind that has no number; it is left out.
    PatchOperation = "patch_operation",
    /// A content part of a type that has no place on the wire; it is left out.
    ContentPart = "content_part",
    /// A content part of the retired type `binary`; it becomes a document.
    BinaryPart = "binary_part",
    /// A content part whose source has no place on the wire; it is left out.
    ContentSource = "content_source",
    /// Content of a form that the message's role does not have; it is left out.
    ContentForm = "content_form",
    /// A number beyond 2^53 whose digits change, one that no double reaches and that arrives as infinity, or an integer
    /// that is out of range and left out.
    LargeNumber = "large_number",
    /// An infinity, or what is no number, for which JSON has no word; it arrives as null.
    NotFinite = "not_finite",
    /// A fraction where the wire holds an integer; it is left out.
    Fraction = "fraction",
    /// Half of a surrogate pair, or bytes that are no UTF-8; U+FFFD stands for it.
    Text = "text",
    /// A protobuf field that this build does not know.
    UnknownField = "unknown_field",
}

/// The shapes that one event lost, each once.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Losses(u32);

const _: () = assert!(Shape::ALL.len() <= u32::BITS as usize);

impl Losses {
    /// Nothing lost.
    pub const NONE: Self = Self(0);

    /// Adds a shape.
    pub fn insert(&mut self, shape: Shape) {
        self.0 |= 1 << shape as u8;
    }

    /// Whether this shape is among them.
    pub fn contains(self, shape: Shape) -> bool {
        self.0 & (1 << shape as u8) != 0
    }

    /// Whether nothing was lost.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The shapes, in the order of [`Shape::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Shape> {
        Shape::ALL.iter().copied().filter(move |shape| self.contains(*shape))
    }
}

impl fmt::Debug for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Shape::as_str)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_named_once_however_often_it_is_met() {
        let mut losses = Losses::NONE;
        assert!(losses.is_empty());
        losses.insert(Shape::Text);
        losses.insert(Shape::NoJson);
        losses.insert(Shape::Text);
        assert_eq!(losses.iter().collect::<Vec<_>>(), [Shape::NoJson, Shape::Text]);
        assert_eq!(format!("{losses:?}"), r#"{"no_json", "text"}"#);
        assert!(losses.contains(Shape::Text) && !losses.contains(Shape::Fraction));
    }

    #[test]
    fn names_are_told_apart() {
        let names: std::collections::BTreeSet<_> = Shape::ALL.iter().map(|shape| shape.as_str()).collect();
        assert_eq!(names.len(), Shape::ALL.len());
    }
}
