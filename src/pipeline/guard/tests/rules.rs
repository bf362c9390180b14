//! Every rule: a stream that breaks it, where it is noticed and what it is called.
use super::*;

/// Asserts that the last event of a stream breaks this rule and none before it any: seen alike by all modes.
#[track_caller]
fn breaks(rule: Rule, list: &[&str]) {
    let observed = through(Mode::Observe, list);
    assert_eq!(observed.violations, [rule.as_str()], "{list:#?}");
    assert_eq!((observed.texts, observed.repaired.len(), observed.refused), (owned(list), 0, None));
    let refused = through(Mode::Refuse, list);
    if rule.weight() == Weight::Advice {
        assert_eq!((refused.texts, refused.refused), (owned(list), None));
        return;
    }
    assert_eq!(refused.texts, owned(&list[..list.len() - 1]), "it stops before the event");
    let why = refused.refused.unwrap();
    let malformed = rule.weight() == Weight::Malformed;
    assert_eq!((why.rule, why.fault == Fault::Malformed), (rule.as_str(), malformed));
    assert!(why.message.contains(rule.as_str()), "{}", why.message);
}

fn owned(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

fn in_run(list: &[&'static str]) -> Vec<&'static str> {
    [&[STARTED], list].concat()
}

const AGENT: &str = r#"{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n"}"#;
const AGENT_DONE: &str = r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"s"}"#;
const STEP: &str = r#"{"type":"STEP_STARTED","stepName":"a"}"#;
const STEP_DONE: &str = r#"{"type":"STEP_FINISHED","stepName":"a"}"#;
const CHUNK: &str = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","role":"user","delta":"x"}"#;
const MORE: &str = r#"{"type":"TEXT_MESSAGE_CHUNK","delta":"y"}"#;

#[test]
fn a_run_has_a_beginning_and_one_end() {
    breaks(Rule::RunNotStarted, &[START]);
    breaks(Rule::RunNotStarted, &[r#"{"type":"FUTURE"}"#, FINISHED]);
    breaks(Rule::RunAlreadyStarted, &[STARTED, STARTED]);
    breaks(Rule::AfterFinish, &[STARTED, FINISHED, START]);
    breaks(Rule::AfterFinish, &[STARTED, FINISHED, FINISHED]);
    breaks(Rule::AfterError, &[STARTED, FAILED, FINISHED]);
    breaks(Rule::AfterError, &[FAILED, FAILED]);
    breaks(Rule::RunIdChanged, &[STARTED, r#"{"type":"RUN_FINISHED","threadId":"t","runId":"other"}"#]);
    breaks(Rule::ThreadIdChanged, &[STARTED, r#"{"type":"RUN_FINISHED","threadId":"other","runId":"r"}"#]);
}

#[test]
fn a_second_run_is_judged_afresh() {
    for end in [FINISHED, FAILED] {
        let list = [STARTED, START, END, end, STARTED, START, CONTENT, END, FINISHED, FAILED, STARTED, FINISHED];
        assert_eq!(through(Mode::Refuse, &list).refused, None);
    }
    breaks(Rule::MessageNotOpen, &[STARTED, START, FAILED, STARTED, CONTENT]);
}

#[test]
fn items_are_opened_continued_and_closed() {
    let reasoning = |kind: &str| -> &'static str {
        let delta = if kind.ends_with("CONTENT") { r#","delta":"x""# } else { "" };
        let role = if kind.ends_with("MESSAGE_START") { r#","role":"reasoning""# } else { "" };
        Box::leak(format!(r#"{{"type":"{kind}","messageId":"m1"{role}{delta}}}"#).into_boxed_str())
    };
    let [open, more, close] = ["START", "CONTENT", "END"].map(|end| reasoning(&format!("REASONING_MESSAGE_{end}")));
    let (span, span_end) = (reasoning("REASONING_START"), reasoning("REASONING_END"));
    for (items, already, not, at_finish) in [
        ([START, CONTENT, END], Rule::MessageAlreadyOpen, Rule::MessageNotOpen, Rule::MessageOpenAtFinish),
        ([CALL, ARGS, CALLED], Rule::ToolCallAlreadyOpen, Rule::ToolCallNotOpen, Rule::ToolCallOpenAtFinish),
        (
            [open, more, close],
            Rule::ReasoningMessageAlreadyOpen,
            Rule::ReasoningMessageNotOpen,
            Rule::ReasoningMessageOpenAtFinish,
        ),
        ([span, "", span_end], Rule::ReasoningAlreadyOpen, Rule::ReasoningNotOpen, Rule::ReasoningOpenAtFinish),
        ([STEP, "", STEP_DONE], Rule::StepAlreadyOpen, Rule::StepNotOpen, Rule::StepOpenAtFinish),
    ] {
        let [open, more, close] = items;
        breaks(already, &in_run(&[open, open]));
        breaks(not, &in_run(&[close]));
        breaks(not, &in_run(&[open, close, close]));
        breaks(at_finish, &in_run(&[open, FINISHED]));
        if !more.is_empty() {
            breaks(not, &in_run(&[more]));
            breaks(not, &in_run(&[open, close, more]));
            let reopened = [STARTED, open, more, close, open, more, close, FINISHED];
            assert_eq!(through(Mode::Refuse, &reopened).refused, None);
        }
    }
    let apart = [STARTED, START, open, span, more, CONTENT, span_end, close, END, FINISHED];
    assert_eq!(through(Mode::Refuse, &apart).refused, None, "kinds do not share their identifiers");
}

#[test]
fn retired_reasoning_is_judged_as_reasoning() {
    const OPEN: &str = r#"{"type":"THINKING_TEXT_MESSAGE_START"}"#;
    const MORE: &str = r#"{"type":"THINKING_TEXT_MESSAGE_CONTENT","delta":"x"}"#;
    breaks(Rule::ReasoningMessageNotOpen, &in_run(&[MORE]));
    breaks(Rule::ReasoningMessageOpenAtFinish, &in_run(&[OPEN, MORE, FINISHED]));
    breaks(Rule::ReasoningOpenAtFinish, &in_run(&[r#"{"type":"THINKING_START","title":"x"}"#, FINISHED]));
}

#[test]
fn subagents_are_announced_once_and_end() {
    breaks(Rule::SubagentAlreadyStarted, &in_run(&[AGENT, AGENT]));
    breaks(Rule::SubagentAlreadyStarted, &in_run(&[AGENT, AGENT_DONE, AGENT]));
    breaks(Rule::SubagentNotStarted, &in_run(&[AGENT_DONE]));
    breaks(Rule::SubagentNotStarted, &in_run(&[AGENT, AGENT_DONE, AGENT_DONE]));
    breaks(Rule::SubagentOpenAtFinish, &in_run(&[AGENT, FINISHED]));
    let child = r#"{"type":"SUBAGENT_STARTED","subagentRunId":"c","name":"n","parentSubagentRunId":"s"}"#;
    breaks(Rule::SubagentParentUnknown, &in_run(&[child]));
    assert_eq!(through(Mode::Refuse, &in_run(&[AGENT, AGENT_DONE, child])).refused, None);
}

#[test]
fn an_event_is_of_whom_its_item_is() {
    let tagged = r#"{"type":"TEXT_MESSAGE_START","messageId":"m1","subagentRunId":"s"}"#;
    let other = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"x","subagentRunId":"o"}"#;
    breaks(Rule::OwnerMismatch, &in_run(&[tagged, other]));
    breaks(Rule::OwnerMismatch, &in_run(&[START, other]));
    assert_eq!(through(Mode::Refuse, &within(&[tagged, CONTENT, END])).refused, None);
    breaks(Rule::OwnerMismatch, &in_run(&[START, END, tagged]));
    let call =
        r#"{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"f","parentMessageId":"m1","subagentRunId":"o"}"#;
    breaks(Rule::OwnerMismatch, &in_run(&[tagged, END, call]));
    let inherits = r#"{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"f","parentMessageId":"m1"}"#;
    breaks(Rule::OwnerMismatch, &in_run(&[CALL, CALLED, tagged, END, inherits]));
    let args = r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"","subagentRunId":"s"}"#;
    assert_eq!(through(Mode::Refuse, &in_run(&[tagged, END, inherits, args])).refused, None);
    let value = r#"{"type":"REASONING_ENCRYPTED_VALUE","subtype":"message","entityId":"m1","encryptedValue":"e","subagentRunId":"o"}"#;
    breaks(Rule::OwnerMismatch, &in_run(&[tagged, value]));
    assert_eq!(through(Mode::Refuse, &in_run(&[value])).refused, None, "an unknown entity has no owner");
    let activity =
        r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"x","content":{},"subagentRunId":"s"}"#;
    let delta = r#"{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"x","patch":[],"subagentRunId":"o"}"#;
    breaks(Rule::OwnerMismatch, &in_run(&[activity, delta]));
    let history =
        r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m1","role":"user","content":"","subagentRunId":"s"}]}"#;
    breaks(Rule::OwnerMismatch, &in_run(&[history, START, other]));
    let step = r#"{"type":"STEP_FINISHED","stepName":"a","subagentRunId":"s"}"#;
    breaks(Rule::StepNotOpen, &in_run(&[STEP, step]));
}

#[test]
fn chunks_are_judged_as_what_they_expand_to() {
    breaks(Rule::ChunkWithoutId, &in_run(&[MORE]));
    breaks(Rule::ChunkWithoutId, &in_run(&[CHUNK, r#"{"type":"CUSTOM","name":"n","value":1}"#, MORE]));
    assert_eq!(through(Mode::Refuse, &within(&[CHUNK, r#"{"type":"RAW","event":1}"#, MORE])).refused, None);
    breaks(Rule::ChunkConflict, &in_run(&[CHUNK, r#"{"type":"TEXT_MESSAGE_CHUNK","role":"assistant"}"#]));
    breaks(Rule::ChunkConflict, &in_run(&[CHUNK, r#"{"type":"TEXT_MESSAGE_CHUNK","name":"n"}"#]));
    breaks(Rule::ChunkWithoutName, &in_run(&[r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c1"}"#]));
    let call = r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c1","toolCallName":"f"}"#;
    breaks(Rule::ChunkConflict, &in_run(&[call, r#"{"type":"TOOL_CALL_CHUNK","toolCallName":"g"}"#]));
    breaks(Rule::ToolCallNotOpen, &in_run(&[call, ARGS]));
    breaks(Rule::MessageNotOpen, &in_run(&[CHUNK, END]));
    breaks(Rule::MessageAlreadyOpen, &in_run(&[START, CHUNK]));
    let of = |id: &str, tag: &str| -> &'static str {
        let chunk = format!(r#"{{"type":"TEXT_MESSAGE_CHUNK","messageId":"{id}","subagentRunId":"{tag}"}}"#);
        Box::leak(chunk.into_boxed_str())
    };
    breaks(Rule::ChunkAmbiguous, &in_run(&[of("a", "s"), of("b", "o"), MORE]));
    breaks(Rule::OwnerMismatch, &in_run(&[of("a", "s"), of("a", "o")]));
    assert_eq!(through(Mode::Refuse, &within(&[of("a", "s"), MORE])).refused, None);
    let all = [STARTED, CHUNK, MORE, START, CONTENT, END, CHUNK, FINISHED];
    assert_eq!(through(Mode::Refuse, &all).refused, None, "one form ends where the other begins");
}

#[test]
fn members_are_there_and_of_their_type() {
    let message = |list: &[&'static str]| through(Mode::Refuse, &in_run(list)).refused.unwrap().message;
    let null_id = r#"{"type":"TEXT_MESSAGE_START","messageId":null}"#;
    breaks(Rule::MissingMember, &in_run(&[null_id]));
    assert!(message(&[null_id]).contains("messageId"));
    let no_step = r#"{"type":"STEP_STARTED","name":"retrieve"}"#;
    breaks(Rule::MissingMember, &in_run(&[no_step]));
    assert!(message(&[no_step]).contains("stepName"));
    let number = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":42}"#;
    breaks(Rule::WrongType, &in_run(&[START, number]));
    assert!(message(&[START, number]).contains("delta"));
    breaks(Rule::NullMember, &in_run(&[r#"{"type":"RAW","event":1,"timestamp":null}"#]));
    breaks(Rule::WrongType, &in_run(&[r#"{"type":"RAW","event":1,"timestamp":1.5}"#]));
    breaks(Rule::MissingMember, &in_run(&[r#"{"type":"CUSTOM","name":"n"}"#]));
    let history = r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"user","content":"x"}]}"#;
    breaks(Rule::MissingMember, &in_run(&[history]));
    for fine in [
        r#"{"type":"RAW","event":null,"rawEvent":null,"unknown":{"type":1}}"#,
        r#"{"type":"STATE_DELTA","delta":[{"op":"future"},{"op":"add","path":"/a","value":null,"x":1}]}"#,
        r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"narrator"},{"id":"m","role":"assistant"}]}"#,
        r#"{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"hologram"}]}"#,
        r#"{"type":"future","messageId":7}"#,
    ] {
        assert_eq!(through(Mode::Refuse, &within(&[fine])).refused, None, "{fine}");
    }
}

#[test]
fn an_identifier_is_the_same_however_it_is_spelled() {
    let list = [STARTED, START, r#"{"type":"TEXT_MESSAGE_END","messageId":"\u006d1"}"#, FINISHED];
    assert_eq!(through(Mode::Refuse, &list).refused, None);
}

#[test]
fn past_its_bounds_it_accuses_nobody() {
    let many = state::KNOWN_MAX + 10;
    let item =
        |n: usize, kind: &str| event(&format!(r#"{{"type":"TEXT_MESSAGE_{kind}","messageId":"m{n}","delta":""}}"#));
    let starts = (0..many).map(|n| item(n, "START"));
    let contents = (0..many).map(|n| item(n, "CONTENT"));
    let ends = (0..many).map(|n| item(n, "END"));
    let all = std::iter::once(event(STARTED)).chain(starts).chain(contents).chain(ends).chain([event(FINISHED)]);
    let outcome = run(Mode::Observe, all);
    assert_eq!((outcome.violations.len(), outcome.texts.len()), (0, 3 * many + 2));
    let huge = "x".repeat(state::NAMES_MAX);
    let list = ["START", "CONTENT", "END"]
        .map(|kind| event(&format!(r#"{{"type":"TEXT_MESSAGE_{kind}","messageId":"{huge}","delta":""}}"#)));
    let outcome = run(Mode::Observe, std::iter::once(event(STARTED)).chain(list).chain([event(FINISHED)]));
    assert_eq!(outcome.violations.len(), 0);
}
