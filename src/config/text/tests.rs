#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;

use super::*;

fn error<T: Text>(text: &str) -> String {
    T::read(text).err().unwrap_or_else(|| panic!("{text:?} was read"))
}

fn rewritten<T: Text>(text: &str) -> String {
    T::read(text).unwrap_or_else(|what| panic!("{text:?}: {what}")).write()
}

#[test]
fn every_example_is_read_and_written() {
    let names = [
        "address",
        "address-or-off",
        "agent-url",
        "duration",
        "duration-or-off",
        "droppable-event-type",
        "header-name",
        "header-value",
        "health-path",
        "host",
        "key-set",
        "log-filter",
        "name",
        "network",
        "pattern",
        "json-pointer",
        "tool-name",
        "origin",
        "rate",
        "released-version",
        "route-path",
        "sha256",
        "size",
        "strippable-member",
        "duration-or-zero",
    ];
    for name in names {
        let format = format(name).unwrap_or_else(|| panic!("no format {name}"));
        assert_eq!((format.check)(format.example), Ok(()), "{name}");
    }
    assert!(format("uint16").is_none());
}

#[test]
fn durations_have_units() {
    assert_eq!(rewritten::<Duration>("90s"), "1m 30s");
    assert_eq!(rewritten::<Duration>("1h 30m"), "1h 30m");
    assert_eq!(rewritten::<Duration>("250ms"), "250ms");
    assert_eq!(rewritten::<DurationOrOff>("off"), "off");
    assert_eq!(rewritten::<Wait>("0s"), "0s");
    assert_eq!(error::<Duration>("30"), "`30` has no unit; write \"30s\" for seconds, or ms, m, h");
    assert_eq!(error::<Wait>("1.5"), "`1.5` has no unit; write \"1.5s\" for seconds, or ms, m, h");
    for wrong in ["", " ", "s", "5 fortnights", "-5s", "Off", "5s!", "99999999999999999999s"] {
        assert!(error::<DurationOrOff>(wrong).contains("is not a duration"), "{wrong}");
    }
    assert_eq!(error::<Duration>("2years"), "`2years` is too long; the longest is \"366days\"");
    assert!(error::<Duration>("off").starts_with("this cannot be off"));
    assert!(error::<Duration>("0s").starts_with("zero is not a duration"));
    assert!(error::<DurationOrOff>("0ms").ends_with("or \"off\""));
}

#[test]
fn sizes_have_units() {
    for (text, bytes) in
        [("32MiB", 32 << 20), ("1MB", 1_000_000), ("64KiB", 64 << 10), ("512B", 512), ("1.5 KiB", 1536)]
    {
        assert_eq!(Size::read(text), Ok(Size(bytes)), "{text}");
    }
    assert_eq!(rewritten::<Size>("1MB"), "1000000B");
    assert_eq!(rewritten::<Size>("2048KiB"), "2MiB");
    assert_eq!(error::<Size>("10"), "`10` has no unit; write \"10B\" for bytes, or KiB, MiB, GiB");
    assert!(error::<Size>("0MiB").starts_with("nothing fits"));
    assert!(error::<Size>("99999999EiB").contains("more than this machine can address"));
    for wrong in ["", "MiB", "ten MiB", "-1B", "1 QB", "1..5MB"] {
        assert!(error::<Size>(wrong).contains("is not a size"), "{wrong}");
    }
}

#[test]
fn an_address_that_is_none_gets_a_better_one() {
    for (wrong, hint) in [
        ("8080", "write \"127.0.0.1:8080\""),
        (":8080", "write \"0.0.0.0:8080\""),
        ("*:8080", "write \"0.0.0.0:8080\""),
        ("localhost:8080", "write \"127.0.0.1:8080\""),
        ("10.0.0.1", "write \"10.0.0.1:8080\""),
        ("::1", "write \"[::1]:8080\""),
        ("127.0.0.1:99999", "write an IP address and a port"),
        ("example.com:80", "write an IP address and a port"),
        ("", "write an IP address and a port"),
    ] {
        assert!(error::<Address>(wrong).contains(hint), "{wrong}: {}", error::<Address>(wrong));
    }
    assert_eq!(rewritten::<AddressOrOff>("off"), "off");
    assert_eq!(rewritten::<AddressOrOff>("[::]:80"), "[::]:80");
}

#[test]
fn an_agent_is_an_http_url_with_a_host() {
    for right in ["http://a/", "http://10.0.0.5:8000/agui", "http://[::1]:8000/x?y=1"] {
        assert_eq!(rewritten::<AgentUrl>(right), right);
    }
    for (wrong, what) in [
        ("ftp://a/", "has a scheme that no agent speaks"),
        ("a:8000/agui", "has no scheme"),
        ("/agui", "has no scheme"),
        ("http://", "is not a url"),
        ("http://a b/", "is not a url"),
        ("http://:80/", "has no host or no proper port"),
        ("http://a:/", "has no host or no proper port"),
        ("http://a:0/", "has no host or no proper port"),
        ("http://a:99999/", "no proper port"),
        ("http://a/#x", "has a fragment"),
    ] {
        assert!(error::<AgentUrl>(wrong).contains(what), "{wrong}: {}", error::<AgentUrl>(wrong));
    }
}

#[test]
fn a_url_that_may_hold_a_secret_is_not_repeated() {
    for secret in ["http://u:hunter2@a/", "https://hunter2@a", "u:hunter2@a/", "ftp://a/?key=hunter2", "a?hunter2"] {
        assert!(!error::<AgentUrl>(secret).contains("hunter2"), "{secret}");
    }
    assert!(!error::<HeaderValue>("hunter2\n").contains("hunter2"));
}

