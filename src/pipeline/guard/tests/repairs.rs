//! Streams that break rules of sequence: what `repair` makes of them.
use super::*;

#[test]
fn what_is_open_is_closed_before_the_end_the_inner_first() {
    let open = [
        r#"{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n"}"#,
        r#"{"type":"SUBAGENT_STARTED","subagentRunId":"u","name":"n","parentSubagentRunId":"s"}"#,
        r#"{"type":"STEP_STARTED","stepName":"plan"}"#,
        r#"{"type":"STEP_STARTED","stepName":"search: what?","subagentRunId":"s"}"#,
        r#"{"type":"REASONING_START","messageId":"k"}"#,
        r#"{"type":"REASONING_MESSAGE_START","messageId":"k","role":"reasoning"}"#,
        START,
        r#"{"type":"TOOL_CALL_START","toolCallId":"c2","toolCallName":"g"}"#,
        CALL,
    ];
    let closed = [
        r#"{"type":"TOOL_CALL_END","toolCallId":"c2"}"#,
        CALLED,
        END,
        r#"{"type":"REASONING_MESSAGE_END","messageId":"k"}"#,
        r#"{"type":"REASONING_END","messageId":"k"}"#,
        r#"{"type":"STEP_FINISHED","stepName":"search: what?","subagentRunId":"s"}"#,
        r#"{"type":"STEP_FINISHED","stepName":"plan"}"#,
        r#"{"type":"SUBAGENT_ERROR","subagentRunId":"u","message":"The agent finished its run without telling how this subagent ended."}"#,
        r#"{"type":"SUBAGENT_ERROR","subagentRunId":"s","message":"The agent finished its run without telling how this subagent ended."}"#,
    ];
    let rules = [
        "tool_call_open_at_finish",
        "tool_call_open_at_finish",
        "message_open_at_finish",
        "reasoning_message_open_at_finish",
        "reasoning_open_at_finish",
        "step_open_at_finish",
        "step_open_at_finish",
        "subagent_open_at_finish",
        "subagent_open_at_finish",
    ];
    mends(&open, &[open, closed].concat(), &rules);
}

