//! The state of a run at its own remote: the working tree and the run's record, in `refs/aops/runs/{run}`.
//! Not in `refs/aops/{run}`: in a folder of all refs, git would take that for the branch `aops/{run}`.
//!
//! Starts `git`. Invariants: settings of the repository, which a step may have changed, are never in force
//! when the remote is reached with the user's credentials; ignored files are not sent; branches of people are
//! never touched.

use super::copy::{
    always_the_same, check_out, clone_beside, git, git_with, index, line, put, reach, reach_with,
    restore_commit, text, write_tree,
};
use aops_core::system::env::Env;
use aops_core::system::files::{self, Scratch};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The file in the commit.
const RECORD: &str = "record.json";
/// The maximum size of a record.
const LARGEST: usize = 64 << 20;
/// The ref in the clone for what was fetched.
const FETCHED: &str = "refs/aops/fetched";

/// The record of a run, with everything another machine needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The attempt ledger.
    pub lines: Vec<String>,
    /// Packets and summaries, each with its path.
    pub files: Vec<(String, String)>,
}

/// What was found at the remote.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    record: Record,
    /// The commit that was checked out; `tree` is the commit with the whole tree.
    head: String,
    tree: String,
}

/// The refs that may hold it: a forge may refuse the first one.
fn names(run: &str) -> [String; 2] {
    [format!("refs/aops/runs/{run}"), format!("refs/heads/aops-state/{run}")]
}

/// Pushes the tree and the record to the remote.
pub fn push(env: &Env, root: &Path, repository: &str, run: &str, record: &Record) -> Result<(), String> {
    let scratch = Scratch::new("carried").map_err(|error| error.to_string())?;
    let commit = make_commit(env, root, &scratch.0, record)?;
    let mut why = String::new();
    for name in names(run) {
        let refspec = format!("+{commit}:{name}");
        let pushed = if Path::new(repository).is_absolute() {
            git(env, root, &["push", "--quiet", "--", repository, &refspec])
        } else {
            lone_repository(env, root, &scratch.0.join("lone"))
                .and_then(|lone| reach(env, &lone, &["push", "--quiet", "--", repository, &refspec]))
        };
        match pushed {
            Ok(()) => return Ok(()),
            Err(words) => why = words,
        }
    }
    Err(why)
}

/// A commit with the record, on top of one with the whole tree, on top of the one that is checked out.
fn make_commit(env: &Env, root: &Path, scratch: &Path, record: &Record) -> Result<String, String> {
    let head = line(env, root, &["rev-parse", "HEAD"])?;
    let tree = write_tree(env, root, &scratch.join("index"))?;
    let tree = commit_tree(env, root, &tree, &head)?;
    let file = scratch.join(RECORD);
    let record = serde_json::to_vec(record).map_err(|error| error.to_string())?;
    files::replace_private(&file, &record).map_err(|error| error.to_string())?;
    let blob = line(env, root, &["hash-object", "-w", "--no-filters", "--", &file.to_string_lossy()])?;
    let own_index = [index(&scratch.join("record"))];
    let entry = format!("100644,{blob},{RECORD}");
    git_with(env, root, &["update-index", "--add", "--cacheinfo", &entry], &own_index, 0)?;
    let listed = text(&git_with(env, root, &["write-tree"], &own_index, 4096)?.0);
    commit_tree(env, root, &listed, &tree)
}

fn commit_tree(env: &Env, root: &Path, tree: &str, parent: &str) -> Result<String, String> {
    let names = always_the_same();
    let words = ["commit-tree", tree, "-p", parent, "-m", "aops-hook: the state of a run"];
    Ok(text(&git_with(env, root, &words, &names, 4096)?.0))
}

/// A repository that shares the other's objects, without its settings, hooks or files.
fn lone_repository(env: &Env, root: &Path, lone: &Path) -> Result<PathBuf, String> {
    let objects = line(env, root, &["rev-parse", "--path-format=absolute", "--git-path", "objects"])?;
    let lone = bare(env, lone)?;
    let alternates = lone.join("objects/info/alternates");
    files::replace_private(&alternates, (objects + "\n").as_bytes()).map_err(|error| error.to_string())?;
    Ok(lone)
}

/// A branch with a result, at a remote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    pub commit: String,
    pub name: String,
}

