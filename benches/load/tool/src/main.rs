//! The command line of the load tool: `KEY=VALUE` arguments come in, lines of `key value` go out.
//!
//! `loadtool source` answers run after run until it is killed, an hour at most; its first line names its address.
//! `loadtool flow to=ADDR …` keeps streams flowing, and measures rate, latency and CPU over a window.
//! `loadtool idle to=ADDR …` holds streams open in silence, and measures memory.
//! It knows nothing of the proxies that it measures: only an address and a process id.

mod args;
mod check;
mod flow;
mod http;
mod idle;
mod proc;
mod run;
mod sink;
mod source;

use std::{io::Write, net::Ipv4Addr, process::ExitCode, time::Duration};

use args::Args;
use tokio::{net::TcpListener, runtime::Builder, task::LocalSet};

/// A source that was forgotten ends by itself.
const LIFE: Duration = Duration::from_secs(3600);

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let command = words.next().unwrap_or_default();
    let outcome = Args::parse(words).and_then(|args| {
        // One thread: the tool must not take cores from what it measures.
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
        LocalSet::new().block_on(&runtime, dispatch(&command, &args))
    });
    match outcome {
        Ok(report) => {
            print!("{report}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("loadtool: {problem}");
            ExitCode::FAILURE
        }
    }
}

async fn dispatch(command: &str, args: &Args) -> Result<String, String> {
    match command {
        "source" => serve().await,
        "flow" => flow::measure(&flow::Plan::read(args)?).await,
        "idle" => idle::measure(&idle::Plan::read(args)?).await,
        _ => Err("say one of: source, flow, idle".into()),
    }
}

async fn serve() -> Result<String, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(|e| e.to_string())?;
    let address = listener.local_addr().map_err(|e| e.to_string())?;
    println!("listening {address}");
    std::io::stdout().flush().map_err(|e| e.to_string())?;
    match tokio::time::timeout(LIFE, source::serve(listener)).await {
        Ok(outcome) => outcome.map_err(|e| e.to_string())?,
        Err(_) => return Err("nobody stopped this source".into()),
    }
    Ok(String::new())
}
