//! A configuration that loaded comes in; a word on what it serves goes out, or why it could not be served.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use crate::{
    config::{Config, shown_url},
    gateway,
};

/// Says what would be served.
pub fn run(config: &Config) -> ExitCode {
    if let Err(error) = gateway::try_out(config) {
        let _ = writeln!(io::stderr(), "{error}");
        return ExitCode::from(super::USAGE);
    }
    let mut out = io::stdout();
    for warning in &config.warnings {
        let _ = writeln!(io::stderr(), "warning: {warning}");
    }
    let listen: Vec<_> = config.listen.iter().map(ToString::to_string).collect();
    let _ = writeln!(out, "this configuration can be served on {}", listen.join(", "));
    for route in &config.routes {
        let urls = config.agents.iter().filter(|agent| agent.name == route.agent).flat_map(|agent| &agent.urls);
        let urls: Vec<_> = urls.map(|url| shown_url(&url.to_string())).collect();
        let host = route.host.as_deref().unwrap_or_default();
        let _ = writeln!(out, "  {host}{} -> {} ({})", route.path, route.agent, urls.join(", "));
    }
    ExitCode::SUCCESS
}
