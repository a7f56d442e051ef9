//! Rolls a tree back to a checkpoint: captures the present, archives it, writes the plan, then applies it.
//! Also takes the checkpoints of phase changes, and tells the agent about a rollback.
//!
//! Reads the tree; writes store, ledgers and, through [`finish`](super::finish), the tree. Invariants: every
//! file that will be overwritten or removed is in the archive, ignored or not; a plain tool call changes no
//! phase and costs nothing here; a failed checkpoint becomes a notice and does not stop the work.

use super::finish::{RollbackPlan, Trees, finish, finish_again, steps};
use super::start::{Before, Due, begins_plan, begins_work, due, is_wanted, may_write, root, walked};
use super::{BRIEF, Wanted, fact, lock_ledgers, run_of, sessions_in, used, write};
use crate::checkpoint::capture::{self, Limits, capture};
use crate::checkpoint::form::describe::{RunView, Usage};
use crate::checkpoint::form::{Checkpoint, CheckpointKind, Id, text};
use crate::checkpoint::restore;
use crate::checkpoint::store::{Store, index::IndexRow};
use crate::checkpoint::tree::{Artifacts, Delta, find, is_below, is_foreign, missing, name};
use crate::config::policy::{Interactive, Intervene};
use crate::ledger::open::Ledger;
use crate::model::agent::AgentId;
use crate::model::error::{Code, Failure};
use crate::model::gate_id::GateId;
use crate::model::trigger::CheckpointTrigger;
use crate::model::verdict::{Ruling, Verdict};
use crate::model::{
    event::{Event, EventKind},
    phase::Phase,
};
use crate::session::fact::Fact;
use crate::session::fold::Session;
use crate::session::memory::{BroughtBack, RollbackState, Undone};
use crate::system::env::Env;
use crate::text::{json::cut, plain::count, redact::redact, sha256::sha256, stored::canonical};
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
    /// The run that goes back, in its present state.
    pub view: Option<RunView>,
}

