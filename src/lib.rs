//! Tidegate, a reverse proxy for AG-UI: the map of the crate.
//!
//! ```text
//! client ── request ─▶ route ─▶ admit ────────────────▶ agent
//! client ◀─ encode ◀─ pipeline ◀─ decode ◀── stream ─── agent
//! ```
//!
//! Imports point one way: `agui ← wire ← pipeline ← gateway ← cli`; `config` and `observe` are leaves that
//! the gateway reads. `agui`, `wire` and `pipeline` touch no socket, task, clock or log: bytes and the time
//! come in as arguments, events and bytes go out.

/// The protocol's nouns and rules: events, their kinds, run input, the life of a run.
pub mod agui;
/// Bytes ⇄ frames: SSE, media types, what leaves in one write.
pub mod wire;
/// Events → events: the stages that a route configures, in their fixed order.
pub mod pipeline;
/// What can be configured, loaded, checked and explained.
pub mod config;
/// Metrics, the run log, traces.
pub mod observe;
/// Sockets: listeners, routes, agents, and the story of one run.
pub mod gateway;
/// The command line, one subcommand a file.
pub mod cli;
