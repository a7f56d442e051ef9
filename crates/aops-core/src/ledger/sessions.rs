//! The sessions on disk: by ID, by the beginning of an ID, or the one meant in this project; and a full check
//! of one session.
//!
//! Reads session folders, writes nothing. Invariants: a folder that cannot be read is still listed; a session
//! whose folder is gone is still known by its exported head.

use crate::ledger::chain::Walk;
use crate::ledger::clients;
use crate::ledger::entry::Line;
use crate::ledger::exporting;
use crate::ledger::heads::{self, Head};
use crate::ledger::lock::Lock;
use crate::ledger::recent;
use crate::ledger::recover::{self, LEDGER_FILE, SessionFiles, StateFile};
use crate::ledger::session_folder::{self, Search, SessionFolder, SessionKey, dashed, is_session_folder};
use crate::model::error::{Code, Failure};
use crate::session::fold::Session;
use crate::session::state::State;
use crate::system::env::{Env, boot_id};
use crate::system::{folder, threads};
use crate::text::json;
use crate::text::sha256::{sha256, trace_id};
use crate::text::time;
use rustix::fs::OFlags;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

#[derive(Clone, Debug)]
pub struct SessionOnDisk {
    pub session_id: String,
    pub path: PathBuf,
    pub changed: SystemTime,
}

#[derive(Debug)]
pub struct Checked {
    pub session: Session,
    pub torn_bytes: u64,
    pub failure: Option<Failure>,
    /// The first damaged entry.
    pub seq: Option<u64>,
}

/// Every session folder of every project, newest last.
pub fn all(env: &Env) -> Vec<SessionOnDisk> {
    let mut found: Vec<SessionOnDisk> = env.all_projects().into_iter().flat_map(in_project).collect();
    found.sort_by_key(|session| session.changed);
    found
}

pub fn in_project(project: PathBuf) -> Vec<SessionOnDisk> {
    let names = std::fs::read_dir(project).into_iter().flatten().flatten();
    let ours = names.filter(|item| item.file_name().to_str().is_some_and(is_session_folder));
    ours.filter_map(|item| on_disk(item.path())).collect()
}

/// Every session of this session's project, including itself.
pub fn beside(session: &SessionOnDisk) -> Vec<SessionOnDisk> {
    session.path.parent().map(|project| in_project(project.to_owned())).unwrap_or_default()
}

/// The state of the newest other session of the same project. Reads one state file. `notes`: see `recent`.
pub fn newest_beside(own: &Path, notes: bool) -> Option<Box<State>> {
    let place = session_folder::open(recent::newest_beside(own, notes)?).ok()??;
    Some(in_place(&place)?.state.into_inner())
}

/// The session in this folder; `None` if none was recorded yet.
pub fn on_disk(path: PathBuf) -> Option<SessionOnDisk> {
    let place = session_folder::open(path.clone()).ok()??;
    let changed = std::fs::symlink_metadata(path.join(LEDGER_FILE)).and_then(|m| m.modified());
    let session_id = match StateFile::read(&place.dir) {
        Ok(StateFile::Whole(session, _)) => Some(session.state.into_inner().session_id),
        _ => first_name(&place),
    };
    // Opened, but never written to: nothing was acknowledged.
    if session_id.is_none() && std::fs::symlink_metadata(path.join(LEDGER_FILE)).is_ok_and(|m| m.len() == 0) {
        return None;
    }
    Some(SessionOnDisk {
        session_id: session_id.unwrap_or_default(),
        path,
        changed: changed.unwrap_or(SystemTime::UNIX_EPOCH),
    })
}

fn first_name(place: &SessionFolder) -> Option<String> {
    let (file, long) = folder::open(&place.dir, LEDGER_FILE, OFlags::RDONLY).ok()??;
    let bytes = folder::read_at(&file, LEDGER_FILE, 0, long.min(64 << 10)).ok()?;
    let line = Line::read(bytes.split(|b| *b == b'\n').next()?)?;
    Some(json::read(line.trace_id).ok()?.text()?.into_owned())
}

