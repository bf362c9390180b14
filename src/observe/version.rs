//! A version comes in, a label of a closed set goes out: what a client says can never become a new one.

use crate::agui::Version;

/// The version of the protocol that a client speaks, as metrics and logs name it: a release, `newer` or `undeclared`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientVersion(&'static str);

impl ClientVersion {
    /// Neither the client nor the configuration says.
    pub const UNDECLARED: Self = Self("undeclared");
    /// Later than this build knows, or not to be read, which counts as later.
    pub const NEWER: Self = Self::of(Version::NEWER);

    /// The label of this version.
    pub const fn of(version: Version) -> Self {
        let name = version.as_str();
        // A place in the order that is no release comes neither from traffic nor from a configuration.
        Self(if name.is_empty() { Version::NEWER.as_str() } else { name })
    }

    /// The label of the version that this text names, as in `protocolVersion` or a header.
    pub fn from_declared(text: &str) -> Self {
        Self::of(Version::declared(text))
    }

    /// The text used in labels and logs.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_themselves() {
        for version in Version::all() {
            assert_eq!(ClientVersion::of(version).as_str(), version.as_str());
            assert_eq!(ClientVersion::from_declared(version.as_str()), ClientVersion::of(version));
        }
        for (declared, label) in [("0.1.9", "0.1.9"), ("1.0.0", "1.0"), (" 1.1.3 ", "1.1")] {
            assert_eq!(ClientVersion::from_declared(declared).as_str(), label);
        }
    }

    #[test]
    fn what_is_not_released_never_becomes_a_label() {
        let long = "9".repeat(4000);
        for declared in ["1.2", "2.0", "0.0.60", "0.0.26", "0.1", "draft", "", "1", "1.0x", "undeclared", &long] {
            assert_eq!(ClientVersion::from_declared(declared).as_str(), "newer", "{declared}");
        }
        assert_eq!(ClientVersion::of(Version::npm(45)), ClientVersion::NEWER);
        assert_eq!(ClientVersion::of(Version::CURRENT).as_str(), "1.1");
    }
}
