//! What is merged, denied and replaced: how it is written, and what is said where it is written wrongly.

use std::time::Duration;

use tidegate::config::{ArgumentRule, OnDenied, RawEvent, RawEvents, Redaction, ResultRule, SlowClient, Throttle};

use super::{AGENT, fails, toml};

#[test]
fn without_a_word_nothing_is_merged_denied_or_replaced() {
    let route = &toml(AGENT).routes[0];
    assert!(route.throttle.is_none() && route.tools.is_none() && route.redact.is_empty());
}

#[test]
fn a_throttle_has_defaults_for_what_it_does_not_say() {
    let throttle = |text: &str| toml(&format!("{AGENT}[defaults]\nthrottle = {text}\n")).routes[0].throttle;
    let usual = Throttle {
        every: Duration::from_millis(33),
        max_chars: 4096,
        slow_client: SlowClient::Merge,
        raw_event: RawEvent::Drop,
    };
    assert_eq!(throttle("{}"), Some(usual));
    assert_eq!(throttle("{ every = \"0ms\" }"), Some(Throttle { every: Duration::ZERO, ..usual }));
    assert_eq!(throttle("{ every = \"0s\", slow_client = \"wait\" }"), None, "nothing would ever be merged");
    assert_eq!(
        throttle("{ every = \"1s\", max_chars = 1, slow_client = \"wait\", raw_event = \"keep\" }"),
        Some(Throttle {
            every: Duration::from_secs(1),
            max_chars: 1,
            slow_client: SlowClient::Wait,
            raw_event: RawEvent::Keep
        })
    );
}

#[test]
fn a_policy_arrives_as_it_was_written() {
    let config = toml(
        r#"agent = "http://a/"
[defaults]
redact = [{ pattern = 'sk-\d+', with = "$1" }]
[[routes]]
tools = { allow = ["search_*"], deny = ["delete_*"], on_denied = "mask", raw = "pass", arguments = [{ tool = "fetch", path = "/url", matches = '^https?://169\.254\.' }], results = [{ tool = "read_*", matches = "KEY" }] }
[[routes]]
path = "/b"
tools = {}
redact = []
"#,
    );
    let [first, second] = config.routes.as_slice() else { panic!("{:?}", config.routes) };
    let tools = first.tools.as_ref().unwrap();
    assert_eq!((tools.allow.as_deref(), &tools.deny[..]), (Some(&["search_*".into()][..]), &["delete_*".into()][..]));
    assert_eq!((tools.on_denied, tools.raw), (OnDenied::Mask, RawEvents::Pass));
    let matches = r"^https?://169\.254\.".into();
    assert_eq!(tools.arguments, [ArgumentRule { tool: "fetch".into(), path: "/url".into(), matches }]);
    assert_eq!(tools.results, [ResultRule { tool: "read_*".into(), matches: "KEY".into() }]);
    assert_eq!(first.redact, [Redaction { pattern: r"sk-\d+".into(), with: "$1".into() }]);
    let tools = second.tools.as_ref().unwrap();
    assert_eq!((tools.allow.as_deref(), tools.deny.len()), (None, 0), "no list of what is allowed allows everything");
    assert_eq!((tools.on_denied, tools.raw), (OnDenied::Drop, RawEvents::Drop));
    assert!(second.redact.is_empty(), "a route can empty the list of [defaults]");
}

#[test]
fn a_wrong_pattern_pointer_or_name_is_found_where_it_is_written() {
    fails(
        "a.toml",
        r#"agent = "http://a/"
[defaults]
redact = [{ pattern = "sk-[", with = "" }, { pattern = "x*", with = "" }, { pattern = "y" }]
throttle = { every = 33, max_chars = 0, slow_client = "skip", raw_event = true }
tools.allow = ["a b", ""]
tools.on_denied = "hide"
tools.arguments = [{ tool = "fetch", path = "url", matches = "(?<=a)b" }]
tools.results = [{ tool = " x", matches = "a{1000}{1000}{1000}" }]
"#,
        &[
            "a.toml:3:23: defaults.redact[0].pattern: `sk-[` is not a regular expression: unclosed character class",
            "a.toml:3:56: defaults.redact[1].pattern: `x*` also matches where nothing is; write one that needs at \
             least a character",
            "a.toml:3:75: defaults.redact[2].with: is missing",
            "a.toml:4:22: defaults.throttle.every: `33` has no unit; write \"33s\" for seconds, or ms, m, h",
            "a.toml:4:38: defaults.throttle.max_chars: `0` is not a whole number from 1 to 1000000",
            "a.toml:4:55: defaults.throttle.slow_client: `skip` is not one of \"merge\", \"wait\"",
            "a.toml:4:75: defaults.throttle.raw_event: expected one of \"drop\", \"keep\", found the word true",
            "a.toml:5:23: defaults.tools.allow[1]: not the name of a tool; write one as in \"search_docs\", or several \
             as in \"search_*\"",
            "a.toml:6:19: defaults.tools.on_denied: `hide` is not one of \"drop\", \"mask\", \"error\"",
            "a.toml:7:45: defaults.tools.arguments[0].path: `url` is not a JSON pointer; begin it with a slash, as in \
             \"/url\", and write `~0` for `~` and `~1` for `/` in a name",
            "a.toml:7:62: defaults.tools.arguments[0].matches: `(?<=a)b` is not a regular expression: look-around, \
             including look-ahead and look-behind, is not supported",
            "a.toml:8:27: defaults.tools.results[0].tool: not the name of a tool; write one as in \"search_docs\", or \
             several as in \"search_*\"",
            "a.toml:8:43: defaults.tools.results[0].matches: `a{1000}{1000}{1000}` is not a regular expression: it is \
             too large; write smaller repetitions",
        ],
    );
}
