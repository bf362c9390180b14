//! Tidegate, a reverse proxy for AG-UI: the map of the crate.
//!
//! ```text
//! client ── request ─▶ route ─▶ admit ─▶ filter ▸ translate ─▶ agent
//! client ◀─ encode ◀─ pipeline ◀─ decode ◀────── stream ────── agent
//!                     │
//!                     upgrade ▸ expand ▸ guard ▸ tools ▸ redact ▸ select ▸ state ▸ throttle ▸ downgrade
//! ```
//!
//! Imports point one way: `agui ← wire ← pipeline ← gateway ← cli`; `config` and `observe` are leaves that
//! the gateway reads. `agui`, `wire` and `pipeline` touch no socket, task, clock or log: bytes and the time
//! come in as arguments, events and bytes go out.

/// The operator's listener: health, metrics, the configuration.
pub mod admin;
/// The protocol's nouns and rules: events, their kinds, run input, the life of a run.
pub mod agui;
/// The subcommands.
pub mod cli;
/// What can be configured, loaded, checked and explained.
pub mod config;
/// Sockets: listeners, routes, agents, and the story of one run.
pub mod gateway;
/// Metrics, the run log, traces.
pub mod observe;
/// Events → events: the stages that a route configures, in their fixed order.
pub mod pipeline;
/// Bytes ⇄ frames: SSE, media types, what leaves in one write.
pub mod wire;
