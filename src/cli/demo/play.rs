//! The runs of the demo: a gateway's addresses come in, each scenario goes through it, is shown and compared
//! with its script, and what the gateway measured is shown last. Starts nothing itself.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    net::SocketAddr,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    client::{self, Arrived},
    measured::Measured,
    script::{Ids, Scenario, Step, What},
    view::{Look, Style, View},
};

/// A gateway that stands before the demo's agent and has not served a run yet.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Where runs are sent.
    pub gateway: SocketAddr,
    /// Where `/metrics` is.
    pub admin: SocketAddr,
}

/// Why the demo is not a success.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// This many of its checks failed; each is told where it happened.
    #[error("{0} of the checks above failed")]
    NotAsScripted(usize),
    /// The demo could not be shown.
    #[error(transparent)]
    Show(#[from] io::Error),
}

/// Runs every scenario through the gateway and shows it.
///
/// # Errors
/// [`Failure::NotAsScripted`] if any run, or what the gateway counted, differs from the script.
pub async fn play(target: Target, out: &mut impl Write, look: Look) -> Result<(), Failure> {
    let begun = Instant::now();
    let mut wrong = 0;
    for (number, scenario) in (1..).zip(Scenario::ALL) {
        writeln!(out, "{}", look.paint(Style::Bold, &format!("{number}  {}", scenario.title())))?;
        writeln!(out, "{:>7}     \u{201c}{}\u{201d}", "", scenario.question())?;
        let verdict = one_run(target.gateway, scenario, number, out, look).await?;
        wrong += usize::from(verdict.is_err());
        tell(verdict, out, look)?;
    }
    writeln!(
        out,
        "{}",
        look.paint(Style::Bold, &format!("What the gateway measured, http://{}/metrics", target.admin))
    )?;
    let verdict = counted(target.admin, out, look).await?;
    wrong += usize::from(verdict.is_err());
    tell(verdict, out, look)?;
    if wrong > 0 {
        return Err(Failure::NotAsScripted(wrong));
    }
    let took = begun.elapsed().as_secs_f64();
    writeln!(out, "All {} runs came out as scripted, in {took:.1} s.", Scenario::ALL.len())?;
    Ok(())
}

fn tell(verdict: Result<String, String>, out: &mut impl Write, look: Look) -> io::Result<()> {
    let line = match verdict {
        Ok(text) => look.paint(Style::Good, &format!("✓ {text}")),
        Err(text) => look.paint(Style::Bad, &format!("✗ {text}")),
    };
    writeln!(out, "{:>10}  {line}\n", "")
}

/// One scenario; the inner result says how it compares with its script.
async fn one_run(
    gateway: SocketAddr,
    scenario: Scenario,
    number: usize,
    out: &mut impl Write,
    look: Look,
) -> io::Result<Result<String, String>> {
    let ids = Ids { thread: "demo".to_owned(), run: format!("run-{number}") };
    let mut arrived = Vec::new();
    let mut view = View::new(out, look);
    let ended = client::run(gateway, input(&ids, scenario.question()), |event| {
        view.event(&event)?;
        arrived.push(event);
        Ok(())
    })
    .await;
    view.close()?;
    Ok(match ended {
        Err(client::Error::Show(error)) => return Err(error),
        Err(error) => Err(error.to_string()),
        Ok(()) => compare(&scenario.steps(&ids), &arrived),
    })
}

/// The body of a run's request.
pub fn input(ids: &Ids, question: &str) -> String {
    let message = json!({"id": format!("{}-q", ids.run), "role": "user", "content": question});
    json!({
        "protocolVersion": "1.1", "threadId": ids.thread, "runId": ids.run, "messages": [message],
        "state": {}, "tools": [], "context": [], "forwardedProps": {},
    })
    .to_string()
}

/// Whether the events are the script's, byte for byte, and a broken script is followed by exactly one
/// `RUN_ERROR` of the gateway's.
fn compare(script: &[Step], arrived: &[Arrived]) -> Result<String, String> {
    let sent: Vec<&str> = script
        .iter()
        .filter_map(|step| match &step.what {
            What::Event(json) => Some(json.as_str()),
            What::BreakOff => None,
        })
        .collect();
    for (n, json) in sent.iter().enumerate() {
        match arrived.get(n) {
            Some(event) if event.json == *json => {}
            Some(event) => {
                return Err(format!("event {} should be {json}, but is {}", n + 1, event.json));
            }
            None => {
                return Err(format!("{} events were sent, but only {n} arrived", sent.len()));
            }
        }
    }
    let added = &arrived[sent.len()..];
    let whole = script.len() == sent.len();
    match added {
        [] if whole => Ok(format!("{} events, byte for byte as the agent sent them", sent.len())),
        [] => Err("the stream broke off and nobody told the client".to_owned()),
        [event] if !whole && is_truncation(&event.json) => Ok(format!(
            "{} events as the agent sent them; then it broke off, and the gateway ended the run",
            sent.len()
        )),
        [event, ..] => Err(format!("an event that nobody sent: {}", event.json)),
    }
}

fn is_truncation(event: &str) -> bool {
    serde_json::from_str::<Value>(event)
        .is_ok_and(|event| event["type"] == "RUN_ERROR" && event["code"] == "UPSTREAM_TRUNCATED")
}

/// Shows the metrics; the inner result says whether every run was counted with its outcome.
async fn counted(admin: SocketAddr, out: &mut impl Write, look: Look) -> io::Result<Result<String, String>> {
    let mut expected = BTreeMap::new();
    for scenario in Scenario::ALL {
        *expected.entry(scenario.outcome().to_owned()).or_insert(0) += 1;
    }
    // A run is counted when its stream is over, which its client may learn first.
    let mut patience = 40;
    let measured = loop {
        match client::get(admin, "/metrics").await {
            Ok(text) => {
                let measured = Measured::read(&text);
                if measured.runs() == expected || patience == 0 {
                    break measured;
                }
            }
            Err(error) if patience == 0 => return Ok(Err(error.to_string())),
            Err(_) => {}
        }
        patience -= 1;
        tokio::time::sleep(Duration::from_millis(25)).await;
    };
    measured.show(out, look)?;
    let runs = measured.runs();
    if runs == expected {
        Ok(Ok("each run was counted once, with its outcome".to_owned()))
    } else {
        Ok(Err(format!("runs should be {expected:?}, but are {runs:?}")))
    }
}

#[cfg(test)]
mod tests;
