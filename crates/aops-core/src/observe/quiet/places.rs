//! Where a line may read without asking: the project and its worktrees, temporary folders, folders that the
//! user added, the system's folders and the caches of packages.
//!
//! Resolves links. Invariant: a path that does not exist cannot be read; any other must lie in one of these
//! places.

use super::hidden::has_second_name;
use super::pattern::is_part;
use crate::config::texts::Reading;
use crate::jail::plan::Ground;
use crate::system::files;
use crate::system::git::git_common_folder;
use crate::tool::danger::is_secret;
use std::cell::OnceCell;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Folders of the system that anybody may read.
const SYSTEM: [&str; 9] =
    ["/bin", "/dev", "/lib", "/lib64", "/nix/store", "/opt", "/sbin", "/usr", "/var/tmp"];
/// Files of the system that contain nothing personal.
const PLAIN: [&str; 11] = [
    "/etc/alpine-release", "/etc/debian_version", "/etc/hosts", "/etc/issue", "/etc/lsb-release",
    "/etc/os-release", "/proc/cpuinfo", "/proc/loadavg", "/proc/meminfo", "/proc/uptime", "/proc/version",
];
/// At most this many entries of folders are examined for the patterns of one line.
const MOST_ENTRIES: usize = 20_000;
/// At most this many worktrees of a repository are looked at.
const MOST_WORKTREES: usize = 64;

pub(super) struct Seen {
    folders: Vec<PathBuf>,
    /// Where they really lie: asked only for a path that is in none of them by name.
    real: OnceCell<Vec<PathBuf>>,
    cwd: PathBuf,
    pub(super) home: PathBuf,
    pub(super) project: PathBuf,
}

impl Seen {
    pub(super) fn of(env: &Reading, ground: &Ground, added: &[PathBuf], project: &Path, cwd: &Path) -> Self {
        let mut folders = vec![project.to_owned(), env.root().to_owned()];
        folders.extend(worktrees(project));
        folders.extend(ground.temporary.iter().chain(&ground.caches).chain(added).cloned());
        folders.extend(SYSTEM.map(PathBuf::from));
        let home = env.home.clone();
        Self { folders, real: OnceCell::new(), cwd: cwd.to_owned(), home, project: project.to_owned() }
    }

    /// The real paths. `strictly`: reject a file with a second name, since a rule may cover that name.
    pub(super) fn allowed(&self, paths: &[String], strictly: bool) -> Result<Vec<PathBuf>, String> {
        let mut found = Vec::new();
        for path in paths.iter().map(Path::new) {
            let away = || format!("`{}` is outside of the project", path.display());
            let real = match path.canonicalize() {
                Ok(real) => real,
                Err(error) if is_nowhere(&error) && path.symlink_metadata().is_err() => {
                    found.push(path.to_owned());
                    continue;
                }
                Err(_) => return Err(away()),
            };
            if is_guarded(path) || is_guarded(&real) {
                return Err(format!("`{}` belongs to the client, to git or to us", path.display()));
            }
            if !self.holds(&real) && !PLAIN.iter().any(|plain| path == Path::new(plain)) {
                return Err(away());
            }
            if is_secret(&real.to_string_lossy()) && !is_secret(&path.to_string_lossy()) {
                return Err(format!("`{}` leads to a file of secrets", path.display()));
            }
            if strictly && has_second_name(&real) {
                return Err(format!("`{}` has a second name", path.display()));
            }
            found.extend([path.to_owned(), real]);
        }
        Ok(found)
    }

    /// A path in some text of the line, if something exists there.
    pub(super) fn there(&self, text: &str) -> Option<String> {
        let path = match text.strip_prefix("~/") {
            Some(inside) => self.home.join(inside),
            None => self.cwd.join(text),
        };
        path.symlink_metadata().ok().map(|_| path.to_string_lossy().into_owned())
    }

    /// The symlinks that these patterns match. None of them may lead outside, since the shell opens their
    /// targets.
    pub(super) fn links(patterns: &[String]) -> Result<Vec<String>, String> {
        let mut search = Search { left: MOST_ENTRIES, links: Vec::new() };
        for pattern in patterns {
            let parts: Vec<&str> = pattern.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
            let known = parts.iter().take_while(|part| !part.contains(['*', '?'])).count();
            let (folder, parts) = parts.split_at(known);
            search.descend(&Path::new("/").join(folder.join("/")), parts)?;
        }
        search
            .links
            .iter()
            .map(|link| link.to_str().map(str::to_owned).ok_or_else(|| "a link has an odd name".to_owned()))
            .collect()
    }

    fn holds(&self, real: &Path) -> bool {
        // If the project is the home itself, the home contains more than the project.
        let is_small = |folder: &Path| *folder != self.home && folder.parent().is_some();
        let is_in = |folder: &PathBuf| is_small(folder) && real.starts_with(folder);
        let of_links = || self.folders.iter().filter_map(|folder| folder.canonicalize().ok()).collect();
        self.folders.iter().any(is_in) || self.real.get_or_init(of_links).iter().any(is_in)
    }
}

/// The client's settings, hooks of git, and our own files. A session may work in one of its worktrees.
fn is_guarded(path: &Path) -> bool {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let worktree = parts.windows(2).rposition(|two| two == [".claude", "worktrees"]).map_or(0, |at| at + 3);
    let inside = parts.get(worktree..).unwrap_or_default();
    inside.iter().any(|part| matches!(*part, ".claude" | ".aops"))
        || inside.windows(2).any(|two| two == [".git", "hooks"])
}

/// The matches of a pattern.
struct Search {
    left: usize,
    links: Vec<PathBuf>,
}

impl Search {
    fn descend(&mut self, folder: &Path, parts: &[&str]) -> Result<(), String> {
        let [part, rest @ ..] = parts else { return Ok(()) };
        if !part.contains(['*', '?']) {
            return self.meet(&folder.join(part), rest);
        }
        if *part == "**" {
            self.descend(folder, rest)?;
        }
        let items = match fs::read_dir(folder) {
            Ok(items) => items,
            Err(error) if is_nowhere(&error) => return Ok(()),
            Err(error) => return Err(format!("`{}`: {error}", folder.display())),
        };
        for item in items {
            self.left = self.left.checked_sub(1).ok_or("its patterns may find too many files")?;
            let item = item.map_err(|error| error.to_string())?;
            let name = item.file_name();
            match *part {
                // A recursive pattern does not follow links, but matches them.
                "**" if item.file_type().is_ok_and(|kind| kind.is_dir()) => {
                    self.descend(&item.path(), parts)?;
                }
                "**" if rest.is_empty() => self.meet(&item.path(), rest)?,
                "**" => {}
                part if name.to_str().is_none_or(|name| is_part(part, name)) => {
                    self.meet(&folder.join(name), rest)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn meet(&mut self, path: &Path, rest: &[&str]) -> Result<(), String> {
        if path.is_symlink() {
            self.links.push(path.to_owned());
        }
        self.descend(path, rest)
    }
}

fn is_nowhere(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The other working trees of the project's repository.
fn worktrees(project: &Path) -> Vec<PathBuf> {
    let Some(common) = git_common_folder(project) else { return Vec::new() };
    let items = fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten().take(MOST_WORKTREES);
    let of = |text: String| Path::new(text.trim()).parent().map(Path::to_owned);
    let linked = items.filter_map(|item| files::read_text(item.path().join("gitdir")).ok()).filter_map(of);
    let main = common.parent().filter(|_| common.ends_with(".git")).map(Path::to_owned);
    linked.chain(main).collect()
}
