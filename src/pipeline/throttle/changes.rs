//! Snapshots and deltas of one value come in, fewer that lead to the same go out: what comes before a snapshot is left
//! out, and patches that are sure to apply are one. The others stay as they came, in order.

use std::{ops::Range, time::Instant};

use super::{change::Change, grown::Grown, piece::alike};
use crate::agui::{Event, json::Elements};

/// One that is held, or several that have become one.
#[derive(Debug)]
struct Held {
    event: Grown,
    since: Instant,
    /// Whether it is a patch that is sure to apply.
    applies: bool,
    /// Whether the patch has operations.
    full: bool,
    /// Where in the text the members stand that have to be the same in what is merged.
    same: Vec<Range<usize>>,
}

/// The changes of one value that are held.
#[derive(Debug, Default)]
pub(super) struct Changes {
    list: Vec<Held>,
    bytes: usize,
}

/// What became of the change that came last.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is held beside the others.
    Beside,
    /// It went into the one before it, and saved this.
    Merged(usize),
}

impl Changes {
    /// Leaves out all that is held, and how many of the events lost what they were made from.
    pub(super) fn replaced(&mut self) -> impl Iterator<Item = (Event, usize)> {
        self.bytes = 0;
        std::mem::take(&mut self.list).into_iter().map(|held| {
            let lost = held.event.raw_events();
            (held.event.finish(), lost)
        })
    }

    /// Holds this event, which is this change. `applies` says that it is a patch that is sure to apply.
    pub(super) fn push(&mut self, event: &Event, change: Change<'_>, applies: bool, at: Instant) -> Fate {
        let text = event.text();
        let operations = operations(change.value);
        if applies
            && let Some(last) = self.list.last_mut()
            && last.applies
            && alike((last.event.first(), &last.same), (text, &change.same))
        {
            let inner = change.value.get(operations.clone()).unwrap_or_default();
            let glue: &[u8] = if last.full && !inner.is_empty() { b"," } else { b"" };
            let before = last.event.held();
            last.event.push(glue, inner, change.raw_event);
            self.bytes += last.event.held() - before;
            last.full |= !inner.is_empty();
            return Fate::Merged(text.len().saturating_sub(glue.len() + inner.len()));
        }
        let event = Grown::of(event, change.end, change.raw_event);
        let full = !operations.is_empty();
        self.bytes += event.held() + size_of::<Held>();
        self.list.push(Held { event, since: at, applies, full, same: change.same });
        Fate::Beside
    }

    /// The bytes they take.
    pub(super) fn held(&self) -> usize {
        self.bytes
    }

    /// What they have become, since when each is held, and how many events lost what they were made from.
    pub(super) fn finish(self) -> impl Iterator<Item = (Event, Instant, usize)> {
        self.list.into_iter().map(|held| {
            let lost = if held.event.is_alone() { 0 } else { held.event.raw_events() };
            (held.event.finish(), held.since, lost)
        })
    }
}

/// Where in an array its elements stand, all together.
fn operations(value: &[u8]) -> Range<usize> {
    let mut elements = Elements::of(value);
    let Some(first) = elements.next() else { return 0..0 };
    let end = elements.last().map_or(first.end, |last| last.end);
    first.start..end
}
