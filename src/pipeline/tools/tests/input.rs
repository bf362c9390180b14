//! Inputs of runs, on their way to the agent.

use super::*;

/// The calls that this input holds.
pub fn known(body: &str) -> Known {
    super::super::input::filter(body.as_bytes(), &deny(&["rm"]).policy()).unwrap().known
}
