//! The releases from which on the reader of a run input knows a shape, and the names of members in both spellings.

use crate::agui::Version;
use crate::agui::json::Member;

/// A tool message tells an error.
pub const TOOL_ERROR: Version = Version::npm(36);
/// A user message has parts; a run has a parent. Before it, Python refuses every member that it does not know.
pub const PARTS: Version = Version::npm(40);
/// Messages of the role `reasoning`; `encryptedValue`.
pub const REASONING: Version = Version::npm(45);
/// A tool goes without `parameters`.
pub const NO_PARAMETERS: Version = Version::npm(48);
/// The answers to interrupts in `resume`.
pub const RESUME: Version = Version::npm(54);

/// The spellings of a member's name: the protocol's, and the one of clients that write Python's names.
pub type Names = [&'static str; 2];

pub const PROTOCOL_VERSION: Names = ["protocolVersion", "protocol_version"];
pub const PARENT_RUN_ID: Names = ["parentRunId", "parent_run_id"];
pub const FORWARDED_PROPS: Names = ["forwardedProps", "forwarded_props"];
pub const TOOL_CALLS: Names = ["toolCalls", "tool_calls"];
pub const ENCRYPTED_VALUE: Names = ["encryptedValue", "encrypted_value"];
pub const ENCRYPTED_VALUE_TYPE: Names = ["encryptedValueType", "encrypted_value_type"];
pub const SUBAGENT_RUN_ID: Names = ["subagentRunId", "subagent_run_id"];
pub const INTERRUPT_ID: Names = ["interruptId", "interrupt_id"];
pub const MIME_TYPE: Names = ["mimeType", "mime_type"];

/// Whether the member has this name, in either spelling.
pub fn is(member: &Member<'_>, names: Names) -> bool {
    names.iter().any(|name| member.is(name))
}
