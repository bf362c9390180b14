//! When deltas leave, and as what.
use super::*;

fn m(delta: &str) -> String {
    text("m", delta)
}

fn plain(events: &[(u64, String)]) -> Vec<(u64, &str)> {
    events.iter().map(|(ms, text)| (*ms, &**text)).collect()
}

#[test]
fn the_first_delta_leaves_at_once_and_the_others_with_the_window() {
    let list = [(0, START.into()), (1, m("a")), (5, m("b")), (40, m("c")), (60, m("d")), (90, m("e"))];
    let out = sent(every(50), &list);
    assert_eq!(
        plain(&out),
        [(0, START), (1, &m("a")), (55, &m("bc")), (90, &m("de"))],
        "by a deadline that stands, and the end of the stream"
    );
}

#[test]
fn a_window_that_ends_with_nothing_held_lets_the_next_delta_through() {
    let out = sent(every(50), &[(0, m("a")), (50, m("b")), (99, m("c")), (300, m("d"))]);
    assert_eq!(plain(&out), [(0, &*m("a")), (50, &m("b")), (149, &m("c")), (300, &m("d"))]);
}

#[test]
fn a_late_wake_makes_no_shorter_window() {
    let mut stream = Stream::with(every(50));
    stream.event(&m("a"));
    stream.now = 20;
    stream.event(&m("b"));
    stream.now = 70;
    stream.event(&m("c"));
    stream.now = 80;
    stream.event(&m("d"));
    assert_eq!(stream.pipeline.deadline(), Some(stream.start + Duration::from_millis(130)));
    assert_eq!(stream.sent, [(0, m("a")), (70, m("bc"))]);
}

#[test]
fn what_is_not_merged_leaves_as_the_event_it_came_as() {
    let odd = r#"{ "delta" : "b\u00e9" ,"type":"TEXT_MESSAGE_CONTENT", "messageId":"m","x":1.0}"#;
    let mut stream = Stream::with(every(50));
    stream.event(&m("a"));
    let frame = format!("data: {odd}\n\n");
    stream.pipeline.event(
        Event::new(odd.to_owned().into(), Some((Encoding::Sse, frame.clone().into()))),
        stream.start,
        &mut stream.sink,
    );
    stream.pipeline.wake(stream.start + Duration::from_millis(50), &mut stream.sink);
    let event = stream.sink.events.first().unwrap();
    assert_eq!(event.text(), odd);
    assert_eq!(event.frame(Encoding::Sse).unwrap(), &frame);
    assert_eq!(stream.sink.waited, [Duration::from_millis(50)]);
    assert!(stream.sink.merged.is_empty());
}

