//! The subagents that a denied call began, and what is theirs, go in; whether something is theirs comes out. A plain
//! table.

use std::collections::HashMap;

use super::Stop;
use crate::agui::lanes::Item;

/// How many bytes their names may take, each with what a table needs for it. Past it the run ends: what is forgotten would
/// be shown.
const HIDDEN_BYTES: usize = 512 << 10;

/// About what an entry takes beside its text.
const ENTRY: usize = 64;

/// Names, each with the run in which it was hidden last.
type Names = HashMap<Box<str>, u32>;

/// Subagents that are shown to nobody.
#[derive(Debug, Default)]
pub struct Hidden {
    subagents: Names,
    texts: Names,
    calls: Names,
    reasoning: Names,
    bytes: usize,
}

impl Hidden {
    /// Whether nothing is hidden.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Whether this is a hidden subagent.
    pub fn has(&self, tag: &str) -> bool {
        self.subagents.contains_key(tag)
    }

    /// Whether this item is a hidden subagent's.
    pub fn has_item(&self, item: Item, id: &str) -> bool {
        self.items(item).contains_key(id)
    }

    /// Hides a subagent.
    pub fn add(&mut self, tag: &str, run: u32) -> Result<(), Stop> {
        self.bytes += put(&mut self.subagents, tag, run);
        self.bounded()
    }

    /// Hides an item of a hidden subagent's.
    pub fn add_item(&mut self, item: Item, id: &str, run: u32) -> Result<(), Stop> {
        self.bytes += put(self.items_mut(item), id, run);
        self.bounded()
    }

    /// A subagent of this name is announced again: in another run it is another one.
    pub fn forget(&mut self, tag: &str, run: u32) {
        self.bytes -= take(&mut self.subagents, tag, run);
    }

    /// An item of this name begins again: in another run it is another one.
    pub fn forget_item(&mut self, item: Item, id: &str, run: u32) {
        self.bytes -= take(self.items_mut(item), id, run);
    }

    /// The bytes that are kept.
    pub fn held(&self) -> usize {
        self.bytes
    }

    fn items(&self, item: Item) -> &Names {
        match item {
            Item::Text => &self.texts,
            Item::ToolCall => &self.calls,
            Item::Reasoning => &self.reasoning,
        }
    }

    fn items_mut(&mut self, item: Item) -> &mut Names {
        match item {
            Item::Text => &mut self.texts,
            Item::ToolCall => &mut self.calls,
            Item::Reasoning => &mut self.reasoning,
        }
    }

    fn bounded(&self) -> Result<(), Stop> {
        if self.bytes > HIDDEN_BYTES { Err(Stop::Full("hidden_subagents")) } else { Ok(()) }
    }
}

fn put(names: &mut Names, name: &str, run: u32) -> usize {
    let known = names.insert(name.into(), run).is_some();
    if known { 0 } else { name.len() + ENTRY }
}

fn take(names: &mut Names, name: &str, run: u32) -> usize {
    if names.get(name).is_none_or(|hidden| *hidden == run) {
        return 0;
    }
    names.remove(name);
    name.len() + ENTRY
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_hidden_until_it_is_used_anew_in_another_run() {
        let mut hidden = Hidden::default();
        hidden.add("s", 1).unwrap();
        hidden.add_item(Item::Text, "m", 1).unwrap();
        hidden.forget("s", 1);
        hidden.forget_item(Item::Text, "m", 1);
        assert!(hidden.has("s") && hidden.has_item(Item::Text, "m") && !hidden.has_item(Item::Reasoning, "m"));
        hidden.forget("s", 2);
        hidden.forget_item(Item::Text, "m", 2);
        assert!(hidden.is_empty() && !hidden.has_item(Item::Text, "m"));
        assert_eq!(hidden.held(), 0);
    }

    #[test]
    fn the_names_are_bounded() {
        let mut hidden = Hidden::default();
        let full = (0..20_000).find_map(|n| hidden.add_item(Item::Text, &format!("m{n}"), 1).err());
        assert_eq!(full, Some(Stop::Full("hidden_subagents")));
    }
}
