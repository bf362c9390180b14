//! What is measured and logged: observations come in, Prometheus text and log lines go out. Knows no socket.

mod closed;
mod code;
mod delay;
mod endpoint;
mod exposition;
mod families;
mod handles;
mod labels;
pub mod log;
mod metrics;
mod process;
mod route;
mod run_log;
#[cfg(test)]
mod strict;
mod tallies;
#[cfg(test)]
mod tests;
mod trace;
mod version;

pub use code::Code;
pub use delay::DelayStats;
pub use endpoint::EndpointMetrics;
pub use labels::{Attempt, Connect, Decision, Direction, Outcome, Refusal, Reload, StatePatch, TokenKind};
pub use metrics::{HeldBytes, Metrics};
pub use route::{ActiveRun, RouteMetrics};
pub use run_log::RunRecord;
pub use trace::TraceParent;
pub use version::ClientVersion;
