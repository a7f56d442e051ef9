//! The state of a git working tree: uncommitted changes of a session, unpushed commits, the tracked files.
//!
//! Starts `git` (without hooks, file-system monitor and optional locks), which writes nothing except for
//! `exclude`, `notes` and `acting`. Invariants: if git cannot be asked, that does not mean "no repository",
//! so its missing answer is not read as "nothing is owed"; an answer is complete or missing, except for
//! `beginning`, whose callers say that they cut it.

mod of_user;
mod place;
mod made;
mod moved;
mod head;
mod index;
mod ignored;
mod baseline;
mod unpushed;
pub mod exclude;
pub mod notes;
pub mod acting;
pub mod objects;

pub use baseline::diff;
pub use head::{HeadFiles, HeadPlace};
pub use ignored::ignore_list;
pub use index::{is_as_indexed, is_whole as is_index_whole, paths as index_paths, plain_paths};
pub use made::is_made;
pub use moved::Moved;
pub use place::{git_common_folder, git_folder};
pub use unpushed::Deeds;

use crate::model::error::{Code, Failure};
use crate::model::worktree::{Asked, Worktree};
use crate::system::env::Env;
use crate::system::files::Scratch;
use crate::system::process::program::{Identity, Program};
use crate::system::process::{self, Ending, Outcome, Task, variable};
use crate::text::template::one_line;
use baseline::{HEAD, is_new};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    pub root: String,
    pub head: String,
    pub branch: String,
    pub upstream: bool,
    pub ahead: u64,
    pub behind: u64,
    /// Tracked files first.
    pub dirty: Vec<String>,
}

/// `None` if git did not answer.
pub fn status(env: &Env, cwd: &Path) -> Option<Status> {
    ask_status(env, cwd).ok()
}

/// Untracked generated files belong to nobody and are left out. The error says why there is no answer.
fn ask_status(env: &Env, cwd: &Path) -> Result<Status, Asked> {
    let root = String::from_utf8_lossy(&ask(env, cwd, &["rev-parse", "--show-toplevel"])?).into_owned();
    let root = root.trim_end_matches('\n').to_owned();
    let said = ask(env, cwd, &["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all"])?;
    let (status, mut untracked) = parse(&said);
    made::leave_out(env, Path::new(&root), &mut untracked);
    let dirty = [status.dirty, untracked].concat();
    Ok(Status { root, dirty, ..status })
}

/// The status and the untracked files.
fn parse(said: &[u8]) -> (Status, Vec<String>) {
    let mut status = Status::default();
    let mut untracked = Vec::new();
    let mut fields = said.split(|b| *b == 0).map(String::from_utf8_lossy);
    while let Some(field) = fields.next() {
        let path = |skip: usize| field.splitn(skip + 1, ' ').nth(skip).unwrap_or_default().to_owned();
        match field.split(' ').next().unwrap_or_default() {
            "#" => header(&mut status, &field),
            "1" => status.dirty.push(path(8)),
            "2" => {
                status.dirty.push(path(9));
                status.dirty.extend(fields.next().map(std::borrow::Cow::into_owned));
            }
            "u" => status.dirty.push(path(10)),
            "?" => untracked.push(path(1)),
            _ => {}
        }
    }
    (status, untracked)
}

/// `+1`, `-2`
fn count(text: &str) -> u64 {
    text.trim_start_matches(['+', '-']).parse().unwrap_or(0)
}

fn header(status: &mut Status, field: &str) {
    let mut words = field.split(' ').skip(1);
    match (words.next().unwrap_or_default(), words.next().unwrap_or_default()) {
        ("branch.oid", oid) => oid.clone_into(&mut status.head),
        ("branch.head", name) => name.clone_into(&mut status.branch),
        ("branch.upstream", _) => status.upstream = true,
        ("branch.ab", ahead) => {
            status.ahead = count(ahead);
            status.behind = words.next().map_or(0, count);
        }
        _ => {}
    }
}

