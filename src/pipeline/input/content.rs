//! The content of a message comes in, text or parts; the same as the agent's version takes it goes out. What it cannot
//! take is left out, and nothing stands in its place.

use super::boundary::{MIME_TYPE, is};
use super::message::Role;
use super::{Between, drop_if};
use crate::agui::Losses;
use crate::agui::content::{Kind, Part, Parts, Source, flattened, reshaped};
use crate::agui::edit::{self, Change};

/// Converts the content of a message; `None` if nothing changes.
pub fn content(value: &[u8], role: Role, between: &Between, losses: &mut Losses) -> Option<Vec<u8>> {
    let (sent, read) = (Parts::read_by_agent(between.client), Parts::read_by_agent(between.agent));
    match role {
        Role::User if between.agent.is_old() || between.retires() => {
            reshaped(value, (sent, read), losses, |text, part, _| kept(text, part, read))
        }
        Role::Tool if between.agent.is_old() => flattened(value, losses),
        _ => None,
    }
}

/// What becomes of a part that stays.
fn kept(text: &[u8], part: &Part<'_>, read: Parts) -> Change {
    let is_medium = part.kind.is_media();
    match part.source {
        _ if read == Parts::All => {
            if is_medium {
                without_nulls(text)
            } else {
                None
            }
        }
        _ if part.kind == Kind::Text => without_id(text),
        Source::Bytes(_) if is_medium => without_id(text),
        _ => None,
    }
    .into()
}

/// A part without an id of its own, which nobody reads yet and older agents do not know.
fn without_id(part: &[u8]) -> Option<Vec<u8>> {
    edit::members(part, |member| drop_if(member.is("id")))
}

