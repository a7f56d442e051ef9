//! Reads and changes repositories for an undo: refs, stashes, settings, the index, files of a commit.
//!
//! Starts `git`. Invariant: every change can be repeated, and skips what is already done.

use super::form::KeptRepository;
use super::plan::RefMove;
use crate::checkpoint::tree::name;
use crate::model::error::Failure;
use crate::system::env::Env;
use crate::system::files::{self, Scratch};
use crate::system::git::acting::Place;
use crate::system::process::variable;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The null ID, with which git expresses that a ref must not exist, or does not exist.
fn or_zeros(id: &str, length: usize) -> String {
    if id.is_empty() { "0".repeat(length) } else { id.to_owned() }
}

pub fn path_of(text: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    PathBuf::from(OsString::from_vec(name::bytes(text).into_owned()))
}

fn lines(said: &[u8]) -> impl Iterator<Item = String> {
    said.split(|b| *b == 0).filter(|part| !part.is_empty()).map(|part| name::text(part).into_owned())
}

/// `branch.NAME.remote`: a name may contain dots, the last word does not.
pub fn is_of_branch(key: &str, branch: &str) -> bool {
    let rest = key.strip_prefix("branch.").and_then(|rest| rest.strip_prefix(branch)?.strip_prefix('.'));
    rest.is_some_and(|last| !last.contains('.'))
}

/// Which files of the working tree git tracks, and which of them differ from the index. Relative to the root.
#[derive(Debug, Default)]
pub struct Clean {
    tracked: BTreeSet<String>,
    changed: BTreeSet<String>,
    /// Files marked "intent to add": a checkout leaves them empty.
    meant: BTreeSet<String>,
}

impl Clean {
    pub fn is_clean(&self, path: &str, is_empty: bool) -> bool {
        self.tracked.contains(path)
            && !self.changed.contains(path)
            && (is_empty || !self.meant.contains(path))
    }
}

#[derive(Debug)]
pub struct Repository<'a>(Place<'a>);

impl<'a> Repository<'a> {
    /// `None` if the repository is gone. A working tree that was removed is reached through its common git
    /// folder.
    pub fn of(env: &'a Env, kept: &KeptRepository) -> Option<Self> {
        let git = path_of(&kept.git);
        let common = || {
            let folder = kept.worktree.as_ref().and_then(|_| git.parent()?.parent());
            folder.map(Path::to_owned).filter(|folder| folder.join("HEAD").exists())
        };
        let git = if git.join("HEAD").exists() { Some(git.clone()) } else { common() };
        Some(Self(Place { env, git: git?, root: path_of(&kept.root) }))
    }

    pub fn at(env: &'a Env, git: &str, root: &str) -> Self {
        Self(Place { env, git: path_of(git), root: path_of(root) })
    }

    /// Its working tree has its own git folder now.
    pub fn is_whole(&self, kept: &KeptRepository) -> bool {
        self.0.git == path_of(&kept.git) && self.0.root.is_dir()
    }

    /// The commit of `HEAD`, and its branch.
    pub fn head(&self) -> (Option<String>, Option<String>) {
        let commit = self.0.line(&["rev-parse", "--quiet", "--verify", "HEAD^{commit}"]);
        (commit, self.0.line(&["symbolic-ref", "--quiet", "HEAD"]))
    }

    /// The object that this name refers to; empty if there is no such ref.
    pub fn value(&self, name: &str) -> String {
        self.0.line(&["rev-parse", "--quiet", "--verify", name]).unwrap_or_default()
    }

    pub fn has_commit(&self, id: &str) -> bool {
        self.0.ask(&["cat-file", "-e", &format!("{id}^{{commit}}")]).is_ok()
    }

    pub fn has_object(&self, id: &str) -> bool {
        self.0.ask(&["cat-file", "-e", id]).is_ok()
    }

