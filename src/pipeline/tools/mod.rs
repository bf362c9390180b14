//! The events of an agent's stream come in, the same without the tool calls that a policy denies go out: of a denied call
//! there is nothing, in whatever event it would be. It reads names, arguments and results by the policy's rules; it does
//! not look into text, reasoning, state, activities, custom values and results of runs, whatever they say of a call.
//!
//! What its name decides is decided at once, and goes on as it came. What its arguments have to decide is held until they
//! are whole, and leaves in one go at the place of its end; other items go on meanwhile. What tells of a held call (a
//! subagent of it, a result before its arguments are JSON) waits for that end, and all that comes behind it too, in
//! order. A snapshot of the messages does not wait: the call is not in it and begins after it, unless the snapshot has
//! its answer. That and the end of the run have it decided by the arguments there are. If more come then, the run ends,
//! as it does where a call goes on after its end with what cannot be judged by itself.
//!
//! The client hears less than the agent said, or later, and so other chunk streams may be open for it. Where a chunk names
//! no item and the client would take it for another one's, it gets the name.
//!
//! A call is remembered by its identifier for the whole stream, so that what comes late is judged too. In a later run the
//! identifier may begin another call; within a run a denied one stays denied. A call of which the name was never heard,
//! neither here nor in the run's input, is left out like a denied one. A subagent that a denied call began is left out
//! with all that is its own, but for changes to the shared state, which is everyone's.
//!
//! A denied result alone is emptied, whatever becomes of denied calls: its call was shown, and a call without an answer
//! reads as one that the client has to answer. With `error` it ends the run.
//!
//! What cannot be read, or is read differently by different readers, ends the run.

mod begun;
mod calls;
mod follow;
mod glob;
mod hidden;
pub mod input;
mod live;
mod mask;
mod messages;
mod order;
mod policy;
mod refer;
mod seen;
mod shown;
#[cfg(test)]
mod tests;
mod values;
mod waiting;

use std::{borrow::Cow, sync::Arc, time::Instant};

pub use input::Known;
pub use policy::{ArgumentRule, OnDenied, Policy, PolicyError, Raw, ResultRule};

use self::{
    begun::Begun,
    calls::{Calls, Stand},
    follow::{Follow, Lost, Placed},
    hidden::Hidden,
    messages::Denied,
    seen::{Name, Seen, Unread},
    waiting::{Spot, Waiting},
};
use super::{Decision, End, Fault, Out, Refused, Stage};
use crate::agui::{
    Encoding, Event, EventKind,
    follow::{About, is_chunk, item_of, opens},
    lanes::Item,
};

/// The stage's name, where something that it left out is named.
const STAGE: &str = "tools";

/// Why a run has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// An event cannot be judged, for this.
    Unread(&'static str),
    /// More of this would have to be kept than may be.
    Full(&'static str),
    /// A denied call, where that is an error.
    Denied,
}

impl From<Unread> for Stop {
    fn from(Unread(why): Unread) -> Self {
        Self::Unread(why)
    }
}

impl From<Lost> for Stop {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::Astray => Self::Unread("astray_chunk"),
            Lost::Full => Self::Full("open_chunks"),
        }
    }
}

impl Stop {
    fn refused(self) -> Refused {
        let (fault, rule, message) = match self {
            Self::Unread(rule) => {
                (Fault::Malformed, rule, "The agent's stream holds what the tool policy cannot read.")
            }
            Self::Full(rule) => {
                (Fault::Budget, rule, "The agent's tool calls take more than the tool policy may keep.")
            }
            Self::Denied => (Fault::Denied, "tool_denied", "The agent called a tool that is not allowed here."),
        };
        Refused { fault, rule, message: message.to_owned() }
    }
}

