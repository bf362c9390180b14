//! Events as a person wants to see them: JSON and times come in, lines go out. On a terminal a line grows
//! with its deltas; elsewhere the same line is written once it is complete.

use std::{
    collections::HashMap,
    io::{self, IsTerminal, Write},
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::client::Arrived;

/// How lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Lines grow while their deltas arrive.
    pub grows: bool,
    /// Colours are used.
    pub colour: bool,
}

impl Look {
    /// The look for this stream: plain unless it is a terminal; no colour where `NO_COLOR` is set.
    pub fn of(stream: &impl IsTerminal) -> Self {
        let grows = stream.is_terminal();
        let asked_not_to = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { grows, colour: grows && !asked_not_to }
    }

    /// `text` in this style.
    pub fn paint(self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Plain => return text.to_owned(),
            Style::Faint => "2",
            Style::Bold => "1",
            Style::Good => "32",
            Style::Bad => "31",
            Style::Tool => "36",
        };
        if self.colour && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// What a piece of text is, which decides its colour.
#[derive(Clone, Copy, Debug)]
pub enum Style {
    /// The run's own content.
    Plain,
    /// Times and remarks.
    Faint,
    /// Headings.
    Bold,
    /// As it should be.
    Good,
    /// Errors.
    Bad,
    /// Tool calls.
    Tool,
}

/// The events of one run, line by line.
pub struct View<'a, W> {
    out: &'a mut W,
    look: Look,
    open: Option<Line>,
    /// Tool calls of the run by id: `name(arguments)` as far as it came.
    calls: HashMap<String, String>,
}

/// A line that later events may still add to.
struct Line {
    /// The message or tool call that it belongs to.
    id: String,
    text: String,
    begun: Duration,
    last: Duration,
    deltas: usize,
}

impl<'a, W: Write> View<'a, W> {
    /// A view of a run that has not begun.
    pub fn new(out: &'a mut W, look: Look) -> Self {
        Self { out, look, open: None, calls: HashMap::new() }
    }

