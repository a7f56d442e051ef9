//! Files of secrets that a line may show without naming them: by a pattern, or by reading a whole folder.
//!
//! Reads folders, up to a limit, and the project's index. Invariant: if not everything can be looked at, no
//! line is answered.

use super::hidden::has_second_name;
use crate::system::git::{git_common_folder, git_folder, index_paths};
use crate::system::glob;
use crate::tool::danger::is_secret;
use aops_shell::quiet::Places;
use aops_shell::syntax::{Bit, Line, Word};
use std::path::{Path, PathBuf};

/// At most this many entries of folders are looked at for one pattern.
const MOST_ENTRIES: usize = 20_000;
/// At most this many files of secrets are hidden from one line.
const MOST_HIDDEN: usize = 64;
/// Verbs of git that show nothing of what a file contains.
const LISTS: [&str; 9] =
    ["branch", "describe", "log", "ls-files", "remote", "rev-parse", "status", "tag", "worktree"];

/// The files of secrets in the folders that the line reads: they must be hidden from it.
pub(super) fn within(line: &Line, places: &Places, project: &Path) -> Result<Vec<PathBuf>, String> {
    let with_hidden = ["dotglob", "GLOBIGNORE"].iter().any(|word| line.text.contains(word));
    for pattern in &places.shown {
        if !secrets(pattern, with_hidden)?.is_empty() {
            return Err("a pattern of it matches a file of secrets".to_owned());
        }
    }
    let mut found = Vec::new();
    for folder in &places.whole {
        found.extend(secrets(&format!("{folder}/**"), with_hidden)?);
    }
    if shows_objects(line) && !tracks_none(project) {
        return Err("git may show a file of secrets".to_owned());
    }
    found.sort();
    found.dedup();
    match found.iter().find(|path| has_second_name(path)) {
        Some(path) => Err(format!("`{}` has a second name", path.display())),
        None if found.len() > MOST_HIDDEN => Err("it reads folders with many files of secrets".to_owned()),
        None => Ok(found),
    }
}

fn secrets(pattern: &str, with_hidden: bool) -> Result<Vec<PathBuf>, String> {
    let sign = |c: char| match c {
        '*' => Bit::Star,
        '?' => Bit::One,
        c => Bit::Char(c),
    };
    let pattern = Word { bits: pattern.chars().map(sign).collect(), ..Word::default() };
    let found = glob::expand(&pattern, with_hidden, MOST_ENTRIES);
    let mut found = found.ok_or("too many files to look for secrets among them")?;
    found.retain(|path| is_secret(&path.to_string_lossy()));
    Ok(found)
}

/// Git's index lists no file of secrets, or there is no repository.
fn tracks_none(project: &Path) -> bool {
    let Some(root) = project.ancestors().find(|folder| git_folder(folder).is_some()) else {
        return git_common_folder(project).is_none();
    };
    let Some(index) = git_folder(root).map(|git| git.join("index")) else { return false };
    if index.symlink_metadata().is_err() {
        return true;
    }
    let is_free = |paths: Vec<u8>| {
        paths.split(|byte| *byte == 0).all(|path| !is_secret(&format!("/{}", String::from_utf8_lossy(path))))
    };
    index_paths(&index, b"").is_some_and(is_free)
}

/// A jail cannot hide git objects, since they are not files with a path.
pub(super) fn shows_objects(line: &Line) -> bool {
    const SHOWS: [&str; 9] = ["--patch", "--patch-with-stat", "--cc", "-G", "-L", "-S", "-c", "-p", "-u"];
    line.commands.iter().filter(|simple| simple.name() == Some("git")).any(|git| {
        let words: Vec<String> = git.words.iter().skip(1).map(Word::lossy).collect();
        let verb = words.iter().find(|word| !word.starts_with('-')).map(String::as_str).unwrap_or_default();
        let shows = |word: &String| SHOWS.iter().any(|option| word.starts_with(option)) || word.contains(':');
        !LISTS.contains(&verb) || words.iter().any(shows)
    })
}
