//! A witness: signs checkpoints of the logs that it knows, each continuing the last one that it signed (C2SP
//! `tlog-witness`).
//!
//! Keeps its key and the last signed checkpoints in one folder. Invariant: a signed checkpoint is on the disk
//! before the answer, so that the witness never signs two histories of one log, even if it is killed.

use super::keys::draw;
use crate::model::error::{Code, Failure};
use crate::system::env::Env;
use crate::system::files::{self, make_all, replace_private};
use crate::system::limits;
use crate::text::sha256::sha256;
use aops_proof::checkpoint::Checkpoint;
use aops_proof::key::{PublicKey, SecretKey, Use};
use aops_proof::witness::{Answer, judge};
use std::cell::Cell;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct WitnessState {
    folder: PathBuf,
    /// Ed25519, then ML-DSA-44.
    keys: [SecretKey; 2],
    logs: Vec<PublicKey>,
}

impl WitnessState {
    /// Its keys are made under this name if there are none.
    pub fn open(folder: &Path, name: &str, logs: Vec<PublicKey>) -> Result<Self, Failure> {
        make_all(folder)?;
        let key = key_file(&folder.join("witness.key"), name, Use::Cosignature)?;
        let ml_dsa = key_file(&folder.join("ml-dsa.key"), &key.public().name, Use::MlDsa)?;
        Ok(Self { folder: folder.to_owned(), keys: [key, ml_dsa], logs })
    }

    pub fn keys(&self) -> [&PublicKey; 2] {
        self.keys.each_ref().map(SecretKey::public)
    }

    fn path(&self, origin: &str) -> PathBuf {
        self.folder.join(format!("{}.checkpoint", &sha256(&[origin.as_bytes()])[..32]))
    }

    /// The answer to `POST /add-checkpoint`. One caller at a time.
    pub fn answer(&self, env: &Env, body: &str) -> Answer {
        let is_odd = Cell::new(false);
        let known = |origin: &str| match files::read_text(self.path(origin)) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            read => {
                let known = read.ok().and_then(|text| Checkpoint::parse(&text).ok());
                is_odd.set(known.is_none());
                known
            }
        };
        let now = u64::try_from(env.later().now_ms / 1000).unwrap_or(0);
        let answer = judge(body, &self.logs, known, &self.keys, now);
        // Otherwise any history would count as the first one.
        if is_odd.get() {
            return Answer::Malformed("what this witness signed last cannot be read".to_owned());
        }
        if let Answer::Signed { checkpoint, .. } = &answer {
            let kept = replace_private(&self.path(&checkpoint.origin), checkpoint.to_string().as_bytes());
            let kept = kept.and_then(|()| files::sync_folder(&self.folder));
            if let Err(error) = kept {
                return Answer::Malformed(format!("it could not be stored: {error}"));
            }
        }
        answer
    }
}

fn key_file(path: &Path, name: &str, used: Use) -> Result<SecretKey, Failure> {
    let storage = |e| Failure::storage(path.display(), e);
    let invalid = |what| Failure::new(Code::InputInvalid, what);
    limits::keep_secrets();
    if !path.exists() {
        let key = SecretKey::new(name, used, &draw()?).map_err(invalid)?;
        replace_private(path, format!("{}\n", key.stored()).as_bytes()).map_err(storage)?;
    }
    SecretKey::parse(&files::read_text(path).map_err(storage)?).map_err(invalid)
}