#[test]
fn retired_reasoning_is_closed_in_its_own_words() {
    let open = [r#"{"type":"THINKING_START"}"#, r#"{"type":"THINKING_TEXT_MESSAGE_START"}"#];
    let closed = [r#"{"type":"THINKING_TEXT_MESSAGE_END"}"#, r#"{"type":"THINKING_END"}"#];
    mends(&open, &[open, closed].concat(), &["reasoning_message_open_at_finish", "reasoning_open_at_finish"]);
}

#[test]
fn the_gateways_own_error_closes_text_and_reasoning_and_nothing_that_would_seem_complete() {
    let error = Event::run_error("cut", "UPSTREAM_TRUNCATED");
    let text = String::from_utf8(error.text().to_vec()).unwrap();
    let outcome = run(Mode::Repair, [event(STARTED), event(CALL), event(START), error, event(CONTENT)]);
    assert_eq!(outcome.texts, [STARTED, CALL, START, END, &text]);
    let open = [
        STARTED,
        r#"{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n"}"#,
        r#"{"type":"STEP_STARTED","stepName":"a"}"#,
        r#"{"type":"REASONING_START","messageId":"k"}"#,
        r#"{"type":"REASONING_MESSAGE_START","messageId":"k","role":"reasoning"}"#,
        r#"{"type":"THINKING_START"}"#,
        r#"{"type":"THINKING_TEXT_MESSAGE_START"}"#,
        CALL,
    ];
    let closed = [
        r#"{"type":"REASONING_MESSAGE_END","messageId":"k"}"#,
        r#"{"type":"THINKING_TEXT_MESSAGE_END"}"#,
        r#"{"type":"THINKING_END"}"#,
        r#"{"type":"REASONING_END","messageId":"k"}"#,
        &text,
    ];
    let error = Event::run_error("cut", "UPSTREAM_TRUNCATED");
    let outcome = run(Mode::Repair, open.iter().map(|text| event(text)).chain([error]));
    assert_eq!(outcome.texts, [&open[..], &closed[..]].concat());
    let agents = repaired(&[STARTED, START, FAILED]);
    assert_eq!((agents.texts.len(), agents.repaired.len()), (3, 0), "an agent's own error needs nothing closed");
}

#[test]
fn late_doubled_and_stray_events_are_left_out() {
    mends(
        &[CALL, ARGS, CALL, ARGS, CALLED, CALLED],
        &[CALL, ARGS, ARGS, CALLED],
        &["tool_call_already_open", "tool_call_not_open"],
    );
    mends(&[CONTENT, END, ARGS], &[], &["message_not_open", "message_not_open", "tool_call_not_open"]);
    mends(&[r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"s"}"#], &[], &["subagent_not_started"]);
    let ends = repaired(&[STARTED, FINISHED, FINISHED, CONTENT, FAILED, FAILED, FINISHED]);
    assert_eq!(ends.texts, [STARTED, FINISHED, FAILED]);
    let error = repaired(&[STARTED, FAILED, FINISHED, r#"{"type":"VENDOR"}"#]);
    assert_eq!(error.texts, [STARTED, FAILED, r#"{"type":"VENDOR"}"#], "what is not known is not late");
}

#[test]
fn an_answer_before_its_run_ends_it_at_once() {
    for first in [CONTENT, ARGS, FINISHED, r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","delta":"x"}"#] {
        let outcome = repaired(&[r#"{"type":"VENDOR"}"#, first, STARTED, FINISHED]);
        assert_eq!(outcome.texts, [r#"{"type":"VENDOR"}"#], "nothing follows");
        let refused = outcome.refused.unwrap();
        assert_eq!((refused.rule, refused.fault), ("run_not_started", Fault::Violation), "{first}");
    }
}

#[test]
fn what_stands_beside_the_answer_may_come_before_its_run() {
    let (custom, step) = (r#"{"type":"CUSTOM","name":"n","value":1}"#, r#"{"type":"STEP_STARTED","stepName":"a"}"#);
    let snapshot = r#"{"type":"STATE_SNAPSHOT","snapshot":{}}"#;
    let outcome = repaired(&[custom, step, snapshot, START, STARTED, START, END, FINISHED]);
    assert_eq!(outcome.texts, [STARTED, START, END, FINISHED]);
    assert_eq!((outcome.repaired, outcome.refused), (vec!["run_not_started"; 4], None));
    let alone = repaired(&[custom, FINISHED]);
    assert_eq!((alone.texts.len(), alone.refused.unwrap().rule), (0, "run_not_started"));
}

#[test]
fn a_run_has_one_honest_end() {
    let other = r#"{"type":"RUN_STARTED","threadId":"t","runId":"other"}"#;
    let end = r#"{"type":"RUN_FINISHED","runId":"other","threadId":"u","result":1.0}"#;
    let outcome = repaired(&[STARTED, end]);
    assert_eq!(outcome.texts, [STARTED, r#"{"type":"RUN_FINISHED","runId":"r","threadId":"t","result":1.0}"#]);
    assert_eq!(repaired(&[STARTED, other, end, FINISHED]).texts, [STARTED, FINISHED]);
    let bare = repaired(&[STARTED, r#"{"type":"RUN_FINISHED"}"#]);
    assert_eq!(bare.texts[1], r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#);
    let silent = repaired(&[STARTED, r#"{"type":"RUN_ERROR"}"#]);
    assert!(silent.texts[1].contains("message"));
}

const CHILD: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"child"}"#;
const CHILD_DONE: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"child"}"#;
const CHILD_FAILED: &str = r#"{"type":"RUN_ERROR","message":"m","runId":"child"}"#;

#[test]
fn a_run_within_a_run_ends_by_itself() {
    let twice = ["run_already_started"; 2];
    mends(&[CHILD, START, CONTENT, END, CHILD_DONE, CALL, CALLED], &[START, CONTENT, END, CALL, CALLED], &twice);
    mends(&[START, CHILD, CONTENT, CHILD_DONE, CONTENT, END], &[START, CONTENT, CONTENT, END], &twice);
    mends(&[CHILD, START, CHILD_FAILED, CONTENT, END], &[START, CONTENT, END], &twice);
    mends(&[CHILD, CHILD_DONE, CHILD, CHILD_DONE, START, END], &[START, END], &["run_already_started"; 4]);
    let (grandchild, done) = (CHILD.replace("child", "grandchild"), CHILD_DONE.replace("child", "grandchild"));
    mends(&[CHILD, &grandchild, &done, START, CHILD_DONE, END], &[START, END], &["run_already_started"; 4]);
    mends(&[CHILD, &grandchild, CHILD_DONE, START, &done, END], &[START, END], &["run_already_started"; 4]);
    let unnamed = r#"{"type":"RUN_FINISHED"}"#;
    mends(&[CHILD, START, unnamed, END], &[START, END], &twice);
    mends(&[CHILD, START, &done, END], &[START, END], &twice);
    mends(&[CHILD, START, END], &[START, END], &["run_already_started"]);
}

#[test]
fn a_run_that_only_its_child_finished_has_not_ended() {
    let outcome = repaired(&[STARTED, CHILD, START, END, CHILD_DONE]);
    assert_eq!(outcome.texts, [STARTED, START, END], "the gateway says that it was cut");
    let failed = repaired(&[STARTED, CHILD, START, FAILED, CHILD_DONE]);
    assert_eq!(failed.texts, [STARTED, START, FAILED], "an error that names no run is the run's");
    let next = repaired(&[STARTED, CHILD, FINISHED, CHILD_DONE, CHILD, CHILD_DONE]);
    assert_eq!(next.texts, [STARTED, FINISHED, CHILD, CHILD_DONE], "what comes after the run is its own");
}

#[test]
fn a_run_that_began_twice_ends_once_and_last() {
    let twice = |list: &[&str]| repaired(&[&[STARTED, STARTED, START, END], list].concat());
    for (list, rest) in [
        (&[FINISHED][..], &[FINISHED][..]),
        (&[FINISHED, FINISHED], &[FINISHED]),
        (&[FINISHED, "[DONE]"], &[FINISHED]),
        (&[FINISHED, CALL, CALLED, FINISHED], &[CALL, CALLED, FINISHED]),
        (&[FINISHED, FAILED], &[FAILED]),
        (&[FINISHED, CHILD, CHILD_DONE], &[FINISHED, CHILD, CHILD_DONE]),
        (&[STARTED, FINISHED, CHILD, CHILD_DONE], &[FINISHED, CHILD, CHILD_DONE]),
    ] {
        let expected = [&[STARTED, START, END], rest].concat();
        assert_eq!(twice(list).texts, expected, "{list:#?}");
    }
    let mut pipeline = Recipe { guard: Mode::Repair, ..Recipe::default() }.build(&Peers::default());
    let (mut sink, at) = (Sink::default(), Instant::now());
    for (text, holds) in [(STARTED, false), (STARTED, false), (FINISHED, true)] {
        pipeline.event(event(text), at, &mut sink);
        assert_eq!(pipeline.holds_an_end(), holds);
    }
    assert!(pipeline.held() >= FINISHED.len());
    pipeline.end(crate::pipeline::End::Stopped, at, &mut sink);
    assert!(!pipeline.holds_an_end() && sink.events.len() == 2);
}

#[test]
fn a_message_that_goes_on_after_its_end_is_opened_again() {
    let opener = r#"{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"user","name":"\u006e","metadata":{"a":1},"subagentRunId":"s"}"#;
    let again = r#"{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"user","name":"\u006e"}"#;
    mends(&[opener, CONTENT, END, CONTENT, END], &[opener, CONTENT, END, again, CONTENT, END], &["message_not_open"]);
    mends(&[CALL, CALLED, ARGS, CALLED], &[CALL, CALLED, CALL, ARGS, CALLED], &["tool_call_not_open"]);
    let result = r#"{"type":"TOOL_CALL_RESULT","messageId":"x","toolCallId":"c1","content":""}"#;
    mends(&[CALL, CALLED, result, ARGS], &[CALL, CALLED, result], &["tool_call_not_open"]);
}

#[test]
fn chunks_and_explicit_events_of_one_item_are_told_apart() {
    let chunk = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","delta":"x"}"#;
    mends(&[chunk, CONTENT, END], &[chunk, START, CONTENT, END], &["message_not_open"]);
    mends(&[START, CONTENT, chunk, END], &[START, CONTENT, END, chunk], &["message_already_open", "message_not_open"]);
}

#[test]
fn a_chunk_that_lost_its_item_goes_on_with_the_last_of_its_lane() {
    let chunk = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","delta":"x"}"#;
    let custom = r#"{"type":"CUSTOM","name":"n","value":1}"#;
    let more = r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"y"}"#;
    let named = r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"y","messageId":"m1"}"#;
    mends(&[chunk, custom, more, more], &[chunk, custom, named, more], &["chunk_without_id"]);
    let call = r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c1","toolCallName":"f"}"#;
    let args = r#"{"type":"TOOL_CALL_CHUNK","delta":"y"}"#;
    let named = r#"{"type":"TOOL_CALL_CHUNK","delta":"y","toolCallId":"c1","toolCallName":"f"}"#;
    mends(&[call, custom, args], &[call, custom, named], &["chunk_without_id"]);
    mends(&[args], &[], &["chunk_without_id"]);
    let alone = repaired(&within(&[r#"{"type":"TOOL_CALL_CHUNK","toolCallName":"f"}"#]));
    assert_eq!(alone.refused.unwrap().rule, "chunk_without_id", "a call's identifier is not made up");
}

#[test]
fn a_chunk_that_contradicts_its_opener_loses_what_contradicts() {
    let chunk = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","role":"user","delta":"x"}"#;
    let more = r#"{"type":"TEXT_MESSAGE_CHUNK","role":"assistant","name":"n","delta":"y"}"#;
    mends(
        &[chunk, more],
        &[chunk, r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"y"}"#],
        &["chunk_conflict", "chunk_conflict"],
    );
}

#[test]
fn an_identifier_is_made_up_for_null_only_and_stays() {
    let list = [
        r#"{"type":"TEXT_MESSAGE_START","messageId":null,"role":"assistant"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":null,"delta":"Hi"}"#,
        r#"{"type":"TEXT_MESSAGE_END","messageId":null}"#,
        r#"{"type":"TEXT_MESSAGE_START","messageId":null}"#,
        r#"{"type":"TEXT_MESSAGE_END","messageId":null}"#,
    ];
    let expected = [
        r#"{"type":"TEXT_MESSAGE_START","messageId":"r-message-1","role":"assistant"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"r-message-1","delta":"Hi"}"#,
        r#"{"type":"TEXT_MESSAGE_END","messageId":"r-message-1"}"#,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"r-message-2"}"#,
        r#"{"type":"TEXT_MESSAGE_END","messageId":"r-message-2"}"#,
    ];
    mends(&list, &expected, &["missing_member"; 5]);
    let nameless = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":null,"delta":"x"}"#;
    mends(&[START, nameless, END], &[START, CONTENT, END], &["missing_member"]);
    let chunk = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":null,"delta":"x"}"#;
    mends(
        &[chunk, chunk],
        &[
            r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"x","messageId":"r-message-1"}"#,
            r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"x"}"#,
        ],
        &["null_member", "chunk_without_id", "null_member"],
    );
}

const FIRST: &str = r#"{"type":"TOOL_CALL_RESULT","messageId":"first","toolCallId":"c1","content":"x"}"#;
const ASKED: &str = r#"{"id":"u","role":"user","content":"q"}, {"id":"a","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"f","arguments":""}}]}"#;
const SECOND: &str = r#"{"id":"second","role":"tool","content":"x","toolCallId":"c1","n":1.0}"#;
const ANSWER: &str = r#"{"id":"m1","role":"assistant","content":"y"}"#;

fn snapshot(messages: &[&str]) -> String {
    format!(r#"{{"type":"MESSAGES_SNAPSHOT","messages":[{}]}}"#, messages.join(", "))
}

#[test]
fn a_tool_message_under_another_identifier_comes_before_what_was_made_of_it() {
    let all = snapshot(&[ASKED, SECOND, ANSWER]);
    let up_to = snapshot(&[ASKED, SECOND]);
    let streamed = [CALL, CALLED, FIRST, START, END];
    let renamed = ["tool_message_renamed"];
    mends(&[&streamed[..], &[&all]].concat(), &[&streamed[..], &[&up_to, &all]].concat(), &renamed);
    let again = [&streamed[..], &[&up_to, &all, &all]].concat();
    mends(&[&streamed[..], &[&all, &all]].concat(), &again, &renamed);
    let last = [&streamed[..], &[&up_to]].concat();
    mends(&last, &last, &[]);
    let same = all.replace("second", "first");
    let same = [&streamed[..], &[&*same]].concat();
    mends(&same, &same, &[]);
    let later = repaired(&[STARTED, CALL, CALLED, FIRST, FINISHED, STARTED, &all, FINISHED]);
    assert_eq!(later.texts[6..8], [up_to, all], "also in a later run of the stream");
}

#[test]
fn a_tool_message_that_was_never_told_comes_before_what_was_made_of_it() {
    let all = snapshot(&[ASKED, SECOND, ANSWER]);
    let streamed = [CALL, CALLED, START, END];
    let up_to = snapshot(&[ASKED, SECOND]);
    let expected = [&streamed[..], &[&up_to, &all, &all]].concat();
    mends(&[&streamed[..], &[&all, &all]].concat(), &expected, &["tool_message_untold"]);
    let silent = all.replace(r#""id":"a""#, r#""id":"m0""#);
    let (start, end) = (START.replace("m1", "m0"), END.replace("m1", "m0"));
    let outcome = repaired(&within(&[&start, &end, START, END, &silent]));
    assert_eq!(outcome.repaired, ["tool_message_untold"], "nor the call, of a text that was");
    let other = [CALL, CALLED, &all];
    mends(&other, &other, &[]);
    let of_another_run = [START, END, &all];
    mends(&of_another_run, &of_another_run, &[]);
}

#[test]
fn each_of_several_results_comes_in_its_place() {
    let (call, called) = (CALL.replace("c1", "c2"), CALLED.replace("c1", "c2"));
    let two = r#"{"id":"b","role":"assistant","toolCalls":[{"id":"c2","type":"function","function":{"name":"f","arguments":""}}]}"#;
    let third = SECOND.replace("second", "third").replace("c1", "c2");
    let all = snapshot(&[ASKED, SECOND, two, &third, ANSWER]);
    let streamed = [CALL, CALLED, &call, &called, START, END];
    let up_to = snapshot(&[ASKED, SECOND]);
    let expected = [&streamed[..], &[&up_to, &all, &all]].concat();
    mends(&[&streamed[..], &[&all, &all]].concat(), &expected, &["tool_message_untold"]);
}

#[test]
fn two_results_of_one_call_are_the_agents_to_tell() {
    let all = snapshot(&[ASKED, SECOND, &SECOND.replace("second", "third"), ANSWER]);
    let streamed = [CALL, CALLED, START, END];
    let up_to = snapshot(&[ASKED, SECOND]);
    let expected = [&streamed[..], &[&up_to, &all, &all]].concat();
    mends(&[&streamed[..], &[&all, &all]].concat(), &expected, &["tool_message_untold"]);
    let known = all.replace("third", "first");
    let known = [CALL, CALLED, FIRST, START, END, &known];
    mends(&known, &known, &[]);
}

#[test]
fn events_beside_the_answer_that_cannot_be_read_are_left_out() {
    let step = r#"{"type":"STEP_STARTED","name":"retrieve"}"#;
    let custom = r#"{"type":"CUSTOM","name":1,"value":2}"#;
    mends(&[step, START, END, custom], &[START, END], &["missing_member", "wrong_type"]);
    let result = r#"{"type":"TOOL_CALL_RESULT","messageId":"x","toolCallId":"c1","content":{"a":1}}"#;
    let outcome = repaired(&within(&[result]));
    assert_eq!(outcome.refused.unwrap().rule, "wrong_type", "a result is not made up");
}

#[test]
fn nulls_and_odd_values_that_can_be_spared_go() {
    mends(
        &[
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"narrator","timestamp":1.5,"metadata":null,"x":null}"#,
            END,
        ],
        &[r#"{"type":"TEXT_MESSAGE_START","messageId":"m1","x":null}"#, END],
        &["wrong_type", "wrong_type"],
    );
    mends(
        &[
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"assistant","content":null,"toolCalls":null,"x":null}]}"#,
        ],
        &[r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"assistant","x":null}]}"#],
        &["null_member"],
    );
    mends(
        &[
            r#"{"type":"REASONING_MESSAGE_START","messageId":"k","role":"assistant"}"#,
            r#"{"type":"REASONING_MESSAGE_END","messageId":"k"}"#,
        ],
        &[
            r#"{"type":"REASONING_MESSAGE_START","messageId":"k","role":"reasoning"}"#,
            r#"{"type":"REASONING_MESSAGE_END","messageId":"k"}"#,
        ],
        &["wrong_type"],
    );
    let lax =
        r#"{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"f","parentMessageId":null,"rawEvent":null}"#;
    mends(&[lax, CALLED], &[lax, CALLED], &[]);
}

#[test]
fn an_event_with_another_owner_than_its_item_loses_the_claim() {
    let tagged = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"x","subagentRunId":"o"}"#;
    mends(&[START, tagged, END], &[START, CONTENT, END], &["owner_mismatch"]);
    let start = r#"{"type":"STEP_STARTED","stepName":"a","subagentRunId":"s"}"#;
    let end = r#"{"type":"STEP_FINISHED","stepName":"a"}"#;
    let fixed = r#"{"type":"STEP_FINISHED","stepName":"a","subagentRunId":"s"}"#;
    mends(&[start, end], &[start, fixed], &["step_not_open"]);
    let orphan = r#"{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n","parentSubagentRunId":"z"}"#;
    let done = r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"s"}"#;
    mends(
        &[orphan, done],
        &[r#"{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n"}"#, done],
        &["subagent_parent_unknown"],
    );
}

#[test]
fn numbers_and_parents_that_no_rule_is_about_stay_as_they_are() {
    let list = [
        r#"{"type":"STATE_SNAPSHOT","snapshot":{"id":1364226163160287233,"e":1e21,"z":-0.0}}"#,
        r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/n","value":12345678901234567890123}]}"#,
        r#"{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"f","parentMessageId":"ghost"}"#,
        CALLED,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"\ud83d"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"\ud83d","delta":"cut \ud83d"}"#,
        r#"{"type":"TEXT_MESSAGE_END","messageId":"\ud83d"}"#,
    ];
    mends(&list, &list, &[]);
}