/// The worktree that contains `cwd`, if it is not the project's own tree: one that the client made inside the
/// project, or one elsewhere, which has a plain file in place of a `.git` folder. Inside the project nothing
/// needs to be looked up.
pub fn worktree_at(project: &Path, cwd: &Path) -> Option<PathBuf> {
    if let Ok(inside) = cwd.strip_prefix(project) {
        let name = inside.strip_prefix(".claude/worktrees").ok()?.components().next()?;
        return Some(project.join(".claude/worktrees").join(name));
    }
    let mut above = cwd.ancestors().take_while(|_| cwd.is_absolute());
    let found = above.find_map(|folder| Some((folder, folder.join(".git").symlink_metadata().ok()?)));
    found.filter(|(_, about)| about.is_file()).map(|(folder, _)| folder.to_owned())
}

/// The present uncommitted changes, by path, and the commit; for comparison with later ones.
pub fn baseline(env: &Env, cwd: &Path) -> Option<BTreeMap<String, String>> {
    status(env, cwd).map(|status| baseline::record(&status))
}

/// What is owed in the client's present folder. If that is in no repository but the session began in one, the
/// project is asked.
pub fn owed(
    env: &Env,
    cwd: &Path,
    project: &Path,
    baseline: &BTreeMap<String, String>,
    deeds: &Deeds,
) -> Worktree {
    let tree = owed_in(env, cwd, baseline, deeds);
    if tree.asked != Asked::NoRepository || !baseline.contains_key(HEAD) {
        return tree;
    }
    let elsewhere = Some(project).filter(|project| project.is_absolute() && *project != cwd);
    let tree = elsewhere.map_or(tree, |project| owed_in(env, project, baseline, deeds));
    match tree.asked {
        Asked::NoRepository => unasked("the repository in which the session began no longer exists"),
        _ => tree,
    }
}

fn unasked(why: &str) -> Worktree {
    Worktree { asked: Asked::Unasked(why.to_owned()), ..Worktree::default() }
}

fn owed_in(env: &Env, cwd: &Path, baseline: &BTreeMap<String, String>, deeds: &Deeds) -> Worktree {
    let status = match ask_status(env, cwd) {
        Ok(status) => status,
        // In a folder without a repository, git need not say so.
        Err(Asked::Unasked(_)) if !has_repository(cwd) => {
            return Worktree { asked: Asked::NoRepository, ..Worktree::default() };
        }
        Err(asked) => return Worktree { asked, ..Worktree::default() },
    };
    let root = Path::new(&status.root);
    let new = status.dirty.iter().filter(|path| is_new(baseline, root, path)).cloned();
    let (uncommitted, foreign): (Vec<String>, Vec<String>) =
        new.partition(|path| (deeds.wrote)(&root.join(path)));
    let moved = baseline.get(HEAD).is_none_or(|head| *head != status.head);
    let ahead = moved && (!status.upstream || status.ahead > 0);
    let wanted = status.branch != "(detached)" && (ahead || !uncommitted.is_empty());
    let push = if wanted { push_advice(env, cwd, &status) } else { Ok(None) };
    let (push, asked) = push.map_or_else(|asked| (None, asked), |push| (push, Asked::Answered));
    // What the person did not publish is not published along with the task.
    let unpushed = push.as_ref().map_or(0, |_| unpushed::count_foreign(env, cwd, &status, baseline, deeds));
    let push = push.filter(|_| unpushed == 0);
    let behind = if push.is_some() { status.behind } else { 0 };
    let others = status.dirty.len() > uncommitted.len();
    Worktree { behind, foreign, others, uncommitted, push, unpushed, asked }
}

/// This folder or one above contains a `.git` of any kind, or we cannot look for it.
fn has_repository(cwd: &Path) -> bool {
    let is_none = |path: PathBuf| {
        path.symlink_metadata()
            .is_err_and(|error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory))
    };
    !cwd.ancestors().all(|folder| is_none(folder.join(".git")))
}

/// The command that pushes the branch, and a description of it; `None` if there is no remote.
fn push_advice(env: &Env, cwd: &Path, status: &Status) -> Result<Option<(String, String)>, Asked> {
    let Some(remote) = ask_remote(env, cwd, &status.branch)? else { return Ok(None) };
    let command = if status.upstream {
        "git push".to_owned()
    } else {
        format!("git push -u {remote} {}", status.branch)
    };
    let ahead = match (status.upstream, status.ahead) {
        (true, 0) => "the commit to come is".to_owned(),
        (true, 1) => "1 commit is".to_owned(),
        (true, n) => format!("{n} commits are"),
        (false, _) => "this branch is".to_owned(),
    };
    Ok(Some((command, ahead)))
}

