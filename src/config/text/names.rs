//! Names and header values, and the names of what may be left out of a stream.

use tracing_subscriber::EnvFilter;

use super::{Text, nearest};
use crate::agui::EventKind;

/// A header's name, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::config) struct HeaderName(pub(in crate::config) http::HeaderName);

/// A header's value, as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct HeaderValue(pub(in crate::config) http::HeaderValue);

/// A label in metrics and logs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::config) struct Name(pub(in crate::config) String);

/// A level, or a filter of the kind `tidegate=debug,hyper=warn`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct LogFilter(pub(in crate::config) String);

/// The name of an event type that a stream can do without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct DropType(pub(in crate::config) String);

/// The name of a member that an event can do without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct StripMember(pub(in crate::config) String);

/// Members that some event type requires, or that change what an event says when they are missing.
const NEEDED: &[&str] = &[
    "type",
    "threadId",
    "runId",
    "messageId",
    "toolCallId",
    "toolCallName",
    "stepName",
    "subagentRunId",
    "entityId",
    "subtype",
    "encryptedValue",
    "role",
    "delta",
    "content",
    "message",
    "messages",
    "snapshot",
    "activityType",
    "patch",
    "replace",
    "event",
    "name",
    "value",
    "outcome",
];

/// Headers that say how the bytes of a request travel, which is for the gateway to say.
const FRAMING: &[&str] = &[
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

impl HeaderName {
    /// Why a rule must not touch this header, if so.
    pub(in crate::config) fn is_framing(&self) -> bool {
        FRAMING.contains(&self.0.as_str())
    }
}

impl Text for HeaderName {
    const FORMAT: &'static str = "header-name";
    const WHAT: &'static str = "a header name";
    const EXAMPLE: &'static str = "x-tenant";

    fn read(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| {
            format!("`{text}` is not a header name; write letters, digits and hyphens, as in \"x-tenant\"")
        })
    }

    fn write(&self) -> String {
        self.0.to_string()
    }
}

impl Text for HeaderValue {
    const FORMAT: &'static str = "header-value";
    const WHAT: &'static str = "a string";
    const EXAMPLE: &'static str = "acme";

    // The value may be secret and is never repeated.
    fn read(text: &str) -> Result<Self, String> {
        http::HeaderValue::from_str(text)
            .map(Self)
            .map_err(|_| "not a header value; write one line without control characters".into())
    }

    fn write(&self) -> String {
        String::from_utf8_lossy(self.0.as_bytes()).into_owned()
    }
}

impl Text for Name {
    const FORMAT: &'static str = "name";
    const WHAT: &'static str = "a name";
    const EXAMPLE: &'static str = "support";

    fn read(text: &str) -> Result<Self, String> {
        let plain = |c: char| !c.is_control();
        if text.trim().is_empty() || !text.chars().all(plain) || text.len() > 128 {
            return Err("not a name; write a short word without control characters, as in \"support\"".into());
        }
        Ok(Self(text.to_owned()))
    }

    fn write(&self) -> String {
        self.0.clone()
    }
}

impl Text for LogFilter {
    const FORMAT: &'static str = "log-filter";
    const WHAT: &'static str = "a level";
    const EXAMPLE: &'static str = "info";

    fn read(text: &str) -> Result<Self, String> {
        const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
        // To the filter's parser a lone word that is no level is the name of a module.
        let level = |word: &str| LEVELS.contains(&word.to_ascii_lowercase().as_str());
        let lone_words = text.split(',').filter(|part| !part.contains(['=', '[', ':']));
        // The parser cuts at bytes and does not survive every character.
        if text.is_ascii() && lone_words.map(str::trim).all(level) && EnvFilter::builder().parse(text).is_ok() {
            return Ok(Self(text.to_owned()));
        }
        let meant = nearest(text, LEVELS).map(|level| format!(" (did you mean `{level}`?)")).unwrap_or_default();
        Err(format!(
            "`{text}` is not a level; write off, error, warn, info, debug or trace, or a filter \
             as in \"info,hyper=warn\"{meant}"
        ))
    }

    fn write(&self) -> String {
        self.0.clone()
    }
}

impl Text for DropType {
    const FORMAT: &'static str = "droppable-event-type";
    const WHAT: &'static str = "the name of an event type";
    const EXAMPLE: &'static str = "RAW";

    fn read(text: &str) -> Result<Self, String> {
        let kind = EventKind::from_name(text.as_bytes());
        if kind == EventKind::RunStarted || kind.is_terminal() {
            return Err(format!("`{text}` cannot be dropped; without it a client does not see a run begin or end"));
        }
        let known = EventKind::ALL.iter().map(|kind| kind.as_str());
        let spelled = |name: &&str| plain(name) == plain(text);
        match known.into_iter().find(spelled) {
            // An unknown type is fine, a known one in another spelling would never match.
            Some(name) if kind == EventKind::Other && name != EventKind::Other.as_str() => {
                Err(format!("`{text}` is no event type, and case counts; did you mean `{name}`?"))
            }
            _ if text.is_empty() => Err("not the name of an event type; write one as in \"RAW\"".into()),
            _ => Ok(Self(text.to_owned())),
        }
    }

    fn write(&self) -> String {
        self.0.clone()
    }
}

impl Text for StripMember {
    const FORMAT: &'static str = "strippable-member";
    const WHAT: &'static str = "the name of a member";
    const EXAMPLE: &'static str = "rawEvent";

    fn read(text: &str) -> Result<Self, String> {
        if NEEDED.contains(&text) {
            return Err(format!("`{text}` cannot be stripped; the protocol needs it"));
        }
        if text.is_empty() {
            return Err("not the name of a member; write one as in \"rawEvent\"".into());
        }
        Ok(Self(text.to_owned()))
    }

    fn write(&self) -> String {
        self.0.clone()
    }
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
