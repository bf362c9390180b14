//! The releases of the SDKs, run in Node.js and Python: run inputs go in, what each release says of them comes out.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use serde_json::{Value, json};

/// In which language a release speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sdk {
    Npm,
    PyPi,
}

/// An input, and the release that has to take it.
#[derive(Debug)]
pub struct Asked {
    pub release: String,
    pub input: String,
}

impl Sdk {
    /// The releases that are installed; `None`, and a remark, if there are none.
    pub fn releases(self) -> Option<Vec<String>> {
        let found: Vec<String> = match self {
            Self::Npm => names_in(&folder().join("node_modules"))
                .into_iter()
                .filter_map(|name| name.strip_prefix("core-").map(str::to_owned))
                .collect(),
            Self::PyPi if python().is_file() => names_in(&released()),
            Self::PyPi => Vec::new(),
        };
        if found.is_empty() {
            eprintln!("skipped: no releases of {self:?}; `tests/run input` installs them");
            return None;
        }
        Some(found)
    }

    /// What each release says of its input: `None` if it takes it, else why not.
    pub fn judge(self, asked: &[Asked]) -> Vec<Option<String>> {
        let mut command = match self {
            Self::Npm => Command::new("node"),
            Self::PyPi => Command::new(python()),
        };
        match self {
            Self::Npm => command.arg(folder().join("judge.mjs")),
            Self::PyPi => command.arg(folder().join("judge.py")).arg(released()),
        };
        let mut judge = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a judge");
        let (mut to, from) = (judge.stdin.take().unwrap(), judge.stdout.take().unwrap());
        let lines: String =
            asked.iter().map(|a| format!("{}\n", json!({"release": a.release, "input": a.input}))).collect();
        let writer = thread::spawn(move || to.write_all(lines.as_bytes()));
        let answers: Vec<_> = BufReader::new(from)
            .lines()
            .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap())
            .map(|answer| answer.get("error").map(|why| why.as_str().unwrap().to_owned()))
            .collect();
        writer.join().unwrap().unwrap();
        assert!(judge.wait().unwrap().success());
        assert_eq!(answers.len(), asked.len());
        answers
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/input")
}

fn cache() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/.cache")
}

fn released() -> PathBuf {
    cache().join("released")
}

fn python() -> PathBuf {
    cache().join("venv/released/bin/python")
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}
