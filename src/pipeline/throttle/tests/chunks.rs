//! Chunks continue what the lanes say, with and without an identifier.
use super::*;

fn chunk(rest: &str, delta: &str) -> String {
    format!(r#"{{"type":"TEXT_MESSAGE_CHUNK"{rest},"delta":"{delta}"}}"#)
}

const M: &str = r#","messageId":"m""#;
const N: &str = r#","messageId":"n""#;
const OPENER: &str = r#","messageId":"m","role":"assistant""#;
const OF_S: &str = r#","messageId":"s","subagentRunId":"s""#;

fn out(list: &[String]) -> Vec<String> {
    let list: Vec<_> = list.iter().map(|text| (0, text)).collect();
    sent(every(50), &list).into_iter().map(|(_, text)| text).collect()
}

#[test]
fn a_chunk_without_an_identifier_continues_the_open_stream() {
    let list = [chunk(OPENER, "a"), chunk("", "b"), chunk(M, "c"), chunk("", "d")];
    assert_eq!(out(&list), [chunk(OPENER, "a"), chunk("", "bcd")]);
    let call = |rest: &str, delta: &str| format!(r#"{{"type":"TOOL_CALL_CHUNK"{rest},"delta":"{delta}"}}"#);
    let opener = r#","toolCallId":"c","toolCallName":"f""#;
    let list = [call(opener, "1"), call("", "2"), call(opener, "3"), call("", "4")];
    assert_eq!(out(&list), [call(opener, "1"), call("", "234")]);
    let thought = |rest: &str, delta: &str| format!(r#"{{"type":"REASONING_MESSAGE_CHUNK"{rest},"delta":"{delta}"}}"#);
    assert_eq!(out(&[thought(M, "1"), thought("", "2"), thought(M, "3")]), [thought(M, "1"), thought("", "23")]);
}

#[test]
fn an_opener_is_a_barrier_and_the_first_delta_of_its_item() {
    let list = [chunk(M, "a"), chunk("", "b"), chunk("", "c"), chunk(N, "d"), chunk("", "e"), chunk("", "f")];
    assert_eq!(out(&list), [chunk(M, "a"), chunk("", "bc"), chunk(N, "d"), chunk("", "ef")]);
    let bare = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m"}"#.to_owned();
    let list = [bare.clone(), chunk("", "a"), chunk("", "b"), chunk("", "c")];
    assert_eq!(out(&list), [bare, chunk("", "a"), chunk("", "bc")], "its delta is undelayed");
}

#[test]
fn opener_members_are_those_of_the_first_and_may_be_repeated() {
    let list = [chunk(OPENER, "a"), chunk(OPENER, "b"), chunk("", "c"), chunk(OPENER, "d")];
    assert_eq!(out(&list), [chunk(OPENER, "a"), chunk(OPENER, "bcd")]);
    let list = [chunk(M, "a"), chunk("", "b"), chunk(OPENER, "c")];
    assert_eq!(out(&list), [chunk(M, "a"), chunk("", "bc")], "no role is the assistant's");
}

#[test]
fn a_chunk_that_contradicts_its_opener_is_a_barrier() {
    for odd in [r#","role":"user""#, r#","name":"x""#, r#","messageId":"m","role":"user""#, r#","role":1"#] {
        let list = [chunk(OPENER, "a"), chunk("", "b"), chunk("", "c"), chunk(odd, "d"), chunk(M, "e")];
        assert_eq!(out(&list), [chunk(OPENER, "a"), chunk("", "bc"), chunk(odd, "d"), chunk(M, "e")], "{odd}");
    }
}

#[test]
fn chunks_of_several_lanes_are_merged_each_with_its_own() {
    let s = r#","subagentRunId":"s""#;
    let list = [
        chunk(M, "a"),
        chunk(OF_S, "1"),
        chunk("", "b"),
        chunk(s, "2"),
        chunk("", "c"),
        chunk(s, "3"),
        chunk(OF_S, "4"),
        chunk(M, "d"),
    ];
    assert_eq!(out(&list), [chunk(M, "a"), chunk(OF_S, "1"), chunk("", "b"), chunk(s, "234"), chunk("", "cd")]);
}

#[test]
fn what_could_continue_several_is_a_barrier() {
    let t = r#","messageId":"t","subagentRunId":"t""#;
    let list = [chunk(OF_S, "1"), chunk(t, "2"), chunk(OF_S, "3"), chunk("", "?"), chunk(OF_S, "4")];
    assert_eq!(out(&list), list);
}

#[test]
fn what_closes_a_chunk_stream_is_a_barrier_also_if_it_could_be_merged() {
    let closers = [
        r#"{"type":"STATE_SNAPSHOT","snapshot":{}}"#,
        r#"{"type":"STATE_DELTA","delta":[]}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"x","delta":"x"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x"}"#,
        r#"{"type":"TOOL_CALL_ARGS","toolCallId":"x","delta":"x"}"#,
    ];
    for closer in closers {
        let list = [
            chunk(M, "a"),
            chunk("", "b"),
            chunk("", "c"),
            closer.into(),
            chunk("", "lost"),
            chunk(M, "d"),
            chunk("", "e"),
        ];
        let expected =
            [chunk(M, "a"), chunk("", "bc"), closer.into(), chunk("", "lost"), chunk(M, "d"), chunk("", "e")];
        assert_eq!(out(&list), expected, "{closer}");
    }
    let aside = [
        r#"{"type":"STATE_SNAPSHOT","snapshot":{},"subagentRunId":"x"}"#,
        r#"{"type":"ACTIVITY_DELTA","messageId":"x","activityType":"t","patch":[]}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"x","delta":"x","subagentRunId":"x"}"#,
    ];
    for aside in aside {
        let list = [chunk(M, "a"), chunk("", "b"), aside.into(), chunk("", "c")];
        assert_eq!(out(&list), [chunk(M, "a"), aside.into(), chunk("", "bc")], "{aside}");
    }
}

#[test]
fn an_explicit_event_of_a_subagents_item_leaves_other_lanes_open() {
    let start = r#"{"type":"TEXT_MESSAGE_START","messageId":"x","role":"assistant","subagentRunId":"x"}"#;
    let list =
        [chunk(M, "a"), start.into(), text("x", "1"), chunk("", "b"), text("x", "2"), chunk("", "c"), text("x", "3")];
    let expected = [chunk(M, "a"), start.into(), text("x", "1"), chunk("", "b"), text("x", "23"), chunk("", "c")];
    assert_eq!(out(&list), expected);
}

#[test]
fn content_and_chunks_are_never_one() {
    let list = [text("m", "a"), text("m", "b"), chunk(M, "c"), chunk(M, "d"), text("m", "e"), text("m", "f")];
    assert_eq!(out(&list), list);
}

#[test]
fn a_chunk_without_a_delta_is_a_barrier_and_continues() {
    let metadata = r#"{"type":"TEXT_MESSAGE_CHUNK","metadata":{"k":1}}"#.to_owned();
    let list = [chunk(M, "a"), chunk("", "b"), metadata.clone(), chunk("", "c"), chunk("", "d"), chunk("", "e")];
    assert_eq!(out(&list), [chunk(M, "a"), chunk("", "b"), metadata, chunk("", "c"), chunk("", "de")]);
}

#[test]
fn a_new_run_knows_nothing_of_the_streams_before_it() {
    let run = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#.to_owned();
    let list = [chunk(M, "a"), run, chunk("", "b"), chunk("", "c"), chunk("", "d")];
    assert_eq!(out(&list), list);
}

#[test]
fn what_opens_or_closes_a_chunk_stream_never_waits_behind_what_continues_another() {
    let half = text("n", r"\ud83d");
    let list = [chunk(N, "a"), chunk(OF_S, "1"), half, chunk("", "2")];
    assert_eq!(out(&list), list);
    let call = r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"f","delta":"\ud83d"}"#.to_owned();
    let list = [chunk(M, "a"), chunk(OF_S, "1"), call, chunk("", "2")];
    assert_eq!(out(&list), list);
}

#[test]
fn behind_a_chunk_out_of_place_what_could_close_a_stream_is_a_barrier_until_all_are_closed() {
    let run = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#.to_owned();
    let list = [chunk("", "?"), text("m", "a"), text("m", "b"), run, text("m", "c"), text("m", "d"), text("m", "e")];
    assert_eq!(out(&list), [&list[..5], &[text("m", "de")]].concat());
}
