//! Current events come in, those that an older client reads go out: a list of shims, each for one boundary between two
//! releases, newest first. A shim changes nothing that the client reads as it is, invents nothing, repairs nothing that
//! is malformed for the current protocol too, and names what it has to leave out.

mod cancelled;
mod early;
mod empty_delta;
mod history;
mod null_parent;
mod on_interrupt;
mod one_lane;
mod operation;
mod outcome;
mod parent;
mod restate;
mod run_after_error;
mod run_started;
mod steps;
mod subagent;
#[cfg(test)]
mod tests;
mod tool_result;
#[cfg(test)]
mod trial;
mod unknown;
mod wrap;

use std::time::Instant;

use super::{Loss, Out, Peers, Stage, Way};
use crate::agui::{Encoding, Event, Losses, Version};

/// What becomes of an event that the client's version has no shape for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unrepresentable {
    /// It is left out.
    #[default]
    Drop,
    /// It is wrapped as `CUSTOM`, which needs chunks to be expanded.
    Custom,
}

/// Whether chunks have to be expanded for this client. Those up to 0.0.36 take one message or tool call at a time, and
/// messages of one role.
pub fn needs_expansion(peers: &Peers, unrepresentable: Unrepresentable) -> bool {
    let old = peers.client.is_old();
    peers.client < Version::npm(37)
        || (old && unrepresentable == Unrepresentable::Custom)
        || (old && peers.encoding == Encoding::Protobuf)
}

/// What a stream for a client of this version passes through, newest boundary first.
pub fn shims(client: Version, unrepresentable: Unrepresentable) -> Vec<Box<dyn Stage>> {
    let mut shims = Vec::new();
    if client < Version::V1_0 {
        before_1_0(client, unrepresentable, &mut shims);
    }
    if client < Version::npm(59) {
        shims.push(Box::new(run_after_error::RunAfterError::default()));
        shims.push(Box::new(one_lane::OneLane::default()));
        shims.push(Box::new(steps::Steps::default()));
        shims.push(Box::new(subagent::Subagent::new(unrepresentable)));
    }
    if client < Version::npm(58) {
        shims.push(Box::new(null_parent::NullParent));
    }
    if client < Version::npm(54) {
        shims.push(Box::new(on_interrupt::OnInterrupt));
    }
    if client < Version::npm(50) {
        shims.push(Box::new(empty_delta::EmptyDelta));
    }
    shims.extend(restate::Restate::needed_by(client).map(|stage| Box::new(stage) as Box<dyn Stage>));
    shims.extend(early::shims(client, unrepresentable));
    // Last, as it has to know in which order the client gets which messages.
    if client < Version::npm(52) {
        shims.push(Box::new(parent::Parent::default()));
    }
    shims
}

fn before_1_0(client: Version, unrepresentable: Unrepresentable, shims: &mut Vec<Box<dyn Stage>>) {
    shims.push(Box::new(unknown::Unknown::new(unrepresentable)));
    shims.push(Box::new(run_started::RunStarted::new(client)));
    shims.push(Box::new(history::History::new(client)));
    shims.push(Box::new(tool_result::ToolResult));
    shims.push(Box::new(operation::Operation));
    shims.push(Box::new(cancelled::Cancelled));
    if client >= Version::npm(54) {
        shims.push(Box::new(outcome::Outcome));
    }
    if client >= Version::npm(59) {
        shims.push(Box::new(outcome::SubagentOutcome));
    }
}

/// Sends the changed event and names what that cost, each shape by itself; or the event as it is, if nothing changed.
fn send(event: Event, changed: Option<Event>, losses: Losses, at: Instant, out: &mut Out<'_>) {
    let Some(changed) = changed else { return out.send(event, at) };
    let losses = losses.into_vec();
    if losses.is_empty() {
        out.converted(Way::Down, event.kind(), Loss::None);
    }
    for shape in losses {
        out.converted(Way::Down, event.kind(), Loss::Part(shape));
    }
    out.send(changed, at);
}
