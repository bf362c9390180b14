//! The shape of a run's input, in both spellings of its names and with what any version has in it.

use crate::{
    made::Shape::{self, Any, Each, Object, One},
    messages::{DATA, ID, MESSAGES, TEXT},
};

const PROTOCOL_VERSION: Shape =
    One(&[r#""1.1""#, r#""1.0""#, r#""0.0.45""#, r#""0.1.9""#, r#""2.0""#, r#""draft""#, "null", "1"]);

const PROPS: Shape = Any(&[
    One(&["{}", "null", r#"{"a":1.50}"#, r#""x""#, r#"{"command":"go"}"#]),
    Object(&[
        ("command", Any(&[Object(&[("resume", DATA), ("update", DATA)]), One(&["null", "{}"])])),
        ("a", DATA),
        ("command", Object(&[("resume", One(&["null", "false"])), ("resume", DATA)])),
    ]),
]);

const ANSWER: Shape = Object(&[
    ("interruptId", ID),
    ("interrupt_id", ID),
    ("status", One(&[r#""resolved""#, r#""cancelled""#, r#""new""#, "null"])),
    ("payload", Any(&[DATA, TEXT])),
    ("metadata", DATA),
]);

const TOOL: Shape = Object(&[("name", TEXT), ("description", TEXT), ("parameters", DATA), ("metadata", DATA)]);

/// An input.
pub const INPUT: Shape = Object(&[
    ("protocolVersion", PROTOCOL_VERSION),
    ("threadId", ID),
    ("runId", ID),
    ("messages", MESSAGES),
    ("resume", Any(&[Each(&ANSWER), One(&["null", "[]"])])),
    ("forwardedProps", PROPS),
    ("tools", Each(&TOOL)),
    ("context", Each(&DATA)),
    ("state", DATA),
    ("parentRunId", TEXT),
    ("parent_run_id", TEXT),
    ("forwarded_props", PROPS),
    ("protocol_version", PROTOCOL_VERSION),
    ("x", DATA),
]);
