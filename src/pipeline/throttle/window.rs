//! The items that something was sent of since the last barrier come in, when the next of each may be sent goes out. It
//! holds no event.

use std::time::Instant;

use crate::agui::{EventKind, lanes::NAME_MAX};

/// How many items have a window at once at most. Another one is a barrier.
const ITEMS_MAX: usize = 64;

/// What may not be overtaken by more of itself: a message, a tool call, the state, an activity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key<'a> {
    /// Which kind of event carries it.
    pub(super) kind: EventKind,
    /// Whose it is.
    pub(super) owner: Option<&'a str>,
    /// Its identifier, if it has one.
    pub(super) id: Option<&'a str>,
}

/// An item, and the time between two of its events.
#[derive(Debug)]
pub(super) struct Window {
    kind: EventKind,
    owner: Option<Box<str>>,
    id: Option<Box<str>>,
    /// From when on something of it may be sent.
    pub(super) due: Instant,
    /// Whether nothing that anyone would see was sent since it began: what comes first need not wait.
    pub(super) blank: bool,
}

/// The windows that are open. Their places stay as they are until all are closed.
#[derive(Debug, Default)]
pub(super) struct Windows {
    list: Vec<Window>,
}

/// What an item is to those that have a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It has this one.
    At(usize),
    /// It has none.
    New,
    /// It cannot have one: an item with the same identifier is in its way, or there is no room.
    Barred,
}

impl Windows {
    pub(super) fn find(&self, key: Key<'_>) -> Place {
        for (at, window) in self.list.iter().enumerate() {
            if window.id.as_deref() != key.id || (key.id.is_none() && window.kind != key.kind) {
                continue;
            }
            let same = window.kind == key.kind && window.owner.as_deref() == key.owner;
            return if same { Place::At(at) } else { Place::Barred };
        }
        let short = |name: Option<&str>| name.is_none_or(|name| name.len() <= NAME_MAX);
        match self.list.len() < ITEMS_MAX && short(key.id) && short(key.owner) {
            true => Place::New,
            false => Place::Barred,
        }
    }

    /// A window for this item that is over already. There is none in its way.
    pub(super) fn add(&mut self, key: Key<'_>, at: Instant) -> usize {
        let Key { kind, owner, id } = key;
        self.list.push(Window { kind, owner: owner.map(Box::from), id: id.map(Box::from), due: at, blank: false });
        self.list.len() - 1
    }

    pub(super) fn get(&self, place: usize) -> Option<&Window> {
        self.list.get(place)
    }

    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut Window> {
        self.list.get_mut(place)
    }

    /// Closes all of them. Nothing of any may be held.
    pub(super) fn clear(&mut self) {
        self.list.clear();
    }

    /// The bytes of the names that are kept.
    pub(super) fn held(&self) -> usize {
        let name = |name: &Option<Box<str>>| name.as_deref().map_or(0, str::len);
        self.list.iter().map(|window| size_of::<Window>() + name(&window.owner) + name(&window.id)).sum()
    }
}
