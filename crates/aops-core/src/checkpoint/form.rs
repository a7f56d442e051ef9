//! A checkpoint: the state of a session or run before or after a phase, with the files of its working tree.
//!
//! Pure. Stored type, version `schema`: fields in sorted order, so its digest is over the plain
//! serialisation.

pub mod describe;
pub mod text;

use crate::checkpoint::tree::Artifacts;
use crate::config::workflow::is_plain;
use crate::model::call::CallState;
use crate::model::named::{Stored, named};
use crate::model::outcome::PhaseOutcome;
use crate::model::phase::Sandbox;
use crate::model::trigger::CheckpointTrigger;
use crate::text::time;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;

/// The form that is written. We also read the first form, in which agents have only sums of tokens and calls,
/// and a run has no phases of its own.
pub const SCHEMA: u32 = 2;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub agents: Vec<AgentState>,
    pub artifacts: Artifacts,
    /// Digest of everything else; left out while it is computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    pub governance: Governance,
    pub identity: Identity,
    /// `trigger` says why it was taken; a rollback adds its own details.
    pub metadata: BTreeMap<String, String>,
    pub orchestrator: Orchestrator,
    /// The previous checkpoint of its run or, after a rollback, the one that was restored.
    pub parent: Option<String>,
    /// In a session the loop's phase, in a run the ID of the graph's step.
    pub phase: String,
    pub schema: u32,
    pub timing: Timing,
    #[serde(rename = "type")]
    pub kind: CheckpointKind,
    pub version: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentState {
    pub name: String,
    pub status: AgentStatus,
    pub summary: Option<String>,
    /// Empty if unknown.
    #[serde(default)]
    pub token_usage: TokenUsage,
    /// Including cached tokens.
    pub tokens: u64,
    pub tool_invocations: Invocations,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    pub input: u64,
    pub output: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Invocations {
    /// The newest calls, oldest first.
    List(Vec<ToolInvocation>),
    /// Only in checkpoints of the first form.
    Count(u64),
}

impl Default for Invocations {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl Invocations {
    pub fn count(&self) -> u64 {
        match self {
            Self::List(calls) => calls.len() as u64,
            Self::Count(count) => *count,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolInvocation {
    pub id: String,
    pub outcome: Stored<CallState>,
    pub tool: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentStatus {
    #[default]
    #[serde(alias = "idle")]
    Pending,
    Running,
    #[serde(alias = "done")]
    Complete,
    Failed,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Governance {
    pub checks: Vec<GateOutcome>,
    pub gates: Vec<GateOutcome>,
    pub passed: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateOutcome {
    pub name: String,
    pub outcome: Stored<PhaseOutcome>,
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub checkpoint_id: String,
    /// The ledger's head when the checkpoint was taken.
    pub ledger_head: String,
    pub project: String,
    pub run_id: String,
    /// Empty without a session.
    pub session_id: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orchestrator {
    pub completed: Vec<String>,
    #[serde(default)]
    pub current_phase: String,
    pub incomplete: Vec<String>,
    #[serde(default)]
    pub intake_summary: Intake,
    pub policy_hash: String,
    pub sandbox: Sandbox,
    pub task: Option<String>,
    /// Number of the task in the session; 0 before the first one.
    pub task_number: u64,
    pub workflow: Option<String>,
}

/// The task's request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intake {
    pub acceptance_criteria: Vec<String>,
    /// Files that belong to the task of a run.
    pub context_refs: Vec<String>,
    pub intent: Option<String>,
    pub project_type: Option<String>,
    pub prompt: Option<String>,
    pub workflow: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    pub created_at: String,
    pub duration_ms: u64,
    pub started_at: String,
}

impl Checkpoint {
    /// The first thing that is wrong with it, if any. [`text`] checks the digest.
    pub fn problem(&self) -> Option<String> {
        if !(1..=SCHEMA).contains(&self.schema) {
            return Some(format!("its schema is {}; this program reads schemas 1 to {SCHEMA}", self.schema));
        }
        if self.id() != Id::read(&self.identity.checkpoint_id) {
            return Some("its id does not match its run, type, phase and version".to_owned());
        }
        self.artifacts.problem()
    }

    pub fn id(&self) -> Option<Id> {
        Id::new(&self.identity.run_id, self.kind, &self.phase, self.version)
    }

    pub fn trigger(&self) -> Stored<CheckpointTrigger> {
        self.metadata.get("trigger").map(|name| Stored::of(name)).unwrap_or_default()
    }

    pub fn tokens(&self) -> u64 {
        self.agents.iter().map(|agent| agent.tokens).sum()
    }

    pub fn created_ms(&self) -> i64 {
        time::parse(&self.timing.created_at).unwrap_or_default()
    }
}

named! {
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "UPPERCASE")]
    pub enum CheckpointKind {
        Pre = "PRE",
        #[default]
        Post = "POST",
    }
}

/// The run name for checkpoints that a person takes.
pub const BY_HAND: &str = "manual";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Id {
    pub run: String,
    pub kind: CheckpointKind,
    pub phase: String,
    pub version: u64,
}

impl Id {
    /// `None` if the run's name has other characters than `[A-Za-z0-9_-]` or more than 64, or if the phase
    /// could not be a step's ID.
    pub fn new(run: &str, kind: CheckpointKind, phase: &str, version: u64) -> Option<Self> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let sound = (1..=64).contains(&run.len()) && run.chars().all(plain) && is_plain(phase) && version > 0;
        sound.then(|| Self { run: run.to_owned(), kind, phase: phase.to_owned(), version })
    }

    pub fn read(text: &str) -> Option<Self> {
        let (run, file) = text.split_once('/')?;
        let (kind, rest) = file.split_once('_')?;
        let (phase, version) = rest.rsplit_once("_v")?;
        let kind = CheckpointKind::of(kind)?;
        let id = Self::new(run, kind, phase, version.parse().ok()?)?;
        (id.to_string() == text).then_some(id)
    }

    pub fn folder(&self) -> String {
        format!("run-{}", self.run)
    }

    pub fn file(&self) -> String {
        format!("{}_{}_v{}.json", self.kind.name(), self.phase, self.version)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}/{}_{}_v{}", self.run, self.kind.name(), self.phase, self.version)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// `orchestrator.sandbox`, `agents.critic.status`.
    pub at: String,
    pub old: Value,
    pub new: Value,
}

/// All differences in order of their paths. [`diff`](crate::checkpoint::tree::diff) compares the files.
pub fn compare(old: &Checkpoint, new: &Checkpoint) -> Vec<Difference> {
    let parts = |one: &Checkpoint| {
        let Checkpoint { agents, governance, orchestrator, phase, kind, version, .. } = one;
        [json!(agents), json!(governance), json!(orchestrator), json!(phase), json!(kind), json!(version)]
    };
    let mut found = Vec::new();
    let names = ["agents", "governance", "orchestrator", "phase", "type", "version"];
    for ((name, old), new) in names.iter().zip(parts(old)).zip(parts(new)) {
        walk((*name).to_owned(), &old, &new, &mut found);
    }
    found
}

fn walk(at: String, old: &Value, new: &Value, found: &mut Vec<Difference>) {
    // Lists of named objects are compared by name.
    let all_named = |list: &[Value]| list.iter().all(|one| one["name"].is_string());
    match (old, new) {
        (old, new) if old == new => {}
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for name in keys {
                let of = |map: &serde_json::Map<String, Value>| map.get(name).cloned().unwrap_or_default();
                walk(format!("{at}.{name}"), &of(a), &of(b), found);
            }
        }
        (Value::Array(a), Value::Array(b)) if all_named(a) && all_named(b) => {
            let map = |list: &[Value]| {
                let name = |one: &Value| one["name"].as_str().unwrap_or_default().to_owned();
                Value::Object(list.iter().map(|one| (name(one), one.clone())).collect())
            };
            walk(at, &map(a), &map(b), found);
        }
        _ => found.push(Difference { at, old: old.clone(), new: new.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It has sums instead of lists, the old words, and no phases of a run.
    #[test]
    fn the_first_form_is_read() {
        let agent =
            json!({"name": "main", "status": "done", "summary": null, "tokens": 7, "tool_invocations": 3});
        let agent: AgentState = serde_json::from_value(agent).unwrap();
        assert_eq!((agent.status, agent.tool_invocations.count()), (AgentStatus::Complete, 3));
        let old = json!({"completed": [], "incomplete": [], "policy_hash": "", "sandbox": "shut", "task": null,
            "task_number": 0, "workflow": null});
        let old: Orchestrator = serde_json::from_value(old).unwrap();
        assert_eq!((old.current_phase.as_str(), old.intake_summary), ("", Intake::default()));
        let of_schema = |schema| Checkpoint {
            identity: Identity {
                checkpoint_id: "r/PRE_execute_v1".into(),
                run_id: "r".into(),
                ..Identity::default()
            },
            phase: "execute".to_owned(),
            kind: CheckpointKind::Pre,
            version: 1,
            schema,
            ..Checkpoint::default()
        };
        assert_eq!((of_schema(1).problem(), of_schema(2).problem()), (None, None));
        assert!(of_schema(3).problem().is_some());
    }

    #[test]
    fn names_come_back_and_lead_nowhere_else() {
        for text in [
            "manual/POST_execute_v2",
            "r/PRE_consensus-plan_v1",
            "5f0c1f3a-0000-4000-8000-00000000cafe/PRE_hydrate_v13",
        ] {
            assert_eq!(Id::read(text).unwrap().to_string(), text);
        }
        for bad in [
            "", "manual", "../POST_execute_v1", "a/b/POST_execute_v1", "m/POST_execute_v0",
            "m/POST_execute_v01", "m/MID_execute_v1", "m/POST_Lunch_v1", "m/POST_a/b_v1", "m/POST__v1",
            "m/POST_execute", "/POST_execute_v1", "m/POST_execute_v1.json",
        ] {
            assert_eq!(Id::read(bad), None, "{bad}");
        }
    }
}
