//! The command line's rooms, one subcommand a module: arguments come in, an exit code goes out.

/// `tidegate demo`: an agent, a gateway before it and a few runs through both.
pub mod demo;
