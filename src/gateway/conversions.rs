//! What the stages say of events reshaped between versions comes in; it is counted, logged once a shape with what to
//! upgrade, and, where that is asked for, told the client's developers in a comment.

use super::tally::Tally;
use crate::{
    agui::{EventKind, Version},
    pipeline::{Converted, Loss, Peers, Way},
    wire::{Batch, Writer},
};

/// Comments that wait for a place between two events; what comes after so many is only logged.
const WAITING: usize = 64;

/// The conversions of one stream.
#[derive(Debug)]
pub struct Conversions {
    peers: Peers,
    /// What the agent speaks on the run that is read now.
    agent: Version,
    announces: bool,
    waiting: Vec<String>,
}

impl Conversions {
    /// None have happened yet but these, which the run's input lost on its way to the agent.
    pub fn new(peers: Peers, announces: bool, input: &[&str]) -> Self {
        let told = |loss: &&str| format!("tidegate dropped {loss} of the run's input (agent {})", peers.agent);
        let waiting = input.iter().filter(|_| announces).map(told).collect();
        Self { peers, agent: peers.agent, announces, waiting }
    }

    /// A run begins whose agent declares this.
    pub fn run_started(&mut self, declared: Option<Version>) {
        self.agent = declared.unwrap_or(self.peers.agent);
    }

    /// An event was reshaped.
    pub fn happened(&mut self, converted: Converted, tally: &mut Tally) {
        let Converted { way, kind, loss } = converted;
        let (from, to) = match way {
            Way::Up => (self.agent, Version::CURRENT),
            Way::Down => (self.agent.max(Version::V1_0), self.peers.client),
        };
        let shape = match loss {
            Loss::None => "none",
            Loss::Part(shape) | Loss::Whole(shape) => shape,
        };
        if !tally.converted(from, to, kind, shape) || loss == Loss::None {
            return;
        }
        let (r#type, run_id) = (kind.as_str(), tally.run_id());
        tracing::info!(
            loss = shape,
            r#type,
            from = from.as_str(),
            to = to.as_str(),
            run_id,
            "lost between versions; upgrade the {} to keep it",
            way.older()
        );
        if self.announces && self.waiting.len() < WAITING {
            self.waiting.push(announcement(kind, loss, way, if way == Way::Up { from } else { to }));
        }
    }

    /// Writes the comments that wait. Called only between two events.
    pub fn announce(&mut self, writer: &Writer, out: &mut Batch) {
        for text in self.waiting.drain(..) {
            writer.comment(&text, out);
        }
    }
}

/// `tidegate dropped SUBAGENT_STARTED (client 0.0.47)`.
fn announcement(kind: EventKind, loss: Loss, way: Way, version: Version) -> String {
    let what = match loss {
        Loss::Part(shape) => format!("{shape} of {}", kind.as_str()),
        Loss::Whole(shape) if kind == EventKind::Other => shape.to_owned(),
        Loss::Whole(_) | Loss::None => kind.as_str().to_owned(),
    };
    format!("tidegate dropped {what} ({} {version})", way.older())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_announcement_says_what_was_dropped_and_for_whom() {
        let v47 = Version::declared("0.0.47");
        for (kind, loss, way, text) in [
            (
                EventKind::SubagentStarted,
                Loss::Whole("subagent"),
                Way::Down,
                "tidegate dropped SUBAGENT_STARTED (client 0.0.47)",
            ),
            (EventKind::Other, Loss::Whole("unknown_type"), Way::Down, "tidegate dropped unknown_type (client 0.0.47)"),
            (
                EventKind::ToolCallResult,
                Loss::Part("image_part"),
                Way::Down,
                "tidegate dropped image_part of TOOL_CALL_RESULT (client 0.0.47)",
            ),
            (
                EventKind::ThinkingStart,
                Loss::Part("title"),
                Way::Up,
                "tidegate dropped title of THINKING_START (agent 0.0.47)",
            ),
        ] {
            assert_eq!(announcement(kind, loss, way, v47), text);
        }
    }
}
