//! The operator's listener: requests on a port of its own come in, health, metrics and the configuration go out.
//!
//! It changes nothing, and runs apart from the traffic of clients, so that it answers when they are many.

mod accept;
mod pages;
mod server;
mod state;
#[cfg(test)]
mod tests;

pub use server::serve;
pub use state::{AdminState, Readiness};
