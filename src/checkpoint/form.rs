//! A checkpoint: the state of a session or run before or after a phase, with the files of its working tree.
//!
//! Pure. Stored type, version `schema`: fields in sorted order, so the plain serialisation is what its digest is over.

pub mod text;

use crate::checkpoint::tree::Artifacts;
use crate::model::phase::Phase;
use crate::session::fold::Session;
use crate::session::state::{LastRun, Sandbox, Subagent};
use crate::text::{json::cut, time};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;

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
    pub kind: CheckpointKind,
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
    pub checks: Vec<GateOutcome>,
    pub gates: Vec<GateOutcome>,
    pub passed: bool,
}

/// `PASS`, `ASK_USER`, `INTERVENTION_REQUIRED` or `HALT`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateOutcome {
    pub name: String,
    pub outcome: String,
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub checkpoint_id: String,
    /// The ledger's head when it was taken.
    pub ledger_head: String,
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
    pub duration_ms: u64,
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

    pub fn tokens(&self) -> u64 {
        self.agents.iter().map(|agent| agent.tokens).sum()
    }

    pub fn created_ms(&self) -> i64 {
        time::parse(&self.timing.created_at).unwrap_or_default()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum CheckpointKind {
    Pre,
    #[default]
    Post,
}

impl CheckpointKind {
    pub fn name(self) -> &'static str {
        match self {
            CheckpointKind::Pre => "PRE",
            CheckpointKind::Post => "POST",
        }
    }
}

/// The run of checkpoints that a person takes.
pub const BY_HAND: &str = "manual";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Id {
    pub run: String,
    pub kind: CheckpointKind,
    pub phase: Phase,
    pub version: u64,
}

impl Id {
    /// `None` where the run's name has other characters than `[A-Za-z0-9_-]`, or more than 64.
    pub fn new(run: &str, kind: CheckpointKind, phase: Phase, version: u64) -> Option<Self> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let sound = (1..=64).contains(&run.len()) && run.chars().all(plain) && version > 0;
        sound.then(|| Self { run: run.to_owned(), kind, phase, version })
    }

    pub fn read(text: &str) -> Option<Self> {
        let (run, file) = text.split_once('/')?;
        let (kind, rest) = file.split_once('_')?;
        let (phase, version) = rest.rsplit_once("_v")?;
        let kind = [CheckpointKind::Pre, CheckpointKind::Post].into_iter().find(|known| known.name() == kind)?;
        let phase = Phase::ALL.into_iter().find(|known| known.name() == phase)?;
        let id = Self::new(run, kind, phase, version.parse().ok()?)?;
        (id.to_string() == text).then_some(id)
    }

    pub fn folder(&self) -> String {
        format!("run-{}", self.run)
    }

    pub fn file(&self) -> String {
        format!("{}_{}_v{}.json", self.kind.name(), self.phase.name(), self.version)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}/{}_{}_v{}", self.run, self.kind.name(), self.phase.name(), self.version)
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

/// The phases of a task, in order; `review` and `verify` only where the workflow asks for them.
const WALK: [Phase; 6] = [Phase::Hydrate, Phase::Review, Phase::Execute, Phase::Verify, Phase::Reflect, Phase::Close];

pub fn describe_loop(session: &Session) -> Orchestrator {
    let state = &session.state;
    let gates = &session.memory.progress.gates;
    let asked = |phase: &Phase| match phase {
        Phase::Review => gates.iter().any(|gate| gate == "critic"),
        Phase::Verify => gates.iter().any(|gate| gate == "qa"),
        _ => true,
    };
    // An intervention belongs to `verify`. Before a task begins, and after a halt, nothing is complete.
    let reached = match state.phase {
        Phase::Intervene => 3,
        Phase::Done => WALK.len(),
        phase => WALK.iter().position(|known| *known == phase).unwrap_or(0),
    };
    let (mut completed, mut incomplete) = (Vec::new(), Vec::new());
    for (at, phase) in WALK.iter().enumerate().filter(|(_, phase)| asked(phase)) {
        let list = if at < reached { &mut completed } else { &mut incomplete };
        list.push(phase.name().to_owned());
    }
    Orchestrator {
        completed,
        incomplete,
        policy_hash: state.policy_hash.clone(),
        sandbox: state.sandbox,
        task: state.task.as_ref().and_then(|task| task.intent.clone()),
        task_number: state.task.as_ref().map_or(0, |task| task.n),
        workflow: state.state.current_workflow.clone(),
    }
}

