//! The run that sink and source agree on: written into a `RunAgentInput` by the one, read out of it by the other.
//!
//! How many events and how fast travels in `forwardedProps`, so that it passes any proxy that passes the body.

/// What one stream is to look like between its first and its last event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Shape {
    /// `TEXT_MESSAGE_CONTENT` events.
    pub events: u64,
    /// Microseconds from one burst to the next; 0: as fast as it goes.
    pub every: u64,
    /// Microseconds before the first burst, so that paced streams do not all speak at once.
    pub phase: u64,
    /// Events in one write; at least 1.
    pub burst: u64,
    /// Silence after the last content event until this time, in milliseconds since 1970; 0: none.
    pub hold_until: u64,
}

/// The body of the request for run `run` on thread `thread`.
pub fn input(thread: usize, run: u64, shape: &Shape) -> String {
    let Shape { events, every, phase, burst, hold_until } = shape;
    format!(
        concat!(
            r#"{{"threadId":"thread-{thread}","runId":"run-{thread}-{run}","state":{{}},"#,
            r#""messages":[{{"id":"question-{run}","role":"user","content":"When does the tide turn?"}}],"#,
            r#""tools":[],"context":[],"forwardedProps":{{"events":{events},"every":{every},"phase":{phase},"#,
            r#""burst":{burst},"holdUntil":{hold_until}}}}}"#
        ),
        thread = thread,
        run = run,
        events = events,
        every = every,
        phase = phase,
        burst = burst,
        hold_until = hold_until,
    )
}

/// Reads a [`Shape`] back; `None` if a member is missing.
pub fn shape(input: &str) -> Option<Shape> {
    let number = |name| {
        let rest = member(input, name)?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    Some(Shape {
        events: number("events")?,
        every: number("every")?,
        phase: number("phase")?,
        burst: number("burst")?.max(1),
        hold_until: number("holdUntil")?,
    })
}

/// The text of a member that holds a plain string.
pub fn text<'a>(input: &'a str, name: &str) -> Option<&'a str> {
    member(input, name)?.strip_prefix('"')?.split('"').next()
}

/// What follows `"name":`. Enough for inputs that [`input`] wrote; it is no JSON parser.
fn member<'a>(input: &'a str, name: &str) -> Option<&'a str> {
    let at = input.find(&format!("\"{name}\":"))?;
    Some(&input[at + name.len() + 3..])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_survives_the_way_through_the_input() {
        let sent = Shape { events: 600, every: 20_000, phase: 130, burst: 3, hold_until: 1_796_000_000_123 };
        let input = input(17, 4, &sent);
        assert_eq!(shape(&input), Some(sent));
        assert_eq!(text(&input, "threadId"), Some("thread-17"));
        assert_eq!(text(&input, "runId"), Some("run-17-4"));
    }

    #[test]
    fn an_input_of_another_kind_has_no_shape() {
        assert_eq!(shape(r#"{"threadId":"t","runId":"r","forwardedProps":{"events":3}}"#), None);
    }
}
