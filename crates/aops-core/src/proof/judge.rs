//! Everything that we can say about one session: its ledger, its heads, what the log proves about it, and
//! what is missing although something remembers it.
//!
//! Reads ledgers, heads and log, writes nothing. Invariants: if anything is damaged or missing there is no
//! tier; what is missing is an alarm as long as keys, a head, a ledger, the log or a checkpoint elsewhere
//! remembers it.

use super::check::{self, Examined, Trust};
use super::record::Record;
use super::remembered;
use super::store::{self, Store};
use super::tier::{self, Level, Lost, Tier};
use crate::ledger::heads::{self, Head};
use crate::ledger::recover::LEDGER_FILE;
use crate::ledger::sessions::{self, Checked, SessionOnDisk};
use crate::model::error::{Code, Failure};
use crate::session::fold::Session;
use crate::system::env::Env;
use crate::system::files;
use crate::text::plain::count;
use crate::text::sha256::Sum;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::thread;

#[derive(Debug)]
pub struct Judged {
    pub checked: Checked,
    tier: Tier,
    pub faults: Vec<String>,
    /// What is missing, and who remembers it.
    pub gone: Vec<String>,
}

impl Judged {
    pub fn is_ok(&self) -> bool {
        self.checked.failure.is_none() && self.faults.is_empty() && self.gone.is_empty()
    }

    /// A damaged session has no tier.
    pub fn tier(&self) -> Option<&Tier> {
        Some(&self.tier).filter(|_| self.is_ok())
    }

    /// What the log proves, for programs: how far it is signed, even if it is damaged.
    pub fn to_json(&self) -> Value {
        self.tier.to_json(self.is_ok())
    }

    pub fn level(&self) -> Option<Level> {
        self.tier().map(|tier| tier.level)
    }
}

/// Judges one session alone. The ledger is read in parallel with the log.
pub fn judge(env: &Env, trust: &Trust, found: &SessionOnDisk) -> Result<Judged, Failure> {
    let (checked, log) = thread::scope(|scope| {
        let log = scope.spawn(|| look_at_log(env, trust, &found.path));
        (check(env, found, false), log.join())
    });
    let bug = |_| Failure::new(Code::StorageFailed, "a bug in aops-hook: the log was not checked");
    let (log, digests) = log.map_err(bug)?;
    let mut judged = of_session(env, log.as_ref(), digests, found, checked);
    judged.gone.extend(gone(env, log.as_ref()));
    judged.gone.extend(unaccounted(env, log.as_ref()));
    judged.gone.dedup();
    judged.faults = log.map(|log| log.faults).unwrap_or_default();
    Ok(judged)
}

/// The log, and the digests of a ledger to search for in it. The log is read first: entries recorded
/// meanwhile are then in the ledger, and not missed there.
pub fn look_at_log(env: &Env, trust: &Trust, folder: &Path) -> (Option<Examined>, Vec<Sum>) {
    let log = check::examine(env, trust);
    (log, tier::digests(folder).unwrap_or_default())
}

/// Checks the ledger and its heads. `locked`: the caller holds the session's lock.
pub fn check(env: &Env, found: &SessionOnDisk, locked: bool) -> Checked {
    // `gone` reports heads that cannot be read; the ledger is checked anyway.
    let heads = heads::at(env).all(&found.session_id).unwrap_or_default();
    sessions::check_against(&heads, found, locked).unwrap_or_else(|failure| {
        let is_there = found.path.join(LEDGER_FILE).symlink_metadata().is_ok();
        let head = heads.last().filter(|head| head.seq > 0 && !is_there);
        let what = |head: &Head| format!("the ledger is missing, but entry {} was exported", head.seq);
        let failure = head.map_or(failure, |head| Failure::new(Code::RecoveryFailed, what(head)));
        Checked { session: Session::default(), torn_bytes: 0, failure: Some(failure), seq: Some(1) }
    })
}

