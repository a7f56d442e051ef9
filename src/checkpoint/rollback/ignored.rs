//! The ignore rules of a checkpoint: a file that they hid was not captured, so a rollback leaves it alone.
//!
//! Reads blobs of ignore files, only where one of them differs.

use crate::checkpoint::store::Store;
use crate::checkpoint::tree::delta::Delta;
use crate::checkpoint::tree::name;
use crate::checkpoint::tree::{Artifacts, File};
use crate::model::error::Failure;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

fn is_rules(file: &File) -> bool {
    file.target.is_none() && file.path.rsplit('/').next() == Some(".gitignore")
}

/// The removed files that the ignore rules of the tree `then` hide.
pub(super) fn hidden_by_rules(
    store: &Store,
    delta: &Delta,
    then: impl Fn() -> Result<Artifacts, Failure>,
) -> Result<Vec<String>, Failure> {
    let changed = delta.changed.iter().map(|(old, _)| *old);
    let mut touched = delta.added.iter().chain(&delta.removed).copied().chain(changed);
    if delta.removed.is_empty() || !touched.any(is_rules) {
        return Ok(Vec::new());
    }
    let rules = rules(store, &then()?)?;
    let on_disk = |path: &str| store.root.join(OsStr::from_bytes(&name::bytes(path)));
    let hidden = |path: &str| {
        let mut folder = path;
        loop {
            folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
            let said = rules.get(folder).map(|rules| rules.matched_path_or_any_parents(on_disk(path), false));
            match said {
                Some(said) if !said.is_none() => return said.is_ignore(),
                _ if folder.is_empty() => return false,
                _ => {}
            }
        }
    };
    Ok(delta.removed.iter().filter(|file| hidden(&file.path)).map(|file| file.path.clone()).collect())
}

/// The rules of each folder that has an ignore file.
fn rules(store: &Store, tree: &Artifacts) -> Result<BTreeMap<String, Gitignore>, Failure> {
    let mut all = BTreeMap::new();
    for file in tree.files.iter().filter(|file| is_rules(file)) {
        let mut text = Vec::new();
        store.unpack(&file.sha256.0, &mut text)?;
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let mut builder = GitignoreBuilder::new(store.root.join(OsStr::from_bytes(&name::bytes(&folder))));
        for line in String::from_utf8_lossy(&text).lines() {
            let _ = builder.add_line(None, line); // git skips an invalid line, too
        }
        if let Ok(rules) = builder.build() {
            all.insert(folder, rules);
        }
    }
    Ok(all)
}
