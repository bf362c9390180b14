//! The messages of a snapshot or of an input come in, the same without the calls that are denied, and without what answers
//! them, goes out. A call and its results stay or go together; a message that held nothing but denied calls goes too,
//! unless the client saw it begin as text.
//!
//! A result belongs to the call of its identifier that stands before it last, for identifiers come again in a history. If
//! no message holds its call, what is known of the stream counts; a result of a call that nobody knows is left out of
//! what goes to the client.

use std::{borrow::Cow, collections::HashMap};

use super::{
    Stop,
    begun::Begun,
    calls::{Calls, Stand},
    hidden::Hidden,
    mask,
    policy::{ByName, OnDenied, Policy},
    seen::Unread,
};
use crate::agui::{
    Losses,
    edit::{self, Change},
    json::{self, Elements, Members},
    lanes::Item,
};

/// What becomes of a denied call in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    Drop,
    Mask,
}

/// A call in a message: the tool's name, and what becomes of it if it is denied.
type Judged = (Box<str>, Option<Denied>);

/// The calls that messages hold, by identifier; of several with one identifier the last.
#[derive(Clone, Debug, Default)]
pub struct Known(HashMap<Box<str>, Judged>);

impl Known {
    /// Each with its tool's name, and what becomes of it if it is denied.
    pub(super) fn calls(&self) -> impl Iterator<Item = (&str, &str, Option<Denied>)> {
        self.0.iter().map(|(id, (name, denied))| (&**id, &**name, *denied))
    }
}

/// By what messages are judged.
#[derive(Debug)]
pub struct Judge<'a> {
    pub policy: &'a Policy,
    /// What is known of the stream; nothing about an input of a client's.
    pub stream: Option<(&'a Calls, &'a Hidden, &'a Begun)>,
    /// Whether a denied call ends the run, where the policy has it so.
    pub is_strict: bool,
    /// The calls that were seen.
    pub known: Known,
    /// What was left out, by name.
    pub losses: Losses,
}

/// The members of an object, by their names in both spellings; `null` is as good as none. An error if it is no object, or
/// if one of them is there more than once.
pub fn fields<'a, const N: usize>(text: &'a [u8], names: [&[&str]; N]) -> Result<[Option<&'a [u8]>; N], Unread> {
    let mut found = [None; N];
    let mut members = Members::of(text);
    for member in members.by_ref() {
        let name = member.name().ok_or(Unread("unreadable"))?;
        let Some(place) = names.iter().position(|names| names.contains(&&*name)) else { continue };
        if let Some(field) = found.get_mut(place)
            && field.replace(member.value).is_some()
        {
            return Err(Unread("given_twice"));
        }
    }
    if !members.is_complete() {
        return Err(Unread("unreadable"));
    }
    Ok(found.map(|value| value.filter(|value| *value != b"null")))
}

/// A text that has to be there.
pub fn text(value: Option<&[u8]>) -> Result<Cow<'_, str>, Unread> {
    json::string(value.ok_or(Unread("incomplete"))?).ok_or(Unread("unreadable"))
}

/// The elements of what has to be an array.
pub fn list(value: &[u8]) -> Result<Vec<&[u8]>, Unread> {
    let mut elements = Elements::of(value);
    let places: Vec<_> = elements.by_ref().collect();
    if !elements.is_complete() {
        return Err(Unread("unreadable"));
    }
    Ok(places.into_iter().filter_map(|place| value.get(place)).collect())
}

/// An edit of the elements of an array, each of which may fail.
pub fn edited<E>(value: &[u8], mut change: impl FnMut(&[u8]) -> Result<Change, E>) -> Result<Option<Vec<u8>>, E> {
    let mut failed = None;
    let edited = edit::elements(value, |element| match failed {
        None => change(element).unwrap_or_else(|error| {
            failed = Some(error);
            Change::Keep
        }),
        Some(_) => Change::Keep,
    });
    failed.map_or(Ok(edited), Err)
}