/// The session with this ID or prefix. Without one, a session of the project that contains the working
/// directory: the newest whose client is alive, otherwise the newest of all.
pub fn pick(env: &Env, given: Option<&str>) -> Result<SessionOnDisk, String> {
    let Some(given) = given else { return chosen_here(env) };
    let trace = trace_id(given);
    let mut found = all(env);
    let is_it = |session: &SessionOnDisk| session.session_id == trace;
    if let Some(first) = found.iter().position(is_it) {
        // Of two ledgers the exported one counts.
        let project =
            exported(env, given).map(|head| head.project).filter(|_| found[first + 1..].iter().any(is_it));
        let counts = |session: &SessionOnDisk| {
            session.path.parent().and_then(Path::file_name) == project.as_deref().map(AsRef::as_ref)
        };
        let at = found.iter().position(|session| is_it(session) && counts(session));
        return Ok(found.swap_remove(at.unwrap_or(first)));
    }
    found.retain(|session| !given.is_empty() && session.session_id.starts_with(given));
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(format!("no session `{given}`\nhint: `aops-hook sessions` lists them")),
        many => Err(format!(
            "{} session ids begin with `{given}`\nhint: type more of it; `aops-hook sessions` lists them",
            many.len()
        )),
    }
}

fn chosen_here(env: &Env) -> Result<SessionOnDisk, String> {
    for folder in env.cwd.ancestors() {
        let projects = env.projects_named(&dashed(&folder.to_string_lossy()));
        let all: Vec<SessionOnDisk> = projects.into_iter().flat_map(in_project).collect();
        if let Some(newest) = newest(all.clone()) {
            let boot = boot_id();
            return Ok(if is_live(&newest, &boot) {
                newest
            } else {
                newest_live(all, &boot).unwrap_or(newest)
            });
        }
    }
    Err("no session in this project yet\nhint: `aops-hook sessions` lists those of all projects".to_owned())
}

/// While a person sits at another client, they do not mean an ended run of `claude -p`.
fn newest_live(mut all: Vec<SessionOnDisk>, boot: &str) -> Option<SessionOnDisk> {
    all.retain(|found| is_live(found, boot));
    newest(all)
}

fn is_live(found: &SessionOnDisk, boot: &str) -> bool {
    session(found).is_some_and(|session| clients::is_live(&session, boot))
}

/// The session whose client was active last. Actions of a person, such as lifting a block, do not make a
/// session newer, although they change its file; so we also look at all others that may have been active
/// after it.
fn newest(mut all: Vec<SessionOnDisk>) -> Option<SessionOnDisk> {
    all.sort_by_key(|session| std::cmp::Reverse(session.changed));
    let mut best: Option<(SystemTime, SessionOnDisk)> = None;
    for session in all {
        if best.as_ref().is_some_and(|(at, _)| *at >= session.changed) {
            break;
        }
        let at = last_of_client(&session).unwrap_or(session.changed).min(session.changed);
        if best.as_ref().is_none_or(|(known, _)| at > *known) {
            best = Some((at, session));
        }
    }
    best.map(|(_, session)| session)
}

/// Facts made by a person, or for a person who looks at the session.
const OF_PERSONS: [&str; 8] =
    ["block", "unblock", "task", "waiver", "insights", "checkpoint", "rollback", "undo"];

/// When the client was last active, according to the end of the ledger.
fn last_of_client(session: &SessionOnDisk) -> Option<SystemTime> {
    const END: u64 = 32 << 10;
    let place = session_folder::open(session.path.clone()).ok()??;
    let (file, long) = folder::open(&place.dir, LEDGER_FILE, OFlags::RDONLY).ok()??;
    let bytes = folder::read_at(&file, LEDGER_FILE, long.saturating_sub(END), long.min(END)).ok()?;
    let mut lines = bytes.rsplit(|b| *b == b'\n').filter_map(Line::read);
    let last = lines.find(|line| !OF_PERSONS.contains(&line.kind))?;
    let ms = time::parse(last.ts)?.max(0).cast_unsigned();
    Some(SystemTime::UNIX_EPOCH + Duration::from_millis(ms + 1))
}

/// The exported head of a session, whose folder may be gone.
pub fn exported(env: &Env, given: &str) -> Option<Head> {
    heads::at(env).newest(&trace_id(given)).ok()?
}

/// The state file, if it can be trusted.
pub fn state(found: &SessionOnDisk) -> Option<Box<State>> {
    Some(session(found)?.state.into_inner())
}

/// The same, including what the gates remember.
pub fn session(found: &SessionOnDisk) -> Option<Session> {
    in_place(&session_folder::open(found.path.clone()).ok()??)
}

/// The session that a hook with these fields would find.
pub fn find(env: &Env, key: SessionKey) -> Option<Session> {
    first(key.search(env), &trace_id(key.session_id))
}

