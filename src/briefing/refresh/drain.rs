//! Writes queued items to the tracker: each item once, also when a process is killed in between.
//!
//! Asks the tracker for an item's key before it writes the item, so an item that a killed worker
//! wrote is found. Invariant: asking and writing happen under one lock, and the tracker's process inherits it: a write that
//! outlives its worker ends before the next worker asks.

use super::tool::{Tool, trouble};
use super::{lock_file, tracker};
use crate::briefing::tracker::item::{Item, Queued};
use crate::briefing::tracker::{Trouble, Why, answer, queue};
use crate::system::env::Env;
use rustix::io::{FdFlags, fcntl_setfd};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How long an earlier write may still take; then the queue waits for the next look.
const PATIENCE: Duration = Duration::from_secs(4);
/// How much of the tracker's audit file is searched for a record, from its end.
const AUDIT_TAIL: u64 = 32 << 20;

/// The outcome of one item.
enum Fate {
    Written(String),
    Refused(String),
    /// Refused for good.
    Impossible(String),
}

pub(super) fn drain(env: &Env, project: &str, tool: &Tool) -> Result<(), Trouble> {
    let due = |queued: &Queued| queued.next_ms <= env.now_ms;
    let items: Vec<Queued> = queue::waiting(env, project).into_iter().filter(due).collect();
    if items.is_empty() {
        return Ok(());
    }
    let storage = |words: String| trouble(Why::Failed, words);
    let Some(_held) = only_writer(env, project).map_err(|e| storage(e.to_string()))? else {
        return Err(storage("an earlier write in the tracker is still under way".to_owned()));
    };
    for queued in items {
        let kept = match deliver(&queued, tool)? {
            Fate::Written(id) => queue::finish(env, &queued, &id),
            Fate::Refused(reason) => queue::refuse(env, queued, &reason, false),
            Fate::Impossible(reason) => queue::refuse(env, queued, &reason, true),
        };
        kept.map_err(|e| storage(e.to_string()))?;
    }
    Ok(())
}

/// A lock that every program we start inherits.
fn only_writer(env: &Env, project: &str) -> Result<Option<File>, crate::model::error::Failure> {
    let path = tracker::folder(env).join(format!("{}.write", tracker::project_hash(project)));
    let file = lock_file(&path)?;
    let end = Instant::now() + PATIENCE;
    while file.try_lock().is_err() {
        if Instant::now() >= end {
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(10));
    }
    let inherited = fcntl_setfd(&file, FdFlags::empty());
    inherited.map_err(|e| crate::model::error::Failure::storage(path.display(), e))?;
    Ok(Some(file))
}

/// An error means that the tracker is in trouble, not the item.
fn deliver(queued: &Queued, tool: &Tool) -> Result<Fate, Trouble> {
    match &queued.item {
        Item::Issue { title, body, kind, priority, labels } => {
            let search = || found(tool, tool.dialect.find(&queued.key), queued);
            let body = queued.marked(body);
            once(search, || tool.ask(tool.dialect.create(title, &body, kind, *priority, labels), b""))
        }
        Item::Comment { issue, body } => {
            let search = || found(tool, tool.dialect.comments(issue), queued);
            once(search, || tool.ask(tool.dialect.comment(issue, &queued.marked(body)), b""))
        }
        Item::Audit { kind, issue, tool: used, extra } => {
            let Some(arguments) = tool.dialect.audit() else {
                return Ok(Fate::Impossible(format!("`{}` keeps no audit records", tool.version)));
            };
            let mut extra = extra.clone();
            extra.insert("aops_key".to_owned(), queued.key.clone());
            let id = format!("int-{}", queued.key);
            let record =
                serde_json::json!({"id": id, "kind": kind, "issue_id": issue, "tool_name": used, "extra": extra});
            once(|| recorded(tool, &id), || tool.ask(arguments, record.to_string().as_bytes()))
        }
    }
}

/// Looks for the item, else writes it; if the answer holds no id, looks again.
fn once(
    search: impl Fn() -> Result<Option<String>, Trouble>,
    write: impl FnOnce() -> Result<Vec<u8>, Trouble>,
) -> Result<Fate, Trouble> {
    let refused = |trouble: Trouble| match trouble.why {
        Why::Failed => Ok(Fate::Refused(trouble.words)),
        _ => Err(trouble),
    };
    match search() {
        Ok(Some(id)) => return Ok(Fate::Written(id)),
        Ok(None) => {}
        Err(trouble) => return refused(trouble),
    }
    match write().map(|said| answer::id(&said)) {
        Ok(Ok(id)) => Ok(Fate::Written(id)),
        Ok(Err(words)) => Ok(search()?.map_or(Fate::Refused(words), Fate::Written)),
        Err(trouble) => refused(trouble),
    }
}

fn found(tool: &Tool, arguments: Vec<String>, queued: &Queued) -> Result<Option<String>, Trouble> {
    let said = tool.ask(arguments, b"")?;
    answer::holding(&said, &queued.mark()).map_err(|words| tool.not_understood(&words))
}

/// An audit record is a line of a file that no command of the tracker reads.
fn recorded(tool: &Tool, id: &str) -> Result<Option<String>, Trouble> {
    let said = tool.ask(tool.dialect.place(), b"")?;
    let place = answer::field(&said, "path").ok_or_else(|| tool.not_understood("`where` without `path`"))?;
    let Ok(mut file) = File::open(Path::new(&place).join("interactions.jsonl")) else { return Ok(None) };
    let long = file.metadata().map(|known| known.len()).unwrap_or_default();
    let mut tail = Vec::new();
    let read = file
        .seek(SeekFrom::Start(long.saturating_sub(AUDIT_TAIL)))
        .and_then(|_| file.take(AUDIT_TAIL).read_to_end(&mut tail));
    read.map_err(|e| trouble(Why::Failed, format!("`interactions.jsonl`: {e}")))?;
    Ok(memchr::memmem::find(&tail, id.as_bytes()).map(|_| id.to_owned()))
}
