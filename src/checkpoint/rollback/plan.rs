//! What a rollback is about to do, written down before it does anything.
//!
//! Stored as `rollback.json` in the vault while it is under way, and as `rollbacks/<id>.json` afterwards. The steps are not
//! in it: they follow from the two checkpoints it names, which never change.

use crate::checkpoint::capture::Limits;
use crate::checkpoint::form::{Checkpoint, Id};
use crate::checkpoint::store::{Store, enter, names};
use crate::checkpoint::tree::Artifacts;
use crate::checkpoint::tree::delta::{Delta, part};
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

/// The steps from one tree to another, but for what is in folders that are not touched, and files that stay.
pub(super) fn steps<'a>(
    start: &'a Artifacts,
    end: &'a Artifacts,
    alone: &[String],
    leave: &[String],
) -> Delta<'a> {
    let left = |path: &str| leave.binary_search_by(|known| known.as_str().cmp(path)).is_ok();
    let mut delta = part(start, end).without(|path| is_below(path, alone));
    delta.removed.retain(|file| !left(&file.path));
    delta
}

/// In one of these folders, or one of them.
pub(super) fn is_below(path: &str, folders: &[String]) -> bool {
    let below = |rest: Option<&str>| rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    folders.iter().any(|folder| below(path.strip_prefix(folder.as_str())))
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Folders that are not touched.
    pub alone: Vec<String>,
    /// The present; empty where only the state goes back.
    pub archive: String,
    pub by: String,
    pub id: String,
    /// Files that are in the archive and stay all the same: the restored tree ignores them.
    pub leave: Vec<String>,
    pub schema: u32,
    pub session_id: String,
    pub target: String,
}

impl Plan {
    /// The one under way, if any.
    pub(super) fn read(vault: &Store) -> Result<Option<Self>, Failure> {
        let Some((file, long)) = folder::open(&vault.dir, FILE, OFlags::RDONLY)? else { return Ok(None) };
        let broken =
            |why: &dyn std::fmt::Display| Failure::new(Code::ChecksumMismatch, format!("`{FILE}`: {why}"));
        let plan: Self =
            serde_json::from_slice(&folder::read_at(&file, FILE, 0, long)?).map_err(|e| broken(&e))?;
        if plan.schema == 1 { Ok(Some(plan)) } else { Err(broken(&"is of another version")) }
    }

    /// From here on the rollback will be finished, whatever happens.
    pub(super) fn commit(&self, vault: &Store) -> Result<(), Failure> {
        vault.put(&vault.dir, FILE, |file| {
            file.write_all(canonical(self).as_bytes()).and_then(|()| file.sync_data()).map(|()| true)
        })?;
        rustix::fs::fsync(&vault.dir).map_err(|e| Failure::storage(FILE, e))
    }

    /// It is done, and stays on record.
    pub(super) fn close(&self, vault: &Store) -> Result<(), Failure> {
        let storage = |e: Errno| Failure::storage(DONE, e);
        match rustix::fs::mkdirat(&vault.dir, DONE, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(storage(error)),
        }
        let done = enter(&vault.dir, DONE)?.ok_or_else(|| storage(Errno::NOENT))?;
        rustix::fs::renameat(&vault.dir, FILE, &done, format!("{}.json", self.id)).map_err(storage)?;
        rustix::fs::fsync(&vault.dir).map_err(storage)
    }

    /// A rollback of this name was done here.
    pub(super) fn was_done(vault: &Store, id: &str) -> Result<bool, Failure> {
        let Some(done) = enter(&vault.dir, DONE)? else { return Ok(false) };
        Ok(names(&done)?.contains(&format!("{id}.json")))
    }

    /// A checkpoint it names, with its text.
    pub(super) fn checkpoint(env: &Env, vault: &Store, id: &str) -> Result<(Checkpoint, Vec<u8>), Failure> {
        let id = Id::read(id)
            .ok_or_else(|| Failure::new(Code::ChecksumMismatch, format!("`{FILE}`: `{id}` is no id")))?;
        vault.vouched_text(env, &id)
    }

    /// What it does to the tree.
    pub(super) fn steps<'a>(&self, archive: &'a Artifacts, target: &'a Artifacts) -> Delta<'a> {
        steps(archive, target, &self.alone, &self.leave)
    }

    /// As a session's ledger tells it.
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

    /// Everything that may be overwritten is archived, however large.
    pub(super) fn limits() -> Limits {
        Limits::none()
    }
}
