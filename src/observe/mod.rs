//! What is measured and logged: observations come in, Prometheus text and log lines go out. Knows no socket.

mod closed;
mod code;
mod endpoint;
mod exposition;
mod families;
mod handles;
mod labels;
mod metrics;
mod process;
mod route;
mod tallies;
mod version;

pub use code::Code;
pub use endpoint::EndpointMetrics;
pub use labels::{
    Attempt, Connect, Decision, Direction, Encoding, Outcome, Refusal, Reload, StatePatch,
    TokenKind,
};
pub use metrics::{HeldBytes, Metrics};
pub use route::{ActiveRun, RouteMetrics};
pub use version::ClientVersion;
