//! A message of a history comes in, the message that an older peer reads in its place goes out. Its identifier and its
//! place stay; what is malformed stays too, for the peer to find.

use super::{
    Losses, Version,
    content::{self, Parts},
    edit::{self, Change},
    json::{self, Member, Members},
};

/// The messages of a history, a JSON array, as a client of this version reads them; `None` if it reads them as they are.
pub fn all_for_older(messages: &[u8], client: Version, losses: &mut Losses) -> Option<Vec<u8>> {
    edit::elements(messages, |message| for_older(message, client, losses))
}

fn for_older(message: &[u8], client: Version, losses: &mut Losses) -> Change {
    let Some(role) = role_of(message) else { return Change::Keep };
    let lost = match role.as_ref() {
        "developer" | "system" | "assistant" => return Change::Keep,
        "user" | "tool" => {
            return with_content(message, |content| older_content(&role, content, client, losses)).into();
        }
        "activity" if client < Version::npm(41) => "activity",
        "reasoning" if client < Version::npm(45) => "reasoning",
        "activity" | "reasoning" => return Change::Keep,
        _ if client.is_old() => "message_role",
        _ => return Change::Keep,
    };
    losses.name(lost);
    Change::Drop
}

fn older_content(role: &str, parts: &[u8], client: Version, losses: &mut Losses) -> Option<Vec<u8>> {
    match role {
        "tool" if client.is_old() => content::flattened(parts, losses),
        "user" if client.is_old() => {
            let known = (Parts::All, Parts::read_by_client(client));
            content::reshaped(parts, known, losses, |_, _, _| Change::Keep)
        }
        _ => None,
    }
}

/// The message with its content changed.
pub fn with_content(message: &[u8], mut change: impl FnMut(&[u8]) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    edit::members(message, |m: &Member<'_>| if m.is("content") { change(m.value).into() } else { Change::Keep })
}

/// The role of a message, unless it is malformed.
fn role_of(message: &[u8]) -> Option<std::borrow::Cow<'_, str>> {
    Members::of(message).find(|m| m.is("role")).and_then(|m| json::string(m.value))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn older(messages: &str, npm: u32) -> (String, Vec<&'static str>) {
        let mut lost = Losses::default();
        let edited = all_for_older(messages.as_bytes(), Version::npm(npm), &mut lost);
        (edited.map_or_else(|| "as it is".into(), |text| String::from_utf8(text).unwrap()), lost.into_vec())
    }

    #[test]
    fn messages_of_roles_that_a_version_lacks_go() {
        let all = r#"[{"id":"1","role":"user","content":"q"},{"id":"2","role":"activity"},{"id":"3","role":"reasoning"},{"id":"4","role":"new"}]"#;
        let (one, two, three) = (
            r#"{"id":"1","role":"user","content":"q"}"#,
            r#"{"id":"2","role":"activity"}"#,
            r#"{"id":"3","role":"reasoning"}"#,
        );
        assert_eq!(older(all, 40), (format!("[{one}]"), vec!["activity", "reasoning", "message_role"]));
        assert_eq!(older(all, 44), (format!("[{one},{two}]"), vec!["reasoning", "message_role"]));
        assert_eq!(older(all, 59), (format!("[{one},{two},{three}]"), vec!["message_role"]));
        let mut lost = Losses::default();
        assert_eq!(all_for_older(all.as_bytes(), Version::V1_0, &mut lost), None);
        assert_eq!(lost, Losses::default());
    }

    #[test]
    fn a_tools_parts_become_its_text_in_every_older_version() {
        let tool = r#"[{"id":"1","role":"tool","toolCallId":"c","content":[{"type":"text","text":"a"},{"type":"image"}],"x":1.0}]"#;
        let text = r#"[{"id":"1","role":"tool","toolCallId":"c","content":"a","x":1.0}]"#;
        for npm in [27, 41, 59] {
            assert_eq!(older(tool, npm), (text.into(), vec!["image_part"]));
        }
    }

    #[test]
    fn a_users_parts_become_what_the_version_reads() {
        let user = r#"[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"data","value":"QQ==","mimeType":"image/png"}}]}]"#;
        let binary = r#"[{"role":"user","content":[{"type":"text","text":"a"},{"type":"binary","mimeType":"image/png","data":"QQ=="}]}]"#;
        assert_eq!(older(user, 40), (r#"[{"role":"user","content":"a"}]"#.into(), vec!["image_part"]));
        assert_eq!(older(user, 48), (binary.into(), vec![]));
        assert_eq!(older(user, 49), ("as it is".into(), vec![]));
    }

    #[test]
    fn what_is_malformed_stays() {
        for messages in [
            r#"[{"role":1}]"#,
            r#"[{}]"#,
            "[1,null]",
            r#"{"role":"new"}"#,
            r#"[{"role":"tool","content":[1]}]"#,
            "null",
        ] {
            assert_eq!(older(messages, 27), ("as it is".into(), vec![]), "{messages}");
        }
    }
}
