//! The text of a snapshot or a delta of the state or of an activity comes in, what it says goes out, borrowed. It asks
//! nothing about the value that is changed.

use std::{borrow::Cow, ops::Range};

use serde::de::IgnoredAny;

use super::piece::word;
use crate::agui::{EventKind, json::Members};

/// A snapshot or a delta.
#[derive(Debug)]
pub(super) struct Change<'a> {
    /// The snapshot, or the patch.
    pub(super) value: &'a [u8],
    /// Where in the text that ends, without what closes it.
    pub(super) end: usize,
    /// The activity, if it is one's.
    pub(super) id: Option<Cow<'a, str>>,
    /// Whether it is a snapshot of which nothing before it matters. Others leave what is there alone.
    pub(super) replaces: bool,
    /// Whether it carries what it was made from.
    pub(super) raw_event: bool,
    /// Whether it says anything that would be lost if it were replaced or merged.
    pub(super) says_more: bool,
    /// Where the members stand that have to be the same in what is merged.
    pub(super) same: Vec<Range<usize>>,
}

/// The member that holds the value, and with what that has to begin.
const fn value_of(kind: EventKind) -> (&'static str, &'static [u8]) {
    match kind {
        EventKind::StateSnapshot => ("snapshot", b""),
        EventKind::StateDelta => ("delta", b"["),
        EventKind::ActivitySnapshot => ("content", b"{"),
        _ => ("patch", b"["),
    }
}

impl<'a> Change<'a> {
    /// The change in this text; `None` if it is no valid JSON, lacks what it needs, has a member twice or one of another
    /// kind than the protocol's.
    pub(super) fn read(kind: EventKind, text: &'a [u8]) -> Option<Self> {
        serde_json::from_str::<IgnoredAny>(std::str::from_utf8(text).ok()?).ok()?;
        let activity = matches!(kind, EventKind::ActivitySnapshot | EventKind::ActivityDelta);
        let (value_name, bracket) = value_of(kind);
        let mut change = Self {
            value: &[],
            end: 0,
            id: None,
            replaces: matches!(kind, EventKind::StateSnapshot | EventKind::ActivitySnapshot),
            raw_event: false,
            says_more: false,
            same: Vec::new(),
        };
        let (mut typed, mut timed, mut tagged, mut classed, mut told) = (false, false, false, false, false);
        for member in Members::of(text) {
            let name = member.name()?;
            let again = match &*name {
                "type" => std::mem::replace(&mut typed, true),
                "timestamp" if member.value.starts_with(b"-") || member.value.first()?.is_ascii_digit() => {
                    std::mem::replace(&mut timed, true)
                }
                "timestamp" => return None,
                "rawEvent" => std::mem::replace(&mut change.raw_event, true),
                "subagentRunId" => {
                    word(member.value)?;
                    change.same.push(member.span.clone());
                    std::mem::replace(&mut tagged, true)
                }
                "activityType" if activity => {
                    word(member.value)?;
                    change.same.push(member.span.clone());
                    std::mem::replace(&mut classed, true)
                }
                "messageId" if activity => change.id.replace(word(member.value)?).is_some(),
                "replace" if kind == EventKind::ActivitySnapshot => {
                    change.replaces = match member.value {
                        b"true" => true,
                        b"false" => false,
                        _ => return None,
                    };
                    std::mem::replace(&mut told, true)
                }
                name if name == value_name => {
                    let again = change.end > 0;
                    (change.value, change.end) = (member.value, member.span.end - 1);
                    again || !member.value.starts_with(bracket)
                }
                _ => {
                    change.says_more = true;
                    false
                }
            };
            if again {
                return None;
            }
        }
        let named = !activity || (change.id.is_some() && classed);
        (change.end > 0 && named).then_some(change)
    }
}
