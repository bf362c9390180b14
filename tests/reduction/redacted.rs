//! Streams with secrets, cut anywhere, go through `redact`: nothing that a client ever holds has one, and the rest is as it
//! was.

use proptest::prelude::*;
use serde_json::Value;
use tidegate::pipeline::{Recipe, redact::Rules};

use crate::{
    client::Client,
    generate::{Menu, streams},
    passage::{config, kind, through},
};

/// Secrets and what is nearly one.
const PIECES: &[&str] = &["sk-", "sk-abcd", "abcd", "1234", "sk-ab", "s", "k", "pass=\"x y\"", "pass=", "\"zz\""];

fn rules() -> Rules {
    Rules::new(&[("sk-[a-z0-9]{4,}", "[key]"), ("pass=\"[^\"]*\"", "pass=?")]).unwrap()
}

/// Items are not opened again: what one end and another beginning make together is judged by no one.
const MENU: Menu = Menu { pieces: PIECES, whole: true };

/// The value with every string judged by itself; arguments as what they say, if that can be read.
fn judged(value: &Value, rules: &Rules) -> Value {
    match value {
        Value::String(text) => rules.apply(text).into(),
        Value::Array(list) => list.iter().map(|value| judged(value, rules)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| match (name.as_str(), value) {
                ("arguments", Value::String(text)) => {
                    (name.clone(), serde_json::from_str(text).map_or(Value::Null, |value: Value| judged(&value, rules)))
                }
                _ => (name.clone(), judged(value, rules)),
            })
            .collect(),
        other => other.clone(),
    }
}

/// The first string in which there is a secret.
fn leak(value: &Value, rules: &Rules) -> Option<String> {
    match value {
        Value::String(text) => (rules.apply(text) != *text).then(|| text.clone()),
        Value::Array(list) => list.iter().find_map(|value| leak(value, rules)),
        Value::Object(members) => members.iter().find_map(|(name, value)| match (name.as_str(), value) {
            // The second pattern has quotes, which are escaped within arguments.
            ("arguments", Value::String(text)) => match serde_json::from_str::<Value>(text) {
                Ok(value) => leak(&value, rules),
                Err(_) => leak(value, rules),
            },
            _ => leak(value, rules),
        }),
        _ => None,
    }
}

/// Whether a patch asks for a value that is judged: of two secrets none can be told from the other afterwards.
fn tests_a_secret(text: &str) -> bool {
    kind(text).ends_with("_DELTA") && text.contains("\"test\"")
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_client_never_holds_a_secret_and_the_rest_is_as_it_was(stream in streams(&MENU, 50)) {
        let rules = rules();
        let recipe = Recipe { redact: Some(rules.clone()), ..Recipe::default() };
        let passage = through(&recipe, &stream.texts());
        prop_assert_eq!(&passage.sink.refused, &None);
        let mut client = Client::strict();
        for text in passage.texts() {
            client.take(text);
            let view = client.view();
            prop_assert_eq!(leak(&view, &rules), None, "after {}\nout:\n{}", text, passage.texts().join("\n"));
        }
        prop_assert_eq!(&client.fault, &None);
        let mut before = Client::strict().after(stream.texts());
        before.end();
        client.end();
        if stream.texts().iter().any(|text| tests_a_secret(text)) {
            before.state = client.state.clone();
            before.messages.retain(|message| message["role"] != "activity");
            client.messages.retain(|message| message["role"] != "activity");
        }
        let parts = |client: &Client| [client.messages.clone(), client.log.clone(), client.runs.clone(), vec![client.state.clone()]];
        for (before, after) in parts(&before).into_iter().zip(parts(&client)) {
            let (before, after) = (judged(&before.into(), &rules), judged(&after.into(), &rules));
            prop_assert_eq!(before, after, "out:\n{}", passage.texts().join("\n"));
        }
    }
}
