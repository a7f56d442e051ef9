//! The queue of what we want to write to the tracker, one file per item.
//!
//! Reads and writes `<config>/aops/tracker/`: `queue/` has the items to write, `done/` their new IDs,
//! `aside/` the items that the tracker refused too often. The key is the digest of project and content, so
//! the same item exists only once; if it should exist several times, include the session or the time.
//! Invariants: an item contains no secret and no NUL, and fits into an argument; a file appears completely or
//! not at all; it leaves `queue/` only after its successor is on the disk; only a person empties `aside/`.

use super::dialect::{KEY_MARK, OUR_LABEL, clean};
use super::{folder, project_hash};
use crate::model::error::{Code, Failure};
use crate::system::env::Env;
use crate::system::files::{self, make_all, replace_private};
use crate::text::json::cut;
use crate::text::plain::plain;
use crate::text::redact::redact;
use crate::text::sha256::sha256;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Item {
    Issue { title: String, body: String, kind: String, priority: u8, labels: Vec<String> },
}

/// A queued item, in its stored form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    pub schema: u32,
    pub key: String,
    pub project: String,
    pub queued_ms: i64,
    pub item: Item,
    pub tries: u32,
    pub next_ms: i64,
    pub reason: Option<String>,
}

/// After this many refusals an item is set aside for a person.
const MOST_TRIES: u32 = 8;

const LONGEST_BODY: usize = 32 << 10;
const LONGEST_TITLE: usize = 200;
const LONGEST_WORD: usize = 60;

impl Queued {
    pub fn new(project: &str, item: Item, now_ms: i64) -> Result<Self, String> {
        let item = item.bounded()?;
        let content = serde_json::to_string(&item).map_err(|e| e.to_string())?;
        let key = sha256(&[project.as_bytes(), b"\0", content.as_bytes()])[..32].to_owned();
        let project = project.to_owned();
        Ok(Self { schema: 1, key, project, queued_ms: now_ms, item, tries: 0, next_ms: 0, reason: None })
    }

    /// Refused once more: the pause before the next try doubles.
    #[must_use]
    pub fn refused(self, reason: &str, now_ms: i64) -> Self {
        let pause = 15_000_i64 << self.tries.min(10);
        Self { tries: self.tries + 1, next_ms: now_ms + pause, reason: Some(clean(reason, 300)), ..self }
    }

    /// A line that is added to the text, so that the item can be found again.
    pub fn mark(&self) -> String {
        format!("{KEY_MARK}{}", self.key)
    }

    pub fn marked(&self, body: &str) -> String {
        format!("{}\n\n{}", body.trim_end(), self.mark())
    }
}

impl Item {
    /// The item without secrets, NUL bytes and overlong text, with the label that keeps it out of the
    /// backlog.
    fn bounded(self) -> Result<Self, String> {
        let Item::Issue { title, body, kind, priority, mut labels } = self;
        if !labels.iter().any(|label| label == OUR_LABEL) {
            labels.insert(0, OUR_LABEL.to_owned());
        }
        let word = |text: String| clean(&text, LONGEST_WORD);
        Ok(Item::Issue {
            title: Some(clean(&title, LONGEST_TITLE)).filter(|t| !t.is_empty()).ok_or("no title")?,
            body: text(&body),
            kind: word(kind),
            priority: priority.min(4),
            labels: labels.into_iter().map(|label| word(label).replace(',', " ")).collect(),
        })
    }
}

/// Text of several lines, without secrets and control characters.
fn text(text: &str) -> String {
    let redacted = redact(text);
    let mut out = plain(&redacted).into_owned();
    if out.len() > LONGEST_BODY {
        out.truncate(cut(&out, LONGEST_BODY).len());
        out.push_str("\n[shortened]");
    }
    out
}

/// Per project; more means that there has been no tracker for a long time.
const MOST_WAITING: usize = 1000;
const LARGEST: u64 = 1 << 20;
const DONE_IS_KEPT: Duration = Duration::from_hours(30 * 24);
const SPARE_IS_KEPT: Duration = Duration::from_hours(1);

