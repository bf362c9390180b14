//! The shape of a list of messages, in a run's input or in a snapshot.

use crate::made::Shape::{self, Any, Each, Object, One};

/// Identifiers: few, so that they meet.
pub const ID: Shape = One(&[r#""a""#, r#""b""#, r#""\u0061""#, r#""c""#]);
/// Whose something is.
pub const TAG: Shape = One(&[r#""s""#, r#""t""#, "null"]);
/// A piece of text.
pub const TEXT: Shape = One(&[r#""x""#, r#""""#, r#""@""#, r#""\u00e9\\\"""#, r#""binary""#]);
/// Data of somebody's own.
pub const DATA: Shape = One(&["{}", r#"{"k":1.0}"#, r#"{"k":"@"}"#, "null", r#"{"tidegate.title":"t"}"#]);

/// What a message says, text or parts.
pub const CONTENT: Shape = Any(&[TEXT, Each(&PART), One(&["null", "{}"])]);

const MIME: Shape = One(&[r#""image/png""#, r#""audio/ogg""#, r#""text/csv""#, "null"]);
const PLACE: Shape = One(&[r#""iV""#, r#""http://h""#, r#""@""#, r#""""#, "null"]);

const TYPES: Shape = One(&[r#""text""#, r#""image""#, r#""audio""#, r#""video""#, r#""document""#, r#""new""#]);
const METADATA: Shape = Any(&[DATA, Object(&[("filename", TEXT), ("alt", TEXT)])]);

/// A part in its current form, and one from before there were media.
const PART: Shape = Any(&[
    Object(&[
        ("type", TYPES),
        ("text", TEXT),
        (
            "source",
            Object(&[
                ("type", One(&[r#""data""#, r#""url""#, r#""file""#, r#""new""#])),
                ("value", PLACE),
                ("mimeType", MIME),
                ("mime_type", MIME),
            ]),
        ),
        ("id", ID),
        ("metadata", METADATA),
    ]),
    Object(&[
        ("type", One(&[r#""binary""#, r#""\u0062inary""#])),
        ("mimeType", MIME),
        ("mime_type", MIME),
        ("data", PLACE),
        ("url", PLACE),
        ("id", ID),
        ("filename", TEXT),
        ("metadata", METADATA),
    ]),
]);

const CALL: Shape = Object(&[
    ("id", ID),
    ("type", One(&[r#""function""#])),
    ("function", Object(&[("name", TEXT), ("arguments", TEXT)])),
    ("encryptedValue", TEXT),
    ("encrypted_value_type", TEXT),
    ("metadata", DATA),
    ("subagentRunId", TAG),
]);

const ROLES: &[&str] = &[
    r#""user""#,
    r#""assistant""#,
    r#""tool""#,
    r#""reasoning""#,
    r#""activity""#,
    r#""system""#,
    r#""developer""#,
    r#""new""#,
    r#""\u0075ser""#,
];

/// A list of messages.
pub const MESSAGES: Shape = Each(&Object(&[
    ("id", ID),
    ("role", One(ROLES)),
    ("content", CONTENT),
    ("toolCalls", Each(&CALL)),
    ("tool_calls", Each(&CALL)),
    ("toolCallId", ID),
    ("name", TEXT),
    ("error", TEXT),
    ("encryptedValue", TEXT),
    ("encrypted_value", TEXT),
    ("encryptedValueType", TEXT),
    ("metadata", DATA),
    ("subagentRunId", TAG),
    ("subagent_run_id", TAG),
    ("activityType", TEXT),
]));
