//! Snapshots and deltas of the state and of activities.
use super::*;

fn snapshot(value: &str) -> String {
    format!(r#"{{"type":"STATE_SNAPSHOT","snapshot":{value}}}"#)
}

fn delta(operations: &str) -> String {
    format!(r#"{{"type":"STATE_DELTA","delta":[{operations}]}}"#)
}

fn set(name: &str, value: usize) -> String {
    format!(r#"{{"op":"replace","path":"/{name}","value":{value}}}"#)
}

fn out(list: &[String]) -> Vec<String> {
    let list: Vec<_> = list.iter().map(|text| (0, text)).collect();
    sent(every(50), &list).into_iter().map(|(_, text)| text).collect()
}

#[test]
fn of_the_snapshots_in_a_window_the_last_one_wins() {
    let list = [(0, "1"), (1, "2"), (2, "3"), (60, "4"), (70, "5")].map(|(ms, value)| (ms, snapshot(value)));
    let mut stream = played(every(50), &list);
    assert_eq!(stream.sent, [(0, snapshot("1")), (51, snapshot("3"))]);
    stream.end();
    assert_eq!(stream.sent[2..], [(70, snapshot("5"))]);
    assert_eq!(stream.sink.merged.len(), 2);
    assert!(stream.sink.merged.iter().all(|merged| merged.kind == EventKind::StateSnapshot && merged.saved > 0));
}

#[test]
fn a_snapshot_replaces_the_deltas_before_it_too() {
    let list = [snapshot("{}"), delta(""), snapshot("1"), delta(""), snapshot(r#"{"a":1}"#), delta(&set("a", 2))];
    assert_eq!(out(&list), [snapshot("{}"), snapshot(r#"{"a":1}"#), delta(&set("a", 2))]);
}

#[test]
fn patches_that_apply_are_one() {
    let list = [
        snapshot(r#"{"a":1,"b":2}"#),
        delta(&set("a", 2)),
        delta(" "),
        delta(r#" {"op":"add","path":"/c","value":{}} "#),
        delta(&set("c", 3)),
    ];
    let merged = delta(&[&set("a", 2), r#"{"op":"add","path":"/c","value":{}}"#, &set("c", 3)].join(","));
    assert_eq!(out(&list), [snapshot(r#"{"a":1,"b":2}"#), merged]);
    let list = [snapshot("{}"), delta(""), delta(""), delta(r#"{"op":"add","path":"/a","value":1}"#), delta("")];
    assert_eq!(out(&list)[1..], [delta(r#"{"op":"add","path":"/a","value":1}"#)]);
}

#[test]
fn patches_that_do_not_apply_or_cannot_be_judged_leave_in_order_in_one_write() {
    let list =
        [snapshot(r#"{"a":1}"#), delta(&set("a", 2)), delta(&set("x", 1)), delta(&set("a", 3)), delta(&set("a", 4))];
    let mut stream = played(every(50), &list.clone().map(|text| (0, text)));
    assert_eq!(stream.sent.len(), 1);
    stream.until(60);
    let expected = [&list[1], &list[2], &delta(&[set("a", 3), set("a", 4)].join(","))];
    assert_eq!(stream.texts()[1..], expected);
    assert!(stream.sent[1..].iter().all(|(ms, _)| *ms == 50));
    let blind = [delta(&set("a", 1)), delta(&set("a", 2)), delta(&set("a", 3))];
    assert_eq!(out(&blind), blind, "the state is not known");
    let odd = delta(r#"{"op":"merge","path":"/a"}"#);
    let list = [snapshot(r#"{"a":1}"#), delta(&set("a", 2)), odd.clone(), delta(&set("a", 3)), delta(&set("a", 4))];
    assert_eq!(out(&list), list, "not every client reads it alike");
    let list = [snapshot("null"), delta(&set("a", 2)), delta(r#"{"op":"add","path":"","value":1}"#)];
    assert_eq!(out(&list), list);
}

#[test]
fn a_patch_is_not_merged_with_a_test_that_fails() {
    let test = delta(r#"{"op":"replace","path":"/a","value":9},{"op":"test","path":"/b","value":0}"#);
    let list = [snapshot(r#"{"a":1}"#), delta(&set("a", 2)), test, delta(&set("a", 3))];
    assert_eq!(out(&list), list);
}

#[test]
fn patches_of_several_owners_stay_apart() {
    let of_s = r#"{"type":"STATE_DELTA","subagentRunId":"s","delta":[]}"#.to_owned();
    let list = [snapshot("{}"), delta(""), of_s.clone(), of_s.clone(), delta("")];
    assert_eq!(out(&list), [snapshot("{}"), delta(""), of_s, delta("")]);
}

#[test]
fn the_raw_events_of_what_is_replaced_or_merged_are_named() {
    let raw = |text: String| text.replacen(',', r#","rawEvent":1,"#, 1);
    let list = [snapshot("{}"), raw(snapshot("1")), raw(snapshot("{}")), raw(delta("")), raw(delta(""))];
    let mut stream = played(every(50), &list.map(|text| (0, text)));
    stream.end();
    assert_eq!(stream.texts(), [snapshot("{}"), raw(snapshot("{}")), delta("")]);
    assert_eq!(stream.sink.dropped.len(), 3);
}

#[test]
fn what_a_snapshot_says_besides_is_not_replaced() {
    let more = r#"{"type":"STATE_SNAPSHOT","snapshot":1,"metadata":{"k":1}}"#.to_owned();
    let list = [snapshot("1"), more.clone(), snapshot("2"), more, snapshot("3")];
    assert_eq!(out(&list), list);
}

#[test]
fn the_state_that_is_tracked_is_bounded() {
    let policy = Policy { limit: 2000, ..every(50) };
    let mut stream = Stream::with(policy);
    stream.event(&snapshot(&format!("{:?}", "x".repeat(3000))));
    assert!(stream.pipeline.held() < 1000);
    for n in 0..100 {
        stream.event(&activity(&format!("a{n}"), &format!(r#"{{"x":"{}"}}"#, "x".repeat(200)), ""));
        stream.event(STEP);
        assert!(stream.pipeline.held() < 3000);
    }
}

fn activity(id: &str, content: &str, rest: &str) -> String {
    format!(r#"{{"type":"ACTIVITY_SNAPSHOT","messageId":"{id}","activityType":"t","content":{content}{rest}}}"#)
}

fn patch(id: &str, operations: &str) -> String {
    format!(r#"{{"type":"ACTIVITY_DELTA","messageId":"{id}","activityType":"t","patch":[{operations}]}}"#)
}

#[test]
fn activities_are_told_apart_and_the_last_snapshot_of_each_wins() {
    let list = [("a", "{}"), ("b", "{}"), ("a", "{}"), ("b", "{}"), ("a", r#"{"n":1}"#), ("b", r#"{"n":1}"#)];
    let list = [&list[..], &[("a", r#"{"n":2}"#), ("b", r#"{"n":2}"#)]].concat();
    let list: Vec<_> = list.iter().map(|(id, content)| activity(id, content, "")).collect();
    assert_eq!(out(&list), [&*list[0], &list[1], &list[2], &list[7], &list[6]]);
}

#[test]
fn activities_appear_in_the_order_in_which_they_came() {
    let list = [patch("a", ""), activity("a", "{}", ""), activity("b", "{}", ""), patch("a", "")];
    assert_eq!(out(&list), list);
}

#[test]
fn a_snapshot_that_replaces_nothing_stays_beside_the_others() {
    let yields = activity("a", r#"{"n":9}"#, r#","replace":false"#);
    let list = [activity("a", "{}", ""), activity("a", r#"{"n":1}"#, ""), yields.clone(), yields.clone()];
    assert_eq!(out(&list), list);
    let list = [activity("a", "{}", ""), yields, activity("a", r#"{"n":1}"#, r#","replace":true"#)];
    assert_eq!(out(&list), [&*list[0], &list[2]]);
}

#[test]
fn patches_of_a_known_activity_are_one() {
    let list = [
        activity("a", r#"{"n":1}"#, ""),
        patch("a", &set("n", 2)),
        patch("a", &set("n", 3)),
        patch("b", &set("n", 1)),
        patch("b", &set("n", 1)),
        patch("b", &set("n", 1)),
    ];
    let merged = patch("a", &[set("n", 2), set("n", 3)].join(","));
    assert_eq!(out(&list), [&*list[0], &list[3], &merged, &list[4], &list[5]]);
    let yields = activity("a", "{}", r#","replace":false"#);
    let list = [yields, patch("a", &set("n", 2)), patch("a", &set("n", 3))];
    assert_eq!(out(&list), list, "another may be there already");
}

#[test]
fn an_activity_stays_an_object_or_is_not_known() {
    let root = patch("a", r#"{"op":"replace","path":"","value":[]}"#);
    let list = [
        activity("a", r#"{"n":1}"#, ""),
        patch("a", &set("n", 2)),
        root.clone(),
        patch("a", &set("n", 3)),
        patch("a", &set("n", 4)),
    ];
    assert_eq!(out(&list), list);
}

#[test]
fn when_the_messages_are_replaced_no_activity_is_known() {
    let messages = r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#.to_owned();
    let list = [
        activity("a", r#"{"n":1}"#, ""),
        messages,
        patch("a", &set("n", 2)),
        patch("a", &set("n", 3)),
        patch("a", &set("n", 4)),
    ];
    assert_eq!(out(&list), list);
}

#[test]
fn what_cannot_be_read_makes_the_state_unknown() {
    for odd in [r#"{"type":"STATE_SNAPSHOT","snapshot":1,"snapshot":{"a":1}}"#, r#"{"type":"STATE_DELTA","delta":[1]}"#]
    {
        let list =
            [snapshot(r#"{"a":1}"#), odd.to_owned(), delta(&set("a", 2)), delta(&set("a", 3)), delta(&set("a", 4))];
        assert_eq!(out(&list), list, "{odd}");
    }
}
