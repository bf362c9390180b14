//! The version of a peer comes in, an order of versions goes out: which arms and fields of the wire it knows.

/// A version of AG-UI that a peer speaks on the wire. A field that came after it is not sent to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer {
    major: u16,
    minor: u16,
    patch: u16,
}

impl Peer {
    /// The newest version that this build knows.
    pub const CURRENT: Self = Self::new(1, 1, 0);
    /// The version whose reference encoder this codec follows byte for byte.
    pub const V1_0: Self = Self::new(1, 0, 0);

    /// The version `major.minor.patch`.
    pub const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self { major, minor, patch }
    }

    /// Whether it knows what came with `since`.
    pub(super) fn knows(self, since: Self) -> bool {
        since <= self
    }
}

impl Default for Peer {
    fn default() -> Self {
        Self::CURRENT
    }
}
