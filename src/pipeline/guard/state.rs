//! The events of a stream come in, looked at; the first rule that the next one would break goes out. One state machine: a
//! life, and open sets of text messages, tool calls, reasoning messages, reasoning spans, steps and subagents. It sends
//! nothing and mends nothing.
//!
//! What is kept is bounded. Past a bound the run is judged with one eye: an item that is not known may be open or closed,
//! and no rule that would need to know is broken by it.

mod apply;

use std::collections::HashMap;

use super::{members::Seen, rule::Rule};
use crate::agui::{
    EventKind, Life, follow,
    lanes::{self, Item, Lanes, Place},
};

/// How many items, steps and subagents of a run are known at most.
pub const KNOWN_MAX: usize = 4096;
/// How many bytes their names have at most.
pub const NAMES_MAX: usize = 256 * 1024;
/// How long a run's or a thread's identifier may be to be compared at its end.
const RUN_ID_MAX: usize = 4096;
/// The name under which reasoning goes that has none: the retired `THINKING_*`.
const THINKING: &str = "\0thinking";

/// A rule that an event would break, and the member that tells which item it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breach {
    /// The rule.
    pub rule: Rule,
    /// The member.
    pub member: &'static str,
}

/// How an item is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Open {
    #[default]
    No,
    /// By its START.
    Start,
    /// By a chunk.
    Chunk,
}

#[derive(Clone, Debug, Default)]
struct Known {
    open: Open,
    /// A reasoning span of this name is open; spans and messages may share one.
    span: bool,
    /// When it was opened last, for the order in which things are closed.
    order: u32,
    span_order: u32,
    owner: Option<Box<str>>,
    answered: bool,
}

/// What a chunk's opener said that its continuations must not contradict.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// A message's role, or a call's name.
    role: Option<Box<str>>,
    /// A message's name, or the message that a call belongs to.
    name: Option<Box<str>>,
}

/// Which chunk streams an event closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closes<'a> {
    None,
    Lane(Option<&'a str>),
    All,
}

/// Something that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The kind of the event that closes it.
    pub closed_by: EventKind,
    /// Its identifier, or its name.
    pub id: Box<str>,
    /// Whose it is.
    pub owner: Option<Box<str>>,
}

/// What is known of the run under way.
#[derive(Debug, Default)]
pub struct State {
    life: Life,
    items: [HashMap<Box<str>, Known>; 3],
    activities: HashMap<Box<str>, Option<Box<str>>>,
    lanes: Lanes<Said>,
    /// Open steps by owner and name, in the order in which they were started.
    steps: Vec<(Option<Box<str>>, Box<str>)>,
    /// Announced subagents, and since when they are active if they are.
    subagents: HashMap<Box<str>, Option<u32>>,
    run_id: Option<Box<str>>,
    thread_id: Option<Box<str>>,
    order: u32,
    names: usize,
    half_blind: bool,
}

impl State {
    /// The run's identifier.
    pub fn run_id(&self) -> Option<&str> {
        self.run_id.as_deref()
    }

    /// The thread's identifier.
    pub fn thread_id(&self) -> Option<&str> {
        self.thread_id.as_deref()
    }

    /// Whether the last run has had its end.
    pub fn is_over(&self) -> bool {
        matches!(self.life, Life::Finished | Life::Failed)
    }

    /// Bytes kept.
    pub fn held(&self) -> usize {
        self.names + self.lanes.held()
    }

