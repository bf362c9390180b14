//! The command line: arguments come in, one subcommand runs, an exit code goes out.

use std::process::ExitCode;

/// Of the C libraries, musl's allocator is the one that a server should not use.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tidegate::cli::main()
}