pub fn describe_agents(session: &Session, tokens: &BTreeMap<String, u64>) -> Vec<AgentState> {
    let used = |name: &str| tokens.get(name).copied().unwrap_or(0);
    let calls = |name: &str| session.memory.invocations.get(name).copied().unwrap_or(0);
    let main = AgentState {
        name: "main".to_owned(),
        status: if session.state.ended_at.is_some() { AgentStatus::Done } else { AgentStatus::Running },
        summary: session.state.main_agent.current_task.as_deref().map(|task| cut(task, 200).to_owned()),
        tokens: used(""),
        tool_invocations: calls(""),
    };
    let others = session.state.subagents.iter().map(|(name, agent)| AgentState {
        name: name.clone(),
        status: status(session, name, agent),
        summary: agent.verdict.clone().or_else(|| agent.result.clone()),
        tokens: used(name),
        tool_invocations: calls(name),
    });
    [main].into_iter().chain(others).collect()
}

fn status(session: &Session, name: &str, agent: &Subagent) -> AgentStatus {
    let started = session.memory.progress.agents.iter().rfind(|started| started.name == name);
    match (started, agent.verdict.is_some() || agent.result.is_some()) {
        (Some(started), _) if !started.done => AgentStatus::Running,
        (Some(_), false) => AgentStatus::Failed,
        (_, true) => AgentStatus::Done,
        _ => AgentStatus::Idle,
    }
}

pub fn describe_gates(session: &Session) -> Governance {
    const MENDS: &str = "INTERVENTION_REQUIRED";
    let (state, course) = (&session.state, &session.memory.progress);
    let gate = |name: &str, outcome: &str, reason: Option<String>| GateOutcome {
        name: name.to_owned(),
        outcome: outcome.to_owned(),
        reason: reason.filter(|reason| !reason.is_empty()),
    };
    let or_pass = |name: &str, outcome: &str, reason: Option<String>| match reason {
        Some(_) => gate(name, outcome, reason),
        None => gate(name, "PASS", None),
    };
    let problems = || Some(cut(&course.problems.join("; "), 500).to_owned());
    let shut = (state.sandbox != Sandbox::Open).then(|| "no plan is in force".to_owned());
    let mut gates =
        vec![or_pass("block", "HALT", session.blocked().map(str::to_owned)), or_pass("sandbox", MENDS, shut)];
    gates.extend(state.hydration.critic_verdict.as_deref().map(|verdict| match verdict {
        "PROCEED" => gate("critic", "PASS", None),
        "HALT" => gate("critic", "HALT", problems()),
        _ => gate("critic", MENDS, problems()),
    }));
    gates.push(or_pass("audit", MENDS, state.audit.due.then(|| "an audit is due".to_owned())));
    if session.owes_qa() {
        let reason = if course.rounds > 0 { problems() } else { Some("not verified yet".to_owned()) };
        let open = if course.rounds >= 3 { "ASK_USER" } else { MENDS };
        gates.push(or_pass("qa", open, reason.filter(|_| !course.verified)));
    }
    // Only checks that ran in this task.
    let ending = |run: &LastRun| (run.outcome != "PASS").then(|| run.ending.clone());
    let checks: Vec<GateOutcome> =
        course.checks.iter().map(|(name, run)| gate(name, &run.outcome, ending(run))).collect();
    let passed = gates.iter().chain(&checks).all(|one| one.outcome == "PASS");
    Governance { checks, gates, passed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_and_lead_nowhere_else() {
        for text in ["manual/POST_execute_v2", "5f0c1f3a-0000-4000-8000-00000000cafe/PRE_hydrate_v13"] {
            assert_eq!(Id::read(text).unwrap().to_string(), text);
        }
        for bad in [
            "",
            "manual",
            "../POST_execute_v1",
            "a/b/POST_execute_v1",
            "m/POST_execute_v0",
            "m/POST_execute_v01",
            "m/MID_execute_v1",
            "m/POST_lunch_v1",
            "m/POST_execute",
            "/POST_execute_v1",
            "m/POST_execute_v1.json",
        ] {
            assert_eq!(Id::read(bad), None, "{bad}");
        }
    }
}
