//! Rolls a tree back to a checkpoint: captures the present, archives it, writes the plan, then applies it.
//!
//! Reads the tree; writes store, ledgers and, through [`finish`](super::finish), the tree. Invariant: every file that will
//! be overwritten or removed is in the archive, ignored or not.

use super::finish::{RollbackPlan, Trees, finish, finish_again, steps};
use super::{BRIEF, Wanted, fact, lock_ledgers, write};
use crate::checkpoint::capture::{self, Limits};
use crate::checkpoint::form::{Checkpoint, Id, text};
use crate::checkpoint::tree::{Artifacts, Delta, find, is_below, is_foreign, missing, name};
use crate::checkpoint::{restore, store::Store};
use crate::ledger::open::Ledger;
use crate::model::error::{Code, Failure};
use crate::session::{fact::Fact, state::RollbackState};
use crate::system::env::Env;
use crate::text::{sha256::sha256, stored::canonical};
use std::path::Path;
use std::thread;
use std::time::Instant;

#[derive(Debug)]
pub struct Order<'a> {
    pub id: &'a Id,
    pub alone: &'a [String],
    pub by: &'a str,
    /// Only the loop goes back; the tree stays.
    pub state_only: bool,
}

/// The present tree and the target of a rollback.
#[derive(Debug)]
pub struct Preview {
    /// Both hold only the files in which they differ.
    pub target: Checkpoint,
    present: Artifacts,
    /// All files of the present, as text.
    now: String,
    /// Files that stay although the checkpoint does not have them: its ignore rules hide them.
    pub leave: Vec<String>,
    alone: Vec<String>,
    text: Vec<u8>,
}

impl Preview {
    pub fn delta(&self) -> Delta<'_> {
        steps(&self.present, &self.target.artifacts, &self.alone, &self.leave)
    }
}

#[derive(Debug)]
pub struct RolledBack {
    pub archive: String,
    pub result: String,
    pub files: usize,
    pub kept_folders: Vec<String>,
}

/// Computes what a rollback to this checkpoint would do now.
pub fn preview(env: &Env, store: &Store, id: &Id, untouched: &[String], limits: &Limits) -> Result<Preview, Failure> {
    // Read the checkpoint while the tree is walked.
    let read = || store.vouched_by(env, id, text::unseal_but_files);
    let (target, walked) = thread::scope(|scope| {
        let target = scope.spawn(read);
        let walked = capture::walk(env, store, limits, &[]);
        (target.join().unwrap_or_else(|_| read()), walked)
    });
    let (mut target, text) = target?;
    let left = target.artifacts.left_out.clone();
    let mut present = capture::keep(store, limits, walked?, &left)?;
    let mut now = reduce_to_differences(&mut present, &mut target.artifacts, &text)?;
    let hidden = find_hidden(store, &present, &target.artifacts)?;
    if !hidden.is_empty() {
        present = capture::capture(env, store, limits, &hidden, &left)?;
        now = reduce_to_differences(&mut present, &mut target.artifacts, &text)?;
    }
    check_reachable(&present, &target.artifacts)?;
    let alone = untouched.to_vec();
    let delta = steps(&present, &target.artifacts, &alone, &[]);
    let leave = capture::hidden_by_rules(store, &delta, || parse_all(&text))?;
    Ok(Preview { target, present, now, leave, alone, text })
}

/// Reduces both trees to the files in which they differ; equal ones are not parsed. Returns the present as text.
fn reduce_to_differences(present: &mut Artifacts, target: &mut Artifacts, text: &[u8]) -> Result<String, Failure> {
    let now = canonical(present);
    match text::files(text).and_then(|then| text::apart(&now, then)) {
        Some([was, is]) => (present.files, target.files) = (was, is),
        None => target.files = parse_all(text)?.files,
    }
    target.problem().map_or(Ok(now), |why| Err(Failure::new(Code::ChecksumMismatch, why)))
}

fn parse_all(text: &[u8]) -> Result<Artifacts, Failure> {
    text::unseal(text).map(|checkpoint| checkpoint.artifacts).map_err(|why| Failure::new(Code::ChecksumMismatch, why))
}

/// Paths where the checkpoint has files, and which the walk skipped because they are ignored now.
fn find_hidden(store: &Store, present: &Artifacts, target: &Artifacts) -> Result<Vec<String>, Failure> {
    let mut hidden = Vec::new();
    for file in missing(&present.files, &target.files) {
        let below = capture::everything_below(&store.root, &file.path);
        if let Some(foreign) = below.iter().find(|path| is_foreign(path)) {
            return Err(in_the_way(&file.path, &format!("it holds `{}`", name::shown(foreign))));
        }
        hidden.extend(below);
    }
    let folders = missing(&present.folders, &target.folders);
    for folder in folders.filter(|folder| find(&present.files, &folder.path).is_none()) {
        let below = capture::everything_below(&store.root, &folder.path);
        hidden.extend(below.into_iter().find(|below| *below == folder.path));
    }
    Ok(hidden)
}

