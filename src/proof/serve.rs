//! A witness: signs checkpoints of the logs that it knows, each continuing the last one it signed (C2SP `tlog-witness`).
//!
//! Keeps its key and what it signed last in one folder. Invariant: what was signed is on the disk before it is answered, so
//! that it never signs two histories of one log, killed or not.

use super::keys::draw;
use crate::model::error::{Code, Failure};
use crate::system::env::Env;
use crate::system::files::{make_all, replace_private};
use crate::text::sha256::sha256;
use aops_proof::checkpoint::Checkpoint;
use aops_proof::key::{PublicKey, SecretKey, Use};
use aops_proof::witness::{Answer, judge};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct WitnessState {
    folder: PathBuf,
    /// Ed25519, then ML-DSA-44.
    keys: [SecretKey; 2],
    logs: Vec<PublicKey>,
}

impl WitnessState {
    /// Its keys are made where there are none, under this name.
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

    /// What `POST /add-checkpoint` is answered. One caller at a time.
    pub fn answer(&self, env: &Env, body: &str) -> Answer {
        let known = |origin: &str| Checkpoint::parse(&fs::read_to_string(self.path(origin)).ok()?).ok();
        let now = u64::try_from(env.later().now_ms / 1000).unwrap_or(0);
        let answer = judge(body, &self.logs, known, &self.keys, now);
        if let Answer::Signed { checkpoint, .. } = &answer {
            let kept = replace_private(&self.path(&checkpoint.origin), checkpoint.to_string().as_bytes());
            let kept = kept.and_then(|()| fs::File::open(&self.folder)?.sync_all());
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
    if !path.exists() {
        let key = SecretKey::new(name, used, &draw()?).map_err(invalid)?;
        replace_private(path, format!("{}\n", key.stored()).as_bytes()).map_err(storage)?;
    }
    SecretKey::parse(&fs::read_to_string(path).map_err(storage)?).map_err(invalid)
}