    /// Branches that are checked out in a working tree of this repository.
    pub fn checked_out(&self) -> Result<BTreeSet<String>, Failure> {
        let said = self.0.ask(&["worktree", "list", "--porcelain"])?;
        let said = String::from_utf8_lossy(&said);
        Ok(said.lines().filter_map(|line| line.strip_prefix("branch ").map(str::to_owned)).collect())
    }

    /// Whether moving from `tip` to `goal` loses commits: those of `tip` are reachable neither from `goal`
    /// nor from another ref.
    pub fn loses(&self, own: &str, tip: &str, goal: &str) -> bool {
        if tip.is_empty() || !self.has_commit(tip) {
            return false;
        }
        if self.is_below(tip, goal) {
            return false;
        }
        let others =
            self.0.line(&["for-each-ref", "--contains", tip, "--format=%(refname)"]).unwrap_or_default();
        !others.lines().any(|other| other != own && !other.starts_with("refs/aops/"))
    }

    /// The first commit is the second one or one of its ancestors.
    pub fn is_below(&self, first: &str, second: &str) -> bool {
        !second.is_empty() && self.0.ask(&["merge-base", "--is-ancestor", first, second]).is_ok()
    }

    /// All stashes, newest first: ID and message.
    pub fn stashes(&self) -> Result<Vec<(String, String)>, Failure> {
        if self.value("refs/stash").is_empty() {
            return Ok(Vec::new());
        }
        let format = "--format=%H %gs";
        let said = self.0.ask(&["log", "-g", "-z", "--no-show-signature", format, "refs/stash", "--"])?;
        let split = |line: String| line.split_once(' ').map(|(id, words)| (id.to_owned(), words.to_owned()));
        Ok(lines(&said).filter_map(split).collect())
    }

    /// The settings of this branch in the repository's own configuration file.
    pub fn settings(&self, branch: &str) -> Vec<(String, String)> {
        let said = self.0.ask(&["config", "--local", "-z", "--list"]).unwrap_or_default();
        let split =
            |line: String| line.split_once('\n').map(|(key, value)| (key.to_owned(), value.to_owned()));
        lines(&said).filter_map(split).filter(|(key, _)| is_of_branch(key, branch)).collect()
    }

    pub fn clean(&self) -> Result<Clean, Failure> {
        let tracked = lines(&self.0.ask(&["ls-files", "-z"])?).collect();
        let args = [
            "status",
            "--porcelain=v2",
            "-z",
            "--untracked-files=no",
            "--ignore-submodules=all",
            "--no-renames",
        ];
        let said = self.0.ask(&args)?;
        let mut clean = Clean { tracked, ..Clean::default() };
        for line in lines(&said) {
            let state = line.get(..4).unwrap_or_default();
            let path = |n: usize| line.splitn(n, ' ').nth(n - 1);
            match state {
                "1 .A" => clean.meant.extend(path(9).map(str::to_owned)),
                _ if state.starts_with("u ") => clean.changed.extend(path(11).map(str::to_owned)),
                _ if state.starts_with("1 ") && !state.ends_with('.') => {
                    clean.changed.extend(path(9).map(str::to_owned));
                }
                _ => {}
            }
        }
        Ok(clean)
    }

    pub fn files(&self, commit: &str) -> Result<BTreeSet<String>, Failure> {
        let said = self.0.ask(&["ls-tree", "-r", "-z", "--full-tree", commit])?;
        let file = |line: String| {
            let (about, path) = line.split_once('\t')?;
            (!about.starts_with("160000")).then(|| path.to_owned())
        };
        Ok(lines(&said).filter_map(file).collect())
    }

    /// The files in which two commits differ.
    pub fn between(&self, old: &str, new: &str) -> Result<Vec<String>, Failure> {
        let said = self.0.ask(&["diff-tree", "-r", "-z", "--no-renames", "--name-only", old, new])?;
        Ok(lines(&said).collect())
    }

