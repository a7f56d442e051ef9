//! Takes checkpoints and rolls back to them: tree, store, and the ledgers of the sessions that work there.
//!
//! Joins `capture`, `store`, `restore` and `ledger`. Lock order: ledgers first, then the store, because a
//! hook already holds its ledger. Invariants: a checkpoint is witnessed before it is reported; what would be
//! overwritten is archived first; an interrupted rollback is finished or dropped by the next command or
//! event.

mod finish;
mod start;
mod begin;

pub use begin::{Order, Preview, RolledBack, at_phase_change, ended_by, preview, roll_back, tell};
pub use finish::{finish_pending, resume};
pub use start::{Before, root};

use crate::checkpoint::capture::{Limits, capture};
use crate::checkpoint::form::describe::{self, RunView, Usage};
use crate::checkpoint::form::{
    Checkpoint, CheckpointKind, Id, Identity, SCHEMA, Timing, ToolInvocation, text,
};
use crate::checkpoint::store::{Store, read_file};
use crate::checkpoint::{store::index::IndexRow, tree::Artifacts};
use crate::host::claude::transcript;
use crate::ledger::session_folder::{self, dashed};
use crate::ledger::sessions::{self, SessionOnDisk};
use crate::ledger::{entry::Line, open::Ledger, recover::LEDGER_FILE};
use crate::model::agent::bare;
use crate::model::error::{Code, Failure};
use crate::model::trigger::CheckpointTrigger;
use crate::session::fact::{Fact, Step, Taken};
use crate::session::fold::Session;
use crate::session::phase_end::PhaseChange;
use crate::system::env::Env;
use crate::text::sha256::{NO_DIGEST, file_name};
use crate::text::time::{self, timestamp};
use memchr::memmem;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// How long sessions are locked while their tree is captured; their hooks wait a few seconds.
pub const BRIEF: Duration = Duration::from_secs(1);

/// Keys in the metadata of a run's checkpoint: its step, and the loop's phase in it.
pub const STEP: &str = "step";
pub const LOOP_PHASE: &str = "loop_phase";

#[derive(Debug)]
pub struct Wanted<'a> {
    pub run: &'a str,
    pub kind: CheckpointKind,
    pub phase: &'a str,
    pub trigger: CheckpointTrigger,
    /// Metadata in addition to the trigger.
    pub about: Vec<(&'static str, String)>,
    pub used: Usage,
    /// The run, if a driver knows it.
    pub view: Option<RunView>,
    /// `None`: the last checkpoint of its run.
    pub parent: Option<String>,
    /// When the phase began; `None`: with this checkpoint.
    pub started: Option<String>,
}

impl<'a> Wanted<'a> {
    pub fn new(run: &'a str, kind: CheckpointKind, phase: &'a str, trigger: CheckpointTrigger) -> Self {
        let about = Vec::new();
        let used = Usage::default();
        Self { run, kind, phase, trigger, about, used, view: None, parent: None, started: None }
    }

    /// The present state, which a rollback to `target` is about to overwrite. It is kept in the target's run,
    /// and named after the present phase of that run or session. `at` is that phase in a run, which has
    /// phases of its own.
    fn archive(
        target: &'a Checkpoint,
        session: Option<&Session>,
        at: Option<(CheckpointKind, &'a str)>,
        trigger: CheckpointTrigger,
    ) -> Self {
        let of_loop =
            session.filter(|_| !target.metadata.contains_key(STEP)).map(|session| session.state.phase.name());
        let (kind, phase) = at.unwrap_or((CheckpointKind::Post, of_loop.unwrap_or(&target.phase)));
        Self::new(&target.identity.run_id, kind, phase, trigger)
    }
}

pub fn run_of(session: &Session) -> String {
    file_name(&session.state.session_id)
}

/// The files of a checkpoint, and their text if known.
type FilesAndText<'a> = (Artifacts, Option<&'a str>);

/// Writes a checkpoint of these files to the store, the witness file and the index. The caller writes the
/// ledger.
fn write(
    env: &Env,
    store: &Store,
    session: Option<&Session>,
    wanted: &Wanted,
    (artifacts, text): FilesAndText,
) -> Result<Checkpoint, Failure> {
    let mut rows = store.rows()?;
    let (id, parent) = number(&rows, wanted)?;
    let described = describe_now(env, store, session.unwrap_or(&Session::default()), wanted);
    let identity = Identity { checkpoint_id: id.to_string(), ..described.identity };
    let checkpoint = Checkpoint { artifacts, identity, parent, version: id.version, ..described };
    let (checkpoint, text) = text::seal(checkpoint, text);
    // Only both together make a valid checkpoint, so they are synced at the same time.
    let witness = store.witness(env, &checkpoint)?;
    store.write(&id, &text, witness.as_ref())?;
    rows.push(IndexRow::of(&checkpoint));
    store.set_rows(rows)?;
    Ok(checkpoint)
}

