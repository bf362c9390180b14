//! Current events come in, those that an older client reads go out. (skeleton)

mod custom;
mod early;

use super::{Peers, Stage};
use crate::agui::{Encoding, Version};

/// What becomes of an event that the client's version has no shape for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unrepresentable {
    /// It is left out.
    #[default]
    Drop,
    /// It is wrapped as `CUSTOM`, which needs chunks to be expanded.
    Custom,
}

/// Whether chunks have to be expanded for this client.
pub fn needs_expansion(peers: &Peers, unrepresentable: Unrepresentable) -> bool {
    let old = peers.client.is_old();
    peers.client < Version::npm(37)
        || (old && unrepresentable == Unrepresentable::Custom)
        || (old && peers.encoding == Encoding::Protobuf)
}

/// What a stream for a client of this version passes through, newest boundary first.
pub fn shims(client: Version, unrepresentable: Unrepresentable) -> Vec<Box<dyn Stage>> {
    let mut stages: Vec<Box<dyn Stage>> = Vec::new();
    stages.extend(early::shims(client, unrepresentable));
    stages
}
