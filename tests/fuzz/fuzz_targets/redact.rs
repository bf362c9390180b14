//! Any stream over few identifiers: no secret is in what a client makes of it, valid JSON stays valid, what is held is
//! bounded and leaves; and what comes of a text does not depend on where it is cut.
#![no_main]

use std::{collections::BTreeMap, sync::OnceLock, time::Instant};

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tidegate::{
    agui::Event,
    pipeline::{End, Peers, Recipe, Sink, redact::Rules},
};

/// Patterns that no replacement can complete to a match, so that none may be left.
const SECRETS: &[&[(&str, &str)]] = &[
    &[("sk-[0-9]{3,}", "***")],
    &[("k[0-9]+s", "*"), ("sk-[0-9]+-", "%")],
    &[("(?i)(s|k){4}", "*"), ("😀é", "!")],
];

/// Patterns of all sorts.
const ANY: &[&[(&str, &str)]] = &[
    &[(r"\bk[0-9]*\b", "X\""), ("(?m)^s+$", "\\")],
    &[("s(?:k-)*1|k", "a"), (r"\w+-\w+", "k1")],
    &[("1?2|12345|23+", "X"), ("[^1]2$", "")],
    SECRETS[0],
    SECRETS[1],
    SECRETS[2],
];

fn rules(lists: &'static [&'static [(&str, &str)]], all: &'static OnceLock<Vec<Rules>>, which: u8) -> &'static Rules {
    let all = all.get_or_init(|| lists.iter().map(|list| Rules::new(list).unwrap()).collect());
    &all[usize::from(which) % all.len()]
}

/// What a byte says in a delta, as it is spelled in a JSON string.
fn piece(byte: u8) -> &'static str {
    const PIECES: [&str; 32] = [
        "s", "k", "-", "1", "2", "s", "k", "-", "1", "2", "sk-1", "sk-", "123", "S", "K", " ", "é", "😀", "\\ud83d",
        "\\ude00", "\\u0073", "\\n", "\\\"", "\\\\", "\\\\u0073", "\\\\u00", "6b", "\\\\ud83d", ",", "{", "[", "]",
    ];
    PIECES[usize::from(byte) % PIECES.len()]
}

fn through(rules: &Rules, list: &[String]) -> Sink {
    let mut pipeline = Recipe { redact: Some(rules.clone()), ..Recipe::default() }.build(&Peers::default());
    let (mut sink, at) = (Sink::default(), Instant::now());
    for text in list {
        pipeline.event(Event::made(text.clone()), at, &mut sink);
        assert!(pipeline.held() <= 2 << 20);
    }
    pipeline.end(End::Closed, at, &mut sink);
    sink
}

/// The code units of the inside of a JSON string, halves and all.
fn units(inner: &str, out: &mut Vec<u16>) {
    let mut chars = inner.chars();
    while let Some(letter) = chars.next() {
        let escaped = if letter == '\\' { chars.next() } else { None };
        match escaped {
            None => out.extend(letter.encode_utf16(&mut [0; 2]).iter()),
            Some('u') => out.push(u16::from_str_radix(&chars.by_ref().take(4).collect::<String>(), 16).unwrap()),
            Some('n') => out.push(10),
            Some(other) => out.push(other as u16),
        }
    }
}

/// The text of each item that a client puts together.
fn reduced(sink: &Sink) -> BTreeMap<(bool, String), String> {
    let mut items: BTreeMap<_, Vec<u16>> = BTreeMap::new();
    // Chunks without an identifier continue the last.
    let mut last = String::new();
    for event in &sink.events {
        let name = event.type_name().unwrap_or_default().into_owned();
        let is_call = name.starts_with("TOOL_CALL");
        let id = event.string(if is_call { "toolCallId" } else { "messageId" }).map(String::from);
        if name.ends_with("_CHUNK")
            && let Some(id) = &id
        {
            last.clone_from(id);
        }
        let Some(delta) = event.member("delta").filter(|_| event.kind().is_content()) else { continue };
        let inner = std::str::from_utf8(&delta[1..delta.len() - 1]).unwrap();
        units(inner, items.entry((is_call, id.unwrap_or_else(|| last.clone()))).or_default());
    }
    items.into_iter().map(|(key, units)| (key, String::from_utf16_lossy(&units))).collect()
}

