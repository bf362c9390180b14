//! The command line: arguments come in, one subcommand runs, an exit code goes out.

use std::process::ExitCode;

/// Gives memory of finished runs back, and costs less for each than the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tidegate::cli::main()
}
