//! Nothing comes in, the JSON Schema of the configuration file goes out, for editors.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use crate::config;

/// Prints the schema.
pub fn run() -> ExitCode {
    match writeln!(io::stdout(), "{:#}", config::schema()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
