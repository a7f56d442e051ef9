//! What a task changed so far, file by file, measured against its start.
//!
//! Reads nothing, writes nothing. Stored type: fields in sorted order, files sorted by path. Invariant: the
//! list is short; files that do not fit are only counted. A file that only got another name, and one that a
//! tool made, is listed and adds nothing to the size.

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
    /// Number of files that are not listed and add nothing to the size.
    #[serde(default, skip_serializing_if = "is_default")]
    pub more_light: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub more_lines: u64,
}

/// A file that differs from the task's start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// SHA-256 of its present content; empty if the file does not exist.
    pub is: String,
    /// Moved here or away, or made by a tool: without lines of its own it adds nothing to the size.
    #[serde(default, skip_serializing_if = "is_default")]
    pub light: bool,
    /// Added plus removed lines; of a moved file, against its content under the old name.
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
        let more = growth.files.split_off(MOST.min(growth.files.len()));
        for file in &more {
            growth.count_more(file);
        }
        growth
    }

    fn count_more(&mut self, file: &ChangedFile) {
        if file.has_weight() {
            self.more_files += 1;
            self.more_lines += file.lines;
        } else {
            self.more_light += 1;
        }
    }

    /// Every changed file is listed.
    pub fn is_whole(&self) -> bool {
        self.more_files + self.more_light == 0
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
            Err(_) if growth.files.len() >= MOST => growth.count_more(&file),
            Err(at) => growth.files.insert(at, file),
        }
        growth
    }

    /// Number of files and of lines.
    pub fn count(&self) -> (u64, u64) {
        let files = self.files.iter().filter(|file| file.has_weight()).count() as u64;
        let lines: u64 = self.files.iter().map(|file| file.lines).sum();
        (files + self.more_files, lines + self.more_lines)
    }
}

impl ChangedFile {
    fn has_weight(&self) -> bool {
        !self.light || self.lines > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(path: &str, lines: u64) -> ChangedFile {
        let [is, was] = ["new", "old"].map(str::to_owned);
        ChangedFile { is, light: false, lines, path: path.to_owned(), was }
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
    fn what_is_light_is_listed_and_counts_with_its_lines_alone() {
        let light = |path: &str, lines| ChangedFile { light: true, ..changed(path, lines) };
        let growth = Growth::default().with(light("a", 0)).with(light("b", 3)).with(changed("c", 2));
        assert_eq!((growth.files.len(), growth.count()), (3, (2, 5)));
        let many = Growth::of((0..100).map(|n| light(&format!("f{n:03}"), 0)).collect());
        assert_eq!((many.count(), many.more_light, many.is_whole()), ((0, 0), 68, false));
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
