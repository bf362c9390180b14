//! Released versions of the protocol and its libraries.

use super::Text;
use crate::agui::Version;

/// The name of a release: `1.0`, npm's `0.0.47` or PyPI's `0.1.9`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::config) struct Release(pub(in crate::config) Version);

impl Text for Release {
    const FORMAT: &'static str = "released-version";
    const WHAT: &'static str = "a released version";
    const EXAMPLE: &'static str = "1.0";

    fn read(text: &str) -> Result<Self, String> {
        Version::released(text).map(Self).map_err(|unknown| {
            let meant = meant(text).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            format!("`{text}` is {unknown}{meant}")
        })
    }

    fn write(&self) -> String {
        self.0.to_string()
    }
}

/// The release in a text with more around it, as in `v0.0.47` or `^1.0`, or the nearest one of the same line.
fn meant(text: &str) -> Option<&'static str> {
    let text = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let text = text[..end].trim_end_matches('.');
    if let Ok(version) = Version::released(text) {
        return Some(version.as_str());
    }
    let number = |text: &str| text.parse::<u64>().ok();
    let (line, last) = match text.split('.').collect::<Vec<_>>()[..] {
        ["0", line, last] => (format!("0.{line}."), number(last)?),
        ["0", last] => return Version::released(&format!("0.0.{last}")).ok().map(Version::as_str),
        [major] => (format!("{major}."), 0),
        [major, minor, ..] => (format!("{major}."), number(minor)?),
        [] => return None,
    };
    let of_line = Version::all().filter_map(|version| number(version.as_str().strip_prefix(&line)?).zip(Some(version)));
    of_line.min_by_key(|(number, _)| number.abs_diff(last)).map(|(_, version)| version.as_str())
}
