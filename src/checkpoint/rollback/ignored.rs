//! What the ignore files of a checkpoint said: a file they hid was not of the tree then, and is left alone now.
//!
//! Reads blobs of ignore files. Asked only where one of them is not what it was.

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

/// Those of the removed that `then` ignored.
pub(super) fn then(
    vault: &Store,
    delta: &Delta,
    then: impl Fn() -> Result<Artifacts, Failure>,
) -> Result<Vec<String>, Failure> {
    let changed = delta.changed.iter().map(|(old, _)| *old);
    let mut touched = delta.added.iter().chain(&delta.removed).copied().chain(changed);
    if delta.removed.is_empty() || !touched.any(is_rules) {
        return Ok(Vec::new());
    }
    let rules = rules(vault, &then()?)?;
    let on_disk = |path: &str| vault.root.join(OsStr::from_bytes(&name::bytes(path)));
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

/// The rules of each folder that has some.
fn rules(vault: &Store, tree: &Artifacts) -> Result<BTreeMap<String, Gitignore>, Failure> {
    let mut all = BTreeMap::new();
    for file in tree.files.iter().filter(|file| is_rules(file)) {
        let mut text = Vec::new();
        vault.unpack(&file.sha256.0, &mut text)?;
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let mut builder = GitignoreBuilder::new(vault.root.join(OsStr::from_bytes(&name::bytes(&folder))));
        for line in String::from_utf8_lossy(&text).lines() {
            let _ = builder.add_line(None, line); // git passes over what it cannot read, too
        }
        if let Ok(rules) = builder.build() {
            all.insert(folder, rules);
        }
    }
    Ok(all)
}
