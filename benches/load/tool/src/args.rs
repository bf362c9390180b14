//! Arguments: words of the form `KEY=VALUE` come in, typed values go out.

use std::{collections::BTreeMap, str::FromStr};

/// The arguments of one command.
pub struct Args(BTreeMap<String, String>);

impl Args {
    /// Takes the words apart.
    ///
    /// # Errors
    /// A word that has no `=`.
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        words
            .map(|word| match word.split_once('=') {
                Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
                None => Err(format!("`{word}` is not KEY=VALUE")),
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The value of `key`, if it is given.
    ///
    /// # Errors
    /// A value of the wrong type.
    pub fn get<T: FromStr>(&self, key: &str) -> Result<Option<T>, String> {
        match self.0.get(key) {
            None => Ok(None),
            Some(value) => match value.parse() {
                Ok(value) => Ok(Some(value)),
                Err(_) => Err(format!("`{value}` does not suit `{key}`")),
            },
        }
    }

    /// The value of `key`, or `default`.
    ///
    /// # Errors
    /// A value of the wrong type.
    pub fn or<T: FromStr>(&self, key: &str, default: T) -> Result<T, String> {
        Ok(self.get(key)?.unwrap_or(default))
    }

    /// The value of `key`, which has to be there.
    ///
    /// # Errors
    /// No such argument, or a value of the wrong type.
    pub fn need<T: FromStr>(&self, key: &str) -> Result<T, String> {
        self.get(key)?.ok_or_else(|| format!("`{key}=` is missing"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn args(words: &[&str]) -> Result<Args, String> {
        Args::parse(words.iter().map(ToString::to_string))
    }

    #[test]
    fn values_are_typed_and_may_be_absent() {
        let args = args(&["streams=12", "to=127.0.0.1:80"]).unwrap();
        assert_eq!(args.need::<usize>("streams").unwrap(), 12);
        assert_eq!(args.or("events", 7_u64).unwrap(), 7);
        assert_eq!(args.get::<u32>("pid").unwrap(), None);
    }

    #[test]
    fn what_is_missing_or_malformed_is_named() {
        assert_eq!(args(&["streams"]).err().unwrap(), "`streams` is not KEY=VALUE");
        let args = args(&["streams=many"]).unwrap();
        assert_eq!(args.need::<usize>("streams").unwrap_err(), "`many` does not suit `streams`");
        assert_eq!(args.need::<usize>("window").unwrap_err(), "`window=` is missing");
    }
}
