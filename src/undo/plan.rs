//! What a rollback is about to do, written down before it does anything.
//!
//! Stored as `rollback.json` in the vault while it is under way, and as `rollbacks/<id>.json` afterwards. The steps are not
//! in it: they follow from the two checkpoints it names, which never change.

use crate::capture::Limits;
use crate::checkpoint::{Checkpoint, Id};
use crate::env::Env;
use crate::failure::{Code, Failure};
use crate::ledger::folder;
use crate::state::{Stage, Undone, canonical};
use crate::tree::Artifacts;
use crate::vault::{Vault, enter, names};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

const FILE: &str = "rollback.json";
const DONE: &str = "rollbacks";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
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
    pub(super) fn read(vault: &Vault) -> Result<Option<Self>, Failure> {
        let Some((file, long)) = folder::open(&vault.dir, FILE, OFlags::RDONLY)? else { return Ok(None) };
        let broken =
            |why: &dyn std::fmt::Display| Failure::new(Code::ChecksumMismatch, format!("`{FILE}`: {why}"));
        let plan: Self =
            serde_json::from_slice(&folder::read_at(&file, FILE, 0, long)?).map_err(|e| broken(&e))?;
        if plan.schema == 1 { Ok(Some(plan)) } else { Err(broken(&"is of another version")) }
    }

    /// From here on the rollback will be finished, whatever happens.
    pub(super) fn commit(&self, vault: &Vault) -> Result<(), Failure> {
        vault.put(&vault.dir, FILE, canonical(self).as_bytes(), true)?;
        rustix::fs::fsync(&vault.dir).map_err(|e| Failure::storage(FILE, e))
    }

    /// It is done, and stays on record.
    pub(super) fn close(&self, vault: &Vault) -> Result<(), Failure> {
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
    pub(super) fn was_done(vault: &Vault, id: &str) -> Result<bool, Failure> {
        let Some(done) = enter(&vault.dir, DONE)? else { return Ok(false) };
        Ok(names(&done)?.contains(&format!("{id}.json")))
    }

    pub(super) fn checkpoint(env: &Env, vault: &Vault, id: &str) -> Result<Checkpoint, Failure> {
        let id = Id::read(id)
            .ok_or_else(|| Failure::new(Code::ChecksumMismatch, format!("`{FILE}`: `{id}` is no id")))?;
        vault.vouched(env, &id)
    }

    /// The tree it started from, without what stays.
    pub(super) fn start(&self, archive: Artifacts) -> Artifacts {
        let stays = |path: &str| self.leave.iter().any(|left| left == path);
        Artifacts { files: archive.files.into_iter().filter(|file| !stays(&file.path)).collect(), ..archive }
    }

    /// As a session's ledger tells it.
    pub(super) fn told(&self, target: &Checkpoint, result: &str, own: bool, stage: Stage) -> Undone {
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
