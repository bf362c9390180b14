//! The stage as a whole, by what goes in and what comes out.
#![allow(clippy::unwrap_used)]

mod input;
mod leaks;
mod live;
mod refer;
mod snapshots;
mod subagents;

use std::{sync::Arc, time::Instant};

use bytes::Bytes;

use super::*;
use crate::{
    agui::Encoding,
    pipeline::{Called, Peers, Pipeline, Recipe, Sink},
};

/// A policy as its tests write it.
#[derive(Clone, Debug, Default)]
struct Written {
    allow: Option<Vec<String>>,
    deny: Vec<String>,
    on_denied: OnDenied,
    raw: Raw,
    arguments: Vec<ArgumentRule>,
    results: Vec<ResultRule>,
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}

fn deny(list: &[&str]) -> Written {
    Written { deny: names(list), ..Written::default() }
}

fn allow(list: &[&str]) -> Written {
    Written { allow: Some(names(list)), ..Written::default() }
}

impl Written {
    fn on_denied(self, on_denied: OnDenied) -> Self {
        Self { on_denied, ..self }
    }

    fn argument(mut self, tool: &str, path: &str, matches: &str) -> Self {
        self.arguments.push(ArgumentRule { tool: tool.into(), path: path.into(), matches: matches.into() });
        self
    }

    fn result(mut self, tool: &str, matches: &str) -> Self {
        self.results.push(ResultRule { tool: tool.into(), matches: matches.into() });
        self
    }

    fn policy(&self) -> Policy {
        let Self { allow, deny, on_denied, raw, arguments, results } = self;
        Policy::new(allow.as_deref(), deny, *on_denied, *raw, arguments, results).unwrap()
    }

    fn pipeline(&self, known: &Known) -> Pipeline {
        let recipe = Recipe { tools: Some(Arc::new(self.policy())), ..Recipe::default() };
        recipe.build_knowing(&Peers::default(), known)
    }

    /// All that comes of these events.
    fn sink<T: AsRef<str>>(&self, list: &[T]) -> Sink {
        self.sink_knowing(list, &Known::default())
    }

    fn sink_knowing<T: AsRef<str>>(&self, list: &[T], known: &Known) -> Sink {
        let (mut pipeline, mut sink, at) = (self.pipeline(known), Sink::default(), Instant::now());
        for text in list {
            pipeline.event(event(text.as_ref()), at, &mut sink);
        }
        pipeline.end(End::Closed, at, &mut sink);
        sink
    }

    /// The texts of the events that come out.
    fn through<T: AsRef<str>>(&self, list: &[T]) -> Vec<String> {
        let sink = self.sink(list);
        assert_eq!(sink.refused, None);
        texts(&sink)
    }

    /// These events all come out, as they came.
    fn passes<T: AsRef<str>>(&self, list: &[T]) {
        let sink = self.sink(list);
        assert_eq!(texts(&sink), list.iter().map(|text| text.as_ref().to_owned()).collect::<Vec<_>>());
        assert!(sink.events.iter().all(|event| event.frame(Encoding::Sse).is_some()), "as they came");
        assert!(sink.dropped.is_empty() && sink.refused.is_none());
    }

    /// The events at these places come out, as they came, and no others.
    fn keeps<T: AsRef<str>>(&self, list: &[T], kept: &[usize]) -> Sink {
        let sink = self.sink(list);
        let kept: Vec<_> = kept.iter().map(|n| list[*n].as_ref()).collect();
        assert_eq!(texts(&sink), kept);
        assert_eq!(sink.refused, None);
        assert_eq!(sink.dropped.len(), list.len() - kept.len(), "each that is left out is named");
        sink
    }

    /// The run ends with this rule, after so many events.
    fn refuses<T: AsRef<str>>(&self, list: &[T], rule: &str, after: usize) -> Sink {
        let sink = self.sink(list);
        assert_eq!(sink.refused.as_ref().map(|refused| refused.rule), Some(rule), "{:?}", texts(&sink));
        assert_eq!(sink.events.len(), after, "{:?}", texts(&sink));
        sink
    }
}

fn event(text: &str) -> Event {
    let frame = format!("data: {text}\n\n");
    Event::new(Bytes::copy_from_slice(text.as_bytes()), Some((Encoding::Sse, frame.into())))
}

fn texts(sink: &Sink) -> Vec<String> {
    sink.events.iter().map(|event| String::from_utf8(event.text().to_vec()).unwrap()).collect()
}

fn decisions(sink: &Sink) -> Vec<(Option<usize>, Decision)> {
    sink.called.iter().map(|Called { tool, decision }| (*tool, *decision)).collect()
}

fn reasons(sink: &Sink) -> Vec<&'static str> {
    sink.dropped.iter().map(|dropped| dropped.reason).collect()
}

const STARTED: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#;
const FINISHED: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#;

fn start(id: &str, name: &str) -> String {
    format!(r#"{{"type":"TOOL_CALL_START","toolCallId":"{id}","toolCallName":"{name}"}}"#)
}

fn args(id: &str, delta: &str) -> String {
    format!(r#"{{"type":"TOOL_CALL_ARGS","toolCallId":"{id}","delta":{}}}"#, serde_json::json!(delta))
}

fn finish(id: &str) -> String {
    format!(r#"{{"type":"TOOL_CALL_END","toolCallId":"{id}"}}"#)
}

fn result(id: &str, content: &str) -> String {
    let content = serde_json::json!(content);
    format!(r#"{{"type":"TOOL_CALL_RESULT","messageId":"r-{id}","toolCallId":"{id}","content":{content}}}"#)
}

/// A call from its start to its result.
fn call(id: &str, name: &str, arguments: &str, content: &str) -> Vec<String> {
    vec![start(id, name), args(id, arguments), finish(id), result(id, content)]
}

fn text(delta: &str) -> String {
    format!(r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"{delta}"}}"#)
}
