//! The two bindings of AG-UI to HTTP, as nouns. How they are read and written is not known here.

/// How events are written on a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Encoding {
    /// Server-sent events.
    Sse,
    /// Length-prefixed protobuf.
    Protobuf,
}

impl Encoding {
    /// Each, at the place of its [`Encoding::index`].
    pub const ALL: &[Self] = &[Self::Sse, Self::Protobuf];
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// Its place in [`Encoding::ALL`], for tables.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The one that this is not.
    pub const fn other(self) -> Self {
        match self {
            Self::Sse => Self::Protobuf,
            Self::Protobuf => Self::Sse,
        }
    }

    /// Its name, fit for a metric label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sse => "sse",
            Self::Protobuf => "protobuf",
        }
    }
}
