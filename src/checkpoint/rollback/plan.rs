//! The plan of a rollback, written before anything is changed.
//!
//! Stored as `rollback.json` while it runs, and as `rollbacks/<id>.json` afterwards. The steps are not in it: they follow
//! from the two checkpoints that it names, which never change.

use crate::checkpoint::capture::Limits;
use crate::checkpoint::form::{Checkpoint, Id};
use crate::checkpoint::store::{Store, enter, names};
use crate::checkpoint::tree::Artifacts;
use crate::checkpoint::tree::delta::{Delta, diff};
use crate::model::error::{Code, Failure};
use crate::session::state::{RollbackState, Undone};
use crate::system::env::Env;
use crate::system::folder;
use crate::text::stored::canonical;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::io::Write;

const FILE: &str = "rollback.json";
const DONE: &str = "rollbacks";

/// The steps from one tree to another, without the folders `alone` and the files `leave`.
pub(super) fn steps<'a>(start: &'a Artifacts, end: &'a Artifacts, alone: &[String], leave: &[String]) -> Delta<'a> {
    let left = |path: &str| leave.binary_search_by(|known| known.as_str().cmp(path)).is_ok();
    let mut delta = diff(start, end).without(|path| is_below(path, alone));
    delta.removed.retain(|file| !left(&file.path));
    delta
}

/// Whether this is one of these folders, or below one.
pub(super) fn is_below(path: &str, folders: &[String]) -> bool {
    let below = |rest: Option<&str>| rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    folders.iter().any(|folder| below(path.strip_prefix(folder.as_str())))
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Folders that are not touched.
    pub alone: Vec<String>,
    /// Checkpoint of the present; empty where only the loop goes back.
    pub archive: String,
    pub by: String,
    pub id: String,
    /// Files of the archive that stay: the restored tree ignores them.
    pub leave: Vec<String>,
    pub schema: u32,
    pub session_id: String,
    pub target: String,
}

impl Plan {
    /// The plan that has not been finished, if any.
    pub(super) fn read(store: &Store) -> Result<Option<Self>, Failure> {
        let Some((file, long)) = folder::open(&store.dir, FILE, OFlags::RDONLY)? else { return Ok(None) };
        let broken = |why: &dyn std::fmt::Display| Failure::new(Code::ChecksumMismatch, format!("`{FILE}`: {why}"));
        let plan: Self = serde_json::from_slice(&folder::read_at(&file, FILE, 0, long)?).map_err(|e| broken(&e))?;
        if plan.schema == 1 { Ok(Some(plan)) } else { Err(broken(&"has another schema")) }
    }

    /// From here on the rollback will be finished, even if this process is killed.
    pub(super) fn commit(&self, store: &Store) -> Result<(), Failure> {
        store.put(&store.dir, FILE, |file| {
            file.write_all(canonical(self).as_bytes()).and_then(|()| file.sync_data()).map(|()| true)
        })?;
        rustix::fs::fsync(&store.dir).map_err(|e| Failure::storage(FILE, e))
    }

    /// Marks it as done.
    pub(super) fn close(&self, store: &Store) -> Result<(), Failure> {
        let storage = |e: Errno| Failure::storage(DONE, e);
        match rustix::fs::mkdirat(&store.dir, DONE, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(storage(error)),
        }
        let done = enter(&store.dir, DONE)?.ok_or_else(|| storage(Errno::NOENT))?;
        rustix::fs::renameat(&store.dir, FILE, &done, format!("{}.json", self.id)).map_err(storage)?;
        rustix::fs::fsync(&store.dir).map_err(storage)
    }

    /// Whether this rollback was finished.
    pub(super) fn was_done(store: &Store, id: &str) -> Result<bool, Failure> {
        let Some(done) = enter(&store.dir, DONE)? else { return Ok(false) };
        Ok(names(&done)?.contains(&format!("{id}.json")))
    }

    /// Reads a checkpoint that it names, with its text.
    pub(super) fn checkpoint(env: &Env, store: &Store, id: &str) -> Result<(Checkpoint, Vec<u8>), Failure> {
        let id = Id::read(id)
            .ok_or_else(|| Failure::new(Code::ChecksumMismatch, format!("`{FILE}`: `{id}` is not an id")))?;
        store.vouched_text(env, &id)
    }

    /// Its changes to the tree.
    pub(super) fn steps<'a>(&self, archive: &'a Artifacts, target: &'a Artifacts) -> Delta<'a> {
        steps(archive, target, &self.alone, &self.leave)
    }

    /// The ledger's fact of it.
    pub(super) fn told(&self, target: &Checkpoint, result: &str, own: bool, stage: RollbackState) -> Undone {
        Undone {
            archive: self.archive.clone(),
            by: self.by.clone(),
            id: self.id.clone(),
            own,
            phase: target.phase,
            result: result.to_owned(),
            sandbox: target.orchestrator.sandbox,
            stage,
            state_only: self.archive.is_empty(),
            target: self.target.clone(),
            task: target.orchestrator.task_number,
        }
    }

    /// Everything that may be overwritten is archived, whatever its size.
    pub(super) fn limits() -> Limits {
        Limits::none()
    }
}