/// The ID of the next checkpoint, and the previous one.
fn number(rows: &[IndexRow], wanted: &Wanted) -> Result<(Id, Option<String>), Failure> {
    let of_run = |row: &&IndexRow| row.run() == wanted.run;
    let same = |row: &&IndexRow| of_run(row) && row.kind == wanted.kind && row.phase == wanted.phase;
    let version = rows.iter().filter(same).map(|row| row.version).max().unwrap_or(0) + 1;
    let id = Id::new(wanted.run, wanted.kind, wanted.phase, version);
    let id = id.ok_or_else(|| {
        Failure::new(Code::InputInvalid, format!("`{}` is not a name of a run", wanted.run))
    })?;
    let last = || rows.iter().rfind(of_run).map(|row| row.id.clone());
    Ok((id, wanted.parent.clone().or_else(last)))
}

/// Everything but the files and the ID.
fn describe_now(env: &Env, store: &Store, session: &Session, wanted: &Wanted) -> Checkpoint {
    let created_at = timestamp(env.now_ms);
    let (mut orchestrator, governance) = match &wanted.view {
        Some(view) => describe::describe_run(session, view),
        None => (describe::describe_loop(session), describe::describe_gates(session)),
    };
    if orchestrator.policy_hash.is_empty() {
        NO_DIGEST.clone_into(&mut orchestrator.policy_hash);
    }
    let entered = wanted.used.entered.get(wanted.phase).filter(|_| wanted.kind == CheckpointKind::Post);
    let started_at = wanted.started.as_ref().or(entered).unwrap_or(&created_at).clone();
    let duration_ms = time::parse(&started_at).map_or(0, |began| env.now_ms - began);
    let about = wanted
        .about
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .chain([("trigger", wanted.trigger.name())]);
    Checkpoint {
        agents: describe::describe_agents(session, &wanted.used),
        governance,
        identity: Identity {
            ledger_head: session.head.clone(),
            project: dashed(&store.root.to_string_lossy()),
            run_id: wanted.run.to_owned(),
            session_id: session.state.session_id.clone(),
            ..Identity::default()
        },
        metadata: about.map(|(name, text)| (name.to_owned(), text.to_owned())).collect(),
        orchestrator,
        phase: wanted.phase.to_owned(),
        schema: SCHEMA,
        timing: Timing { created_at, duration_ms: u64::try_from(duration_ms).unwrap_or(0), started_at },
        kind: wanted.kind,
        ..Checkpoint::default()
    }
}

/// What the agents of a session used and did, according to its transcript and its ledger.
pub fn used(ledger: &Ledger) -> Usage {
    let session = ledger.session();
    let Some(project) = ledger.place().path.parent() else { return Usage::default() };
    let started = &session.memory.progress.agents;
    let names: Vec<(&str, &str)> =
        started.iter().map(|agent| (agent.agent_id.as_str(), agent.name.name())).collect();
    let transcript = project.join(format!("{}.jsonl", file_name(&session.state.session_id)));
    let (calls, entered) = calls_and_phases(ledger);
    Usage {
        tokens: transcript::used(&transcript, &names),
        calls,
        words: transcript::last_words(&transcript),
        entered,
    }
}

/// How many bytes of the ledger's end are read for calls, and how many calls of each agent are kept.
const TAIL: usize = 1 << 20;
const MOST_CALLS: usize = 50;

type Calls = BTreeMap<String, Vec<ToolInvocation>>;

/// The newest calls by agent, and when each phase was last entered.
fn calls_and_phases(ledger: &Ledger) -> (Calls, BTreeMap<String, String>) {
    let bytes = read_file(&ledger.place().dir, LEDGER_FILE).ok().flatten().unwrap_or_default();
    let lines = bytes[bytes.len().saturating_sub(TAIL)..].split(|b| *b == b'\n');
    let tells = |line: &&[u8]| {
        [&b"\"type\":\"call\""[..], b"\"entered\":\""].iter().any(|key| memmem::find(line, key).is_some())
    };
    let mut calls = Calls::new();
    let mut entered = BTreeMap::new();
    for line in lines.filter(tells).filter_map(Line::read) {
        if let Some(phase) = PhaseChange::read(line.with).entered {
            entered.insert(phase.name().to_owned(), line.ts.to_owned());
        }
        if let Some(Fact::Call(step)) = Fact::read(line.kind, line.with) {
            add_call(&mut calls, step);
        }
    }
    (calls, entered)
}

