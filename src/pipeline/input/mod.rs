//! The run input of a client comes in, one whole JSON body; the same for the agent's version goes out, or nothing if
//! the client's bytes are right for it.
//!
//! Nothing is made up, and what is malformed stays so: the agent is the judge of it. Every member that no step changes
//! keeps its bytes and its place. Ids, file handles and encrypted values are never read. The work is linear in the
//! body, whatever its depth; the memory is a few copies of it, for a moment.
//!
//! What an older agent does not know goes by the agent's version alone: that the shape is there shows that the client
//! knows it. What is added, or turned into a newer shape, goes by both.

mod boundary;
mod content;
mod message;
mod resume;
#[cfg(test)]
mod tests;
mod tools;

use boundary::{FORWARDED_PROPS, Names, PARENT_RUN_ID, PARTS, PROTOCOL_VERSION, is};

use crate::agui::edit::{self, Change};
use crate::agui::json::{Member, Members};
use crate::agui::{Losses, Version};

/// Where an agent looks for the answers to its interrupts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resume {
    /// In `resume`, as the protocol has it.
    #[default]
    Native,
    /// In `forwardedProps.command.resume`, as adapters for LangGraph had it before.
    ForwardedProps,
}

/// Between whom an input goes.
#[derive(Clone, Copy, Debug)]
pub struct Between {
    /// What the client speaks, unless its input says otherwise.
    pub client: Version,
    /// What the agent speaks.
    pub agent: Version,
    /// Where the agent looks for answers.
    pub resume: Resume,
}

impl Between {
    /// Whether the agent is current and the client is not: what was retired in between has to be said anew.
    fn retires(&self) -> bool {
        self.client.is_old() && !self.agent.is_old()
    }

    /// Whether the client may leave out what the agent needs: this is between them.
    fn crosses_down(&self, boundary: Version) -> bool {
        self.agent < boundary && self.client >= boundary
    }
}

/// What became of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converted {
    /// The body for the agent; `None` if the client's own is right.
    pub text: Option<Vec<u8>>,
    /// What got lost, each shape once: names from a closed set.
    pub losses: Vec<&'static str>,
    /// What the client speaks: what the input declares, else what was configured.
    pub client: Version,
}

/// Whether an input has to be read at all. The client's version counts as configured: an input may declare a newer one.
pub fn needed(between: &Between) -> bool {
    between.client.is_old() || between.agent.is_old() || between.resume == Resume::ForwardedProps
}

/// Converts an input. A body that is no whole JSON object needs nothing.
pub fn convert(input: &[u8], between: &Between) -> Converted {
    let (mark, body) = match input.strip_prefix(BOM) {
        Some(body) => (BOM, body),
        None => (&[][..], input),
    };
    let mut losses = Losses::default();
    let facts = Facts::of(body);
    let declared = facts.as_ref().and_then(|facts| facts.declared);
    let between = Between { client: declared.unwrap_or(between.client), ..*between };
    let text = facts.and_then(|facts| converted(body, &facts, &between, &mut losses));
    Converted { text: text.map(|text| [mark, &text].concat()), losses: losses.into_vec(), client: between.client }
}

/// The byte order mark that a body may begin with.
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// What the steps have to know of an input before they change it. Of a member given twice the last one counts.
#[derive(Default)]
struct Facts<'a> {
    declared: Option<Version>,
    resume: Option<&'a [u8]>,
    props: Option<&'a [u8]>,
    state: bool,
    tools: bool,
    context: bool,
}

impl<'a> Facts<'a> {
    /// The facts of a body, if it is one whole object.
    fn of(body: &'a [u8]) -> Option<Self> {
        let mut members = Members::of(body);
        let mut facts = Self::default();
        for member in members.by_ref() {
            match () {
                () if is(&member, PROTOCOL_VERSION) => {
                    facts.declared = member.string().map(|text| Version::declared(&text));
                }
                () if is(&member, FORWARDED_PROPS) => facts.props = Some(member.value),
                () if member.is("resume") => facts.resume = Some(member.value),
                () if member.is("state") => facts.state = true,
                () if member.is("tools") => facts.tools = true,
                () if member.is("context") => facts.context = true,
                () => {}
            }
        }
        members.is_complete().then_some(facts)
    }
}

/// The body with the changes of all steps; `None` if there is none.
fn converted(body: &[u8], facts: &Facts<'_>, between: &Between, losses: &mut Losses) -> Option<Vec<u8>> {
    let answers = resume::plan(facts.resume, facts.props, between, losses);
    let mut props_written = false;
    let edited = edit::members(body, |member| match () {
        () if is(member, PROTOCOL_VERSION) => drop_if(between.agent.is_old()),
        () if is(member, PARENT_RUN_ID) => {
            let unknown = between.agent < PARTS;
            if unknown {
                losses.member(member, "parent_run_id");
            }
            drop_if(unknown || (between.retires() && member.is_null()))
        }
        () if is(member, FORWARDED_PROPS) => match answers.props() {
            // Once, or a name given often would multiply the value.
            Some(_) if std::mem::replace(&mut props_written, true) => Change::Drop,
            Some(props) => Change::Value(props.to_vec()),
            None => drop_if(between.retires() && member.is_null()),
        },
        () if member.is("resume") => answers.change(),
        () if member.is("tools") => tools::tools(member.value, between, losses).into(),
        () if member.is("messages") => message::messages(member.value, between, losses).into(),
        () => Change::Keep,
    });
    // What an older client always sends and its agents need, empty.
    let empty = |sent: bool, value: &'static [u8]| (!sent && between.crosses_down(Version::V1_0)).then_some(value);
    let props = match facts.props {
        Some(_) => None,
        None => answers.props().or(empty(false, b"{}")),
    };
    let missing = [
        ("state", empty(facts.state, b"{}")),
        ("tools", empty(facts.tools, b"[]")),
        ("context", empty(facts.context, b"[]")),
        (FORWARDED_PROPS[0], props),
    ];
    // In one go, for each takes a copy of the body.
    let mut missing = missing.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let Some((first, value)) = missing.next() else {
        return edited;
    };
    let mut values = value.to_vec();
    for (name, value) in missing {
        values.extend_from_slice(&[b",", edit::quoted(name).as_slice(), b":", value].concat());
    }
    edit::appended(edited.as_deref().unwrap_or(body), first, &values)
}

fn drop_if(goes: bool) -> Change {
    if goes { Change::Drop } else { Change::Keep }
}

/// Whether a member of these names holds nothing, which was allowed for it before the protocol had a number.
fn is_retired_null(member: &Member<'_>, names: &[Names], between: &Between) -> bool {
    between.retires() && member.is_null() && names.iter().any(|names| is(member, *names))
}
