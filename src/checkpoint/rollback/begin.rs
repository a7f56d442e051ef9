//! Puts a tree back to a checkpoint: looks, archives, writes the plan, then does it.
//!
//! Reads the tree; writes vault, ledgers and, by [`settle`](super::finish), the tree. Invariant: whatever is there and will
//! not be there afterwards is in the archive, ignored or not.

use super::finish::{Finished, Trees, finish, finish_again};
use super::plan::{Plan, steps};
use super::{BRIEF, Files, Wanted, fact, ignored, ledgers, warm_up, write};
use crate::checkpoint::capture::{self, Limits};
use crate::checkpoint::form::{Checkpoint, Id, Kind, text};
use crate::checkpoint::restore;
use crate::checkpoint::store::Store;
use crate::checkpoint::tree::delta::{Delta, missing};
use crate::checkpoint::tree::{Artifacts, find, is_foreign, name};
use crate::ledger::open::Ledger;
use crate::model::error::{Code, Failure};
use crate::session::fact::Fact;
use crate::session::fold::Session;
use crate::session::state::RollbackState;
use crate::system::env::Env;
use crate::text::sha256::sha256;
use crate::text::stored::canonical;
use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::Instant;

/// What is to be put back, and by whom.
#[derive(Debug)]
pub struct Order<'a> {
    pub id: &'a Id,
    /// Folders that are not touched.
    pub alone: &'a [String],
    pub by: &'a str,
    /// The loop goes back, the tree stays.
    pub state_only: bool,
}

/// The present beside what it would become.
#[derive(Debug)]
pub struct Preview {
    /// Of its files those that part it from the present; and of the present's those that part it from this.
    pub target: Checkpoint,
    present: Artifacts,
    /// All of the present, as text.
    now: String,
    /// Files that stay although the checkpoint does not know them: its rules ignore them.
    pub leave: Vec<String>,
    alone: Vec<String>,
    /// The target's text.
    text: Vec<u8>,
}

impl Preview {
    pub fn delta(&self) -> Delta<'_> {
        steps(&self.present, &self.target.artifacts, &self.alone, &self.leave)
    }
}

/// What a rollback did.
#[derive(Debug)]
pub struct Outcome {
    pub archive: String,
    pub result: String,
    pub files: usize,
    pub kept_folders: Vec<String>,
}

/// What a rollback to this checkpoint would do now.
pub fn preview(
    env: &Env,
    vault: &Store,
    id: &Id,
    untouched: &[String],
    limits: &Limits,
) -> Result<Preview, Failure> {
    // The checkpoint is read while the tree is walked.
    let (target, walked) = thread::scope(|scope| {
        let target = scope.spawn(|| vault.vouched_but_files(env, id));
        let walked = capture::walk(env, vault, limits, &[]);
        (target.join().unwrap_or_else(|_| vault.vouched_but_files(env, id)), walked)
    });
    let (mut target, text) = target?;
    let left = target.artifacts.left_out.clone();
    let mut present = capture::keep(vault, limits, walked?, &left)?;
    let mut now = apart(&mut present, &mut target.artifacts, &text)?;
    let hidden = hidden(vault, &present, &target.artifacts)?;
    if !hidden.is_empty() {
        present = capture::capture(env, vault, limits, &hidden, &left)?;
        now = apart(&mut present, &mut target.artifacts, &text)?;
    }
    unreachable(&present, &target.artifacts)?;
    let alone = untouched.to_vec();
    let leave = {
        let delta = steps(&present, &target.artifacts, &alone, &[]);
        ignored::then(vault, &delta, || whole(&text))?
    };
    Ok(Preview { target, present, now, leave, alone, text })
}

/// Leaves in both trees only the files in which they part; what is in the text of a checkpoint, and is the same, need not
/// be read. The present as text.
fn apart(present: &mut Artifacts, target: &mut Artifacts, text: &[u8]) -> Result<String, Failure> {
    let now = canonical(present);
    match text::files(text).and_then(|then| text::apart(&now, then)) {
        Some([was, is]) => (present.files, target.files) = (was, is),
        None => target.files = whole(text)?.files,
    }
    let wrong = |why| Failure::new(Code::ChecksumMismatch, why);
    target.problem().map_or(Ok(now), |why| Err(wrong(why)))
}

fn whole(text: &[u8]) -> Result<Artifacts, Failure> {
    let wrong = |why| Failure::new(Code::ChecksumMismatch, why);
    text::unseal(text).map(|checkpoint| checkpoint.artifacts).map_err(wrong)
}

/// What is in the way of the checkpoint's files and was not seen, since it is ignored today.
fn hidden(vault: &Store, present: &Artifacts, target: &Artifacts) -> Result<Vec<String>, Failure> {
    let mut hidden = Vec::new();
    for file in missing(&present.files, &target.files) {
        let below = capture::everything_below(&vault.root, &file.path);
        if let Some(foreign) = below.iter().find(|path| is_foreign(path)) {
            return Err(in_the_way(&file.path, &format!("it holds `{}`", name::shown(foreign))));
        }
        hidden.extend(below);
    }
    let folders = missing(&present.folders, &target.folders);
    for folder in folders.filter(|folder| find(&present.files, &folder.path).is_none()) {
        let below = capture::everything_below(&vault.root, &folder.path);
        hidden.extend(below.into_iter().find(|below| *below == folder.path));
    }
    Ok(hidden)
}

