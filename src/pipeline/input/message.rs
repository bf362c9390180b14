//! The messages of an input come in, those that the agent's version has, in the same order and with the same ids, go
//! out.

use super::boundary::{
    ENCRYPTED_VALUE, ENCRYPTED_VALUE_TYPE, Names, PARTS, REASONING, SUBAGENT_RUN_ID, TOOL_CALLS, TOOL_ERROR, is,
};
use super::{Between, content, drop_if, is_retired_null};
use crate::agui::Losses;
use crate::agui::edit::{self, Change};
use crate::agui::json::{Member, Members};

/// The members of a message or a tool call that need not be there, but for its content.
const OPTIONAL: &[Names] =
    &[["name"; 2], ["error"; 2], ["metadata"; 2], TOOL_CALLS, ENCRYPTED_VALUE, ENCRYPTED_VALUE_TYPE, SUBAGENT_RUN_ID];

/// Whose message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Developer,
    System,
    Assistant,
    User,
    Tool,
    Activity,
    Reasoning,
    /// One that this build does not know.
    Other,
}

impl Role {
    /// The role that a message names, if it names one.
    fn of(message: &[u8]) -> Option<Self> {
        let role = Members::of(message).filter(|member| member.is("role")).last()?;
        Some(match role.string()?.as_ref() {
            "developer" => Self::Developer,
            "system" => Self::System,
            "assistant" => Self::Assistant,
            "user" => Self::User,
            "tool" => Self::Tool,
            "activity" => Self::Activity,
            "reasoning" => Self::Reasoning,
            _ => Self::Other,
        })
    }

    /// As what a message of this role gets lost, if the agent must not have it.
    fn lost(self, between: &Between) -> Option<&'static str> {
        match self {
            // For the client's eyes only: a current client keeps it to itself.
            Self::Activity if between.client.is_old() || between.agent.is_old() => Some("activity_message"),
            Self::Reasoning if between.agent < REASONING => Some("reasoning_message"),
            Self::Other if between.agent.is_old() => Some("unknown_message"),
            _ => None,
        }
    }
}

/// Converts a list of messages; `None` if nothing changes. A message without a role is malformed, and stays.
pub fn messages(list: &[u8], between: &Between, losses: &mut Losses) -> Option<Vec<u8>> {
    edit::elements(list, |text| {
        let Some(role) = Role::of(text) else {
            return Change::Keep;
        };
        if let Some(shape) = role.lost(between) {
            losses.name(shape);
            return Change::Drop;
        }
        message(text, role, between, losses).into()
    })
}

fn message(text: &[u8], role: Role, between: &Between, losses: &mut Losses) -> Option<Vec<u8>> {
    edit::members(text, |member| match () {
        () if member.is("content") && member.is_null() => drop_if(role == Role::Assistant && between.retires()),
        () if member.is("content") => content::content(member.value, role, between, losses).into(),
        () if is(member, TOOL_CALLS) && !member.is_null() => {
            edit::elements(member.value, |call| tool_call(call, between, losses).into()).into()
        }
        () if member.is("error") && between.agent < TOOL_ERROR => {
            losses.member(member, "tool_error");
            Change::Drop
        }
        () => common(member, between, losses),
    })
}

fn tool_call(text: &[u8], between: &Between, losses: &mut Losses) -> Option<Vec<u8>> {
    edit::members(text, |member| common(member, between, losses))
}

