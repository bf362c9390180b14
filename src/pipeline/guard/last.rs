//! An event comes in that ends the run if nothing of the run follows it; it goes out when that is known. It is held for no
//! more than the next event that says something of a run.

use super::rule::Rule;
use crate::agui::{Event, EventKind};

/// What is held, if anything is.
#[derive(Debug, Default)]
pub struct Last(Option<(Rule, Event)>);

impl Last {
    /// Whether nothing is held.
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Bytes held.
    pub fn held(&self) -> usize {
        self.0.as_ref().map_or(0, |(_, event)| event.size())
    }

    /// Holds this event, for it breaks this rule if it is not the last. Gives back what was held before.
    pub fn hold(&mut self, rule: Rule, event: Event) -> Option<(Rule, Event)> {
        self.0.replace((rule, event))
    }

    /// Gives back what is held.
    pub fn take(&mut self) -> Option<(Rule, Event)> {
        self.0.take()
    }

    /// Whether the run goes on, if such an event follows what is held.
    pub fn is_followed_by(kind: EventKind) -> bool {
        kind != EventKind::Other
    }
}