#[derive(Debug)]
pub struct Preview {
    /// This one and `present` contain only the files in which they differ.
    pub target: Checkpoint,
    present: Artifacts,
    /// All present files, as text.
    now: String,
    /// Files that stay although they are not in the checkpoint: its ignore rules hide them.
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

pub fn preview(
    env: &Env,
    store: &Store,
    id: &Id,
    untouched: &[String],
    limits: &Limits,
) -> Result<Preview, Failure> {
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

/// Reduces both trees to the files in which they differ; equal ones are not parsed. Returns the present tree
/// as text.
fn reduce_to_differences(
    present: &mut Artifacts,
    target: &mut Artifacts,
    text: &[u8],
) -> Result<String, Failure> {
    let now = canonical(present);
    match text::files(text).and_then(|then| text::apart(&now, then)) {
        Some([was, is]) => (present.files, target.files) = (was, is),
        None => target.files = parse_all(text)?.files,
    }
    target.problem().map_or(Ok(now), |why| Err(Failure::new(Code::ChecksumMismatch, why)))
}

fn parse_all(text: &[u8]) -> Result<Artifacts, Failure> {
    text::unseal(text)
        .map(|checkpoint| checkpoint.artifacts)
        .map_err(|why| Failure::new(Code::ChecksumMismatch, why))
}

/// Paths for which the checkpoint has files, but which the walk skipped because they are ignored now.
fn find_hidden(store: &Store, present: &Artifacts, target: &Artifacts) -> Result<Vec<String>, Failure> {
    let mut hidden = Vec::new();
    if let Some(file) = target.files.iter().find(|file| store.is_guarded(&file.path)) {
        return Err(in_the_way(&file.path, "nothing is brought back there"));
    }
    for file in missing(&present.files, &target.files) {
        let below = capture::everything_below(&store.root, &file.path);
        if let Some(foreign) = below.iter().find(|path| is_foreign(path) || store.is_guarded(path)) {
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

/// Fails if something that cannot be archived occupies the place of a file of the target.
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

/// Locks all sessions of the tree and captures it. A slow capture is first made without locks, to fill the
/// cache.
fn lock_sessions(env: &Env, root: &Path, order: &Order) -> Result<(Vec<Ledger>, Store, Preview), Failure> {
    let store = Store::look(root)?;
    let mut session_id = store.map_or(Ok(String::new()), |store| store.session_of(order.id))?;
    let mut brief = true;
    loop {
        let mut ledgers = lock_ledgers(env, root, &session_id)?;
        let store = Store::open(env, root)?;
        finish_again(env, &store, &mut ledgers.iter_mut().collect::<Vec<_>>())?;
        let until = brief.then(|| Instant::now() + BRIEF);
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
            done => return Ok((ledgers, store, done?)),
        }
    }
}

/// Rolls back. `own`: the ledger of the calling hook; otherwise all sessions of the tree are locked. `seen`
/// can still refuse before anything is written.
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
        let preview = preview(env, &store, order.id, order.alone, &Limits::none())?;
        seen(&preview)?;
        return carry_out(env, &store, order, &mut [own], preview);
    }
    let (mut ledgers, store, preview) = lock_sessions(env, root, order)?;
    seen(&preview)?;
    carry_out(env, &store, order, &mut ledgers.iter_mut().collect::<Vec<_>>(), preview)
}

fn carry_out(
    env: &Env,
    store: &Store,
    order: &Order,
    ledgers: &mut [&mut Ledger],
    Preview { target, present, now, leave, alone, text }: Preview,
) -> Result<RolledBack, Failure> {
    let session_id = target.identity.session_id.clone();
    let own = ledgers.iter().position(|ledger| ledger.session().state.session_id == session_id);
    let session = own.map(|at| ledgers[at].session());
    let mut files = 0;
    let mut archive = None;
    if !order.state_only {
        let delta = steps(&present, &target.artifacts, &alone, &leave);
        files = delta.files();
        restore::check_contents(store, &delta)?;
        let about = vec![("target", target.identity.checkpoint_id.clone())];
        let view = order.view.clone();
        let at = order.view.as_ref().map(|view| (view.kind, view.current_phase.as_str()));
        let used = own.map(|at| used(ledgers[at])).unwrap_or_default();
        let wanted = Wanted {
            about,
            used,
            view,
            ..Wanted::archive(&target, session, at, CheckpointTrigger::BeforeRollback)
        };
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
        let mine = own == Some(n);
        let first = Fact::Rollback(plan.fact(&target, "", mine, RollbackState::Begun));
        ledger.append(env, archive.iter().filter(|_| mine).map(fact).chain([first]).collect())?;
    }
    plan.commit(store)?;
    let trees = Trees { archive: archive.map(|_| present), target, text };
    let (result, applied) = finish(env, store, &plan, ledgers, trees, false)?;
    let result = result.identity.checkpoint_id;
    Ok(RolledBack { archive: archived, result, files, kept_folders: applied.kept_folders })
}

/// The session before a prompt that may end its task, since the checkpoint of that end describes the old
/// task.
pub fn ended_by(session: &Session, event: &Event) -> Option<Box<Session>> {
    let may_end = event.kind() == EventKind::UserPromptSubmit && walked(session.state.phase);
    let kept = session.policy().checkpoint.interactive != Interactive::Off;
    (may_end && kept).then(|| Box::new(session.clone()))
}

/// Takes the checkpoints that are due after this event, unless that takes longer than `until`. A failure
/// becomes a notice.
pub fn at_phase_change(
    env: &Env,
    ledger: &mut Ledger,
    event: &Event,
    (before, ended): (Before, Option<Box<Session>>),
    ruling: Ruling,
    until: Instant,
) -> Verdict {
    let session = ledger.session();
    let when = session.policy().checkpoint.interactive;
    let mut due = due(when, before, Before::of(session));
    due.retain(|(kind, ..)| is_wanted(session, *kind));
    if when != Interactive::Off && begins_work(session, event) {
        due.push((CheckpointKind::Pre, Phase::Execute, CheckpointTrigger::Start));
    }
    if when != Interactive::Off && session.memory.progress.weight.moved > before.moved {
        due.push((CheckpointKind::Pre, Phase::Execute, CheckpointTrigger::Moved));
    }
    let asks = matches!(ruling, Ruling::Ask | Ruling::Defer) && may_write(session, event);
    if when != Interactive::Off && asks && due.is_empty() {
        due.push((CheckpointKind::Pre, session.state.phase, CheckpointTrigger::Asked));
    }
    if due.is_empty() || env.dry_run {
        return Verdict::pass();
    }
    let Some(root) = root(env, session, event) else { return Verdict::pass() };
    let mends = session.policy().checkpoint.intervene == Intervene::Rollback;
    let failed = due.iter().any(|(_, _, trigger)| *trigger == CheckpointTrigger::Failure)
        && session.state.phase == Phase::Intervene;
    let done = keep(env, ledger, (&root, event, ended), &due, until)
        .and_then(|()| if mends && failed { by_policy(env, ledger, &root) } else { Ok(Verdict::pass()) });
    match done {
        Ok(said) => said,
        Err(failure) => Verdict::notice(
            GateId::Checkpoint,
            format!(
                "no checkpoint was taken, and the work continues: {failure}\nhint: {}",
                failure.code.way_out()
            ),
        ),
    }
}

fn keep(
    env: &Env,
    ledger: &mut Ledger,
    (root, event, mut ended): (&Path, &Event, Option<Box<Session>>),
    due: &[Due],
    until: Instant,
) -> Result<(), Failure> {
    let store = Store::open(env, root)?;
    let limits = Limits { sync: false, until: Some(until), ..Limits::of(ledger.session().policy()) };
    let artifacts = capture(env, &store, &limits, &[], &[])?;
    let run = run_of(ledger.session());
    // A question waits, so we skip reading the long transcript: the checkpoint at the phase's end will
    // contain the usage.
    let asks = due.iter().all(|(_, _, trigger)| *trigger == CheckpointTrigger::Asked);
    let mut used = if asks { Usage::default() } else { used(ledger) };
    // The transcript may not contain them yet.
    let last = event.stopped().filter(|stop| event.agent_id.is_none() && !stop.report.is_empty());
    used.words = last.map(|stop| stop.report.clone()).or(used.words);
    let mut facts = Vec::new();
    if let Some(ended) = &mut ended {
        ended.head.clone_from(&ledger.session().head);
    }
    for (kind, phase, trigger) in due.iter().copied() {
        let session = ended.as_deref().filter(|_| kind == CheckpointKind::Post).unwrap_or(ledger.session());
        let about = describe_trigger(session, trigger);
        let wanted = Wanted { about, used: used.clone(), ..Wanted::new(&run, kind, phase.name(), trigger) };
        let mut taken = fact(&write(env, &store, Some(session), &wanted, (artifacts.clone(), None))?);
        if let Fact::Checkpoint(taken) = &mut taken {
            let begins =
                (kind, phase) == (CheckpointKind::Pre, Phase::Execute) && begins_plan(ledger.session());
            taken.measures = begins || trigger == CheckpointTrigger::Moved;
        }
        facts.push(taken);
    }
    ledger.append(env, facts)
}

/// For a failure its error, for an approval who approved what.
fn describe_trigger(session: &Session, trigger: CheckpointTrigger) -> Vec<(&'static str, String)> {
    let said = |text: &str| redact(cut(text, 500)).into_owned();
    match trigger {
        CheckpointTrigger::Failure => {
            vec![("error", said(&session.memory.progress.plan.problems.join("; ")))]
        }
        CheckpointTrigger::Approval => {
            let intent = session.state.hydration.hydrated_intent.as_deref().unwrap_or_default();
            vec![("approved", said(intent)), ("approved_by", AgentId::Critic.to_string())]
        }
        _ => Vec::new(),
    }
}

/// `checkpoint.intervene`: rolls work with issues back to where it began. Configuration and settings stay.
/// Does nothing if another session works in the tree.
fn by_policy(env: &Env, ledger: &mut Ledger, root: &Path) -> Result<Verdict, Failure> {
    let own = ledger.session().state.session_id.clone();
    let word = |text: String| Ok(Verdict::notice(GateId::Checkpoint, text));
    if sessions_in(env, root, "").iter().any(|on_disk| on_disk.session_id != own) {
        return word(
            "issues were found; the tree was not rolled back, since another session works in it".to_owned(),
        );
    }
    let run = run_of(ledger.session());
    let rows = Store::open(env, root)?.rows()?;
    let began = |row: &&IndexRow| {
        use CheckpointTrigger::{Approval, Phase as OfPhase, Start};
        let by_loop = matches!(row.trigger.known(), Some(OfPhase | Approval | Start));
        row.run() == run && row.kind == CheckpointKind::Pre && row.phase == Phase::Execute.name() && by_loop
    };
    let Some(id) = rows.iter().rfind(began).and_then(|row| Id::read(&row.id)) else {
        return Ok(Verdict::pass());
    };
    let alone = [".aops".to_owned(), ".claude".to_owned()];
    let order = Order {
        id: &id,
        alone: &alone,
        by: "the policy `checkpoint.intervene`",
        state_only: false,
        view: None,
    };
    let done = roll_back(env, root, &order, Some(ledger), &mut |_| Ok(()))?;
    word(format!(
        "issues were found: the tree was rolled back to `{id}` ({})\nhint: to get the work back, run `aops-hook checkpoint rollback {}`",
        count(done.files, "file"),
        done.archive
    ))
}

/// Tells the main agent once about a rollback, or about what a person restored.
pub fn tell(session: &Session, event: &Event, verdict: Verdict) -> (Verdict, Option<Fact>) {
    let Some(told) = to_tell(session) else { return (verdict, None) };
    let hears = event.kind().row().context && event.agent_id.is_none() && verdict.ruling != Ruling::Deny;
    if !hears || session.blocked().is_some() {
        return (verdict, None);
    }
    let (words, told) = told;
    (verdict.join(Verdict::context(GateId::Rollback, words)), Some(told))
}

/// The text, and the fact that it was said.
fn to_tell(session: &Session) -> Option<(String, Fact)> {
    if let Some(brought) = &session.memory.undo.brought_back {
        let BroughtBack { files, number, .. } = *brought;
        let are =
            if files == 1 { "is no longer as you last saw it" } else { "are no longer as you last saw them" };
        let files = if files == 0 { String::new() } else { format!(": {} {are}", count(files, "file")) };
        let words = format!(
            "the user restored what was saved as {number}{files}\n\
             hint: read files again before you change them"
        );
        return Some((words, Fact::Undo(BroughtBack { told: true, ..brought.clone() })));
    }
    let undone = session.memory.undo.rolled_back.as_deref()?;
    let what = if undone.state_only {
        format!(
            "{} put the loop back to the checkpoint `{}`; the files did not change",
            undone.by, undone.target
        )
    } else {
        format!(
            "{} rolled the working tree back to the checkpoint `{}`: files are no longer as you last saw them, and what was made since was removed from the tree (kept as `{}`)",
            undone.by, undone.target, undone.archive
        )
    };
    let words = format!(
        "{what}\nhint: read files again before you change them; the later phases have to be repeated"
    );
    Some((words, Fact::Rollback(Undone { stage: RollbackState::Told, ..undone.clone() })))
}
