//! Steps come in, the outermost go out: the client takes any second step for the first one opened again. It must not
//! touch a step that is not inside another.

use std::time::Instant;

use crate::{
    agui::{Event, EventKind, Kinds},
    pipeline::{Loss, Out, Stage, Way},
};

/// Never lets two steps be open at once.
#[derive(Debug, Default)]
pub struct Steps {
    /// The step that the client sees.
    open: Option<String>,
    /// How many steps inside it, or that outlived it, are open unseen.
    hidden: usize,
}

impl Stage for Steps {
    fn kinds(&self) -> Kinds {
        Kinds::of(&[EventKind::StepStarted, EventKind::StepFinished, EventKind::RunStarted])
    }

    fn event(&mut self, event: Event, at: Instant, out: &mut Out<'_>) {
        let name = event.string("stepName");
        match event.kind() {
            EventKind::StepStarted if self.open.is_some() => {
                self.hidden += 1;
                return out.converted(Way::Down, event.kind(), Loss::Whole("nested_step"));
            }
            EventKind::StepStarted => self.open = name.map(|name| name.into_owned()),
            EventKind::StepFinished if self.open.is_some() && self.open.as_deref() == name.as_deref() => {
                self.open = None;
            }
            EventKind::StepFinished if self.hidden > 0 => {
                self.hidden -= 1;
                return out.converted(Way::Down, event.kind(), Loss::Whole("nested_step"));
            }
            EventKind::RunStarted => *self = Self::default(),
            _ => {}
        }
        out.send(event, at);
    }

    fn held(&self) -> usize {
        self.open.as_ref().map_or(0, String::len)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{run, texts};
    use super::*;

    fn steps(list: &[&str]) -> Vec<String> {
        let list: Vec<String> = list
            .iter()
            .map(|step| match step.split_at(1) {
                ("+", name) => format!(r#"{{"type":"STEP_STARTED","stepName":"{name}"}}"#),
                (_, name) => format!(r#"{{"type":"STEP_FINISHED","stepName":"{name}"}}"#),
            })
            .collect();
        let list: Vec<&str> = list.iter().map(String::as_str).collect();
        let sink = run(vec![Box::new(Steps::default())], &list);
        assert_eq!(sink.events.len() + sink.converted.len(), list.len(), "what is left out is named");
        texts(&sink)
            .iter()
            .map(|text| text.replace(r#"{"type":"STEP_STARTED","stepName":""#, "+"))
            .map(|text| text.replace(r#"{"type":"STEP_FINISHED","stepName":""#, "-").replace(r#""}"#, ""))
            .collect()
    }

    #[test]
    fn the_inner_step_is_left_out() {
        assert_eq!(steps(&["+a", "+b", "-b", "-a", "+c", "-c"]), ["+a", "-a", "+c", "-c"]);
    }

    #[test]
    fn a_step_that_outlives_the_one_around_it_is_left_out() {
        assert_eq!(steps(&["+a", "+b", "-a", "+c", "-b", "-c"]), ["+a", "-a", "+c", "-c"]);
    }

    #[test]
    fn a_finish_that_nothing_started_is_left_to_the_client() {
        assert_eq!(steps(&["-a", "+b", "-c", "-b"]), ["-a", "+b", "-c", "-b"]);
    }
}