/// Something that cannot be archived stands where a file is to come.
fn unreachable(present: &Artifacts, target: &Artifacts) -> Result<(), Failure> {
    for left in &present.left_out {
        let at = |path: &str| {
            path == left.path || path.strip_prefix(&left.path).is_some_and(|rest| rest.starts_with('/'))
        };
        let alone = find(&target.left_out, &left.path).is_some();
        if !alone
            && (target.files.iter().any(|file| at(&file.path)) || find(&target.folders, &left.path).is_some())
        {
            return Err(in_the_way(&left.path, &left.reason));
        }
    }
    Ok(())
}

fn in_the_way(path: &str, why: &str) -> Failure {
    let what = format!("`{}` is in the way and cannot be archived: {why}", name::shown(path));
    Failure::new(Code::InTheWay, what)
}

/// Everybody who works here stands still, and this is what will be done.
struct Ready {
    ledgers: Vec<Ledger>,
    vault: Store,
    preview: Preview,
    began: Instant,
}

/// Holds all sessions of the tree and looks at it once. A look that takes long is taken first while everybody still works.
fn stand_still(env: &Env, root: &Path, order: &Order) -> Result<Ready, Failure> {
    let vault = Store::look(root)?;
    let mut session_id = vault.map_or(Ok(String::new()), |vault| vault.session_of(order.id))?;
    let mut brief = true;
    loop {
        let mut ledgers = ledgers::open(env, &ledgers::running(env, root, &session_id))?;
        let vault = Store::open(env, root)?;
        if let Some(plan) = Plan::read(&vault)? {
            finish_again(env, &vault, &plan, &mut ledgers.iter_mut().collect::<Vec<_>>())?;
        }
        let began = Instant::now();
        let until = brief.then(|| began + BRIEF);
        match preview(env, &vault, order.id, order.alone, &Limits { until, ..Plan::limits() }) {
            Err(failure) if brief && failure.code == Code::TimedOut => {
                drop(ledgers);
                warm_up(env, &vault, &Plan::limits())?;
                brief = false;
            }
            // Another one by now: nobody was held as that was read.
            Ok(preview) if preview.target.identity.session_id != session_id => {
                session_id = preview.target.identity.session_id;
            }
            done => return Ok(Ready { ledgers, vault, preview: done?, began }),
        }
    }
}

/// The whole of it. `own`: from inside a session's hook, whose ledger that is; else all sessions here are held. `seen` has
/// the last word before anything is written.
pub fn roll_back(
    env: &Env,
    root: &Path,
    order: &Order,
    own: Option<&mut Ledger>,
    seen: &mut dyn FnMut(&Preview) -> Result<(), Failure>,
) -> Result<Outcome, Failure> {
    if let Some(own) = own {
        let vault = Store::open(env, root)?;
        if let Some(plan) = Plan::read(&vault)? {
            finish_again(env, &vault, &plan, &mut [own])?;
        }
        let began = Instant::now();
        let preview = preview(env, &vault, order.id, order.alone, &Plan::limits())?;
        seen(&preview)?;
        return carry_out(env, &vault, order, &mut [own], preview, began);
    }
    let Ready { mut ledgers, vault, preview, began } = stand_still(env, root, order)?;
    seen(&preview)?;
    carry_out(env, &vault, order, &mut ledgers.iter_mut().collect::<Vec<_>>(), preview, began)
}

fn carry_out(
    env: &Env,
    vault: &Store,
    order: &Order,
    ledgers: &mut [&mut Ledger],
    Preview { target, present, now, leave, alone, text }: Preview,
    began: Instant,
) -> Result<Outcome, Failure> {
    let session_id = target.identity.session_id.clone();
    let at = ledgers.iter().position(|ledger| ledger.session().state.session_id == session_id);
    let session = at.map(|at| ledgers[at].session());
    let (mut files, mut archive) = (0, None);
    if !order.state_only {
        let delta = steps(&present, &target.artifacts, &alone, &leave);
        files = delta.files();
        restore::open_dry(vault, &delta)?;
        archive = Some(self::archive(env, vault, session, &target, &now, began)?);
    }
    let archived = archive.as_ref().map(|archive| archive.identity.checkpoint_id.clone()).unwrap_or_default();
    let said = [env.now_ms.to_string(), order.id.to_string(), archived.clone()];
    let plan = Plan {
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
        let told = archive.iter().filter(|_| mine).map(fact);
        let first = Fact::Rollback(plan.told(&target, "", mine, RollbackState::Begun));
        ledger.append(env, told.chain([first]).collect())?;
    }
    plan.commit(vault)?;
    let trees = Trees { archive: archive.map(|_| present), target, text };
    let Finished { result, applied } = finish(env, vault, &plan, ledgers, trees, false)?;
    let result = result.identity.checkpoint_id;
    Ok(Outcome { archive: archived, result, files, kept_folders: applied.kept_folders })
}

/// The present, kept as a checkpoint of its own in the run it leaves.
fn archive(
    env: &Env,
    vault: &Store,
    session: Option<&Session>,
    target: &Checkpoint,
    now: &str,
    began: Instant,
) -> Result<Checkpoint, Failure> {
    let wanted = Wanted {
        run: &target.identity.run_id,
        kind: Kind::Pre,
        phase: session.map_or(target.phase, |session| session.state.phase),
        trigger: "before a rollback",
        about: vec![("target", target.identity.checkpoint_id.clone())],
        tokens: BTreeMap::new(),
        parent: None,
        began,
    };
    write(env, vault, session, &wanted, Files { artifacts: Artifacts::default(), text: Some(now) })
}
