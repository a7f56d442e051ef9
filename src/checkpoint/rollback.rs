//! Takes checkpoints and rolls back to them: tree, store, and the ledgers of the sessions that work there.
//!
//! Joins `capture`, `store`, `restore` and `ledger`. Lock order: ledgers first, then the store, because a hook holds its
//! ledger already. Invariants: a checkpoint is witnessed before it is reported; what would be overwritten is archived first;
//! an interrupted rollback is finished or dropped by the next command or event.

mod ledgers;
mod ignored;
mod phase;
mod plan;
mod finish;
mod begin;

pub use begin::{Order, Preview, RolledBack, preview, roll_back};
pub use finish::{finish_pending, resume};
pub use ledgers::{running, said_in_ledger};
pub use phase::{Before, at_phase_change, tell};
pub use plan::Plan;

use crate::checkpoint::capture::{Limits, capture};
use crate::checkpoint::form::{Checkpoint, Id, Identity, Kind, SCHEMA, Timing, standing, text};
use crate::checkpoint::store::Store;
use crate::checkpoint::store::index::Row;
use crate::checkpoint::tree::Artifacts;
use crate::claude::transcript::used;
use crate::ledger::open::Ledger;
use crate::ledger::session_folder::dashed;
use crate::model::error::{Code, Failure};
use crate::model::phase::Phase;
use crate::session::fact::{Fact, Taken};
use crate::session::fold::Session;
use crate::system::env::Env;
use crate::text::sha256::{NO_DIGEST, file_name};
use crate::text::time::timestamp;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long sessions are locked for a capture of their tree; their hooks wait a few seconds.
pub const BRIEF: Duration = Duration::from_secs(1);

/// A checkpoint to be written.
#[derive(Debug)]
pub struct Wanted<'a> {
    pub run: &'a str,
    pub kind: Kind,
    pub phase: Phase,
    pub trigger: &'a str,
    /// Metadata besides the trigger.
    pub about: Vec<(&'static str, String)>,
    /// By agent, as far as they are known.
    pub tokens: BTreeMap<String, u64>,
    /// `None`: the last one of its run.
    pub parent: Option<String>,
    pub began: Instant,
}

impl<'a> Wanted<'a> {
    /// The present, which a rollback to `target` is about to overwrite: kept in the run of the target.
    fn archive(target: &'a Checkpoint, session: Option<&Session>, trigger: &'a str) -> Self {
        Self {
            run: &target.identity.run_id,
            kind: Kind::Pre,
            phase: session.map_or(target.phase, |session| session.state.phase),
            trigger,
            about: Vec::new(),
            tokens: BTreeMap::new(),
            parent: None,
            began: Instant::now(),
        }
    }
}

/// The run of an interactive session.
pub fn run_of(session: &Session) -> String {
    file_name(&session.state.session_id)
}

/// Fills the cache without a lock, so that the next capture is short.
pub fn warm_up(env: &Env, store: &Store, limits: &Limits) -> Result<Artifacts, Failure> {
    capture(env, store, limits, &[], &[])
}

/// The files of a checkpoint, and their text if it is known.
#[derive(Debug, Default)]
pub struct Files<'a> {
    pub artifacts: Artifacts,
    pub text: Option<&'a str>,
}

impl From<Artifacts> for Files<'_> {
    fn from(artifacts: Artifacts) -> Self {
        Self { artifacts, text: None }
    }
}

/// Writes a checkpoint of these files to the store, the witness file and the index. The caller writes the ledger.
pub fn write(
    env: &Env,
    store: &Store,
    session: Option<&Session>,
    wanted: &Wanted,
    Files { artifacts, text }: Files,
) -> Result<Checkpoint, Failure> {
    let mut rows = store.rows()?;
    let version = Store::next_version(&rows, wanted.run, wanted.kind, wanted.phase);
    let id = Id::new(wanted.run, wanted.kind, wanted.phase, version);
    let id = id.ok_or_else(|| Failure::new(Code::InputInvalid, format!("`{}` is not a name of a run", wanted.run)))?;
    let last = || rows.iter().rfind(|row| row.run() == wanted.run).map(|row| row.id.clone());
    let empty = Session::default();
    let known = session.unwrap_or(&empty);
    let created_at = timestamp(env.now_ms);
    let mut orchestrator = standing::orchestrator(known);
    if orchestrator.policy_hash.is_empty() {
        NO_DIGEST.clone_into(&mut orchestrator.policy_hash);
    }
    let started = Some(&known.state.started_at).filter(|at| !at.is_empty());
    let mut metadata: BTreeMap<String, String> =
        wanted.about.iter().map(|(name, text)| ((*name).to_owned(), text.clone())).collect();
    metadata.insert("trigger".to_owned(), wanted.trigger.to_owned());
    let checkpoint = Checkpoint {
        agents: standing::agents(known, &wanted.tokens),
        artifacts,
        digest: None,
        governance: standing::governance(known),
        identity: Identity {
            checkpoint_id: id.to_string(),
            ledger_head: known.head.clone(),
            project: dashed(&store.root.to_string_lossy()),
            run_id: wanted.run.to_owned(),
            session_id: known.state.session_id.clone(),
        },
        metadata,
        orchestrator,
        parent: wanted.parent.clone().or_else(last),
        phase: wanted.phase,
        schema: SCHEMA,
        timing: Timing {
            started_at: started.unwrap_or(&created_at).clone(),
            created_at,
            duration_ms: u64::try_from(wanted.began.elapsed().as_millis()).unwrap_or(u64::MAX),
        },
        kind: wanted.kind,
        version,
    };
    let (checkpoint, text) = text::seal(checkpoint, text);
    // Only both together make a valid checkpoint, so they are synced at the same time.
    let witness = store.witness(env, &checkpoint)?;
    store.write(&id, &text, witness.as_ref())?;
    rows.push(Row::of(&checkpoint));
    store.set_rows(rows)?;
    Ok(checkpoint)
}

/// The tokens that the agents of a session used so far.
pub fn tokens(ledger: &Ledger) -> BTreeMap<String, u64> {
    let session = ledger.session();
    let Some(project) = ledger.place().path.parent() else { return BTreeMap::new() };
    let started = &session.memory.progress.agents;
    let names: Vec<(&str, &str)> = started.iter().map(|agent| (agent.agent_id.as_str(), agent.name.as_str())).collect();
    used(&project.join(format!("{}.jsonl", file_name(&session.state.session_id))), &names)
}

/// The ledger's fact of a checkpoint.
pub fn fact(checkpoint: &Checkpoint) -> Fact {
    Fact::Checkpoint(Taken {
        digest: checkpoint.digest.clone().unwrap_or_default(),
        id: checkpoint.identity.checkpoint_id.clone(),
        trigger: checkpoint.trigger().to_owned(),
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
    let checkpoint = write(env, store, ledger.as_deref().map(Ledger::session), wanted, artifacts.into())?;
    if let Some(ledger) = ledger {
        ledger.append(env, vec![fact(&checkpoint)])?;
    }
    Ok(checkpoint)
}
