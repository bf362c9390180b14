//! The tool as it is used: a source in one process, measured by another.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

const TOOL: &str = env!("CARGO_BIN_EXE_loadtool");

struct Source {
    child: Child,
    to: String,
}

impl Source {
    fn begin() -> Self {
        let mut child = Command::new(TOOL).arg("source").stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let to = line.trim().strip_prefix("listening ").expect("the first line names the address").to_owned();
        Self { child, to }
    }

    /// What the tool reports when it measures this source.
    fn measured(&self, command: &str, args: &[&str]) -> Result<String, String> {
        let mut measure = Command::new(TOOL);
        measure.arg(command).arg(format!("to={}", self.to)).arg(format!("pid={}", self.child.id())).args(args);
        let output = measure.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn value(report: &str, key: &str) -> f64 {
    let line = report.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {key} in {report}")).parse().unwrap()
}

#[test]
fn a_held_stream_costs_its_buffer() {
    let source = Source::begin();
    let report = source.measured("idle", &["streams=300", "hold=2500", "settle=200"]).unwrap();
    assert_eq!(value(&report, "runs"), 300.0);
    // The source reads each request into a buffer of 4 KiB, of which it touches at least one page.
    let each = value(&report, "kib_per_stream");
    assert!((2.0..64.0).contains(&each), "{report}");
}

#[test]
fn an_unpaced_source_is_busy_and_exact() {
    let source = Source::begin();
    let report = source.measured("flow", &["streams=4", "events=5000", "burst=8", "warm=100", "window=1000"]).unwrap();
    assert!(value(&report, "events") > 10_000.0, "{report}");
    let cpu = value(&report, "cpu_us_per_event") * value(&report, "rate") / 1e6;
    assert!((cpu - value(&report, "busy")).abs() < 0.05, "{report}");
    assert!((0.05..1.2).contains(&value(&report, "busy")), "{report}");
}

#[test]
fn a_server_that_is_gone_fails_the_measurement() {
    let mut source = Source::begin();
    source.child.kill().unwrap();
    source.child.wait().unwrap();
    let problem = source.measured("flow", &["streams=1", "events=5", "window=100", "limit=5"]).unwrap_err();
    assert!(problem.contains("streams failed") || problem.contains("no process"), "{problem}");
}
