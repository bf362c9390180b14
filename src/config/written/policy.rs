//! `throttle`, `tools` and `redact` as people write them.

use std::time;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::text::{Pattern, Pointer, ToolName, Wait};

/// `throttle`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub(in crate::config) struct Throttle {
    /// How long deltas are merged before they leave, counted from the first; the first after a pause leaves at once.
    /// "0s" merges only while the client does not read.
    pub(in crate::config) every: Wait,
    /// From this many characters on, what is merged leaves early.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(in crate::config) max_chars: u32,
    /// What becomes of the agent while the client does not read: "merge" reads on and merges what waits, "wait" lets
    /// it wait.
    pub(in crate::config) slow_client: SlowClient,
    /// What becomes of the `rawEvent` of merged events: "drop" leaves it out, "keep" merges no event that has one.
    pub(in crate::config) raw_event: RawEvent,
}

/// `throttle.slow_client`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(in crate::config) enum SlowClient {
    #[default]
    Merge,
    Wait,
}

/// `throttle.raw_event`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(in crate::config) enum RawEvent {
    #[default]
    Drop,
    Keep,
}

/// `tools`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub(in crate::config) struct Tools {
    /// The tools that may be called, by name or with `*` for any characters; nothing else may. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) allow: Option<Vec<ToolName>>,
    /// The tools that may not be called, whatever `allow` says.
    pub(in crate::config) deny: Vec<ToolName>,
    /// What becomes of a call that is denied: "drop" leaves it out, "mask" shows it without arguments and result,
    /// "error" ends the run.
    pub(in crate::config) on_denied: OnDenied,
    /// Whether `RAW` events and `rawEvent` members, which may repeat what is denied, pass: "drop" or "pass".
    pub(in crate::config) raw: Raw,
    /// Calls that are denied for what their arguments say.
    pub(in crate::config) arguments: Vec<ArgumentRule>,
    /// Results that are denied for what they say.
    pub(in crate::config) results: Vec<ResultRule>,
}

/// `tools.on_denied`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(in crate::config) enum OnDenied {
    #[default]
    Drop,
    Mask,
    Error,
}

/// `tools.raw`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(in crate::config) enum Raw {
    #[default]
    Drop,
    Pass,
}

/// An entry of `tools.arguments`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
pub(in crate::config) struct ArgumentRule {
    /// The tools it is about.
    pub(in crate::config) tool: ToolName,
    /// Which of the arguments, as a JSON pointer.
    pub(in crate::config) path: Pointer,
    /// A call is denied if this is found in it.
    pub(in crate::config) matches: Pattern,
}

/// An entry of `tools.results`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
pub(in crate::config) struct ResultRule {
    /// The tools it is about.
    pub(in crate::config) tool: ToolName,
    /// A result is denied if this is found in it.
    pub(in crate::config) matches: Pattern,
}

/// An entry of `redact`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
pub(in crate::config) struct Redaction {
    /// What is replaced wherever it is found.
    pub(in crate::config) pattern: Pattern,
    /// What stands in its place, as it is.
    pub(in crate::config) with: String,
}

impl Default for Throttle {
    fn default() -> Self {
        Self {
            every: Wait(time::Duration::from_millis(33)),
            max_chars: 4096,
            slow_client: SlowClient::default(),
            raw_event: RawEvent::default(),
        }
    }
}
