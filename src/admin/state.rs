//! What the operator's pages show: the process tells it, the pages read it.

use std::{
    fmt,
    sync::atomic::{AtomicU8, Ordering::Relaxed},
};

use http::HeaderMap;

use crate::{
    gateway::{Keys, shows_one},
    observe::Metrics,
};

/// Whether the gateway wants runs. It only moves forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Readiness {
    /// Not yet: no listener of clients is open.
    Starting,
    /// Yes.
    Ready,
    /// No more: runs go on, new ones are not wanted.
    Draining,
}

/// What the operator's listener shows.
pub struct AdminState {
    metrics: Metrics,
    readiness: AtomicU8,
    config: Box<dyn Fn() -> String + Send + Sync>,
    keys: Keys,
}

impl AdminState {
    /// A gateway that is starting. `config` gives the configuration in use as JSON, with every secret hidden (I9).
    pub fn new(metrics: Metrics, config: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Self {
            metrics,
            readiness: AtomicU8::new(Readiness::Starting as u8),
            config: Box::new(config),
            keys: Keys::new(&[]),
        }
    }

    /// Has one of these keys shown for every page but those about health; without any, none.
    pub fn guarded(self, keys: Keys) -> Self {
        Self { keys, ..self }
    }

    /// Whether a request with these headers may read all pages.
    pub(super) fn lets_in(&self, headers: &HeaderMap) -> bool {
        self.keys.is_empty() || shows_one(headers, &self.keys)
    }

    /// Moves on to this readiness; never back, so that who says "ready" late does not undo a drain.
    pub fn advance(&self, to: Readiness) {
        self.readiness.fetch_max(to as u8, Relaxed);
    }

    /// Whether the gateway wants runs.
    pub fn readiness(&self) -> Readiness {
        match self.readiness.load(Relaxed) {
            0 => Readiness::Starting,
            1 => Readiness::Ready,
            _ => Readiness::Draining,
        }
    }

    /// The metrics that `/metrics` shows.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The configuration in use, as JSON.
    pub(super) fn config(&self) -> String {
        (self.config)()
    }
}

impl fmt::Debug for AdminState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdminState").field("readiness", &self.readiness()).finish_non_exhaustive()
    }
}
