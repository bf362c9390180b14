//! The command line: arguments come in, one subcommand runs, an exit code goes out.
fn main() {}
