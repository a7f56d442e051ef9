//! Files of secrets that a line may show without naming them: by a pattern, or by reading a whole folder.
//!
//! Reads folders, up to a limit, and the project's index. Invariant: if not everything can be looked at, no
//! line is answered.

use super::hidden::has_second_name;
use crate::system::files;
use crate::system::git::{git_common_folder, git_folder, index_paths};
use crate::system::glob;
use crate::text::redact::redact;
use crate::tool::danger::is_secret;
use aops_shell::commands::before_verb;
use aops_shell::quiet::Places;
use aops_shell::syntax::{Bit, Line, Word};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// At most this many entries of folders are looked at for one pattern.
const MOST_ENTRIES: usize = 20_000;
/// At most this many files of secrets are hidden from one line.
const MOST_HIDDEN: usize = 64;
/// Verbs of git that show nothing of what a file contains.
const LISTS: [&str; 9] =
    ["branch", "describe", "log", "ls-files", "remote", "rev-parse", "status", "tag", "worktree"];

/// Verbs of git that show its settings, among them the addresses of remotes.
const TELLS: [&str; 4] = ["config", "ls-remote", "remote", "var"];

/// The files of secrets in the folders that the line reads: they must be hidden from it.
pub(super) fn within(
    line: &Line,
    places: &Places,
    project: &Path,
    home: &Path,
) -> Result<Vec<PathBuf>, String> {
    let with_hidden = ["dotglob", "GLOBIGNORE"].iter().any(|word| line.text.contains(word));
    for pattern in &places.shown {
        let files = matched(pattern, with_hidden)?;
        if files.iter().any(|path| is_secret_file(path) || leads_to_secret(path)) {
            return Err("a pattern of it matches a file of secrets".to_owned());
        }
    }
    // A search does not follow the links that it finds, but a program that it starts does.
    let follows = ["exec", "xargs", "$(", "`"].iter().any(|sign| line.text.contains(sign));
    let mut found = Vec::new();
    for folder in &places.whole {
        let files = matched(&format!("{folder}/**"), with_hidden)?;
        if follows && files.iter().any(|path| leads_to_secret(path)) {
            return Err("a link in a folder that it reads leads to a file of secrets".to_owned());
        }
        found.extend(files.into_iter().filter(|path| is_secret_file(path)));
    }
    found.extend(settings_to_hide(line, places, project, home)?);
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

/// The settings of git that hold a token or a password, if the line reads their folder.
fn settings_to_hide(
    line: &Line,
    places: &Places,
    project: &Path,
    home: &Path,
) -> Result<Option<PathBuf>, String> {
    let of_project = git_common_folder(project).map(|folder| folder.join("config"));
    let holds = |path: &PathBuf| {
        let text = files::read_text(path).unwrap_or_default();
        matches!(redact(&text), Cow::Owned(redacted) if redacted != text)
    };
    let of_user = [home.join(".gitconfig"), home.join(".config/git/config")];
    let is_told = verbs(line).any(|verb| TELLS.contains(&verb.as_str()));
    if is_told && of_project.iter().chain(&of_user).any(holds) {
        return Err("git may show a secret from its settings".to_owned());
    }
    let is_near = |path: &PathBuf| {
        let is_named =
            places.named.iter().any(|named| path.starts_with(named) && !project.starts_with(named));
        is_named || !places.whole.is_empty()
    };
    match of_project.filter(|path| is_near(path) && holds(path)) {
        Some(_) if verbs(line).next().is_some() || places.whole.is_empty() => {
            Err("git's settings hold a secret".to_owned())
        }
        found => Ok(found),
    }
}

/// The verb of each command of git.
fn verbs(line: &Line) -> impl Iterator<Item = String> {
    let gits = line.commands.iter().filter(|simple| simple.name() == Some("git"));
    gits.map(|git| before_verb(&git.words[1..]).2.first().map(Word::lossy).unwrap_or_default())
}

fn matched(pattern: &str, with_hidden: bool) -> Result<Vec<PathBuf>, String> {
    let sign = |c: char| match c {
        '*' => Bit::Star,
        '?' => Bit::One,
        c => Bit::Char(c),
    };
    let pattern = Word { bits: pattern.chars().map(sign).collect(), ..Word::default() };
    let found = glob::expand(&pattern, with_hidden, MOST_ENTRIES);
    found.ok_or_else(|| "too many files to look for secrets among them".to_owned())
}

fn is_secret_file(path: &Path) -> bool {
    is_secret(&path.to_string_lossy())
}

/// Whether it is a link to a file of secrets.
fn leads_to_secret(path: &Path) -> bool {
    path.is_symlink() && path.canonicalize().is_ok_and(|real| is_secret_file(&real))
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
