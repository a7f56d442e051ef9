//! `index.json`: one row per checkpoint, so that listing reads one file.
//!
//! Reads and writes that file. Derived: a missing or damaged one is made again from the checkpoints.

use super::Store;
use crate::checkpoint::form::{Checkpoint, Id, Kind};
use crate::model::error::Failure;
use crate::model::phase::Phase;
use crate::system::env::Env;
use crate::system::folder;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::Write;

const FILE: &str = "index.json";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    /// Oldest first.
    pub checkpoints: Vec<Row>,
    pub schema: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    pub created_at: String,
    pub digest: String,
    pub id: String,
    pub parent: Option<String>,
    pub phase: Phase,
    pub session_id: String,
    pub trigger: String,
    #[serde(rename = "type")]
    pub kind: Kind,
    pub version: u64,
}

impl Row {
    pub fn of(checkpoint: &Checkpoint) -> Self {
        Self {
            created_at: checkpoint.timing.created_at.clone(),
            digest: checkpoint.digest.clone().unwrap_or_default(),
            id: checkpoint.identity.checkpoint_id.clone(),
            parent: checkpoint.parent.clone(),
            phase: checkpoint.phase,
            session_id: checkpoint.identity.session_id.clone(),
            trigger: checkpoint.trigger().to_owned(),
            kind: checkpoint.kind,
            version: checkpoint.version,
        }
    }

    pub fn run(&self) -> &str {
        self.id.split('/').next().unwrap_or_default()
    }
}

impl Store {
    /// All checkpoints, oldest first.
    pub fn rows(&self) -> Result<Vec<Row>, Failure> {
        if let Some(index) = self.index()? {
            return Ok(index.checkpoints);
        }
        let whole = |id: &Id| self.read(id).ok().as_ref().map(Row::of);
        let mut rows: Vec<Row> = self.files()?.iter().filter_map(whole).collect();
        rows.sort_by(|a, b| (&a.created_at, &a.id).cmp(&(&b.created_at, &b.id)));
        Ok(rows)
    }

    fn index(&self) -> Result<Option<Index>, Failure> {
        let Some((file, long)) = folder::open(&self.dir, FILE, OFlags::RDONLY)? else { return Ok(None) };
        let index = serde_json::from_slice::<Index>(&folder::read_at(&file, FILE, 0, long)?).ok();
        let sound = |index: &Index| index.checkpoints.iter().all(|row| Id::read(&row.id).is_some());
        Ok(index.filter(|index| index.schema == 1).filter(sound))
    }

    pub fn set_rows(&self, rows: Vec<Row>) -> Result<(), Failure> {
        let index = Index { checkpoints: rows, schema: 1 };
        let text = serde_json::to_string_pretty(&index).unwrap_or_default() + "\n";
        // Not synced: after a power loss it is made again.
        self.put(&self.dir, FILE, |file| file.write_all(text.as_bytes()).map(|()| true))
    }

    /// Adds checkpoints whose process was killed before it wrote the index, if they were witnessed; deletes them if not.
    pub(super) fn adopt(&self, env: &Env) -> Result<(), Failure> {
        let index = self.index()?;
        let indexed = index.is_some();
        let mut rows = index.map_or_else(|| self.rows(), |index| Ok(index.checkpoints))?;
        let known: BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        let strays: Vec<Id> = self.files()?.into_iter().filter(|id| !known.contains(id.to_string().as_str())).collect();
        if strays.is_empty() && indexed || strays.is_empty() && rows.is_empty() {
            return Ok(());
        }
        let witnessed = self.witnessed(env)?;
        for id in strays {
            let acknowledged = witnessed.contains_key(&id.to_string());
            match self.read(&id) {
                Ok(checkpoint) if acknowledged => rows.push(Row::of(&checkpoint)),
                _ => self.remove(&id)?,
            }
        }
        self.set_rows(rows)
    }

    /// The version the next one of this name gets.
    pub fn next_version(rows: &[Row], run: &str, kind: Kind, phase: Phase) -> u64 {
        let same = |row: &&Row| row.run() == run && row.kind == kind && row.phase == phase;
        rows.iter().filter(same).map(|row| row.version).max().unwrap_or(0) + 1
    }

    /// Finds a checkpoint by its id, a unique beginning of it, or its id without the run.
    pub fn pick(rows: &[Row], given: &str) -> Result<Id, String> {
        let list = "hint: `aops-hook checkpoint list` shows them all";
        let read = |row: &Row| Id::read(&row.id).ok_or_else(|| format!("`{}` is not an id", row.id));
        if let Some(row) = rows.iter().find(|row| row.id == given) {
            return read(row);
        }
        let meant =
            |row: &&Row| row.id.starts_with(given) || row.id.split_once('/').is_some_and(|(_, name)| name == given);
        let found: Vec<&Row> = rows.iter().filter(meant).filter(|_| !given.is_empty()).collect();
        match found.as_slice() {
            [one] => read(one),
            [] => Err(format!("no checkpoint `{given}`\n{list}")),
            many => Err(format!(
                "`{given}` matches {} checkpoints\nhint: type more of it; `aops-hook checkpoint list` shows them all",
                many.len()
            )),
        }
    }
}