#[test]
fn paths_and_hosts_are_plain() {
    assert_eq!(rewritten::<RoutePath>("/"), "/");
    assert_eq!(rewritten::<RoutePath>("/a/b/"), "/a/b");
    for wrong in ["", "a", "/a?b", "/a#b", "/*", "/a//b", "/a/../b", "/.", "/a b", "/ä"] {
        assert!(error::<RoutePath>(wrong).contains("is not a path"), "{wrong}");
    }
    assert_eq!(rewritten::<Host>("Chat.Example.com"), "chat.example.com");
    assert_eq!(rewritten::<Host>("[::1]"), "[::1]");
    assert_eq!(rewritten::<Host>("a.example."), "a.example");
    for wrong in ["", ".", "a:80", "*.a.com", "http://a", "a/b", "a b", "u@a"] {
        assert!(error::<Host>(wrong).contains("is not a host name"), "{wrong}");
    }
}

#[test]
fn one_address_is_a_block_of_addresses() {
    assert_eq!(rewritten::<Network>("10.1.2.3"), "10.1.2.3/32");
    assert_eq!(rewritten::<Network>("10.1.2.3/8"), "10.0.0.0/8");
    assert_eq!(rewritten::<Network>("fd00::/8"), "fd00::/8");
    assert!(error::<Network>("10.0.0.0/33").contains("is not a block of addresses"));
}

#[test]
fn only_a_released_version_can_be_spoken() {
    for (right, name) in [("1.0", "1.0"), ("1.1.2", "1.1"), ("0.0.47", "0.0.47"), ("0.1.9", "0.1.9")] {
        assert_eq!(rewritten::<Release>(right), name);
    }
    assert_eq!(
        error::<Release>("0.0.60"),
        "`0.0.60` is no released version of AG-UI; write one of 0.0.27 to 0.0.59 (the npm packages), 0.1.4 to 0.1.22 \
         (the Python ones), or 1.0 or 1.1 (the protocol); did you mean `0.0.59`?"
    );
    for (wrong, meant) in [
        ("v0.0.47", "0.0.47"),
        ("^1.0", "1.0"),
        ("@ag-ui/client@0.0.36-beta", "0.0.36"),
        ("0.0.3", "0.0.27"),
        ("0.47", "0.0.47"),
        ("0.1.99", "0.1.22"),
        ("1", "1.0"),
        ("1.x", "1.0"),
        ("1.7.3", "1.1"),
        (" 1.0", "1.0"),
    ] {
        let what = error::<Release>(wrong);
        assert!(what.ends_with(&format!("; did you mean `{meant}`?")), "{wrong}: {what}");
    }
    for wrong in ["", "latest", "2.0", "0.2.4", "99999999999999999999", "0.0.99999999999999999999"] {
        assert!(error::<Release>(wrong).ends_with("1.1 (the protocol)"), "{wrong}: {}", error::<Release>(wrong));
    }
}

#[test]
fn a_lone_word_in_a_log_filter_is_a_level() {
    for right in ["info", "DEBUG", "off", "info,hyper=warn", "tidegate::gateway=trace"] {
        assert_eq!(rewritten::<LogFilter>(right), right);
    }
    for wrong in ["inof", "info,hypre", "", "hyper=loud", "info,,=[", "\t:'𦋪×=PI\""] {
        assert!(error::<LogFilter>(wrong).contains("is not a level"), "{wrong}");
    }
}

#[test]
fn what_begins_or_ends_a_run_is_never_dropped() {
    for needed in ["RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"] {
        assert!(error::<DropType>(needed).contains("cannot be dropped"), "{needed}");
    }
    for right in ["RAW", "OF_ANOTHER_VERSION", "THINKING_START", "other"] {
        assert_eq!(rewritten::<DropType>(right), right);
    }
    assert!(error::<DropType>("raw").ends_with("did you mean `RAW`?"));
    assert!(error::<DropType>("RunFinished").ends_with("did you mean `RUN_FINISHED`?"));
}

#[test]
fn what_the_protocol_needs_is_never_stripped() {
    for needed in ["type", "threadId", "runId", "messageId", "toolCallId", "delta", "outcome"] {
        assert!(error::<StripMember>(needed).contains("the protocol needs it"), "{needed}");
    }
    for right in ["rawEvent", "timestamp", "metadata", "ofAnotherVersion"] {
        assert_eq!(rewritten::<StripMember>(right), right);
    }
}

#[test]
fn only_a_near_name_is_suggested() {
    assert_eq!(nearest("lissten", ["listen", "limits"]), Some("listen"));
    assert_eq!(nearest("Keepalive", ["keepalive"]), Some("keepalive"));
    assert_eq!(nearest("suport", ["support", "sales"]), Some("support"));
    assert_eq!(nearest("tls", ["url", "http"]), None);
    assert_eq!(nearest("b", ["a"]), None);
}

proptest! {
    #[test]
    fn what_is_written_is_read_as_the_same(seconds in 1u64..366 * 86400, millis in 0u32..1000, bytes in 1u64..1 << 50) {
        let duration = Duration(std::time::Duration::new(seconds, millis * 1_000_000));
        prop_assert_eq!(Duration::read(&duration.write()), Ok(duration));
        prop_assert_eq!(Size::read(&Size(bytes).write()), Ok(Size(bytes)));
    }

    #[test]
    fn no_text_is_too_odd_to_be_judged(text in ".{0,40}") {
        for name in ["address-or-off", "agent-url", "duration-or-off", "host", "log-filter", "network", "released-version", "route-path", "size"] {
            let _ = (format(name).unwrap().check)(&text);
        }
    }
}
