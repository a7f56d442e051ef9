//! The part of a checkpoint that comes from its session: loop, agents, gates.
//!
//! Pure.

use super::{AgentState, AgentStatus, GateOutcome, Governance, Orchestrator};
use crate::model::phase::Phase;
use crate::session::fold::Session;
use crate::session::state::{LastRun, Sandbox, Subagent};
use crate::text::json::cut;
use std::collections::BTreeMap;

/// The phases of a task, in order; `review` and `verify` only where the workflow asks for them.
const WALK: [Phase; 6] = [Phase::Hydrate, Phase::Review, Phase::Execute, Phase::Verify, Phase::Reflect, Phase::Close];

pub fn orchestrator(session: &Session) -> Orchestrator {
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

/// The main agent and every subagent that was started.
pub fn agents(session: &Session, tokens: &BTreeMap<String, u64>) -> Vec<AgentState> {
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

/// The outcome of each gate of the task and of each of the user's checks.
pub fn governance(session: &Session) -> Governance {
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
    const MENDS: &str = "INTERVENTION_REQUIRED";
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
