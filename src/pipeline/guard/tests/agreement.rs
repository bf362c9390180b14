//! The guard and `@ag-ui/client` 1.0.0: the same verdict on every stream of the conformance corpus and on every stream
//! that the released clients were tried with, and the same place where it falls.
//!
//! The streams lie in the optional folder `../shared` beside the clone, or where `TIDEGATE_SHARED` says.
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::*;

/// Streams of the corpus that pin a rule of the draft which 1.0.0 does not apply, and what the guard does instead of
/// refusing: it counts and mends where a rule is named.
const DRAFT: &[(&str, Option<Rule>)] = &[
    ("duplicate-interrupt-id-fatal", None),
    ("run-finished-wrong-run-id-fatal", Some(Rule::RunIdChanged)),
    ("run-finished-wrong-thread-id-fatal", Some(Rule::ThreadIdChanged)),
    ("second-run-on-another-thread-fatal", None),
    // A cut stream is the gateway's to end; there is no event to refuse.
    ("truncated-stream-fails-the-run", None),
];

fn shared() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let folder = std::env::var_os("TIDEGATE_SHARED").map_or_else(beside, PathBuf::from).join("agui");
    if !folder.is_dir() {
        eprintln!("skipped: no streams in {}", folder.display());
        return None;
    }
    Some(folder)
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn texts(stream: &Value) -> Vec<String> {
    stream.as_array().unwrap().iter().map(Value::to_string).collect()
}

/// The guard against a stream in every mode; whether it refuses it, and how many events come before that.
fn verdict(name: &str, stream: &[String]) -> (Option<&'static str>, Vec<String>) {
    let list: Vec<_> = stream.iter().map(String::as_str).collect();
    let refused = through(Mode::Refuse, &list);
    let observed = through(Mode::Observe, &list);
    assert_eq!(observed.texts, stream, "{name}");
    let heavy = |rule: &str| Rule::ALL.iter().any(|r| r.as_str() == rule && r.weight() != Weight::Advice);
    assert_eq!(refused.refused.is_some(), observed.violations.iter().any(|rule| heavy(rule)), "{name}");
    let mended = repaired(&list);
    if observed.violations.is_empty() {
        assert_eq!((mended.texts, mended.repaired.len()), (stream.to_vec(), 0), "{name}: nothing to mend");
    } else {
        assert!(!mended.repaired.is_empty() || mended.refused.is_some(), "{name}");
    }
    (refused.refused.map(|why| why.rule), refused.texts)
}

#[test]
fn every_conformance_stream_is_judged_as_the_client_judges_it() {
    let Some(folder) = shared() else { return };
    let (mut fine, mut refused) = (0, 0);
    for entry in std::fs::read_dir(folder.join("conformance")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let file = read(&path);
        let name = file["name"].as_str().unwrap();
        let stream = texts(&file["stream"]);
        let (rule, _) = verdict(name, &stream);
        let fails = file["expect"]["outcome"] == "failed";
        if let Some((_, advice)) = DRAFT.iter().find(|(draft, _)| *draft == name) {
            assert!(fails && rule.is_none(), "{name} is none of the draft's any more");
            let observed = through(Mode::Observe, &stream.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(observed.violations, Vec::from_iter(advice.map(Rule::as_str)), "{name}");
            continue;
        }
        assert_eq!(rule.is_some(), fails, "{name}: {rule:?}");
        println!("{name}: {}", rule.unwrap_or("accepted"));
        if fails { refused += 1 } else { fine += 1 }
    }
    println!("{fine} accepted, {refused} refused, {} of the draft", DRAFT.len());
    assert!(fine > 40 && refused > 15);
}

#[test]
fn every_stream_that_clients_were_tried_with_is_judged_as_1_0_0_judges_it() {
    let Some(folder) = shared() else { return };
    let (streams, clients) = (read(&folder.join("streams.json")), read(&folder.join("clients.json")));
    let (mut fine, mut refused) = (0, HashMap::<&str, usize>::new());
    for (name, case) in streams["cases"].as_object().unwrap() {
        let tried = clients["byCase"][name].as_array().unwrap();
        let tried = tried.iter().find(|result| result["to"] == "1.0.0").unwrap();
        if !case["events"].is_array() || case["proto"] == true {
            continue;
        }
        // A body that the network cut says nothing of its events.
        if name == "o4_reset" {
            continue;
        }
        let stream = texts(&case["events"]);
        let (rule, passed) = verdict(name, &stream);
        let ok = tried["status"] == "ok";
        assert_eq!(rule.is_none(), ok, "{name}: {rule:?}, the client: {}", tried["error"]);
        let Some(rule) = rule else {
            fine += 1;
            continue;
        };
        *refused.entry(rule).or_default() += 1;
        let kinds: Vec<_> = passed.iter().map(|text| event(text).kind()).collect();
        let plain = |kind: &EventKind| !kind.as_str().contains("THINKING") && !kind.as_str().contains("CHUNK");
        if kinds.iter().all(plain) {
            let known = kinds.iter().filter(|kind| **kind != EventKind::Other);
            let applied: Vec<_> = known.map(|kind| kind.as_str()).collect();
            assert_eq!(applied.join(","), tried["applied"].as_str().unwrap(), "{name}: the same events come first");
        }
    }
    println!("{fine} accepted, refused: {refused:?}");
    assert!(fine > 100 && refused.values().sum::<usize>() > 40);
}
