//! Tells by a few looks whether anything that is in force can have changed.
//!
//! Reads sizes, times and numbers of files, never their contents: one look for each file that is there, and a handful in
//! all where nothing is configured. Invariant: an edit, a new file, a removed one or another project moves the stamp.

use super::CONFIG_FILE;
use crate::asset::{self, ASSETS};
use crate::digest::short;
use crate::env::Env;
use std::fmt::Write;
use std::fs::{metadata, read_dir};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// 16 hex digits; equal as long as nothing changed. Compare it with the one of `InForce`.
pub fn stamp(env: &Env, cwd: &Path) -> String {
    of(env, &asset::project(env, cwd))
}

pub(super) fn of(env: &Env, project: &Path) -> String {
    let shipped: usize = ASSETS.iter().map(|asset| asset.text.len()).sum();
    let mut seen = format!("{} {shipped}\n", env!("CARGO_PKG_VERSION"));
    layer(&mut seen, &env.user_config, &["agents", "templates", "workflows"]);
    layer(&mut seen, &project.join(".aops"), &["workflows"]);
    format!("{:016x}", short(&[seen.as_bytes()]))
}

fn layer(seen: &mut String, folder: &Path, folders: &[&str]) {
    if !look(seen, folder) {
        return;
    }
    for file in [CONFIG_FILE, "AXIOMS.md", "WORKFLOWS.md"] {
        look(seen, &folder.join(file));
    }
    for name in folders {
        below(seen, &folder.join(name), *name == "templates");
    }
}

/// Every file of a folder, whatever it is: a stamp that moves too often costs a look, one that stays costs the truth.
fn below(seen: &mut String, folder: &Path, deep: bool) {
    let Ok(items) = read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = items.flatten().map(|item| item.path()).collect();
    paths.sort();
    for path in paths {
        look(seen, &path);
        if deep {
            below(seen, &path, false);
        }
    }
}

/// What a look at one path says; whether something is there.
fn look(seen: &mut String, path: &Path) -> bool {
    seen.push_str(&path.to_string_lossy());
    let there = match metadata(path) {
        Ok(about) => {
            let (m, c) = ((about.mtime(), about.mtime_nsec()), (about.ctime(), about.ctime_nsec()));
            let _ = write!(seen, " {} {} {m:?} {c:?}", about.ino(), about.len());
            true
        }
        Err(error) => {
            let _ = write!(seen, " {:?}", error.kind());
            error.kind() != ErrorKind::NotFound
        }
    };
    seen.push('\n');
    there
}
