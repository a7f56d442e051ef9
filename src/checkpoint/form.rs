//! A checkpoint: the state of a session or run before or after a phase, with the files of its working tree.
//!
//! Reads nothing, writes nothing. Stored type, version `schema`: fields in sorted order, so that the plain serialisation
//! is the canonical form its digest is over.

pub mod compare;
pub mod text;
pub mod id;
pub mod standing;

pub use id::{Id, Kind};

use crate::checkpoint::tree::Artifacts;
use crate::model::phase::Phase;
use crate::session::state::Sandbox;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of this form.
pub const SCHEMA: u32 = 1;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub agents: Vec<AgentState>,
    pub artifacts: Artifacts,
    /// Over everything else; left out while it is computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    pub governance: Governance,
    pub identity: Identity,
    /// `trigger` says why it was taken; a rollback adds what it was about.
    pub metadata: BTreeMap<String, String>,
    pub orchestrator: Orchestrator,
    /// The checkpoint before it in its run or, after a rollback, the one that was restored.
    pub parent: Option<String>,
    pub phase: Phase,
    pub schema: u32,
    pub timing: Timing,
    #[serde(rename = "type")]
    pub kind: Kind,
    pub version: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentState {
    pub name: String,
    pub status: AgentStatus,
    pub summary: Option<String>,
    /// As far as they are known.
    pub tokens: u64,
    pub tool_invocations: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentStatus {
    #[default]
    Idle,
    Running,
    Done,
    Failed,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Governance {
    pub checks: Vec<Outcome>,
    pub gates: Vec<Outcome>,
    pub passed: bool,
}

/// `PASS`, `ASK_USER`, `INTERVENTION_REQUIRED` or `HALT`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    pub name: String,
    pub outcome: String,
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub checkpoint_id: String,
    /// The ledger's head when it was taken.
    pub ledger_head: String,
    /// Name of the project's folder.
    pub project: String,
    pub run_id: String,
    /// Empty without a session.
    pub session_id: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orchestrator {
    pub completed: Vec<String>,
    pub incomplete: Vec<String>,
    pub policy_hash: String,
    pub sandbox: Sandbox,
    pub task: Option<String>,
    /// Number of the task in the session; 0 before the first.
    pub task_number: u64,
    pub workflow: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    pub created_at: String,
    /// Duration of the capture.
    pub duration_ms: u64,
    /// When the session began.
    pub started_at: String,
}

impl Checkpoint {
    /// The first thing that is wrong with it, if any. [`text`] checks the digest.
    pub fn problem(&self) -> Option<String> {
        if self.schema != SCHEMA {
            return Some(format!("its schema is {}; this program reads schema {SCHEMA}", self.schema));
        }
        if self.id() != Id::read(&self.identity.checkpoint_id) {
            return Some("its id does not match its run, type, phase and version".to_owned());
        }
        self.artifacts.problem()
    }

    pub fn id(&self) -> Option<Id> {
        Id::new(&self.identity.run_id, self.kind, self.phase, self.version)
    }

    pub fn trigger(&self) -> &str {
        self.metadata.get("trigger").map(String::as_str).unwrap_or_default()
    }
}
