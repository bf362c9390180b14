#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fmt;

use proptest::prelude::*;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::*;

fn scan(body: &[u8]) -> InputFacts {
    scan_cut(body, &[])
}

/// The facts of a body that comes in pieces of these sizes, over and over.
fn scan_cut(body: &[u8], sizes: &[usize]) -> InputFacts {
    let mut scan = InputScan::new();
    let mut sizes = sizes.iter().cycle();
    let mut rest = body;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at((*sizes.next().unwrap_or(&rest.len())).clamp(1, rest.len()));
        scan.feed(piece);
        rest = after;
    }
    scan.finish()
}

fn value(text: &Option<Text>) -> Option<&str> {
    text.as_ref().map(|text| text.value.as_str())
}

#[test]
fn the_members_of_a_run_input_are_found() {
    let facts = scan(
        br#"{"threadId":"t-1","runId":"r-1","parentRunId":"p-1","protocolVersion":"1.1","state":{"runId":"no"},
            "messages":[{"id":"m","threadId":"no","content":"\"}]"}],"tools":[],"n":-1.5e3,"b":true}"#,
    );
    assert_eq!(value(&facts.thread_id), Some("t-1"));
    assert_eq!(value(&facts.run_id), Some("r-1"));
    assert_eq!(value(&facts.parent_run_id), Some("p-1"));
    assert_eq!(value(&facts.protocol_version), Some("1.1"));
    assert!(facts.messages && facts.complete && facts.is_run_input());
}