/// Applies a policy to one stream.
#[derive(Debug)]
pub struct Tools {
    policy: Arc<Policy>,
    /// What is open for the agent.
    follow: Follow,
    /// What is open for the client.
    shown: Follow,
    calls: Calls,
    waiting: Waiting,
    hidden: Hidden,
    begun: Begun,
    /// The run was ended here; nothing more goes out.
    is_over: bool,
}

impl Tools {
    /// A policy at the beginning of a stream, with the calls that the run's input names.
    pub fn new(policy: Arc<Policy>, known: &Known) -> Self {
        let mut tools = Self {
            policy,
            follow: Follow::default(),
            shown: Follow::default(),
            calls: Calls::default(),
            waiting: Waiting::default(),
            hidden: Hidden::default(),
            begun: Begun::default(),
            is_over: false,
        };
        // Nothing is live yet that could leave no room.
        let _ = tools.learn(known);
        tools
    }

    /// Takes what a history says of calls.
    fn learn(&mut self, known: &Known) -> Result<(), Stop> {
        for (id, name, denied) in known.calls() {
            let stand = match denied {
                Some(Denied::Drop) => Stand::Dropped,
                Some(Denied::Mask) => Stand::Masked,
                // Arguments that came without a start would be nobody's.
                None => Stand::Shown { judged: true },
            };
            let before = self.calls.get(id).map(|call| &call.stand);
            match (self.calls.live(id).is_some(), denied) {
                // Its own arguments decide.
                _ if self.calls.is_held(id) => {}
                (true, None) => {}
                (true, Some(_)) => self.calls.set(id, name, stand)?,
                // What was denied stays so until it begins anew.
                (false, None) if matches!(before, Some(Stand::Dropped | Stand::Masked)) => {}
                (false, _) => self.calls.learn(id, name, stand),
            }
        }
        Ok(())
    }

    fn judge(&mut self, event: Event, at: Instant, out: &mut Out<'_>) -> Result<(), Stop> {
        let is_idle =
            self.follow.is_idle() && self.shown.is_idle() && self.hidden.is_empty() && self.waiting.is_empty();
        let is_text = event.plain().is_some() && event.kind() != EventKind::ToolCallArgs;
        if is_idle && is_text {
            out.send(event, at);
            return Ok(());
        }
        let seen = match Seen::of(&event) {
            Ok(seen) => seen,
            // It holds nothing: some agents say so that their stream is over.
            Err(_) if is_nothing(&event) => {
                out.send(event, at);
                return Ok(());
            }
            Err(unread) => return Err(unread.into()),
        };
        if is_idle && is_plain(event.kind()) && !seen.says_more() {
            out.send(event, at);
            return Ok(());
        }
        if seen.has(Name::Raw)
            && self.policy.drops_raw()
            && let Some(rest) = event.without(|member| member.is(Name::Raw.as_str()))
        {
            out.dropped(STAGE, "raw_event", event.kind());
            let seen = Seen::of(&rest)?;
            return self.judged(rest.clone(), &seen, at, out);
        }
        self.judged(event.clone(), &seen, at, out)
    }

    fn judged(&mut self, event: Event, seen: &Seen<'_>, at: Instant, out: &mut Out<'_>) -> Result<(), Stop> {
        let (kind, own) = (event.kind(), event.is_own());
        let names = self.names(kind, seen)?;
        let spot = self.spot(names.about(kind))?;
        for open in spot.closed_calls() {
            self.decide(&open.id, open.lane(), own, at, out)?;
        }
        if matches!(kind, EventKind::RunStarted | EventKind::RunFinished | EventKind::RunError) {
            self.decide_all(own, at, out)?;
        }
        self.take_waiting(at, out)?;
        if let Some(entry) = self.waits(event.clone(), seen, spot, at, out)? {
            self.waiting.push(entry)?;
        }
        self.take_waiting(at, out)
    }

