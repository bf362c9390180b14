//! Events come in, fewer that say the same go out: deltas of one item that come close together are one, and of snapshots
//! the last. Nothing waits longer than a window, nothing goes past a barrier, and nothing gets lost but what is named.
//!
//! A *barrier* is every event that is not known to be mergeable: what is held leaves before it, and the next delta after it
//! leaves at once. Between two barriers each item (a message, a tool call, the state, an activity) has a *window* of its
//! own: what comes sooner than a window after something of it left is held, for a window from its first piece on, and
//! leaves as one. So items may go around each other, which no reader can tell at a barrier, but nothing goes around more of
//! its own. A `RAW` waits for all that is held before it; deltas that came after it may leave before it, because nothing is
//! made of it.
//!
//! While the client is slow there are no windows: everything mergeable is held, until it reads again or too much is held.

mod change;
mod changes;
mod delta;
mod follow;
mod grown;
mod hold;
mod piece;
mod queue;
#[cfg(test)]
mod tests;
mod text;
mod tracked;
mod window;

use std::time::{Duration, Instant};

use self::{
    change::Change,
    follow::{Follow, Turn},
    hold::Hold,
    piece::{Piece, Shape},
    tracked::Tracked,
    window::Key,
};
use super::{End, Out, Stage, state::Verdict};
use crate::agui::{Event, EventKind, Kinds};

/// What a route wants of the throttle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How far apart two events of one item are at least, and how long one is held at most. Zero holds nothing back,
    /// unless the client is slow.
    pub every: Duration,
    /// How many characters are held of one item at most; then it leaves early. A slow client gets more at once.
    pub max_chars: usize,
    /// What becomes of deltas while the client does not read.
    pub slow_client: SlowClient,
    /// Whether an event that carries its `rawEvent` stays as it is, which makes it a barrier. Else those that are merged
    /// lose it.
    pub keep_raw_event: bool,
    /// The bytes that are held at most. Past it everything leaves at once. The state may take as many, and all activities
    /// together; past that they are not followed, and their patches not merged.
    pub limit: usize,
}

/// What becomes of deltas while the client does not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlowClient {
    /// They are merged until it does.
    #[default]
    Merge,
    /// They are as many as ever.
    Wait,
}

impl Policy {
    /// Whether it ever changes a stream.
    pub fn acts(&self) -> bool {
        !self.every.is_zero() || self.slow_client == SlowClient::Merge
    }
}

/// Merges what comes close together.
#[derive(Debug)]
pub struct Throttle {
    policy: Policy,
    hold: Hold,
    follow: Follow,
    tracked: Tracked,
}

impl Throttle {
    /// A stage for one stream.
    pub fn new(policy: Policy) -> Self {
        let tracked = Tracked::within(policy.limit);
        Self { policy, hold: Hold::new(policy), follow: Follow::default(), tracked }
    }

    fn barrier(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        self.hold.clear(at, out);
        out.send(event, at);
    }