    /// The first rule that this event would break, of those that are about what came before it.
    pub fn breach(&self, seen: &Seen<'_>) -> Option<Breach> {
        use EventKind as Kind;
        let breach = |rule, member| Some(Breach { rule, member });
        if seen.kind == Kind::Other {
            return None;
        }
        if let Some(rule) = self.out_of_life(seen.kind) {
            return breach(rule, "type");
        }
        if !self.lanes.is_idle()
            && let Some(breach) = self.closing(closes(seen.kind, seen.tag().as_deref()))
        {
            return Some(breach);
        }
        match seen.kind {
            Kind::TextMessageStart => self.start(Item::Text, seen),
            Kind::TextMessageContent | Kind::TextMessageEnd => self.go_on(Item::Text, seen),
            Kind::ToolCallStart => self.start(Item::ToolCall, seen),
            Kind::ToolCallArgs | Kind::ToolCallEnd => self.go_on(Item::ToolCall, seen),
            Kind::ReasoningMessageStart | Kind::ThinkingTextMessageStart => self.start(Item::Reasoning, seen),
            Kind::ReasoningMessageContent
            | Kind::ReasoningMessageEnd
            | Kind::ThinkingTextMessageContent
            | Kind::ThinkingTextMessageEnd => self.go_on(Item::Reasoning, seen),
            Kind::ReasoningStart | Kind::ReasoningEnd | Kind::ThinkingStart | Kind::ThinkingEnd => self.span(seen),
            Kind::TextMessageChunk => self.chunk(Item::Text, seen),
            Kind::ToolCallChunk => self.chunk(Item::ToolCall, seen),
            Kind::ReasoningMessageChunk => self.chunk(Item::Reasoning, seen),
            Kind::StepStarted | Kind::StepFinished => {
                let (name, owner) = (seen.text("stepName")?, seen.tag());
                let open = self.steps.iter().any(|step| *step.1 == *name && step.0.as_deref() == owner.as_deref());
                match (seen.kind, open) {
                    (Kind::StepStarted, true) => breach(Rule::StepAlreadyOpen, "stepName"),
                    (Kind::StepFinished, false) if !self.half_blind => breach(Rule::StepNotOpen, "stepName"),
                    _ => None,
                }
            }
            Kind::SubagentStarted => {
                let unknown = |id: &str| !self.half_blind && !self.subagents.contains_key(id);
                if self.subagents.contains_key(&*seen.tag()?) {
                    breach(Rule::SubagentAlreadyStarted, "subagentRunId")
                } else if seen.text("parentSubagentRunId").is_some_and(|parent| unknown(&parent)) {
                    breach(Rule::SubagentParentUnknown, "parentSubagentRunId")
                } else {
                    None
                }
            }
            Kind::SubagentFinished | Kind::SubagentError => match self.subagents.get(&*seen.tag()?) {
                None if self.half_blind => None,
                Some(Some(_)) => None,
                _ => breach(Rule::SubagentNotStarted, "subagentRunId"),
            },
            Kind::ActivityDelta => {
                let owner = self.activities.get(&*seen.text("messageId")?)?;
                self.owned(seen, owner.as_deref())
            }
            Kind::ReasoningEncryptedValue => {
                let id = seen.text("entityId")?;
                let known = |item: Item| self.items[item as usize].get(&*id);
                let owner = match &*seen.text("subtype")? {
                    "tool-call" => known(Item::ToolCall),
                    _ => known(Item::Text).or_else(|| known(Item::Reasoning)),
                };
                self.owned(seen, owner?.owner.as_deref())
            }
            Kind::RunFinished => self.finish(seen),
            _ => None,
        }
    }

    /// The rule that an event of this kind breaks by coming now.
    fn out_of_life(&self, kind: EventKind) -> Option<Rule> {
        use EventKind::{RunError, RunStarted};
        match (self.life, kind) {
            (Life::Fresh, RunStarted | RunError) => None,
            (Life::Fresh, _) => Some(Rule::RunNotStarted),
            (Life::Active, RunStarted) => Some(Rule::RunAlreadyStarted),
            (Life::Finished, RunStarted | RunError) | (Life::Failed, RunStarted) => None,
            (Life::Finished, _) => Some(Rule::AfterFinish),
            (Life::Failed, _) => Some(Rule::AfterError),
            (Life::Active, _) => None,
        }
    }

