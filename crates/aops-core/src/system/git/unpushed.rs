//! The commits that a push would send: which of them are the session's own.
//!
//! Starts `git log` at the end of a turn that would otherwise owe a push. Invariant: what git does not answer
//! makes nobody's commit foreign.

use super::baseline::HEAD;
use super::{Status, ask};
use crate::system::env::Env;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What a session did to its working tree, as its ledger tells.
pub struct Deeds<'a> {
    /// It may have written this file.
    pub wrote: &'a dyn Fn(&Path) -> bool,
    /// One of its calls ran in this second since 1970.
    pub ran_at: &'a dyn Fn(i64) -> bool,
}

impl Deeds<'_> {
    /// Everything is the session's own.
    pub const ALL: Deeds<'static> = Deeds { wrote: &|_| true, ran_at: &|_| true };
}

/// When a commit was made, and when its content was: a rebase changes only the first.
struct Commit {
    made: i64,
    authored: i64,
}

/// How many of the commits that a push would send were not made by the session: made between its calls, or
/// there before it began, also if it rebased them since.
pub(super) fn count_foreign(
    env: &Env,
    cwd: &Path,
    status: &Status,
    baseline: &BTreeMap<String, String>,
    deeds: &Deeds,
) -> u64 {
    let list = |tip: &str| unpushed(env, cwd, status, tip).unwrap_or_default();
    let is_own = |commit: &Commit| (deeds.ran_at)(commit.made);
    let now = list("HEAD");
    if now.is_empty() {
        return 0;
    }
    let before: Vec<Commit> = baseline.get(HEAD).map(|head| list(head)).unwrap_or_default();
    let before: BTreeSet<i64> =
        before.iter().filter(|commit| !is_own(commit)).map(|commit| commit.authored).collect();
    now.iter().filter(|commit| !is_own(commit) || before.contains(&commit.authored)).count() as u64
}

/// The commits up to this one that the upstream, or without one any remote, does not have.
fn unpushed(env: &Env, cwd: &Path, status: &Status, tip: &str) -> Option<Vec<Commit>> {
    let without: &[&str] = if status.upstream { &["^@{upstream}"] } else { &["--not", "--remotes"] };
    let words = [&["log", "--format=%ct %at", tip], without].concat();
    let said = ask(env, cwd, &words).ok()?;
    let commit = |line: &str| {
        let (made, authored) = line.split_once(' ')?;
        Some(Commit { made: made.parse().ok()?, authored: authored.parse().ok()? })
    };
    String::from_utf8_lossy(&said).lines().map(commit).collect()
}
