//! However a text is cut, spelled and interleaved: what comes out is what replacing in the whole text gives.
use std::sync::OnceLock;

use proptest::{collection::vec, prelude::*, sample::select};

use super::*;

/// Lists of patterns that overlap, repeat, look around, and begin alike.
const LISTS: &[&[(&str, &str)]] = &[
    &[("abc", "X")],
    &[("a+b", "X"), ("a", "Y")],
    &[("ab|abcd", "X"), ("bc+", "Y")],
    &[("abcd|ab", "X"), ("c", "\"\\")],
    &[(r"\bab*\b", "X")],
    &[(r"^a|b$", "X"), ("(?m)^c+$", "Y")],
    &[("(?i)A[bc]{2,3}?", ""), ("d.*?d", "D")],
    &[("[^a]b", "X"), ("é|😀+", "E")],
    &[(r"\w+@\w+", "M")],
    &[("a(?:bc)*d|b", "X")],
];

/// A letter, spelled in one of the ways that JSON has.
fn spelled(letter: char, how: u8) -> String {
    let mut units = [0; 2];
    match (letter, how) {
        ('"' | '\\', 0..=1) => format!("\\{letter}"),
        ('\n', 0..=1) => "\\n".to_owned(),
        (_, 2) | ('"' | '\\' | '\n', _) => {
            letter.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
        }
        _ => letter.to_string(),
    }
}

fn letters() -> impl Strategy<Value = Vec<(char, u8)>> {
    let alphabet = vec!['a', 'a', 'a', 'b', 'b', 'b', 'c', 'c', 'd', 'A', '@', ' ', '\n', 'é', '😀', '"', '\\'];
    vec((select(alphabet), 0..5u8), 0..24)
}

/// The pieces of this text, cut at these places, never within an escape but at halves of a pair.
fn cut(pieces: &[String], cuts: &[bool]) -> Vec<String> {
    let mut out = vec![String::new()];
    for (n, piece) in pieces.iter().enumerate() {
        if cuts.get(n).copied().unwrap_or_default() {
            out.push(String::new());
        }
        out.last_mut().unwrap().push_str(piece);
    }
    out
}

/// The escapes of a spelling, each by itself; what is no escape letter by letter.
fn atoms(spelling: &str) -> Vec<String> {
    let (mut atoms, mut rest) = (Vec::new(), spelling);
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '\\' if rest[1..].starts_with('u') => 6,
            '\\' => 2,
            _ => first.len_utf8(),
        };
        atoms.push(rest[..len].to_owned());
        rest = &rest[len..];
    }
    atoms
}

fn spelling(text: &[(char, u8)]) -> String {
    text.iter().map(|(letter, how)| spelled(*letter, *how)).collect()
}

fn said(text: &[(char, u8)]) -> String {
    text.iter().map(|(letter, _)| letter).collect()
}

/// The rules of each list, compiled once.
fn rules() -> impl Strategy<Value = Rules> {
    static ALL: OnceLock<Vec<Rules>> = OnceLock::new();
    select(ALL.get_or_init(|| LISTS.iter().map(|list| Rules::new(list).unwrap()).collect()).clone())
}