    /// Whether an item is open once this event has closed the chunk streams that it closes; `None`: not known.
    fn is_open(&self, item: Item, id: &str, closes: Closes<'_>) -> Option<bool> {
        let Some(known) = self.items[item as usize].get(id) else { return (!self.half_blind).then_some(false) };
        Some(match known.open {
            Open::No => false,
            Open::Start => true,
            Open::Chunk => {
                let of_this = |open: &&lanes::Open<Said>| open.item == item && *open.id == *id;
                !self.lanes.iter().find(of_this).is_some_and(|open| match closes {
                    Closes::None => false,
                    Closes::Lane(lane) => open.lane() == lane,
                    Closes::All => true,
                })
            }
        })
    }

    /// What is wrong with the end of the chunk streams that an event closes.
    fn closing(&self, closes: Closes<'_>) -> Option<Breach> {
        self.lanes.iter().find_map(|stream| match closes {
            Closes::None => None,
            Closes::Lane(lane) if stream.lane() != lane => None,
            Closes::Lane(_) | Closes::All => self.lost(stream),
        })
    }

    /// Whether a chunk stream can neither go on nor end: its item was ended, or given to another, by an explicit event.
    fn lost(&self, stream: &lanes::Open<Said>) -> Option<Breach> {
        let known = self.items[stream.item as usize].get(&stream.id)?;
        if known.open == Open::No {
            return Some(not_open(stream.item));
        }
        let given_away = stream.lane().is_some() && known.owner.as_deref() != stream.lane();
        given_away.then_some(Breach { rule: Rule::OwnerMismatch, member: stream.item.member() })
    }

    /// The subagent in whose lane this item is open as a chunk stream.
    pub fn streamed_by(&self, item: Item, id: &str) -> Option<&str> {
        self.lanes.iter().find(|open| open.item == item && *open.id == *id)?.lane()
    }

    fn owned(&self, seen: &Seen<'_>, owner: Option<&str>) -> Option<Breach> {
        let mismatch = seen.tag().is_some_and(|tag| owner != Some(&*tag));
        mismatch.then_some(Breach { rule: Rule::OwnerMismatch, member: "subagentRunId" })
    }

    fn start(&self, item: Item, seen: &Seen<'_>) -> Option<Breach> {
        let (id, tag) = (id_of(item, seen)?, seen.tag());
        if self.is_open(item, &id, Closes::Lane(tag.as_deref())) == Some(true) {
            let rule = match item {
                Item::Text => Rule::MessageAlreadyOpen,
                Item::ToolCall => Rule::ToolCallAlreadyOpen,
                Item::Reasoning => Rule::ReasoningMessageAlreadyOpen,
            };
            return Some(Breach { rule, member: item.member() });
        }
        self.belongs(item, &id, seen)
    }

    /// Whether the opener of an item says that it belongs to whom it belonged before, and to whom its message does.
    fn belongs(&self, item: Item, id: &str, seen: &Seen<'_>) -> Option<Breach> {
        let known = self.items[item as usize].get(id);
        if item == Item::ToolCall
            && let Some(parent) = seen.text("parentMessageId")
            && let Some(message) = self.items[Item::Text as usize].get(&*parent)
        {
            if let Some(breach) = self.owned(seen, message.owner.as_deref()) {
                return Some(breach);
            }
            if seen.tag().is_none() && known.is_some_and(|known| known.owner != message.owner) {
                return Some(Breach { rule: Rule::OwnerMismatch, member: "parentMessageId" });
            }
        }
        self.owned(seen, known?.owner.as_deref())
    }

    fn go_on(&self, item: Item, seen: &Seen<'_>) -> Option<Breach> {
        let id = id_of(item, seen)?;
        if self.is_open(item, &id, Closes::Lane(seen.tag().as_deref())) == Some(false) {
            return Some(not_open(item));
        }
        self.owned(seen, self.items[item as usize].get(&*id)?.owner.as_deref())
    }

