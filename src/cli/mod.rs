//! The command line's rooms, one subcommand a module: arguments come in, an exit code goes out.

/// `tidegate check`: says whether a configuration would be served.
pub mod check;
/// `tidegate demo`: an agent, a gateway before it and a few runs through both.
pub mod demo;
mod process;
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

use crate::config::{Config, Errors, Flags, Sources};

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
    Serve(Configured),
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
    fn load(self) -> Result<Config, Errors> {
        let flags = Flags { agent: self.agent, listen: self.listen, admin: self.admin };
        Config::load(&Sources::of_process(self.config, flags))
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
        Command::Serve(configured) => with(configured, |config| serve::run(&config)),
        Command::Check(configured) => with(configured, |config| check::run(&config)),
        Command::Schema => schema::run(),
        Command::Demo(args) => demo::run(&args, process::demo_gateway),
    }
}

/// Loads the configuration whole before anything else happens.
fn with(configured: Configured, run: impl FnOnce(Config) -> ExitCode) -> ExitCode {
    match configured.load() {
        Ok(config) => run(config),
        Err(errors) => {
            let _ = writeln!(io::stderr(), "{errors}");
            ExitCode::from(USAGE)
        }
    }
}