fn no_secret_is_left(which: u8, body: &[u8]) {
    static ALL: OnceLock<Vec<Rules>> = OnceLock::new();
    let rules = rules(SECRETS, &ALL, which);
    let mut list = Vec::new();
    let mut chunk = false;
    for op in body.split(|byte| *byte == 0) {
        let Some((first, rest)) = op.split_first() else { continue };
        let delta: String = rest.iter().map(|byte| piece(*byte)).collect();
        let id = ["a", "b"][usize::from(first & 16 != 0)];
        let content = first & 8 == 0;
        let text = match first & 7 {
            0 | 1 if content => format!(r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"{id}","delta":"{delta}"}}"#),
            2 | 3 if content => format!(r#"{{"type":"TOOL_CALL_ARGS","toolCallId":"{id}","delta":"{delta}"}}"#),
            4 if content => format!(r#"{{"type":"TEXT_MESSAGE_CHUNK","messageId":"c{id}","delta":"{delta}","name":"n"}}"#),
            5 if content && chunk => format!(r#"{{"type":"TEXT_MESSAGE_CHUNK","delta":"{delta}"}}"#),
            6 => format!(r#"{{"type":"CUSTOM","name":"n","value":["{delta}",{{"{delta}":12}}]}}"#),
            7 => r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#.to_owned(),
            0 => format!(r#"{{"type":"TEXT_MESSAGE_END","messageId":"{id}"}}"#),
            1 => format!(r#"{{"type":"TOOL_CALL_END","toolCallId":"{id}"}}"#),
            2 => r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#.to_owned(),
            3 => format!(r#"{{"type":"RAW","event":"{delta}"}}"#),
            _ => format!(r#"{{"type":"RUN_ERROR","message":"{delta}"}}"#),
        };
        let stays = text.contains(r#""RAW""#) || text.contains("_CHUNK");
        chunk = stays && (chunk || text.contains("_CHUNK"));
        list.push(text);
    }
    let sink = through(rules, &list);
    assert!(sink.refused.is_none());
    for event in &sink.events {
        let text = std::str::from_utf8(event.text()).unwrap();
        assert!(serde_json::from_str::<Box<serde_json::value::RawValue>>(text).is_ok(), "{text}");
    }
    for ((is_call, id), text) in reduced(&sink) {
        if !is_call {
            assert_eq!(rules.apply(&text), text, "{id} of {list:#?}");
        }
    }
}

fn what_comes_of_a_text_does_not_depend_on_the_cut(which: u8, body: &[u8]) {
    static ALL: OnceLock<Vec<Rules>> = OnceLock::new();
    let rules = rules(ANY, &ALL, which);
    let pieces: Vec<(&str, bool)> = body.iter().map(|byte| (piece(*byte), *byte >= 128)).collect();
    let whole: String = pieces.iter().map(|(piece, _)| *piece).collect();
    for (name, id, arguments) in
        [("TEXT_MESSAGE_CONTENT", "messageId", false), ("TOOL_CALL_ARGS", "toolCallId", true)]
    {
        let opening = if arguments { r#"{\"a\":[\""# } else { "" };
        let closing = if arguments { r#"\"]}"# } else { "" };
        let event = |delta: &str| format!(r#"{{"type":"{name}","{id}":"m","delta":"{delta}"}}"#);
        let one = reduced(&through(rules, &[event(&format!("{opening}{whole}{closing}"))]));
        let mut deltas = vec![opening.to_owned()];
        for (piece, begins) in &pieces {
            if *begins {
                deltas.push(String::new());
            }
            deltas.last_mut().unwrap().push_str(piece);
        }
        deltas.push(closing.to_owned());
        let events: Vec<_> = deltas.iter().map(|delta| event(delta)).collect();
        let many = reduced(&through(rules, &events));
        let text = |reduced: &BTreeMap<(bool, String), String>| reduced.values().next().cloned().unwrap_or_default();
        assert_eq!(text(&one), text(&many), "{events:#?}");
        let mut came = Vec::new();
        units(&format!("{opening}{whole}{closing}"), &mut came);
        let came = String::from_utf16_lossy(&came);
        if !arguments {
            assert_eq!(text(&many), rules.apply(&came), "{events:#?}");
        } else if serde_json::from_str::<Value>(&came).is_ok() {
            assert!(serde_json::from_str::<Value>(&text(&many)).is_ok(), "{came}\n{}", text(&many));
        }
    }
}

fuzz_target!(|body: &[u8]| {
    let [mode, which, body @ ..] = body else { return };
    match mode % 2 {
        0 => no_secret_is_left(*which, body),
        _ => what_comes_of_a_text_does_not_depend_on_the_cut(*which, body),
    }
});
