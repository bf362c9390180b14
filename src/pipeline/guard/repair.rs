//! An event and the rule that it breaks come in, what is sent instead goes out: nothing, the event with a member changed,
//! or what was missing before it. Whatever is sent is judged again, so that no rule is broken by what comes out. Nothing
//! is guessed that a person would read: no text, no state, no arguments of a call.
//!
//! All that is open is closed before the `RUN_FINISHED` of an agent that says that its run is whole. Before a `RUN_ERROR`
//! of the gateway's own only text and reasoning are: what there is of them is all there is. The end of a call would
//! say that its arguments are complete, and a client may act on them; that of a step, that it was done. The protocol
//! asks for neither: an error ends what is open, subagents too. So an agent's own `RUN_ERROR` is left as it is.

use std::time::Instant;

use super::{
    Guard, Last, Nested, Rule,
    frame::{self, Foreign},
    members::{self, Seen},
    memory::Unnamed,
    nested::Ends,
    refuse, shape,
    shape::{Fit, Need, Shape},
    state::{Breach, KNOWN_MAX, Opened, State, id_of},
};
use crate::{
    agui::{
        Event, EventKind,
        edit::{self, Change},
        json::{self, Members},
        lanes::Item,
    },
    pipeline::Out,
};

/// How often one event is mended at most before the run is ended instead.
const MENDED_MAX: u8 = 16;
/// How many events are looked at for one at most; closing all that can be open takes a third of it.
const STEPS_MAX: usize = 3 * KNOWN_MAX;
/// How often an event of the guard's own is mended at most.
const MADE_MENDED_MAX: u8 = 4;
/// What a `RUN_ERROR` that has no message gets.
const NO_MESSAGE: &str = "The agent failed and did not say why.";
/// What a subagent gets whose end was never told: neither success nor a result may be made up.
const SUBAGENT_LEFT_OPEN: &str = "The agent finished its run without telling how this subagent ended.";

/// What becomes of an event that breaks a rule.
enum Fix {
    /// It is left out.
    Drop,
    /// This stands in its place.
    Instead(Event),
    /// This stands in its place if nothing of the run follows it.
    IfLast(Event),
    /// These stand in its place.
    Apart(Vec<Event>),
    /// These come first, each for its rule.
    First(Vec<(Rule, Event)>),
    /// Nothing helps.
    Beyond,
}

impl Guard {
    /// Sends on what mends this event.
    pub(super) fn repair(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        if Last::is_followed_by(event.kind())
            && let Some((rule, last)) = self.last.take()
        {
            // Another run begins where this one ended; all else is within it.
            match last.kind() == EventKind::RunFinished && event.kind() == EventKind::RunStarted {
                true => self.ends_with(rule, last, at, out),
                false => out.repaired(rule.as_str()),
            }
        }
        self.mend(event, at, out);
    }

    /// The stream is over, so that what is held is the end of the run.
    pub(super) fn let_last_go(&mut self, at: Instant, out: &mut Out<'_>) {
        if let Some((rule, last)) = self.last.take().filter(|_| !self.is_over) {
            self.ends_with(rule, last, at, out);
        }
    }

    /// Nothing of the run followed this event.
    fn ends_with(&mut self, rule: Rule, last: Event, at: Instant, out: &mut Out<'_>) {
        if last.is_own() {
            out.repaired(rule.as_str());
        }
        self.nested = Nested::default();
        self.mend(last, at, out);
    }

