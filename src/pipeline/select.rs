//! Events come in, the same without the listed types and members go out. It reads nothing but names.

use std::{sync::Arc, time::Instant};

use super::{Out, Stage};
use crate::agui::{Event, EventKind};

/// Leaves out event types and top-level members. Cheap to clone: the lists are shared.
#[derive(Clone, Debug)]
pub struct Select {
    lists: Arc<Lists>,
}

#[derive(Debug)]
struct Lists {
    /// Known types, by [`EventKind::index`].
    kinds: [bool; EventKind::COUNT],
    /// Types that this build does not know.
    types: Vec<String>,
    members: Vec<String>,
}

impl Select {
    /// Drops events of the types `drop`, known or not, and takes the members `strip` out of the others.
    pub fn new<'a>(drop: impl IntoIterator<Item = &'a str>, strip: impl IntoIterator<Item = &'a str>) -> Self {
        let mut kinds = [false; EventKind::COUNT];
        let mut types = Vec::new();
        for name in drop {
            match EventKind::from_name(name.as_bytes()) {
                EventKind::Other => types.push(name.to_owned()),
                kind => kinds[kind.index()] = true,
            }
        }
        let members = strip.into_iter().map(str::to_owned).collect();
        Self { lists: Arc::new(Lists { kinds, types, members }) }
    }

    fn drops(&self, event: &Event) -> bool {
        match event.kind() {
            EventKind::Other => {
                !self.lists.types.is_empty()
                    && event.type_name().is_some_and(|name| self.lists.types.iter().any(|t| *t == name))
            }
            kind => self.lists.kinds[kind.index()],
        }
    }
}

impl Stage for Select {
    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        if self.drops(&event) {
            out.dropped("select", "type", event.kind());
            return;
        }
        // What a plain delta has cannot be left out.
        if !self.lists.members.is_empty()
            && event.plain().is_none()
            && let Some(rest) = event.without(|m| self.lists.members.iter().any(|name| m.is(name)))
        {
            out.dropped("select", "member", event.kind());
            return out.send(rest, at);
        }
        out.send(event, at);
    }
}