/// Fails where something that cannot be archived is in the place of a file of the target.
fn check_reachable(present: &Artifacts, target: &Artifacts) -> Result<(), Failure> {
    for left in &present.left_out {
        let alone = find(&target.left_out, &left.path).is_some();
        let file = || target.files.iter().any(|file| is_below(&file.path, &left.path));
        if !alone && (file() || find(&target.folders, &left.path).is_some()) {
            return Err(in_the_way(&left.path, &left.reason));
        }
    }
    Ok(())
}

fn in_the_way(path: &str, why: &str) -> Failure {
    let what = format!("`{}` is in the way and cannot be archived: {why}", name::shown(path));
    Failure::new(Code::InTheWay, what)
}

/// All sessions of the tree are locked.
struct Locked {
    ledgers: Vec<Ledger>,
    store: Store,
    preview: Preview,
    began: Instant,
}

/// Locks all sessions of the tree and captures it. A slow capture is first made without locks, to fill the cache.
fn lock_sessions(env: &Env, root: &Path, order: &Order) -> Result<Locked, Failure> {
    let store = Store::look(root)?;
    let mut session_id = store.map_or(Ok(String::new()), |store| store.session_of(order.id))?;
    let mut brief = true;
    loop {
        let mut ledgers = lock_ledgers(env, root, &session_id)?;
        let store = Store::open(env, root)?;
        finish_again(env, &store, &mut ledgers.iter_mut().collect::<Vec<_>>())?;
        let began = Instant::now();
        let until = brief.then(|| began + BRIEF);
        match preview(env, &store, order.id, order.alone, &Limits { until, ..Limits::none() }) {
            Err(failure) if brief && failure.code == Code::TimedOut => {
                drop(ledgers);
                capture::capture(env, &store, &Limits::none(), &[], &[])?;
                brief = false;
            }
            // The checkpoint was replaced before the locks were taken.
            Ok(preview) if preview.target.identity.session_id != session_id => {
                session_id = preview.target.identity.session_id;
            }
            done => return Ok(Locked { ledgers, store, preview: done?, began }),
        }
    }
}

/// Rolls back. `own`: the ledger of the hook that calls; else all sessions of the tree are locked. `seen` can still refuse
/// before anything is written.
pub fn roll_back(
    env: &Env,
    root: &Path,
    order: &Order,
    own: Option<&mut Ledger>,
    seen: &mut dyn FnMut(&Preview) -> Result<(), Failure>,
) -> Result<RolledBack, Failure> {
    if let Some(own) = own {
        let store = Store::open(env, root)?;
        finish_again(env, &store, &mut [own])?;
        let began = Instant::now();
        let preview = preview(env, &store, order.id, order.alone, &Limits::none())?;
        seen(&preview)?;
        return carry_out(env, &store, order, &mut [own], preview, began);
    }
    let Locked { mut ledgers, store, preview, began } = lock_sessions(env, root, order)?;
    seen(&preview)?;
    carry_out(env, &store, order, &mut ledgers.iter_mut().collect::<Vec<_>>(), preview, began)
}

fn carry_out(
    env: &Env,
    store: &Store,
    order: &Order,
    ledgers: &mut [&mut Ledger],
    Preview { target, present, now, leave, alone, text }: Preview,
    began: Instant,
) -> Result<RolledBack, Failure> {
    let session_id = target.identity.session_id.clone();
    let at = ledgers.iter().position(|ledger| ledger.session().state.session_id == session_id);
    let session = at.map(|at| ledgers[at].session());
    let (mut files, mut archive) = (0, None);
    if !order.state_only {
        let delta = steps(&present, &target.artifacts, &alone, &leave);
        files = delta.files();
        restore::check_contents(store, &delta)?;
        let about = vec![("target", target.identity.checkpoint_id.clone())];
        let wanted = Wanted { about, began, ..Wanted::archive(&target, session, "before a rollback") };
        archive = Some(write(env, store, session, &wanted, (Artifacts::default(), Some(&now)))?);
    }
    let archived = archive.as_ref().map(|archive| archive.identity.checkpoint_id.clone()).unwrap_or_default();
    let said = [env.now_ms.to_string(), order.id.to_string(), archived.clone()];
    let plan = RollbackPlan {
        alone,
        id: sha256(&said.each_ref().map(String::as_bytes))[..16].to_owned(),
        archive: archived.clone(),
        by: order.by.to_owned(),
        leave,
        schema: 1,
        session_id,
        target: order.id.to_string(),
    };
    for (n, ledger) in ledgers.iter_mut().enumerate() {
        let mine = at == Some(n);
        let first = Fact::Rollback(plan.fact(&target, "", mine, RollbackState::Begun));
        ledger.append(env, archive.iter().filter(|_| mine).map(fact).chain([first]).collect())?;
    }
    plan.commit(store)?;
    let trees = Trees { archive: archive.map(|_| present), target, text };
    let (result, applied) = finish(env, store, &plan, ledgers, trees, false)?;
    let result = result.identity.checkpoint_id;
    Ok(RolledBack { archive: archived, result, files, kept_folders: applied.kept_folders })
}
