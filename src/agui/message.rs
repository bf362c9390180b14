//! A message of a history comes in, the message that an older peer reads in its place goes out. Its identifier and its
//! place stay; what is malformed stays too, for the peer to find.

use super::{
    Version,
    content::{Parts, flattened},
    edit::{self, Change},
    json::{self, Member, Members},
};

/// What becomes of one message on its way to an older peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is read as it is.
    Keep,
    /// The peer has no such message: the shape that it lacks.
    Drop(&'static str),
    /// It is read as this, JSON; with the shape that got lost, if one did.
    Edit(Vec<u8>, Option<&'static str>),
}

/// The shape of a content part that is no text.
pub const MEDIA_PART: &str = "media_part";

/// What becomes of a message of a history, JSON, for a peer of this version.
pub fn for_older(message: &[u8], peer: Version) -> Fate {
    let Some(role) = role_of(message) else { return Fate::Keep };
    let content = |reshape: &dyn Fn(&[u8]) -> Option<super::content::Reshaped>| {
        let mut lost = false;
        let edited = edit::members(message, |m: &Member<'_>| match reshape(m.value).filter(|_| m.is("content")) {
            Some(reshaped) => {
                lost |= reshaped.lost;
                Change::Value(reshaped.content)
            }
            None => Change::Keep,
        });
        edited.map_or(Fate::Keep, |text| Fate::Edit(text, lost.then_some(MEDIA_PART)))
    };
    match role.as_ref() {
        "developer" | "system" | "assistant" => Fate::Keep,
        "user" => content(&|parts| Parts::read_by(peer).reshape(parts)),
        "tool" if peer.is_old() => content(&flattened),
        "tool" => Fate::Keep,
        "activity" if peer < Version::npm(41) => Fate::Drop("activity"),
        "reasoning" if peer < Version::npm(45) => Fate::Drop("reasoning"),
        "activity" | "reasoning" => Fate::Keep,
        _ if peer.is_old() => Fate::Drop("message_role"),
        _ => Fate::Keep,
    }
}

/// The messages of a history, a JSON array, as a peer of this version reads them; `None` if it reads them as they are.
/// Calls `lost` with the shape of each loss.
pub fn all_for_older(messages: &[u8], peer: Version, mut lost: impl FnMut(&'static str)) -> Option<Vec<u8>> {
    edit::elements(messages, |message| match for_older(message, peer) {
        Fate::Keep => Change::Keep,
        Fate::Drop(shape) => {
            lost(shape);
            Change::Drop
        }
        Fate::Edit(text, shape) => {
            if let Some(shape) = shape {
                lost(shape);
            }
            Change::Value(text)
        }
    })
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
        let mut lost = Vec::new();
        let edited = all_for_older(messages.as_bytes(), Version::npm(npm), |shape| lost.push(shape));
        (edited.map_or_else(|| "as it is".into(), |text| String::from_utf8(text).unwrap()), lost)
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
        assert_eq!(all_for_older(all.as_bytes(), Version::V1_0, |_| panic!("nothing is lost")), None);
    }

    #[test]
    fn a_tools_parts_become_its_text_in_every_older_version() {
        let tool = r#"[{"id":"1","role":"tool","toolCallId":"c","content":[{"type":"text","text":"a"},{"type":"image"}],"x":1.0}]"#;
        let text = r#"[{"id":"1","role":"tool","toolCallId":"c","content":"a","x":1.0}]"#;
        for npm in [27, 41, 59] {
            assert_eq!(older(tool, npm), (text.into(), vec![MEDIA_PART]));
        }
    }

    #[test]
    fn a_users_parts_become_what_the_version_reads() {
        let user = r#"[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"data","value":"QQ==","mimeType":"image/png"}}]}]"#;
        let binary = r#"[{"role":"user","content":[{"type":"text","text":"a"},{"type":"binary","mimeType":"image/png","data":"QQ=="}]}]"#;
        assert_eq!(older(user, 40), (r#"[{"role":"user","content":"a"}]"#.into(), vec![MEDIA_PART]));
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