    fn mend(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let mut waiting = vec![(event, 0u8)];
        let mut steps = 0;
        while let Some((event, mended)) = waiting.pop() {
            steps += 1;
            if self.memory.is_muted() && event.kind() != EventKind::RunStarted {
                out.repaired(Rule::AfterError.as_str());
                continue;
            }
            if !self.nested.is_empty() && self.is_of_another_run(&event, out) {
                continue;
            }
            let (seen, breach) = self.judge(&event);
            let (rule, fix) = match breach {
                Some(breach) => {
                    out.violated(breach.rule.as_str());
                    let fix = if mended < MENDED_MAX && steps < STEPS_MAX {
                        self.fix(&event, &seen, breach)
                    } else {
                        Fix::Beyond
                    };
                    if matches!(fix, Fix::Beyond) {
                        self.is_over = true;
                        return out.refuse(refuse::refusal(&breach, &seen));
                    }
                    (breach.rule, fix)
                }
                None => match self.better(&event, &seen).filter(|_| mended < MENDED_MAX) {
                    Some(better) => better,
                    None => {
                        if event.kind() == EventKind::RunStarted || event.kind().is_terminal() {
                            self.nested = Nested::default();
                        }
                        self.state.apply(&seen);
                        self.memory.sent(&seen, event.is_own());
                        self.repeat.remember(&event);
                        out.send(event, at);
                        continue;
                    }
                },
            };
            match fix {
                Fix::Drop | Fix::Beyond => out.repaired(rule.as_str()),
                Fix::Instead(event) => {
                    out.repaired(rule.as_str());
                    waiting.push((event, mended + 1));
                }
                Fix::IfLast(event) => {
                    if let Some((rule, _)) = self.last.hold(rule, event) {
                        out.repaired(rule.as_str());
                    }
                }
                Fix::Apart(list) => {
                    out.repaired(rule.as_str());
                    waiting.extend(list.into_iter().rev().map(|event| (event, mended + 1)));
                }
                Fix::First(list) => {
                    list.iter().for_each(|(rule, _)| out.repaired(rule.as_str()));
                    waiting.push((event, mended + 1));
                    // What is made for it has fewer tries than it had, so that this comes to an end.
                    let tried = (mended + 1).max(MENDED_MAX - MADE_MENDED_MAX);
                    waiting.extend(list.into_iter().rev().map(|(_, event)| (event, tried)));
                }
            }
        }
    }

    /// Whether an event ends a run within the run, whose start was left out. If nobody can tell, it is held.
    fn is_of_another_run(&mut self, event: &Event, out: &mut Out<'_>) -> bool {
        const RULE: Rule = Rule::RunAlreadyStarted;
        let id = || event.string("runId");
        let ends = match event.kind() {
            EventKind::RunFinished => self.nested.ends(id().as_deref(), self.state.run_id()),
            EventKind::RunError if id().is_some_and(|id| self.nested.fails(&id, self.state.run_id())) => Ends::Nested,
            _ => Ends::Run,
        };
        match ends {
            Ends::Run => return false,
            Ends::Nested => out.repaired(RULE.as_str()),
            Ends::Either => drop(self.last.hold(RULE, event.clone())),
        }
        true
    }

    /// What is done to an event that breaks no rule that a client insists on.
    fn better(&mut self, event: &Event, seen: &Seen<'_>) -> Option<(Rule, Fix)> {
        if event.kind() == EventKind::RunError && event.is_own() {
            let open = self.state.opened().into_iter().filter(|open| is_whole_as_it_is(open.closed_by));
            let list: Vec<_> = open.map(|open| closing(&open)).collect();
            return (!list.is_empty()).then_some((Rule::MessageOpenAtFinish, Fix::First(list)));
        }
        if event.kind() == EventKind::MessagesSnapshot {
            let (rule, messages) = self.memory.up_to_an_unknown_result(seen.value("messages")?, &self.state)?;
            return Some((rule, Fix::First(vec![(rule, event.with("messages", &messages))])));
        }
        self.end_in_its_lane(event, seen)
    }

    /// An end without an owner, for what a subagent streams in chunks, is that subagent's: else its lane stays open, and
    /// ends the item once more. So is a result that takes such a message for its own.
    fn end_in_its_lane(&self, event: &Event, seen: &Seen<'_>) -> Option<(Rule, Fix)> {
        let (item, rule) = match seen.kind {
            EventKind::TextMessageEnd => (Item::Text, Rule::MessageNotOpen),
            EventKind::ToolCallEnd => (Item::ToolCall, Rule::ToolCallNotOpen),
            EventKind::ReasoningMessageEnd => (Item::Reasoning, Rule::ReasoningMessageNotOpen),
            EventKind::ToolCallResult => {
                let owner = self.state.streamed_by(Item::Text, &seen.text("messageId")?)?;
                let differs = seen.tag().is_none_or(|tag| tag != owner);
                let owned = || Fix::Instead(event.with("subagentRunId", &edit::quoted(owner)));
                return differs.then(|| (Rule::OwnerMismatch, owned()));
            }
            _ => return None,
        };
        let owner = self.state.streamed_by(item, &id_of(item, seen)?).filter(|_| seen.tag().is_none())?;
        Some((rule, Fix::Instead(event.with("subagentRunId", &edit::quoted(owner)))))
    }

