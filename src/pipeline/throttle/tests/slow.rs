//! While the client does not read.
use super::*;

#[test]
fn a_client_that_keeps_up_is_not_delayed_by_a_window_of_zero() {
    let call = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"c","delta":"\ud83d"}"#.to_owned();
    let snapshot = r#"{"type":"STATE_SNAPSHOT","snapshot":1}"#.to_owned();
    let list = [text("m", "a"), text("m", "b"), call.clone(), call, snapshot.clone(), snapshot].map(|text| (0, text));
    let stream = played(every(0), &list);
    assert_eq!(stream.texts(), list.iter().map(|(_, text)| &**text).collect::<Vec<_>>());
    assert!(stream.sink.merged.is_empty() && stream.sink.waited.is_empty());
}

#[test]
fn what_comes_while_the_client_is_slow_is_one() {
    for policy in [every(0), every(50), Policy { max_chars: 2, ..every(0) }] {
        let mut stream = Stream::with(policy);
        stream.slow(true);
        for n in 0..100 {
            stream.until(n * 10);
            stream.event(&text("m", "ab"));
            stream.event(&text("n", "c"));
        }
        assert_eq!(stream.pipeline.deadline(), None);
        assert!(stream.sent.is_empty());
        stream.slow(false);
        assert_eq!(stream.texts(), [text("m", &"ab".repeat(100)), text("n", &"c".repeat(100))]);
        assert_eq!(stream.sink.merged.len(), 198);
        assert_eq!(stream.sink.waited, [Duration::from_millis(990); 2]);
    }
}

#[test]
fn a_client_that_reads_again_gets_what_is_due_and_the_rest_in_time() {
    let mut stream = Stream::with(every(50));
    stream.event(&text("m", "a"));
    stream.slow(true);
    stream.until(10);
    stream.event(&text("m", "b"));
    stream.event(&text("n", "c"));
    stream.slow(false);
    assert_eq!(stream.sent, [(0, text("m", "a")), (10, text("n", "c"))]);
    stream.until(100);
    assert_eq!(stream.sent[2..], [(60, text("m", "b"))]);
}

#[test]
fn barriers_leave_all_the_same() {
    let mut stream = Stream::with(every(0));
    stream.slow(true);
    for text in [START, &text("m", "a"), &text("m", "b"), END] {
        stream.event(text);
    }
    assert_eq!(stream.texts(), [START, &*text("m", "ab"), END]);
    let chunk = |rest: &str, delta: &str| format!(r#"{{"type":"TEXT_MESSAGE_CHUNK"{rest},"delta":"{delta}"}}"#);
    let opener = r#","messageId":"x","role":"user""#;
    for text in [chunk(opener, "1"), chunk("", "2"), chunk(opener, "3")] {
        stream.event(&text);
    }
    assert_eq!(stream.sent.len(), 3);
    stream.end();
    assert_eq!(stream.texts()[3..], [chunk(opener, "123")]);
}

#[test]
fn what_is_held_for_a_slow_client_is_bounded() {
    let mut stream = Stream::with(Policy { limit: 10_000, ..every(0) });
    stream.slow(true);
    for n in 0..10_000 {
        stream.event(&text("m", "0123456789"));
        stream.event(&format!(r#"{{"type":"STATE_DELTA","delta":[{{"op":"add","path":"/a","value":{n}}}]}}"#));
        assert!(stream.pipeline.held() < 25_000, "{}", stream.pipeline.held());
    }
    stream.end();
    let joined: usize = stream.texts().iter().map(|text| text.matches("0123456789").count()).sum();
    assert_eq!(joined, 10_000);
}

#[test]
fn a_client_may_be_made_to_wait() {
    let mut stream = Stream::with(Policy { slow_client: SlowClient::Wait, ..every(50) });
    stream.slow(true);
    stream.event(&text("m", "a"));
    stream.event(&text("m", "b"));
    stream.until(60);
    assert_eq!(stream.texts(), [text("m", "a"), text("m", "b")]);
    let none = Policy { slow_client: SlowClient::Wait, ..every(0) };
    let recipe = Recipe { throttle: Some(none), ..Recipe::default() };
    assert_eq!(recipe.build(&Peers::default()).kinds(), Kinds::default(), "there is nothing to do");
}
