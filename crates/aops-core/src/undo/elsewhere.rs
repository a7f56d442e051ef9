//! Writes what was kept to a separate folder, where a person can look at it.
//!
//! Writes only below that folder. Files of the project have their path relative to its root, others their
//! full path.

use super::bring::goals;
use super::content::fill;
use super::form::{Content, KeptFile};
use super::survey::{Item, Source, below, survey};
use crate::checkpoint::restore::{Body, Opener, put};
use crate::checkpoint::store::{FOLDER, Store};
use crate::checkpoint::tree::name;
use crate::model::error::Failure;
use crate::system::env::Env;
use crate::system::files;
use rustix::fs::{CWD, Mode};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Creates this folder and writes the files to it; returns how many.
pub fn write_to(env: &Env, root: &Path, number: u64, to: &Path) -> Result<usize, Failure> {
    let store = Store::open(env, root)?;
    let survey = survey(env, &store, number, true)?;
    let has_content = |item: &Item| match &item.source {
        Source::Kept(at) => survey.keeping.files[*at].content != Content::Absent,
        Source::Commit(_, path) => path.is_some(),
    };
    let items: Vec<Item> =
        survey.items.iter().filter(|item| has_content(item) && item.is_whole()).cloned().collect();
    let failed = |e: &dyn std::fmt::Display| Failure::storage(to.display(), e);
    files::make_folders(to, 0o755).map_err(|e| failed(&e))?;
    let folder = rustix::fs::openat(CWD, to, FOLDER, Mode::empty()).map_err(|e| failed(&e))?;
    let mut opener = Opener::new(&folder);
    let root = name::text(root.as_os_str().as_bytes()).into_owned();
    let all = goals(env, &store, &survey.keeping, &items)?;
    for file in &all {
        let place = below(&root, &file.path);
        if let Some(above) = place.parent() {
            files::make_folders(&to.join(above), 0o755).map_err(|e| failed(&e))?;
        }
        write(&store, &mut opener, number, file, &name::text(place.as_os_str().as_bytes()))?;
    }
    let table = survey.keeping.crontab.map(|table| KeptFile {
        content: Content::Blob(table),
        mode: 0o600,
        path: "crontab".to_owned(),
        size: 0,
    });
    if let Some(file) = &table {
        write(&store, &mut opener, number, file, "crontab")?;
    }
    Ok(all.len() + usize::from(table.is_some()))
}

fn write(
    store: &Store,
    opener: &mut Opener,
    number: u64,
    file: &KeptFile,
    place: &str,
) -> Result<(), Failure> {
    let bytes = |new: &mut File| fill(store, number, file, new);
    let body = match &file.content {
        Content::Symlink(target) => Body::Target(target),
        _ => Body::Bytes(&bytes),
    };
    put(store, opener, place, &body).map(drop)
}
