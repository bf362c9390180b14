//! What a client of 0.0.45 is told of activity and reasoning in a snapshot.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::pipeline::downgrade::trial::Trial;

fn trial(npm: u32, events: &[&str]) -> Trial {
    Trial::of(Restate::needed_by(Version::npm(npm)).unwrap(), events)
}

fn snapshot(messages: &str) -> String {
    format!(r#"{{"type":"MESSAGES_SNAPSHOT","messages":[{messages}]}}"#)
}

/// The last event, for a client of this version, of these and a snapshot of these messages.
fn last(npm: u32, events: &[&str], messages: &str) -> String {
    let snapshot = snapshot(messages);
    let events: Vec<_> = events.iter().copied().chain([&*snapshot]).collect();
    let trial = trial(npm, &events);
    assert_eq!(trial.texts[..events.len() - 1], events[..events.len() - 1], "what is streamed passes");
    trial.texts.last().unwrap().clone()
}

const THOUGHT: [&str; 3] = [
    r#"{"type":"REASONING_MESSAGE_START","messageId":"z","role":"reasoning"}"#,
    r#"{"type":"REASONING_MESSAGE_CONTENT","messageId":"z","delta":"a\u00e9"}"#,
    r#"{"type":"REASONING_MESSAGE_CONTENT","messageId":"z","delta":"\"b"}"#,
];
const Z: &str = r#"{"id":"z","role":"reasoning","content":"a\u00e9\"b"}"#;
const PLAN: &str = r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"p","activityType":"PLAN","content":{"n":1.50}}"#;
const P: &str = r#"{"id":"p","role":"activity","activityType":"PLAN","content":{"n":1.50}}"#;
const TEXT: &str = r#"{"type":"TEXT_MESSAGE_START","messageId":"t"}"#;
const T: &str = r#"{"id":"t","role":"assistant","content":"x"}"#;
const U: &str = r#"{"id":"u","role":"user","content":"q"}"#;

#[test]
fn what_the_client_would_delete_is_stated_again() {
    let events = [&THOUGHT[..], &[PLAN]].concat();
    assert_eq!(last(45, &events, ""), snapshot(&format!("{Z},{P}")));
    assert_eq!(last(44, &events, ""), snapshot(P));
    assert_eq!(last(46, &events, ""), snapshot(Z));
    assert!(Restate::needed_by(Version::npm(40)).is_none() && Restate::needed_by(Version::npm(50)).is_none());
}

#[test]
fn it_stands_between_its_neighbours() {
    let before = [&THOUGHT[..], &[TEXT]].concat();
    assert_eq!(last(45, &before, &format!("{U},{T}")), snapshot(&format!("{U},{Z},{T}")));
    let after = [&[TEXT], &THOUGHT[..], &[PLAN]].concat();
    assert_eq!(last(45, &after, &format!("{U},{T},{{}}")), snapshot(&format!("{U},{T},{Z},{P},{{}}")));
    assert_eq!(last(45, &after, U), snapshot(&format!("{U},{Z},{P}")));
}

#[test]
fn without_neighbours_it_stands_where_the_turn_began() {
    let other = r#"{"id":"o","role":"assistant","content":"x"}"#;
    let events = [&THOUGHT[..], &[TEXT]].concat();
    let (first, asked) = (r#"{"id":"f","role":"user","content":"q"}"#, format!("{U},{other}"));
    assert_eq!(last(45, &events, &format!("{first},{asked}")), snapshot(&format!("{first},{U},{Z},{other}")));
    assert_eq!(last(45, &events, other), snapshot(&format!("{other},{Z}")), "at the end if nobody asked");
}

#[test]
fn a_role_that_the_snapshot_carries_is_left_to_it() {
    let other = r#"{"id":"y","role":"reasoning","content":"other"}"#;
    assert_eq!(last(45, &[&THOUGHT[..], &[PLAN]].concat(), other), snapshot(&format!("{other},{P}")));
    let first = snapshot(&format!("{other},{U}"));
    let events = [&THOUGHT[..], &[&first]].concat();
    assert_eq!(last(45, &events, U), snapshot(&format!("{other},{U}")), "and kept from then on");
}

#[test]
fn patches_chunks_and_encrypted_values_are_followed() {
    let events = [
        PLAN,
        r#"{"type":"ACTIVITY_DELTA","messageId":"p","activityType":"TODO","patch":[{"op":"add","path":"/m","value":2}]}"#,
        r#"{"type":"ACTIVITY_DELTA","messageId":"p","activityType":"NO","patch":[{"op":"remove","path":"/none"}]}"#,
        r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"p","activityType":"NO","content":{},"replace":false}"#,
        r#"{"type":"REASONING_MESSAGE_CHUNK","messageId":"z","delta":"a"}"#,
        r#"{"type":"REASONING_MESSAGE_CHUNK","delta":"b"}"#,
        r#"{"type":"REASONING_ENCRYPTED_VALUE","subtype":"message","entityId":"z","encryptedValue":"e"}"#,
    ];
    let activity = r#"{"id":"p","role":"activity","activityType":"TODO","content":{"m":2,"n":1.5}}"#;
    let reasoning = r#"{"id":"z","role":"reasoning","content":"ab","encryptedValue":"e"}"#;
    assert_eq!(last(45, &events, ""), snapshot(&format!("{activity},{reasoning}")));
}

#[test]
fn past_its_limit_it_stops_and_names_the_loss() {
    let long =
        format!(r#"{{"type":"REASONING_MESSAGE_CONTENT","messageId":"z","delta":"{}"}}"#, "x".repeat(kept::HELD_MAX));
    let empty = snapshot("");
    let carrying = snapshot(Z);
    let trial = trial(45, &[THOUGHT[0], &long, &empty, &carrying]);
    assert_eq!(trial.texts[2..], [empty, carrying]);
    assert_eq!(trial.losses, [Loss::Part("reasoning")]);
}

#[test]
fn a_patch_cannot_make_it_grow_without_end() {
    let copies = r#"{"op":"copy","from":"","path":"/x"},"#.repeat(40);
    let patch = format!(
        r#"{{"type":"ACTIVITY_DELTA","messageId":"p","activityType":"A","patch":[{}]}}"#,
        copies.trim_end_matches(',')
    );
    let empty = snapshot("");
    let trial = trial(45, &[PLAN, &patch, &empty]);
    assert_eq!(trial.texts[2], empty);
    assert_eq!(trial.losses, [Loss::Part("activity")]);
}

#[test]
fn a_stream_without_either_passes() {
    let snapshots = [snapshot(U), snapshot(""), r#"{"type":"MESSAGES_SNAPSHOT","messages":1}"#.to_owned()];
    let events = [TEXT, &snapshots[0], &snapshots[1], &snapshots[2]];
    trial(45, &events).assert_untouched(&events);
}
