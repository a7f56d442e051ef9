//! What a checkpoint records apart from the files: the phase of the loop or run, what its agents did, and
//! what its gates said.
//!
//! Pure. Invariant: gates are about the phases passed so far; a debt that is not due yet is not a failure.

use super::{
    AgentState, AgentStatus, CheckpointKind, GateOutcome, Governance, Intake, Invocations, Orchestrator,
    TokenUsage, ToolInvocation,
};
use crate::config::workflow::Gate;
use crate::host::claude::usage::Sum;
use crate::model::gate_id::GateId;
use crate::model::outcome::{AgentVerdict, PhaseOutcome};
use crate::model::phase::{Phase, Sandbox};
use crate::session::fold::Session;
use crate::session::memory::LastRun;
use crate::session::state::Subagent;
use crate::text::json::cut;
use crate::text::redact::redact;
use std::collections::BTreeMap;

/// The phases of a task, in order; `review` and `verify` only if the workflow requires them.
const WALK: [Phase; 6] =
    [Phase::Hydrate, Phase::Review, Phase::Execute, Phase::Verify, Phase::Reflect, Phase::Close];

pub fn describe_loop(session: &Session) -> Orchestrator {
    let state = &session.state;
    let course = &session.memory.progress;
    let asked = |phase: &Phase| match phase {
        Phase::Review => course.wants(Gate::Critic),
        Phase::Verify => course.wants(Gate::Qa),
        _ => true,
    };
    // An intervention belongs to `verify`. Before a task begins, and after a halt, no phase is complete.
    let reached = match state.phase {
        Phase::Intervene => 3,
        Phase::Done => WALK.len(),
        phase => WALK.iter().position(|known| *known == phase).unwrap_or(0),
    };
    let mut completed = Vec::new();
    let mut incomplete = Vec::new();
    for (at, phase) in WALK.iter().enumerate().filter(|(_, phase)| asked(phase)) {
        let list = if at < reached { &mut completed } else { &mut incomplete };
        list.push(phase.name().to_owned());
    }
    Orchestrator {
        completed,
        current_phase: state.phase.name().to_owned(),
        incomplete,
        intake_summary: Intake {
            acceptance_criteria: state.hydration.acceptance_criteria.clone(),
            intent: state.hydration.hydrated_intent.clone(),
            prompt: state.hydration.original_prompt.clone(),
            workflow: state.state.current_workflow.clone(),
            ..Intake::default()
        },
        policy_hash: state.policy_hash.clone(),
        sandbox: state.sandbox,
        task: state.task.as_ref().and_then(|task| task.intent.clone()),
        task_number: state.task.as_ref().map_or(0, |task| task.n),
        workflow: state.state.current_workflow.clone(),
    }
}

/// What agents used and did; the main agent's name is empty.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// By agent, where known.
    pub tokens: BTreeMap<String, Sum>,
    pub calls: BTreeMap<String, Vec<ToolInvocation>>,
    /// The main agent's last message.
    pub words: Option<String>,
    /// When each phase was last entered.
    pub entered: BTreeMap<String, String>,
}

/// At most this many bytes of the last message of an agent or step are kept.
pub const LONGEST_WORDS: usize = 2_000;

pub fn describe_agents(session: &Session, usage: &Usage) -> Vec<AgentState> {
    let agent = |key: &str, name: &str, status, summary| {
        let sum = usage.tokens.get(key).cloned().unwrap_or_default();
        AgentState {
            name: name.to_owned(),
            status,
            summary,
            token_usage: TokenUsage { input: sum.input, output: sum.output },
            tokens: sum.tokens(),
            tool_invocations: Invocations::List(usage.calls.get(key).cloned().unwrap_or_default()),
        }
    };
    let working = if session.state.ended_at.is_some() { AgentStatus::Complete } else { AgentStatus::Running };
    let task = session.state.main_agent.current_task.as_deref().map(|task| cut(task, 200).to_owned());
    let others = session
        .state
        .subagents
        .iter()
        .map(|(name, one)| agent(name, name, status(session, name, one), one.said().cloned()));
    let words = usage.words.as_deref().map(|words| redact(cut(words, LONGEST_WORDS)).into_owned());
    [agent("", "main", working, words.or(task))].into_iter().chain(others).collect()
}

fn status(session: &Session, name: &str, agent: &Subagent) -> AgentStatus {
    let started = session.memory.progress.agents.iter().rfind(|started| started.name.name() == name);
    match (started, agent.said().is_some()) {
        (Some(started), _) if !started.done => AgentStatus::Running,
        (Some(_), false) => AgentStatus::Failed,
        (_, true) => AgentStatus::Complete,
        _ => AgentStatus::Pending,
    }
}