    /// Shows one event.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn event(&mut self, arrived: &Arrived) -> io::Result<()> {
        let at = arrived.at;
        let Ok(event) = serde_json::from_str::<Value>(&arrived.json) else {
            return self.line(at, Style::Bad, &format!("not JSON: {}", plain(&arrived.json)));
        };
        let text = |member: &str| plain(event[member].as_str().unwrap_or_default());
        match event["type"].as_str().unwrap_or_default() {
            "RUN_STARTED" => self.line(at, Style::Faint, &format!("run {} started", text("runId"))),
            "RUN_FINISHED" => self.line(at, Style::Good, &format!("run {} finished", text("runId"))),
            "RUN_ERROR" => {
                let code = event["code"].as_str().map_or_else(|| "without a code".to_owned(), plain);
                self.line(at, Style::Bad, &format!("RUN_ERROR {code}: {}", text("message")))
            }
            "TEXT_MESSAGE_START" => self.open(at, &text("messageId"), "", Style::Plain),
            "TEXT_MESSAGE_CONTENT" => self.grow(at, &text("messageId"), &text("delta"), true),
            "TEXT_MESSAGE_END" => self.close(),
            "TOOL_CALL_START" => {
                let start = format!("{}(", text("toolCallName"));
                self.calls.insert(text("toolCallId"), start.clone());
                self.open(at, &text("toolCallId"), &start, Style::Tool)
            }
            "TOOL_CALL_ARGS" => self.call_grows(at, &text("toolCallId"), &text("delta"), true),
            "TOOL_CALL_END" => self.call_grows(at, &text("toolCallId"), ")", false),
            "TOOL_CALL_RESULT" => self.result(at, &text("toolCallId"), &readable(&event["content"])),
            "STATE_SNAPSHOT" => {
                let state = snapshot(&arrived.json);
                self.line(at, Style::Plain, &format!("state = {state}"))
            }
            "STATE_DELTA" => {
                let changes = changes(&arrived.json);
                self.line(at, Style::Plain, &format!("state {changes}"))
            }
            kind => self.line(at, Style::Faint, &format!("{} {}", plain(kind), plain(&arrived.json))),
        }
    }

    /// Ends the line that still grows, if there is one.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn close(&mut self) -> io::Result<()> {
        let Some(line) = self.open.take() else {
            return Ok(());
        };
        if !self.look.grows {
            write!(self.out, "{}", line.text)?;
        }
        let remark = match line.deltas {
            0 => String::new(),
            n => format!("  [{n} deltas, {} to {} ms]", line.begun.as_millis(), line.last.as_millis()),
        };
        writeln!(self.out, "{}", self.look.paint(Style::Faint, &remark))
    }

    /// A line of its own.
    fn line(&mut self, at: Duration, style: Style, text: &str) -> io::Result<()> {
        self.close()?;
        let at = self.time(at);
        writeln!(self.out, "{at}{}", self.look.paint(style, text))
    }

    fn open(&mut self, at: Duration, id: &str, text: &str, style: Style) -> io::Result<()> {
        self.close()?;
        let text = format!("{}{}", self.time(at), self.look.paint(style, text));
        self.write(&text)?;
        self.open = Some(Line { id: id.to_owned(), text, begun: at, last: at, deltas: 0 });
        Ok(())
    }

    /// Adds to the line of `id`, on a new line if another one came between.
    fn grow(&mut self, at: Duration, id: &str, text: &str, delta: bool) -> io::Result<()> {
        if self.open.as_ref().is_none_or(|line| line.id != id) {
            self.open(at, id, "… ", Style::Faint)?;
        }
        self.write(text)?;
        if let Some(line) = &mut self.open {
            line.text.push_str(text);
            line.last = at;
            line.deltas += usize::from(delta);
        }
        Ok(())
    }

    fn call_grows(&mut self, at: Duration, id: &str, text: &str, delta: bool) -> io::Result<()> {
        self.calls.entry(id.to_owned()).or_default().push_str(text);
        self.grow(at, id, text, delta)
    }

    fn result(&mut self, at: Duration, id: &str, result: &str) -> io::Result<()> {
        if self.open.as_ref().is_none_or(|line| line.id != id) {
            let call = self.calls.get(id).cloned().unwrap_or_else(|| id.to_owned());
            self.open(at, id, &call, Style::Tool)?;
        }
        self.grow(at, id, &format!(" → {result}"), false)?;
        self.close()
    }

    fn time(&self, at: Duration) -> String {
        self.look.paint(Style::Faint, &format!("{:>7} ms  ", at.as_millis()))
    }

    /// Writes at once where lines grow; elsewhere [`View::close`] writes the whole line.
    fn write(&mut self, text: &str) -> io::Result<()> {
        if self.look.grows {
            write!(self.out, "{text}")?;
            self.out.flush()?;
        }
        Ok(())
    }
}

/// A `STATE_DELTA`, its values as the agent spelled them.
#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    delta: Vec<Operation<'a>>,
}

/// One operation of a JSON Patch.
#[derive(Deserialize)]
struct Operation<'a> {
    op: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    from: String,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
}

/// Every operation of a `STATE_DELTA` in a few characters; the event itself if it cannot be read.
fn changes(event: &str) -> String {
    let Ok(Delta { delta }) = serde_json::from_str(event) else {
        return plain(event);
    };
    delta.iter().map(change).collect::<Vec<_>>().join(", ")
}

fn change(operation: &Operation<'_>) -> String {
    let path = plain(&operation.path);
    let value = plain(operation.value.map_or("null", RawValue::get));
    match operation.op.as_str() {
        "add" => format!("{path} + {value}"),
        "replace" => format!("{path} = {value}"),
        "remove" => format!("{path} removed"),
        op => format!("{} {} {path}", plain(op), plain(&operation.from)),
    }
}

