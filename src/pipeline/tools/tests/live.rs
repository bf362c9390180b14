//! Calls as they are made, in both forms.

use super::*;

#[test]
fn a_denied_call_is_nowhere_and_the_others_are_untouched() {
    let list: Vec<_> = [
        vec![STARTED.to_owned()],
        call("c1", "ls", "{}", "a"),
        vec![start("c2", "rm"), start("c3", "ls"), args("c2", "x"), text("hi"), args("c3", "{}")],
        vec![finish("c2"), finish("c3"), result("c2", "gone"), result("c3", "b"), FINISHED.to_owned()],
    ]
    .concat();
    let sink = deny(&["rm"]).keeps(&list, &[0, 1, 2, 3, 4, 6, 8, 9, 11, 13, 14]);
    let (allowed, dropped) = ((None, Decision::Allowed), (Some(0), Decision::Dropped));
    assert_eq!(decisions(&sink), [allowed, dropped, allowed]);
    assert!(reasons(&sink).iter().all(|reason| *reason == "denied"));
    assert!(sink.events.iter().all(|event| event.frame(Encoding::Sse).is_some()));
}

#[test]
fn a_name_is_compared_as_what_it_says_and_exactly() {
    let list = [start("c1", r"\u0072m"), start("c2", "RM"), start("c3", "rm "), finish("c1"), finish("c2")];
    deny(&["rm"]).keeps(&list, &[1, 2, 4]);
    let list = [start("c", "rm"), finish(r"\u0063"), start("C", "ls"), finish("C")];
    deny(&["rm"]).keeps(&list, &[2, 3]);
}

#[test]
fn chunks_without_an_identifier_go_with_their_call() {
    let list = [
        r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c1","toolCallName":"ls","delta":"{"}"#,
        r#"{"type":"TOOL_CALL_CHUNK","delta":"}"}"#,
        r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c2","toolCallName":"rm","delta":"{\"p\":"}"#,
        r#"{"type":"TOOL_CALL_CHUNK","delta":"\"/secret\"}"}"#,
        r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c2","metadata":{}}"#,
        r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c3","toolCallName":"ls","delta":"{}","subagentRunId":"s"}"#,
        r#"{"type":"TOOL_CALL_CHUNK","delta":"more secret"}"#,
        r#"{"type":"TOOL_CALL_CHUNK","delta":"","subagentRunId":"s"}"#,
        r#"{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c2","content":"deleted"}"#,
    ];
    allow(&["ls"]).keeps(&list, &[0, 1, 5, 7]);
}

#[test]
fn a_chunk_whose_call_nobody_can_tell_ends_the_run() {
    let open = |id: &str, tag: &str| {
        format!(r#"{{"type":"TOOL_CALL_CHUNK","toolCallId":"{id}","toolCallName":"ls","subagentRunId":"{tag}"}}"#)
    };
    let bare = r#"{"type":"TOOL_CALL_CHUNK","delta":"x"}"#.to_owned();
    let custom = r#"{"type":"CUSTOM","name":"n","value":1}"#.to_owned();
    let parents = r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"p","toolCallName":"ls"}"#.to_owned();
    let policy = deny(&["rm"]);
    let sink = policy.refuses(&[open("a", "s"), open("b", "t"), bare.clone(), text("x")], "astray_chunk", 2);
    assert_eq!(sink.refused.unwrap().fault, Fault::Malformed);
    policy.refuses(std::slice::from_ref(&bare), "astray_chunk", 0);
    policy.refuses(&[parents.clone(), custom, bare], "astray_chunk", 2);
    let elsewhere = r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"p","subagentRunId":"s"}"#.to_owned();
    policy.refuses(&[parents.clone(), elsewhere], "astray_chunk", 1);
    let renamed = r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"p","toolCallName":"rm"}"#.to_owned();
    policy.refuses(&[parents, renamed], "renamed_call", 1);
}