impl Judge<'_> {
    /// Judges a list of messages; `None` if nothing changes.
    pub fn messages(&mut self, value: &[u8]) -> Result<Option<Vec<u8>>, Stop> {
        list(value)?;
        edited(value, |message| self.message(message))
    }

    fn message(&mut self, message: &[u8]) -> Result<Change, Stop> {
        let [id, role, calls, answers, content, error, tag] = fields(
            message,
            [
                &["id"],
                &["role"],
                &["toolCalls", "tool_calls"],
                &["toolCallId", "tool_call_id"],
                &["content"],
                &["error"],
                &["subagentRunId", "subagent_run_id"],
            ],
        )?;
        if self.is_hidden(id, tag) {
            self.losses.name("subagent");
            return Ok(Change::Drop);
        }
        let mut change = Change::Keep;
        if let Some(calls) = calls {
            change = self.calls(message, id, calls, content)?;
        }
        let is_answer = role.and_then(json::string).is_some_and(|role| role == "tool");
        if !is_answer && answers.is_none() {
            return Ok(change);
        }
        // To be an answer and to call is not described.
        if change != Change::Keep {
            return Ok(Change::Drop);
        }
        self.answer(message, &text(answers)?, [content, error])
    }

    /// Whether a message is a hidden subagent's.
    fn is_hidden(&self, id: Option<&[u8]>, tag: Option<&[u8]>) -> bool {
        let Some((_, hidden, _)) = self.stream.filter(|(_, hidden, _)| !hidden.is_empty()) else { return false };
        let is_item = |id: Cow<'_, str>| [Item::Text, Item::Reasoning].iter().any(|item| hidden.has_item(*item, &id));
        tag.and_then(json::string).is_some_and(|tag| hidden.has(&tag)) || id.and_then(json::string).is_some_and(is_item)
    }

    /// Judges the calls of a message.
    fn calls(
        &mut self,
        message: &[u8],
        id: Option<&[u8]>,
        calls: &[u8],
        content: Option<&[u8]>,
    ) -> Result<Change, Stop> {
        // More of it may come.
        let is_begun = |id: Cow<'_, str>| self.stream.is_some_and(|(.., begun)| begun.has(&id));
        let stays = id.and_then(json::string).is_some_and(is_begun);
        let mut here: HashMap<Box<str>, Judged> = HashMap::new();
        let all = list(calls)?;
        let mut ids = Vec::with_capacity(all.len());
        for call in &all {
            let [id, function] = fields(call, [&["id"], &["function"]])?;
            let [name, arguments] = fields(function.ok_or(Unread("incomplete"))?, [&["name"], &["arguments"]])?;
            let (id, name) = (text(id)?, text(name)?);
            let denied = self.denied(&id, &name, arguments)?;
            // Of two with one identifier in one message nobody can tell whose an answer is.
            here.entry(Box::from(&*id))
                .and_modify(|(_, before)| {
                    *before = match (*before, denied) {
                        (Some(Denied::Drop), _) | (_, Some(Denied::Drop)) => Some(Denied::Drop),
                        (before, denied) => before.or(denied),
                    };
                })
                .or_insert_with(|| (Box::from(&*name), denied));
            ids.push(Box::<str>::from(&*id));
        }
        let mut verdicts = ids.iter().map(|id| here.get(id).and_then(|(_, denied)| *denied));
        let mut left = 0;
        let edited = edit::elements(calls, |call| match verdicts.next().flatten() {
            None => {
                left += 1;
                Change::Keep
            }
            Some(Denied::Drop) => Change::Drop,
            Some(Denied::Mask) => {
                left += 1;
                mask::call(call).into()
            }
        });
        self.known.0.extend(here);
        let Some(edited) = edited else { return Ok(Change::Keep) };
        self.losses.name("denied");
        if left == 0 && is_empty(content) && !stays {
            return Ok(Change::Drop);
        }
        let is_calls = |name: &str| matches!(name, "toolCalls" | "tool_calls");
        Ok(edit::members(message, |member| match member.name() {
            Some(name) if is_calls(&name) && left == 0 => Change::Drop,
            Some(name) if is_calls(&name) && !member.is_null() => Change::Value(edited.clone()),
            _ => Change::Keep,
        })
        .into())
    }

    /// What becomes of a call, if it is denied.
    fn denied(&self, id: &str, name: &str, arguments: Option<&[u8]>) -> Result<Option<Denied>, Stop> {
        if self.stream.is_some_and(|(_, hidden, _)| hidden.has_item(Item::ToolCall, id)) {
            return Ok(Some(Denied::Drop));
        }
        if let Some(call) = self.stream.and_then(|(calls, ..)| calls.live(id)) {
            match call.stand {
                Stand::Dropped => return Ok(Some(Denied::Drop)),
                Stand::Masked => return Ok(Some(Denied::Mask)),
                // It begins after this, if it is allowed.
                Stand::Held(_) => return Ok(Some(Denied::Drop)),
                Stand::Shown { .. } => {}
            }
        }
        let is_denied = match self.policy.by_name(name) {
            ByName::Denied => true,
            ByName::Allowed => false,
            ByName::Open => {
                let text = arguments.map(|value| match value.first() {
                    Some(b'"') => json::string(value),
                    _ => std::str::from_utf8(value).ok().map(Cow::Borrowed),
                });
                self.policy.denies_arguments(name, text.unwrap_or(Some(Cow::Borrowed(""))).as_deref())
            }
        };
        match self.policy.on_denied() {
            _ if !is_denied => Ok(None),
            OnDenied::Mask => Ok(Some(Denied::Mask)),
            OnDenied::Error if self.is_strict => Err(Stop::Denied),
            OnDenied::Drop | OnDenied::Error => Ok(Some(Denied::Drop)),
        }
    }

    /// Judges the answer to a call.
    fn answer(&mut self, message: &[u8], id: &str, says: [Option<&[u8]>; 2]) -> Result<Change, Stop> {
        let name = match self.whose(id) {
            Whose::Shown(name) => Some(name),
            Whose::Unknown if self.stream.is_none() => None,
            Whose::Denied(Denied::Mask) => {
                let masked = mask::result(message);
                if masked.is_some() {
                    self.losses.name("masked");
                }
                return Ok(masked.into());
            }
            Whose::Denied(Denied::Drop) => {
                self.losses.name("denied");
                return Ok(Change::Drop);
            }
            Whose::Unknown => {
                self.losses.name("unknown_call");
                return Ok(Change::Drop);
            }
        };
        if !says.into_iter().flatten().any(|text| self.policy.denies_result(name.as_deref(), text)) {
            return Ok(Change::Keep);
        }
        if self.is_strict && self.policy.on_denied() == OnDenied::Error {
            return Err(Stop::Denied);
        }
        self.losses.name("result");
        Ok(mask::result(message).into())
    }

    fn whose(&self, id: &str) -> Whose {
        if let Some((name, denied)) = self.known.0.get(id) {
            return denied.map_or_else(|| Whose::Shown(name.clone()), Whose::Denied);
        }
        let Some(call) = self.stream.and_then(|(calls, ..)| calls.get(id)) else { return Whose::Unknown };
        match call.stand {
            Stand::Dropped | Stand::Held(_) => Whose::Denied(Denied::Drop),
            Stand::Masked => Whose::Denied(Denied::Mask),
            Stand::Shown { .. } => Whose::Shown(call.name.clone()),
        }
    }
}

/// Whose answer a message is.
enum Whose {
    Shown(Box<str>),
    Denied(Denied),
    Unknown,
}

/// Whether a message's content says nothing.
fn is_empty(content: Option<&[u8]>) -> bool {
    content.is_none_or(|content| {
        let mut parts = Elements::of(content);
        content == b"\"\"" || (parts.next().is_none() && parts.is_complete())
    })
}
