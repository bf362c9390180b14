//! Declares a closed set once: names come in, an enum with its list and its text goes out.

/// An enum whose variants each have one fixed text, fit for a metric label (I10).
macro_rules! closed_set {
    ($(#[$doc:meta])* $set:ident { $($(#[$member_doc:meta])* $member:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $set {
            $($(#[$member_doc])* $member,)*
        }

        impl $set {
            /// Every member; a member's place is its [`Self::index`].
            pub const ALL: &[Self] = &[$(Self::$member,)*];
            /// How many members there are.
            pub const COUNT: usize = Self::ALL.len();

            /// The text used in labels and logs.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$member => $text,)*
                }
            }

            /// This member's place in [`Self::ALL`], for tables.
            pub const fn index(self) -> usize {
                self as usize
            }
        }
    };
}

pub(super) use closed_set;
