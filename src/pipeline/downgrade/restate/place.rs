//! The messages of a snapshot and those that are held come in, the snapshot with the held ones in it goes out, each after
//! the message that it followed in the stream, or before the one that followed it. Where the snapshot has neither, it
//! stands where this turn began, after the last message of the user's: clients that keep it put what is new after it.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use super::{kept::Kept, roles};
use crate::agui::{
    edit::{self, Change},
    json::{self, Elements, Members, string},
};

/// The messages, a JSON array, with what is held and missing in them; `None` if nothing is, or if they are no array.
pub fn stated(messages: &[u8], kept: &Kept) -> Option<Vec<u8>> {
    let mut elements = Elements::of(messages);
    let ids: Vec<_> = elements.by_ref().map(|place| id_of(&messages[place])).collect();
    if !elements.is_complete() {
        return None;
    }
    let carried: Vec<_> = roles(messages).collect();
    let places: HashMap<&str, usize> =
        ids.iter().enumerate().filter_map(|(at, id)| Some((id.as_deref()?, at))).collect();
    let missing: HashSet<&str> = kept
        .items()
        .iter()
        .filter(|item| item.role().is_some_and(|role| !carried.contains(&role)) && !places.contains_key(&*item.id))
        .map(|item| &*item.id)
        .collect();
    if missing.is_empty() {
        return None;
    }
    let mut around: Vec<Around> = Vec::new();
    around.resize_with(ids.len(), Around::default);
    let (mut after, mut waiting) = (None, Vec::new());
    for item in kept.items() {
        if let Some(at) = places.get(&*item.id) {
            if let Some(around) = around.get_mut(*at) {
                around.before.append(&mut waiting);
            }
            after = Some(*at);
        } else if missing.contains(&*item.id) {
            let list = after.and_then(|at| around.get_mut(at)).map_or(&mut waiting, |around| &mut around.after);
            list.push(item.stated());
        }
    }
    let users = json::elements(messages).map(|message| role_of(message).is_some_and(|role| role == "user"));
    if !waiting.is_empty()
        && let Some((at, _)) = users.enumerate().filter(|(_, is_user)| *is_user).last()
        && let Some(around) = around.get_mut(at)
    {
        around.after.splice(0..0, waiting.drain(..));
    }
    let mut around = around.into_iter();
    let edited = edit::elements(messages, |element| match around.next() {
        Some(Around { before, after }) if !before.is_empty() || !after.is_empty() => {
            let list: Vec<&[u8]> =
                before.iter().map(Vec::as_slice).chain([element]).chain(after.iter().map(Vec::as_slice)).collect();
            Change::Whole(list.join(&b','))
        }
        _ => Change::Keep,
    });
    if waiting.is_empty() {
        return edited;
    }
    edit::extended(edited.as_deref().unwrap_or(messages), &waiting.join(&b','))
}

/// What goes before and after a message.
#[derive(Debug, Default)]
struct Around {
    before: Vec<Vec<u8>>,
    after: Vec<Vec<u8>>,
}

fn role_of(message: &[u8]) -> Option<Cow<'_, str>> {
    string(Members::of(message).find(|m| m.is("role"))?.value)
}

fn id_of(message: &[u8]) -> Option<String> {
    string(Members::of(message).find(|m| m.is("id"))?.value).map(|id| id.into_owned())
}
