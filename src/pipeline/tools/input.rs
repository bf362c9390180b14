//! The input of a run comes in, the same without the tools that a policy denies, and without their calls and results in
//! its messages, goes out. Old calls that are denied for their arguments go too. A denied call never ends a run here: what
//! a client still remembers of it is left out, or masked. Everything else keeps its bytes; state, context, forwarded
//! props and answers to interrupts, which name no call, are not read.
//!
//! Both spellings of names count, as agents take both. An answer to a call that no message holds stays: it comes from the
//! client, and the agent may know the call.

use std::fmt;

pub use super::messages::Known;
use super::{
    Stop,
    messages::{self, Judge, fields, text},
    policy::{ByName, Policy},
};
use crate::agui::{
    Losses,
    edit::{self, Change},
};

/// A body that cannot be read: no JSON object, or one whose tools or messages are not what the protocol describes, or
/// are given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the input cannot be read by the tool policy")
    }
}

impl std::error::Error for Unreadable {}

/// An input that was filtered.
#[derive(Clone, Debug)]
pub struct Filtered {
    /// The body for the agent; `None` if the client's own is right.
    pub body: Option<Vec<u8>>,
    /// The calls that its messages hold, for the stream that answers it.
    pub known: Known,
    /// What was left out, each once: names from a closed set.
    pub losses: Vec<&'static str>,
}

/// The byte order mark that a body may begin with.
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Filters the body of a client's request, decoded.
pub fn filter(body: &[u8], policy: &Policy) -> Result<Filtered, Unreadable> {
    let (mark, input) = match body.strip_prefix(BOM) {
        Some(input) => (BOM, input),
        None => (&[][..], body),
    };
    let known = Known::default();
    let mut judge = Judge { policy, stream: None, is_strict: false, known, losses: Losses::default() };
    let edited = judged(input, &mut judge).map_err(|_| Unreadable)?;
    let body = edited.map(|text| [mark, &text].concat());
    Ok(Filtered { body, known: judge.known, losses: judge.losses.into_vec() })
}

/// Filters an input; `None` if nothing changes.
pub(super) fn judged(input: &[u8], judge: &mut Judge<'_>) -> Result<Option<Vec<u8>>, Stop> {
    let [tools, messages] = fields(input, [&["tools"], &["messages"]])?;
    let tools = match tools {
        Some(list) => offered(list, judge)?,
        None => None,
    };
    let messages = match messages {
        Some(list) => judge.messages(list)?,
        None => None,
    };
    if tools.is_none() && messages.is_none() {
        return Ok(None);
    }
    Ok(edit::members(input, |member| match (&tools, &messages) {
        (Some(tools), _) if member.is("tools") => Change::Value(tools.clone()),
        (_, Some(messages)) if member.is("messages") => Change::Value(messages.clone()),
        _ => Change::Keep,
    }))
}

/// The tools that a client offers, without those that are denied.
fn offered(list: &[u8], judge: &mut Judge<'_>) -> Result<Option<Vec<u8>>, Stop> {
    messages::list(list)?;
    let (policy, losses) = (judge.policy, &mut judge.losses);
    messages::edited(list, |tool| {
        let [name] = fields(tool, [&["name"]])?;
        if policy.by_name(&text(name)?) != ByName::Denied {
            return Ok(Change::Keep);
        }
        losses.name("tool");
        Ok(Change::Drop)
    })
}