    fn fix(&mut self, event: &Event, seen: &Seen<'_>, breach: Breach) -> Fix {
        let without = |member: &str| {
            let edited = event.edited(|found| if found.is(member) { Change::Drop } else { Change::Keep });
            edited.map_or(Fix::Beyond, Fix::Instead)
        };
        match breach.rule {
            Rule::DoneSentinel | Rule::MissingType => Fix::Drop,
            Rule::NotAnObject if !event.text().trim_ascii_start().starts_with(b"[") => Fix::Drop,
            Rule::NotAnObject => Fix::Beyond,
            Rule::InvalidEncoding => Fix::Instead(event.in_utf8()),
            Rule::GluedFrames => apart(event),
            Rule::MalformedJson => {
                frame::without_non_numbers(event.text()).map_or(Fix::Beyond, |text| Fix::Instead(Event::made(text)))
            }
            // Nothing is added after the end of a run.
            Rule::ForeignError if self.state.is_over() => Fix::Drop,
            Rule::ForeignError => {
                let sure = event.is_named_error() || frame::foreign(event.text()) != Some(Foreign::IfLast);
                if sure { Fix::Instead(foreign_error(event)) } else { Fix::IfLast(foreign_error(event)) }
            }
            Rule::MissingMember => self.fill(event, seen, breach.member),
            Rule::NullMember | Rule::WrongType => mend_members(event),
            // A start is not made up, and the answer is not lost in silence for want of one. What only prepares it may have
            // been sent too early by an agent that begins its run with the next event.
            Rule::RunNotStarted => match seen.kind {
                EventKind::TextMessageStart
                | EventKind::ToolCallStart
                | EventKind::StateSnapshot
                | EventKind::MessagesSnapshot => Fix::Drop,
                kind => aside(kind),
            },
            Rule::RunAlreadyStarted => {
                self.nested.starts(seen.text("runId").as_deref());
                Fix::Drop
            }
            Rule::AfterFinish | Rule::AfterError => Fix::Drop,
            Rule::RunIdChanged => as_it_began(event, "runId", self.state.run_id()),
            Rule::ThreadIdChanged => as_it_began(event, "threadId", self.state.thread_id()),
            Rule::MessageAlreadyOpen | Rule::ToolCallAlreadyOpen | Rule::ReasoningMessageAlreadyOpen => {
                close_for_chunk(seen, breach.rule)
            }
            Rule::MessageNotOpen => self.reopen(Item::Text, seen, breach.rule),
            Rule::ToolCallNotOpen => self.reopen(Item::ToolCall, seen, breach.rule),
            Rule::ReasoningMessageNotOpen => self.reopen(Item::Reasoning, seen, breach.rule),
            Rule::ReasoningAlreadyOpen
            | Rule::ReasoningNotOpen
            | Rule::StepAlreadyOpen
            | Rule::SubagentAlreadyStarted
            | Rule::SubagentNotStarted => Fix::Drop,
            Rule::StepNotOpen => step_of_its_owner(event, seen, &self.state),
            Rule::SubagentParentUnknown | Rule::OwnerMismatch | Rule::ChunkConflict => without(breach.member),
            Rule::MessageOpenAtFinish
            | Rule::ToolCallOpenAtFinish
            | Rule::ReasoningMessageOpenAtFinish
            | Rule::ReasoningOpenAtFinish
            | Rule::StepOpenAtFinish
            | Rule::SubagentOpenAtFinish => Fix::First(self.state.opened().iter().map(closing).collect()),
            Rule::ChunkWithoutId | Rule::ChunkWithoutName => self.identify(event, seen),
            Rule::ChunkAmbiguous | Rule::ToolMessageRenamed | Rule::ToolMessageUntold => Fix::Beyond,
        }
    }

