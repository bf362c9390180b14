//! Events come in, fewer that say the same go out: deltas of one item that come close together are one, and of snapshots
//! the last. Nothing waits longer than a window, nothing goes past a barrier, and nothing gets lost but what is named.
//!
//! A *barrier* is every event that is not known to be mergeable: what is held leaves before it, and the next delta after it
//! leaves at once. Between two barriers each item (a message, a tool call, the state, an activity) has a *window* of its
//! own, which begins when something of it leaves; what comes within it leaves when it ends, as one. So items may go around
//! each other, which no reader can tell at a barrier, but nothing goes around more of its own. A `RAW` waits for all that is
//! held before it; deltas that came after it may leave before it, because nothing is made of it.
//!
//! While the client is slow there are no windows: everything mergeable is held, until it reads again or too much is held.

mod change;
mod changes;
mod delta;
mod follow;
mod grown;
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
    changes::{Changes, Fate},
    delta::Delta,
    follow::{Follow, Turn},
    piece::{Piece, Shape},
    queue::{Body, Entry, Queue},
    tracked::Tracked,
    window::{Key, Place, Windows},
};
use super::{End, Out, Stage, state::Verdict};
use crate::agui::{Event, EventKind, Kinds};

/// What a route wants of the throttle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How far apart two events of one item are at least. Zero holds nothing back, unless the client is slow.
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
    /// Whether the client is slow, and the policy is to merge then.
    slow: bool,
    windows: Windows,
    queue: Queue,
    follow: Follow,
    tracked: Tracked,
}