/// Queues an item, unless it is already queued, done or set aside; returns its key.
pub fn enqueue(env: &Env, project: &Path, item: Item) -> Result<String, Failure> {
    let project = project.to_string_lossy();
    let queued = Queued::new(&project, item, env.now_ms)
        .map_err(|words| Failure::new(Code::InputInvalid, format!("not for the tracker: {words}")))?;
    if ["queue", "done", "aside"].iter().any(|state| path(env, state, &queued).exists()) {
        return Ok(queued.key);
    }
    if names(env, "queue", &project_hash(&project)).len() >= MOST_WAITING {
        let place = folder(env).join("queue");
        let words = format!("{MOST_WAITING} items wait for the tracker already");
        return Err(Failure::storage(place.display(), words));
    }
    store(env, "queue", &queued)?;
    Ok(queued.key)
}

/// The queue of this project, oldest first. An unreadable file is set aside.
pub fn waiting(env: &Env, project: &str) -> Vec<Queued> {
    list(env, "queue", project)
}

/// The tracker has the item, under this ID.
pub fn finish(env: &Env, queued: &Queued, id: &str) -> Result<(), Failure> {
    write(&path(env, "done", queued), id.as_bytes())?;
    remove(&path(env, "queue", queued))
}

pub fn refuse(env: &Env, queued: Queued, reason: &str) -> Result<(), Failure> {
    let queued = queued.refused(reason, env.now_ms);
    if queued.tries >= MOST_TRIES {
        store(env, "aside", &queued)?;
        return remove(&path(env, "queue", &queued));
    }
    store(env, "queue", &queued)
}

/// Forgets items that were done long ago; the tracker itself still knows their keys.
pub fn prune(env: &Env, project: &str) {
    prune_older(env, "done", &project_hash(project), DONE_IS_KEPT);
    // Files that a killed process was still writing.
    for state in ["queue", "done", "aside", "."] {
        prune_older(env, state, &format!(".{}", project_hash(project)), SPARE_IS_KEPT);
    }
}

fn prune_older(env: &Env, state: &str, beginning: &str, kept: Duration) {
    let place = folder(env).join(state);
    for path in names(env, state, beginning).iter().map(|name| place.join(name)) {
        let age = fs::metadata(&path).and_then(|known| known.modified()).map(|at| at.elapsed());
        if matches!(age, Ok(Ok(age)) if age > kept) {
            let _ = fs::remove_file(path);
        }
    }
}

/// This project's items in one of the folders, oldest first.
pub fn list(env: &Env, state: &str, project: &str) -> Vec<Queued> {
    let place = folder(env).join(state);
    let found = names(env, state, &project_hash(project));
    let mut items: Vec<Queued> = found
        .iter()
        .filter_map(|name| read(env, &place.join(name)))
        .filter(|q| q.project == project)
        .collect();
    items.sort_by(|a, b| (a.queued_ms, &a.key).cmp(&(b.queued_ms, &b.key)));
    items
}

fn names(env: &Env, state: &str, beginning: &str) -> Vec<String> {
    let Ok(items) = fs::read_dir(folder(env).join(state)) else { return Vec::new() };
    items
        .flatten()
        .filter_map(|i| i.file_name().into_string().ok())
        .filter(|n| n.starts_with(beginning))
        .collect()
}

fn path(env: &Env, state: &str, queued: &Queued) -> PathBuf {
    folder(env).join(state).join(format!("{}-{}.json", project_hash(&queued.project), queued.key))
}

fn read(env: &Env, path: &Path) -> Option<Queued> {
    let mut bytes = Vec::new();
    files::open(path).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
    let read = serde_json::from_slice::<Queued>(&bytes).ok().filter(|queued| queued.schema == 1);
    if read.is_none() {
        // Another program or a later version wrote it, so keep it in `aside`.
        let aside = folder(env).join("aside");
        let _ = make_all(&aside).map(|()| fs::rename(path, aside.join(path.file_name().unwrap_or_default())));
    }
    read
}

fn store(env: &Env, state: &str, queued: &Queued) -> Result<(), Failure> {
    let path = path(env, state, queued);
    let text = serde_json::to_vec_pretty(queued).map_err(|e| Failure::storage(path.display(), e))?;
    write(&path, &text)
}

/// Atomic and durable: rename and fsync.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let storage = |e: std::io::Error| Failure::storage(path.display(), e);
    let place = path.parent().unwrap_or(Path::new("/"));
    make_all(place)?;
    replace_private(path, bytes).map_err(storage)?;
    files::sync_folder(place).map_err(storage)
}

fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::storage(path.display(), error))
        }
        _ => Ok(()),
    }
}