    /// A required member that is missing: an identifier is made up, what the run said is said again.
    fn fill(&mut self, event: &Event, seen: &Seen<'_>, member: &str) -> Fix {
        use EventKind as Kind;
        let with = |text: &str| Fix::Instead(event.with(member, &edit::quoted(text)));
        let what = match seen.kind {
            Kind::TextMessageStart | Kind::TextMessageContent | Kind::TextMessageEnd => Some(Unnamed::Text),
            Kind::ReasoningMessageStart | Kind::ReasoningMessageContent | Kind::ReasoningMessageEnd => {
                Some(Unnamed::Reasoning)
            }
            Kind::ReasoningStart | Kind::ReasoningEnd => Some(Unnamed::Span),
            _ => None,
        };
        match (seen.kind, member, what) {
            (Kind::TextMessageStart | Kind::ReasoningMessageStart | Kind::ReasoningStart, "messageId", Some(what)) => {
                with(&self.memory.name(what, &self.state))
            }
            (_, "messageId", Some(what)) => {
                let only = || match what {
                    Unnamed::Text => self.state.only_open(Item::Text),
                    Unnamed::Reasoning => self.state.only_open(Item::Reasoning),
                    Unnamed::Span => None,
                };
                self.memory.unnamed(what).or_else(only).map_or(Fix::Drop, with)
            }
            (Kind::ToolCallResult, "messageId", _) => with(&self.memory.name(Unnamed::Text, &self.state)),
            (Kind::ReasoningMessageStart, "role", _) => with("reasoning"),
            (Kind::RunFinished, "runId", _) => self.state.run_id().map_or(Fix::Beyond, with),
            (Kind::RunFinished, "threadId", _) => self.state.thread_id().map_or(Fix::Beyond, with),
            (Kind::RunError | Kind::SubagentError, "message", _) => {
                with(frame::words_beside(event.text()).as_deref().unwrap_or(NO_MESSAGE))
            }
            _ => aside(seen.kind),
        }
    }

    /// Content of an item that is not open: opened again, if it was open before and has not been answered.
    fn reopen(&self, item: Item, seen: &Seen<'_>, rule: Rule) -> Fix {
        let ends = matches!(
            seen.kind,
            EventKind::TextMessageEnd
                | EventKind::ToolCallEnd
                | EventKind::ReasoningMessageEnd
                | EventKind::ThinkingTextMessageEnd
        );
        let Some(id) = id_of(item, seen).filter(|_| !ends) else { return Fix::Drop };
        let answered = item == Item::ToolCall && self.state.is_answered(&id);
        let opener = self.memory.opener(item, &id).filter(|_| !answered);
        let Some(opener) = opener.map(|opener| Event::made(opener.to_vec())) else { return Fix::Drop };
        // In the lane of the event, so that it closes there what the event would.
        let opener = seen.value("subagentRunId").map_or(opener.clone(), |tag| opener.with("subagentRunId", tag));
        Fix::First(vec![(rule, opener)])
    }

    /// A chunk that does not say what it opens: it goes on with the last item of its lane, or gets an identifier.
    fn identify(&mut self, event: &Event, seen: &Seen<'_>) -> Fix {
        let (item, what) = match seen.kind {
            EventKind::TextMessageChunk => (Item::Text, Unnamed::Text),
            EventKind::ReasoningMessageChunk => (Item::Reasoning, Unnamed::Reasoning),
            _ => return self.identify_call(event, seen),
        };
        let id = match self.memory.last(item, seen.tag().as_deref()) {
            Some((id, _)) => id.to_owned(),
            None => self.memory.name(what, &self.state),
        };
        Fix::Instead(event.with(item.member(), &edit::quoted(&id)))
    }