impl Throttle {
    /// A stage for one stream.
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            slow: false,
            windows: Windows::default(),
            queue: Queue::default(),
            follow: Follow::default(),
            tracked: Tracked::within(policy.limit),
        }
    }

    /// Whether everything goes straight through.
    fn is_off(&self) -> bool {
        self.policy.every.is_zero() && !self.slow
    }

    /// Sends what is held and closes all windows.
    fn clear(&mut self, at: Instant, out: &mut Out<'_>) {
        if !self.queue.is_empty() {
            for entry in self.queue.take_all() {
                send(entry, at, out);
            }
        }
        self.windows.clear();
    }

    fn barrier(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        self.clear(at, out);
        out.send(event, at);
    }

    /// A delta of text, reasoning or a tool call.
    fn delta(&mut self, shape: &'static Shape, event: Event, at: Instant, out: &mut Out<'_>) {
        if self.is_off() && !shape.chunk && self.follow.is_idle() {
            return out.send(event, at);
        }
        let text = event.text().clone();
        let piece = Piece::read(shape, &text);
        if !shape.chunk {
            if !self.follow.is_idle() && self.follow.event(&event) {
                self.clear(at, out);
            }
        } else if let Some(piece) = &piece
            && let Turn::Opens(lane) = self.follow.turn(shape, piece)
        {
            self.clear(at, out);
            self.follow.open(lane, shape, piece);
        } else if piece.is_none() {
            self.follow.close_all();
        }
        let mergeable = |piece: &Piece<'_>| {
            let raw_event = piece.raw_event && self.policy.keep_raw_event;
            !raw_event && piece.end.is_some() && !event.is_named_error()
        };
        let Some(piece) = piece.filter(mergeable) else { return self.barrier(event, at, out) };
        let (owner, id) = match shape.chunk {
            false => (piece.tag.as_deref(), piece.id.as_deref()),
            true => match self.follow.turn(shape, &piece) {
                Turn::Continues(owner, id) => (owner, Some(id)),
                _ => return self.barrier(event, at, out),
            },
        };
        let key = Key { kind: event.kind(), owner, id };
        let item = match self.windows.find(key) {
            Place::At(item) => item,
            Place::New => self.windows.add(key, at),
            Place::Barred => {
                for entry in self.queue.take_all() {
                    send(entry, at, out);
                }
                self.windows.clear();
                match self.windows.find(key) {
                    Place::New => self.windows.add(key, at),
                    _ => return out.send(event, at),
                }
            }
        };
        let place = self.queue.place(item);
        let Some(place) = place else { return self.first(item, event, piece, at, out) };
        let merged = self.queue.change(place, |body| match body {
            Body::Delta(delta) if delta.takes(&piece, &text) => {
                let before = delta.held();
                delta.push(&piece);
                let chars = if delta.half { 0 } else { delta.chars };
                Some((chars, text.len().saturating_sub(delta.held() - before)))
            }
            _ => None,
        });
        let Some((chars, saved)) = merged.flatten() else {
            // It leaves at once, as behind a barrier: it has its window anew.
            let kind = event.kind();
            let (owner, id) = (owner.map(str::to_owned), id.map(str::to_owned));
            self.clear(at, out);
            let item = self.windows.add(Key { kind, owner: owner.as_deref(), id: id.as_deref() }, at);
            return self.first(item, event, piece, at, out);
        };
        out.merged(event.kind(), saved);
        let blank = self.windows.get(item).is_some_and(|window| window.blank);
        let early = chars >= self.policy.max_chars || (blank && chars > 0);
        if !self.slow && (early || self.due(place).is_some_and(|due| due <= at)) {
            self.flush(place, at, out);
        }
        self.bound(at, out);
    }

    /// A delta of an item of which nothing is held.
    fn first(&mut self, item: usize, event: Event, piece: Piece<'_>, at: Instant, out: &mut Out<'_>) {
        let every = self.policy.every;
        let Some(window) = self.windows.get_mut(item) else { return out.send(event, at) };
        let open = window.due <= at || (window.blank && !piece.is_empty());
        let early = piece.measure.chars >= self.policy.max_chars;
        let cut = piece.measure.half && !every.is_zero();
        if !self.slow && !cut && (open || early) {
            window.due = at + every;
            window.blank = piece.is_empty();
            return out.send(event, at);
        }
        if open {
            window.due = at;
        }
        self.queue.push(Entry { item: Some(item), body: Body::Delta(Delta::of(&event, piece)), since: at });
        self.bound(at, out);
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
        let verdict = self.tracked.follow(kind, &change);
        let raw_event = change.raw_event && self.policy.keep_raw_event;
        if closes || verdict == Verdict::Malformed || raw_event || change.says_more {
            return self.barrier(event, at, out);
        }
        let snapshot = matches!(kind, EventKind::StateSnapshot | EventKind::ActivitySnapshot);
        // The snapshots and the deltas of one value are kept in one place.
        let of_state = matches!(kind, EventKind::StateSnapshot | EventKind::StateDelta);
        let key_kind = if of_state { EventKind::StateSnapshot } else { EventKind::ActivitySnapshot };
        let key = Key { kind: key_kind, owner: None, id: change.id.as_deref() };
        let item = match self.windows.find(key) {
            Place::At(item) => item,
            Place::New => self.windows.add(key, at),
            Place::Barred => {
                self.clear(at, out);
                match self.windows.find(key) {
                    Place::New => self.windows.add(key, at),
                    _ => return out.send(event, at),
                }
            }
        };
        let place = self.queue.place(item);
        let Some(window) = self.windows.get_mut(item) else { return out.send(event, at) };
        if place.is_none() && window.due <= at {
            if !self.slow {
                window.due = at + self.policy.every;
                return out.send(event, at);
            }
            window.due = at;
        }
        let place = place.unwrap_or_else(|| {
            self.queue.push(Entry { item: Some(item), body: Body::Changes(Changes::default()), since: at });
            self.queue.iter().count() - 1
        });
        let replaces = snapshot && !change.yields;
        let applies = verdict == Verdict::Applies && !snapshot;
        self.queue.change(place, |body| {
            let Body::Changes(changes) = body else { return };
            if replaces {
                for (event, lost) in changes.replaced() {
                    out.merged(event.kind(), event.size());
                    lose(lost, event.kind(), out);
                }
            }
            if let Fate::Merged(saved) = changes.push(&event, change, applies, at) {
                out.merged(kind, saved);
            }
        });
        if !self.slow && self.due(place).is_some_and(|due| due <= at) {
            self.flush(place, at, out);
        }
        self.bound(at, out);
    }

    /// An event that nothing is made of: it keeps its place, and hinders none.
    fn raw(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        if self.queue.is_empty() {
            return out.send(event, at);
        }
        self.queue.push(Entry { item: None, body: Body::Raw(grown::copied(&event)), since: at });
        self.bound(at, out);
    }

    /// When what stands at this place has to leave: at the end of its window, or a window later if half a character would
    /// leave otherwise.
    fn due(&self, place: usize) -> Option<Instant> {
        self.due_of(self.queue.get(place)?)
    }

    fn due_of(&self, entry: &Entry) -> Option<Instant> {
        let window = self.windows.get(entry.item?)?;
        Some(if entry.is_cut() { window.due + self.policy.every } else { window.due })
    }

    /// Sends what stands at this place, and what was only waiting for it.
    fn flush(&mut self, place: usize, at: Instant, out: &mut Out<'_>) {
        if let Some(entry) = self.queue.take(place) {
            self.begin(&entry, at);
            send(entry, at, out);
        }
        if place == 0 {
            for entry in self.queue.take_first(self.queue.loose()) {
                send(entry, at, out);
            }
        }
    }

    /// Begins the window of an entry that leaves.
    fn begin(&mut self, entry: &Entry, at: Instant) {
        if let Some(window) = entry.item.and_then(|item| self.windows.get_mut(item)) {
            window.due = at + self.policy.every;
            window.blank = matches!(&entry.body, Body::Delta(delta) if delta.chars == 0);
        }
    }

    /// Sends what is due.
    fn flush_due(&mut self, at: Instant, out: &mut Out<'_>) {
        let mut place = 0;
        while let Some(entry) = self.queue.get(place) {
            if self.due_of(entry).is_some_and(|due| due <= at) {
                self.flush(place, at, out);
            } else {
                place += 1;
            }
        }
    }

    /// Sends everything if it is too much.
    fn bound(&mut self, at: Instant, out: &mut Out<'_>) {
        if self.queue.bytes() > self.policy.limit {
            for entry in self.queue.take_all() {
                self.begin(&entry, at);
                send(entry, at, out);
            }
        }
    }
}