    /// A delta of text, reasoning or a tool call.
    fn delta(&mut self, shape: &'static Shape, event: Event, at: Instant, out: &mut Out<'_>) {
        let off = self.policy.every.is_zero() && !self.hold.slow;
        if off && !shape.chunk && self.follow.is_idle() {
            return out.send(event, at);
        }
        let text = event.text().clone();
        let piece = match event.plain_in(&text) {
            Some(plain) => Piece::plain(plain),
            None => Piece::read(shape, &text),
        };
        // What others continue depends on what this closes or opens: it may wait only where all wait behind it.
        let turns = match shape.chunk {
            true => self.chunk(shape, piece.as_ref(), at, out) && !self.hold.slow,
            false => !self.follow.is_idle() && self.follow.event(&event),
        };
        let mergeable = |piece: &Piece<'_>| {
            let raw_event = piece.raw_event && self.policy.keep_raw_event;
            let waits = turns && (!shape.chunk || piece.measure.half);
            !raw_event && !waits && piece.end.is_some() && !event.is_named_error()
        };
        let Some(piece) = piece.filter(mergeable) else { return self.barrier(event, at, out) };
        let id = piece.id.clone();
        let tag = piece.tag.clone();
        let (owner, id) = match shape.chunk {
            false => (tag.as_deref(), id.as_deref()),
            true => match self.follow.turn(shape, &piece) {
                Turn::Continues(owner, id) => (owner, Some(id)),
                _ => return self.barrier(event, at, out),
            },
        };
        self.hold.delta(Key { kind: event.kind(), owner, id }, event, piece, at, out);
    }

    /// What a chunk opens and closes; whether it opens an item. Behind one that is out of place nothing is taken for
    /// certain.
    fn chunk(&mut self, shape: &'static Shape, piece: Option<&Piece<'_>>, at: Instant, out: &mut Out<'_>) -> bool {
        match piece.map(|piece| (piece, self.follow.turn(shape, piece))) {
            Some((_, Turn::Continues(..))) => false,
            Some((piece, Turn::Opens(lane))) => {
                self.hold.clear(at, out);
                self.follow.open(lane, shape, piece);
                true
            }
            Some((_, Turn::Odd)) | None => {
                self.follow.lose();
                false
            }
        }
    }

    /// A snapshot or a delta of the state or of an activity.
    fn change(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let kind = event.kind();
        // What replaced it would not close the same.
        let closes = !self.follow.is_idle() && self.follow.event(&event);
        let text = event.text().clone();
        let Some(change) = Change::read(kind, &text).filter(|_| !event.is_named_error()) else {
            self.tracked.lose(kind);
            return self.barrier(event, at, out);
        };
        let creates =
            kind == EventKind::ActivitySnapshot && !change.id.as_deref().is_some_and(|id| self.tracked.knows(id));
        let verdict = self.tracked.follow(kind, &change);
        let raw_event = change.raw_event && self.policy.keep_raw_event;
        if closes || verdict == Verdict::Malformed || raw_event || change.says_more {
            return self.barrier(event, at, out);
        }
        if creates {
            // Messages are shown in the order in which they appear.
            self.hold.clear(at, out);
        }
        // The snapshots and the deltas of one value are one item.
        let (item, patch) = match kind {
            EventKind::StateSnapshot => (EventKind::StateSnapshot, false),
            EventKind::StateDelta => (EventKind::StateSnapshot, true),
            EventKind::ActivitySnapshot => (EventKind::ActivitySnapshot, false),
            _ => (EventKind::ActivitySnapshot, true),
        };
        let id = change.id.clone();
        let key = Key { kind: item, owner: None, id: id.as_deref() };
        self.hold.change(key, event, change, patch && verdict == Verdict::Applies, at, out);
    }
}

impl Stage for Throttle {
    fn kinds(&self) -> Kinds {
        Kinds::ALL
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let kind = event.kind();
        match kind {
            EventKind::Raw => self.hold.loose(event, at, out),
            EventKind::StateSnapshot
            | EventKind::StateDelta
            | EventKind::ActivitySnapshot
            | EventKind::ActivityDelta => self.change(event, at, out),
            _ => match Shape::of(kind) {
                Some(shape) => self.delta(shape, event, at, out),
                None => {
                    self.follow.event(&event);
                    if matches!(kind, EventKind::RunStarted | EventKind::MessagesSnapshot) {
                        self.tracked.forget_activities();
                    }
                    self.barrier(event, at, out);
                }
            },
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.hold.deadline()
    }

    fn wake(&mut self, at: Instant, out: &mut Out<'_>) {
        self.hold.wake(at, out);
    }

    fn slow(&mut self, slow: bool, at: Instant, out: &mut Out<'_>) {
        self.hold.slow = slow && self.policy.slow_client == SlowClient::Merge;
        self.hold.wake(at, out);
    }

    fn end(&mut self, _how: End, at: Instant, out: &mut Out<'_>) {
        self.hold.clear(at, out);
        self.follow.close_all();
    }

    fn held(&self) -> usize {
        self.hold.held() + self.follow.held() + self.tracked.held()
    }
}
