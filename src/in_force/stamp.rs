//! Tells by a few looks whether anything that is in force can have changed.
//!
//! Reads sizes, times and numbers of files, never their contents: one look for each file that is there, and a handful in
//! all where nothing is configured. Invariant: an edit, a new file, a removed one or another project moves the stamp.

use super::text::{AXIOMS, files};
use super::{CONFIG_FILE, root};
use crate::asset::ASSETS;
use crate::digest::short;
use crate::env::Env;
use crate::policy::Layer;
use std::fmt::Write;
use std::fs::metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// 16 hex digits; equal as long as nothing changed. Compare it with the one of `InForce`.
pub fn stamp(env: &Env, cwd: &Path) -> String {
    of(env, root(env, cwd).as_deref())
}

pub(super) fn of(env: &Env, project: Option<&Path>) -> String {
    let shipped: usize = ASSETS.iter().map(|asset| asset.text.len()).sum();
    let mut seen = format!("{} {shipped}\n", env!("CARGO_PKG_VERSION"));
    layer(&mut seen, &env.user_config, Layer::User);
    if let Some(root) = project {
        layer(&mut seen, &root.join(".aops"), Layer::Project);
    }
    format!("{:016x}", short(&[seen.as_bytes()]))
}

fn layer(seen: &mut String, folder: &Path, layer: Layer) {
    if !look(seen, folder) {
        return;
    }
    look(seen, &folder.join(CONFIG_FILE));
    look(seen, &folder.join(AXIOMS));
    match files(folder, layer) {
        Ok(mut files) => {
            files.sort();
            for (_, path) in files {
                look(seen, &path);
            }
        }
        Err(problem) => seen.push_str(&problem.what),
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
