//! Where a secret is comes in, what it holds goes out. What it holds is in no error.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use super::{files::Files, written::Secret};

/// More than any token or certificate needs.
const LONGEST: u64 = 64 * 1024;

/// What secrets are read from.
pub(super) struct Secrets<'a> {
    /// The environment of the process.
    pub(super) environment: &'a BTreeMap<String, OsString>,
    /// The folder in which relative paths begin.
    pub(super) folder: PathBuf,
    /// Where it is noted which files are read.
    pub(super) files: &'a RefCell<Files>,
}

impl Secrets<'_> {
    /// Reads one. From a file, one newline at its end does not count.
    pub(super) fn read(&self, secret: &Secret) -> Result<Vec<u8>, String> {
        match (&secret.env, &secret.file) {
            (Some(name), _) => self.variable(name),
            (None, Some(file)) => self.file(file),
            (None, None) => Err("write exactly one of `env` and `file`".into()),
        }
    }

    fn variable(&self, name: &str) -> Result<Vec<u8>, String> {
        let value = self.environment.get(name);
        let value =
            value.ok_or_else(|| format!("the environment variable `{name}` is not set; set it, or name another"))?;
        let text = value.to_str().ok_or_else(|| format!("the environment variable `{name}` is not UTF-8"))?;
        if text.is_empty() {
            return Err(format!("the environment variable `{name}` is empty; set it, or name another"));
        }
        Ok(text.as_bytes().to_vec())
    }

    fn file(&self, name: &str) -> Result<Vec<u8>, String> {
        let path = self.folder.join(Path::new(name));
        let shown = path.display();
        let read = self.files.borrow_mut().read(&path, LONGEST + 1);
        let mut bytes = read.map_err(|error| format!("the file `{shown}` cannot be read: {error}"))?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length > LONGEST) {
            return Err(format!("the file `{shown}` is larger than 64 KiB, which no secret is"));
        }
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
            if bytes.last() == Some(&b'\r') {
                bytes.pop();
            }
        }
        if bytes.is_empty() { Err(format!("the file `{shown}` is empty")) } else { Ok(bytes) }
    }
}
