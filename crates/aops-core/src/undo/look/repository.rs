//! What git knows about a repository that a line is about to change.

use super::disk::{names, placed, root_above, stat};
use super::{CONTAINED, Look, PATIENT, Unkept};
use crate::system::git::{self, HeadFiles, git_common_folder, git_folder, plain_paths};
use aops_shell::loss::{GitLoss, Target};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Maximum number of paths in one question to git; for more, it is asked about everything.
const MOST_PATHS: usize = 200;

/// Signs of a path that git reads as a pattern.
const PATTERN: [char; 5] = ['*', '?', '[', ':', '\\'];

/// A repository whose state must be kept.
#[derive(Debug, Default)]
pub struct RepositoryWant {
    pub root: PathBuf,
    pub git: PathBuf,
    pub head: Option<String>,
    pub head_ref: Option<String>,
    /// Also keep the index file.
    pub index: bool,
    /// Objects that only the index has.
    pub indexed: Vec<String>,
    /// Tracked files that equal `HEAD` and are removed.
    pub committed: Vec<PathBuf>,
    pub refs: Vec<(String, String)>,
    pub config: Vec<(String, String)>,
    pub stashes: Option<Vec<(String, String)>>,
    pub worktree: Option<String>,
    /// Among the paths that were asked about.
    pub(super) tracked: BTreeSet<OsString>,
    pub(super) changed: BTreeSet<OsString>,
}

impl RepositoryWant {
    pub fn is_empty(&self) -> bool {
        let stashes = self.stashes.as_ref().is_none_or(Vec::is_empty);
        !self.index && self.committed.is_empty() && self.refs.is_empty() && stashes && self.worktree.is_none()
    }

    /// All its commits and tags, each once.
    pub fn pins(&self) -> Vec<String> {
        let stashes = self.stashes.iter().flatten().map(|(id, _)| id);
        let mut pins: Vec<String> = Vec::new();
        for id in self.head.iter().chain(self.refs.iter().map(|(_, id)| id)).chain(stashes) {
            if !pins.contains(id) {
                pins.push(id.clone());
            }
        }
        pins
    }

    pub(super) fn is_clean(&self, path: &Path) -> bool {
        self.head.is_some() && !self.changed.contains(path.as_os_str())
    }

    pub(super) fn is_tracked(&self, path: &Path) -> bool {
        self.tracked.contains(path.as_os_str())
    }

    fn of(root: &Path) -> Result<Self, Unkept> {
        let git = git_folder(root).ok_or_else(|| Unkept::Git("its folder is not found".to_owned()))?;
        Ok(Self { root: root.to_owned(), git, ..Self::default() })
    }

    /// The tracked files among these paths and below, and those that differ from `HEAD` or index.
    pub(super) fn of_paths(look: &Look, root: &Path, paths: &[PathBuf]) -> Result<Self, Unkept> {
        if look.place.quick
            && paths.is_empty()
            && let Some(state) = Self::by_times(look, root)
        {
            return Ok(state);
        }
        let mut state = Self::of(root)?;
        let texts: Option<Vec<&str>> =
            paths.iter().map(|path| path.to_str().filter(|text| !text.is_empty())).collect();
        let named = texts.filter(|texts| texts.len() <= MOST_PATHS).unwrap_or_default();
        let ask =
            |words: &[&str]| look.ask(root, &[&["--literal-pathspecs"], words, &["--"], &named].concat());
        for entry in ask(&["ls-files", "-z", "-v"])?.split(|byte| *byte == 0).filter(|entry| entry.len() > 2)
        {
            let path = OsStr::from_bytes(&entry[2..]).to_owned();
            // A small letter or an `S` means that git was told not to look at the file, so it may differ. A
            // file that a sparse checkout excludes does not exist, and should not.
            let is_left_out = || entry[0].eq_ignore_ascii_case(&b'S') && stat(&root.join(&path)).is_none();
            if entry[0] != b'H' && !is_left_out() {
                state.changed.insert(path.clone());
            }
            state.tracked.insert(path);
        }
        state.read_status(&ask(&["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=no"])?)?;
        Ok(state)
    }

    /// The same of the whole tree, without the contents that only the index has. Git reads no file for it.
    /// `None`: it has to, or there is something unusual.
    fn by_times(look: &Look, root: &Path) -> Option<Self> {
        let mut state = Self::of(root).ok()?;
        let tracked = plain_paths(&state.git.join("index"))?;
        let head = HeadFiles { git: state.git.clone(), root: root.to_owned() }.look(look.place.env);
        (state.head, state.head_ref) = (Some(head.commit?), head.branch);
        let said = look.ask(root, &["diff-index", "-z", "--no-renames", "HEAD", "--"]).ok()?;
        let mut fields = said.split(|byte| *byte == 0).filter(|field| !field.is_empty());
        while let (Some(modes), Some(path)) = (fields.next(), fields.next()) {
            // A submodule, which git must look into.
            if !modes.starts_with(b":") || modes.get(1..14)?.windows(6).any(|mode| mode == b"160000") {
                return None;
            }
            state.changed.insert(OsStr::from_bytes(path).to_owned());
        }
        state.tracked = tracked.into_iter().map(OsString::from_vec).collect();
        Some(state)
    }