    /// Does what the policy wants with an event.
    fn act(&mut self, event: Event, seen: &Seen<'_>, spot: &Spot, at: Instant, out: &mut Out<'_>) -> Result<(), Stop> {
        let kind = event.kind();
        if kind == EventKind::RunStarted {
            self.calls.next_run();
        }
        let placed = spot.placed.as_ref();
        if !self.hidden.is_empty() {
            let names = self.names(kind, seen)?;
            if spot.is_astray {
                return Err(Lost::Astray.into());
            }
            if self.is_hidden(names.about(kind), placed)? {
                return self.hide(event, names.about(kind), placed, at, out);
            }
        }
        match kind {
            EventKind::ToolCallStart => self.start(event, seen, at, out),
            EventKind::ToolCallArgs => self.arguments(event, seen, at, out),
            EventKind::ToolCallEnd => self.finish(event, seen, at, out),
            EventKind::ToolCallResult => self.result(event, seen, at, out),
            EventKind::ToolCallChunk => match placed {
                Some(placed) => self.chunk(event, seen, placed, at, out),
                None => Err(Stop::Unread("astray_chunk")),
            },
            _ => {
                let spelled = placed
                    .zip(item_of(kind))
                    .and_then(|(placed, item)| self.spelled(&event, seen, item, &placed.id, placed.lane.as_deref()));
                match spelled {
                    Some(event) => self.refer(event.clone(), &Seen::of(&event)?, at, out),
                    None => self.refer(event, seen, at, out),
                }
            }
        }
    }

    /// Whose an event is, as far as it says so.
    fn names<'a>(&self, kind: EventKind, seen: &Seen<'a>) -> Result<Names<'a>, Unread> {
        let tag = match kind {
            EventKind::Other => seen.text(Name::Tag).ok().flatten(),
            _ => seen.text(Name::Tag)?,
        };
        let id = match item_of(kind) {
            Some(Item::ToolCall) => seen.text(Name::Call)?,
            Some(_) if self.hidden.is_empty() => seen.text(Name::Message).ok().flatten(),
            Some(_) => seen.text(Name::Message)?,
            None => None,
        };
        let parent = match kind {
            EventKind::ToolCallStart | EventKind::ToolCallChunk => seen.text(Name::ParentMessage)?,
            _ => None,
        };
        Ok(Names { id, tag, parent })
    }

    /// Follows an event through the agent's lanes.
    fn spot(&mut self, about: About<'_>) -> Result<Spot, Stop> {
        let Some(item) = item_of(about.kind).filter(|_| is_chunk(about.kind)) else {
            return Ok(Spot { closed: self.follow.closes(about), ..Spot::default() });
        };
        let is_judged = item == Item::ToolCall || !self.hidden.is_empty();
        let is_unlike = about.id.is_none() && !self.follow.is_like(&self.shown);
        match self.follow.chunk(item, about, is_judged || is_unlike || !self.waiting.is_empty()) {
            Ok(mut placed) => {
                let closed = placed.as_mut().map(|placed| std::mem::take(&mut placed.closed)).unwrap_or_default();
                Ok(Spot { placed, closed, is_astray: false })
            }
            // Whoever reads it judges it.
            Err(_) if !is_judged => Ok(Spot { is_astray: true, ..Spot::default() }),
            Err(lost) => Err(lost.into()),
        }
    }

    /// Whether an event is a hidden subagent's. What begins anew in another run is not hidden any more.
    fn is_hidden(&mut self, about: About<'_>, placed: Option<&Placed>) -> Result<bool, Stop> {
        if matches!(
            about.kind,
            EventKind::RunStarted
                | EventKind::RunFinished
                | EventKind::RunError
                | EventKind::MessagesSnapshot
                | EventKind::SubagentStarted
        ) {
            return Ok(false);
        }
        let is_hidden_lane = |lane: Option<&str>| lane.is_some_and(|lane| self.hidden.has(lane));
        let lane = is_hidden_lane(about.tag) || is_hidden_lane(placed.and_then(|placed| placed.lane.as_deref()));
        let id = about.id.or(placed.map(|placed| &*placed.id));
        let (Some(item), Some(id)) = (item_of(about.kind), id) else { return Ok(lane) };
        let carried = about.parent.is_some_and(|parent| self.hidden.has_item(Item::Text, parent));
        let run = self.calls.run();
        if lane || carried {
            self.hidden.add_item(item, id, run)?;
            return Ok(true);
        }
        if opens(about.kind) || placed.is_some_and(|placed| placed.opens) {
            self.hidden.forget_item(item, id, run);
        }
        Ok(self.hidden.has_item(item, id))
    }

    /// Leaves out an event of a hidden subagent's. What it says of the shared state stays, without its name.
    fn hide(
        &mut self,
        event: Event,
        about: About<'_>,
        placed: Option<&Placed>,
        at: Instant,
        out: &mut Out<'_>,
    ) -> Result<(), Stop> {
        out.dropped(STAGE, "subagent", event.kind());
        if matches!(about.kind, EventKind::StateSnapshot | EventKind::StateDelta) {
            // What is everyone's may still name a call that is nobody's.
            let event = event.without(|member| member.is(Name::Tag.as_str())).unwrap_or(event);
            let seen = Seen::of(&event)?;
            return self.refer(event.clone(), &seen, at, out);
        }
        let id = about.id.or(placed.map(|placed| &*placed.id));
        match id.filter(|_| item_of(about.kind) == Some(Item::ToolCall)) {
            Some(id) if !matches!(self.calls.live(id).map(|call| &call.stand), Some(Stand::Dropped)) => {
                let name = event.string(Name::Tool.as_str()).unwrap_or_default();
                out.called(self.policy.label(&name), Decision::Dropped);
                self.calls.set(id, &name, Stand::Dropped)
            }
            _ => Ok(()),
        }
    }
}