#[test]
fn a_chunk_that_takes_up_a_known_call_again_need_not_name_it() {
    let chunk = |id: &str, rest: &str| format!(r#"{{"type":"TOOL_CALL_CHUNK","toolCallId":"{id}"{rest}}}"#);
    let custom = || r#"{"type":"CUSTOM","name":"n","value":1}"#.to_owned();
    let list = [
        chunk("a", r#","toolCallName":"ls""#),
        chunk("b", r#","toolCallName":"rm""#),
        custom(),
        chunk("a", r#","delta":"x""#),
        chunk("b", r#","delta":"secret""#),
        chunk("unheard", r#","delta":"secret""#),
        r#"{"type":"TOOL_CALL_CHUNK","delta":"secret"}"#.to_owned(),
    ];
    deny(&["rm"]).keeps(&list, &[0, 2, 3]);
}

#[test]
fn what_is_of_an_unheard_call_is_left_out() {
    let list = [args("c", "x"), finish("c"), result("c", "y"), start("c", "ls"), finish("c"), result("c", "z")];
    let sink = deny(&["rm"]).keeps(&list, &[3, 4, 5]);
    assert!(reasons(&sink).iter().all(|reason| *reason == "unknown_call"));
    let known = input::known(
        r#"{"messages":[{"role":"assistant","toolCalls":[{"id":"c","function":{"name":"ls"}},{"id":"d","function":{"name":"rm"}}]}]}"#,
    );
    let sink = deny(&["rm"]).sink_knowing(&[result("c", "y"), result("d", "gone")], &known);
    assert_eq!(texts(&sink), [result("c", "y")]);
    assert_eq!(reasons(&sink), ["denied"]);
}

#[test]
fn in_a_later_run_an_identifier_may_begin_another_call() {
    let list = [
        STARTED.to_owned(),
        start("call_0", "rm"),
        args("call_0", "{}"),
        FINISHED.to_owned(),
        STARTED.to_owned(),
        result("call_0", "late"),
        start("call_0", "ls"),
        args("call_0", "{}"),
        finish("call_0"),
        result("call_0", "a b"),
        FINISHED.to_owned(),
    ];
    deny(&["rm"]).keeps(&list, &[0, 3, 4, 6, 7, 8, 9, 10]);
}

#[test]
fn within_a_run_a_denied_call_stays_denied() {
    let list = [start("c", "rm"), finish("c"), start("c", "ls"), args("c", "x"), result("c", "y")];
    deny(&["rm"]).keeps(&list, &[]);
    let list = [start("c", "ls"), finish("c"), start("c", "rm"), args("c", "x"), result("c", "y"), start("c", "ls")];
    deny(&["rm"]).keeps(&list, &[0, 1]);
}

#[test]
fn a_masked_call_is_shown_without_arguments_and_result() {
    let policy = deny(&["rm"]).on_denied(OnDenied::Mask);
    let list = [
        r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"rm","metadata":{"p":"/x"},"subagentRunId":"s"}"#
            .to_owned(),
        args("c", r#"{"p":"#),
        args("c", r#""/x"}"#),
        finish("c"),
        finish("c"),
        result("c", "gone"),
        start("c", "rm"),
    ];
    let sink = policy.sink(&list);
    assert_eq!(
        texts(&sink),
        [
            r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"rm","subagentRunId":"s"}"#.to_owned(),
            r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{}","subagentRunId":"s"}"#.to_owned(),
            finish("c"),
            result("c", ""),
        ]
    );
    assert_eq!(decisions(&sink), [(Some(0), Decision::Masked)]);
    let chunks = [
        r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"rm","delta":"{\"p\":"}"#,
        r#"{"type":"TOOL_CALL_CHUNK","delta":"1}"}"#,
    ];
    assert_eq!(
        policy.through(&chunks),
        [r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"rm","delta":"{}"}"#]
    );
}

#[test]
fn a_denied_call_that_is_an_error_ends_the_run_before_anything_of_it() {
    let policy = deny(&["rm"]).on_denied(OnDenied::Error);
    let sink = policy.refuses(&[STARTED.to_owned(), start("a", "ls"), start("c", "rm"), text("x")], "tool_denied", 2);
    let refused = sink.refused.clone().unwrap();
    assert_eq!(refused.fault, Fault::Denied);
    assert!(!refused.message.contains("rm"));
    assert_eq!(decisions(&sink), [(None, Decision::Allowed), (Some(0), Decision::Refused)]);
    let chunk = r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"rm","delta":"x"}"#;
    policy.refuses(&[STARTED, chunk], "tool_denied", 1);
}

#[test]
fn what_the_run_ends_with_goes_out_after_it_was_refused() {
    let policy = deny(&["rm"]).on_denied(OnDenied::Error);
    let (mut pipeline, mut sink, at) = (policy.pipeline(&Known::default()), Sink::default(), Instant::now());
    pipeline.event(event(&start("c", "rm")), at, &mut sink);
    pipeline.event(event(&text("x")), at, &mut sink);
    pipeline.event(Event::run_error("no", "TOOL_DENIED"), at, &mut sink);
    pipeline.end(End::Stopped, at, &mut sink);
    assert_eq!(sink.events.len(), 1);
    assert!(sink.events[0].is_own());
}

#[test]
fn arguments_are_judged_when_they_are_whole_wherever_they_are_cut() {
    let policy = deny(&[]).argument("fetch", "/url", r"^http://169\.254\.");
    let (bad, good) = (r#"{"url":"http://169.254.1.1"}"#, r#"{"url":"http://example.com/🌊"}"#);
    for cut in (0..bad.len()).filter(|cut| bad.is_char_boundary(*cut)) {
        let list = [
            start("c", "fetch"),
            args("c", &bad[..cut]),
            text("x"),
            args("c", &bad[cut..]),
            finish("c"),
            result("c", "r"),
        ];
        policy.keeps(&list, &[2]);
    }
    for cut in (0..good.len()).filter(|cut| good.is_char_boundary(*cut)) {
        let list = [
            start("c", "fetch"),
            args("c", &good[..cut]),
            text("x"),
            args("c", &good[cut..]),
            finish("c"),
            result("c", "r"),
        ];
        let sink = policy.sink(&list);
        let order = [2, 0, 1, 3, 4, 5].map(|n: usize| list[n].clone());
        assert_eq!(texts(&sink), order, "what is held leaves at the place of the end");
        assert_eq!(decisions(&sink), [(Some(0), Decision::Allowed)]);
    }
    let halves = [
        start("c", "fetch"),
        r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{\"x\":\"\ud83c"}"#.to_owned(),
        r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"\udf0a\"}"}"#.to_owned(),
        finish("c"),
    ];
    policy.passes(&halves);
}

#[test]
fn calls_that_the_name_decides_are_not_held() {
    let policy = deny(&["rm"]).argument("fetch", "/url", "x");
    let (mut pipeline, mut sink, at) = (policy.pipeline(&Known::default()), Sink::default(), Instant::now());
    for text in [start("a", "fetch"), start("b", "ls"), args("b", "{"), args("a", "{}")] {
        pipeline.event(event(&text), at, &mut sink);
    }
    assert_eq!(texts(&sink), [start("b", "ls"), args("b", "{")]);
    assert!(pipeline.held() > 0);
    pipeline.event(event(&finish("a")), at, &mut sink);
    assert_eq!(texts(&sink)[2..], [start("a", "fetch"), args("a", "{}"), finish("a")]);
}

const SNAPSHOT: &str = r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#;
const SUBAGENT: &str = r#"{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n","parentToolCallId":"c"}"#;

#[test]
fn the_end_of_a_run_has_what_is_held_decided_by_the_arguments_there_are() {
    let policy = deny(&[]).argument("fetch", "/url", "bad");
    let failed = r#"{"type":"RUN_ERROR","message":"m"}"#;
    for last in [&*result("c", "r"), FINISHED, STARTED, failed, SUBAGENT] {
        policy.passes(&[&*start("c", "fetch"), &*args("c", "{}"), last]);
        let list = [&*start("c", "fetch"), &*args("c", r#"{"url":"ba"#), last];
        let kept = usize::from(!last.contains(r#""c""#));
        assert_eq!(policy.through(&list).len(), kept, "{last}: arguments that are no JSON are denied");
    }
    policy.passes(&[start("c", "fetch"), args("c", "{}")]);
    assert!(policy.through(&[start("c", "fetch"), args("c", "{")]).is_empty(), "at the stream's end too");
}

#[test]
fn what_tells_of_a_held_call_waits_for_its_end_with_all_that_follows() {
    let policy = deny(&[]).argument("fetch", "/url", "bad");
    let list = |url: &str| {
        [
            text("before"),
            start("c", "fetch"),
            SUBAGENT.to_owned(),
            text("x"),
            start("d", "fetch"),
            result("d", "r"),
            args("c", &format!(r#"{{"url":"{url}"}}"#)),
            args("d", "{}"),
            finish("c"),
            text("y"),
            finish("d"),
            text("z"),
        ]
    };
    let good = list("fine");
    assert_eq!(policy.through(&good), [0, 1, 6, 8, 2, 3, 4, 7, 10, 5, 9, 11].map(|n: usize| good[n].clone()));
    let bad = list("bad");
    assert_eq!(policy.through(&bad), [0, 3, 4, 7, 10, 5, 9, 11].map(|n: usize| bad[n].clone()));
    let ended = [&good[..8], &[FINISHED.to_owned()]].concat();
    assert_eq!(policy.through(&ended), [0, 1, 6, 2, 3, 4, 7, 5, 8].map(|n: usize| ended[n].clone()));
}

#[test]
fn a_result_has_a_held_call_decided_if_its_arguments_look_whole() {
    let policy = deny(&[]).argument("fetch", "/url", "bad");
    let list = |first: &str, second: &str| {
        vec![start("c", "fetch"), args("c", first), result("c", "r"), text("x"), args("c", second), finish("c")]
    };
    policy.refuses(&list("{}", "{}"), "late_arguments", 4);
    let out = policy.through(&list("{}", ""));
    assert_eq!(out, [0, 1, 2, 3, 5].map(|n: usize| list("{}", "")[n].clone()));
    for (first, second) in [("", "{}"), ("{", "}")] {
        let list = list(first, second);
        assert_eq!(policy.through(&list), [0, 1, 4, 5, 2, 3].map(|n: usize| list[n].clone()));
    }
}

#[test]
fn a_snapshot_of_the_messages_does_not_wait_and_a_held_call_is_not_in_it() {
    let policy = deny(&[]).argument("fetch", "/url", "bad");
    let snapshot = |arguments: &str, rest: &str| {
        let function = serde_json::json!({"name": "fetch", "arguments": arguments});
        let call = format!(r#"{{"id":"m","role":"assistant","toolCalls":[{{"id":"c","function":{function}}}]}}"#);
        format!(r#"{{"type":"MESSAGES_SNAPSHOT","messages":[{call}{rest}]}}"#)
    };
    let list = [start("c", "fetch"), snapshot("", ""), args("c", r#"{"url":"x"}"#), finish("c")];
    let begun = [SNAPSHOT.to_owned(), list[0].clone(), list[2].clone(), list[3].clone()];
    assert_eq!(policy.through(&list), begun);
    let answer = r#",{"id":"t","role":"tool","toolCallId":"c","content":"r"}"#;
    let answered = [start("c", "fetch"), args("c", "{}"), snapshot("{}", answer), finish("c"), result("c", "r")];
    policy.passes(&answered);
    let late = [start("c", "fetch"), snapshot("", answer), args("c", "{}"), finish("c")];
    policy.refuses(&late, "late_arguments", 2);
    let denied = [start("c", "fetch"), args("c", "{}"), snapshot(r#"{"url":"bad"}"#, answer), finish("c")];
    for (on_denied, messages) in [(OnDenied::Drop, 0), (OnDenied::Mask, 2)] {
        let out = policy.clone().on_denied(on_denied).through(&denied);
        assert_eq!([&out[0], &out[1], &out[3]], [&denied[0], &denied[1], &denied[3]], "what began is ended");
        assert_eq!(out[2].matches("role").count(), messages, "{}", out[2]);
    }
}

#[test]
fn a_held_call_that_goes_on_after_its_end_is_judged_anew_or_ends_the_run() {
    let policy = deny(&[]).argument("fetch", "/url", "bad");
    let twice = |first: &str, second: &str| {
        let call = |text: &str| [start("c", "fetch"), args("c", text), finish("c")];
        [call(first), call(second)].concat()
    };
    for (first, second) in [("", "{}"), (r#"{"url":"x"}"#, ""), ("", "")] {
        policy.passes(&twice(first, second));
    }
    for (first, second) in [("", "{"), ("", r#"{"url":"bad"}"#), ("1", "2")] {
        policy.refuses(&twice(first, second), "late_arguments", 3);
    }
}

#[test]
fn a_masked_call_is_ended_after_a_snapshot_too() {
    let messages =
        r#"{"id":"c","role":"assistant","toolCalls":[{"id":"c","function":{"name":"rm","arguments":"{}"}}]}"#;
    let snapshot = format!(r#"{{"type":"MESSAGES_SNAPSHOT","messages":[{messages}]}}"#);
    let list = [start("c", "rm"), snapshot, args("c", "x"), finish("c"), finish("c")];
    let out = deny(&["rm"]).on_denied(OnDenied::Mask).through(&list);
    assert_eq!(out, [list[0].clone(), args("c", "{}"), list[1].clone(), finish("c")]);
}

#[test]
fn a_chunk_gets_a_name_where_the_client_would_take_it_for_another_ones() {
    let policy = deny(&["rm"]);
    let chunk = |kind: &str, rest: &str| format!(r#"{{"type":"{kind}_CHUNK"{rest}}}"#);
    let message = |rest: &str| chunk("TEXT_MESSAGE", rest);
    let reasoning = |rest: &str| chunk("REASONING_MESSAGE", rest);
    let denied = start("c", "rm").replace('}', r#","subagentRunId":"s"}"#);
    let list = [
        message(r#","messageId":"m1","subagentRunId":"s""#),
        message(r#","delta":"a""#),
        denied,
        message(r#","messageId":"m4","subagentRunId":"t""#),
        message(r#","delta":"b""#),
        message(r#","delta":"c","subagentRunId":"t""#),
    ];
    let named = message(r#","delta":"b","messageId":"m4""#);
    assert_eq!(policy.through(&list), [list[0].clone(), list[1].clone(), list[3].clone(), named, list[5].clone()]);
    for last in [args("c", "x"), finish("c"), result("c", "x")] {
        let list = [
            start("c", "rm"),
            reasoning(r#","messageId":"k2""#),
            reasoning(r#","messageId":"k3","subagentRunId":"s""#),
            last,
            reasoning(r#","metadata":{}"#),
        ];
        let named = reasoning(r#","metadata":{},"messageId":"k3""#);
        assert_eq!(policy.through(&list), [list[1].clone(), list[2].clone(), named]);
    }
}

#[test]
fn a_chunk_that_the_client_has_closed_begins_again_with_its_names() {
    let list = [
        r#"{"type":"TOOL_CALL_START","toolCallId":"no","toolCallName":"rm"}"#,
        r#"{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n","parentToolCallId":"no"}"#,
        r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"ls"}"#,
        r#"{"type":"STATE_DELTA","delta":[],"subagentRunId":"s"}"#,
        r#"{"type":"TOOL_CALL_CHUNK","delta":"{}"}"#,
    ];
    let named = r#"{"type":"TOOL_CALL_CHUNK","delta":"{}","toolCallId":"c","toolCallName":"ls"}"#;
    assert_eq!(deny(&["rm"]).through(&list), [list[2], r#"{"type":"STATE_DELTA","delta":[]}"#, named]);
}

#[test]
fn held_chunks_leave_before_what_closes_them() {
    let policy = deny(&[]).argument("fetch", "/url", "bad");
    let list = [
        r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"fetch","delta":"{\"url\":"}"#,
        r#"{"type":"RAW","event":1}"#,
        r#"{"type":"TOOL_CALL_CHUNK","delta":"\"fine\"}"}"#,
        r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"a"}"#,
    ];
    assert_eq!(policy.through(&list), [list[0], list[2], list[3]]);
    let bad = list.map(|text| text.replace("fine", "bad"));
    assert_eq!(policy.through(&bad), [bad[3].clone()]);
}

#[test]
fn a_held_chunk_without_an_identifier_gets_it_where_it_would_be_ambiguous() {
    let policy = deny(&[]).argument("fetch", "/url", "bad");
    let list = [
        r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"fetch","subagentRunId":"s"}"#,
        r#"{"type":"TOOL_CALL_CHUNK","delta":"{}"}"#,
        r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"d","toolCallName":"ls"}"#,
        r#"{"type":"STEP_STARTED","stepName":"x","subagentRunId":"s"}"#,
    ];
    let named = r#"{"type":"TOOL_CALL_CHUNK","delta":"{}","toolCallId":"c"}"#;
    assert_eq!(policy.through(&list), [list[2], list[0], named, list[3]]);
}

#[test]
fn a_call_denied_for_its_arguments_is_masked_or_refused_as_a_whole() {
    let policy = deny(&[]).argument("fetch", "/url", "bad");
    let list = [start("c", "fetch"), args("c", r#"{"url":"bad"}"#), finish("c"), result("c", "r")];
    let masked = policy.clone().on_denied(OnDenied::Mask);
    assert_eq!(masked.through(&list), [start("c", "fetch"), args("c", "{}"), finish("c"), result("c", "")]);
    policy.on_denied(OnDenied::Error).refuses(&list, "tool_denied", 0);
}

#[test]
fn a_denied_result_is_emptied_and_its_call_stays() {
    let policy = deny(&[]).result("read_*", "PRIVATE KEY");
    let list = call("c", "read_file", "{}", "BEGIN PRIVATE KEY");
    let emptied = [&list[..3], &[result("c", "")]].concat();
    let sink = policy.sink(&list);
    assert_eq!(texts(&sink), emptied);
    assert_eq!(reasons(&sink), ["result"]);
    assert_eq!(policy.clone().on_denied(OnDenied::Mask).through(&list), emptied);
    policy.clone().on_denied(OnDenied::Error).refuses(&list, "tool_denied", 3);
    policy.passes(&call("c", "other", "{}", "BEGIN PRIVATE KEY"));
    policy.passes(&call("c", "read_file", "{}", "fine"));
}

#[test]
fn what_cannot_be_read_ends_the_run() {
    let policy = deny(&["rm"]);
    for (odd, rule) in [
        ("oops", "unreadable"),
        (r#"{"type":"TEXT_MESSAGE_CONTENT","delta":"x"}{"type":"TOOL_CALL_START"}"#, "unreadable"),
        (r#"{"type":"TOOL_CALL_START","toolCallId":"c"}"#, "incomplete"),
        (r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":null}"#, "incomplete"),
        (r#"{"type":"TOOL_CALL_START","toolCallId":7,"toolCallName":"ls"}"#, "unreadable"),
        (r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"\ud83d"}"#, "unreadable"),
        (r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"rm","toolCallName":"ls"}"#, "given_twice"),
        (r#"{"type":"TOOL_CALL_ARGS","delta":"x"}"#, "incomplete"),
        (r#"{"type":"TOOL_CALL_RESULT","content":"x"}"#, "incomplete"),
        (r#"{"type":"MESSAGES_SNAPSHOT","messages":{}}"#, "unreadable"),
        (r#"{"type":"MESSAGES_SNAPSHOT","messages":[1]}"#, "unreadable"),
    ] {
        let sink = policy.refuses(&[STARTED, odd, STARTED], rule, 1);
        assert_eq!(sink.refused.unwrap().fault, Fault::Malformed, "{odd}");
    }
    policy.passes(&["[DONE]", "", r#"{"type":"VENDOR","x":1,"x":2}"#, r#"{"error":{"message":"m"}}"#]);
}

#[test]
fn an_event_that_has_only_a_frame_is_not_read() {
    let (mut pipeline, mut sink) = (deny(&["rm"]).pipeline(&Known::default()), Sink::default());
    let unread = Event::unread(EventKind::Other, Some((Encoding::Protobuf, Bytes::from_static(b"x"))));
    pipeline.event(unread, Instant::now(), &mut sink);
    assert!(sink.events.is_empty() && sink.refused.is_some());
}

#[test]
fn a_long_history_leaves_room_for_the_run() {
    let call = |n: usize| {
        format!(r#"{{"id":"call-{n}","function":{{"name":"{}"}}}}"#, if n.is_multiple_of(2) { "rm" } else { "ls" })
    };
    let calls: Vec<_> = (0..20_000).map(call).collect();
    let body = format!(r#"{{"messages":[{{"role":"assistant","toolCalls":[{}]}}]}}"#, calls.join(","));
    let sink = deny(&["rm"]).sink_knowing(&[start("c", "ls"), start("d", "rm"), finish("c")], &input::known(&body));
    assert_eq!(texts(&sink), [start("c", "ls"), finish("c")]);
}

#[test]
fn what_is_held_is_bounded() {
    let policy = deny(&[]).argument("fetch", "/url", "bad");
    let piece = args("c", &"x".repeat(60_000));
    let list: Vec<_> = std::iter::once(start("c", "fetch")).chain(std::iter::repeat_n(piece, 100)).collect();
    let sink = policy.sink(&list);
    assert!(sink.events.is_empty());
    assert_eq!(sink.refused.unwrap().fault, Fault::Budget);
    for text in [text("x"), text(&"x".repeat(60_000))] {
        let list = [vec![start("c", "fetch"), SUBAGENT.to_owned()], vec![text; 10_000]].concat();
        let sink = policy.sink(&list);
        assert!(sink.events.is_empty());
        assert_eq!(sink.refused.unwrap().rule, "waiting_events");
    }
}
