//! A checked configuration comes in; the gateway serves until it is told to stop, and the exit code says how
//! that went. SIGTERM or SIGINT drains; a second one ends the process at once. SIGHUP reads the configuration again.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{
    process::Process,
    reload::{Orders, Watch},
};
use crate::{
    config::Config,
    gateway::Ports,
    observe::log::{self, Log},
};

/// The exit code of a process that was told twice to stop.
const INTERRUPTED: i32 = 130;

/// Serves until the process is told to stop.
pub fn run(config: Config, watch: Watch, ports: Ports) -> ExitCode {
    let log = match log::init(config.log.format, &config.log.level) {
        Ok(log) => log,
        Err(error) => {
            let _ = writeln!(io::stderr(), "tidegate: {error}");
            return ExitCode::from(super::USAGE);
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let served = runtime.and_then(|runtime| {
        let served = runtime.block_on(serve(config, watch, ports, log));
        // A file system that does not answer keeps nobody here.
        runtime.shutdown_background();
        served
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(%error, "tidegate stops");
            ExitCode::FAILURE
        }
    }
}

async fn serve(config: Config, mut watch: Watch, ports: Ports, mut log: Log) -> io::Result<()> {
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let mut stop = Stop { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? };
    let mut orders = Orders::new()?;
    let mut process = Process::start(config, ports)?;
    let config = process.config();
    let listen: Vec<_> = process.running.addresses().iter().map(ToString::to_string).collect();
    tracing::info!(
        listen = listen.join(", "),
        admin = process.admin.map(tracing::field::display),
        threads = config.threads.get(),
        routes = config.routes.len(),
        config = config.hash(),
        "tidegate serves"
    );
    loop {
        tokio::select! {
            () = stop.asked() => break,
            (cause, loaded) = watch.next(&mut orders) => {
                process.reload(cause, loaded);
                if let Err(error) = log.filter(&process.config().log.level) {
                    tracing::error!(%error, "the log goes on as before");
                }
            }
            () = process.breaks() => {
                tracing::error!("a thread has ended by itself: tidegate drains, to be started anew");
                break;
            }
        }
    }
    tracing::info!(deadline = ?process.config().drain.deadline, "tidegate drains");
    process.drain();
    let over = process.over();
    tokio::pin!(over);
    loop {
        tokio::select! {
            over = &mut over => break over?,
            () = stop.asked() => {
                tracing::warn!("told to stop again: the runs left are cut off");
                std::process::exit(INTERRUPTED);
            }
            () = orders.asked() => tracing::warn!("no configuration is read any more while tidegate drains"),
        }
    }
    tracing::info!("tidegate has drained");
    Ok(())
}

/// The signals that ask a process to stop.
struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    async fn asked(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