    fn identify_call(&self, event: &Event, seen: &Seen<'_>) -> Fix {
        let tag = seen.tag();
        let Some((id, Some(name))) = self.memory.last(Item::ToolCall, tag.as_deref()) else {
            // Arguments of no call are stray; a call that nobody can name is lost.
            let stray = seen.value("toolCallId").is_none() && seen.value("toolCallName").is_none();
            return if stray { Fix::Drop } else { Fix::Beyond };
        };
        if seen.text("toolCallId").is_some_and(|own| own != id) || self.state.is_answered(id) {
            return Fix::Beyond;
        }
        let named = event.with("toolCallId", &edit::quoted(id));
        Fix::Instead(if seen.value("toolCallName").is_none() { named.with("toolCallName", name) } else { named })
    }
}

/// The payloads that are glued together in this one.
fn apart(event: &Event) -> Fix {
    let Some(pieces) = frame::pieces(event.text()) else { return Fix::Beyond };
    Fix::Apart(pieces.into_iter().map(|place| Event::made(event.text().slice(place))).collect())
}

fn foreign_error(event: &Event) -> Event {
    let message = frame::words(event.text()).filter(|message| !message.is_empty());
    Event::run_error(message.as_deref().unwrap_or(NO_MESSAGE), "UPSTREAM_ERROR")
}

/// The end of a run says of whom it is as its beginning did.
fn as_it_began(event: &Event, member: &str, value: Option<&str>) -> Fix {
    value.map_or(Fix::Beyond, |value| Fix::Instead(event.with(member, &edit::quoted(value))))
}

/// An opener of what is open says nothing new; a chunk for it goes on in its own form, after an end.
fn close_for_chunk(seen: &Seen<'_>, rule: Rule) -> Fix {
    let (item, closed_by) = match seen.kind {
        EventKind::TextMessageChunk => (Item::Text, EventKind::TextMessageEnd),
        EventKind::ToolCallChunk => (Item::ToolCall, EventKind::ToolCallEnd),
        EventKind::ReasoningMessageChunk => (Item::Reasoning, EventKind::ReasoningMessageEnd),
        _ => return Fix::Drop,
    };
    let Some(id) = id_of(item, seen) else { return Fix::Drop };
    let open = Opened { closed_by, id: Box::from(&*id), owner: None };
    Fix::First(vec![(rule, closing(&open).1)])
}

/// A step that only one other owner has open is that owner's.
fn step_of_its_owner(event: &Event, seen: &Seen<'_>, state: &State) -> Fix {
    let Some(name) = seen.text("stepName") else { return Fix::Drop };
    let mut owners = state.step_owners(&name);
    match (owners.next(), owners.next()) {
        (Some(Some(owner)), None) => Fix::Instead(event.with("subagentRunId", &edit::quoted(owner))),
        (Some(None), None) => {
            let untagged = event.without(|member| member.is("subagentRunId"));
            untagged.map_or(Fix::Drop, Fix::Instead)
        }
        _ => Fix::Drop,
    }
}

/// Whether what this closes is no less when it is cut short.
fn is_whole_as_it_is(closed_by: EventKind) -> bool {
    use EventKind as Kind;
    matches!(
        closed_by,
        Kind::TextMessageEnd
            | Kind::ReasoningMessageEnd
            | Kind::ReasoningEnd
            | Kind::ThinkingTextMessageEnd
            | Kind::ThinkingEnd
    )
}

