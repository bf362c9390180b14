//! What the operator's pages show: the process tells it, the pages read it.

use std::{
    fmt,
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicU8, Ordering::Relaxed},
    },
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
    used: RwLock<Used>,
}

/// What a configuration says of these pages.
struct Used {
    /// All of it, as it is shown.
    config: String,
    keys: Keys,
}

impl AdminState {
    /// A gateway that is starting. `config` is the configuration in use as JSON, with every secret hidden (I9). One of
    /// these keys has to be shown for every page but those about health; without any, none.
    pub fn new(metrics: Metrics, config: String, keys: Keys) -> Self {
        let used = RwLock::new(Used { config, keys });
        Self { metrics, readiness: AtomicU8::new(Readiness::Starting as u8), used }
    }

    /// Another configuration is in use from now on, with these keys.
    pub fn changed(&self, config: String, keys: Keys) {
        *self.used.write().unwrap_or_else(PoisonError::into_inner) = Used { config, keys };
    }

    /// Whether a request with these headers may read all pages.
    pub(super) fn lets_in(&self, headers: &HeaderMap) -> bool {
        let used = self.used.read().unwrap_or_else(PoisonError::into_inner);
        used.keys.is_empty() || shows_one(headers, &used.keys)
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
        self.used.read().unwrap_or_else(PoisonError::into_inner).config.clone()
    }
}

impl fmt::Debug for AdminState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdminState").field("readiness", &self.readiness()).finish_non_exhaustive()
    }
}
