//! What a stream says of the state and of its activities comes in, in order; whether a patch is sure to apply where it
//! arrives goes out. What would take too much is not tracked, and nothing is claimed of it.

use super::change::Change;
use crate::{
    agui::EventKind,
    pipeline::state::{Followed, Verdict},
};

/// How many activities are tracked at most.
const ACTIVITIES_MAX: usize = 32;

/// The state and the activities, as far as they are known.
#[derive(Debug)]
pub(super) struct Tracked {
    state: Option<Followed>,
    activities: Vec<(Box<str>, Followed)>,
    /// The bytes that the state, and all activities together, may take.
    limit: usize,
}

impl Tracked {
    pub(super) fn within(limit: usize) -> Self {
        Self { state: None, activities: Vec::new(), limit }
    }

    /// Whether this activity is sure to be there.
    pub(super) fn knows(&self, id: &str) -> bool {
        self.activities.iter().any(|(other, _)| **other == *id)
    }

    /// Follows a change; what is to be said of it.
    pub(super) fn follow(&mut self, kind: EventKind, change: &Change<'_>) -> Verdict {
        let id = change.id.as_deref().unwrap_or_default();
        match kind {
            EventKind::StateSnapshot => {
                // Clients before 1.0 keep what they have when they are told `null`.
                let known = change.value != b"null" && change.value.len() <= self.limit;
                self.state = known.then(|| Followed::of(change.value));
                Verdict::Applies
            }
            EventKind::StateDelta => {
                let Some(state) = &mut self.state else { return Followed::blind(change.value) };
                let verdict = state.apply(change.value, self.limit);
                if verdict == Verdict::Unknown || verdict == Verdict::Malformed {
                    self.state = None;
                }
                verdict
            }
            EventKind::ActivitySnapshot => {
                // Whether one is there that it leaves alone is known only if that is known.
                if change.replaces {
                    self.forget(id);
                    let room = self.activities() + change.value.len() <= self.limit;
                    if room && self.activities.len() < ACTIVITIES_MAX {
                        self.activities.push((id.into(), Followed::of(change.value)));
                    }
                }
                Verdict::Applies
            }
            _ => self.activity(id, change.value),
        }
    }

    fn activity(&mut self, id: &str, patch: &[u8]) -> Verdict {
        let all = self.activities();
        let Some((_, content)) = self.activities.iter_mut().find(|(other, _)| **other == *id) else {
            return Followed::blind(patch);
        };
        let limit = self.limit.saturating_sub(all).saturating_add(content.held());
        let mut verdict = content.apply(patch, limit);
        if verdict == Verdict::Applies && !content.is_object() {
            verdict = Verdict::Unknown;
        }
        if verdict == Verdict::Unknown || verdict == Verdict::Malformed {
            self.forget(id);
        }
        verdict
    }

    /// A change came that cannot be read.
    pub(super) fn lose(&mut self, kind: EventKind) {
        match kind {
            EventKind::StateSnapshot | EventKind::StateDelta => self.state = None,
            _ => self.activities.clear(),
        }
    }

    /// The messages were replaced, and activities with them.
    pub(super) fn forget_activities(&mut self) {
        self.activities.clear();
    }

    fn forget(&mut self, id: &str) {
        self.activities.retain(|(other, _)| **other != *id);
    }

    fn activities(&self) -> usize {
        self.activities.iter().map(|(id, content)| id.len() + content.held()).sum()
    }

    /// The bytes it takes.
    pub(super) fn held(&self) -> usize {
        self.state.as_ref().map_or(0, Followed::held) + self.activities()
    }
}
