//! Messages in snapshots and in echoed inputs.

use super::*;

fn snapshot(messages: &[&str]) -> String {
    format!(r#"{{"type":"MESSAGES_SNAPSHOT","messages":[{}]}}"#, messages.join(","))
}

const USER: &str = r#"{"id":"u","role":"user","content":[ {"type":"text","text":"h\u0069"} ]}"#;

fn assistant(rest: &str) -> String {
    format!(r#"{{"id":"a","role":"assistant"{rest}}}"#)
}

fn tool_call(id: &str, name: &str) -> String {
    format!(r#"{{"id":"{id}","type":"function","function":{{"name":"{name}","arguments":"{{ }}"}}}}"#)
}

fn tool(id: &str) -> String {
    format!(r#"{{"id":"t-{id}","role":"tool","toolCallId":"{id}","content":"result of {id}"}}"#)
}

/// The messages that are left of these.
fn left(policy: &Written, messages: &[&str]) -> String {
    policy.through(&[snapshot(messages)]).concat()
}

#[test]
fn a_denied_call_goes_with_its_results_and_with_a_message_that_held_nothing_else() {
    let policy = deny(&["rm"]);
    let both = assistant(&format!(r#","toolCalls":[{},{}]"#, tool_call("c1", "rm"), tool_call("c2", "ls")));
    let one = assistant(&format!(r#","toolCalls":[{}]"#, tool_call("c2", "ls")));
    let (c1, c2) = (tool("c1"), tool("c2"));
    assert_eq!(left(&policy, &[USER, &both, &c1, &c2]), snapshot(&[USER, &one, &c2]));
    for empty in ["", r#","content":null"#, r#","content":"""#, r#","content":[ ]"#] {
        let message = assistant(&format!(r#"{empty},"toolCalls":[{}]"#, tool_call("c1", r"r\u006d")));
        assert_eq!(left(&policy, &[USER, &message, &c1]), snapshot(&[USER]));
    }
    let said = assistant(&format!(r#","toolCalls":[{}],"content":"hm""#, tool_call("c1", "rm")));
    assert_eq!(left(&policy, &[&said, &c1]), snapshot(&[&assistant(r#","content":"hm""#)]));
    policy.passes(&[snapshot(&[
        USER,
        &one,
        &c2,
        &assistant(r#","toolCalls":null"#),
        &assistant(r#","toolCalls":[]"#),
    ])]);
}

#[test]
fn both_spellings_of_names_count() {
    let policy = deny(&["rm"]);
    let message = assistant(&format!(r#","tool_calls":[{}]"#, tool_call("c1", "rm")));
    let answer = r#"{"id":"t","role":"tool","tool_call_id":"c1","content":"gone"}"#;
    assert_eq!(left(&policy, &[USER, &message, answer]), snapshot(&[USER]));
    let twice = assistant(&format!(r#","toolCalls":[],"tool_calls":[{}]"#, tool_call("c1", "rm")));
    policy.refuses(&[snapshot(&[&twice])], "given_twice", 0);
}

#[test]
fn an_identifier_that_comes_again_is_each_time_another_call() {
    let message = |name: &str| assistant(&format!(r#","toolCalls":[{}]"#, tool_call("c", name)));
    let (rm, ls, answer) = (message("rm"), message("ls"), tool("c"));
    let policy = deny(&["rm"]);
    assert_eq!(left(&policy, &[&rm, &answer, &ls, &answer]), snapshot(&[&ls, &answer]));
    assert_eq!(left(&policy, &[&ls, &answer, &rm, &answer]), snapshot(&[&ls, &answer]));
    let one = assistant(&format!(r#","toolCalls":[{},{}]"#, tool_call("c", "rm"), tool_call("c", "ls")));
    assert_eq!(left(&policy, &[&one, &answer]), snapshot(&[]), "whose the answer is, nobody can tell");
}

#[test]
fn what_was_denied_in_the_run_is_in_no_snapshot_of_it_by_whatever_name() {
    let lie = assistant(&format!(r#","toolCalls":[{}]"#, tool_call("c", "ls")));
    let list = [start("c", "rm"), finish("c"), snapshot(&[USER, &lie, &tool("c")])];
    assert_eq!(deny(&["rm"]).through(&list), [snapshot(&[USER])]);
}

#[test]
fn results_are_judged_by_the_calls_of_the_stream_and_of_the_snapshot() {
    let (shown, denied, unheard) = (tool("yes"), tool("no"), tool("unheard"));
    let list = [start("yes", "ls"), start("no", "rm"), snapshot(&[&shown, &denied, &unheard])];
    assert_eq!(deny(&["rm"]).through(&list)[1], snapshot(&[&shown]));
    let message = assistant(&format!(r#","toolCalls":[{},{}]"#, tool_call("a", "ls"), tool_call("b", "rm")));
    let list = [snapshot(&[&message]), result("a", "x"), result("b", "gone")];
    let out = deny(&["rm"]).through(&list);
    assert_eq!(out[1..], [result("a", "x")], "what a snapshot told is known from then on");
}

#[test]
fn masked_calls_in_a_snapshot_are_emptied() {
    let policy = deny(&["rm"]).on_denied(OnDenied::Mask);
    let call = r#"{"id":"c","type":"function","function":{"name":"rm","arguments":"{\"p\":1}"},"encryptedValue":"A"}"#;
    let emptied = r#"{"id":"c","type":"function","function":{"name":"rm","arguments":"{}"}}"#;
    let message = |call: &str| assistant(&format!(r#","toolCalls":[{call}]"#));
    let answer = r#"{"id":"t-c","role":"tool","toolCallId":"c","content":""}"#;
    assert_eq!(left(&policy, &[USER, &message(call), &tool("c")]), snapshot(&[USER, &message(emptied), answer]));
}

#[test]
fn a_denied_call_in_a_snapshot_ends_the_run_where_that_is_an_error() {
    let message = assistant(&format!(r#","toolCalls":[{}]"#, tool_call("c", "rm")));
    let policy = deny(&["rm"]).on_denied(OnDenied::Error);
    policy.refuses(&[STARTED.to_owned(), snapshot(&[&message])], "tool_denied", 1);
}

#[test]
fn calls_and_results_in_a_snapshot_are_judged_by_the_same_rules() {
    let policy = deny(&[]).argument("fetch", "/url", "bad").result("read", "KEY");
    let call = |id: &str, name: &str, arguments: &str| {
        format!(r#"{{"id":"{id}","function":{{"name":"{name}","arguments":{arguments}}}}}"#)
    };
    let calls = |calls: &[String]| assistant(&format!(r#","toolCalls":[{}]"#, calls.join(",")));
    let good = [call("a", "fetch", r#""{\"url\":\"fine\"}""#), call("b", "read", r#""""#)];
    let bad = [
        call("x", "fetch", r#""{\"url\":\"b\u0061d\"}""#),
        call("y", "fetch", r#""{""#),
        call("z", "fetch", r#"{"url":"bad"}"#),
        call("w", "fetch", "7}").replace("7}", "7"),
    ];
    let all = calls(&[&good[..1], &bad[..3], &good[1..]].concat());
    let key = r#"{"id":"t","role":"tool","toolCallId":"b","content":[{"type":"text","text":"a KEY"}],"error":"e"}"#;
    let none = r#"{"id":"t","role":"tool","toolCallId":"b","content":""}"#;
    assert_eq!(left(&policy, &[&all, &tool("x"), key]), snapshot(&[&calls(&good), none]));
    let error = r#"{"id":"t","role":"tool","toolCallId":"b","content":"","error":"KEY"}"#;
    assert_eq!(left(&policy, &[&calls(&good), error]), snapshot(&[&calls(&good), none]));
}

#[test]
fn messages_that_cannot_be_read_end_the_run() {
    for bad in [
        assistant(r#","toolCalls":{}"#),
        assistant(r#","toolCalls":[1]"#),
        assistant(r#","toolCalls":[{"id":"c"}]"#),
        assistant(r#","toolCalls":[{"id":"c","function":{"name":7}}]"#),
        assistant(r#","toolCalls":[{"function":{"name":"ls"}}]"#),
        assistant(r#","toolCalls":[{"id":"c","id":"d","function":{"name":"ls"}}]"#),
        assistant(r#","toolCalls":[{"id":"c","function":{"name":"rm","name":"ls"}}]"#),
        r#"{"id":"t","role":"tool","content":"x"}"#.to_owned(),
        r#"{"id":"t","role":"tool","toolCallId":7}"#.to_owned(),
        "null".to_owned(),
    ] {
        let sink = deny(&["rm"]).sink(&[snapshot(&[USER, &bad])]);
        assert_eq!(sink.refused.map(|refused| refused.fault), Some(Fault::Malformed), "{bad}");
        assert!(sink.events.is_empty());
    }
}

#[test]
fn an_echoed_input_is_filtered_and_never_ends_the_run() {
    let message = assistant(&format!(r#","toolCalls":[{}]"#, tool_call("c", "rm")));
    let echo = |tools: &str, messages: &str| {
        format!(
            r#"{{"type":"RUN_STARTED","input":{{"tools":[{tools}],"messages":[{messages}],"state":1.50}},"runId":"r"}}"#
        )
    };
    let (rm, ls) = (r#"{"name":"rm","description":"d"}"#, r#"{"name":"ls","parameters":{ }}"#);
    let list = [echo(&format!("{rm},{ls}"), &[USER, &message, &tool("c")].join(",")), result("c", "gone")];
    for policy in [deny(&["rm"]), allow(&["ls"])] {
        assert_eq!(policy.through(&list), [echo(ls, USER)]);
    }
    let error = deny(&["rm"]).on_denied(OnDenied::Error);
    assert_eq!(error.through(&list[..1]), [echo(ls, USER)]);
    error.refuses(&list, "tool_denied", 1);
    deny(&["rm"]).passes(&[echo(ls, USER)]);
}

#[test]
fn a_message_that_began_as_text_stays_when_its_calls_go() {
    let begin = r#"{"type":"TEXT_MESSAGE_START","messageId":"a","role":"assistant"}"#.to_owned();
    let chunk = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"a"}"#.to_owned();
    let calls = format!(r#","toolCalls":[{}]"#, tool_call("x", "rm"));
    for first in [begin, chunk] {
        let list = [first.clone(), start("x", "rm"), snapshot(&[&assistant(&format!(r#","content":""{calls}"#))])];
        assert_eq!(deny(&["rm"]).through(&list), [first, snapshot(&[&assistant(r#","content":"""#)])]);
    }
}