/// The same, if any of these projects may contain it.
pub fn find_near(env: &Env, session_id: &str, projects: Vec<PathBuf>) -> Option<Session> {
    first(Search::new(env, session_id, projects), &trace_id(session_id))
}

fn first(mut search: Search, trace: &str) -> Option<Session> {
    while let Some((place, _)) = search.next_place().ok()? {
        if let Some(session) = in_place(&place).filter(|session| session.state.session_id == trace) {
            return Some(session);
        }
    }
    None
}

/// The session with this ID and its folder, wherever it began: searched in the projects of this folder and of
/// its parents, then by its ID alone. An error if its folder exists but the content proves nothing.
pub fn find_anywhere(env: &Env, session_id: &str, cwd: &Path) -> Result<Option<(PathBuf, Session)>, Failure> {
    if session_id.is_empty() {
        return Ok(None);
    }
    let trace = trace_id(session_id);
    let here = cwd.ancestors().map(|folder| env.projects().join(dashed(&folder.to_string_lossy())));
    let mut search = Search::new(env, session_id, here.collect()).of_any_client();
    while let Some((place, _)) = search.next_place()? {
        if let Some(session) = proven(&place, &trace)? {
            return Ok(Some((place.path, session)));
        }
    }
    Ok(None)
}

/// The session in this folder, if it is the right one and the ledger still contains the entry with which its
/// state was written.
fn proven(place: &SessionFolder, trace: &str) -> Result<Option<Session>, Failure> {
    let gone = || Failure::storage(place.path.join(LEDGER_FILE).display(), "no longer exists");
    // Read without the lock: a hook may replace the state meanwhile, so try again.
    for _ in 0..3 {
        let state_file = StateFile::read_unproven(&place.dir)?;
        let (file, long) = match (folder::open(&place.dir, LEDGER_FILE, OFlags::RDONLY)?, &state_file) {
            (Some((_, 0)) | None, StateFile::Missing) => return Ok(None),
            (opened, _) => opened.ok_or_else(gone)?,
        };
        let StateFile::Whole(session, witness) = state_file else { continue };
        if session.state.session_id != trace {
            return Ok(None);
        }
        let dir = &place.dir;
        let files =
            SessionFiles { dir, file: &file, trace, long, head: None, lapsed: 0, boot: "", dry_run: true };
        if files.holds(&session, &witness)? {
            return Ok(Some(*session));
        }
    }
    let what = format!("the state and the ledger in `{}` do not agree", place.path.display());
    Err(Failure::new(Code::RecoveryFailed, what))
}

fn in_place(place: &SessionFolder) -> Option<Session> {
    // Read without the lock: a hook may replace the file meanwhile, so try again.
    (0..3).find_map(|_| match StateFile::read(&place.dir) {
        Ok(StateFile::Whole(session, _)) => Some(*session),
        _ => None,
    })
}

/// Reads the whole ledger and compares it with the state and the exported head. Writes nothing.
pub fn check(env: &Env, found: &SessionOnDisk) -> Result<Checked, Failure> {
    check_locked(env, found, false)
}

/// The same; `locked`: the caller holds the session's lock.
pub fn check_locked(env: &Env, found: &SessionOnDisk, locked: bool) -> Result<Checked, Failure> {
    check_against(&heads::at(env).all(&found.session_id)?, found, locked)
}

/// The same with all heads of the session, which were read before.
pub fn check_against(heads: &[Head], found: &SessionOnDisk, locked: bool) -> Result<Checked, Failure> {
    let place = session_folder::existing(&found.path)?;
    let (state_file, opened) = {
        // Held only while the two are read: entries appended later do not matter here.
        let _lock = if locked { None } else { Lock::of_reader(&place.dir) };
        (StateFile::read(&place.dir)?, folder::open(&place.dir, LEDGER_FILE, OFlags::RDONLY)?)
    };
    let (file, long) = opened.ok_or_else(|| Failure::storage(found.path.display(), "no longer exists"))?;
    let trace = found.session_id.as_str();
    let boot = boot_id();
    let (head, lapsed) = heads::proving_among(heads, &boot);
    let files =
        SessionFiles { dir: &place.dir, file: &file, trace, long, head, lapsed, boot: &boot, dry_run: true };
    let mut walk = Walk::new(Session::default(), trace, 0);
    files.vouch(&state_file, &mut walk);
    for older in heads {
        walk.vouch(older.seq, &older.digest);
    }
    let mut bad = None;
    let (torn_bytes, failure) = match walk_all(&mut walk, &file, long, trace, &mut bad) {
        Ok(torn) => {
            (torn, files.witnessed(&state_file, &walk).err().or_else(|| state_file.contradicts(&walk)))
        }
        Err(failure) => (0, Some(files.explain(failure, &state_file))),
    };
    let seq = failure.as_ref().map(|_| bad.unwrap_or(walk.folded.seq + 1));
    Ok(Checked { session: walk.folded, torn_bytes, failure, seq })
}

