//! Heads of ledgers, kept apart from them: a cut tail is invisible to any chain, but not to a head that was exported.
//!
//! Reads and appends `<config>/aops/heads.jsonl`. Invariant: a line is one append of one write, so parallel sessions never
//! mix; what cannot be read proves nothing and hides nothing else.

use crate::model::error::Failure;
use crate::system::env::Env;
use crate::system::files::make_all;
use crate::system::lock;
use crate::text::stored::canonical;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

/// The newest entry of a session at some moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub blocked: bool,
    pub digest: String,
    /// Name of the project's folder.
    pub project: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(rename = "sequence_number")]
    pub seq: u64,
    pub session_id: String,
    pub ts: String,
}

/// With the wait for the session's own lock this stays below the host's time-out.
const PATIENCE: Duration = Duration::from_secs(2);

/// Above this the file is rewritten with the last head of each session.
const COMPACT_AT: u64 = 1 << 20;

/// The last head of every session, oldest first.
pub fn all(env: &Env) -> Result<Vec<Head>, Failure> {
    let path = env.heads();
    let mut text = Vec::new();
    match open(&path, OpenOptions::new().read(true)).and_then(|f| f.take(64 << 20).read_to_end(&mut text)) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Failure::storage(path.display(), error)),
    }
    let mut heads: Vec<Head> = Vec::new();
    for head in text.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice::<Head>(line).ok()) {
        heads.retain(|old| old.session_id != head.session_id);
        heads.push(head);
    }
    Ok(heads)
}

/// The last head of one session.
pub fn of(env: &Env, trace: &str) -> Result<Option<Head>, Failure> {
    Ok(all(env)?.into_iter().find(|head| head.session_id == trace))
}

pub fn export(env: &Env, head: &Head) -> Result<(), Failure> {
    let path = env.heads();
    let storage = |e: std::io::Error| Failure::storage(path.display(), e);
    make_all(&env.config.join("aops"))?;
    let made = OpenOptions::new().append(true).read(true).create(true).clone();
    // Held while writing, and taken before the file is opened: nobody appends to one that is being replaced.
    let lock = open(&path.with_extension("lock"), &made).map_err(storage)?;
    let _lock = lock::take(lock, "heads.lock", PATIENCE)?;
    let mut file = open(&path, &made).map_err(storage)?;
    let long = file.metadata().map_err(storage)?.len();
    if long > COMPACT_AT {
        return compact(env, head);
    }
    let mut line = canonical(head) + "\n";
    if long > 0 && ends_torn(&file, long) {
        line.insert(0, '\n');
    }
    file.write_all(line.as_bytes()).and_then(|()| file.sync_data()).map_err(storage)
}

/// A plain file of ours: no link is followed, no pipe waited for, and it is private whatever the umask says.
fn open(path: &Path, how: &OpenOptions) -> std::io::Result<File> {
    let safe = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = how.clone().mode(0o600).custom_flags(safe).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(std::io::Error::other("is not a plain file"));
    }
    if meta.mode() & 0o777 != 0o600 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

fn ends_torn(file: &File, long: u64) -> bool {
    let mut last = [b'\n'];
    let _ = std::os::unix::fs::FileExt::read_exact_at(file, &mut last, long - 1);
    last != *b"\n"
}

fn compact(env: &Env, newest: &Head) -> Result<(), Failure> {
    let path = env.heads();
    let storage = |e: std::io::Error| Failure::storage(path.display(), e);
    let mut heads = all(env)?;
    heads.retain(|head| head.session_id != newest.session_id);
    heads.push(newest.clone());
    let text: String = heads.iter().flat_map(|head| [canonical(head), "\n".to_owned()]).collect();
    let spare = path.with_extension("new");
    let mut file =
        open(&spare, OpenOptions::new().write(true).truncate(true).create(true)).map_err(storage)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_data()).map_err(storage)?;
    std::fs::rename(&spare, &path).map_err(storage)
}