#[test]
fn deltas_are_joined_as_they_are_spelled() {
    let list = [m("a"), m(r"\u00e9"), m("é\\n"), m(r#"\"}"#), m(r"\/\ud83d"), m(r"\ude00")].map(|text| (0, text));
    let out = sent(every(50), &list);
    assert_eq!(out[1].1, m(r#"\u00e9é\n\"}\/\ud83d\ude00"#));
    assert_eq!(out.len(), 2);
}

#[test]
fn every_kind_of_delta_is_merged_and_none_with_another() {
    for (kind, id) in [
        ("TEXT_MESSAGE_CONTENT", r#""messageId":"i","#),
        ("TOOL_CALL_ARGS", r#""toolCallId":"i","#),
        ("REASONING_MESSAGE_CONTENT", r#""messageId":"i","#),
        ("THINKING_TEXT_MESSAGE_CONTENT", ""),
    ] {
        let of = |delta: &str| format!(r#"{{"type":"{kind}",{id}"delta":"{delta}"}}"#);
        let out = sent(every(50), &[(0, of("a")), (1, of("b")), (2, of("c"))]);
        assert_eq!(plain(&out), [(0, &*of("a")), (2, &of("bc"))]);
    }
    let call = r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"1"}"#;
    let thought = r#"{"type":"REASONING_MESSAGE_CONTENT","messageId":"r","delta":"1"}"#;
    let list = [m("a"), m("b"), call.into(), thought.into(), m("c"), call.into(), thought.into()].map(|text| (0, text));
    let out = sent(every(50), &list);
    assert_eq!(plain(&out), [&m("a"), call, thought, &m("bc"), call, thought].map(|text| (0, text)));
}

#[test]
fn items_are_told_apart_by_kind_owner_and_identifier() {
    let of = |id: &str, tag: &str, delta: &str| {
        format!(r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"{id}","subagentRunId":"{tag}","delta":"{delta}"}}"#)
    };
    let list = [
        (0, of("a", "bc", "1")),
        (0, of("ab", "c", "2")),
        (0, of("a", "bc", "3")),
        (0, of("ab", "c", "4")),
        (0, of("a", "bc", "5")),
        (0, of(r"\u0061b", "c", "6")),
    ];
    let out = sent(every(50), &list);
    assert_eq!(
        out.iter().map(|(_, text)| &**text).collect::<Vec<_>>(),
        [of("a", "bc", "1"), of("ab", "c", "2"), of("a", "bc", "35"), of("ab", "c", "46")]
    );
}

#[test]
fn one_identifier_is_never_overtaken_by_itself_under_another_owner_or_kind() {
    let tagged = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"b","subagentRunId":"s"}"#;
    let thought = r#"{"type":"REASONING_MESSAGE_CONTENT","messageId":"m","delta":"d"}"#;
    let list = [m("1"), m("2"), tagged.into(), tagged.into(), m("3"), m("4"), thought.into()].map(|text| (0, text));
    let out = sent(every(50), &list);
    assert_eq!(plain(&out), [&m("1"), &m("2"), tagged, tagged, &m("3"), &m("4"), thought].map(|text| (0, text)));
}

#[test]
fn items_have_windows_of_their_own_and_leave_in_the_order_of_their_first_piece() {
    let (a, b) = (|delta: &str| text("a", delta), |delta: &str| text("b", delta));
    let list = [(0, a("1")), (10, b("1")), (20, b("2")), (30, a("2")), (35, b("3")), (85, a("3")), (86, b("4"))];
    let out = sent(every(50), &list);
    assert_eq!(
        plain(&out),
        [(0, &*a("1")), (10, &b("1")), (70, &b("23")), (80, &a("2")), (86, &a("3")), (86, &b("4"))]
    );
}

#[test]
fn max_chars_flushes_early_and_counts_characters() {
    let policy = Policy { max_chars: 3, ..every(50) };
    let out =
        sent(policy, &[(0, m("a")), (1, m("é")), (2, m(r"\u00e9")), (3, m("🌍")), (4, m("x")), (40, m("longer"))]);
    assert_eq!(plain(&out), [(0, &*m("a")), (3, &m(r"é\u00e9🌍")), (40, &m("xlonger"))]);
    let out = sent(policy, &[(0, m("a")), (1, m("four")), (2, m("b"))]);
    assert_eq!(plain(&out), [(0, &*m("a")), (1, &m("four")), (2, &m("b"))]);
}

#[test]
fn a_delta_that_says_nothing_delays_nothing() {
    let out = sent(every(50), &[(0, m("")), (1, m("")), (5, m("a")), (6, m("b"))]);
    assert_eq!(plain(&out), [(0, &*m("")), (5, &m("a")), (6, &m("b"))]);
    let out = sent(every(50), &[(0, m("")), (5, m("a")), (6, m("")), (7, m("b")), (60, m(""))]);
    assert_eq!(plain(&out), [(0, &*m("")), (5, &m("a")), (56, &m("b")), (60, &m(""))]);
}

#[test]
fn half_a_pair_waits_for_the_other_but_not_longer_than_a_window() {
    let (high, low) = (m(r"a\ud83d"), m(r"\ude00b"));
    let out = sent(every(50), &[(0, &high), (20, &low), (30, &low)]);
    assert_eq!(plain(&out), [(20, &*m(r"a\ud83d\ude00b")), (30, &low)], "the first one is due as soon as it is whole");
    let out = sent(every(50), &[(0, &high), (200, &low)]);
    assert_eq!(plain(&out), [(50, &*high), (200, &low)]);
    let out = sent(every(50), &[(0, &*m("1")), (10, &high), (70, &low), (200, &low)]);
    assert_eq!(plain(&out), [(0, &*m("1")), (70, &m(r"a\ud83d\ude00b")), (200, &low)]);
    let out = sent(every(50), &[(0, &*m("1")), (10, &high), (300, &low)]);
    assert_eq!(plain(&out), [(0, &*m("1")), (110, &high), (300, &low)]);
    let out = sent(every(50), &[(0, &high), (20, &END.to_owned())]);
    assert_eq!(plain(&out), [(20, &*high), (20, END)]);
    let out = sent(Policy { max_chars: 1, ..every(50) }, &[(0, &*m("1")), (10, &high), (12, &low)]);
    assert_eq!(plain(&out), [(0, &*m("1")), (12, &m(r"a\ud83d\ude00b"))]);
}

#[test]
fn what_was_merged_and_what_it_saved_is_told() {
    let stream = played(every(50), &[(0, m("a")), (5, m("bc")), (9, m("def")), (10, m("")), (60, m("x"))]);
    assert_eq!(stream.sink.waited, [Duration::from_millis(50)]);
    let kinds: Vec<_> = stream.sink.merged.iter().map(|merged| merged.kind).collect();
    assert_eq!(kinds, [EventKind::TextMessageContent; 2]);
    let came: usize = ["bc", "def", ""].iter().map(|delta| m(delta).len()).sum();
    let left = m("bcdef").len();
    let saved: usize = stream.sink.merged.iter().map(|merged| merged.saved).sum();
    assert!(saved <= came - left, "{saved} of {came} to {left}");
    assert!(stream.sink.dropped.is_empty());
}
