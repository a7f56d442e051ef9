//! What the working tree still owes: changes of this session that are not committed, commits that are not pushed.
//!
//! Starts `git`, reading only but for `exclude`: no hook, no file-system monitor, no optional lock. Invariant: no repository, no git or no
//! answer in time means that nothing is owed, never that a stop is refused for our own trouble.

mod review;

pub use review::diff;

use crate::model::worktree::Worktree;
use crate::system::env::Env;
use crate::system::files::{self, Scratch};
use crate::system::process::{self, Ending};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

/// Dirty paths remembered from before the session.
const MOST: usize = 2000;

/// A repository as `git status` shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    pub root: String,
    pub head: String,
    pub branch: String,
    pub upstream: bool,
    pub ahead: u64,
    pub dirty: Vec<String>,
}

/// The repository around this folder, if there is one.
pub fn status(env: &Env, cwd: &Path) -> Option<Status> {
    let root = git(env, cwd, &["rev-parse", "--show-toplevel"])?;
    let root = String::from_utf8(root).ok()?.trim_end_matches('\n').to_owned();
    let said = git(env, cwd, &["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all"])?;
    let mut status = parse(&said);
    status.root = root;
    Some(status)
}

fn parse(said: &[u8]) -> Status {
    let mut status = Status::default();
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
            "?" => status.dirty.push(path(1)),
            _ => {}
        }
    }
    status
}

fn header(status: &mut Status, field: &str) {
    let mut words = field.split(' ').skip(1);
    match (words.next().unwrap_or_default(), words.next().unwrap_or_default()) {
        ("branch.oid", oid) => oid.clone_into(&mut status.head),
        ("branch.head", name) => name.clone_into(&mut status.branch),
        ("branch.upstream", _) => status.upstream = true,
        ("branch.ab", ahead) => status.ahead = ahead.trim_start_matches('+').parse().unwrap_or(0),
        _ => {}
    }
}

/// What was dirty as the session began, by path, with the head: what is still like that is not this session's.
pub fn baseline(env: &Env, cwd: &Path) -> Option<BTreeMap<String, String>> {
    let status = status(env, cwd)?;
    let root = Path::new(&status.root);
    let dirty = status.dirty.iter().take(MOST).map(|path| (path.clone(), stamp(&root.join(path))));
    Some(dirty.chain([(HEAD.to_owned(), status.head.clone())]).collect())
}

/// Under this key the baseline keeps the commit; no path is empty.
const HEAD: &str = "";

pub fn owed(env: &Env, cwd: &Path, baseline: &BTreeMap<String, String>) -> Worktree {
    let Some(status) = status(env, cwd) else { return Worktree { unknown: true, ..Worktree::default() } };
    let root = Path::new(&status.root);
    let changed = |path: &&String| baseline.get(*path).is_none_or(|old| *old != stamp(&root.join(path)));
    let uncommitted: Vec<String> = status.dirty.iter().filter(changed).cloned().collect();
    let detached = status.branch == "(detached)";
    let moved = baseline.get(HEAD).is_none_or(|head| *head != status.head);
    let remote = !detached && git(env, cwd, &["remote"]).is_some_and(|names| !names.is_empty());
    let unpushed = if status.upstream { status.ahead > 0 && moved } else { moved };
    let push = (remote && (unpushed || !uncommitted.is_empty())).then(|| push(&status));
    Worktree { uncommitted, push, unknown: false }
}

/// Every path with a change that is not committed, in full; nothing where git cannot say.
pub fn dirty(env: &Env, cwd: &Path) -> Option<Vec<String>> {
    let status = status(env, cwd)?;
    let root = Path::new(&status.root);
    Some(status.dirty.iter().map(|path| root.join(path).to_string_lossy().into_owned()).collect())
}

/// Every path that changed since the session began, committed or not.
pub fn changed(env: &Env, cwd: &Path, baseline: &BTreeMap<String, String>) -> Option<Vec<String>> {
    let Status { root, dirty, .. } = status(env, cwd)?;
    let full = |path: &str| Path::new(&root).join(path).to_string_lossy().into_owned();
    let mut paths: Vec<String> = dirty.iter().map(|path| full(path)).collect();
    let since = baseline.get(HEAD).filter(|head| *head != "(initial)")?;
    let said = git(env, Path::new(&root), &["diff", "--name-only", "-z", since, "HEAD", "--"])?;
    let names = said.split(|b| *b == 0).filter(|name| !name.is_empty());
    paths.extend(names.map(|name| full(&String::from_utf8_lossy(name))));
    Some(paths)
}

fn push(status: &Status) -> (String, String) {
    let command =
        if status.upstream { "git push".to_owned() } else { format!("git push -u origin {}", status.branch) };
    let ahead = match (status.upstream, status.ahead) {
        (true, 0) => "the commit to come is".to_owned(),
        (true, 1) => "1 commit is".to_owned(),
        (true, n) => format!("{n} commits are"),
        (false, _) => "this branch is".to_owned(),
    };
    (command, ahead)
}

