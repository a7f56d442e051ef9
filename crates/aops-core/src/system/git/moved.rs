//! Finds files that git itself put into a working tree: they are the same as in commits that existed before.
//!
//! Reads the log of `HEAD`; starts `git` only if `HEAD` moved, a merge stopped halfway or a stash was
//! applied. Invariants: what a command commits is its own, whatever else it does; if git does not answer,
//! nothing counts as brought.

use super::{git, git_folder, git_line};
use crate::system::env::Env;
use crate::system::files;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Verbs in the log of `HEAD` that reuse existing commits. Any other verb makes new ones.
const TAKES: [&str; 7] = ["pull", "checkout", "merge", "rebase", "reset", "cherry-pick", "revert"];
/// At most this many moves of one command are looked at.
const MOST: usize = 200;
/// How many bytes of the log's end are read.
const TAIL: usize = 256 << 10;
/// File times are only as precise as one clock tick.
const TICK_MS: i64 = 20;

/// Verbs that make a commit from the present tree.
const MAKES: [&str; 4] = ["commit", "cherry-pick", "revert", "am"];
/// Steps of a rebase that make another change than the existing one: `rebase (continue): words`. A pick keeps
/// the existing change.
const REMAKES: [&str; 5] = ["continue", "edit", "squash", "fixup", "reword"];

/// A move of `HEAD` from one commit to another.
#[derive(Debug, PartialEq, Eq)]
pub struct Move {
    pub old: String,
    pub new: String,
    takes: bool,
    makes: bool,
    /// The new commit replaces the old one.
    pub amends: bool,
}

impl Move {
    pub fn makes_commit(&self) -> bool {
        self.makes
    }
}

/// What git did in a tree since a certain time.
#[derive(Debug)]
pub struct Moved {
    own: PathBuf,
    since_ms: i64,
    moves: Vec<Move>,
}

impl Moved {
    /// `None` if there is no repository. Starts no process.
    pub fn since(root: &Path, since_ms: i64) -> Option<Self> {
        let own = root.ancestors().find_map(git_folder)?;
        let log = own.join("logs/HEAD");
        let moves = if is_since(&log, since_ms) {
            moves(&files::read(&log).unwrap_or_default(), since_ms)
        } else {
            Vec::new()
        };
        Some(Self { own, since_ms, moves })
    }

    pub fn is_head(&self) -> bool {
        !self.moves.is_empty()
    }

    /// Paths, relative to this root, that are the same as in commits which no command made since then; also
    /// those of a `stash` that was made before this time.
    pub fn brought(&self, env: &Env, root: &Path, stash: Option<(&str, i64)>) -> BTreeSet<String> {
        let mut found = self.of_head(env, root).unwrap_or_default();
        if is_since(&self.own.join("MERGE_HEAD"), self.since_ms) {
            found.extend(as_in(env, root, "HEAD", "MERGE_HEAD").unwrap_or_default());
        }
        let made = |name: &str| {
            git_line(env, root, &["show", "-s", "--format=%ct", name, "--"])?.parse::<i64>().ok()
        };
        let before = |(name, start_ms): &(&str, i64)| made(name).is_some_and(|at| at < start_ms / 1000);
        if let Some((name, _)) = stash.filter(before) {
            found.extend(as_in(env, root, "HEAD", name).unwrap_or_default());
        }
        found
    }

    fn of_head(&self, env: &Env, root: &Path) -> Option<BTreeSet<String>> {
        let first = self.moves.first().filter(|_| self.moves.len() <= MOST)?;
        let mut found = as_in(env, root, &first.old, "HEAD")?;
        for made in self.moves.iter().filter(|one| !one.takes) {
            for path in names(env, root, &[&made.old, &made.new])? {
                found.remove(&path);
            }
        }
        Some(found)
    }
}

/// The paths that differ between two commits and are in the tree as in the second one.
fn as_in(env: &Env, root: &Path, old: &str, new: &str) -> Option<BTreeSet<String>> {
    let moved = names(env, root, &[old, new])?;
    let differ = names(env, root, &[new])?;
    Some(moved.difference(&differ).cloned().collect())
}