fn outcome(rules: &Rules, events: &[String]) -> BTreeMap<String, String> {
    reduced(&texts(&sink_by(rules, &events.iter().map(String::as_str).collect::<Vec<_>>())))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn text_is_replaced_as_if_it_had_come_whole(
        rules in rules(), text in letters(), cuts in vec(any::<bool>(), 60),
    ) {
        let expected = rules.apply(&said(&text));
        let events: Vec<_> = cut(&atoms(&spelling(&text)), &cuts).iter().map(|delta| content("m", delta)).collect();
        let out = outcome(&rules, &events);
        prop_assert_eq!(out.get("TEXT_MESSAGE m").map_or("", |text| text), expected, "{:?}", events);
    }

    #[test]
    fn arguments_are_replaced_string_by_string(
        rules in rules(), text in letters(), more in letters(), cuts in vec(any::<bool>(), 200),
    ) {
        let json = format!(r#"{{"{}":["{}",12 ,null]}}"#, spelling(&text), spelling(&more));
        let expected = (rules.apply(&said(&text)), rules.apply(&said(&more)));
        let events: Vec<_> = cut(&atoms(&spell::bare(&json)), &cuts).iter().map(|delta| args("c", delta)).collect();
        let out = outcome(&rules, &events);
        let arguments: Value = serde_json::from_str(&out["TOOL_CALL c"]).unwrap();
        prop_assert_eq!(&arguments[&expected.0][0], &expected.1, "{:?}\n{}", events, out["TOOL_CALL c"]);
    }

    #[test]
    fn a_value_is_replaced_as_its_strings_are(rules in rules(), text in letters()) {
        let event = format!(r#"{{"type":"CUSTOM","value":["{}"]}}"#, spelling(&text));
        let out = texts(&sink_by(&rules, &[&event]));
        let value: Value = serde_json::from_str(&out[0]).unwrap();
        prop_assert_eq!(&value["value"][0], &rules.apply(&said(&text)));
        if said(&text) == rules.apply(&said(&text)) {
            prop_assert_eq!(&out[0], &event);
        }
    }

    #[test]
    fn items_that_interleave_are_replaced_each_for_itself(
        rules in rules(), texts in vec(letters(), 4), order in vec((0..4usize, 1..4usize), 60),
    ) {
        let mut atoms: Vec<_> = texts.iter().map(|text| atoms(&spelling(text)).into_iter()).collect();
        let event = |item: usize, delta: &str| match item {
            0 => content("a", delta),
            1 => content("b", delta),
            2 => format!(r#"{{"type":"REASONING_MESSAGE_CONTENT","messageId":"a","delta":"{delta}"}}"#),
            _ => format!(r#"{{"type":"TEXT_MESSAGE_CHUNK","messageId":"c","delta":"{delta}","subagentRunId":"s"}}"#),
        };
        let mut events = Vec::new();
        for (item, count) in order {
            let delta: String = atoms[item].by_ref().take(count).collect();
            events.push(event(item, &delta));
        }
        for (item, left) in atoms.iter_mut().enumerate() {
            events.push(event(item, &left.collect::<String>()));
        }
        let out = outcome(&rules, &events);
        for (key, text) in ["TEXT_MESSAGE a", "TEXT_MESSAGE b", "REASONING_MESSAGE a", "TEXT_MESSAGE c"].iter().zip(&texts) {
            prop_assert_eq!(out.get(*key).map_or("", |text| text), rules.apply(&said(text)), "{:#?}", events);
        }
    }

    #[test]
    fn no_secret_leaves_at_whatever_cut_and_barrier(
        before in letters(), after in letters(), at in 1..24usize, again in 1..24usize, barrier in 0..5usize,
    ) {
        static RULES: OnceLock<Rules> = OnceLock::new();
        let rules = RULES.get_or_init(|| Rules::new(&[("sk-[0-9]{20,}", "***")]).unwrap());
        let secret = "sk-01234567890123456789";
        let (at, again) = (at.min(again), at.max(again).min(secret.len()));
        let barrier = [
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#, r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
            r#"{"type":"CUSTOM","name":"n","value":1}"#, r#"{"type":"RUN_FINISHED"}"#, r#"{"type":"RUN_ERROR","message":""}"#,
        ][barrier];
        let events = [
            content("m", &format!("{}{}", spelling(&before), &secret[..at.min(again)])),
            barrier.to_owned(),
            content("m", &secret[at.min(again)..again]),
            content("m", &format!("{}{}", &secret[again..], spelling(&after))),
        ];
        let out = outcome(rules, &events);
        prop_assert!(!out["TEXT_MESSAGE m"].contains(secret), "{:?}", out);
    }
}