    fn span(&self, seen: &Seen<'_>) -> Option<Breach> {
        let id = id_of(Item::Reasoning, seen)?;
        let known = self.items[Item::Reasoning as usize].get(&*id);
        let open = known.is_some_and(|known| known.span);
        let rule = match seen.kind {
            EventKind::ReasoningStart | EventKind::ThinkingStart => open.then_some(Rule::ReasoningAlreadyOpen),
            _ => (!open && (known.is_some() || !self.half_blind)).then_some(Rule::ReasoningNotOpen),
        };
        match rule {
            Some(rule) => Some(Breach { rule, member: "messageId" }),
            None => self.owned(seen, known?.owner.as_deref()),
        }
    }

    fn chunk(&self, item: Item, seen: &Seen<'_>) -> Option<Breach> {
        let (id, tag) = (seen.text(item.member()), seen.tag());
        let breach = |rule, member| Some(Breach { rule, member });
        match self.lanes.place(item, id.as_deref(), tag.as_deref()) {
            Place::Continues(open) => {
                if let Some(breach) = self.lost(open) {
                    return Some(breach);
                }
                let (role, name) = opener_members(item);
                let differs = |member, said: &Option<Box<str>>| {
                    seen.text(member).is_some_and(|value| said.as_deref() != Some(&*value))
                };
                if !role.is_empty() && differs(role, &open.data.role) {
                    return breach(Rule::ChunkConflict, role);
                }
                if !name.is_empty() && differs(name, &open.data.name) {
                    return breach(Rule::ChunkConflict, name);
                }
                None
            }
            Place::Mismatch => breach(Rule::OwnerMismatch, "subagentRunId"),
            Place::Ambiguous => breach(Rule::ChunkAmbiguous, item.member()),
            Place::Opens(_) if self.half_blind => None,
            Place::Opens(lane) => {
                if let Some(breach) = self.closing(Closes::Lane(lane.as_deref())) {
                    return Some(breach);
                }
                if id.is_none() {
                    return breach(Rule::ChunkWithoutId, item.member());
                }
                if item == Item::ToolCall && seen.value("toolCallName").is_none() {
                    return breach(Rule::ChunkWithoutName, "toolCallName");
                }
                self.start(item, seen)
            }
        }
    }

    fn finish(&self, seen: &Seen<'_>) -> Option<Breach> {
        if let Some(first) = self.opened().first() {
            let rule = match first.closed_by {
                EventKind::ToolCallEnd => Rule::ToolCallOpenAtFinish,
                EventKind::TextMessageEnd => Rule::MessageOpenAtFinish,
                EventKind::ReasoningMessageEnd | EventKind::ThinkingTextMessageEnd => {
                    Rule::ReasoningMessageOpenAtFinish
                }
                EventKind::ReasoningEnd | EventKind::ThinkingEnd => Rule::ReasoningOpenAtFinish,
                EventKind::StepFinished => Rule::StepOpenAtFinish,
                _ => Rule::SubagentOpenAtFinish,
            };
            return Some(Breach { rule, member: "runId" });
        }
        let differs = |member, was: Option<&str>| was.is_some_and(|was| seen.text(member).is_some_and(|is| is != *was));
        if differs("runId", self.run_id()) {
            return Some(Breach { rule: Rule::RunIdChanged, member: "runId" });
        }
        let differs = differs("threadId", self.thread_id());
        differs.then_some(Breach { rule: Rule::ThreadIdChanged, member: "threadId" })
    }

