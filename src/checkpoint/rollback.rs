//! Checkpoints taken and put back: the tree, the vault and the ledgers of the sessions that work there, together.
//!
//! Joins `capture`, `vault`, `restore` and `ledger`. Who needs both locks takes ledgers first, then the vault: hooks hold
//! their ledger when they come. Invariants: what is taken is witnessed before it is told; what would be overwritten is
//! archived first; a rollback that was interrupted is finished or dropped by whoever comes next.

mod ledgers;
mod ignored;
mod phase;
mod plan;
mod finish;
mod begin;

pub use begin::{Order, Outcome, Preview, preview, roll_back};
pub use finish::{finish_pending, resume};
pub use ledgers::{running, said_in_ledger};
pub use phase::{Before, at_phase_change, tell};
pub use plan::Plan;

use crate::checkpoint::capture::{Limits, capture};
use crate::checkpoint::form::{Checkpoint, Id, Identity, Kind, SCHEMA, Timing, standing, text};
use crate::checkpoint::store::Store;
use crate::checkpoint::store::index::Row;
use crate::checkpoint::tree::Artifacts;
use crate::claude::transcript::tokens::used;
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

/// So long sessions are held for a look at their tree; their hooks wait for some seconds.
pub const BRIEF: Duration = Duration::from_secs(1);

/// A checkpoint to be written.
#[derive(Debug)]
pub struct Wanted<'a> {
    pub run: &'a str,
    pub kind: Kind,
    pub phase: Phase,
    pub trigger: &'a str,
    /// Beside the trigger.
    pub about: Vec<(&'static str, String)>,
    /// By agent, as far as they were counted.
    pub tokens: BTreeMap<String, u64>,
    /// Where it is not the last one of its run.
    pub parent: Option<String>,
    pub began: Instant,
}

/// The run of a session that a person sits at.
pub fn run_of(session: &Session) -> String {
    file_name(&session.state.session_id)
}

/// Keeps the tree for later, so that the next look at it is a short one. Nobody waits for this.
pub fn warm_up(env: &Env, vault: &Store, limits: &Limits) -> Result<Artifacts, Failure> {
    capture(env, vault, limits, &[], &[])
}

/// The files of a checkpoint, and their text where it is known already.
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

/// Writes a checkpoint of these files: to the vault, to the witness, to the index. The ledger is the caller's.
pub fn write(
    env: &Env,
    vault: &Store,
    session: Option<&Session>,
    wanted: &Wanted,
    Files { artifacts, text }: Files,
) -> Result<Checkpoint, Failure> {
    let mut rows = vault.rows()?;
    let version = Store::next_version(&rows, wanted.run, wanted.kind, wanted.phase);
    let id = Id::new(wanted.run, wanted.kind, wanted.phase, version);
    let id =
        id.ok_or_else(|| Failure::new(Code::InputInvalid, format!("`{}` is no name of a run", wanted.run)))?;
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
            project: dashed(&vault.root.to_string_lossy()),
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
    // Either alone counts for nothing: the witness is asked first, and both are forced to the disk at once.
    let witness = vault.witness(env, &checkpoint)?;
    vault.write(&id, &text, witness.as_ref())?;
    rows.push(Row::of(&checkpoint));
    vault.set_rows(rows)?;
    Ok(checkpoint)
}

/// What the agents of a session used so far.
pub fn tokens(ledger: &Ledger) -> BTreeMap<String, u64> {
    let session = ledger.session();
    let Some(project) = ledger.place().path.parent() else { return BTreeMap::new() };
    let started = &session.memory.progress.agents;
    let names: Vec<(&str, &str)> =
        started.iter().map(|agent| (agent.agent_id.as_str(), agent.name.as_str())).collect();
    used(&project.join(format!("{}.jsonl", file_name(&session.state.session_id))), &names)
}

/// The fact of a checkpoint.
pub fn fact(checkpoint: &Checkpoint) -> Fact {
    Fact::Checkpoint(Taken {
        digest: checkpoint.digest.clone().unwrap_or_default(),
        id: checkpoint.identity.checkpoint_id.clone(),
        trigger: checkpoint.trigger().to_owned(),
    })
}

/// A checkpoint of the tree as it is, told to its session.
pub fn take(
    env: &Env,
    vault: &Store,
    ledger: Option<&mut Ledger>,
    limits: &Limits,
    wanted: &Wanted,
) -> Result<Checkpoint, Failure> {
    let artifacts = capture(env, vault, limits, &[], &[])?;
    let checkpoint = write(env, vault, ledger.as_deref().map(Ledger::session), wanted, artifacts.into())?;
    if let Some(ledger) = ledger {
        ledger.append(env, vec![fact(&checkpoint)])?;
    }
    Ok(checkpoint)
}