/// `None` if there is no remote, or git did not answer.
pub fn remote(env: &Env, cwd: &Path, branch: &str) -> Option<String> {
    ask_remote(env, cwd, branch).ok().flatten()
}

fn ask_remote(env: &Env, cwd: &Path, branch: &str) -> Result<Option<String>, Asked> {
    Remotes::ask(env, cwd).map(|remotes| remotes.of(branch))
}

/// The remotes, and what git's configuration says.
#[derive(Debug)]
pub struct Remotes {
    names: BTreeSet<String>,
    config: Vec<(String, String)>,
    /// What of it is the repository's own, not the user's.
    pub own: Vec<(String, String)>,
}

impl Remotes {
    pub fn ask(env: &Env, cwd: &Path) -> Result<Self, Asked> {
        let said = ask(env, cwd, &["config", "-z", "--list", "--show-scope"])?;
        let said = String::from_utf8_lossy(&said);
        let words: Vec<&str> = said.split('\0').collect();
        let entry = |pair: &[&str]| {
            let (key, value) = pair[1].split_once('\n')?;
            Some((matches!(pair[0], "local" | "worktree"), (key.to_owned(), value.to_owned())))
        };
        let entries: Vec<(bool, (String, String))> = words.chunks_exact(2).filter_map(entry).collect();
        let own = entries.iter().filter(|(is_own, _)| *is_own).map(|(_, entry)| entry.clone()).collect();
        let config: Vec<(String, String)> = entries.into_iter().map(|(_, entry)| entry).collect();
        let name = |key: &str| {
            let own = key.strip_prefix("remote.")?;
            own.strip_suffix(".url").or_else(|| own.strip_suffix(".pushurl")).map(str::to_owned)
        };
        Ok(Self { names: config.iter().filter_map(|(key, _)| name(key)).collect(), config, own })
    }

    /// By the rules in git's manual: the branch's `pushRemote`, `remote.pushDefault`, the branch's `remote`,
    /// the only remote, `origin`.
    fn of(&self, branch: &str) -> Option<String> {
        let value =
            |key: String| self.config.iter().rfind(|(known, _)| *known == key).map(|(_, value)| value);
        let keys = [
            format!("branch.{branch}.pushremote"),
            "remote.pushdefault".to_owned(),
            format!("branch.{branch}.remote"),
        ];
        let first = self.names.first()?;
        let configured = keys.into_iter().filter_map(value).find(|name| is_plain(name)).cloned();
        let only = || if self.names.len() == 1 { first.clone() } else { "origin".to_owned() };
        Some(configured.unwrap_or_else(only))
    }
}

/// A name or address that is one word for a shell. `.` is this repository, to which nothing is pushed.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._/:@+~-".contains(c);
    !matches!(name, "" | ".") && !name.starts_with('-') && name.chars().all(plain)
}

