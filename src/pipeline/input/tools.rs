//! The tools of an input come in, the same as the agent's version knows them goes out.

use super::boundary::{NO_PARAMETERS, PARTS};
use super::{Between, drop_if, is_retired_null};
use crate::agui::{Losses, edit};

/// Converts a list of tools; `None` if nothing changes.
pub fn tools(list: &[u8], between: &Between, losses: &mut Losses) -> Option<Vec<u8>> {
    edit::elements(list, |tool| self::tool(tool, between, losses).into())
}

fn tool(text: &[u8], between: &Between, losses: &mut Losses) -> Option<Vec<u8>> {
    let mut parameters = false;
    let edited = edit::members(text, |member| {
        parameters |= member.is("parameters");
        let unknown = between.agent < PARTS && member.is("metadata");
        if unknown {
            losses.member(member, "metadata");
        }
        drop_if(unknown || is_retired_null(member, &[["parameters"; 2], ["metadata"; 2]], between))
    });
    match parameters || !between.crosses_down(NO_PARAMETERS) {
        true => edited,
        false => edit::appended(edited.as_deref().unwrap_or(text), "parameters", b"{}"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::tests::made;
    use super::*;

    fn converted(list: &str, client: &str, agent: &str) -> (Option<String>, Vec<&'static str>) {
        made(|between, losses| tools(list.as_bytes(), between, losses), client, agent)
    }

    #[test]
    fn an_agent_that_needs_parameters_gets_empty_ones() {
        let list = r#"[{"name":"a","description":""},{"name":"b","description":"","parameters":{"x":1.0}}]"#;
        let with =
            r#"[{"name":"a","description":"","parameters":{}},{"name":"b","description":"","parameters":{"x":1.0}}]"#;
        assert_eq!(converted(list, "1.0", "0.1.13"), (Some(with.to_owned()), vec![]));
        assert_eq!(converted(list, "1.0", "0.1.14"), (None, vec![]));
        assert_eq!(converted(list, "0.0.47", "0.0.47"), (None, vec![]), "nothing is between them");
    }

    #[test]
    fn metadata_goes_where_it_would_be_refused() {
        let list = r#"[{"name":"a","metadata":{"k":1},"parameters":{}}]"#;
        let without = r#"[{"name":"a","parameters":{}}]"#;
        assert_eq!(converted(list, "1.0", "0.1.9"), (Some(without.to_owned()), vec!["metadata"]));
        assert_eq!(converted(list, "1.0", "0.1.10"), (None, vec![]));
    }

    #[test]
    fn nulls_of_older_clients_go() {
        let list = r#"[{"name":"a","description":null,"parameters":null}]"#;
        assert_eq!(converted(list, "0.0.47", "1.0").0.unwrap(), r#"[{"name":"a","description":null}]"#);
        assert_eq!(converted(list, "1.0", "1.0").0, None);
    }

    #[test]
    fn what_is_no_list_of_tools_is_left_alone() {
        for list in ["null", "{}", "[1,\"x\"]", "[]"] {
            assert_eq!(converted(list, "1.0", "0.0.39"), (None, vec![]), "{list}");
        }
    }
}