    /// Files that this index excludes from the working tree.
    pub fn sparse(&self, index: &Path) -> Result<BTreeSet<String>, Failure> {
        let said = self.0.run(&["ls-files", "-t", "-z"], &[variable("GIT_INDEX_FILE", index)], b"")?;
        Ok(lines(&said).filter_map(|line| line.strip_prefix("S ").map(str::to_owned)).collect())
    }

    /// Writes these files of a commit below a folder, with the filters and line ends of a checkout.
    pub fn write_out(&self, commit: &str, paths: &[&str], into: &Path) -> Result<(), Failure> {
        let scratch = Scratch::new("index").map_err(|e| Failure::storage("a temporary folder", e))?;
        let index = [variable("GIT_INDEX_FILE", scratch.0.join("index"))];
        self.0.run_in(into, &["read-tree", commit], &index, b"")?;
        let mut wanted = Vec::new();
        for path in paths {
            wanted.extend_from_slice(&name::bytes(path));
            wanted.push(0);
        }
        let args = ["checkout-index", "--quiet", "--force", "-z", "--stdin"];
        self.0.run_in(into, &args, &index, &wanted).map(drop)
    }

    pub fn git_folder(&self) -> String {
        use std::os::unix::ffi::OsStrExt;
        name::text(self.0.git.as_os_str().as_bytes()).into_owned()
    }

    pub fn index_file(&self) -> PathBuf {
        self.0.git.join("index")
    }

    /// Contents that are in the index but not in `HEAD`'s commit: the object's ID, and its bytes.
    pub fn only_in_index(&self) -> Result<Vec<(String, Vec<u8>)>, Failure> {
        let of_line = |line: &String| line.split_once('\t').map(|(about, _)| about.to_owned());
        let said = self.0.ask(&["ls-files", "-s", "-z"])?;
        let staged =
            lines(&said).filter_map(|line| of_line(&line)).filter(|about| !about.starts_with("160000"));
        let mut ids: BTreeSet<String> =
            staged.filter_map(|about| about.split(' ').nth(1).map(str::to_owned)).collect();
        if self.head().0.is_some() {
            let said = self.0.ask(&["ls-tree", "-r", "-z", "--full-tree", "HEAD"])?;
            for about in lines(&said).filter_map(|line| of_line(&line)) {
                about.split(' ').nth(2).map(|id| ids.remove(id));
            }
        }
        let wanted: String = ids.iter().flat_map(|id| [id, "\n"]).collect();
        Ok(read_batch(&self.0.run(&["cat-file", "--batch"], &[], wanted.as_bytes())?))
    }
}

/// Parses the output of `cat-file --batch`: ID and bytes of each existing object.
fn read_batch(mut said: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    while let Some(end) = said.iter().position(|b| *b == b'\n') {
        let head = String::from_utf8_lossy(&said[..end]).into_owned();
        said = &said[end + 1..];
        let mut words = head.split(' ');
        let (Some(id), Some(_), Some(size)) = (words.next(), words.next(), words.next()) else { continue };
        let size = size.parse::<usize>().unwrap_or(0).min(said.len());
        all.push((id.to_owned(), said[..size].to_vec()));
        said = said.get(size + 1..).unwrap_or_default();
    }
    all
}