/// A run as its driver knows it: its phases are the steps of its graph.
#[derive(Clone, Debug, Default)]
pub struct RunView {
    pub completed: Vec<String>,
    pub current_phase: String,
    pub incomplete: Vec<String>,
    pub intake: Intake,
    /// How each step ended so far.
    pub gates: Vec<GateOutcome>,
    /// Checks that a person waived.
    pub waived: Vec<String>,
    /// Whether a checkpoint taken now is from before the current phase, or includes its work.
    pub kind: CheckpointKind,
}

/// The same for a run: the plan is its workflow's; the gates are its steps so far, a block, and an audit that
/// is due.
pub fn describe_run(session: &Session, view: &RunView) -> (Orchestrator, Governance) {
    let orchestrator = Orchestrator {
        completed: view.completed.clone(),
        current_phase: view.current_phase.clone(),
        incomplete: view.incomplete.clone(),
        task: view.intake.prompt.clone(),
        workflow: view.intake.workflow.clone(),
        intake_summary: Intake {
            acceptance_criteria: session.state.hydration.acceptance_criteria.clone(),
            intent: session.state.hydration.hydrated_intent.clone(),
            ..view.intake.clone()
        },
        ..describe_loop(session)
    };
    let mut said = describe_gates(session);
    said.gates.retain(|gate| matches!(GateId::of(&gate.name), Some(GateId::Block | GateId::Audit)));
    said.gates.extend(view.gates.iter().cloned());
    for check in said.checks.iter_mut().filter(|check| view.waived.contains(&check.name)) {
        check.outcome = PhaseOutcome::Pass.into();
        check.reason = Some("waived by a person".to_owned());
    }
    said.passed = said.gates.iter().chain(&said.checks).all(|one| one.outcome == PhaseOutcome::Pass);
    (orchestrator, said)
}

pub fn describe_gates(session: &Session) -> Governance {
    const MENDS: PhaseOutcome = PhaseOutcome::InterventionRequired;
    let state = &session.state;
    let course = &session.memory.progress;
    let gate = |gate: GateId, outcome: PhaseOutcome, reason: Option<String>| GateOutcome {
        name: gate.to_string(),
        outcome: outcome.into(),
        reason: reason.filter(|reason| !reason.is_empty()),
    };
    let or_pass = |id: GateId, outcome: PhaseOutcome, reason: Option<String>| {
        gate(id, if reason.is_some() { outcome } else { PhaseOutcome::Pass }, reason)
    };
    let problems = || Some(cut(&course.plan.problems.join("; "), 500).to_owned());
    // Only what the phases so far require: no plan before the work, and no verification before its end.
    let works = matches!(state.phase, Phase::Execute | Phase::Verify | Phase::Intervene);
    let shut = (works && state.sandbox != Sandbox::Open).then(|| "no plan is in force".to_owned());
    let mut gates = vec![
        or_pass(GateId::Block, PhaseOutcome::Halt, session.blocked().map(str::to_owned)),
        or_pass(GateId::Sandbox, MENDS, shut),
    ];
    gates.extend(state.hydration.critic_verdict.as_ref().map(|verdict| match verdict.known() {
        Some(AgentVerdict::Proceed) => gate(GateId::Critic, PhaseOutcome::Pass, None),
        Some(AgentVerdict::Halt) => gate(GateId::Critic, PhaseOutcome::Halt, problems()),
        _ => gate(GateId::Critic, MENDS, problems()),
    }));
    gates.push(or_pass(GateId::Audit, MENDS, state.audit.due.then(|| "an audit is due".to_owned())));
    let ends = matches!(state.phase, Phase::Reflect | Phase::Close | Phase::Done);
    if session.owes_qa() && (ends || course.proven.rounds > 0) {
        let reason = if course.proven.rounds > 0 { problems() } else { Some("not verified yet".to_owned()) };
        let open = if course.proven.rounds >= 3 { PhaseOutcome::AskUser } else { MENDS };
        gates.push(or_pass(GateId::Qa, open, reason.filter(|_| !course.proven.verified)));
    }
    // Only checks that ran during this task.
    let check = |(name, run): (&String, &LastRun)| {
        let reason = Some(run.ending.to_string()).filter(|_| run.outcome != PhaseOutcome::Pass);
        let reason = reason.filter(|ending| !ending.is_empty());
        GateOutcome { name: name.clone(), outcome: run.outcome.clone(), reason }
    };
    let checks: Vec<GateOutcome> = course.proven.checks.iter().map(check).collect();
    let passed = gates.iter().chain(&checks).all(|one| one.outcome == PhaseOutcome::Pass);
    Governance { checks, gates, passed }
}