    /// Parses the output of `git status --porcelain=v2 --branch -z`.
    fn read_status(&mut self, said: &[u8]) -> Result<(), Unkept> {
        let mut fields = said.split(|byte| *byte == 0);
        while let Some(field) = fields.next() {
            let parts = |n: usize| field.splitn(n + 1, |byte| *byte == b' ').collect::<Vec<_>>();
            let text = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
            let (skip, ids): (usize, &[usize]) = match field.first() {
                Some(b'1') => (8, &[7]),
                Some(b'2') => (9, &[7]),
                Some(b'u') => (10, &[7, 8, 9]),
                Some(b'#') => {
                    self.read_header(&text(field));
                    continue;
                }
                _ => continue,
            };
            let parts = parts(skip);
            let (Some(path), Some(state)) = (parts.get(skip), parts.get(1)) else { continue };
            if parts[2].first() == Some(&b'S') {
                return Err(Unkept::Git("a submodule differs".to_owned()));
            }
            self.changed.insert(OsStr::from_bytes(path).to_owned());
            if field[0] == b'2' {
                self.changed.extend(fields.next().map(|from| OsStr::from_bytes(from).to_owned()));
            }
            let staged = state.first() != Some(&b'.') || field[0] == b'u';
            let known = ids.iter().filter_map(|at| parts.get(*at)).map(|id| text(id));
            self.indexed.extend(known.filter(|id| staged && id.bytes().any(|byte| byte != b'0')));
        }
        Ok(())
    }

    fn read_header(&mut self, line: &str) {
        if let Some(id) = line.strip_prefix("# branch.oid ").filter(|id| *id != "(initial)") {
            self.head = Some(id.to_owned());
        } else if let Some(name) = line.strip_prefix("# branch.head ").filter(|name| *name != "(detached)") {
            self.head_ref = Some(format!("refs/heads/{name}"));
        }
    }
}

/// Files in a git folder that describe an operation in progress.
const STATES: &[&str] = &[
    "AUTO_MERGE", "BISECT_LOG", "CHERRY_PICK_HEAD", "MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "MERGE_RR",
    "REBASE_HEAD", "REVERT_HEAD", "SQUASH_MSG",
];
const STATE_FOLDERS: &[&str] = &["rebase-apply", "rebase-merge", "sequencer"];

