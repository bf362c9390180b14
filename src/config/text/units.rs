//! Durations and sizes: numbers with a unit.

use std::{fmt::Display, time};

use super::Text;

/// The longest duration that means anything here; a clock cannot count on without end.
const LONGEST: time::Duration = time::Duration::from_secs(366 * 24 * 60 * 60);

/// A duration above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::config) struct Duration(pub(in crate::config) time::Duration);

/// A duration above zero, or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::config) struct DurationOrOff(pub(in crate::config) Option<time::Duration>);

/// A duration that may be zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::config) struct Wait(pub(in crate::config) time::Duration);

/// A number of bytes above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::config) struct Size(pub(in crate::config) u64);

fn duration(text: &str) -> Result<time::Duration, String> {
    if is_number(text) {
        return Err(format!("`{text}` has no unit; write \"{}s\" for seconds, or ms, m, h", text.trim()));
    }
    let read = humantime::parse_duration(text).map_err(|_| {
        format!("`{text}` is not a duration; write a number with a unit, as in \"30s\", \"5m\" or \"1h 30m\"")
    })?;
    if read > LONGEST {
        return Err(format!("`{text}` is too long; the longest is \"366days\""));
    }
    Ok(read)
}

fn above_zero(read: time::Duration, off: &str) -> Result<time::Duration, String> {
    if read.is_zero() { Err(format!("zero is not a duration to wait for; write a longer one{off}")) } else { Ok(read) }
}

fn is_number(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && text.parse::<f64>().is_ok()
}

fn write(duration: &time::Duration) -> String {
    humantime::format_duration(*duration).to_string()
}

impl Text for Duration {
    const FORMAT: &'static str = "duration";
    const WHAT: &'static str = "a duration";
    const EXAMPLE: &'static str = "3s";

    fn read(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Err("this cannot be off; write a duration, as in \"3s\"".into());
        }
        above_zero(duration(text)?, "").map(Self)
    }

    fn write(&self) -> String {
        write(&self.0)
    }
}

impl Text for DurationOrOff {
    const FORMAT: &'static str = "duration-or-off";
    const WHAT: &'static str = "a duration or \"off\"";
    const EXAMPLE: &'static str = "30s";

    fn read(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self(None));
        }
        above_zero(duration(text)?, ", or \"off\"").map(|read| Self(Some(read)))
    }

    fn write(&self) -> String {
        self.0.as_ref().map_or_else(|| "off".to_owned(), write)
    }
}

impl Text for Wait {
    const FORMAT: &'static str = "duration-or-zero";
    const WHAT: &'static str = "a duration";
    const EXAMPLE: &'static str = "30s";

    fn read(text: &str) -> Result<Self, String> {
        duration(text).map(Self)
    }

    fn write(&self) -> String {
        write(&self.0)
    }
}

impl Text for Size {
    const FORMAT: &'static str = "size";
    const WHAT: &'static str = "a size";
    const EXAMPLE: &'static str = "32MiB";

    fn read(text: &str) -> Result<Self, String> {
        if is_number(text) {
            return Err(format!("`{text}` has no unit; write \"{}B\" for bytes, or KiB, MiB, GiB", text.trim()));
        }
        let read: bytesize::ByteSize = text.parse().map_err(|_| {
            format!("`{text}` is not a size; write a number with a unit, as in \"64KiB\", \"32MiB\" or \"1MB\"")
        })?;
        if read.0 == 0 {
            return Err("nothing fits into a limit of zero; write a larger one, as in \"1MiB\"".into());
        }
        if usize::try_from(read.0).is_err() || read.0 > i64::MAX.unsigned_abs() {
            return Err(format!("`{text}` is more than this machine can address; write a smaller one"));
        }
        Ok(Self(read.0))
    }

    fn write(&self) -> String {
        let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
        let whole = |(power, _): &(u32, &str)| self.0.trailing_zeros() >= *power;
        let spell = |number: u64, unit: &dyn Display| format!("{number}{unit}");
        units
            .iter()
            .find(|unit| whole(unit))
            .map_or_else(|| spell(self.0, &"B"), |(power, unit)| spell(self.0 >> power, unit))
    }
}
