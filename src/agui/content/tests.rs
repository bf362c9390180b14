#![allow(clippy::unwrap_used)]

use super::*;

fn made(edited: Option<Vec<u8>>, losses: Losses) -> Option<(String, Vec<&'static str>)> {
    let text = edited.map(|text| String::from_utf8(text).unwrap());
    assert!(text.is_some() || losses == Losses::default(), "what stays loses nothing");
    text.map(|text| (text, losses.into_vec()))
}

fn flat(content: &str) -> Option<(String, Vec<&'static str>)> {
    let mut losses = Losses::default();
    made(flattened(content.as_bytes(), &mut losses), losses)
}

fn between(content: &str, sent: Parts, read: Parts) -> Option<(String, Vec<&'static str>)> {
    let mut losses = Losses::default();
    made(reshaped(content.as_bytes(), (sent, read), &mut losses, |_, _, _| Change::Keep), losses)
}

fn some(content: &str, losses: &[&'static str]) -> Option<(String, Vec<&'static str>)> {
    Some((content.into(), losses.to_vec()))
}

const IMAGE: &str = r#"{"type":"image","source":{"type":"data","value":"QQ==","mimeType":"image/png"}}"#;
const BINARY: &str = r#"{"type":"binary","mimeType":"image/png","data":"QQ=="}"#;

#[test]
fn texts_are_joined_with_nothing_between_them_and_keep_their_spelling() {
    let two = r#"[{"type":"text","text":"a\u00e9"},{"text":"\"b","type":"text"}]"#;
    assert_eq!(flat(two), some(r#""a\u00e9\"b""#, &[]));
    assert_eq!(flat("[]"), some(r#""""#, &[]));
    let mixed = format!(r#"[{IMAGE},{{"type":"text","text":"a"}},{{"type":"new"}}]"#);
    assert_eq!(flat(&mixed), some(r#""a""#, &["image_part", "unknown_part"]));
}

#[test]
fn malformed_content_is_not_repaired() {
    let malformed = [
        r#""text""#,
        "null",
        "{}",
        "[1]",
        "[{}]",
        r#"[{"type":1}]"#,
        r#"[{"type":"text","text":"a"}"#,
        r#"[{"type":"new"}"#,
        r#"[{"type":"text","text":42}]"#,
        r#"[{"type":"text"}]"#,
    ];
    for content in malformed {
        assert_eq!(flat(content), None, "{content}");
        for read in [Parts::Text, Parts::Binary, Parts::Media, Parts::All] {
            assert_eq!(between(content, Parts::All, read), None, "{content}");
            assert_eq!(between(content, Parts::Text, read), None, "{content}");
        }
    }
}

#[test]
fn media_become_binary_where_their_type_is_known() {
    let reshape = |part: &str| between(&format!("[{part}]"), Parts::All, Parts::Binary);
    let named = r#"{"type":"document","id":"p","metadata":{"filename":"f"},"source":{"type":"url","value":"http://x/","mimeType":"text/csv"}}"#;
    let binary = r#"[{"type":"binary","filename":"f","mimeType":"text/csv","url":"http://x/"}]"#;
    assert_eq!(reshape(named), some(binary, &[]));
    assert_eq!(reshape(IMAGE), some(&format!("[{BINARY}]"), &[]));
    let untold = r#"{"type":"image","source":{"type":"data","value":"QQ==","mimeType":""}}"#;
    assert_eq!(reshape(untold), some(r#"[{"type":"binary","mimeType":"","data":"QQ=="}]"#, &[]));
    for (gone, shape) in [
        (r#"{"type":"image","source":{"type":"url","value":"http://x/"}}"#, "image_part"),
        (r#"{"type":"image","source":{"type":"file","value":"f","mimeType":"image/png"}}"#, "file_source"),
        (r#"{"type":"image","source":{"type":"data","value":"","mimeType":"image/png"}}"#, "image_part"),
        (r#"{"type":"new"}"#, "unknown_part"),
    ] {
        assert_eq!(reshape(gone), some("[]", &[shape]), "{gone}");
    }
    for kept in [
        r#"{"type":"text","text":"a","id":"p"}"#,
        r#"{"type":"image","source":{"type":"data","value":"QQ=="}}"#,
        r#"{"type":"image","source":{"type":"url","value":1,"mimeType":"image/png"}}"#,
        r#"{"type":"image","source":{}}"#,
    ] {
        assert_eq!(reshape(kept), None, "what the peer reads, and what nobody reads, stays: {kept}");
    }
}

#[test]
fn handles_and_unknown_parts_go_where_media_are_known() {
    let reshape = |part: &str| between(&format!("[{part}]"), Parts::All, Parts::Media);
    assert_eq!(reshape(IMAGE), None);
    assert_eq!(reshape(BINARY), None);
    assert_eq!(reshape(r#"{"type":"video","source":{"type":"url","value":"http://x/"}}"#), None);
    assert_eq!(reshape(r#"{"type":"image","source":{"type":"file","value":"f"}}"#), some("[]", &["file_source"]));
    assert_eq!(reshape(r#"{"type":"image","source":{"type":"new"}}"#), some("[]", &["unknown_part"]));
    assert_eq!(reshape(r#"{"type":"new"}"#), some("[]", &["unknown_part"]));
    assert_eq!(reshape(r#"{"type":"image","source":1}"#), None, "the peer refuses it");
}

#[test]
fn binary_becomes_media_for_a_reader_that_knows_more_than_the_sender() {
    let binary = format!("[{BINARY}]");
    for (sent, read) in [(Parts::Binary, Parts::Media), (Parts::Binary, Parts::All), (Parts::Media, Parts::All)] {
        assert_eq!(between(&binary, sent, read), some(&format!("[{IMAGE}]"), &[]));
    }
    for (sent, read) in [(Parts::Text, Parts::Binary), (Parts::Media, Parts::Media), (Parts::All, Parts::All)] {
        assert_eq!(between(&binary, sent, read), None);
    }
}

#[test]
fn a_version_reads_the_parts_of_its_time() {
    let parts = [40, 41, 48, 49, 59].map(|n| Parts::read_by_client(Version::npm(n)));
    assert_eq!(parts, [Parts::Text, Parts::Binary, Parts::Binary, Parts::Media, Parts::Media]);
    let parts = [39, 40].map(|n| Parts::read_by_agent(Version::npm(n)));
    assert_eq!(parts, [Parts::Text, Parts::Binary]);
    assert_eq!(Parts::read_by_client(Version::V1_0), Parts::All);
}
