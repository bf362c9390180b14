//! The name of a release comes in, its place among all releases goes out: npm's `0.0.N`, PyPI's `0.1.N` and the
//! protocol's own `MAJOR.MINOR` in one order.

use std::fmt;

/// A release of the protocol or of a library that speaks it.
///
/// The order is that of the protocol's abilities: a Python release stands beside the npm release that knows the same
/// events. Two with different names are equal if nothing between them differs.
#[derive(Clone, Copy, Debug)]
pub struct Version {
    level: u32,
    name: &'static str,
}

/// Declares the releases once: name and level.
macro_rules! releases {
    ($($name:literal = $level:expr,)*) => {
        const RELEASES: &[Version] = &[$(Version { level: $level, name: $name },)*];
    };
}

/// The level of the protocol's `MAJOR.MINOR`, above every release of the libraries before it.
const fn protocol(major: u32, minor: u32) -> u32 {
    major * 1_000_000 + minor
}

releases! {
    "0.0.27" = 27, "0.0.28" = 28, "0.0.29" = 29, "0.0.30" = 30, "0.0.31" = 31, "0.0.32" = 32, "0.0.33" = 33,
    "0.0.34" = 34, "0.0.35" = 35, "0.0.36" = 36, "0.0.37" = 37, "0.0.38" = 38, "0.0.39" = 39, "0.0.40" = 40,
    "0.0.41" = 41, "0.0.42" = 42, "0.0.43" = 43, "0.0.44" = 44, "0.0.45" = 45, "0.0.46" = 46, "0.0.47" = 47,
    "0.0.48" = 48, "0.0.49" = 49, "0.0.50" = 50, "0.0.51" = 51, "0.0.52" = 52, "0.0.53" = 53, "0.0.54" = 54,
    "0.0.55" = 55, "0.0.56" = 56, "0.0.57" = 57, "0.0.58" = 58, "0.0.59" = 59,
    "0.1.4" = 27, "0.1.5" = 28, "0.1.6" = 29, "0.1.7" = 30, "0.1.8" = 34, "0.1.9" = 37, "0.1.10" = 41,
    "0.1.11" = 45, "0.1.12" = 45, "0.1.13" = 45, "0.1.14" = 48, "0.1.15" = 49, "0.1.16" = 50, "0.1.17" = 50,
    "0.1.18" = 50, "0.1.19" = 54, "0.1.20" = 58, "0.1.21" = 59, "0.1.22" = 59,
    "1.0" = protocol(1, 0), "1.1" = protocol(1, 1),
}

/// A text that names no release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no released version of AG-UI; write one of 0.0.27 to 0.0.59 (the npm packages), 0.1.4 to 0.1.22 (the Python ones), \
     or 1.0 or 1.1 (the protocol)"
)]
pub struct UnknownVersion;

impl Version {
    /// What this build speaks itself.
    pub const CURRENT: Self = Self { level: protocol(1, 1), name: "1.1" };
    /// The first that declares its version and leaves out what it does not know.
    pub const V1_0: Self = Self { level: protocol(1, 0), name: "1.0" };
    /// Later than this build knows, or not to be read, which counts as later.
    pub const NEWER: Self = Self { level: u32::MAX, name: "newer" };

    /// The release of this name. From 1.0 on a third number is ignored.
    ///
    /// # Errors
    ///
    /// [`UnknownVersion`] if there is none.
    pub fn released(text: &str) -> Result<Self, UnknownVersion> {
        let name = match text.split('.').collect::<Vec<_>>()[..] {
            [major, minor, patch] if major != "0" && patch.bytes().all(|b| b.is_ascii_digit()) => {
                &text[..major.len() + 1 + minor.len()]
            }
            _ => text,
        };
        RELEASES.iter().find(|release| release.name == name).copied().ok_or(UnknownVersion)
    }

    /// What a peer declares in traffic: the release of this name, or something newer.
    pub fn declared(text: &str) -> Self {
        Self::released(text.trim()).unwrap_or(Self::NEWER)
    }

    /// Every release, each line from its first to its last.
    pub fn all() -> impl Iterator<Item = Self> {
        RELEASES.iter().copied()
    }

    /// The npm release `0.0.N`: every rule of compatibility is a comparison with one of these or with 1.0.
    pub const fn npm(n: u32) -> Self {
        Self { level: n, name: "" }
    }

    /// Whether this is older than the first version of the protocol that has a number.
    pub fn is_old(self) -> bool {
        self < Self::V1_0
    }

    /// Its name: of a closed set, fit for a metric label.
    pub const fn as_str(self) -> &'static str {
        self.name
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.level == other.level
    }
}

impl Eq for Version {}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.level.cmp(&other.level)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn releases_of_all_lines_stand_in_one_order() {
        let order = ["0.0.27", "0.0.36", "0.1.9", "0.0.40", "0.1.10", "0.0.45", "0.0.59", "1.0", "1.1"];
        for pair in order.windows(2) {
            assert!(Version::released(pair[0]).unwrap() < Version::released(pair[1]).unwrap(), "{pair:?}");
        }
        assert_eq!(Version::released("0.1.22").unwrap(), Version::released("0.0.59").unwrap());
        assert!(Version::NEWER > Version::CURRENT && !Version::V1_0.is_old() && Version::npm(59).is_old());
    }

    #[test]
    fn a_third_number_counts_only_before_one() {
        for (text, name) in [("1.0", "1.0"), ("1.0.0", "1.0"), ("1.1.3", "1.1"), ("0.0.47", "0.0.47")] {
            assert_eq!(Version::released(text).unwrap().as_str(), name);
        }
    }

    #[test]
    fn what_was_never_released_is_an_error_in_writing_and_newer_in_traffic() {
        for text in
            ["0.0.26", "0.0.60", "0.1.3", "0.1.23", "0.1", "1", "1.2", "1.10", "2.0", "1.0x", "1.0.x", "draft", ""]
        {
            assert_eq!(Version::released(text), Err(UnknownVersion), "{text}");
            assert_eq!(Version::declared(text), Version::NEWER, "{text}");
        }
        assert_eq!(Version::declared(" 1.0 ").as_str(), "1.0");
    }
}
