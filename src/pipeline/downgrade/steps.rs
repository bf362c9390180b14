//! Steps of an agent and of its subagents come in, steps that never have the same name while they are open go out:
//! clients before 0.0.59 tell steps apart by name alone. A second one of a name is called `NAME [SUBAGENT_RUN_ID]`; it is
//! left out if it is the agent's own. Whose a step is has to be still on it here.

use std::time::Instant;

use crate::{
    agui::{Event, EventKind, Kinds, edit},
    pipeline::{Loss, Out, Stage, Way},
};

/// Keeps the names of open steps apart.
#[derive(Debug, Default)]
pub struct Steps {
    open: Vec<Step>,
    /// Bytes of the names in `open`.
    held: usize,
}

/// How many open steps are told apart at most, and how many bytes of names. Steps past that keep their names.
const OPEN_MAX: usize = 256;
const HELD_MAX: usize = 64 * 1024;

#[derive(Debug)]
struct Step {
    owner: Option<Box<str>>,
    name: Box<str>,
    shown: Shown,
}

/// How an open step goes on to the client.
#[derive(Debug, PartialEq, Eq)]
enum Shown {
    AsItIs,
    As(Box<str>),
    Not,
}

impl Step {
    fn shows(&self, name: &str) -> bool {
        match &self.shown {
            Shown::AsItIs => *self.name == *name,
            Shown::As(shown) => **shown == *name,
            Shown::Not => false,
        }
    }

    fn size(&self) -> usize {
        let shown = if let Shown::As(shown) = &self.shown { shown.len() } else { 0 };
        self.owner.as_ref().map_or(0, |owner| owner.len()) + self.name.len() + shown
    }
}

impl Steps {
    fn started(&mut self, name: &str, owner: Option<&str>) -> Option<&Step> {
        let is_open = |name: &str| self.open.iter().any(|step| step.shows(name));
        // The same step twice is a fault of the stream, and not to be hidden.
        let twice = self.open.iter().any(|step| *step.name == *name && step.owner.as_deref() == owner);
        let shown = match owner {
            _ if twice || !is_open(name) => Shown::AsItIs,
            Some(owner) => Shown::As(format!("{name} [{owner}]").into()),
            None => Shown::Not,
        };
        let step = Step { owner: owner.map(Box::from), name: name.into(), shown };
        if self.open.len() >= OPEN_MAX || self.held + step.size() > HELD_MAX {
            return None;
        }
        self.held += step.size();
        self.open.push(step);
        self.open.last()
    }

    fn finished(&mut self, name: &str, owner: Option<&str>) -> Option<Step> {
        let at = self.open.iter().rposition(|step| *step.name == *name && step.owner.as_deref() == owner)?;
        let step = self.open.remove(at);
        self.held -= step.size();
        Some(step)
    }
}

impl Stage for Steps {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[
            EventKind::StepStarted,
            EventKind::StepFinished,
            EventKind::RunStarted,
            EventKind::RunFinished,
            EventKind::RunError,
        ])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let starts = match event.kind() {
            EventKind::StepStarted => true,
            EventKind::StepFinished => false,
            _ => {
                *self = Self::default();
                return out.send(event, at);
            }
        };
        let Some(name) = event.string("stepName") else { return out.send(event, at) };
        let owner = event.string("subagentRunId");
        let finished;
        let step = if starts {
            self.started(&name, owner.as_deref())
        } else {
            finished = self.finished(&name, owner.as_deref());
            finished.as_ref()
        };
        match step.map(|step| &step.shown) {
            None | Some(Shown::AsItIs) => out.send(event, at),
            Some(Shown::Not) => out.converted(Way::Down, event.kind(), Loss::Whole("step_name")),
            Some(Shown::As(shown)) => {
                out.converted(Way::Down, event.kind(), Loss::Part("step_name"));
                out.send(event.with("stepName", &edit::quoted(shown)), at);
            }
        }
    }

    fn held(&self) -> usize {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::{super::trial::Trial, *};

    const OWN: &str = r#"{"type":"STEP_STARTED","stepName":"a"}"#;
    const OWN_END: &str = r#"{"type":"STEP_FINISHED","stepName":"a"}"#;
    const SUB: &str = r#"{"type":"STEP_STARTED","stepName":"a","subagentRunId":"s"}"#;
    const SUB_END: &str = r#"{"type":"STEP_FINISHED","stepName":"a","subagentRunId":"s"}"#;

    #[test]
    fn a_subagents_step_is_renamed_while_another_of_that_name_is_open() {
        let trial = Trial::of(Steps::default(), &[OWN, SUB, OWN_END, SUB_END, SUB, SUB_END]);
        let renamed = |text: &str| text.replace(r#""a""#, r#""a [s]""#);
        assert_eq!(trial.texts, [OWN, &renamed(SUB), OWN_END, &renamed(SUB_END), SUB, SUB_END]);
        assert_eq!(trial.losses, [Loss::Part("step_name"); 2]);
    }

    #[test]
    fn the_agents_own_step_is_left_out_where_a_subagents_has_its_name() {
        let trial = Trial::of(Steps::default(), &[SUB, OWN, OWN_END, SUB_END, OWN, OWN_END]);
        assert_eq!(trial.texts, [SUB, SUB_END, OWN, OWN_END]);
        assert_eq!(trial.losses, [Loss::Whole("step_name"); 2]);
    }

    #[test]
    fn names_that_are_not_open_together_stay() {
        let other = r#"{"type":"STEP_STARTED","stepName":"b","subagentRunId":"s"}"#;
        let run = r#"{"type":"RUN_STARTED"}"#;
        for events in [&[OWN, other, OWN_END, SUB, SUB_END][..], &[OWN, OWN], &[SUB, run, OWN], &[SUB_END, OWN_END]] {
            Trial::of(Steps::default(), events).assert_untouched(events);
        }
    }

    #[test]
    fn what_is_held_is_bounded() {
        let mut steps = Steps::default();
        let name = "n".repeat(1000);
        for n in 0..1000 {
            steps.started(&format!("{name}{n}"), Some("s"));
        }
        assert!(steps.held() <= HELD_MAX && steps.open.len() <= OPEN_MAX);
    }
}
