//! The spellings that a configuration uses inside strings: text comes in, a checked value goes out, or what
//! to write instead. One type a spelling; its `format` in the schema leads back to it.

mod access;
mod names;
mod network;
mod pattern;
mod release;
mod units;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

pub(super) use access::{By, KeySet, Origin, Rate, Sha256};
pub(super) use names::{DropType, HeaderName, HeaderValue, LogFilter, Name, StripMember};
pub(super) use network::{Address, AddressOrOff, AgentUrl, HealthPath, Host, Network, RoutePath};
pub(super) use pattern::{Pattern, Pointer, ToolName};
pub(super) use release::Release;
pub(super) use units::{Duration, DurationOrOff, Size, Wait};

/// A value that a configuration spells as a string.
pub(super) trait Text: Sized {
    /// The name of the spelling in the schema.
    const FORMAT: &'static str;
    /// What it is, for sentences: `a duration`.
    const WHAT: &'static str;
    /// One that works.
    const EXAMPLE: &'static str;
    /// Reads it; the error says what is wrong and what to write.
    fn read(text: &str) -> Result<Self, String>;
    /// Writes it so that it can be read again.
    fn write(&self) -> String;
}

/// A spelling by its name, for whoever meets it in the schema.
pub(super) struct Format {
    /// [`Text::WHAT`].
    pub(super) what: &'static str,
    /// [`Text::EXAMPLE`].
    pub(super) example: &'static str,
    /// Whether this text is spelled so.
    pub(super) check: fn(&str) -> Result<(), String>,
}

macro_rules! texts {
    ($($type:ident)*) => {
        /// The spelling of this name.
        pub(super) fn format(name: &str) -> Option<Format> {
            $(if name == $type::FORMAT {
                let check = |text: &str| $type::read(text).map(drop);
                return Some(Format { what: $type::WHAT, example: $type::EXAMPLE, check });
            })*
            None
        }

        $(
            impl Serialize for $type {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.serialize_str(&self.write())
                }
            }

            impl<'de> Deserialize<'de> for $type {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    Self::read(&Cow::<str>::deserialize(deserializer)?).map_err(D::Error::custom)
                }
            }

            impl JsonSchema for $type {
                fn inline_schema() -> bool {
                    true
                }

                fn schema_name() -> Cow<'static, str> {
                    stringify!($type).into()
                }

                fn json_schema(_: &mut SchemaGenerator) -> Schema {
                    json_schema!({ "type": "string", "format": Self::FORMAT, "examples": [Self::EXAMPLE] })
                }
            }
        )*
    };
}

texts! {
    Address AddressOrOff AgentUrl DropType Duration DurationOrOff HeaderName HeaderValue HealthPath Host KeySet LogFilter
    Name Network Origin Pattern Pointer Rate Release RoutePath Sha256 Size StripMember ToolName Wait
}

/// The nearest of these names, if it is near enough to have been meant.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let distance = |other: &str| strsim::damerau_levenshtein(&name, &other.to_lowercase());
    let allowed = match name.chars().count() {
        0 | 1 => 0,
        length => (length / 3).clamp(1, 3),
    };
    known.into_iter().map(|other| (distance(other), other)).filter(|(d, _)| *d <= allowed).min().map(|(_, other)| other)
}

#[cfg(test)]
mod tests;
