//! What a task changed so far, file by file, measured against its start.
//!
//! Reads nothing, writes nothing. Stored type: fields in sorted order, files sorted by path. Invariant: the
//! list is short; files that do not fit are only counted.

use crate::config::policy::is_default;
use serde::{Deserialize, Serialize};

/// At most this many files are listed.
const MOST: usize = 32;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Growth {
    pub files: Vec<ChangedFile>,
    /// Number of changed files that are not listed, and of their lines.
    #[serde(default, skip_serializing_if = "is_default")]
    pub more_files: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub more_lines: u64,
}

/// A file that differs from the task's start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// SHA-256 of its present content; empty if the file does not exist.
    pub is: String,
    /// Added plus removed lines.
    pub lines: u64,
    /// Relative to the project's root; absolute outside of it.
    pub path: String,
    /// SHA-256 of its content when the task began; empty if the file did not exist.
    pub was: String,
}

impl Growth {
    /// Files that differ from the task's start. `all` is sorted by path.
    pub fn of(all: Vec<ChangedFile>) -> Self {
        let mut growth = Self { files: all, ..Self::default() };
        for file in growth.files.drain(MOST.min(growth.files.len())..) {
            growth.more_files += 1;
            growth.more_lines += file.lines;
        }
        growth
    }

    pub fn file(&self, path: &str) -> Option<&ChangedFile> {
        self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok().map(|at| &self.files[at])
    }

    /// The same, with this file's new state.
    #[must_use]
    pub fn with(&self, file: ChangedFile) -> Self {
        let mut growth = self.clone();
        match growth.files.binary_search_by(|known| known.path.cmp(&file.path)) {
            Ok(at) if file.is == file.was => drop(growth.files.remove(at)),
            Ok(at) => growth.files[at] = file,
            Err(_) if file.is == file.was => {}
            Err(_) if growth.files.len() >= MOST => {
                growth.more_files += 1;
                growth.more_lines += file.lines;
            }
            Err(at) => growth.files.insert(at, file),
        }
        growth
    }

    /// Number of files and of lines.
    pub fn count(&self) -> (u64, u64) {
        let lines: u64 = self.files.iter().map(|file| file.lines).sum();
        (self.files.len() as u64 + self.more_files, lines + self.more_lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(path: &str, lines: u64) -> ChangedFile {
        ChangedFile { is: "new".to_owned(), lines, path: path.to_owned(), was: "old".to_owned() }
    }

    #[test]
    fn a_file_counts_once_and_not_when_it_is_as_before() {
        let growth = Growth::default().with(changed("b", 2)).with(changed("a", 3)).with(changed("b", 5));
        assert_eq!((growth.count(), growth.file("b").unwrap().lines), ((2, 8), 5));
        let back = ChangedFile { is: "old".to_owned(), ..changed("b", 0) };
        assert_eq!(growth.with(back.clone()).count(), (1, 3));
        assert_eq!(Growth::default().with(back), Growth::default());
    }

    #[test]
    fn a_long_list_is_counted_to_its_end() {
        let all: Vec<ChangedFile> = (0..100).map(|n| changed(&format!("f{n:03}"), 2)).collect();
        let growth = Growth::of(all);
        assert_eq!((growth.files.len(), growth.count()), (MOST, (100, 200)));
        assert_eq!(growth.with(changed("zzz", 1)).count(), (101, 201));
        assert!(growth != Growth::default() && Growth::of(Vec::new()) == Growth::default());
    }
}