/// The snapshot of a `STATE_SNAPSHOT` as the agent spelled it; the event itself if it has none.
fn snapshot(event: &str) -> String {
    #[derive(Deserialize)]
    struct Snapshot<'a> {
        #[serde(borrow)]
        snapshot: &'a RawValue,
    }
    plain(serde_json::from_str::<Snapshot<'_>>(event).map_or(event, |event| event.snapshot.get()))
}

/// A tool's result: text as it is, anything else as JSON.
fn readable(content: &Value) -> String {
    content.as_str().map_or_else(|| plain(&content.to_string()), plain)
}

/// Text that cannot steer a terminal: control characters become spaces.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    const TERMINAL: Look = Look { grows: true, colour: false };

    fn shown(look: Look, events: &[&str]) -> String {
        let mut out = Vec::new();
        let mut view = View::new(&mut out, look);
        for (n, json) in (1u64..).zip(events) {
            view.event(&Arrived { at: Duration::from_millis(10 * n), json: (*json).to_owned() }).unwrap();
        }
        view.close().unwrap();
        String::from_utf8(out).unwrap()
    }

    const CALL: [&str; 5] = [
        r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"get_weather"}"#,
        r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{\"city\":"}"#,
        r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"\"Bern\"}"}"#,
        r#"{"type":"TOOL_CALL_END","toolCallId":"c"}"#,
        r#"{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"12 degrees"}"#,
    ];

    #[test]
    fn a_tool_call_is_one_line_with_its_result() {
        let line = "     10 ms  get_weather({\"city\":\"Bern\"}) → 12 degrees  [2 deltas, 10 to 50 ms]\n";
        assert_eq!(shown(Look::default(), &CALL), line);
        assert_eq!(shown(TERMINAL, &CALL), line);
    }

    #[test]
    fn a_result_that_comes_later_names_its_call_again() {
        let mut events = CALL.to_vec();
        events.insert(4, r#"{"type":"STATE_SNAPSHOT","snapshot":{"a":1.50}}"#);
        let text = shown(TERMINAL, &events);
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            [
                "     10 ms  get_weather({\"city\":\"Bern\"})  [2 deltas, 10 to 40 ms]",
                "     50 ms  state = {\"a\":1.50}",
                "     60 ms  get_weather({\"city\":\"Bern\"}) → 12 degrees",
            ]
        );
    }

    #[test]
    fn text_grows_on_a_terminal_and_an_error_ends_the_line() {
        let events = [
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"half an "}"#,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"ans"}"#,
            r#"{"type":"RUN_ERROR","message":"gone","code":"UPSTREAM_TRUNCATED"}"#,
        ];
        let text = "     10 ms  half an ans  [2 deltas, 10 to 30 ms]\n     40 ms  RUN_ERROR UPSTREAM_TRUNCATED: gone\n";
        assert_eq!(shown(Look::default(), &events), text);
        let mut out = Vec::new();
        let mut view = View::new(&mut out, TERMINAL);
        for json in &events[..2] {
            view.event(&Arrived { at: Duration::ZERO, json: (*json).to_owned() }).unwrap();
        }
        assert_eq!(String::from_utf8(out).unwrap(), "      0 ms  half an ");
    }

    #[test]
    fn state_changes_are_told_one_by_one() {
        let delta = r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a/-","value":"x"},{"op":"replace","path":"/c","value":2.50},{"op":"remove","path":"/b"}]}"#;
        assert_eq!(shown(TERMINAL, &[delta]), "     10 ms  state /a/- + \"x\", /c = 2.50, /b removed\n");
    }

    #[test]
    fn an_agent_cannot_steer_the_terminal() {
        let text = shown(TERMINAL, &[r#"{"type":"RUN_ERROR","message":"\u001b[2Jgone","code":"\u009b1m"}"#]);
        assert_eq!(text, "     10 ms  RUN_ERROR  1m:  [2Jgone\n");
    }

    #[test]
    fn an_unknown_event_is_shown_as_it_is() {
        let event = r#"{"type":"FUTURE","x":1}"#;
        assert_eq!(shown(TERMINAL, &[event]), format!("     10 ms  FUTURE {event}\n"));
    }
}