/// Whether tracked files differ from the last commit or the index: these paths, or all if none are given.
/// `None` if git did not answer.
pub fn has_changes(env: &Env, cwd: &Path, paths: &[&str]) -> Option<bool> {
    // Ends at the first difference; a status reads every file that may differ.
    let quick =
        ["diff", "--quiet", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none", "HEAD", "--"];
    let found = ended(env, cwd, &[&quick, paths].concat(), (&[], b""), (PATIENCE, LONGEST));
    if found.is_ok_and(|said| said.ending == Ending::Exit(1)) {
        return Some(true);
    }
    let args = ["status", "--porcelain=v2", "-z", "--untracked-files=no", "--ignore-submodules=none", "--"];
    git(env, cwd, &[&args, paths].concat()).map(|said| !said.is_empty())
}

pub fn dirty(env: &Env, cwd: &Path) -> Option<Vec<String>> {
    let status = status(env, cwd)?;
    Some(absolute(&status.root, status.dirty))
}

/// The absolute paths of all changes since the session began, committed or not.
pub fn changed(env: &Env, cwd: &Path, baseline: &BTreeMap<String, String>) -> Option<Vec<String>> {
    let Status { root, mut dirty, head, .. } = status(env, cwd)?;
    let since = baseline.get(HEAD).filter(|head| *head != "(initial)")?;
    dirty.extend(between(env, Path::new(&root), since, &head)?);
    Some(absolute(&root, dirty))
}

fn absolute(root: &str, paths: Vec<String>) -> Vec<String> {
    paths.into_iter().map(|path| Path::new(root).join(path).to_string_lossy().into_owned()).collect()
}

fn between(env: &Env, root: &Path, old: &str, new: &str) -> Option<Vec<String>> {
    let said = git(env, root, &["diff", "--name-only", "-z", old, new, "--"])?;
    let names = said.split(|b| *b == 0).filter(|name| !name.is_empty());
    Some(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

/// The name of the tree object that a commit of everything would have; the repository itself is not written
/// to.
pub fn tree(env: &Env, root: &Path) -> Option<String> {
    let scratch = Scratch::new("tree").ok()?;
    let objects = git_line(env, root, &["rev-parse", "--path-format=absolute", "--git-path", "objects"])?;
    let index = scratch.0.join("index");
    let own = scratch.0.join("objects");
    std::fs::create_dir(&own).ok()?;
    let variables = [
        variable("GIT_INDEX_FILE", index),
        variable("GIT_OBJECT_DIRECTORY", own),
        variable("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects),
    ];
    let git = |args: &[&str]| git_with(env, root, args, &variables, Duration::from_mins(2));
    // Fails in a repository without a commit, whose index is empty anyway.
    let _ = git(&["read-tree", "HEAD"]);
    git(&["add", "--all", "--", "."])?;
    String::from_utf8(git(&["write-tree"])?).ok().map(|name| name.trim_end().to_owned())
}

/// Paths that were changed since a baseline was taken, committed or not.
pub fn touched(env: &Env, root: &Path, before: &BTreeMap<String, String>) -> Vec<String> {
    let Some(after) = status(env, root) else { return Vec::new() };
    let top = Path::new(&after.root);
    let dirty: BTreeSet<&String> = after.dirty.iter().collect();
    let new = dirty.iter().copied().filter(|path| is_new(before, top, path));
    let clean_now = baseline::paths(before).filter(|path| !dirty.contains(path));
    let mut changed: BTreeSet<String> = new.chain(clean_now).cloned().collect();
    if let Some(old) = before.get(HEAD).filter(|old| **old != after.head) {
        changed.extend(between(env, root, old, &after.head).unwrap_or_default());
    }
    changed.into_iter().collect()
}

#[cfg(test)]
pub(crate) mod tests;

/// No honest list of paths is longer. It limits memory if a repository is made to exhaust it.
const LONGEST: usize = 256 << 20;
/// Longest text for people, in bytes.
const BEGINNING: usize = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(8);

/// The complete answer, or why there is none.
fn ask(env: &Env, cwd: &Path, args: &[&str]) -> Result<Vec<u8>, Asked> {
    match tried(env, cwd, args, (&[], b""), (PATIENCE, LONGEST))? {
        said if said.cut => Err(Asked::Unasked(format!("`git {}` printed too much", args[0]))),
        said => Ok(said.stdout),
    }
}

/// `None`: no git, no repository, an error, or no answer in time.
fn git(env: &Env, cwd: &Path, args: &[&str]) -> Option<Vec<u8>> {
    git_with(env, cwd, args, &[], PATIENCE)
}

/// The answer without the line feed at its end.
fn git_line(env: &Env, cwd: &Path, args: &[&str]) -> Option<String> {
    String::from_utf8(git(env, cwd, args)?).ok().map(|said| said.trim_end_matches('\n').to_owned())
}

fn git_with(
    env: &Env,
    cwd: &Path,
    args: &[&str],
    variables: &[(String, OsString)],
    timeout: Duration,
) -> Option<Vec<u8>> {
    start(env, cwd, args, variables, (timeout, LONGEST)).filter(|said| !said.cut).map(|said| said.stdout)
}

/// At most the first mebibyte of the answer.
fn beginning(env: &Env, cwd: &Path, args: &[&str]) -> String {
    let said = start(env, cwd, args, &[], (PATIENCE, BEGINNING));
    said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned()).unwrap_or_default()
}

/// All tracked files in this folder and below, even deleted ones: relative paths, each followed by a zero
/// byte. `None` if git does not answer.
pub fn tracked(env: &Env, folder: &Path) -> Result<Option<Vec<u8>>, Failure> {
    match start(env, folder, &["ls-files", "-z", "--cached"], &[], (PATIENCE, LONGEST)) {
        Some(said) if said.cut => {
            let what = format!("`{}`: git tracks more than {} MB of paths", folder.display(), LONGEST >> 20);
            Err(Failure::new(Code::StorageFailed, what))
        }
        said => Ok(said.map(|said| said.stdout)),
    }
}

fn start(
    env: &Env,
    cwd: &Path,
    args: &[&str],
    more: &[(String, OsString)],
    bounds: (Duration, usize),
) -> Option<Outcome> {
    tried(env, cwd, args, (more, b""), bounds).ok()
}

/// The complete answer of one git command with this standard input, or why there is none.
pub fn run(
    env: &Env,
    cwd: &Path,
    words: &[&str],
    input: &[u8],
    timeout: Duration,
) -> Result<Vec<u8>, String> {
    match tried(env, cwd, words, (&[], input), (timeout, LONGEST)) {
        Ok(said) if said.cut => Err(format!("`git {}` printed too much", words[0])),
        Ok(said) => Ok(said.stdout),
        Err(Asked::Unasked(why)) => Err(why),
        Err(_) => Err("it is not a repository".to_owned()),
    }
}

fn tried(
    env: &Env,
    cwd: &Path,
    words: &[&str],
    given: (&[(String, OsString)], &[u8]),
    bounds: (Duration, usize),
) -> Result<Outcome, Asked> {
    let failed = |what: &str| Asked::Unasked(format!("`git {}` {what}", words.first().unwrap_or(&"")));
    let said = ended(env, cwd, words, given, bounds)?;
    let why = String::from_utf8_lossy(&said.stderr);
    match said.ending {
        Ending::Exit(0) => Ok(said),
        Ending::Exit(128) if why.contains("not a git repository") => Err(Asked::NoRepository),
        Ending::Exit(_) => {
            Err(failed(&format!("failed: {}", one_line(why.lines().next().unwrap_or_default(), 160))))
        }
        Ending::Signal(_) => Err(failed("was killed")),
        Ending::TimedOut => Err(failed("did not end in time")),
    }
}

/// However it ended.
fn ended(
    env: &Env,
    cwd: &Path,
    words: &[&str],
    (more, input): (&[(String, OsString)], &[u8]),
    (timeout, keep): (Duration, usize),
) -> Result<Outcome, Asked> {
    let unstarted =
        |error: &dyn std::fmt::Display| Asked::Unasked(format!("`git` cannot be started: {error}"));
    let program = Program::find(env, Identity::OnPath("git")).map_err(|error| unstarted(&error))?;
    let quiet = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-optional-locks"];
    let args: Vec<String> = quiet.iter().chain(words).map(|arg| (*arg).to_owned()).collect();
    let mut variables =
        vec![variable("HOME", &env.home), variable("PATH", env.search_path()), variable("LC_ALL", "C")];
    variables.extend_from_slice(more);
    // One of these variables moves the user's git configuration and ignore list; the others are for the jail.
    let moved = env.folders.iter().filter(|(name, _)| name != "HOME");
    variables.extend(moved.map(|(name, value)| variable(name, value)));
    if of_user::UserGit::find().is_odd() {
        variables.push(variable("GIT_CONFIG_GLOBAL", "/dev/null"));
    }
    if !env.client.project.as_os_str().is_empty() {
        variables.push(variable("CLAUDE_PROJECT_DIR", &env.client.project));
    }
    let task = Task { input, keep, ..Task::new(&program, &args, cwd, &variables, timeout) };
    process::run(&task).map_err(|error| unstarted(&error))
}