/// Functions that change the repository.
impl Repository<'_> {
    /// Moves a ref, if it still has the value it had when this was decided.
    pub fn move_ref(&self, one: &RefMove, note: &str) -> Result<(), Failure> {
        if self.value(&one.name) == one.new {
            return Ok(());
        }
        let long = one.new.len().max(one.old.len()).max(40);
        let wanted =
            format!("update {} {} {}\n", one.name, or_zeros(&one.new, long), or_zeros(&one.old, long));
        self.0.run(&["update-ref", "-m", note, "--stdin"], &[], wanted.as_bytes()).map(drop)
    }

    /// Sets refs, whatever their present values.
    pub fn pin(&self, pins: &[(String, String)]) -> Result<(), Failure> {
        let wanted: String = pins.iter().flat_map(|(name, id)| ["update ", name, " ", id, "\n"]).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        self.0.run(&["update-ref", "--stdin"], &[], wanted.as_bytes()).map(drop)
    }

    /// Removes all refs below this name.
    pub fn unpin(&self, below: &str) -> Result<(), Failure> {
        let said = self.0.ask(&["for-each-ref", "--format=delete %(refname)", below])?;
        if said.is_empty() {
            return Ok(());
        }
        self.0.run(&["update-ref", "--stdin"], &[], &said).map(drop)
    }

    pub fn switch_to(&self, branch: &str, note: &str) -> Result<(), Failure> {
        self.0.ask(&["symbolic-ref", "-m", note, "HEAD", branch]).map(drop)
    }

    pub fn set_settings(&self, branch: &str, wanted: &[(String, String)]) -> Result<(), Failure> {
        let now = self.settings(branch);
        if now == wanted {
            return Ok(());
        }
        if !now.is_empty() {
            self.0.ask(&["config", "--local", "--remove-section", &format!("branch.{branch}")])?;
        }
        wanted
            .iter()
            .try_for_each(|(key, value)| self.0.ask(&["config", "--local", "--add", key, value]).map(drop))
    }

    /// Restores this list of stashes. Stashes that are neither in it nor in the list before are newer, and
    /// stay on top.
    pub fn set_stashes(
        &self,
        wanted: &[(String, String)],
        before: &[(String, String)],
    ) -> Result<(), Failure> {
        let now = self.stashes()?;
        let is_newer = |id: &str| !wanted.iter().chain(before).any(|(known, _)| known == id);
        let newer = now.iter().filter(|(id, _)| is_newer(id)).cloned();
        let all: Vec<(String, String)> = newer.chain(wanted.iter().cloned()).collect();
        if now == all {
            return Ok(());
        }
        self.0.ask(&["stash", "clear"])?;
        all.iter()
            .rev()
            .try_for_each(|(id, words)| self.0.ask(&["stash", "store", "-m", words, id]).map(drop))
    }

    pub fn write_object(&self, bytes: &[u8]) -> Result<(), Failure> {
        self.0.run(&["hash-object", "-w", "--stdin", "--no-filters"], &[], bytes).map(drop)
    }

    /// Replaces the index while holding git's own lock. If a lock file contains exactly these bytes, we left
    /// it behind when we were killed.
    pub fn set_index(&self, bytes: &[u8]) -> Result<(), Failure> {
        let [index, lock, spare] = ["index", "index.lock", "aops-index"].map(|name| self.0.git.join(name));
        let failed = |e: &dyn std::fmt::Display| Failure::storage(lock.display(), e);
        if files::read(&index).is_ok_and(|now| now == bytes) {
            return Ok(());
        }
        if !files::read(&lock).is_ok_and(|left| left == bytes) {
            let _ = fs::remove_file(&spare);
            let mut file = files::open_itself(&spare, fs::OpenOptions::new().write(true).create_new(true))
                .map_err(|e| failed(&e))?;
            file.write_all(bytes).and_then(|()| file.sync_data()).map_err(|e| failed(&e))?;
            // Unlike a rename, creating a link fails if another git holds the lock.
            let locked = fs::hard_link(&spare, &lock);
            let _ = fs::remove_file(&spare);
            locked.map_err(|_| {
                failed(&"is held by another git\nhint: end it, or remove that file if none runs")
            })?;
        }
        fs::rename(&lock, &index).map_err(|e| failed(&e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_read_whole() {
        let said = b"aa blob 3\na\nb\nbb missing\ncc blob 0\n\n";
        let all = read_batch(said);
        assert_eq!(all, [("aa".to_owned(), b"a\nb".to_vec()), ("cc".to_owned(), Vec::new())]);
    }
}
