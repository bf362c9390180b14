//! All shims together.
