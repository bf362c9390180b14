//! `tidegate demo`: flags come in; a scripted agent is started on loopback, a gateway before it, and either
//! each scenario runs through both, or both stay up to be tried by hand. The exit code says whether every
//! run came out as scripted. How a gateway is started is the caller's business.

mod agent;
mod client;
mod measured;
mod play;
mod script;
mod view;

use std::{
    io::{self, Write},
    net::SocketAddr,
    process::ExitCode,
};

use tokio::{
    net::TcpListener,
    runtime,
    signal::unix::{SignalKind, signal},
};

pub use agent::serve as serve_agent;
pub use play::{Failure, Target, play};
pub use view::Look;

use script::{Ids, Scenario};

/// The flags of `tidegate demo`.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Args {
    /// Stay up, and say where to look, instead of running the scenarios
    #[arg(long)]
    pub serve: bool,
    /// Serve only the scripted agent, at this address
    #[arg(long, value_name = "ADDR", conflicts_with = "serve")]
    pub agent: Option<SocketAddr>,
}

/// Runs the subcommand.
///
/// `start` is given the agent's address and starts a gateway before it; what it returns beside the addresses
/// is kept until the demo is over. It is called on the demo's single-threaded runtime, so it may spawn there.
pub fn run<G>(args: &Args, start: impl FnOnce(SocketAddr) -> io::Result<(Target, G)>) -> ExitCode {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    match runtime.map_err(Failure::from).and_then(|runtime| runtime.block_on(demo(args, start))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(io::stderr(), "tidegate demo: {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn demo<G>(args: &Args, start: impl FnOnce(SocketAddr) -> io::Result<(Target, G)>) -> Result<(), Failure> {
    let mut out = io::stdout();
    let listener = TcpListener::bind(args.agent.unwrap_or_else(|| ([127, 0, 0, 1], 0).into())).await?;
    let address = listener.local_addr()?;
    let agent = tokio::spawn(serve_agent(listener));
    if args.agent.is_some() {
        writeln!(out, "The demo's agent answers at http://{address}/")?;
        asked_to_stop().await?;
    } else {
        let (target, gateway) = start(address)?;
        if args.serve {
            where_to_look(target, &mut out)?;
            asked_to_stop().await?;
        } else {
            play(target, &mut out, Look::of(&io::stdout())).await?;
        }
        drop(gateway);
    }
    agent.abort();
    Ok(())
}

/// Ctrl-C, or SIGTERM, which the first process of a container ignores unless it listens for it.
async fn asked_to_stop() -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminate.recv() => Ok(()),
    }
}

/// Says how to try a gateway by hand.
fn where_to_look(target: Target, out: &mut impl Write) -> io::Result<()> {
    let Target { gateway, admin } = target;
    let ids = Ids { thread: "t1".to_owned(), run: "r1".to_owned() };
    let input = play::input(&ids, Scenario::Tool.question());
    writeln!(out, "A gateway is up, with a scripted agent behind it. Ctrl-C stops both.\n")?;
    writeln!(out, "  runs     http://{gateway}/")?;
    writeln!(out, "  metrics  http://{admin}/metrics")?;
    writeln!(out, "  health   http://{admin}/livez and http://{admin}/readyz")?;
    writeln!(out, "  config   http://{admin}/config\n")?;
    writeln!(out, "Start a run:\n")?;
    writeln!(out, "  curl -N http://{gateway}/ -H 'content-type: application/json' -d '{input}'\n")?;
    writeln!(out, "A word in the message chooses the run:\n")?;
    for scenario in Scenario::ALL {
        if let Some(word) = scenario.word() {
            writeln!(out, "  {word:<16}{}", scenario.title())?;
        }
    }
    writeln!(out, "  {:<16}{}", "anything else", Scenario::Text.title())?;
    out.flush()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn the_line_to_paste_is_one_shell_word_per_argument() {
        let address = SocketAddr::from(([127, 0, 0, 1], 8080));
        let mut out = Vec::new();
        where_to_look(Target { gateway: address, admin: address }, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let line = text.lines().find(|line| line.trim().starts_with("curl")).unwrap();
        let body = line.split_once("-d '").unwrap().1.strip_suffix('\'').unwrap();
        assert!(!body.contains('\''), "{body}");
        let input: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(Scenario::asked_by(input["messages"][0]["content"].as_str().unwrap()), Scenario::Tool);
    }
}