#[test]
fn what_makes_a_run_input() {
    let cases: &[(&str, bool)] = &[
        (r#"{"threadId":"t","runId":"r"}"#, true),
        ("\u{feff} \r\n{\"thread_id\" : \"t\" ,\t\"run_id\":\"r\"} \n", true),
        (r#"{"messages":[],"threadId":"t"}"#, true),
        (r#"{"messages":[{}],"run_id":"r"}"#, true),
        (r#"{"\u0074hreadId":"t","messages":[]}"#, true),
        (r#"{"messages":[]}"#, false),
        (r#"{"messages":{},"threadId":"t"}"#, false),
        (r#"{"messages":[],"messages":"","threadId":"t"}"#, false),
        (r#"{"threadId":"t","runId":5}"#, false),
        (r#"{"threadId":"t","runId":"r","runId":null}"#, false),
        (r#"{"threadId":"t","runId":"r"},"#, false),
        (r#"{"threadId":"t","runId":"r"}{}"#, false),
        (r#"{"threadId":"t","runId":"r""#, false),
        (r#"{"threadId":"t","runId":"r",}"#, false),
        (r#"{"threadId":"t" "runId":"r"}"#, false),
        (r#"{"threadId":"t","runId":"r","x":?}"#, false),
        (r#"{threadId:"t","runId":"r"}"#, false),
        (r#"[{"threadId":"t","runId":"r"}]"#, false),
        (r#"{"a":{"threadId":"t","runId":"r"}}"#, false),
        (r#"{"THREADID":"t","runId":"r"}"#, false),
        ("{}", false),
        ("threadId=t&runId=r", false),
        ("", false),
    ];
    for (body, expected) in cases {
        assert_eq!(scan(body.as_bytes()).is_run_input(), *expected, "{body}");
        for cut in 1..body.len() {
            assert_eq!(scan_cut(body.as_bytes(), &[cut, body.len()]), scan(body.as_bytes()), "{body} cut at {cut}");
        }
    }
}

#[test]
fn facts_are_known_as_soon_as_they_have_passed() {
    let mut scan = InputScan::new();
    scan.feed(br#"{"threadId":"t","mess"#);
    assert_eq!(value(&scan.facts().thread_id), Some("t"));
    assert!(!scan.facts().messages);
    scan.feed(br#"ages":["#);
    assert!(scan.facts().messages && !scan.facts().is_run_input());
    scan.feed(b"]}");
    assert!(scan.facts().is_run_input());
}

#[test]
fn the_last_of_two_spellings_counts() {
    let facts = scan(br#"{"threadId":"one","thread_id":"two","run_id":"three","runId":"four"}"#);
    assert_eq!((value(&facts.thread_id), value(&facts.run_id)), (Some("two"), Some("four")));
}

#[test]
fn escapes_are_read() {
    let facts =
        scan(br#"{"threadId":"a\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00z","runId":"\ud800x\udc00\ud83d\ud83d\ude00\u12G4"}"#);
    assert_eq!(value(&facts.thread_id), Some("a\"\\/\u{8}\u{c}\n\r\t\u{e9}\u{1f600}z"));
    assert_eq!(value(&facts.run_id), Some("\u{fffd}x\u{fffd}\u{fffd}\u{1f600}\u{fffd}G4"));
}

#[test]
fn a_long_value_is_cut_at_a_character_and_flagged() {
    for (content, kept) in [
        ("x".repeat(KEPT), KEPT),
        ("x".repeat(KEPT + 1), KEPT),
        ("x".repeat(6 << 20), KEPT),
        (format!("x{}", "é".repeat(KEPT)), KEPT - 1),
        (format!("{}\\u00e9y", "x".repeat(KEPT - 1)), KEPT - 1),
        (format!("{}\\ud83d\\ude00\\u0041", "x".repeat(KEPT - 2)), KEPT - 2),
        (format!("xy{}", "\\ud83d\\ude00".repeat(KEPT)), KEPT - 2),
    ] {
        let facts = scan(format!(r#"{{"threadId":"{content}","runId":"r"}}"#).as_bytes());
        let text = facts.thread_id.as_ref().unwrap();
        assert_eq!((text.value.len(), text.cut), (kept, content.len() > KEPT));
        assert!(facts.is_run_input());
    }
    let facts = scan(&[br#"{"threadId":""#, &[0xFF; KEPT][..], br#""}"#].concat());
    let text = facts.thread_id.unwrap();
    assert!(text.cut && text.value.len() <= KEPT && text.value.chars().all(|char| char == '\u{fffd}'));
}

#[test]
fn deep_nesting_is_counted_not_followed() {
    let depth = 100_000;
    let body = format!(
        r#"{{"state":{}{},"threadId":"t","messages":[{}{}]}}"#,
        "{\"a\":".repeat(depth),
        "1".to_owned() + &"}".repeat(depth),
        "[".repeat(depth),
        "]".repeat(depth),
    );
    assert!(scan(body.as_bytes()).is_run_input());
    assert!(!scan("[".repeat(depth).as_bytes()).is_run_input());
}

/// The facts as a full parser sees them, member by member in order.
struct Reference(InputFacts);

impl<'de> serde::Deserialize<'de> for Reference {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = InputFacts;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<InputFacts, A::Error> {
                let mut facts = InputFacts { complete: true, ..InputFacts::default() };
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    let text = value.as_str().map(|value| Text {
                        value: value[..value.floor_char_boundary(KEPT)].to_owned(),
                        cut: value.len() > KEPT,
                    });
                    match name.as_str() {
                        "threadId" | "thread_id" => facts.thread_id = text,
                        "runId" | "run_id" => facts.run_id = text,
                        "parentRunId" | "parent_run_id" => facts.parent_run_id = text,
                        "protocolVersion" => facts.protocol_version = text,
                        "messages" => facts.messages = value.is_array(),
                        _ => {}
                    }
                }
                Ok(facts)
            }
        }
        from.deserialize_map(Members).map(Self)
    }
}

/// A JSON string of this text, with every character escaped or only those that must be.
fn json_string(text: &str, escape: bool) -> String {
    let mut out = String::from("\"");
    for char in text.chars() {
        if escape || char < ' ' || char == '"' || char == '\\' {
            for unit in char.encode_utf16(&mut [0; 2]) {
                out += &format!("\\u{unit:04X}");
            }
        } else {
            out.push(char);
        }
    }
    out + "\""
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![".{0,12}", "[\"\\\\\u{0}-\u{1f}é\u{2028}\u{1f600}a{}\\[\\],:]{0,12}", "[aé\u{1f600}]{60,300}",]
}

fn any_value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (any_text(), any::<bool>()).prop_map(|(text, escape)| json_string(&text, escape)),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>().prop_filter("JSON has only finite numbers", |n| n.is_finite()).prop_map(|n| format!("{n:e}")),
        prop_oneof![Just("true"), Just("false"), Just("null")].prop_map(str::to_owned),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let member = (any_text(), inner.clone()).prop_map(|(name, value)| json_string(&name, false) + ":" + &value);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(" ,\n"))),
            prop::collection::vec(member, 0..4).prop_map(|members| format!("{{{}}}", members.join(","))),
        ]
    })
}

fn any_body() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "threadId",
        "thread_id",
        "runId",
        "run_id",
        "parentRunId",
        "parent_run_id",
        "protocolVersion",
        "messages",
    ]);
    let name = prop_oneof![4 => known.prop_map(str::to_owned), 1 => any_text()];
    let space = prop::sample::select(vec!["", " ", "\n", "\t\r\n "]);
    let member = (name, any::<bool>(), any_value(), space).prop_map(|(name, escape, value, space)| {
        format!("{space}{}{space}:{space}{value}{space}", json_string(&name, escape))
    });
    (prop::collection::vec(member, 0..6), any::<bool>())
        .prop_map(|(members, end)| format!("{{{}}}{}", members.join(","), if end { "\n" } else { "" }))
}

proptest! {
    #[test]
    fn valid_input_has_the_facts_that_a_full_parser_sees_however_it_is_cut(
        body in any_body(),
        sizes in prop::collection::vec(1..40_usize, 1..6),
    ) {
        let Reference(expected) = serde_json::from_str(&body).unwrap();
        prop_assert_eq!(&scan(body.as_bytes()), &expected);
        prop_assert_eq!(&scan_cut(body.as_bytes(), &sizes), &expected);
        prop_assert_eq!(&scan_cut(body.as_bytes(), &[1]), &expected);
    }

    #[test]
    fn any_bytes_have_the_same_facts_however_they_are_cut(
        body in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            prop::collection::vec(prop::sample::select(b"{}[]\",:\\u0dt \xEF\xBB\xBF\xC3".to_vec()), 0..60),
            (any_body(), 0..400_usize, any::<u8>()).prop_map(|(body, at, byte)| {
                let mut body = body.into_bytes();
                let at = at % body.len();
                body[at] = byte;
                body
            }),
        ],
        sizes in prop::collection::vec(1..40_usize, 1..6),
    ) {
        let whole = scan(&body);
        prop_assert_eq!(&scan_cut(&body, &sizes), &whole);
        prop_assert_eq!(&scan_cut(&body, &[1]), &whole);
        if serde_json::from_slice::<Value>(&body).is_ok_and(|value| !value.is_object()) {
            prop_assert!(!whole.is_run_input());
        }
    }
}
