//! Several urls of an agent: which is chosen, what takes one out, which addresses are refused.

use std::time::Duration;

use tidegate::config::{Balance, Eject};

use super::{fails, toml};

fn agent(keys: &str) -> tidegate::config::Agent {
    toml(&format!("[agents.a]\nurl = [\"http://a.example/\", \"http://b.example/\"]\n{keys}")).agents.remove(0)
}

#[test]
fn a_run_goes_where_the_fewest_are_and_failures_take_a_url_out_unless_told_otherwise() {
    let plain = agent("");
    assert_eq!(plain.balance, Balance::LeastRuns);
    assert_eq!(plain.eject, Some(Eject { failures: 5, duration: Duration::from_secs(30) }));
    assert_eq!((plain.health, plain.deny_private), (None, false));
}

#[test]
fn each_key_arrives() {
    let all = agent(
        "balance = \"thread\"\nhealth = { path = \"/up?x=1\", every = \"2s\", timeout = \"500ms\" }\n\
         eject = { failures = 2, for = \"1m\" }\ndeny_private = true\n",
    );
    assert_eq!((all.balance, all.deny_private), (Balance::Thread, true));
    let health = all.health.unwrap();
    assert_eq!((health.path.as_str(), health.every), ("/up?x=1", Duration::from_secs(2)));
    assert_eq!(health.timeout, Duration::from_millis(500));
    assert_eq!(all.eject, Some(Eject { failures: 2, duration: Duration::from_secs(60) }));

    let some = agent("balance = \"round_robin\"\nhealth = { path = \"/\" }\neject = \"off\"\n");
    assert_eq!((some.balance, some.eject), (Balance::RoundRobin, None));
    assert_eq!(some.health.map(|health| health.every), Some(Duration::from_secs(10)));
    let eject = agent("eject = { failures = 1 }").eject.unwrap();
    assert_eq!((eject.failures, eject.duration), (1, Duration::from_secs(30)));
}

#[test]
fn what_they_cannot_be_is_named() {
    fails(
        "a.toml",
        "[agents.a]\nurl = \"http://a.example/\"\nbalance = \"random\"\nhealth = { every = \"10\" }\n\
         eject = \"on\"\ndeny_private = \"yes\"\n[agents.b]\nurl = \"http://b.example/\"\n\
         health = { path = \"health\" }\neject = { failures = 0, for = \"0s\" }\n[[routes]]\nagent = \"a\"\n\
         [[routes]]\npath = \"/b\"\nagent = \"b\"\n",
        &[
            "a.toml:3:11: agents.a.balance: `random` is not one of \"least_runs\", \"round_robin\", \"thread\"",
            "a.toml:4:1: agents.a.health.path: is missing; write a path as in \"/health\"",
            "a.toml:4:20: agents.a.health.every: `10` has no unit; write \"10s\" for seconds, or ms, m, h",
            "a.toml:5:9: agents.a.eject: `on` is not one of \"off\"",
            "a.toml:6:16: agents.a.deny_private: expected true or false, found a string",
            "a.toml:9:19: agents.b.health.path: `health` is not a path; begin it with a slash, as in \"/health\"; the \
             host is the url's",
            "a.toml:10:22: agents.b.eject.failures: `0` is not a whole number from 1 to 1000",
            "a.toml:10:31: agents.b.eject.for: zero is not a duration to wait for; write a longer one",
        ],
    );
}

#[test]
fn an_address_inside_is_refused_at_once_where_it_stands() {
    fails(
        "a.toml",
        "[agents.a]\nurl = [\"http://8.8.8.8/\", \"http://[::ffff:10.0.0.1]:80/\", \"http://localhost/\"]\n\
         deny_private = true\n[agents.b]\nurl = \"https://169.254.169.254/\"\ndeny_private = true\n\
         [[routes]]\nagent = \"a\"\n[[routes]]\npath = \"/b\"\nagent = \"b\"\n",
        &[
            "a.toml:2:27: agents.a.url[1]: `::ffff:10.0.0.1` is an address inside, which deny_private refuses; take \
             one of the two away",
            "a.toml:5:7: agents.b.url: `169.254.169.254` is an address inside, which deny_private refuses; take one \
             of the two away",
        ],
    );
    toml("[agents.a]\nurl = \"http://10.0.0.1/\"");
}
