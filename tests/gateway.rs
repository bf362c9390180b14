//! The gateway over real sockets: agents and clients here speak byte by byte, and break off where it hurts.
//!
//! Each test starts a gateway of its own, so that all of them may run at once. Nothing is measured against a tight
//! clock: what must happen has seconds to happen, and what must not is shown by what came instead.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "certificates/mod.rs"]
mod certificates;
#[path = "gateway/support/mod.rs"]
mod support;

#[path = "gateway/auth.rs"]
mod auth;
#[path = "gateway/cancel.rs"]
mod cancel;
#[path = "gateway/codings.rs"]
mod codings;
#[path = "gateway/connections.rs"]
mod connections;
#[path = "gateway/cors.rs"]
mod cors;
#[path = "gateway/drain.rs"]
mod drain;
#[path = "gateway/endpoints.rs"]
mod endpoints;
#[path = "gateway/ends.rs"]
mod ends;
#[path = "gateway/figures.rs"]
mod figures;
#[path = "gateway/foreign.rs"]
mod foreign;
#[path = "gateway/framing.rs"]
mod framing;
#[path = "gateway/grammar.rs"]
mod grammar;
#[path = "gateway/headers.rs"]
mod headers;
#[path = "gateway/http2.rs"]
mod http2;
#[path = "gateway/limits.rs"]
mod limits;
#[path = "gateway/recognised.rs"]
mod recognised;
#[path = "gateway/relaying.rs"]
mod relaying;
#[path = "gateway/reload.rs"]
mod reload;
#[path = "gateway/routing.rs"]
mod routing;
#[path = "gateway/runs.rs"]
mod runs;
#[path = "gateway/slow.rs"]
mod slow;
#[path = "gateway/timeouts.rs"]
mod timeouts;
#[path = "gateway/tls.rs"]
mod tls;
#[path = "gateway/tls_agents.rs"]
mod tls_agents;
#[path = "gateway/tls_reload.rs"]
mod tls_reload;
#[path = "gateway/tokens.rs"]
mod tokens;
#[path = "gateway/versions.rs"]
mod versions;
