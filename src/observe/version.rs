//! A declared version comes in, one of a closed table goes out: what a client says can never become a new label.

/// Every version that has been released, and the few numbers between them that were left out.
const RELEASED: &[&str] = &[
    "0.0.27", "0.0.28", "0.0.29", "0.0.30", "0.0.31", "0.0.32", "0.0.33", "0.0.34", "0.0.35", "0.0.36", "0.0.37",
    "0.0.38", "0.0.39", "0.0.40", "0.0.41", "0.0.42", "0.0.43", "0.0.44", "0.0.45", "0.0.46", "0.0.47", "0.0.48",
    "0.0.49", "0.0.50", "0.0.51", "0.0.52", "0.0.53", "0.0.54", "0.0.55", "0.0.56", "0.0.57", "0.0.58", "0.0.59",
    "1.0", "1.1",
];

/// The version of the protocol that a client speaks, as metrics count it.
///
/// Before 1.0 a version is that of the client library (`0.0.47`); from 1.0 on it is `MAJOR.MINOR`, and a third
/// number is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientVersion(&'static str);

impl ClientVersion {
    /// Neither the client nor the configuration says.
    pub const UNDECLARED: Self = Self("undeclared");
    /// Later than this build knows, or not to be read, which counts as later.
    pub const NEWER: Self = Self("newer");
    /// Earlier than the first release in the table.
    pub const OLDER: Self = Self("older");

    /// The version that this text names, as in `protocolVersion`, a header or the configuration.
    pub fn from_declared(text: &str) -> Self {
        let text = text.trim();
        let mut parts = text.split('.');
        let name = match (parts.next(), parts.next()) {
            (Some("0"), _) => text,
            (Some(major), Some(minor)) => &text[..major.len() + 1 + minor.len()],
            _ => text,
        };
        if let Some(known) = RELEASED.iter().find(|known| **known == name) {
            return Self(known);
        }
        let numbers: Option<Vec<u32>> = text.split('.').map(|part| part.parse().ok()).collect();
        match numbers {
            Some(numbers) if numbers.len() > 1 && numbers.as_slice() < &[0, 0, 27][..] => Self::OLDER,
            _ => Self::NEWER,
        }
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
        for (declared, label) in
            [("0.0.47", "0.0.47"), ("1.0", "1.0"), ("1.0.0", "1.0"), ("1.1", "1.1"), (" 1.1.3 ", "1.1")]
        {
            assert_eq!(ClientVersion::from_declared(declared).as_str(), label);
        }
    }

    #[test]
    fn what_is_not_released_never_becomes_a_label() {
        for declared in ["1.2", "1.10", "2.0", "0.0.60", "0.1", "draft", "", "1", "1.0x", "9".repeat(4000).as_str()] {
            assert_eq!(ClientVersion::from_declared(declared), ClientVersion::NEWER, "{declared}");
        }
        for declared in ["0.0.26", "0.0.1", "0.0"] {
            assert_eq!(ClientVersion::from_declared(declared), ClientVersion::OLDER, "{declared}");
        }
    }
}
