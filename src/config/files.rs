//! Files come in and are read; whether they say something else by now goes out. Of what they say, only a fingerprint is
//! kept.

use std::{
    collections::BTreeMap,
    fs::File,
    hash::{DefaultHasher, Hasher},
    io::{self, Read},
    path::{Path, PathBuf},
};

/// The most bytes that are looked at of a file that is read elsewhere.
const LONGEST: u64 = 4 * 1024 * 1024;

/// The files that a configuration was read from, and what they said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files(BTreeMap<PathBuf, Seen>);

/// What one file said.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    /// The most bytes that were read of it.
    most: u64,
    /// Of what was read; `None`: it could not be.
    fingerprint: Option<u64>,
}

impl Files {
    /// Reads a file through symlinks, `most` bytes of it at most, and remembers what it says. What is no plain file, as
    /// a pipe, is read but not remembered: it says everything once.
    pub(super) fn read(&mut self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        let (read, is_plain) = read(path, most);
        if is_plain {
            let fingerprint = read.as_deref().ok().map(fingerprint);
            self.0.insert(path.to_owned(), Seen { most, fingerprint });
        }
        read
    }

    /// Remembers what a file says that is read elsewhere.
    pub(super) fn note(&mut self, path: &Path) {
        let _ = self.read(path, LONGEST);
    }

    /// The same files as they are now.
    pub fn now(&self) -> Self {
        let look = |(path, seen): (&PathBuf, &Seen)| {
            let fingerprint = read(path, seen.most).0.ok().as_deref().map(fingerprint);
            (path.clone(), Seen { most: seen.most, fingerprint })
        };
        Self(self.0.iter().map(look).collect())
    }
}

/// The beginning of a file, and whether the file is a plain one, or might become one.
fn read(path: &Path, most: u64) -> (io::Result<Vec<u8>>, bool) {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) => return (Err(error), true),
    };
    let is_plain = file.metadata().is_ok_and(|about| about.is_file());
    let mut bytes = Vec::new();
    let read = file.by_ref().take(most).read_to_end(&mut bytes);
    (read.map(|_| bytes), is_plain)
}

fn fingerprint(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_file_has_changed_when_it_says_something_else_also_behind_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new, link) = (folder.path().join("old"), folder.path().join("new"), folder.path().join("data"));
        for (name, text) in [(&old, "one"), (&new, "two")] {
            fs::create_dir(name).unwrap();
            fs::write(name.join("file"), text).unwrap();
        }
        symlink(&old, &link).unwrap();
        let mut files = Files::default();
        assert_eq!(files.read(&link.join("file"), 100).unwrap(), b"one");
        fs::write(old.join("file"), "one").unwrap();
        assert_eq!(files.now(), files);
        fs::remove_file(&link).unwrap();
        assert_ne!(files.now(), files, "it is gone");
        symlink(&new, &link).unwrap();
        assert_ne!(files.now(), files);
        assert_eq!(files.now(), files.now());
    }

    #[test]
    fn a_file_that_is_yet_to_come_is_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut files = Files::default();
        assert!(files.read(&path, 100).is_err());
        assert_eq!(files.now(), files);
        fs::write(&path, "").unwrap();
        assert_ne!(files.now(), files);
    }

    #[test]
    fn what_is_no_plain_file_is_not_looked_at_again() {
        let mut files = Files::default();
        assert_eq!(files.read(Path::new("/dev/null"), 100).unwrap(), b"");
        assert_eq!(files, Files::default());
    }
}
