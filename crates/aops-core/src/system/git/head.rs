//! Finds out where `HEAD` of a working tree is, without starting `git` unless the repository stores refs in
//! tables.
//!
//! Reads `HEAD`, its log, the branch and the packed refs. Invariants: while nothing moves `HEAD`, a look
//! costs two `stat`s, in a repository with tables a few more, and no process; what cannot be read counts as
//! missing.

use super::git_line;
use super::moved::{self, Move};
use super::place::git_folder;
use crate::system::env::Env;
use crate::system::files;
use crate::text::git_object::ObjectFormat;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files that show whether `HEAD` has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadFiles {
    /// The repository folder that belongs to this working tree alone.
    pub git: PathBuf,
    pub root: PathBuf,
}

/// The position of `HEAD`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeadPlace {
    pub branch: Option<String>,
    pub commit: Option<String>,
    /// The length of its log.
    pub log: Option<u64>,
}

/// The content of `HEAD` if the refs are stored in tables.
const IN_TABLES: &str = "refs/heads/.invalid";
/// Lists the tables; each change of a ref rewrites it.
const TABLES: &str = "reftable/tables.list";

impl HeadFiles {
    /// The files of the working tree that contains this folder.
    pub fn around(cwd: &Path) -> Option<Self> {
        let mut above = cwd.ancestors().take_while(|_| cwd.is_absolute());
        above.find_map(|folder| Some(Self { git: git_folder(folder)?, root: folder.to_owned() }))
    }

    /// A changed stamp shows a change: it is the `stat` of `HEAD` and of its log. Without a log, that of the
    /// branch or of the tables: an additional working tree has its `HEAD` in tables of its own.
    pub fn stamp(&self, branch: Option<&str>) -> String {
        let log = stamp(&self.git.join("logs/HEAD"));
        let in_tables = || {
            let own = stamp(&self.git.join(TABLES))?;
            let shared = stamp(&self.shared().join(TABLES)).unwrap_or_default();
            Some(if shared == own { own } else { format!("{own} {shared}") })
        };
        let second =
            log.or_else(|| branch.and_then(|branch| stamp(&self.shared().join(branch)))).or_else(in_tables);
        format!("{} {}", stamp(&self.git.join("HEAD")).unwrap_or_default(), second.unwrap_or_default())
    }

    pub fn look(&self, env: &Env) -> HeadPlace {
        let text = files::read_text(self.git.join("HEAD")).unwrap_or_default();
        let log = fs::metadata(self.git.join("logs/HEAD")).ok().map(|about| about.len());
        match text.trim_end().strip_prefix("ref: ") {
            Some(IN_TABLES) => HeadPlace {
                branch: git_line(env, &self.root, &["symbolic-ref", "-q", "HEAD"]),
                commit: git_line(env, &self.root, &["rev-parse", "-q", "--verify", "HEAD"])
                    .as_deref()
                    .and_then(id),
                log,
            },
            Some(branch) => HeadPlace { branch: Some(branch.to_owned()), commit: self.resolve(branch), log },
            None => HeadPlace { branch: None, commit: id(&text), log },
        }
    }

    /// How `HEAD` has moved since its log had this length, the oldest move first; `None` if there is no log.
    pub fn moves_since(&self, seen: u64) -> Option<Vec<Move>> {
        let log = files::read(self.git.join("logs/HEAD")).ok()?;
        // A shorter log was cut, so all of it may be new.
        let from = usize::try_from(seen).ok().filter(|from| *from <= log.len()).unwrap_or(0);
        Some(moved::moves_in(&log[from..]))
    }

    /// The commit of a branch.
    fn resolve(&self, branch: &str) -> Option<String> {
        let plain =
            !branch.starts_with('/') && branch.split('/').all(|part| !matches!(part, "" | "." | ".."));
        let shared = Some(self.shared()).filter(|_| plain)?;
        let loose = files::read_text(shared.join(branch)).ok();
        loose
            .as_deref()
            .and_then(id)
            .or_else(|| packed(&files::read_text(shared.join("packed-refs")).ok()?, branch))
    }

    /// The folder shared by all working trees of the repository.
    fn shared(&self) -> PathBuf {
        let named = files::read_text(self.git.join("commondir")).ok();
        named.map_or_else(|| self.git.clone(), |text| self.git.join(text.trim()))
    }
}

/// `ID refs/heads/main`, one per line; lines about tags begin with `^`.
fn packed(text: &str, branch: &str) -> Option<String> {
    let mut rows = text.lines().filter_map(|line| line.split_once(' '));
    rows.find(|(_, name)| *name == branch).and_then(|(commit, _)| id(commit))
}

fn id(text: &str) -> Option<String> {
    let text = text.trim_end();
    ObjectFormat::of_id(text).map(|_| text.to_owned())
}

