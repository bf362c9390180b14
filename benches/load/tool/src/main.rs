//! The command line of the load tool: `KEY=VALUE` arguments come in, lines of `key value` go out.
//!
//! `loadtool source [listen=ADDR]` answers run after run until it is killed; its first line names the address.
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

use std::{io::Write, net::SocketAddr, process::ExitCode};

use args::Args;
use tokio::{net::TcpListener, runtime::Builder, task::LocalSet};

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
        "source" => serve(args.or("listen", SocketAddr::from(([127, 0, 0, 1], 0)))?).await,
        "flow" => flow::measure(&flow::Plan::read(args)?).await,
        "idle" => idle::measure(&idle::Plan::read(args)?).await,
        _ => Err("say one of: source, flow, idle".into()),
    }
}

async fn serve(listen: SocketAddr) -> Result<String, String> {
    let listener = TcpListener::bind(listen).await.map_err(|e| format!("{listen}: {e}"))?;
    let address = listener.local_addr().map_err(|e| e.to_string())?;
    println!("listening {address}");
    std::io::stdout().flush().map_err(|e| e.to_string())?;
    source::serve(listener).await.map_err(|e| e.to_string())?;
    Ok(String::new())
}
