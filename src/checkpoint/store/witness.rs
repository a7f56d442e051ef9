//! The digests of checkpoints, kept outside the tree: an edited checkpoint is found.
//!
//! Reads and appends one file per tree below `<config>/aops/checkpoints/`, where no tool call may write. The session's
//! ledger has the same digests; this file also covers checkpoints without a session. A copy of the tree has no such file.

use super::Store;
use crate::checkpoint::form::{Checkpoint, Id, text};
use crate::ledger::session_folder;
use crate::model::error::{Code, Failure};
use crate::system::env::Env;
use crate::system::files;
use crate::system::folder;
use crate::text::sha256::sha256;
use crate::text::stored::canonical;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// One line of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Witness {
    digest: String,
    id: String,
}

/// The file of one tree.
fn name(root: &Path) -> String {
    format!("{}.jsonl", &sha256(&[root.as_os_str().as_bytes()])[..16])
}

fn dir(env: &Env) -> Result<Option<OwnedFd>, Failure> {
    Ok(session_folder::open(env.config.join("aops/checkpoints"))?.map(|place| place.dir))
}

impl Store {
    /// All digests, by id.
    pub fn witnessed(&self, env: &Env) -> Result<BTreeMap<String, String>, Failure> {
        let (name, Some(dir)) = (name(&self.root), dir(env)?) else { return Ok(BTreeMap::new()) };
        let Some((file, long)) = folder::open(&dir, &name, OFlags::RDONLY)? else {
            return Ok(BTreeMap::new());
        };
        let bytes = folder::read_at(&file, &name, 0, long)?;
        let lines = bytes.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice::<Witness>(line).ok());
        Ok(lines.map(|line| (line.id, line.digest)).collect())
    }

    /// Appends the digest of a checkpoint; the caller syncs the file.
    pub fn witness(&self, env: &Env, checkpoint: &Checkpoint) -> Result<Option<File>, Failure> {
        files::make_all(&env.config.join("aops/checkpoints"))?;
        let (name, Some(dir)) = (name(&self.root), dir(env)?) else { return Ok(None) };
        let (mut file, long) = folder::open_or_make(&dir, &name, OFlags::RDWR | OFlags::APPEND)?;
        let id = checkpoint.identity.checkpoint_id.clone();
        let mut line = canonical(&Witness { digest: checkpoint.digest.clone().unwrap_or_default(), id }) + "\n";
        // End a line that a power loss tore.
        if long > 0 && folder::read_at(&file, &name, long - 1, 1)? != b"\n" {
            line.insert(0, '\n');
        }
        file.write_all(line.as_bytes()).map_err(|e| Failure::storage(name, e))?;
        Ok(Some(file))
    }

    /// Deletes all but these.
    pub fn witness_only(&self, env: &Env, kept: &[String]) -> Result<(), Failure> {
        let Some(dir) = dir(env)? else { return Ok(()) };
        let lines = self.witnessed(env)?.into_iter().filter(|(id, _)| kept.contains(id));
        let text: String = lines.map(|(id, digest)| canonical(&Witness { digest, id }) + "\n").collect();
        Ok(folder::replace(&dir, &name(&self.root), ".new", text.as_bytes())?)
    }

    /// Reads a checkpoint and checks it against its witnessed digest.
    pub fn vouched(&self, env: &Env, id: &Id) -> Result<Checkpoint, Failure> {
        self.vouched_text(env, id).map(|(checkpoint, _)| checkpoint)
    }

    /// The same, with its text.
    pub fn vouched_text(&self, env: &Env, id: &Id) -> Result<(Checkpoint, Vec<u8>), Failure> {
        self.vouch(env, id, self.read_text(id)?)
    }

    /// The same; the files are not parsed.
    pub fn vouched_but_files(&self, env: &Env, id: &Id) -> Result<(Checkpoint, Vec<u8>), Failure> {
        self.vouch(env, id, self.read_by(id, text::unseal_but_files)?)
    }

    fn vouch(
        &self,
        env: &Env,
        id: &Id,
        (checkpoint, text): (Checkpoint, Vec<u8>),
    ) -> Result<(Checkpoint, Vec<u8>), Failure> {
        let wrong = |why: &str| Failure::new(Code::ChecksumMismatch, format!("checkpoint `{id}`: {why}"));
        match self.witnessed(env)?.get(&id.to_string()) {
            None => Err(wrong("it was not taken in this folder: a copy, or a forgery")),
            Some(digest) if checkpoint.digest.as_ref() != Some(digest) => {
                Err(wrong("it was edited after it was taken"))
            }
            Some(_) => Ok((checkpoint, text)),
        }
    }
}
