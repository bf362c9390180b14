//! The answers to interrupts and the forwarded props of an input come in, where the answers go comes out.
//!
//! Adapters for LangGraph hand `forwardedProps.command.resume` to the graph as it is: `Command(resume=…)`. That takes
//! the answer itself where one interrupt is open, and an object of answers by interrupt id where several are. An
//! abandoned interrupt has no form in it, and anything in its place would read as an answer: it gets lost.

use super::boundary::{INTERRUPT_ID, RESUME, is};
use super::{Between, Resume};
use crate::agui::Losses;
use crate::agui::edit::{self, Change};
use crate::agui::json::{Elements, Members, elements};

/// What becomes of the answers.
#[derive(Debug, PartialEq, Eq)]
pub enum Plan {
    /// They stay where they are, changed like this.
    Stay(Change),
    /// They go.
    Go,
    /// They go, and these are the forwarded props with them.
    Move(Vec<u8>),
}

impl Plan {
    /// The change of the member `resume`.
    pub fn change(&self) -> Change {
        match self {
            Self::Stay(change) => change.clone(),
            Self::Go | Self::Move(_) => Change::Drop,
        }
    }

    /// The forwarded props, if they change.
    pub fn props(&self) -> Option<&[u8]> {
        match self {
            Self::Move(props) => Some(props),
            Self::Stay(_) | Self::Go => None,
        }
    }
}

/// Decides where the answers go, and names those that get lost.
pub fn plan(resume: Option<&[u8]>, props: Option<&[u8]>, between: &Between, losses: &mut Losses) -> Plan {
    let old = between.agent < RESUME;
    let resume = match resume {
        None => return Plan::Stay(Change::Keep),
        Some(b"null") if old || between.retires() => return Plan::Go,
        Some(resume) => resume,
    };
    let answers = Answers::of(resume);
    let mut lost = answers.given > 0;
    if between.resume == Resume::ForwardedProps {
        match answers.value.map(|value| placed(props, &value)) {
            None if answers.given == 0 && answers.whole => return Plan::Go,
            Some(Placed::Here(props)) => {
                if answers.left_out {
                    losses.name("resume");
                }
                return Plan::Move(props);
            }
            // The client put them there itself.
            Some(Placed::Taken) => lost = false,
            None | Some(Placed::Nowhere) => {}
        }
    }
    if old {
        if lost {
            losses.name("resume");
        }
        return Plan::Go;
    }
    match between.retires() {
        true => Plan::Stay(without_nulls(resume).into()),
        false => Plan::Stay(Change::Keep),
    }
}

/// Entries without the members that hold nothing.
fn without_nulls(resume: &[u8]) -> Option<Vec<u8>> {
    edit::elements(resume, |entry| {
        edit::members(entry, |member| {
            super::drop_if(member.is_null() && (member.is("payload") || member.is("metadata")))
        })
        .into()
    })
}

/// The answers of a list of entries, as a graph takes them.
struct Answers {
    value: Option<Vec<u8>>,
    given: usize,
    left_out: bool,
    whole: bool,
}

impl Answers {
    fn of(resume: &[u8]) -> Self {
        let mut walk = Elements::of(resume);
        let given = walk.by_ref().count();
        let resolved: Vec<_> = elements(resume).filter_map(resolved).collect();
        let value = match resolved.as_slice() {
            [] => None,
            [(_, payload)] if given == 1 => Some(payload.to_vec()),
            several => {
                let by_id: Vec<_> =
                    several.iter().map(|(id, payload)| [*id, b":".as_slice(), *payload].concat()).collect();
                Some([b"{", by_id.join(&b","[..]).as_slice(), b"}"].concat())
            }
        };
        Self { value, given, left_out: resolved.len() < given, whole: walk.is_complete() }
    }
}

/// The interrupt's id and the answer, as they are spelled, if the entry is one.
fn resolved(entry: &[u8]) -> Option<(&[u8], &[u8])> {
    let (mut id, mut payload, mut resolved) = (None, None, false);
    for member in Members::of(entry) {
        match () {
            () if is(&member, INTERRUPT_ID) => id = member.string().is_some().then_some(member.value),
            () if member.is("status") => resolved = member.value == b"\"resolved\"",
            () if member.is("payload") => payload = (!member.is_null()).then_some(member.value),
            () => {}
        }
    }
    id.zip(payload).filter(|_| resolved)
}

enum Placed {
    /// In these forwarded props.
    Here(Vec<u8>),
    /// There is an answer already.
    Taken,
    /// The forwarded props have no place for it.
    Nowhere,
}

