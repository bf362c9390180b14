//! What streams open in which lane come in, to whom an event belongs and what it continues goes out. A plain table: it
//! reads no event and sends none.
//!
//! The parent agent has a lane, and each invocation of a subagent has one, named by its `subagentRunId`. A lane holds at
//! most one open chunk stream.

use std::collections::HashMap;

/// The three kinds of items that are streamed piece by piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Item {
    /// A text message.
    Text,
    /// A tool call.
    ToolCall,
    /// A reasoning message.
    Reasoning,
}

impl Item {
    /// The member that names one.
    pub const fn member(self) -> &'static str {
        match self {
            Self::ToolCall => "toolCallId",
            Self::Text | Self::Reasoning => "messageId",
        }
    }
}

/// The name of a lane: the subagent's invocation, or `None` for the parent agent.
pub type Lane<'a> = Option<&'a str>;

/// How many chunk streams are open at once at most, and so how many lanes have one. [`Lanes::open`] refuses more.
pub const OPEN_MAX: usize = 128;

/// The longest identifier of an item or a subagent, in bytes, for which a chunk stream is opened.
pub const NAME_MAX: usize = 4096;

/// How many items of subagents are remembered in a run at most. What comes later counts as the parent agent's where an
/// event of it names no owner itself.
pub const OWNED_MAX: usize = 1024;

/// How many bytes their identifiers have at most, with their owners'.
const OWNED_BYTES: usize = 256 * 1024;

/// A chunk stream that is open.
#[derive(Clone, Debug)]
pub struct Open<T> {
    lane: Option<Box<str>>,
    /// What is streamed.
    pub item: Item,
    /// The item's identifier.
    pub id: Box<str>,
    /// What its opener said, as far as whoever opened it wants to know.
    pub data: T,
}

impl<T> Open<T> {
    /// Whose lane it is in.
    pub fn lane(&self) -> Lane<'_> {
        self.lane.as_deref()
    }
}

/// What a chunk is to the streams that are open.
#[derive(Debug)]
pub enum Place<'a, T> {
    /// It continues this one.
    Continues(&'a Open<T>),
    /// It continues none: it opens an item in this lane, or has to. A chunk that names no lane opens in the parent
    /// agent's, also if it takes up an item of a subagent's again.
    Opens(Option<Box<str>>),
    /// It names an item that is open in another lane than the chunk says.
    Mismatch,
    /// It names neither item nor lane, and could continue several.
    Ambiguous,
}

/// The lanes of one run.
#[derive(Clone, Debug)]
pub struct Lanes<T> {
    open: Vec<Open<T>>,
    owners: HashMap<(Item, Box<str>), Box<str>>,
    /// Bytes of the names in `owners`.
    owned: usize,
}

impl<T> Default for Lanes<T> {
    fn default() -> Self {
        Self { open: Vec::new(), owners: HashMap::new(), owned: 0 }
    }
}

impl<T> Lanes<T> {
    /// Whether no chunk stream is open.
    pub fn is_idle(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether no item is known to be a subagent's.
    pub fn is_unowned(&self) -> bool {
        self.owners.is_empty()
    }

    /// The open chunk streams, in the order in which they were opened.
    pub fn iter(&self) -> impl Iterator<Item = &Open<T>> {
        self.open.iter()
    }

    /// Where a chunk of this kind belongs that carries this identifier and this `subagentRunId`, either or none.
    pub fn place(&self, item: Item, id: Option<&str>, tag: Option<&str>) -> Place<'_, T> {
        if let Some(id) = id {
            return match self.open.iter().find(|open| open.item == item && *open.id == *id) {
                Some(open) if tag.is_some() && tag != open.lane() => Place::Mismatch,
                Some(open) => Place::Continues(open),
                None => Place::Opens(tag.map(Box::from)),
            };
        }
        let mut kin = self.open.iter().filter(|open| open.item == item);
        if tag.is_some() {
            return kin.find(|open| open.lane() == tag).map_or(Place::Opens(tag.map(Box::from)), Place::Continues);
        }
        if let Some(own) = kin.clone().find(|open| open.lane.is_none()) {
            return Place::Continues(own);
        }
        match (kin.next(), kin.next()) {
            (Some(only), None) => Place::Continues(only),
            (None, _) => Place::Opens(None),
            (Some(_), Some(_)) => Place::Ambiguous,
        }
    }

