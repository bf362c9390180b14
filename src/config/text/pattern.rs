//! What is searched for in a stream: regular expressions, JSON pointers and the names of tools.

use super::Text;

/// A regular expression that finds something when it matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct Pattern(pub(in crate::config) String);

/// A JSON pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct Pointer(pub(in crate::config) String);

/// The name of a tool, or of several with `*` for any characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct ToolName(pub(in crate::config) String);

impl Text for Pattern {
    const FORMAT: &'static str = "pattern";
    const WHAT: &'static str = "a regular expression";
    const EXAMPLE: &'static str = "sk-[A-Za-z0-9]{20,}";

    fn read(text: &str) -> Result<Self, String> {
        let pattern = regex::Regex::new(text).map_err(|error| {
            let why = match &error {
                regex::Error::CompiledTooBig(_) => "it is too large; write smaller repetitions".to_owned(),
                // The parser draws a picture of several lines; its last one says what is wrong.
                error => error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned(),
            };
            format!("`{text}` is not a regular expression: {why}")
        })?;
        if pattern.is_match("") {
            return Err(format!("`{text}` also matches where nothing is; write one that needs at least a character"));
        }
        Ok(Self(text.to_owned()))
    }

    fn write(&self) -> String {
        self.0.clone()
    }
}

impl Text for Pointer {
    const FORMAT: &'static str = "json-pointer";
    const WHAT: &'static str = "a JSON pointer";
    const EXAMPLE: &'static str = "/url";

    fn read(text: &str) -> Result<Self, String> {
        let escaped = |part: &str| part.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
        if !(text.is_empty() || text.starts_with('/')) || !escaped(text) {
            return Err(format!(
                "`{text}` is not a JSON pointer; begin it with a slash, as in \"/url\", and write `~0` for `~` and \
                 `~1` for `/` in a name"
            ));
        }
        Ok(Self(text.to_owned()))
    }

    fn write(&self) -> String {
        self.0.clone()
    }
}

impl Text for ToolName {
    const FORMAT: &'static str = "tool-name";
    const WHAT: &'static str = "the name of a tool";
    const EXAMPLE: &'static str = "search_*";

    fn read(text: &str) -> Result<Self, String> {
        let plain = |c: char| !c.is_control();
        if text.trim() != text || text.is_empty() || text.len() > 256 || !text.chars().all(plain) {
            return Err("not the name of a tool; write one as in \"search_docs\", or several as in \"search_*\"".into());
        }
        Ok(Self(text.to_owned()))
    }

    fn write(&self) -> String {
        self.0.clone()
    }
}
