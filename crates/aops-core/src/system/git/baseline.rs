//! The uncommitted changes that a working tree had when a session began: a path that is still the same does
//! not belong to the session. Also all other changes in the form for reviewers: a list of files and the diff.
//!
//! Reads the working tree, starts `git`. Invariants: the record is bounded: 2,000 paths have their own stamp,
//! all others are compared by their `ctime`, which no program can set; an untracked file is shown like any
//! other, since a worker could otherwise hide its work by not adding it; no program that the repository
//! configures is run.

use super::{Status, beginning, git, made, status};
use crate::system::env::Env;
use crate::system::files;
use crate::text::plain::count;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// At most this many paths have their own stamp.
const MOST: usize = 2000;
/// Key of the commit; no path is empty.
pub(super) const HEAD: &str = "";
/// Key of the newest change among the paths without a stamp; no path in git begins with a slash.
const REST: &str = "/";

pub(super) fn record(status: &Status) -> BTreeMap<String, String> {
    let root = Path::new(&status.root);
    let mut stamped: Vec<&String> = status.dirty.iter().collect();
    if stamped.len() > MOST {
        // A deleted file has no `ctime`, so it needs a stamp more than the others.
        stamped.sort_by_key(|path| fs::symlink_metadata(root.join(path)).is_ok());
    }
    let rest = stamped.split_off(stamped.len().min(MOST));
    let newest = rest.iter().map(|path| changed_at(&root.join(path))).max();
    let stamps = stamped.into_iter().map(|path| (path.clone(), stamp(&root.join(path))));
    let keys = [(HEAD, Some(status.head.clone())), (REST, newest.map(|at| at.to_string()))];
    stamps.chain(keys.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)))).collect()
}

/// Whether this uncommitted path has changed since the baseline was recorded.
pub(super) fn is_new(baseline: &BTreeMap<String, String>, root: &Path, path: &str) -> bool {
    let at = root.join(path);
    match baseline.get(path) {
        Some(old) => *old != stamp(&at),
        None => {
            baseline.get(REST).and_then(|at| at.parse().ok()).is_none_or(|newest| changed_at(&at) > newest)
        }
    }
}

/// Whether this uncommitted path has its own stamp in the baseline, and the stamp is unchanged.
fn is_as_before(baseline: &BTreeMap<String, String>, root: &Path, path: &str) -> bool {
    baseline.contains_key(path) && !is_new(baseline, root, path)
}

pub(super) fn paths(baseline: &BTreeMap<String, String>) -> impl Iterator<Item = &String> {
    baseline.keys().filter(|path| !path.is_empty() && *path != REST)
}

fn stamp(path: &Path) -> String {
    fs::symlink_metadata(path)
        .map_or("gone".to_owned(), |m| format!("{}:{}.{}", m.len(), m.mtime(), m.mtime_nsec()))
}

/// In nanoseconds; for a deleted file, that of its folder.
fn changed_at(path: &Path) -> i128 {
    let known = path.ancestors().find_map(|at| fs::symlink_metadata(at).ok());
    known.map_or(0, |m| i128::from(m.ctime()) * 1_000_000_000 + i128::from(m.ctime_nsec()))
}

/// At most this many new files are shown, and this many bytes of each.
const FILES: usize = 200;
const BYTES: u64 = 20_000;

/// The list of changed files with their lines, and the diff itself.
pub fn diff(env: &Env, cwd: &Path, baseline: &BTreeMap<String, String>) -> (String, String) {
    let Some(status) = status(env, cwd) else { return <_>::default() };
    let root = Path::new(&status.root);
    let text = |args: &[&str]| beginning(env, root, args);
    let since = match baseline.get(HEAD).map(String::as_str) {
        None | Some("") => "HEAD".to_owned(),
        Some("(initial)") => text(&["hash-object", "-t", "tree", "/dev/null"]).trim_end().to_owned(),
        Some(commit) => commit.to_owned(),
    };
    let quiet = ["diff", "--no-color", "--no-ext-diff", "--no-textconv"];
    let as_before: Vec<String> =
        status.dirty.iter().filter(|path| is_as_before(baseline, root, path)).cloned().collect();
    let left_out: Vec<String> = as_before.iter().map(|path| format!(":(exclude,literal){path}")).collect();
    let shown: Vec<&str> =
        [since.as_str(), "--", "."].into_iter().chain(left_out.iter().map(String::as_str)).collect();
    let of = |more: &[&str]| text(&[&quiet, more, &shown].concat());
    let mut files = of(&["--stat=120"]);
    let mut diff = of(&[]);
    let others = git(env, root, &["ls-files", "--others", "--exclude-standard", "-z"]).unwrap_or_default();
    let others = others.split(|b| *b == 0).filter(|path| !path.is_empty());
    let mut others: Vec<String> = others.map(|path| String::from_utf8_lossy(path).into_owned()).collect();
    let all = others.len();
    made::leave_out(env, root, &mut others);
    for path in others.iter().filter(|path| is_new(baseline, root, path)).take(FILES) {
        let (line, shown) = fresh(root, path);
        files += &line;
        diff += &shown;
    }
    if !as_before.is_empty() {
        let before = count(as_before.len() as u64, "file");
        files.extend([" ", &before, " that were uncommitted before and did not change, not shown\n"]);
    }
    if all > others.len() {
        let made = count((all - others.len()) as u64, "file");
        files.extend([" ", &made, " that tools made, untracked, not shown\n"]);
    }
    (files, diff)
}

/// An untracked file: its line in the list, and its text in the form of a diff.
fn fresh(root: &Path, path: &str) -> (String, String) {
    let at = root.join(path);
    let head = format!("diff --git a/{path} b/{path}\nnew file, not added\n--- /dev/null\n+++ b/{path}\n");
    let Ok(meta) = fs::symlink_metadata(&at) else {
        return (format!(" {path} | new, gone\n"), String::new());
    };
    if meta.is_symlink() {
        let to = fs::read_link(&at).unwrap_or_default();
        return (format!(" {path} | new link\n"), format!("{head}+link to {}\n", to.display()));
    }
    let mut bytes = Vec::new();
    let read =
        meta.is_file().then(|| files::open(&at).and_then(|file| file.take(BYTES).read_to_end(&mut bytes)));
    if !matches!(read, Some(Ok(_))) {
        return (format!(" {path} | new, not readable\n"), head);
    }
    if bytes.contains(&0) {
        return (format!(" {path} | new, {} bytes, binary\n", meta.len()), head);
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().fold(String::new(), |lines, line| lines + "+" + line + "\n");
    let rest =
        if meta.len() > BYTES { format!("({} bytes in all; cut here)\n", meta.len()) } else { String::new() };
    (format!(" {path} | new, {} bytes\n", meta.len()), format!("{head}{lines}{rest}"))
}
