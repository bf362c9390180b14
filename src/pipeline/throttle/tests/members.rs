//! What becomes of the members beside the delta.
use super::*;

fn with(delta: &str, rest: &str) -> String {
    format!(r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"{delta}"{rest}}}"#)
}

fn merged(policy: Policy, events: &[(&str, &str)]) -> (Vec<String>, Vec<super::super::super::Dropped>) {
    let list: Vec<_> = events.iter().map(|(delta, rest)| (0, with(delta, rest))).collect();
    let mut stream = played(policy, &[vec![(0, with("0", ""))], list].concat());
    stream.end();
    (stream.sent.into_iter().skip(1).map(|(_, text)| text).collect(), stream.sink.dropped)
}

#[test]
fn metadata_is_merged_key_by_key_and_the_last_value_counts() {
    let (out, dropped) = merged(
        every(50),
        &[
            ("a", r#","metadata":{"k":1.0,"l":{"x":1}}"#),
            ("b", ""),
            ("c", r#","metadata":{"l":{"y":2},"m":null}"#),
            ("d", r#","metadata":{"\u006b":2,"k":3}"#),
        ],
    );
    assert_eq!(out, [with("abcd", r#","metadata":{"k":3,"l":{"y":2},"m":null}"#)]);
    assert!(dropped.is_empty());
    let (out, _) = merged(every(50), &[("a", ""), ("b", r#","metadata":{"k":[1, 2]}"#)]);
    assert_eq!(out, [with("ab", r#","metadata":{"k":[1, 2]}"#)]);
    let same = r#","metadata": {"k" : 1}"#;
    assert_eq!(merged(every(50), &[("a", same), ("b", same)]).0, [with("ab", same)], "its spelling stays");
    let (out, _) = merged(
        every(50),
        &[("a", r#","metadata":{"k":1}"#), ("b", r#","metadata":{"k":2}"#), ("c", r#","metadata":{"k":1}"#)],
    );
    assert_eq!(out, [with("abc", r#","metadata":{"k":1}"#)]);
}

#[test]
fn metadata_stays_within_its_item() {
    let other = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"n","delta":"x","metadata":{"k":1}}"#;
    let list = [with("a", ""), other.into(), with("b", ""), other.into(), with("c", "")].map(|text| (0, text));
    let out = sent(every(50), &list);
    assert_eq!(
        out.iter().map(|(_, text)| &**text).collect::<Vec<_>>(),
        [&with("a", ""), other, &with("bc", ""), other]
    );
}

#[test]
fn an_empty_delta_that_carries_metadata_is_not_swallowed() {
    let empty = with("", r#","metadata":{"k":1}"#);
    assert_eq!(merged(every(50), &[("", r#","metadata":{"k":1}"#)]).0, [&*empty]);
    assert_eq!(
        merged(every(50), &[("a", ""), ("", r#","metadata":{"k":1}"#)]).0,
        [with("a", r#","metadata":{"k":1}"#)]
    );
    assert_eq!(sent(every(50), &[(0, empty.clone())]), [(0, empty)]);
}

#[test]
fn metadata_given_very_often_costs_no_more_than_it_is_long() {
    let many: Vec<_> = (0..20_000).map(|n| format!("\"k{n}\":{n}")).collect();
    let (one, two) = (format!(r#","metadata":{{{}}}"#, many.join(",")), r#","metadata":{"k0":1}"#);
    let began = Instant::now();
    let (out, _) = merged(every(50), &[("a", &one), ("b", two), ("c", &one)]);
    assert_eq!(out.len(), 1);
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn the_timestamp_is_that_of_the_first() {
    let (out, _) = merged(every(50), &[("a", r#","timestamp":1"#), ("b", r#","timestamp":2"#), ("c", "")]);
    assert_eq!(out, [with("abc", r#","timestamp":1"#)]);
    assert_eq!(merged(every(50), &[("a", ""), ("b", r#","timestamp":2"#)]).0, [with("ab", "")]);
}

#[test]
fn raw_events_of_what_is_merged_are_dropped_and_named() {
    let (out, dropped) = merged(every(50), &[("a", r#","rawEvent":{"x":1}"#), ("b", r#","rawEvent":2"#), ("c", "")]);
    assert_eq!(out, [with("abc", "")]);
    assert_eq!(dropped.len(), 2);
    assert!(dropped.iter().all(|dropped| (dropped.stage, dropped.reason) == ("throttle", "raw_event")));
    let (out, dropped) = merged(every(50), &[("a", r#","rawEvent":{"x":1}"#)]);
    assert_eq!((out.len(), dropped.len()), (1, 0), "what is not merged keeps it");
    assert!(out[0].contains("rawEvent"));
}

#[test]
fn raw_events_that_are_kept_make_barriers() {
    let policy = Policy { keep_raw_event: true, ..every(50) };
    let (out, dropped) = merged(policy, &[("a", ""), ("b", r#","rawEvent":1"#), ("c", ""), ("d", ""), ("e", "")]);
    assert_eq!(out, [with("a", ""), with("b", r#","rawEvent":1"#), with("c", ""), with("de", "")]);
    assert!(dropped.is_empty());
    let snapshot = r#"{"type":"STATE_SNAPSHOT","snapshot":1,"rawEvent":1}"#;
    assert_eq!(played(policy, &[(0, snapshot); 3]).texts(), [snapshot; 3]);
}

#[test]
fn members_that_nobody_describes_are_merged_only_where_they_are_the_same() {
    let (x, y) = (r#","x":{"a":1},"y":2"#, r#","y":2,"x":{"a":1}"#);
    assert_eq!(merged(every(50), &[("a", x), ("b", y), ("c", x)]).0, [with("abc", x)]);
    let (out, _) = merged(every(50), &[("a", r#","x":1"#), ("b", r#","x":1.0"#), ("c", ""), ("d", "")]);
    assert_eq!(out, [with("a", r#","x":1"#), with("b", r#","x":1.0"#), with("cd", "")], "it is the first of a window");
}
