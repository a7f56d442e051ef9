//! `index.json`: one row per checkpoint, so that listing reads one file; and the witness of their digests.
//!
//! The index is derived. The witness is one file per tree below `<config>/aops/checkpoints/`, where no tool
//! call may write, so an edited checkpoint is noticed, even one without a session. A copy of the tree has no
//! witness.

use super::{Store, Unseal, read_file};
use crate::checkpoint::form::{Checkpoint, CheckpointKind, Id, text};
use crate::model::error::{Code, Failure};
use crate::model::named::Stored;
use crate::model::trigger::CheckpointTrigger;
use crate::system::env::Env;
use crate::system::{files, folder};
use crate::text::{plain::count, sha256::sha256, stored::canonical};
use rustix::fs::CWD;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const FILE: &str = "index.json";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointIndex {
    /// Oldest first.
    pub checkpoints: Vec<IndexRow>,
    pub schema: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexRow {
    pub created_at: String,
    pub digest: String,
    pub id: String,
    /// The name that a person gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub parent: Option<String>,
    pub phase: String,
    pub session_id: String,
    pub trigger: Stored<CheckpointTrigger>,
    #[serde(rename = "type")]
    pub kind: CheckpointKind,
    pub version: u64,
}

impl IndexRow {
    pub fn of(checkpoint: &Checkpoint) -> Self {
        Self {
            created_at: checkpoint.timing.created_at.clone(),
            digest: checkpoint.digest.clone().unwrap_or_default(),
            id: checkpoint.identity.checkpoint_id.clone(),
            name: checkpoint.metadata.get("name").cloned(),
            parent: checkpoint.parent.clone(),
            phase: checkpoint.phase.clone(),
            session_id: checkpoint.identity.session_id.clone(),
            trigger: checkpoint.trigger(),
            kind: checkpoint.kind,
            version: checkpoint.version,
        }
    }

    pub fn run(&self) -> &str {
        self.id.split('/').next().unwrap_or_default()
    }
}

impl Store {
    pub fn rows(&self) -> Result<Vec<IndexRow>, Failure> {
        if let Some(index) = self.index()? {
            return Ok(index.checkpoints);
        }
        let whole = |id: &Id| self.read(id).ok().as_ref().map(IndexRow::of);
        let mut rows: Vec<IndexRow> = self.files()?.iter().filter_map(whole).collect();
        rows.sort_by(|a, b| (&a.created_at, &a.id).cmp(&(&b.created_at, &b.id)));
        Ok(rows)
    }

    fn index(&self) -> Result<Option<CheckpointIndex>, Failure> {
        let Some(bytes) = read_file(&self.dir, FILE)? else { return Ok(None) };
        let index = serde_json::from_slice::<CheckpointIndex>(&bytes).ok();
        let sound = |index: &CheckpointIndex| index.checkpoints.iter().all(|row| Id::read(&row.id).is_some());
        Ok(index.filter(|index| index.schema == 1).filter(sound))
    }

    pub fn set_rows(&self, rows: Vec<IndexRow>) -> Result<(), Failure> {
        let index = CheckpointIndex { checkpoints: rows, schema: 1 };
        let text = serde_json::to_string_pretty(&index).unwrap_or_default() + "\n";
        // Not synced: after a power loss it is made again.
        self.put(&self.dir, FILE, |file| file.write_all(text.as_bytes()).map(|()| true))
    }

    /// Adds checkpoints whose process was killed before it wrote the index, if they were witnessed; deletes
    /// them if not.
    pub(super) fn adopt(&self, env: &Env) -> Result<(), Failure> {
        let index = self.index()?;
        let indexed = index.is_some();
        let mut rows = index.map_or_else(|| self.rows(), |index| Ok(index.checkpoints))?;
        let known: BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        let strays: Vec<Id> =
            self.files()?.into_iter().filter(|id| !known.contains(id.to_string().as_str())).collect();
        if strays.is_empty() && indexed || strays.is_empty() && rows.is_empty() {
            return Ok(());
        }
        let witnessed = self.witnessed(env)?;
        for id in strays {
            let acknowledged = witnessed.contains_key(&id.to_string());
            match self.read(&id) {
                Ok(checkpoint) if acknowledged => rows.push(IndexRow::of(&checkpoint)),
                _ => self.remove(&id)?,
            }
        }
        self.set_rows(rows)
    }

    /// Finds a checkpoint by its ID, a unique prefix of it or of its run, its ID without the run, its name,
    /// or its position: `latest` or `-1` is the newest, `-2` the one before.
    pub fn pick(rows: &[IndexRow], given: &str) -> Result<Id, String> {
        let list = "`aops-hook checkpoint list` shows them all";
        let listed = given.parse().ok().filter(|n| (1..=rows.len()).contains(n) && !given.starts_with('+'));
        let before = || given.strip_prefix('-').and_then(|n| n.parse().ok());
        let back = if given == "latest" { Some(1) } else { listed.or_else(before) };
        if let Some(back) = back {
            let row = rows.len().checked_sub(back).and_then(|at| rows.get(at));
            let few = || format!("there are only {}\nhint: {list}", count(rows.len(), "checkpoint"));
            return row.and_then(|row| Id::read(&row.id)).ok_or_else(few);
        }
        let name = |row: &IndexRow| {
            row.name.as_deref() == Some(given)
                || row.id.split_once('/').is_some_and(|(_, name)| name == given)
        };
        let short = |row: &IndexRow| {
            let parts = row.id.split_once('/').zip(given.split_once('/'));
            parts.is_some_and(|((run, name), (begins, wanted))| run.starts_with(begins) && name == wanted)
        };
        let meant =
            |row: &&IndexRow| !given.is_empty() && (row.id.starts_with(given) || short(row) || name(row));
        let exact = rows.iter().find(|row| row.id == given);
        let found: Vec<&IndexRow> =
            exact.map_or_else(|| rows.iter().filter(meant).collect(), |row| vec![row]);
        match found.as_slice() {
            [row] => Id::read(&row.id).ok_or_else(|| format!("`{}` is not an id", row.id)),
            [] => Err(format!("no checkpoint `{given}`\nhint: {list}")),
            many => {
                Err(format!("`{given}` matches {} checkpoints\nhint: type more of it; {list}", many.len()))
            }
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct WitnessLine {
    digest: String,
    id: String,
}

fn name(root: &Path) -> String {
    format!("{}.jsonl", &sha256(&[root.as_os_str().as_bytes()])[..16])
}

fn dir(env: &Env) -> Result<Option<OwnedFd>, Failure> {
    Ok(folder::enter(CWD, env.config.join("aops/checkpoints"), false)?)
}

impl Store {
    pub fn witnessed(&self, env: &Env) -> Result<BTreeMap<String, String>, Failure> {
        let Some(dir) = dir(env)? else { return Ok(BTreeMap::new()) };
        let bytes = read_file(&dir, &name(&self.root))?.unwrap_or_default();
        let lines =
            bytes.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice::<WitnessLine>(line).ok());
        Ok(lines.map(|line| (line.id, line.digest)).collect())
    }

    /// Appends the digest of a checkpoint; the caller syncs the file.
    pub fn witness(&self, env: &Env, checkpoint: &Checkpoint) -> Result<Option<File>, Failure> {
        let id = checkpoint.identity.checkpoint_id.clone();
        self.witness_line(env, id, checkpoint.digest.clone().unwrap_or_default())
    }

    /// Appends the digest of anything in this store; the caller syncs the file.
    pub fn witness_line(&self, env: &Env, id: String, digest: String) -> Result<Option<File>, Failure> {
        files::make_all(&env.config.join("aops/checkpoints"))?;
        let (name, Some(dir)) = (name(&self.root), dir(env)?) else { return Ok(None) };
        let line = WitnessLine { digest, id };
        Ok(Some(folder::append_line(&dir, &name, canonical(&line) + "\n")?.0))
    }

    /// Forgets the digests of all checkpoints but these.
    pub fn witness_only(&self, env: &Env, kept: &[String]) -> Result<(), Failure> {
        let Some(dir) = dir(env)? else { return Ok(()) };
        let is_checkpoint = |id: &String| Id::read(id).is_some();
        let lines =
            self.witnessed(env)?.into_iter().filter(|(id, _)| kept.contains(id) || !is_checkpoint(id));
        let text: String = lines.map(|(id, digest)| canonical(&WitnessLine { digest, id }) + "\n").collect();
        Ok(folder::replace(&dir, &name(&self.root), ".new", text.as_bytes())?)
    }

    /// Reads a checkpoint and checks it against its witnessed digest.
    pub fn vouched(&self, env: &Env, id: &Id) -> Result<Checkpoint, Failure> {
        self.vouched_by(env, id, text::unseal).map(|(checkpoint, _)| checkpoint)
    }

    /// The same with this parser from [`text`]; also returns the text.
    pub fn vouched_by(&self, env: &Env, id: &Id, unseal: Unseal) -> Result<(Checkpoint, Vec<u8>), Failure> {
        let (checkpoint, text) = self.read_by(id, unseal)?;
        let wrong = |why: &str| Failure::new(Code::ChecksumMismatch, format!("checkpoint `{id}`: {why}"));
        match self.witnessed(env)?.get(&id.to_string()) {
            None => Err(wrong("it was not taken in this folder: a copy, or a forgery")),
            Some(digest) if checkpoint.digest.as_ref() == Some(digest) => Ok((checkpoint, text)),
            Some(_) => Err(wrong("it was edited after it was taken")),
        }
    }
}