impl Stage for Throttle {
    fn kinds(&self) -> Kinds {
        Kinds::ALL
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let kind = event.kind();
        match kind {
            EventKind::Raw => self.raw(event, at, out),
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
        if self.slow || self.queue.is_empty() {
            return None;
        }
        self.queue.iter().filter_map(|entry| self.due_of(entry)).min()
    }

    fn wake(&mut self, at: Instant, out: &mut Out<'_>) {
        if !self.slow {
            self.flush_due(at, out);
        }
    }

    fn slow(&mut self, slow: bool, at: Instant, out: &mut Out<'_>) {
        self.slow = slow && self.policy.slow_client == SlowClient::Merge;
        if !self.slow {
            self.flush_due(at, out);
        }
    }

    fn end(&mut self, _how: End, at: Instant, out: &mut Out<'_>) {
        self.clear(at, out);
        self.follow.close_all();
    }

    fn held(&self) -> usize {
        self.queue.bytes() + self.windows.held() + self.follow.held() + self.tracked.held()
    }
}

/// Sends what was held.
fn send(entry: Entry, at: Instant, out: &mut Out<'_>) {
    match entry.body {
        Body::Delta(delta) => {
            let (event, lost) = delta.finish();
            lose(lost, event.kind(), out);
            out.waited(at.saturating_duration_since(entry.since));
            out.send(event, at);
        }
        Body::Changes(changes) => {
            for (event, since, lost) in changes.finish() {
                lose(lost, event.kind(), out);
                out.waited(at.saturating_duration_since(since));
                out.send(event, at);
            }
        }
        Body::Raw(event) => {
            out.waited(at.saturating_duration_since(entry.since));
            out.send(event, at);
        }
    }
}

/// Names the origins that were merged away.
fn lose(count: usize, kind: EventKind, out: &mut Out<'_>) {
    for _ in 0..count {
        out.dropped("throttle", "raw_event", kind);
    }
}