/// Every write of such a file creates a new one, or makes it longer.
fn stamp(path: &Path) -> Option<String> {
    let about = fs::metadata(path).ok()?;
    Some(format!("{}:{}:{}.{}", about.ino(), about.len(), about.ctime(), about.ctime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{repository, run};
    use super::*;

    fn look(env: &Env) -> (HeadFiles, HeadPlace) {
        let files = HeadFiles::around(&env.cwd).unwrap();
        let place = files.look(env);
        (files, place)
    }

    fn told(env: &Env, args: &[&str]) -> String {
        run(env, args).trim_end().to_owned()
    }

    #[test]
    fn head_is_where_git_says_it_is() {
        let (_home, env) = repository();
        let commit = |env: &Env| Some(told(env, &["rev-parse", "HEAD"]));
        let branch = |name: &str| Some(format!("refs/heads/{name}"));
        assert_eq!((look(&env).1.branch, look(&env).1.commit), (branch("main"), commit(&env)));
        run(&env, &["pack-refs", "--all"]);
        assert_eq!(look(&env).1.commit, commit(&env), "packed");
        run(&env, &["checkout", "-q", "-b", "a/b"]);
        run(&env, &["commit", "-q", "--allow-empty", "-m", "two"]);
        assert_eq!((look(&env).1.branch, look(&env).1.commit), (branch("a/b"), commit(&env)));
        run(&env, &["checkout", "-q", "--detach", "main"]);
        assert_eq!((look(&env).1.branch, look(&env).1.commit), (None, commit(&env)));
        run(&env, &["checkout", "-q", "--orphan", "none"]);
        assert_eq!((look(&env).1.branch, look(&env).1.commit), (branch("none"), None));
    }

    #[test]
    fn a_worktree_has_a_head_of_its_own() {
        let (home, env) = repository();
        let place = home.path().join("other");
        run(&env, &["worktree", "add", "-q", "-b", "side", place.to_str().unwrap()]);
        let other = Env { cwd: place.clone(), ..env.clone() };
        run(&other, &["commit", "-q", "--allow-empty", "-m", "there"]);
        let (files, found) = look(&other);
        assert_eq!((files.root, found.branch), (place, Some("refs/heads/side".to_owned())));
        assert_eq!(found.commit, Some(told(&other, &["rev-parse", "HEAD"])));
        assert_ne!(found.commit, look(&env).1.commit);
    }

    #[test]
    fn names_may_be_sha256() {
        let (home, mut env) = repository();
        env.cwd = home.path().join("long");
        fs::create_dir(&env.cwd).unwrap();
        run(&env, &["init", "-q", "-b", "main", "--object-format=sha256"]);
        run(&env, &["commit", "-q", "--allow-empty", "-m", "start"]);
        let commit = look(&env).1.commit.unwrap();
        assert_eq!((commit.len(), &commit), (64, &told(&env, &["rev-parse", "HEAD"])));
    }

    #[test]
    fn a_move_is_noticed_and_told() {
        let (_home, env) = repository();
        let (files, before) = look(&env);
        let branch = before.branch.as_deref();
        let stamp = files.stamp(branch);
        run(&env, &["status"]);
        assert_eq!(files.stamp(branch), stamp, "a look moves nothing");
        run(&env, &["commit", "-q", "--allow-empty", "-m", "two"]);
        run(&env, &["commit", "-q", "--allow-empty", "--amend", "-m", "three"]);
        run(&env, &["checkout", "-q", "-b", "other"]);
        assert_ne!(files.stamp(branch), stamp);
        let moves = files.moves_since(before.log.unwrap()).unwrap();
        assert_eq!(moves.iter().map(Move::makes_commit).collect::<Vec<_>>(), [true, true, false]);
        assert_eq!(moves[1].new, told(&env, &["rev-parse", "HEAD"]));
    }

    /// Refs in tables, also those of a second working tree.
    #[test]
    fn a_repository_with_tables_is_watched_too() {
        let (home, mut env) = repository();
        env.cwd = home.path().join("tables");
        fs::create_dir(&env.cwd).unwrap();
        // Before version 2.45 git knows no such tables.
        if super::super::git(&env, &env.cwd, &["init", "-q", "-b", "main", "--ref-format=reftable"]).is_none()
        {
            return;
        }
        run(&env, &["commit", "-q", "--allow-empty", "-m", "start"]);
        let place = home.path().join("side");
        run(&env, &["worktree", "add", "-q", "--detach", place.to_str().unwrap()]);
        for (cwd, branch) in [(env.cwd.clone(), Some("refs/heads/main".to_owned())), (place, None)] {
            let env = Env { cwd, ..env.clone() };
            let (files, before) = look(&env);
            assert_eq!(
                (before.branch, before.commit),
                (branch.clone(), Some(told(&env, &["rev-parse", "HEAD"])))
            );
            let stamp = files.stamp(branch.as_deref());
            run(&env, &["status"]);
            assert_eq!(files.stamp(branch.as_deref()), stamp, "a look moves nothing");
            run(&env, &["commit", "-q", "--allow-empty", "-m", "two"]);
            assert_ne!(files.stamp(branch.as_deref()), stamp);
            assert_eq!(look(&env).1.commit, Some(told(&env, &["rev-parse", "HEAD"])));
        }
    }

    /// Without a log, the branch itself shows the change.
    #[test]
    fn a_repository_without_a_log_is_watched_too() {
        let (_home, env) = repository();
        run(&env, &["config", "core.logAllRefUpdates", "false"]);
        fs::remove_dir_all(env.cwd.join(".git/logs")).unwrap();
        let (files, before) = look(&env);
        let stamp = files.stamp(before.branch.as_deref());
        run(&env, &["commit", "-q", "--allow-empty", "-m", "two"]);
        assert_ne!(files.stamp(before.branch.as_deref()), stamp);
        assert_eq!((before.log, files.moves_since(0)), (None, None));
    }
}