/// The names of those branches that are gone from the remote, or whose commits are in what it has checked
/// out.
pub fn merged(env: &Env, repository: &str, branches: &[&Branch]) -> Result<BTreeSet<String>, String> {
    if branches.is_empty() {
        return Ok(BTreeSet::new());
    }
    let scratch = Scratch::new("merged").map_err(|error| error.to_string())?;
    let bare = bare(env, &scratch.0)?;
    let reach = if Path::new(repository).is_absolute() { git_with } else { reach_with };
    let listed = text(&reach(env, &bare, &["ls-remote", "--heads", "--", repository], &[], LARGEST)?.0);
    // Without the files, where the remote can leave them out.
    let head = format!("+HEAD:{FETCHED}");
    let fetch = ["fetch", "--quiet", "--no-tags", "--filter=tree:0", "--", repository, &head];
    reach(env, &bare, &fetch, &[], 4096)?;
    let is_there = |branch: &Branch| {
        let name = format!("refs/heads/{}", branch.name);
        listed.lines().any(|line| line.split_whitespace().nth(1) == Some(name.as_str()))
    };
    let is_in =
        |branch: &Branch| git(env, &bare, &["merge-base", "--is-ancestor", &branch.commit, FETCHED]).is_ok();
    let done = branches.iter().filter(|branch| !is_there(branch) || is_in(branch));
    Ok(done.map(|branch| branch.name.clone()).collect())
}

/// Removes the state of a run from the remote.
pub fn remove(env: &Env, repository: &str, run: &str) -> Result<(), String> {
    let scratch = Scratch::new("remove").map_err(|error| error.to_string())?;
    let bare = bare(env, &scratch.0)?;
    let reach = if Path::new(repository).is_absolute() { git_with } else { reach_with };
    let wanted = names(run);
    let listed =
        text(&reach(env, &bare, &["ls-remote", "--", repository, &wanted[0], &wanted[1]], &[], 1 << 16)?.0);
    let there = listed.lines().filter_map(|line| line.split_whitespace().nth(1));
    for name in there.filter(|name| wanted.iter().any(|wanted| wanted == name)) {
        reach(env, &bare, &["push", "--quiet", "--", repository, &format!(":{name}")], &[], 4096)?;
    }
    Ok(())
}

/// An empty repository, without anybody's settings.
fn bare(env: &Env, folder: &Path) -> Result<PathBuf, String> {
    let bare = folder.join("bare");
    files::make_folders(&bare, 0o700).map_err(|error| error.to_string())?;
    git(env, &bare, &["init", "--quiet", "--bare", "."])?;
    Ok(bare)
}

/// Fetches the state at the remote into a new clone; `None` if there is none.
fn fetch(env: &Env, clone: &Path, repository: &str, run: &str) -> Result<Option<Found>, String> {
    let reach = if Path::new(repository).is_absolute() { git_with } else { reach_with };
    let wanted = names(run);
    let words = ["ls-remote", "--", "origin", &wanted[0], &wanted[1]];
    let listed = text(&reach(env, clone, &words, &[], 1 << 16)?.0);
    let is_there =
        |name: &&String| listed.lines().any(|line| line.split_whitespace().nth(1) == Some(name.as_str()));
    let Some(name) = wanted.iter().find(is_there) else { return Ok(None) };
    reach(env, clone, &["fetch", "--quiet", "--", "origin", &format!("+{name}:{FETCHED}")], &[], 4096)?;
    let record = git_with(env, clone, &["cat-file", "blob", &format!("{FETCHED}:{RECORD}")], &[], LARGEST)?;
    let record =
        serde_json::from_slice(&record.0).map_err(|error| format!("the record in `{name}`: {error}"))?;
    let tree = line(env, clone, &["rev-parse", &format!("{FETCHED}^")])?;
    let head = line(env, clone, &["rev-parse", &format!("{FETCHED}^^")])?;
    Ok(Some(Found { record, head, tree }))
}

/// Clones a repository with the state of a run from its remote, on a branch of its own. Returns the run's
/// record. `None`: the remote has none, and the commit is checked out.
pub fn clone(
    env: &Env,
    repository: &str,
    commit: &str,
    (branch, run): (&str, &str),
    to: &Path,
) -> Result<Option<Record>, String> {
    let beside = clone_beside(env, repository, commit, to)?;
    let found = fetch(env, &beside, repository, run)?;
    match &found {
        Some(found) => restore_commit(env, &beside, (branch, &found.head), &found.tree)?,
        None => check_out(env, &beside, branch, commit)?,
    }
    put(&beside, to)?;
    Ok(found.map(|found| found.record))
}
