//! What may be held comes in, with the item it is of; it goes out when its window ends, when it is too much, or when it is
//! told to. It asks nobody whether that is right.

use std::time::Instant;

use super::{
    Policy,
    change::Change,
    changes::{Changes, Fate},
    delta::Delta,
    grown::copied,
    piece::Piece,
    queue::{Body, Entry, Queue},
    window::{Key, Place, Windows},
};
use crate::{
    agui::{Event, EventKind},
    pipeline::Out,
};

/// Holds what is waiting, and knows for what.
#[derive(Debug)]
pub(super) struct Hold {
    policy: Policy,
    /// Whether the client is slow: then nothing is due.
    pub(super) slow: bool,
    windows: Windows,
    queue: Queue,
}

impl Hold {
    pub(super) fn new(policy: Policy) -> Self {
        Self { policy, slow: false, windows: Windows::default(), queue: Queue::default() }
    }

    /// Sends what is held and closes all windows.
    pub(super) fn clear(&mut self, at: Instant, out: &mut Out<'_>) {
        if !self.queue.is_empty() {
            for entry in self.queue.take_all() {
                send(entry, at, out);
            }
        }
        self.windows.clear();
    }

    /// The window of this item. Where it can have none beside the others, those end; where it can have none at all,
    /// there is none.
    fn window(&mut self, key: Key<'_>, at: Instant, out: &mut Out<'_>) -> Option<usize> {
        match self.windows.find(key) {
            Place::At(item) => return Some(item),
            Place::New => {}
            Place::Barred => {
                self.clear(at, out);
                if self.windows.find(key) != Place::New {
                    return None;
                }
            }
        }
        Some(self.windows.add(key, at))
    }

    /// Takes an event that is this delta of an item.
    pub(super) fn delta(&mut self, key: Key<'_>, event: Event, piece: Piece<'_>, at: Instant, out: &mut Out<'_>) {
        let Some(item) = self.window(key, at, out) else { return out.send(event, at) };
        let Some(place) = self.queue.place(item) else { return self.first(item, event, piece, at, out) };
        let merged = self.queue.change(place, |body| match body {
            Body::Delta(delta) if delta.takes(&piece, event.text()) => {
                let before = delta.held();
                delta.push(&piece);
                Some((delta.chars, delta.half, delta.held() - before))
            }
            _ => None,
        });
        let Some((chars, half, grown)) = merged.flatten() else {
            self.clear(at, out);
            let item = self.windows.add(key, at);
            return self.first(item, event, piece, at, out);
        };
        out.merged(event.kind(), event.text().len().saturating_sub(grown));
        let blank = self.windows.get(item).is_some_and(|window| window.blank);
        let early = !half && (chars >= self.policy.max_chars || (blank && chars > 0));
        self.settle(place, early, at, out);
    }

    /// Takes a delta of an item of which nothing is held.
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
        window.due = if open { at } else { at + every };
        self.queue.push(Entry { item: Some(item), body: Body::Delta(Delta::of(&event, piece)), since: at });
        self.bound(at, out);
    }

    /// Takes an event that is this change of a value; `applies` says that it is a patch that is sure to apply.
    pub(super) fn change(
        &mut self,
        key: Key<'_>,
        event: Event,
        change: Change<'_>,
        applies: bool,
        at: Instant,
        out: &mut Out<'_>,
    ) {
        let Some(item) = self.window(key, at, out) else { return out.send(event, at) };
        let place = self.queue.place(item);
        if let Some(window) = self.windows.get_mut(item)
            && place.is_none()
        {
            let open = window.due <= at;
            window.due = if open && self.slow { at } else { at + self.policy.every };
            if open && !self.slow {
                return out.send(event, at);
            }
        }
        let place = place.unwrap_or_else(|| {
            self.queue.push(Entry { item: Some(item), body: Body::Changes(Changes::default()), since: at })
        });
        self.queue.change(place, |body| {
            let Body::Changes(changes) = body else { return };
            if change.replaces {
                for (event, lost) in changes.replaced() {
                    out.merged(event.kind(), event.size());
                    lose(lost, event.kind(), out);
                }
            }
            if let Fate::Merged(saved) = changes.push(&event, change, applies, at) {
                out.merged(event.kind(), saved);
            }
        });
        self.settle(place, false, at, out);
    }

    /// Takes an event that is of no item: it waits for what is held before it.
    pub(super) fn loose(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        if self.queue.is_empty() {
            return out.send(event, at);
        }
        self.queue.push(Entry { item: None, body: Body::Raw(copied(&event)), since: at });
        self.bound(at, out);
    }

    /// When the next of what is held has to leave.
    pub(super) fn deadline(&self) -> Option<Instant> {
        if self.slow {
            return None;
        }
        self.queue.iter().filter_map(|entry| self.due(entry)).min()
    }

    /// Sends what is due.
    pub(super) fn wake(&mut self, at: Instant, out: &mut Out<'_>) {
        let mut place = 0;
        while let Some(entry) = self.queue.get(place).filter(|_| !self.slow) {
            if self.due(entry).is_some_and(|due| due <= at) {
                self.flush(place, at, out);
            } else {
                place += 1;
            }
        }
    }

    /// The bytes that are held.
    pub(super) fn held(&self) -> usize {
        self.queue.bytes() + self.windows.held()
    }

    /// When this has to leave: at the end of its window, or a window later if half a character would leave otherwise.
    fn due(&self, entry: &Entry) -> Option<Instant> {
        let window = self.windows.get(entry.item?)?;
        Some(if entry.is_cut() { window.due + self.policy.every } else { window.due })
    }

    /// Sends what has come to stand at this place if it is due, or `early`, and everything if it is too much.
    fn settle(&mut self, place: usize, early: bool, at: Instant, out: &mut Out<'_>) {
        let due = self.queue.get(place).and_then(|entry| self.due(entry));
        if !self.slow && (early || due.is_some_and(|due| due <= at)) {
            self.flush(place, at, out);
        }
        self.bound(at, out);
    }

    /// Sends what stands at this place, and what was only waiting for it.
    fn flush(&mut self, place: usize, at: Instant, out: &mut Out<'_>) {
        if let Some(entry) = self.queue.take(place) {
            self.begin(&entry, at);
            send(entry, at, out);
        }
        if place == 0 {
            for entry in self.queue.take_loose() {
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

    fn bound(&mut self, at: Instant, out: &mut Out<'_>) {
        if self.queue.bytes() > self.policy.limit {
            for entry in self.queue.take_all() {
                self.begin(&entry, at);
                send(entry, at, out);
            }
        }
    }
}

/// Sends what was held.
fn send(entry: Entry, at: Instant, out: &mut Out<'_>) {
    let mut send = |event: Event, since, lost| {
        lose(lost, event.kind(), out);
        out.waited(at.saturating_duration_since(since));
        out.send(event, at);
    };
    match entry.body {
        Body::Delta(delta) => {
            let (event, lost) = delta.finish();
            send(event, entry.since, lost);
        }
        Body::Changes(changes) => changes.finish().for_each(|(event, since, lost)| send(event, since, lost)),
        Body::Raw(event) => send(event, entry.since, 0),
    }
}

/// Names the origins that were merged away.
fn lose(count: usize, kind: EventKind, out: &mut Out<'_>) {
    for _ in 0..count {
        out.dropped("throttle", "raw_event", kind);
    }
}