    /// Whether a chunk stream of this item can be opened in this lane.
    pub fn has_room(&self, lane: Lane<'_>, id: &str) -> bool {
        let short = id.len() <= NAME_MAX && lane.is_none_or(|lane| lane.len() <= NAME_MAX);
        short && (self.open.len() < OPEN_MAX || self.open.iter().any(|open| open.lane() == lane))
    }

    /// Opens a chunk stream in this lane. Whoever calls has closed what was open in it; what was not is forgotten, and
    /// so is this one if there is no room.
    pub fn open(&mut self, lane: Option<Box<str>>, item: Item, id: &str, data: T) {
        self.open.retain(|open| open.lane != lane);
        if let Some(owner) = &lane {
            self.own(item, id, owner);
        }
        if self.open.len() < OPEN_MAX {
            self.open.push(Open { lane, item, id: id.into(), data });
        }
    }

    /// Closes what is open in this lane.
    pub fn close(&mut self, lane: Lane<'_>) -> Option<Open<T>> {
        let at = self.open.iter().position(|open| open.lane() == lane)?;
        Some(self.open.remove(at))
    }

    /// Closes the chunk stream of this item, in whichever lane it is.
    pub fn close_item(&mut self, item: Item, id: &str) -> Option<Open<T>> {
        let at = self.open.iter().position(|open| open.item == item && *open.id == *id)?;
        Some(self.open.remove(at))
    }

    /// Closes every lane, in the order in which they were opened.
    pub fn close_all(&mut self) -> Vec<Open<T>> {
        std::mem::take(&mut self.open)
    }

    /// Remembers whose item this is.
    pub fn own(&mut self, item: Item, id: &str, owner: &str) {
        let bytes = id.len() + owner.len();
        let room = self.owners.len() < OWNED_MAX && self.owned + bytes <= OWNED_BYTES;
        if room && self.owner(item, id).is_none() {
            self.owned += bytes;
            self.owners.insert((item, id.into()), owner.into());
        }
    }

