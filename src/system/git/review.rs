//! The changes of a session for its reviewers: a list of files and the diff, untracked files included.
//!
//! Reads the working tree, starts `git`. Invariants: an untracked file is shown like any other, or a worker could hide its
//! work by not adding it; no program that the repository configures is run.

use super::baseline::{HEAD, is_new};
use super::command::{beginning, git};
use super::status;
use crate::system::env::Env;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

/// New files shown, and bytes of each.
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
    let of = |more: &[&str]| text(&[&quiet, more, &[&since, "--"]].concat());
    let (mut files, mut diff) = (of(&["--stat=120"]), of(&[]));
    let others = git(env, root, &["ls-files", "--others", "--exclude-standard", "-z"]).unwrap_or_default();
    let others = others.split(|b| *b == 0).filter(|path| !path.is_empty()).map(String::from_utf8_lossy);
    let new = others.filter(|path| is_new(baseline, root, path));
    for path in new.take(FILES) {
        let (line, shown) = fresh(root, &path);
        files += &line;
        diff += &shown;
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
    let read = meta.is_file().then(|| fs::File::open(&at).and_then(|file| file.take(BYTES).read_to_end(&mut bytes)));
    if !matches!(read, Some(Ok(_))) {
        return (format!(" {path} | new, not readable\n"), head);
    }
    if bytes.contains(&0) {
        return (format!(" {path} | new, {} bytes, binary\n", meta.len()), head);
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().fold(String::new(), |lines, line| lines + "+" + line + "\n");
    let rest = if meta.len() > BYTES { format!("({} bytes in all; cut here)\n", meta.len()) } else { String::new() };
    (format!(" {path} | new, {} bytes\n", meta.len()), format!("{head}{lines}{rest}"))
}
