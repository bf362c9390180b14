//! What is refused, and what happens past a limit.
use super::*;
use crate::pipeline::Fault as RunFault;

#[test]
fn patterns_are_checked_before_they_are_used() {
    let fault = |pattern: &str| Rules::new(&[("fine", ""), (pattern, "")]).unwrap_err();
    assert!(matches!(fault("a("), Fault::Syntax { .. }));
    for empty in ["a*", "", "(x|)", r"\b", "^$"] {
        assert_eq!(fault(empty), Fault::Empty { pattern: empty.into() });
        assert!(fault(empty).to_string().contains("matches the empty text"));
    }
    assert!(matches!(fault(r"\w{1000}{1000}"), Fault::TooLarge { .. }));
    assert!(matches!(fault(r"(?-u)\xff"), Fault::Syntax { .. }));
}

#[test]
fn a_replacement_is_literal() {
    let out = through(&[("(a)", "$1\"\n")], &[&content("m", "xax"), &end("m")]);
    assert_eq!(out[0], content("m", "x$1\\\"\\nx"));
}

#[test]
fn a_match_may_be_longer_than_what_is_held() {
    let mut pipeline = stage(KEY);
    let (mut sink, at) = (Sink::default(), Instant::now());
    for n in 0..1000 {
        let delta = if n == 0 { SECRET } else { "ABCDEFGHIJKLMNOPQRSTUVWXYZ" };
        pipeline.event(Event::made(content("m", delta)), at, &mut sink);
        assert!(pipeline.held() < 4096, "{}", pipeline.held());
    }
    pipeline.event(Event::made(content("m", " on")), at, &mut sink);
    assert_eq!(texts(&sink), [content("m", "[redacted] on")]);
}

#[test]
fn a_match_under_way_that_becomes_too_long_counts_as_one() {
    let rules = &[("BEGIN[^!]*!", "#"), ("x", "y")];
    let filler = "abc ".repeat(2048);
    for size in [1, 7, 1000] {
        let whole = format!("a BEGIN {filler} x ! x");
        let cut: Vec<_> =
            whole.as_bytes().chunks(size).map(|part| content("m", std::str::from_utf8(part).unwrap())).collect();
        let out = through(rules, &cut.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(reduced(&out)["TEXT_MESSAGE m"], "a # y");
        let whole = format!("a BEGIN {filler} x");
        let cut: Vec<_> =
            whole.as_bytes().chunks(size).map(|part| content("m", std::str::from_utf8(part).unwrap())).collect();
        let out = through(rules, &cut.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(reduced(&out)["TEXT_MESSAGE m"].starts_with("a #"));
    }
}

#[test]
fn more_open_items_than_can_be_judged_end_the_run() {
    let mut pipeline = stage(KEY);
    let (mut sink, at) = (Sink::default(), Instant::now());
    let mut n = 0;
    while sink.refused.is_none() {
        n += 1;
        pipeline.event(Event::made(content(&n.to_string(), "sk-")), at, &mut sink);
        assert!(n < 2000 && pipeline.held() <= 2 << 20);
    }
    assert_eq!(sink.refused.unwrap().fault, RunFault::Budget);
    assert_eq!(n, items::ITEMS_MAX + 1);
}

#[test]
fn items_that_have_ended_never_end_a_run() {
    let mut pipeline = stage(KEY);
    let (mut sink, at) = (Sink::default(), Instant::now());
    for n in 0..3000 {
        pipeline.event(Event::made(content(&n.to_string(), "sk-")), at, &mut sink);
        pipeline.event(Event::made(end(&n.to_string())), at, &mut sink);
    }
    assert!(sink.refused.is_none() && pipeline.held() < 64 << 10, "{}", pipeline.held());
    assert_eq!(sink.events.len(), 6000);
}
