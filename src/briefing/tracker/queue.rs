//! Items on their way to the tracker, one file each.
//!
//! Reads and writes `<config>/aops/tracker/`: `queue/` what is to be written, `done/` the id it got, `aside/` what the
//! tracker refused too often. Invariants: a file appears whole or not at all; it leaves `queue/` only after its successor
//! is on the disk; nothing but a person empties `aside/`.

use super::item::{Item, MOST_TRIES, Queued};
use super::{folder, project_hash};
use crate::model::error::{Code, Failure};
use crate::system::env::Env;
use crate::system::files::{make_all, replace_private};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Of one project; more means that no tracker has been there for long.
const MOST_WAITING: usize = 1000;
const LARGEST: u64 = 1 << 20;
const DONE_IS_KEPT: Duration = Duration::from_hours(30 * 24);
const SPARE_IS_KEPT: Duration = Duration::from_hours(1);

/// Put an item in the queue, unless it is there, done or set aside already; gives its key.
pub fn enqueue(env: &Env, project: &Path, item: Item) -> Result<String, Failure> {
    let project = project.to_string_lossy();
    let queued = Queued::new(&project, item, env.now_ms)
        .map_err(|words| Failure::new(Code::InputInvalid, format!("not for the tracker: {words}")))?;
    if ["queue", "done", "aside"].iter().any(|state| path(env, state, &queued).exists()) {
        return Ok(queued.key);
    }
    if names(env, "queue", &project_hash(&project)).len() >= MOST_WAITING {
        let place = folder(env).join("queue");
        let words = format!("{MOST_WAITING} items wait for the tracker already");
        return Err(Failure::storage(place.display(), words));
    }
    store(env, "queue", &queued)?;
    Ok(queued.key)
}

/// The queue of this project, oldest first. An unreadable file is set aside.
pub fn waiting(env: &Env, project: &str) -> Vec<Queued> {
    listed(env, "queue", project)
}

/// What this project's tracker refused for good, with its reason.
pub fn set_aside(env: &Env, project: &str) -> Vec<Queued> {
    listed(env, "aside", project)
}

/// The tracker has it, under this id.
pub fn finish(env: &Env, queued: &Queued, id: &str) -> Result<(), Failure> {
    write(&path(env, "done", queued), id.as_bytes())?;
    remove(&path(env, "queue", queued))
}

/// The tracker refused it.
pub fn refuse(env: &Env, queued: Queued, reason: &str, for_good: bool) -> Result<(), Failure> {
    let queued = queued.refused(reason, env.now_ms);
    if for_good || queued.tries >= MOST_TRIES {
        store(env, "aside", &queued)?;
        return remove(&path(env, "queue", &queued));
    }
    store(env, "queue", &queued)
}

/// Forget what was done long ago; the tracker itself still knows its key.
pub fn prune(env: &Env, project: &str) {
    prune_older(env, "done", &project_hash(project), DONE_IS_KEPT);
    // What a killed process was still writing.
    for state in ["queue", "done", "aside", "."] {
        prune_older(env, state, &format!(".{}", project_hash(project)), SPARE_IS_KEPT);
    }
}

fn prune_older(env: &Env, state: &str, beginning: &str, kept: Duration) {
    let place = folder(env).join(state);
    for path in names(env, state, beginning).iter().map(|name| place.join(name)) {
        let age = fs::metadata(&path).and_then(|known| known.modified()).map(|at| at.elapsed());
        if matches!(age, Ok(Ok(age)) if age > kept) {
            let _ = fs::remove_file(path);
        }
    }
}

fn listed(env: &Env, state: &str, project: &str) -> Vec<Queued> {
    let place = folder(env).join(state);
    let found = names(env, state, &project_hash(project));
    let mut items: Vec<Queued> =
        found.iter().filter_map(|name| read(env, &place.join(name))).filter(|q| q.project == project).collect();
    items.sort_by(|a, b| (a.queued_ms, &a.key).cmp(&(b.queued_ms, &b.key)));
    items
}

fn names(env: &Env, state: &str, beginning: &str) -> Vec<String> {
    let Ok(items) = fs::read_dir(folder(env).join(state)) else { return Vec::new() };
    items.flatten().filter_map(|i| i.file_name().into_string().ok()).filter(|n| n.starts_with(beginning)).collect()
}

fn path(env: &Env, state: &str, queued: &Queued) -> PathBuf {
    folder(env).join(state).join(format!("{}-{}.json", project_hash(&queued.project), queued.key))
}

fn read(env: &Env, path: &Path) -> Option<Queued> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
    let read = serde_json::from_slice::<Queued>(&bytes).ok().filter(|queued| queued.schema == 1);
    if read.is_none() {
        // Written by another program or a later version: keep it, out of the way.
        let aside = folder(env).join("aside");
        let _ = make_all(&aside).map(|()| fs::rename(path, aside.join(path.file_name().unwrap_or_default())));
    }
    read
}

fn store(env: &Env, state: &str, queued: &Queued) -> Result<(), Failure> {
    let path = path(env, state, queued);
    let text = serde_json::to_vec_pretty(queued).map_err(|e| Failure::storage(path.display(), e))?;
    write(&path, &text)
}

/// Atomic and durable: rename and fsync.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let storage = |e: std::io::Error| Failure::storage(path.display(), e);
    let place = path.parent().unwrap_or(Path::new("/"));
    make_all(place)?;
    replace_private(path, bytes).map_err(storage)?;
    File::open(place).and_then(|place| place.sync_all()).map_err(storage)
}

fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Failure::storage(path.display(), error)),
        _ => Ok(()),
    }
}
