//! The command line's rooms, one subcommand a module: arguments come in, an exit code goes out.

/// `tidegate check`: says whether a configuration would be served.
pub mod check;
/// `tidegate demo`: an agent, a gateway before it and a few runs through both.
pub mod demo;
mod process;
mod reload;
/// `tidegate schema`: the JSON Schema of the configuration, for editors.
pub mod schema;
/// `tidegate serve`: the gateway itself.
pub mod serve;

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use clap::{Parser, Subcommand};

use crate::{
    config::{Config, Errors, Flags, Sources},
    gateway::Ports,
};
use reload::Watch;

/// Wrong usage, or a configuration that cannot be served: nothing was started (`EX_USAGE` of sysexits).
pub const USAGE: u8 = 64;

/// A reverse proxy for AG-UI, the protocol between agents and the applications people use.
#[derive(Debug, Parser)]
#[command(version, about, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve clients
    Serve {
        /// Where the configuration comes from
        #[command(flatten)]
        configured: Configured,
        /// Listen beside another process on the same ports, to take its place: start the new one, wait until it is ready,
        /// then send SIGTERM to the old one, and no run is lost. Both need this flag, and Linux
        #[arg(long)]
        overlap: bool,
    },
    /// Say whether a configuration would be served, and what is wrong with it
    Check(Configured),
    /// Print the JSON Schema of the configuration file
    Schema,
    /// Show the main job on an agent of the gateway's own
    Demo(demo::Args),
}

/// Where the configuration comes from.
#[derive(clap::Args, Clone, Debug)]
struct Configured {
    /// The configuration file: TOML, or YAML or JSON by its extension
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The url of an agent: with it no file is needed
    #[arg(long, value_name = "URL")]
    agent: Option<String>,
    /// Where clients connect; may be given several times
    #[arg(long, value_name = "ADDR")]
    listen: Vec<String>,
    /// Where the operator's pages are, or `off`
    #[arg(long, value_name = "ADDR")]
    admin: Option<String>,
}

impl Configured {
    fn sources(self) -> Sources {
        let flags = Flags { agent: self.agent, listen: self.listen, admin: self.admin };
        Sources::of_process(self.config, flags)
    }
}

/// Runs the program with the process's arguments.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS };
        }
    };
    match cli.command {
        Command::Serve { configured, overlap } => {
            let sources = configured.sources();
            let (config, files) = Config::load_noting(&sources);
            let ports = if overlap { Ports::Shared } else { Ports::Own };
            with(config, |config| serve::run(config, Watch::new(sources, files), ports))
        }
        Command::Check(configured) => with(Config::load(&configured.sources()), |config| check::run(&config)),
        Command::Schema => schema::run(),
        Command::Demo(args) => demo::run(&args, process::demo_gateway),
    }
}

/// Nothing else happens before the configuration is loaded whole.
fn with(loaded: Result<Config, Errors>, run: impl FnOnce(Config) -> ExitCode) -> ExitCode {
    match loaded {
        Ok(config) => run(config),
        Err(errors) => {
            let _ = writeln!(io::stderr(), "{errors}");
            ExitCode::from(USAGE)
        }
    }
}