/// Also uses the log: a ledger that contradicts it is damaged, and so is one whose heads are missing.
pub fn of_session(
    env: &Env,
    log: Option<&Examined>,
    mut digests: Vec<Sum>,
    found: &SessionOnDisk,
    mut checked: Checked,
) -> Judged {
    let entries = checked.session.seq;
    digests.truncate(usize::try_from(entries).unwrap_or(usize::MAX));
    let record = Store::look(env).ok().flatten().map(|store| Record::of(&store, &found.session_id));
    let tier = match log {
        Some(log) => Tier::of(log, &record.unwrap_or_default(), &digests),
        None => Tier::without(entries, "there is no log: `aops-hook key init` makes the key that signs it"),
    };
    if checked.failure.is_none() && tier.missing > 0 {
        let what = format!(
            "the log has {} of this session that its ledger does not have",
            count(tier.missing, "entry")
        );
        checked.failure = Some(Failure::new(Code::RecoveryFailed, what));
        checked.seq = Some(tier.sealed_to + 1);
    }
    if checked.failure.is_none() && heads::at(env).look().is_ok() {
        checked.failure = sessions::check_heads(env, found, &checked.session, tier.sealed_to).err();
    }
    let signed = checked.session.memory.proof.log.as_ref();
    let lacks = signed.and_then(|signed| lacks(log, &signed.origin, signed.size, &found.session_id));
    Judged { checked, tier, faults: Vec::new(), gone: lacks.into_iter().collect() }
}

/// What this session remembers of a log, and which part of it is missing.
pub fn lacks(log: Option<&Examined>, origin: &str, size: u64, session_id: &str) -> Option<String> {
    let has = log.filter(|log| log.origin == origin).map(|log| log.leaves.len() as u64);
    if has.is_some_and(|has| has >= size)
        || log.is_some_and(|log| log.instead.iter().any(|gone| gone == origin))
    {
        return None;
    }
    let who = format!("session `{session_id}` remembers {} in it", count(size, "entry"));
    Some(match has {
        Some(has) => format!("the log `{origin}` has {has}, but {who}"),
        None => format!("the log `{origin}` is missing, but {who}"),
    })
}

/// Which of this machine's records are missing, apart from the sessions that exist.
pub fn gone(env: &Env, log: Option<&Examined>) -> Vec<String> {
    let mut gone = Vec::new();
    match heads::at(env).look() {
        Err(failure) => gone.push(format!("`heads.jsonl` cannot be read: {failure}")),
        Ok(()) if heads::at(env).are_gone() => {
            gone.push("`heads.jsonl` is missing, but what was kept next to it is still there".to_owned());
        }
        Ok(()) => {}
    }
    let logs = remembered::by_heads(env);
    gone.extend(logs.iter().filter_map(|(origin, (size, id))| lacks(log, origin, *size, id)));
    gone.extend(late(env));
    gone
}

/// Sessions that disappeared before their entries were added to the log.
fn late(env: &Env) -> Vec<String> {
    let notes = fs::read_dir(store::path(env).join(store::LATE)).into_iter().flatten().flatten();
    let is_gone = |(folder, trace): &(String, String)| {
        let removed = sessions::exported(env, trace).is_some_and(|head| head.seq == 0);
        !removed && !Path::new(folder).join(LEDGER_FILE).exists()
    };
    let read =
        |path| files::read_text(path).ok()?.split_once('\n').map(|(at, id)| (at.to_owned(), id.to_owned()));
    let found = notes.filter_map(|note| read(note.path())).filter(is_gone);
    found
        .map(|(_, id)| format!("session `{id}` is missing, and its entries had not reached the log yet"))
        .collect()
}

/// Entries in the log that are in no ledger of this machine: a history that it vouches for was cut, of this
/// session or another one.
pub fn unaccounted(env: &Env, log: Option<&Examined>) -> Vec<String> {
    let (Some(log), Ok(Some(store))) = (log, Store::look(env)) else { return Vec::new() };
    let lost = tier::lost(log, &store, &sessions::all(env)).into_iter();
    lost.map(|(id, entries, who)| {
        let whose =
            id.map_or_else(|| "a session that nothing names".to_owned(), |id| format!("session `{id}`"));
        format!("{whose} has {} in {who} and nowhere else", count(entries, "entry"))
    })
    .collect()
}

/// Sessions with entries in the log or in an exported head that exist nowhere else.
pub fn lost(env: &Env, log: Option<&Examined>, all: &[SessionOnDisk]) -> Vec<Lost> {
    let mut lost = match (log, Store::look(env).ok().flatten()) {
        (Some(log), Some(store)) => tier::lost(log, &store, all),
        _ => Vec::new(),
    };
    for head in sessions::lost(env) {
        if !lost.iter().any(|(id, ..)| id.as_ref() == Some(&head.session_id)) {
            lost.push((Some(head.session_id), head.seq, "its exported head"));
        }
    }
    lost
}