/// The exported heads of an intact ledger must exist, too. `sealed_to`: entries up to this one are in the
/// log, to which they were added after their heads were exported.
pub fn check_heads(
    env: &Env,
    found: &SessionOnDisk,
    session: &Session,
    sealed_to: u64,
) -> Result<(), Failure> {
    let newest = heads::at(env).all(&found.session_id)?.last().map_or(0, |head| head.seq);
    if newest >= session.memory.proof.synced {
        return Ok(());
    }
    let place = session_folder::existing(&found.path)?;
    match folder::open(&place.dir, LEDGER_FILE, OFlags::RDONLY)? {
        Some((file, long)) => exporting::check_heads(&file, long, newest, sealed_to),
        None => Ok(()),
    }
}

/// Sessions of which only the exported head is left, oldest first, without those that a person removed.
pub fn lost(env: &Env) -> Vec<Head> {
    let names: BTreeSet<String> = all(env).iter().filter_map(|found| hash_in(&found.path)).collect();
    let is_there = |head: &Head| {
        let digest = sha256(&[head.session_id.as_bytes()]);
        [8, 16].iter().any(|width| names.contains(&digest[..*width]))
    };
    let every = heads::at(env).every().unwrap_or_default().into_values();
    let mut gone: Vec<Head> = every.filter(|head| head.seq > 0 && !is_there(head)).collect();
    gone.sort_by(|one, other| one.ts.cmp(&other.ts));
    gone
}

/// The hash of the ID in a folder's name.
fn hash_in(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_str()?.split_once('-')?.1.to_owned())
}

/// Reads the parts between snapshots in parallel. A part ends with the snapshot with which the next one
/// begins, so a snapshot counts only if the entries before it lead to it. `bad`: the first wrong entry.
fn walk_all(
    walk: &mut Walk,
    file: &File,
    long: u64,
    trace: &str,
    bad: &mut Option<u64>,
) -> Result<u64, Failure> {
    let snapshots = recover::snapshots(file, long, trace).into_iter().filter(|(at, _)| *at < long);
    let rest = snapshots.map(|(at, session)| walk.from_snapshot(session, at));
    let parts: Vec<Walk> = std::iter::once(walk.clone()).chain(rest).collect();
    let ends = parts.iter().skip(1).map(|part| part.bytes).chain([long]);
    let parts: Vec<(usize, &Walk, u64)> =
        parts.iter().zip(ends).enumerate().map(|(n, (part, end))| (n, part, end)).collect();
    let mut walked =
        threads::map(&parts, |(n, part, end)| Some((*n, walk_part((*part).clone(), file, *end))));
    walked.sort_by_key(|(n, _)| *n);
    let mut torn = 0;
    for (_, (part, result)) in walked {
        *walk = part;
        torn = result.map_err(|(failure, seq)| {
            *bad = seq;
            failure
        })?;
    }
    Ok(torn)
}

/// Continues this walk up to `end`. Returns the number of bytes after the last batch, or what is wrong and
/// with which entry.
fn walk_part(mut walk: Walk, file: &File, end: u64) -> (Walk, Result<u64, (Failure, Option<u64>)>) {
    let mut window = 1 << 20;
    loop {
        let want = (end - walk.bytes).min(window);
        let bytes = match folder::read_at(file, LEDGER_FILE, walk.bytes, want) {
            Ok(bytes) => bytes,
            Err(failure) => return (walk, Err((failure.into(), None))),
        };
        let last = walk.bytes + want == end;
        match walk.feed(&bytes) {
            Err(damage) => return (walk, Err((Failure::from(damage.clone()), Some(damage.seq)))),
            Ok(done) if last => {
                let rest = &bytes[done..];
                let torn = recover::check_tear(&walk, rest).map(|()| rest.len() as u64);
                return (walk, torn.map_err(|failure| (failure, None)));
            }
            Ok(0) => window *= 2, // a batch longer than the window
            Ok(_) => {}
        }
    }
}