    /// Whose item this is.
    pub fn owner(&self, item: Item, id: &str) -> Lane<'_> {
        if self.owners.is_empty() {
            return None;
        }
        self.owners.get(&(item, Box::from(id))).map(|owner| &**owner)
    }

    /// The lane of an event that carries this identifier and this `subagentRunId`: the one it names, or the owner's.
    pub fn lane_of<'a>(&'a self, item: Item, id: &str, tag: Option<&'a str>) -> Lane<'a> {
        tag.or_else(|| self.owner(item, id))
    }

    /// Forgets whose the items were: another run begins.
    pub fn forget(&mut self) {
        self.owners.clear();
        self.owned = 0;
    }

    /// The bytes of the names that are kept.
    pub fn held(&self) -> usize {
        let open = self.open.iter().map(|open| open.id.len() + open.lane().map_or(0, str::len));
        open.sum::<usize>() + self.owned
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn opened(list: &[(Lane<'_>, Item, &str)]) -> Lanes<()> {
        let mut lanes = Lanes::default();
        for (lane, item, id) in list {
            lanes.open(lane.map(Box::from), *item, id, ());
        }
        lanes
    }

    fn found(place: &Place<'_, ()>) -> String {
        match place {
            Place::Continues(open) => format!("continues {}", open.id),
            Place::Opens(lane) => format!("opens {}", lane.as_deref().unwrap_or("parent")),
            Place::Mismatch => "mismatch".into(),
            Place::Ambiguous => "ambiguous".into(),
        }
    }

    #[test]
    fn a_chunk_with_an_identifier_continues_that_item_or_opens_it() {
        let lanes = opened(&[(None, Item::Text, "m1"), (Some("s"), Item::Text, "m2")]);
        let place = |id, tag| found(&lanes.place(Item::Text, Some(id), tag));
        assert_eq!(place("m1", None), "continues m1");
        assert_eq!(place("m2", None), "continues m2");
        assert_eq!(place("m2", Some("s")), "continues m2");
        assert_eq!(place("m2", Some("t")), "mismatch");
        assert_eq!(place("m1", Some("s")), "mismatch");
        assert_eq!(place("m3", Some("s")), "opens s");
        assert_eq!(place("m3", None), "opens parent");
        assert_eq!(found(&lanes.place(Item::Reasoning, Some("m1"), None)), "opens parent");
    }

    #[test]
    fn a_chunk_without_one_continues_the_parents_then_the_only_one() {
        let place = |lanes: &Lanes<()>, tag| found(&lanes.place(Item::Text, None, tag));
        let lanes = opened(&[(Some("a"), Item::Text, "m1"), (Some("b"), Item::Reasoning, "k1")]);
        assert_eq!(place(&lanes, None), "continues m1");
        assert_eq!(place(&lanes, Some("b")), "opens b");
        let lanes = opened(&[(Some("a"), Item::Text, "m1"), (Some("b"), Item::Text, "m2")]);
        assert_eq!(place(&lanes, None), "ambiguous");
        assert_eq!(place(&lanes, Some("b")), "continues m2");
        let lanes = opened(&[(Some("a"), Item::Text, "m1"), (Some("b"), Item::Text, "m2"), (None, Item::Text, "m3")]);
        assert_eq!(place(&lanes, None), "continues m3");
        assert_eq!(place(&opened(&[]), None), "opens parent");
    }

    #[test]
    fn an_item_stays_its_owners() {
        let mut lanes = opened(&[(Some("a"), Item::ToolCall, "c1")]);
        lanes.close(Some("a")).unwrap();
        assert_eq!(lanes.lane_of(Item::ToolCall, "c1", None), Some("a"));
        assert_eq!(found(&lanes.place(Item::ToolCall, Some("c1"), None)), "opens parent");
        lanes.own(Item::ToolCall, "c1", "b");
        assert_eq!(lanes.owner(Item::ToolCall, "c1"), Some("a"));
        assert_eq!(lanes.lane_of(Item::Text, "c1", None), None);
        lanes.forget();
        assert_eq!(lanes.owner(Item::ToolCall, "c1"), None);
    }

    #[test]
    fn the_table_is_bounded() {
        let mut lanes = Lanes::default();
        for n in 0..OWNED_MAX + 10 {
            let lane = format!("s{n}");
            assert_eq!(lanes.has_room(Some(&lane), "m"), n < OPEN_MAX);
            lanes.open(Some(lane.into()), Item::Text, &format!("m{n}"), ());
        }
        assert_eq!(lanes.iter().count(), OPEN_MAX);
        assert!(!lanes.has_room(Some("s3"), &"m".repeat(NAME_MAX + 1)));
        assert!(lanes.has_room(Some("s3"), "m"), "a lane that has a stream can have another in its place");
        assert_eq!(lanes.owner(Item::Text, &format!("m{OWNED_MAX}")), None);
        assert_eq!(lanes.close_all().len(), OPEN_MAX);
    }

    proptest! {
        #[test]
        fn a_lane_never_has_two_open_streams(
            steps in prop::collection::vec((0..4usize, 0..3usize, 0..4usize, 0..4usize), 0..60)
        ) {
            let names = [None, Some("a"), Some("b"), Some("c")];
            let items = [Item::Text, Item::ToolCall, Item::Reasoning];
            let mut lanes = Lanes::default();
            for (lane, item, id, what) in steps {
                let (item, id) = (items[item], format!("i{id}"));
                match what {
                    0 => drop(lanes.close(names[lane])),
                    1 => drop(lanes.close_item(item, &id)),
                    _ => lanes.open(names[lane].map(Box::from), item, &id, ()),
                }
                for name in names {
                    prop_assert!(lanes.iter().filter(|open| open.lane() == name).count() <= 1);
                }
                if let Place::Continues(open) = lanes.place(item, Some(&id), None) {
                    prop_assert!(open.item == item && *open.id == *id);
                }
            }
        }
    }
}