/// A member that messages and tool calls have in common.
fn common(member: &Member<'_>, between: &Between, losses: &mut Losses) -> Change {
    if between.agent < REASONING && (is(member, ENCRYPTED_VALUE) || is(member, ENCRYPTED_VALUE_TYPE)) {
        losses.member(member, "encrypted_value");
        return Change::Drop;
    }
    if between.agent < PARTS && member.is("metadata") {
        losses.member(member, "metadata");
        return Change::Drop;
    }
    if between.agent < PARTS && is(member, SUBAGENT_RUN_ID) {
        losses.member(member, "subagent");
        return Change::Drop;
    }
    drop_if(is_retired_null(member, OPTIONAL, between))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::tests::made;
    use super::*;

    fn converted(list: &str, client: &str, agent: &str) -> (Option<String>, Vec<&'static str>) {
        made(|between, losses| messages(list.as_bytes(), between, losses), client, agent)
    }

    #[test]
    fn reasoning_and_its_values_go_before_an_agent_knows_them() {
        let list = r#"[{"id":"k","role":"reasoning","content":"hm","encryptedValue":"A"},
            {"id":"a","role":"assistant","toolCalls":[{"id":"c","encryptedValue":"B","encryptedValueType":"s"}]}]"#;
        let rest = r#"[{"id":"a","role":"assistant","toolCalls":[{"id":"c"}]}]"#;
        let lost = vec!["reasoning_message", "encrypted_value"];
        assert_eq!(converted(list, "1.0", "0.0.44"), (Some(rest.to_owned()), lost));
        assert_eq!(converted(list, "1.0", "0.0.45"), (None, vec![]));
    }

    #[test]
    fn activity_goes_to_no_agent_if_either_side_is_old() {
        let list = r#"[{"id":"x","role":"activity","activityType":"p","content":{}}]"#;
        for (client, agent) in [("1.0", "0.0.59"), ("0.0.40", "1.0"), ("0.0.40", "0.0.40"), ("1.0", "0.0.39")] {
            assert_eq!(converted(list, client, agent), (Some("[]".to_owned()), vec!["activity_message"]));
        }
        assert_eq!(converted(list, "1.0", "1.1"), (None, vec![]));
    }

    #[test]
    fn an_unknown_role_goes_only_where_it_would_be_refused() {
        let list = r#"[{"id":"x","role":"critic","content":""}]"#;
        assert_eq!(converted(list, "1.1", "0.0.59"), (Some("[]".to_owned()), vec!["unknown_message"]));
        assert_eq!(converted(list, "0.0.59", "1.0"), (None, vec![]));
    }

    #[test]
    fn what_strict_agents_refuse_goes() {
        let list = r#"[{"id":"a","metadata":{"k":1},"role":"assistant","subagentRunId":"s","toolCalls":[{"id":"c","metadata":{}}]}]"#;
        let rest = r#"[{"id":"a","role":"assistant","toolCalls":[{"id":"c"}]}]"#;
        assert_eq!(converted(list, "1.0", "0.1.9"), (Some(rest.to_owned()), vec!["metadata", "subagent"]));
        assert_eq!(converted(list, "1.0", "0.1.10"), (None, vec![]));
        let error = r#"[{"id":"t","role":"tool","content":"","toolCallId":"c","error":"no"}]"#;
        let rest = r#"[{"id":"t","role":"tool","content":"","toolCallId":"c"}]"#;
        assert_eq!(converted(error, "1.0", "0.1.8"), (Some(rest.to_owned()), vec!["tool_error"]));
        assert_eq!(converted(error, "1.0", "0.1.9"), (None, vec![]));
    }

    #[test]
    fn nulls_of_older_clients_go_where_nothing_is_needed() {
        let list = r#"[{"id":"a","role":"assistant","content":null,"name":null,"tool_calls":null},{"id":"u","role":"user","content":null}]"#;
        let rest = r#"[{"id":"a","role":"assistant"},{"id":"u","role":"user","content":null}]"#;
        assert_eq!(converted(list, "0.0.47", "1.0"), (Some(rest.to_owned()), vec![]));
        assert_eq!(converted(list, "0.0.47", "0.0.39"), (None, vec![]));
        assert_eq!(converted(list, "1.0", "1.0"), (None, vec![]));
    }

    #[test]
    fn what_names_no_role_stays() {
        for list in ["null", "[1]", r#"[{"id":"x","encryptedValue":"A"}]"#, r#"[{"role":1}]"#] {
            assert_eq!(converted(list, "1.0", "0.0.39"), (None, vec![]), "{list}");
        }
    }
}