fn names(env: &Env, root: &Path, between: &[&str]) -> Option<BTreeSet<String>> {
    let quiet = ["diff", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "--relative", "-z"];
    let said = git(env, root, &[&quiet, between, &["--"]].concat())?;
    let names = said.split(|b| *b == 0).filter(|name| !name.is_empty());
    Some(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

fn is_since(path: &Path, since_ms: i64) -> bool {
    fs::metadata(path)
        .is_ok_and(|about| about.ctime() * 1000 + about.ctime_nsec() / 1_000_000 + TICK_MS >= since_ms)
}

/// All moves in a part of the log.
pub(super) fn moves_in(log: &[u8]) -> Vec<Move> {
    let tail = String::from_utf8_lossy(&log[log.len().saturating_sub(TAIL)..]);
    tail.lines().filter_map(read).map(|(_, one)| one).collect()
}

/// The moves from the first one on that is recent enough.
fn moves(log: &[u8], since_ms: i64) -> Vec<Move> {
    let tail = String::from_utf8_lossy(&log[log.len().saturating_sub(TAIL)..]);
    let read = tail.lines().filter_map(read);
    read.skip_while(|(at, _)| *at < (since_ms - TICK_MS) / 1000).map(|(_, one)| one).collect()
}

/// `OLD NEW NAME <ADDRESS> SECONDS ZONE<tab>checkout: moving from a to b`, with its time.
fn read(line: &str) -> Option<(i64, Move)> {
    let (head, words) = line.split_once('\t').unwrap_or((line, ""));
    let mut commits = head.split(' ');
    let old = commits.next()?;
    let new = commits.next()?;
    let at = head.rsplit(' ').nth(1)?.parse().ok()?;
    let is_commit = |name: &str| name.len() >= 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let verb = words.split([' ', ':']).next().unwrap_or_default();
    let takes = TAKES.contains(&verb);
    let makes = MAKES.contains(&verb) || remakes(verb, words);
    let amends = words.starts_with("commit (amend)");
    let made = || Move { old: old.to_owned(), new: new.to_owned(), takes, makes, amends };
    (is_commit(old) && is_commit(new)).then(|| (at, made()))
}

/// `rebase (continue): words`, `pull --rebase (squash): words`.
fn remakes(verb: &str, words: &str) -> bool {
    let action = || words.split(':').next()?.split_once('(')?.1.strip_suffix(')');
    matches!(verb, "rebase" | "pull") && action().is_some_and(|action| REMAKES.contains(&action))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rebase_makes_what_it_does_not_pick() {
        let makes = |words: &str| {
            let line = format!("{} {} A B <a@b> 100 +0100\t{words}\n", "a".repeat(40), "b".repeat(40));
            moves(line.as_bytes(), 100_000)[0].makes
        };
        let made = ["continue", "edit", "squash", "fixup", "reword"];
        assert!(made.iter().all(|action| makes(&format!("rebase ({action}): a (b): c"))));
        assert!(makes("rebase -i (continue): x") && makes("pull --rebase origin main (continue): x"));
        let taken =
            ["rebase (start): checkout x", "rebase (pick): (continue): x", "rebase (finish): returning to x"];
        assert!(!taken.iter().any(|words| makes(words)) && !makes("merge x (continue): y"));
    }

    #[test]
    fn the_log_of_head_is_read_from_a_moment_on() {
        let a = "a".repeat(40);
        let b = "b".repeat(40);
        let line = |at: u64, words: &str| format!("{a} {b} A B <a@b> {at} +0100\t{words}\n");
        let takes = |words: &str| moves(line(100, words).as_bytes(), 100_000)[0].takes;
        for words in
            ["pull: Fast-forward", "pull --rebase (start): checkout x", "checkout: moving from a to b"]
        {
            assert!(takes(words), "{words}");
        }
        for words in ["commit: pull", "commit (amend): x", "commit (initial): x", "am: x", "", "pulled: x"] {
            assert!(!takes(words), "{words}");
        }
        let log = [line(90, "commit: x"), line(100, "merge b: x"), line(95, "commit: y"), "torn".to_owned()]
            .concat();
        let found = moves(log.as_bytes(), 99_500);
        assert_eq!(
            found.iter().map(|one| one.takes).collect::<Vec<_>>(),
            [true, false],
            "one with a false date too"
        );
        assert!(moves(log.as_bytes(), 101_100).is_empty());
    }
}
