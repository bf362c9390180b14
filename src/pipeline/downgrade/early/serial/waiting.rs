//! Events that have to wait come in, whole brackets and what stands between them go out, in the order in which each
//! began. It knows nothing of the bracket they wait for.

use std::{
    collections::{HashMap, VecDeque},
    mem::size_of,
};

use super::bracket::{self, Key};
use crate::agui::Event;

/// What comes out at once: one event, or what has come so far of a bracket.
#[derive(Debug)]
pub struct Unit {
    /// In the order they came.
    pub events: Vec<Event>,
    /// The bracket, if its end has not come.
    pub open: Option<Key>,
    /// It is the rest of a message that was ended early: nothing opens it.
    pub resumes: bool,
}

/// A queue whose brackets grow where they stand.
#[derive(Debug, Default)]
pub struct Waiting {
    units: VecDeque<Unit>,
    /// The numbers of the units of open brackets.
    places: HashMap<Key, usize>,
    popped: usize,
    bytes: usize,
}

impl Waiting {
    /// What all of it costs.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of the first unit, counted from the first that ever waited.
    pub fn start(&self) -> usize {
        self.popped
    }

    /// The number of the unit that would wait next.
    pub fn end(&self) -> usize {
        self.popped + self.units.len()
    }

    /// Takes an event, and the bracket it is part of if it is of one.
    pub fn push(&mut self, event: Event, key: Option<Key>) {
        self.bytes += cost(&event);
        if let Some(key) = &key
            && let Some(unit) = self.places.get(key).and_then(|place| self.units.get_mut(place - self.popped))
        {
            if bracket::ends(event.kind()) {
                unit.open = None;
                self.places.remove(key);
            }
            return unit.events.push(event);
        }
        let open = key.filter(|_| bracket::starts(event.kind()));
        self.append(Unit { events: vec![event], open, resumes: false });
    }

    /// Lets the rest of a message, which is not open any more, wait like any other.
    pub fn resume(&mut self, key: Key) {
        self.append(Unit { events: Vec::new(), open: Some(key), resumes: true });
    }

    /// The first of it.
    pub fn pop(&mut self) -> Option<Unit> {
        let unit = self.units.pop_front()?;
        self.popped += 1;
        self.bytes -= unit.events.iter().map(cost).sum::<usize>();
        if let Some(key) = &unit.open {
            self.places.remove(key);
        }
        Some(unit)
    }

    fn append(&mut self, unit: Unit) {
        if let Some(key) = &unit.open {
            self.places.insert(key.clone(), self.end());
        }
        self.units.push_back(unit);
    }
}

fn cost(event: &Event) -> usize {
    event.text().len() + size_of::<Event>() + size_of::<Unit>()
}