    /// What is open otherwise than by chunks, in the order in which it can be closed: what lies within comes first.
    pub fn opened(&self) -> Vec<Opened> {
        let mut list = Vec::new();
        for (item, kind) in [
            (Item::ToolCall, EventKind::ToolCallEnd),
            (Item::Text, EventKind::TextMessageEnd),
            (Item::Reasoning, EventKind::ReasoningMessageEnd),
        ] {
            let of_kind = self.items[item as usize].iter().filter(|(_, known)| known.open == Open::Start);
            let mut open: Vec<_> = of_kind.map(|(id, known)| (known.order, opened(kind, id, &known.owner))).collect();
            open.sort_by_key(|(order, _)| *order);
            list.extend(open.into_iter().map(|(_, open)| open));
        }
        let spans = self.items[Item::Reasoning as usize].iter().filter(|(_, known)| known.span);
        let mut spans: Vec<_> =
            spans.map(|(id, known)| (known.span_order, opened(EventKind::ReasoningEnd, id, &known.owner))).collect();
        spans.sort_by_key(|(order, _)| std::cmp::Reverse(*order));
        list.extend(spans.into_iter().map(|(_, open)| open));
        let steps = self.steps.iter().rev();
        list.extend(steps.map(|(owner, name)| opened(EventKind::StepFinished, name, owner)));
        let active = self.subagents.iter().filter_map(|(id, since)| Some(((*since)?, id)));
        let mut active: Vec<_> = active.collect();
        active.sort_by_key(|(since, _)| std::cmp::Reverse(*since));
        list.extend(active.into_iter().map(|(_, id)| opened(EventKind::SubagentError, id, &Some(id.clone()))));
        list
    }

    /// The only item of this kind that is open, if there is one.
    pub fn only_open(&self, item: Item) -> Option<&str> {
        let mut open = self.items[item as usize].iter().filter(|(_, known)| known.open != Open::No);
        let only = open.next();
        only.filter(|_| open.next().is_none()).map(|(id, _)| &**id)
    }

    /// Whether an item of this name was seen in this run.
    pub fn knows(&self, item: Item, id: &str) -> bool {
        self.items[item as usize].contains_key(id)
    }

    /// Whether this tool call has its result.
    pub fn is_answered(&self, id: &str) -> bool {
        self.items[Item::ToolCall as usize].get(id).is_some_and(|known| known.answered)
    }

    /// The owners that have a step of this name open.
    pub fn step_owners(&self, name: &str) -> impl Iterator<Item = Option<&str>> {
        self.steps.iter().filter(move |step| *step.1 == *name).map(|step| step.0.as_deref())
    }
}

fn not_open(item: Item) -> Breach {
    let rule = match item {
        Item::Text => Rule::MessageNotOpen,
        Item::ToolCall => Rule::ToolCallNotOpen,
        Item::Reasoning => Rule::ReasoningMessageNotOpen,
    };
    Breach { rule, member: item.member() }
}

fn opened(closed_by: EventKind, id: &str, owner: &Option<Box<str>>) -> Opened {
    let closed_by = match (closed_by, id) {
        (EventKind::ReasoningMessageEnd, THINKING) => EventKind::ThinkingTextMessageEnd,
        (EventKind::ReasoningEnd, THINKING) => EventKind::ThinkingEnd,
        (kind, _) => kind,
    };
    Opened { closed_by, id: id.into(), owner: owner.clone() }
}

/// The members of an opener that a chunk may repeat.
pub fn opener_members(item: Item) -> (&'static str, &'static str) {
    match item {
        Item::Text => ("role", "name"),
        Item::ToolCall => ("toolCallName", "parentMessageId"),
        Item::Reasoning => ("", ""),
    }
}

/// The identifier of the item that an event is about.
pub fn id_of<'a>(item: Item, seen: &Seen<'a>) -> Option<std::borrow::Cow<'a, str>> {
    match seen.kind {
        EventKind::ThinkingStart
        | EventKind::ThinkingEnd
        | EventKind::ThinkingTextMessageStart
        | EventKind::ThinkingTextMessageContent
        | EventKind::ThinkingTextMessageEnd => Some(THINKING.into()),
        _ => seen.text(item.member()),
    }
}

/// Which chunk streams an event closes that belongs to whom it says.
fn closes(kind: EventKind, tag: Option<&str>) -> Closes<'_> {
    match follow::closes(kind) {
        follow::Closes::Nothing => Closes::None,
        follow::Closes::All => Closes::All,
        follow::Closes::Subagent | follow::Closes::Lane => Closes::Lane(tag),
    }
}