impl Look<'_> {
    fn ask(&self, folder: &Path, words: &[&str]) -> Result<Vec<u8>, Unkept> {
        let left = self.until.saturating_duration_since(Instant::now());
        git::run(self.place.env, folder, words, b"", left.max(self.bounds.look * PATIENT))
            .map_err(Unkept::Git)
    }

    fn lines(&self, folder: &Path, words: &[&str]) -> Result<Vec<String>, Unkept> {
        let said = self.ask(folder, words)?;
        let lines = said.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        Ok(lines.map(|line| String::from_utf8_lossy(line).into_owned()).collect())
    }

    /// What this folder's repository loses.
    pub(super) fn git(&mut self, folder: &Path, loss: &GitLoss) -> Result<(), Unkept> {
        let given = folder;
        let Some(folder) = placed(folder).filter(|folder| folder.is_dir()) else { return Ok(()) };
        let Some(root) = root_above(&folder) else {
            // Without a repository a git command does nothing; any other command may lose anything.
            let is_all = self.is_ruled(CONTAINED) && matches!(loss, GitLoss::Untracked { .. });
            return if is_all { self.spared(|look| look.removed(&[folder])) } else { Ok(()) };
        };
        match loss {
            GitLoss::Changes { paths, target } => self.changes(&folder, &root, paths, target),
            GitLoss::Untracked { paths, ignored } => self.untracked(&folder, paths, *ignored),
            GitLoss::Stashes => self.stashes(&root),
            GitLoss::Branches(names) => self.refs(&root, "refs/heads/", names),
            GitLoss::Tags(names) => self.refs(&root, "refs/tags/", names),
            GitLoss::Worktree(path) => {
                let path = PathBuf::from(path.lossy());
                let path = self.worktree_named(&folder, path.strip_prefix(given).unwrap_or(&path), &path)?;
                self.worktree(&path)
            }
        }
    }

    fn changes(
        &mut self,
        folder: &Path,
        root: &Path,
        paths: &[String],
        target: &Target,
    ) -> Result<(), Unkept> {
        if let Target::Either(name) = target
            && !self.is_ruled("git-discard")
        {
            // If nothing has this name, git takes it for a commit, and switching overwrites no change.
            let is_path = name.contains(PATTERN) || stat(&folder.join(name)).is_some();
            let paths = std::slice::from_ref(name);
            return if is_path { self.changes(folder, root, paths, &Target::Same) } else { Ok(()) };
        }
        let mut state = RepositoryWant::of_paths(self, root, &[])?;
        // A path may lead through a link.
        let named = |text: &String| {
            let named = folder.join(text.strip_suffix('/').unwrap_or(text)).components().collect::<PathBuf>();
            [std::fs::canonicalize(&named).unwrap_or_else(|_| named.clone()), named]
        };
        let named: Vec<PathBuf> = paths.iter().flat_map(named).collect();
        let meant = |path: &Path| {
            // We do not interpret git's own patterns: such a pattern means every change.
            let is_plain = |text: &String| !text.contains(PATTERN) && !text.contains("..");
            let all = paths.is_empty() || !paths.iter().all(is_plain);
            all || named.iter().any(|named| path.starts_with(named))
        };
        let changed: Vec<PathBuf> =
            state.changed.iter().map(|name| root.join(name)).filter(|path| meant(path)).collect();
        for path in &changed {
            self.changed(path)?;
        }
        // Without paths the whole tree moves, and is restored with its commit.
        let is_new = |path: &Path| !paths.is_empty() && meant(path);
        let moves = self.arriving(root, target, &state, &is_new)?;
        let states = self.add_states(&state.git)?;
        state.index = !changed.is_empty() || states || moves && state.head.is_some();
        state.indexed = if state.index { std::mem::take(&mut state.indexed) } else { Vec::new() };
        self.found.repositories.extend(Some(state).filter(|state| state.index));
        Ok(())
    }

    /// Existing untracked files that are in the target's tree and would be overwritten. Returns whether there
    /// is such a target, other than the present commit.
    fn arriving(
        &mut self,
        root: &Path,
        target: &Target,
        state: &RepositoryWant,
        is_new: &dyn Fn(&Path) -> bool,
    ) -> Result<bool, Unkept> {
        let names = match target {
            Target::Same | Target::Side => return Ok(false),
            Target::Unknown => self.ask(root, &["ls-files", "-z", "--others", "--exclude-standard"])?,
            Target::Named(name) | Target::Either(name) => {
                let commit = format!("{name}^{{commit}}");
                let is = self.ask(root, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]);
                let id = is.map(|id| String::from_utf8_lossy(&id).trim().to_owned()).ok();
                let Some(id) = id.filter(|id| state.head.as_ref() != Some(id)) else { return Ok(false) };
                self.ask(root, &["ls-tree", "-r", "-z", "--name-only", &id])?
            }
        };
        for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            let name = Path::new(OsStr::from_bytes(name));
            let path = root.join(name);
            match stat(&path) {
                _ if state.is_tracked(name) => {}
                Some(_) => self.add(&path, false)?,
                None if is_new(&path) => self.absent(&path),
                None => {}
            }
        }
        Ok(true)
    }

    /// Adds the files of a merge, rebase or pick that is in progress.
    fn add_states(&mut self, git: &Path) -> Result<bool, Unkept> {
        let Ok(git) = std::fs::canonicalize(git) else { return Ok(false) };
        let mut found = false;
        for name in STATES {
            found |= stat(&git.join(name)).is_some();
            self.add(&git.join(name), false)?;
        }
        for folder in STATE_FOLDERS {
            for name in names(&git.join(folder))? {
                found = true;
                self.add(&git.join(folder).join(name), false)?;
            }
        }
        Ok(found)
    }

    fn untracked(&mut self, folder: &Path, paths: &[String], ignored: bool) -> Result<(), Unkept> {
        if ignored && self.is_ruled(CONTAINED) {
            self.others(folder, &["--exclude-standard"], paths)?;
            return self.spared(|look| look.others(folder, &["--ignored", "--exclude-standard"], paths));
        }
        self.others(folder, if ignored { &[] } else { &["--exclude-standard"] }, paths)
    }

    fn others(&mut self, folder: &Path, which: &[&str], paths: &[String]) -> Result<(), Unkept> {
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let words = ["ls-files", "-z", "--others", "--directory"];
        let said = self.ask(folder, &[&words[..], which, &["--"], &paths].concat())?;
        let names = said.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let gone: Vec<PathBuf> = names.map(|name| folder.join(OsStr::from_bytes(name))).collect();
        let gone: Vec<PathBuf> =
            gone.iter().filter_map(|path| placed(&path.components().collect::<PathBuf>())).collect();
        self.removed(&gone)
    }

    /// Another repository among ignored files, such as an agent's working tree: keeps what is uncommitted
    /// there.
    pub(super) fn nested(&mut self, root: &Path) -> Result<(), Unkept> {
        self.changes(root, root, &[], &Target::Same)?;
        self.untracked(root, &[], true)?;
        self.spares = true;
        Ok(())
    }

    fn stashes(&mut self, root: &Path) -> Result<(), Unkept> {
        let listed = self.lines(root, &["stash", "list", "--format=%H %gs"])?;
        let pair = |line: &String| line.split_once(' ').map(|(id, words)| (id.to_owned(), words.to_owned()));
        let mut state = RepositoryWant::of(root)?;
        state.stashes = Some(listed.iter().filter_map(pair).collect());
        self.found.repositories.push(state);
        Ok(())
    }

    fn refs(&mut self, root: &Path, prefix: &str, names: &[String]) -> Result<(), Unkept> {
        let listed = self.lines(root, &["for-each-ref", "--format=%(objectname) %(refname)", prefix])?;
        let pair = |line: &String| line.split_once(' ').map(|(id, name)| (name.to_owned(), id.to_owned()));
        let meant = |(name, _): &(String, String)| {
            names.is_empty()
                || name.strip_prefix(prefix).is_some_and(|name| names.iter().any(|known| known == name))
        };
        let mut state = RepositoryWant::of(root)?;
        state.refs = listed.iter().filter_map(pair).filter(meant).collect();
        if state.refs.is_empty() {
            return Ok(());
        }
        if prefix == "refs/heads/" {
            // An error means that there are none.
            let said = self
                .ask(root, &["config", "--local", "-z", "--get-regexp", "^branch\\."])
                .unwrap_or_default();
            let rows = said.split(|byte| *byte == 0).map(String::from_utf8_lossy);
            let rows = rows.filter_map(|row| {
                row.split_once('\n').map(|(key, value)| (key.to_owned(), value.to_owned()))
            });
            let of_one = |key: &str| {
                let name =
                    key.strip_prefix("branch.").and_then(|key| key.rsplit_once('.')).map(|(name, _)| name);
                state.refs.iter().any(|(known, _)| known.strip_prefix(prefix) == name)
            };
            state.config = rows.filter(|(key, _)| of_one(key)).collect();
        }
        self.found.repositories.push(state);
        Ok(())
    }

    /// The working tree that this path or name means: git also takes the last parts of a known one's path.
    fn worktree_named(&self, folder: &Path, name: &Path, path: &Path) -> Result<PathBuf, Unkept> {
        if path.is_dir() {
            return Ok(path.to_owned());
        }
        let known = self.lines(folder, &["worktree", "list", "--porcelain"])?;
        let mut known = known.iter().filter_map(|line| line.strip_prefix("worktree ")).map(PathBuf::from);
        Ok(known.find(|known| known.ends_with(name)).unwrap_or_else(|| path.to_owned()))
    }

    fn worktree(&mut self, path: &Path) -> Result<(), Unkept> {
        let Some(path) = placed(path).filter(|path| path.is_dir()) else { return Ok(()) };
        let Some(git) = git_folder(&path).and_then(|git| std::fs::canonicalize(git).ok()) else {
            return Ok(());
        };
        let common = git_common_folder(&path).and_then(|common| std::fs::canonicalize(common).ok());
        let Some(name) =
            common.and_then(|common| git.strip_prefix(common.join("worktrees")).ok().map(Path::to_owned))
        else {
            return Err(Unkept::Git(format!("`{}` is not a linked working tree", path.display())));
        };
        self.removed(std::slice::from_ref(&path.join(".git")))?;
        let below: Vec<PathBuf> = names(&path)?.into_iter().map(|name| path.join(name)).collect();
        self.removed(&below)?;
        self.add_all(&git)?;
        let known = self.found.repositories.iter().position(|state| state.root == path);
        let mut state = match known {
            Some(at) => self.found.repositories.remove(at),
            None => RepositoryWant::of_paths(self, &path, &[])?,
        };
        state.worktree = name.to_str().map(str::to_owned);
        self.found.repositories.push(state);
        Ok(())
    }

    fn add_all(&mut self, folder: &Path) -> Result<(), Unkept> {
        for name in names(folder)? {
            let path = folder.join(name);
            if path.is_dir() {
                self.add_all(&path)?;
            } else {
                self.add(&path, false)?;
            }
        }
        Ok(())
    }
}