/// The working tree as one name: the same files give the same one, committed or not. Nothing is written to the repository.
pub fn tree(env: &Env, root: &Path) -> Option<String> {
    let scratch = Scratch::new("tree").ok()?;
    let objects = git(env, root, &["rev-parse", "--path-format=absolute", "--git-path", "objects"])?;
    let objects = String::from_utf8(objects).ok()?;
    let (index, own) = (scratch.0.join("index"), scratch.0.join("objects"));
    std::fs::create_dir(&own).ok()?;
    let variables = [
        ("GIT_INDEX_FILE", index.as_os_str()),
        ("GIT_OBJECT_DIRECTORY", own.as_os_str()),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", OsStr::new(objects.trim_end_matches('\n'))),
    ];
    // A repository without a commit has nothing to begin with.
    let _ = started(env, root, &["read-tree", "HEAD"], &variables);
    started(env, root, &["add", "--all", "--", "."], &variables)?;
    let name = started(env, root, &["write-tree"], &variables)?;
    String::from_utf8(name).ok().map(|name| name.trim_end().to_owned())
}

/// Paths that were changed since a baseline was taken, committed or not.
pub fn touched(env: &Env, root: &Path, before: &BTreeMap<String, String>) -> Vec<String> {
    let after = baseline(env, root).unwrap_or_default();
    let other = |path: &&String| !path.is_empty() && before.get(*path) != after.get(*path);
    let mut changed: std::collections::BTreeSet<String> =
        before.keys().chain(after.keys()).filter(other).cloned().collect();
    if let (Some(old), Some(new)) = (before.get(HEAD), after.get(HEAD))
        && old != new
    {
        let names = git(env, root, &["diff", "--name-only", "-z", old, new, "--"]).unwrap_or_default();
        let names = names.split(|b| *b == 0).filter(|name| !name.is_empty());
        changed.extend(names.map(|name| String::from_utf8_lossy(name).into_owned()));
    }
    changed.into_iter().collect()
}

/// Keeps a folder of this project out of git's sight, for this repository on this machine only.
pub fn exclude(env: &Env, root: &Path, folder: &str) -> Option<()> {
    let said = |args: &[&str]| String::from_utf8(git(env, root, args)?).ok();
    let file = said(&["rev-parse", "--path-format=absolute", "--git-path", "info/exclude"])?;
    let prefix = said(&["rev-parse", "--show-prefix"])?;
    let line = format!("/{}{folder}/", prefix.trim_end_matches('\n'));
    let path = Path::new(file.trim_end_matches('\n'));
    std::fs::create_dir_all(path.parent()?).ok()?;
    let found = files::find(path).ok()?;
    let mut text = String::from_utf8(found.bytes.clone().unwrap_or_default()).ok()?;
    if text.lines().any(|known| known == line) {
        return Some(());
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&line);
    text.push('\n');
    found.replace(text.as_bytes(), 0o644).ok()
}

/// Everything that is tracked here or below, be it there or not: paths from here, each with a zero byte after it. Nothing
/// where git does not answer.
pub fn tracked(env: &Env, folder: &Path) -> Option<Vec<u8>> {
    git(env, folder, &["ls-files", "-z", "--cached"])
}

fn stamp(path: &Path) -> String {
    use std::os::unix::fs::MetadataExt;
    std::fs::symlink_metadata(path)
        .map_or("gone".to_owned(), |m| format!("{}:{}.{}", m.len(), m.mtime(), m.mtime_nsec()))
}

fn git(env: &Env, cwd: &Path, args: &[&str]) -> Option<Vec<u8>> {
    started(env, cwd, args, &[])
}

fn started(env: &Env, cwd: &Path, args: &[&str], more: &[(&str, &OsStr)]) -> Option<Vec<u8>> {
    let program = env.on_path("git")?;
    let quiet = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-optional-locks"];
    let args: Vec<String> = quiet.iter().chain(args).map(|arg| (*arg).to_owned()).collect();
    let path = env.search_path();
    let always = [("HOME", env.home.as_os_str()), ("PATH", path.as_os_str()), ("LC_ALL", OsStr::new("C"))];
    let variables: Vec<(&str, &OsStr)> = always.iter().chain(more).copied().collect();
    let task = process::Task {
        program: &program,
        args: &args,
        folder: cwd,
        variables: &variables,
        input: b"",
        timeout: if more.is_empty() { Duration::from_secs(8) } else { Duration::from_mins(2) },
        keep: 1 << 20,
    };
    let outcome = process::run(&task).ok()?;
    (outcome.ending == Ending::Exit(0)).then_some(outcome.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_is_read() {
        let said = b"# branch.oid abc\0# branch.head main\0# branch.upstream origin/main\0# branch.ab +2 -0\x001 .M N... 100644 100644 100644 a b src/a b.rs\x002 R. N... 1 1 1 a b R100 new name\0old name\0? un tracked\0";
        let status = parse(said);
        assert_eq!(
            (status.head.as_str(), status.branch.as_str(), status.upstream, status.ahead),
            ("abc", "main", true, 2)
        );
        assert_eq!(status.dirty, ["src/a b.rs", "new name", "old name", "un tracked"]);
    }
}
