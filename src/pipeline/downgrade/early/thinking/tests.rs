//! How spans and messages of reasoning nest once they are thinking.

use super::{
    super::tests::{run, texts},
    *,
};
use crate::pipeline::Sink;

/// `(s` and `)s` open and close a span, `+a` and `-a` a message, `a1` is a delta of it, `@a1` a chunk, `@.1` one
/// without an identifier, `t` a text message, `!` the run's error, `.` its finish.
fn event(short: &str) -> String {
    let (first, rest) = short.split_at(1);
    let of = |kind: &str, id: &str| format!(r#"{{"type":"REASONING_{kind}","messageId":"{id}"}}"#);
    match (first, rest) {
        ("(", id) => of("START", id),
        (")", id) => of("END", id),
        ("+", id) => of("MESSAGE_START", id).replace('}', r#","role":"reasoning"}"#),
        ("-", id) => of("MESSAGE_END", id),
        ("@", chunk) => match chunk.split_at(1) {
            (".", delta) => format!(r#"{{"type":"REASONING_MESSAGE_CHUNK","delta":"{delta}"}}"#),
            (id, delta) => of("MESSAGE_CHUNK", id).replace('}', &format!(r#","delta":"{delta}"}}"#)),
        },
        ("!", _) => r#"{"type":"RUN_ERROR","message":"m"}"#.into(),
        (".", _) => r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#.into(),
        ("t", _) => r#"{"type":"TEXT_MESSAGE_START","messageId":"t"}"#.into(),
        (id, delta) => of("MESSAGE_CONTENT", id).replace('}', &format!(r#","delta":"{delta}"}}"#)),
    }
}

fn thought(list: &[&str]) -> Sink {
    let list: Vec<String> = list.iter().map(|short| event(short)).collect();
    run(vec![Box::new(Thinking::default())], &list.iter().map(String::as_str).collect::<Vec<_>>())
}

/// What came out: `(`, `)`, `+`, `-`, a delta, `t`, `!` and `.`.
fn shape(sink: &Sink) -> String {
    let short = |event: &Event| match event.kind() {
        EventKind::ThinkingStart => "(".to_owned(),
        EventKind::ThinkingEnd => ")".to_owned(),
        EventKind::ThinkingTextMessageStart => "+".to_owned(),
        EventKind::ThinkingTextMessageEnd => "-".to_owned(),
        EventKind::ThinkingTextMessageContent => event.string("delta").unwrap_or_default().into_owned(),
        EventKind::TextMessageStart => "t".to_owned(),
        EventKind::RunError => "!".to_owned(),
        EventKind::RunFinished => ".".to_owned(),
        other => format!("<{}>", other.as_str()),
    };
    sink.events.iter().map(short).collect()
}

#[track_caller]
fn check(list: &[&str], expected: &str) {
    assert_eq!(shape(&thought(list)), expected);
}

#[test]
fn a_span_with_messages_keeps_its_form() {
    check(&["(s", "+a", "a1", "a2", "-a", "+b", "b3", "-b", ")s"], "(+12-+3-)");
    let sink = thought(&["+a", "a1"]);
    assert_eq!(texts(&sink)[1], r#"{"type":"THINKING_TEXT_MESSAGE_START","messageId":"a"}"#);
    assert_eq!(texts(&sink)[2], r#"{"type":"THINKING_TEXT_MESSAGE_CONTENT","messageId":"a","delta":"1"}"#);
}

#[test]
fn a_message_without_a_span_gets_one_of_its_own() {
    check(&["+a", "a1", "-a", "+b", "-b"], "(+1-)(+-)");
}

#[test]
fn interleaved_messages_take_turns() {
    check(&["(s", "+a", "+b", "a1", "b2", "a3", "-b", "a4", "-a", ")s"], "(+-+-+1-+2-+34-)");
}

#[test]
fn a_nested_span_follows_the_one_it_was_in() {
    check(&["(s", "+a", "a1", "(u", "+b", "b2", "-b", ")u", "a3", "-a", ")s", "+c", "-c"], "(+1-)(+2-+3-)(+-)");
}

#[test]
fn a_message_that_outlives_its_span_gets_another() {
    check(&["(s", "+a", "a1", ")s", "a2", "-a"], "(+1-)(+2-)");
}

#[test]
fn empty_deltas_are_left_out() {
    check(&["(s", "+a", "a", "a1", "-a", "@b", "@b2", ")s"], "(+1-+2-)");
}

#[test]
fn chunks_are_closed_by_what_follows_the_thinking() {
    check(&["@a1", "@.2", "@b3", "@.4", "t", "@.5", "."], "(+12-+34-)t(+5-).");
    check(&["@a1", "(s", "@.2", ")s", "."], "(+1-)(2).");
    check(&["(s", "@a1", "t", "@a2", ")s", "."], "(+1-t+2-).");
    check(&["+a", "a1", "t", "a2", "-a"], "(+1t2-)");
}

#[test]
fn what_is_open_is_closed_before_the_run_ends() {
    check(&["(s", "+a", "a1", "!"], "(+1-)!");
    check(&["(s", "(u", "+a", "a1", "."], "()(+1-).");
    check(&["+a", "a1"], "(+1-)");
}

#[test]
fn ends_of_what_is_not_open_say_nothing() {
    check(&[")s", "-a", "."], ".");
}

#[test]
fn the_title_moves_out_of_the_metadata() {
    let start = |metadata: &str| {
        let text = format!(r#"{{"type":"REASONING_START","messageId":"r","metadata":{metadata}}}"#);
        let sink = run(vec![Box::new(Thinking::default())], &[&text]);
        texts(&sink).swap_remove(0)
    };
    for (metadata, rest) in [
        (r#"{"tidegate.title":"a\n"}"#, r#""title":"a\n"}"#),
        (r#"{"k":null,"tidegate.title":"b"}"#, r#""metadata":{"k":null},"title":"b"}"#),
        (r#"{"title":"c"}"#, r#""metadata":{"title":"c"},"title":"c"}"#),
        (r#"{"title":1}"#, r#""metadata":{"title":1}}"#),
    ] {
        assert_eq!(start(metadata), format!(r#"{{"type":"THINKING_START","messageId":"r",{rest}"#));
    }
}

#[test]
fn an_encrypted_value_is_left_out_and_named() {
    let text = r#"{"type":"REASONING_ENCRYPTED_VALUE","subtype":"message","entityId":"a","encryptedValue":"x"}"#;
    let sink = run(vec![Box::new(Thinking::default())], &[text]);
    assert!(sink.events.is_empty());
    assert_eq!(sink.converted[0].loss, Loss::Whole("encrypted_value"));
}

#[test]
fn what_is_thinking_already_keeps_its_bytes_and_gets_a_span() {
    let list = [
        r#"{"type":"THINKING_TEXT_MESSAGE_START", "n":1.0}"#,
        r#"{"type":"THINKING_TEXT_MESSAGE_CONTENT", "delta":"\u0061"}"#,
        r#"{"type":"THINKING_TEXT_MESSAGE_END" }"#,
    ];
    let sink = run(vec![Box::new(Thinking::default())], &list);
    let bare = [r#"{"type":"THINKING_START"}"#, r#"{"type":"THINKING_END"}"#];
    assert_eq!(texts(&sink), [bare[0], list[0], list[1], list[2], bare[1]]);
    assert!(sink.converted.is_empty());
}
