//! The ends of runs come in, the same with an outcome as current clients read it go out. An interrupt that asks nothing
//! is no outcome; older clients read it as a plain end. A legacy `CUSTOM` interrupt stays what it is: only the agent
//! knows whether it can be resumed.

use std::time::Instant;

use super::send;
use crate::{
    agui::{
        Event, EventKind, Kinds, Word,
        edit::Change,
        json::{self, Elements, Member, Members},
    },
    pipeline::{Loss, Out, Stage},
};

static OUTCOME: Word = Word::new("outcome");

/// Turns an outcome that is a word into one that is an object, and takes out empty interrupts.
#[derive(Debug)]
pub(super) struct Outcome;

impl Stage for Outcome {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[EventKind::RunFinished])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        if !OUTCOME.is_in(event.text()) {
            return out.send(event, at);
        }
        let mut loss = Loss::None;
        let changed = event.edited(|member| {
            let change = if member.is("outcome") { current(member) } else { Change::Keep };
            if change == Change::Drop {
                loss = Loss::Part("outcome");
            }
            change
        });
        send(event, changed, loss, at, out);
    }
}

fn current(outcome: &Member<'_>) -> Change {
    if let Some(word) = outcome.string() {
        if word == "interrupt" {
            return Change::Drop;
        }
        return Change::Value([b"{\"type\":", outcome.value, b"}"].concat());
    }
    let member = |name| Members::of(outcome.value).find(|member| member.is(name)).map(|member| member.value);
    let interrupts = member("type").and_then(json::string).as_deref() == Some("interrupt");
    let asks = |list: &[u8]| {
        let mut elements = Elements::of(list);
        elements.next().is_some() || !elements.is_complete()
    };
    if interrupts && !member("interrupts").is_some_and(asks) { Change::Drop } else { Change::Keep }
}