/// Puts the answer into `command.resume` of the forwarded props.
fn placed(props: Option<&[u8]>, answer: &[u8]) -> Placed {
    let fresh = [b"{\"resume\":", answer, b"}"].concat();
    let props = match props {
        None | Some(b"null") => return Placed::Here([b"{\"command\":", fresh.as_slice(), b"}"].concat()),
        Some(props) => props,
    };
    let command = match value_of(props, "command") {
        None | Some(b"null") => Some(fresh),
        Some(command) => match value_of(command, "resume") {
            None | Some(b"null") => edit::with(command, "resume", answer),
            Some(_) => return Placed::Taken,
        },
    };
    match command.and_then(|command| edit::with(props, "command", &command)) {
        Some(props) => Placed::Here(props),
        None => Placed::Nowhere,
    }
}

fn value_of<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    Members::of(object).filter(|member| member.is(name)).last().map(|member| member.value)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::agui::Version;

    const ONE: &str = r#"[{"interruptId":"i1","status":"resolved","payload":{"ok":true}}]"#;

    fn plan_of(resume: &str, props: Option<&str>, agent: &str, to: Resume) -> (Plan, Vec<&'static str>) {
        let agent = Version::released(agent).unwrap();
        let between = Between { client: Version::V1_0, agent, resume: to };
        let mut losses = Losses::default();
        let plan = plan(Some(resume.as_bytes()), props.map(str::as_bytes), &between, &mut losses);
        (plan, losses.into_vec())
    }

    fn moved(resume: &str, props: Option<&str>) -> (String, Vec<&'static str>) {
        let (plan, losses) = plan_of(resume, props, "0.0.47", Resume::ForwardedProps);
        (String::from_utf8(plan.props().unwrap().to_vec()).unwrap(), losses)
    }

    #[test]
    fn an_agent_that_knows_answers_gets_them_as_they_are() {
        assert_eq!(plan_of(ONE, None, "0.0.54", Resume::Native), (Plan::Stay(Change::Keep), vec![]));
        assert_eq!(plan_of(ONE, None, "1.0", Resume::Native), (Plan::Stay(Change::Keep), vec![]));
    }

    #[test]
    fn answers_that_an_agent_cannot_read_are_a_named_loss() {
        assert_eq!(plan_of(ONE, None, "0.0.53", Resume::Native), (Plan::Go, vec!["resume"]));
        for nothing in ["[]", "null"] {
            assert_eq!(plan_of(nothing, None, "0.0.53", Resume::Native), (Plan::Go, vec![]), "{nothing}");
        }
    }

    #[test]
    fn one_answer_moves_as_it_is() {
        for (props, with) in [
            (None, r#"{"command":{"resume":{"ok":true}}}"#),
            (Some("null"), r#"{"command":{"resume":{"ok":true}}}"#),
            (Some(r#"{"a":1.0}"#), r#"{"a":1.0,"command":{"resume":{"ok":true}}}"#),
            (Some(r#"{"command":{"update":{}},"a":1}"#), r#"{"command":{"update":{},"resume":{"ok":true}},"a":1}"#),
            (Some(r#"{"command":{"resume":null}}"#), r#"{"command":{"resume":{"ok":true}}}"#),
        ] {
            assert_eq!(moved(ONE, props), (with.to_owned(), vec![]));
        }
    }

    #[test]
    fn several_answers_move_by_the_ids_of_their_interrupts() {
        let two = r#"[{"interruptId":"a","status":"resolved","payload":1},{"interrupt_id":"b","status":"resolved","payload":"x"}]"#;
        assert_eq!(moved(two, None), (r#"{"command":{"resume":{"a":1,"b":"x"}}}"#.to_owned(), vec![]));
    }

    #[test]
    fn an_abandoned_interrupt_is_never_answered() {
        let abandoned = r#"[{"interruptId":"a","status":"cancelled"}]"#;
        for agent in ["0.0.47", "0.0.53"] {
            assert_eq!(plan_of(abandoned, None, agent, Resume::ForwardedProps), (Plan::Go, vec!["resume"]));
        }
        let known = plan_of(abandoned, None, "0.0.54", Resume::ForwardedProps);
        assert_eq!(known, (Plan::Stay(Change::Keep), vec![]), "an agent that knows it still gets it");
        let mixed = r#"[{"interruptId":"a","status":"cancelled"},{"interruptId":"b","status":"resolved","payload":1}]"#;
        assert_eq!(moved(mixed, None), (r#"{"command":{"resume":{"b":1}}}"#.to_owned(), vec!["resume"]));
    }

    #[test]
    fn an_answer_of_the_clients_own_stays() {
        let own = Some(r#"{"command":{"resume":false}}"#);
        assert_eq!(plan_of(ONE, own, "0.0.47", Resume::ForwardedProps), (Plan::Go, vec![]));
        assert_eq!(plan_of(ONE, own, "0.0.54", Resume::ForwardedProps), (Plan::Stay(Change::Keep), vec![]));
    }

    #[test]
    fn props_that_are_no_object_are_left_alone() {
        for props in ["\"x\"", "[]", r#"{"command":"go"}"#] {
            let (plan, losses) = plan_of(ONE, Some(props), "0.0.47", Resume::ForwardedProps);
            assert_eq!((plan, losses), (Plan::Go, vec!["resume"]), "{props}");
        }
    }
}