/// A medium without the members that hold nothing.
fn without_nulls(text: &[u8]) -> Option<Vec<u8>> {
    edit::members(text, |member| match () {
        () if member.is("metadata") => drop_if(member.is_null()),
        () if member.is("source") => edit::members(member.value, |inner| {
            drop_if(inner.is_null() && (is(inner, MIME_TYPE) || inner.is("provider")))
        })
        .into(),
        () => Change::Keep,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::tests::made;
    use super::*;

    fn converted(value: &str, role: Role, client: &str, agent: &str) -> (Option<String>, Vec<&'static str>) {
        made(|between, losses| content(value.as_bytes(), role, between, losses), client, agent)
    }

    fn user(value: &str, client: &str, agent: &str) -> (Option<String>, Vec<&'static str>) {
        converted(value, Role::User, client, agent)
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    const IMAGE: &str = r#"{"type":"image","id":"p","source":{"type":"data","value":"iV","mimeType":"image/png"}}"#;

    #[test]
    fn parts_become_the_text_of_them_where_content_is_text() {
        let value = format!(r#"[{{"type":"text","text":"a\u00e9"}},{IMAGE},{{"text":"b","type":"text"}}]"#);
        for agent in ["0.0.27", "0.0.39", "0.1.9"] {
            assert_eq!(user(&value, "1.0", agent), (some(r#""a\u00e9b""#), vec!["image_part"]));
        }
        let tool = converted(&value, Role::Tool, "1.0", "0.0.59");
        assert_eq!(tool, (some(r#""a\u00e9b""#), vec!["image_part"]));
        assert_eq!(user("[]", "1.0", "0.0.39"), (some("\"\""), vec![]));
        assert_eq!(user("\"plain\"", "1.0", "0.0.39"), (None, vec![]));
    }

    #[test]
    fn every_part_that_is_no_text_is_lost_under_its_own_name() {
        for (part, shape) in [
            (r#"{"type":"audio","source":{"type":"url","value":"u"}}"#, "audio_part"),
            (r#"{"type":"video","source":{"type":"url","value":"u"}}"#, "video_part"),
            (r#"{"type":"document","source":{"type":"url","value":"u"}}"#, "document_part"),
            (r#"{"type":"image","source":{"type":"file","value":"f"}}"#, "file_source"),
            (r#"{"type":"image","source":{"type":"torrent","value":"f"}}"#, "unknown_part"),
            (r#"{"type":"binary","mimeType":"a/b","data":"x"}"#, "binary_part"),
            (r#"{"type":"hologram"}"#, "unknown_part"),
            (r#"{"type":"text","text":"","metadata":{"k":1}}"#, "part_metadata"),
        ] {
            assert_eq!(user(&format!("[{part}]"), "1.0", "0.0.39"), (some("\"\""), vec![shape]), "{part}");
        }
    }

    #[test]
    fn a_malformed_part_keeps_its_content_from_becoming_text() {
        for part in [r#"{"type":"text","text":42}"#, r#"{"type":"text"}"#, "{}", "1", r#"{"type":1}"#] {
            let value = format!("[{IMAGE},{part}]");
            assert_eq!(user(&value, "1.0", "0.0.39"), (None, vec![]), "{part}");
        }
    }

    #[test]
    fn media_become_binary_parts_for_agents_that_have_only_those() {
        let value = format!(
            r#"[{IMAGE},{{"type":"document","source":{{"type":"url","value":"h","mimeType":"a/pdf"}},"metadata":{{"filename":"x"}}}},{{"type":"text","id":"q","text":"t"}}]"#
        );
        let binary = r#"[{"type":"binary","mimeType":"image/png","data":"iV"},{"type":"binary","mimeType":"a/pdf","url":"h","filename":"x"},{"type":"text","text":"t"}]"#;
        for agent in ["0.0.40", "0.0.48", "0.1.14"] {
            assert_eq!(user(&value, "1.0", agent), (some(binary), vec![]));
        }
    }

    #[test]
    fn a_medium_without_a_type_is_no_binary_part() {
        let value = r#"[{"type":"image","source":{"type":"url","value":"h"}}]"#;
        assert_eq!(user(value, "1.0", "0.0.47"), (some("[]"), vec!["image_part"]));
        assert_eq!(user(value, "1.0", "0.0.49"), (None, vec![]));
    }

    #[test]
    fn metadata_beside_the_file_name_is_lost_in_a_binary_part() {
        let value = r#"[{"type":"image","source":{"type":"data","value":"d","mimeType":"i/p"},"metadata":{"filename":"x","alt":1}}]"#;
        let binary = r#"[{"type":"binary","mimeType":"i/p","data":"d","filename":"x"}]"#;
        assert_eq!(user(value, "1.0", "0.0.47"), (some(binary), vec!["part_metadata"]));
    }

    #[test]
    fn media_stay_for_agents_that_have_them() {
        let value = format!(
            r#"[{IMAGE},{{"type":"image","source":{{"type":"file","value":"f"}}}},{{"type":"hologram"}},{{"type":"binary","mimeType":"i/p","id":"b"}}]"#
        );
        let rest = r#"[{"type":"image","source":{"type":"data","value":"iV","mimeType":"image/png"}},{"type":"binary","mimeType":"i/p","id":"b"}]"#;
        for agent in ["0.0.49", "0.0.59"] {
            assert_eq!(user(&value, "1.0", agent), (some(rest), vec!["file_source", "unknown_part"]));
        }
        assert_eq!(user(&value, "1.0", "1.1"), (None, vec![]));
    }

    #[test]
    fn binary_parts_become_media() {
        for (binary, medium) in [
            (
                r#"{"type":"binary","mimeType":"image/png","data":"d"}"#,
                r#"{"type":"image","source":{"type":"data","value":"d","mimeType":"image/png"}}"#,
            ),
            (
                r#"{"type":"binary","mime_type":"AUDIO/ogg","url":"u","data":null,"filename":"f.ogg"}"#,
                r#"{"type":"audio","source":{"type":"url","value":"u","mimeType":"AUDIO/ogg"},"metadata":{"filename":"f.ogg"}}"#,
            ),
            (
                r#"{"type":"binary","mimeType":"video/mp4","data":"","url":"u"}"#,
                r#"{"type":"video","source":{"type":"url","value":"u","mimeType":"video/mp4"}}"#,
            ),
            (
                r#"{"type":"binary","mimeType":"text/csv","data":"d","id":"i","filename":null}"#,
                r#"{"type":"document","source":{"type":"data","value":"d","mimeType":"text/csv"}}"#,
            ),
        ] {
            for (client, agent) in [("0.0.48", "0.0.49"), ("0.0.40", "1.0"), ("0.0.59", "1.0")] {
                let (text, lost) = user(&format!("[{binary}]"), client, agent);
                assert_eq!((text, lost), (Some(format!("[{medium}]")), vec![]));
            }
            for (client, agent) in [("0.0.47", "0.0.47"), ("0.0.40", "0.0.48"), ("0.0.49", "0.0.59")] {
                assert_eq!(user(&format!("[{binary}]"), client, agent), (None, vec![]));
            }
        }
    }

    #[test]
    fn what_one_form_has_from_the_other_is_not_there_twice() {
        let binary = r#"[{"type":"binary","mimeType":"image/png","mime_type":"a/b","data":"d","source":{"type":"url","value":"x"}}]"#;
        let (text, _) = user(binary, "0.0.48", "1.0");
        let text = text.unwrap();
        assert_eq!(text.matches("\"source\"").count(), 1, "{text}");
        let medium = r#"[{"type":"image","mimeType":"a/b","data":"x","url":"y","filename":"z","source":{"type":"data","value":"d","mimeType":"i/p"}}]"#;
        let expected = r#"[{"type":"binary","mimeType":"i/p","data":"d"}]"#;
        assert_eq!(user(medium, "1.0", "0.0.47"), (some(expected), vec![]));
    }

    #[test]
    fn a_handle_alone_is_no_medium() {
        let value = r#"[{"type":"binary","mimeType":"i/p","id":"h"},{"type":"binary","data":"no type"}]"#;
        let rest = r#"[{"type":"binary","data":"no type"}]"#;
        assert_eq!(user(value, "0.0.47", "1.0"), (some(rest), vec!["binary_part"]));
    }

    #[test]
    fn a_medium_sent_in_both_forms_arrives_once() {
        let (modern, binary) = (
            r#"{"type":"image","source":{"type":"data","value":"iV","mimeType":"image/png"}}"#,
            r#"{"type":"binary","mimeType":"image/png","data":"iV"}"#,
        );
        for value in [format!("[{modern},{binary}]"), format!("[{binary},{modern}]")] {
            assert_eq!(user(&value, "0.0.52", "1.0"), (Some(format!("[{modern}]")), vec![]));
            assert_eq!(user(&value, "0.0.52", "0.0.47"), (Some(format!("[{binary}]")), vec![]));
        }
        let named = r#"{"type":"binary","mimeType":"image/png","data":"iV","filename":"f"}"#;
        let both = user(&format!("[{modern},{named}]"), "0.0.52", "1.0").0.unwrap();
        assert!(both.contains("filename"), "a file name is not lost with its part: {both}");
    }

    #[test]
    fn nulls_in_media_of_older_clients_go() {
        let value = r#"[{"type":"image","source":{"type":"url","value":"u","mime_type":null},"metadata":null}]"#;
        let rest = r#"[{"type":"image","source":{"type":"url","value":"u"}}]"#;
        assert_eq!(user(value, "0.1.19", "1.0"), (some(rest), vec![]));
    }
}