impl Stage for Tools {
    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        if self.is_over {
            // What the run ends with is the gateway's.
            if event.is_own() {
                out.send(event, at);
            }
            return;
        }
        if let Err(stop) = self.judge(event, at, out) {
            self.is_over = true;
            out.refuse(stop.refused());
        }
    }

    fn end(&mut self, _how: End, at: Instant, out: &mut Out<'_>) {
        if self.is_over {
            return;
        }
        let streams = self.follow.close_all();
        let decided = streams
            .iter()
            .filter(|open| open.item == Item::ToolCall)
            .try_for_each(|open| self.decide(&open.id, open.lane(), false, at, out));
        if let Err(stop) = decided.and_then(|()| self.decide_all(false, at, out)) {
            self.is_over = true;
            out.refuse(stop.refused());
        }
    }

    fn held(&self) -> usize {
        let lanes = self.follow.held() + self.shown.held();
        self.calls.held() + self.hidden.held() + self.begun.held() + self.waiting.held() + lanes
    }
}

/// Whose an event is, as it says itself.
struct Names<'a> {
    id: Option<Cow<'a, str>>,
    tag: Option<Cow<'a, str>>,
    parent: Option<Cow<'a, str>>,
}

impl Names<'_> {
    fn about(&self, kind: EventKind) -> About<'_> {
        let Self { id, tag, parent } = self;
        About { kind, id: id.as_deref(), tag: tag.as_deref(), parent: parent.as_deref() }
    }
}

/// Whether an event is no more than the sign of some agents that their stream is over.
fn is_nothing(event: &Event) -> bool {
    let text = event.text().trim_ascii();
    event.kind() == EventKind::Other && event.frame(Encoding::Protobuf).is_none() && matches!(text, b"" | b"[DONE]")
}

/// Whether an event of this kind is a piece of text or reasoning, as most are.
const fn is_plain(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::TextMessageContent
            | EventKind::TextMessageEnd
            | EventKind::ReasoningMessageContent
            | EventKind::ReasoningMessageEnd
            | EventKind::ThinkingTextMessageContent
    )
}
