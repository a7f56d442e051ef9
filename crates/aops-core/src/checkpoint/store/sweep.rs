//! Deletes checkpoints, and the contents to which no remaining one refers.
//!
//! Invariants: the contents of a kept checkpoint stay; if one kept checkpoint cannot be read, all contents
//! stay.

use super::Store;
use crate::checkpoint::form::Id;
use crate::checkpoint::store::index::IndexRow;
use crate::model::error::Failure;
use crate::system::env::Env;
use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub struct Swept {
    /// How many contents were deleted, or would be.
    pub contents: usize,
    pub bytes: u64,
    /// Why no contents were deleted.
    pub unread: Option<String>,
}

impl Store {
    /// Keeps these rows and deletes the others; a dry run only counts. `besides`: contents that are needed
    /// for something else than checkpoints.
    pub fn sweep(
        &self,
        env: &Env,
        kept: &[IndexRow],
        gone: &[IndexRow],
        besides: Result<BTreeSet<[u8; 32]>, Failure>,
        dry: bool,
    ) -> Result<Swept, Failure> {
        let live =
            besides.map_err(|failure| failure.to_string()).and_then(|besides| self.live(kept, besides));
        let dead: Vec<[u8; 32]> = match &live {
            Ok(live) => self.blobs()?.into_iter().filter(|blob| !live.contains(blob)).collect(),
            Err(_) => Vec::new(),
        };
        let mut swept = Swept { contents: dead.len(), bytes: 0, unread: live.as_ref().err().cloned() };
        if dry {
            return Ok(swept);
        }
        // First the references, then the contents: if killed in between, only unused contents are left.
        let ids: Vec<String> = kept.iter().map(|row| row.id.clone()).collect();
        self.witness_only(env, &ids)?;
        self.set_rows(kept.to_vec())?;
        for row in gone {
            Id::read(&row.id).map_or(Ok(()), |id| self.remove(&id))?;
        }
        if let Ok(live) = &live {
            self.forget(live)?;
        }
        for blob in &dead {
            swept.bytes += self.drop_blob(blob)?;
        }
        Ok(swept)
    }

    fn live(&self, kept: &[IndexRow], mut live: BTreeSet<[u8; 32]>) -> Result<BTreeSet<[u8; 32]>, String> {
        for row in kept {
            let id = Id::read(&row.id).ok_or_else(|| row.id.clone())?;
            let one = self.read(&id).map_err(|failure| failure.to_string())?;
            live.extend(one.artifacts.files.iter().map(|file| file.sha256.0));
        }
        Ok(live)
    }
}