/// The event that closes this, and the rule that asks for it.
fn closing(open: &Opened) -> (Rule, Event) {
    use EventKind as Kind;
    let (rule, member) = match open.closed_by {
        Kind::TextMessageEnd => (Rule::MessageOpenAtFinish, "messageId"),
        Kind::ToolCallEnd => (Rule::ToolCallOpenAtFinish, "toolCallId"),
        Kind::ReasoningMessageEnd => (Rule::ReasoningMessageOpenAtFinish, "messageId"),
        Kind::ThinkingTextMessageEnd => (Rule::ReasoningMessageOpenAtFinish, ""),
        Kind::ReasoningEnd => (Rule::ReasoningOpenAtFinish, "messageId"),
        Kind::ThinkingEnd => (Rule::ReasoningOpenAtFinish, ""),
        Kind::StepFinished => (Rule::StepOpenAtFinish, "stepName"),
        _ => (Rule::SubagentOpenAtFinish, ""),
    };
    let mut text = format!(r#"{{"type":"{}""#, open.closed_by.as_str()).into_bytes();
    let mut add = |name: &str, value: &str| {
        text.extend_from_slice(format!(r#","{name}":"#).as_bytes());
        text.extend_from_slice(&edit::quoted(value));
    };
    if !member.is_empty() {
        add(member, &open.id);
    }
    if let Some(owner) = &open.owner {
        add("subagentRunId", owner);
    }
    if open.closed_by == Kind::SubagentError {
        add("message", SUBAGENT_LEFT_OPEN);
    }
    text.extend_from_slice(b"}");
    (rule, Event::made(text))
}

/// What stands beside the answer is left out when it cannot be read, or comes before its run; without what makes the answer, nothing helps.
fn aside(kind: EventKind) -> Fix {
    use EventKind as Kind;
    match kind {
        Kind::StepStarted
        | Kind::StepFinished
        | Kind::Custom
        | Kind::Raw
        | Kind::ActivitySnapshot
        | Kind::ActivityDelta
        | Kind::ReasoningStart
        | Kind::ReasoningEnd
        | Kind::ReasoningMessageStart
        | Kind::ReasoningMessageContent
        | Kind::ReasoningMessageEnd
        | Kind::ReasoningMessageChunk
        | Kind::ReasoningEncryptedValue
        | Kind::ThinkingStart
        | Kind::ThinkingEnd
        | Kind::ThinkingTextMessageStart
        | Kind::ThinkingTextMessageContent
        | Kind::ThinkingTextMessageEnd
        | Kind::SubagentStarted
        | Kind::SubagentFinished
        | Kind::SubagentError => Fix::Drop,
        _ => Fix::Beyond,
    }
}

/// Members that say little and may be left out, if their value is one that the protocol does not take.
const SPARE: &[&str] =
    &["timestamp", "rawEvent", "metadata", "usage", "code", "source", "description", "name", "role", "protocolVersion"];

/// An event with values that the protocol does not take: nulls for what is optional go, at any depth, and what can be
/// spared goes; the role of a reasoning message is the one that it can have.
fn mend_members(event: &Event) -> Fix {
    let fields = members::of(event.kind());
    if let Some(text) = without_nulls(fields, event.text()) {
        return Fix::Instead(Event::made(text));
    }
    let spared = event.edited(|member| {
        let field = fields.iter().find(|field| member.is(field.name));
        let wrong = |field: &&shape::Field| matches!(field.shape.fit(member.value, field.name), Fit::Wrong(_));
        match field.filter(wrong) {
            Some(field) if field.need != Need::Must && SPARE.contains(&field.name) => Change::Drop,
            Some(field)
                if matches!(event.kind(), EventKind::RunError | EventKind::SubagentError)
                    && field.name == "message" =>
            {
                Change::text(&frame::said(member.value))
            }
            Some(field) if event.kind() == EventKind::ReasoningMessageStart && field.name == "role" => {
                Change::text("reasoning")
            }
            _ => Change::Keep,
        }
    });
    spared.map_or_else(|| aside(event.kind()), Fix::Instead)
}

/// The object without the nulls of members that may be absent but not null.
fn without_nulls(fields: &[shape::Field], text: &[u8]) -> Option<Vec<u8>> {
    edit::members(text, |member| {
        let Some(field) = fields.iter().find(|field| member.is(field.name)) else { return Change::Keep };
        match member.is_null() {
            true if field.need == Need::May && !matches!(field.shape, Shape::Any) => Change::Drop,
            true => Change::Keep,
            false => nested_nulls(field.shape, member.value).into(),
        }
    })
}

fn nested_nulls(shape: &Shape, value: &[u8]) -> Option<Vec<u8>> {
    match shape {
        Shape::Object(fields) => without_nulls(fields, value),
        Shape::Tagged(by, arms) => {
            let tag = Members::of(value).filter(|member| member.is(by)).last()?;
            let tag = json::string(tag.value)?;
            let (_, fields) = arms.iter().find(|(name, _)| *name == tag)?;
            without_nulls(fields, value)
        }
        Shape::List(of, _) | Shape::TextOr(of) => edit::elements(value, |element| nested_nulls(of, element).into()),
        _ => None,
    }
}
