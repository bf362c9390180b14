//! The reference implementation, run in Node.js: lines of JSON go in, a line comes out for each.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use serde_json::Value;

/// The answers of the reference implementation, one for each request; `None` where it is not installed.
pub fn ask(requests: &[Value]) -> Option<Vec<Value>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proto");
    if !folder.join("node_modules/@ag-ui/proto").is_dir() {
        eprintln!("skipped: no reference implementation; `npm ci` in {} installs it", folder.display());
        return None;
    }
    let mut node = Command::new("node")
        .arg(folder.join("reference.mjs"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("node");
    let (mut to, from) = (node.stdin.take().unwrap(), node.stdout.take().unwrap());
    let lines: String = requests.iter().map(|request| format!("{request}\n")).collect();
    let writer = thread::spawn(move || to.write_all(lines.as_bytes()));
    let answers: Vec<Value> =
        BufReader::new(from).lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    writer.join().unwrap().unwrap();
    assert!(node.wait().unwrap().success());
    assert_eq!(answers.len(), requests.len());
    Some(answers)
}