fn add_call(calls: &mut Calls, step: Step) {
    let outcome = step.to.into();
    if let Some(known) = calls.values_mut().flatten().rfind(|known| known.id == step.call.id) {
        known.outcome = outcome;
        return;
    }
    let agent = step.agent_type.as_deref().map_or_else(String::new, |name| bare(name).to_owned());
    let of_agent = calls.entry(agent).or_default();
    of_agent.push(ToolInvocation { id: step.call.id, outcome, tool: step.call.tool });
    let over = of_agent.len().saturating_sub(MOST_CALLS);
    of_agent.drain(..over);
}

pub fn fact(checkpoint: &Checkpoint) -> Fact {
    Fact::Checkpoint(Taken {
        digest: checkpoint.digest.clone().unwrap_or_default(),
        id: checkpoint.identity.checkpoint_id.clone(),
        measures: false,
        trigger: checkpoint.trigger(),
    })
}

/// Takes a checkpoint of the present tree and records it in the session's ledger.
pub fn take(
    env: &Env,
    store: &Store,
    ledger: Option<&mut Ledger>,
    limits: &Limits,
    wanted: &Wanted,
) -> Result<Checkpoint, Failure> {
    let artifacts = capture(env, store, limits, &[], &[])?;
    let checkpoint = write(env, store, ledger.as_deref().map(Ledger::session), wanted, (artifacts, None))?;
    if let Some(ledger) = ledger {
        ledger.append(env, vec![fact(&checkpoint)])?;
    }
    Ok(checkpoint)
}

/// Sessions of this tree that have not ended, and the one named `also`, even if it has ended.
pub fn sessions_in(env: &Env, root: &Path, also: &str) -> Vec<SessionOnDisk> {
    let here = |on_disk: &SessionOnDisk| {
        sessions::session(on_disk).is_some_and(|session| {
            Path::new(&session.memory.place.root) == root
                && (session.state.ended_at.is_none() || !also.is_empty() && session.state.session_id == also)
        })
    };
    let mut found: Vec<SessionOnDisk> = sessions::all(env).into_iter().filter(here).collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Locks their ledgers, always in the same order, so that two rollbacks cannot deadlock. Damaged ones are
/// skipped.
pub fn lock_ledgers(env: &Env, root: &Path, also: &str) -> Result<Vec<Ledger>, Failure> {
    let mut ledgers = Vec::new();
    for on_disk in sessions_in(env, root, also) {
        match Ledger::at(env, &on_disk.path, &on_disk.session_id) {
            Err(failure) if failure.code.is_integrity() || failure.code == Code::StorageFailed => {}
            ledger => ledgers.push(ledger?),
        }
    }
    Ok(ledgers)
}

/// Whether the ledger of a checkpoint's session records this digest for it; `None` if there is no entry,
/// `Some(false)` if the ledger is damaged.
pub fn said_in_ledger(
    env: &Env,
    session_id: &str,
    id: &Id,
    digest: Option<&String>,
) -> Result<Option<bool>, Failure> {
    let found = sessions::all(env).into_iter().find(|on_disk| on_disk.session_id == session_id);
    let Some(on_disk) = found.filter(|_| !session_id.is_empty()) else { return Ok(None) };
    if sessions::check(env, &on_disk)?.failure.is_some() {
        return Ok(Some(false));
    }
    let Some(place) = session_folder::open(on_disk.path)? else { return Ok(None) };
    let Some(bytes) = read_file(&place.dir, LEDGER_FILE)? else { return Ok(None) };
    // The last entry counts: an ID is reused if its first checkpoint was never acknowledged.
    let lines = bytes.rsplit(|b| *b == b'\n');
    let lines =
        lines.filter(|line| memmem::find(line, b"\"type\":\"checkpoint\"").is_some()).filter_map(Line::read);
    let mut taken = lines.filter_map(|line| match Fact::read(line.kind, line.with)? {
        Fact::Checkpoint(taken) if taken.id == id.to_string() => Some(taken),
        _ => None,
    });
    Ok(taken.next().map(|taken| digest == Some(&taken.digest)))
}
