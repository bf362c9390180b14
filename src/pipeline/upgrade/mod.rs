//! Events of an older agent come in, the current ones that say the same go out. (skeleton)
use super::Stage;

/// What an older agent's stream passes through. `always`: also the runs that declare a current version.
pub fn shims(_always: bool) -> Vec<Box<dyn Stage>> {
    Vec::new()
}
