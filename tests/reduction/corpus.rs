//! What others recorded and wrote down: the streams of the specification with what a client ends with, the recordings of
//! real agents, and the odd streams that released clients were tried on.
//!
//! They lie in the optional folder `../shared` beside the clone, or where `TIDEGATE_SHARED` says.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::client::{Client, Phase};

/// A stream with its name.
pub struct Stream {
    pub name: String,
    pub events: Vec<String>,
    /// What a client ends with, where that is written down.
    pub expect: Option<Value>,
}

/// The folder of the streams, if there is one.
fn folder() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let shared = std::env::var_os("TIDEGATE_SHARED").map_or_else(beside, PathBuf::from);
    let agui = shared.join("agui");
    if agui.is_dir() {
        return Some(agui);
    }
    eprintln!("skipped: no streams in {}", agui.display());
    None
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn texts(events: &Value) -> Vec<String> {
    events.as_array().into_iter().flatten().map(Value::to_string).collect()
}

/// The streams of the specification.
pub fn conformance() -> Option<Vec<Stream>> {
    let paths = files(&folder()?.join("conformance"), ".json");
    let streams = paths.iter().map(|path| read(path)).map(|stream| Stream {
        name: stream["name"].as_str().unwrap_or_default().into(),
        events: texts(&stream["stream"]),
        expect: Some(stream["expect"].clone()),
    });
    Some(streams.collect())
}

/// All streams that there are.
pub fn all() -> Option<Vec<Stream>> {
    let mut streams = conformance()?;
    let folder = folder()?;
    for path in
        files(&folder.join("captures"), "").iter().filter(|path| path.is_dir()).flat_map(|dir| files(dir, ".http.json"))
    {
        let recording = read(&path);
        let chunks = recording["response"]["chunks"].as_array().unwrap();
        let body: String = chunks.iter().filter_map(|chunk| chunk["text"].as_str()).collect();
        let events: Vec<_> = body.lines().filter_map(|line| line.strip_prefix("data: ")).map(str::to_owned).collect();
        if !events.is_empty() {
            streams.push(Stream { name: path.display().to_string(), events, expect: None });
        }
    }
    let cases = read(&folder.join("streams.json"));
    for (name, case) in cases["cases"].as_object().unwrap() {
        streams.push(Stream { name: name.clone(), events: texts(&case["events"]), expect: None });
    }
    Some(streams)
}

/// Whether everything that is expected is there.
fn covers(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            expected.iter().all(|(name, value)| found.get(name).is_some_and(|found| covers(found, value)))
        }
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len() && found.iter().zip(expected).all(|(found, expected)| covers(found, expected))
        }
        _ => found == expected,
    }
}

/// Pins what shipped clients do not notice, and what older events are read as, which is not for the reducer.
const NOT_JUDGED: &[&str] = &["truncated-run-reported-as-completed", "era-0-0-45-thinking-translated"];

#[test]
fn the_reducer_ends_with_what_the_specification_says() {
    let Some(streams) = conformance() else { return };
    let mut judged = 0;
    for stream in streams.iter().filter(|stream| !NOT_JUDGED.contains(&stream.name.as_str())) {
        let client = Client::strict().after(stream.events.iter().map(String::as_str));
        let expect = stream.expect.as_ref().unwrap();
        let name = &stream.name;
        let failed = client.fault.is_some() || !matches!(client.phase(), Phase::Finished | Phase::Failed);
        assert_eq!(failed, expect["outcome"] == "failed", "{name}: {:?}", client.fault);
        if let Some(count) = expect["messageCount"].as_u64() {
            assert_eq!(client.messages.len() as u64, count, "{name}");
        }
        if let Some(messages) = expect["messages"].as_array() {
            assert_eq!(client.messages.len(), messages.len(), "{name}: {:?}", client.messages);
            assert!(
                client.messages.iter().zip(messages).all(|(found, expected)| covers(found, expected)),
                "{name}: {:?}",
                client.messages
            );
        }
        if let Some(state) = expect.get("state") {
            assert_eq!(client.state, *state, "{name}");
        }
        if let Some(error) = expect["runError"].as_str() {
            assert!(client.runs.iter().any(|run| run["end"]["message"] == error), "{name}: {:?}", client.runs);
        }
        judged += 1;
    }
    println!("{judged} streams judged");
    assert!(judged > 70);
}
