//! Every stored type in all its forms: facts and state are made from the types themselves, checkpoints are
//! written out.

use super::made::{forms, samples};
use aops_core::checkpoint::form::{
    AgentState, AgentStatus, Checkpoint, CheckpointKind, GateOutcome, Governance, Identity, Intake,
    Invocations, Orchestrator, Timing, TokenUsage, ToolInvocation,
};
use aops_core::checkpoint::tree::{Artifacts, File, Folder, LeftOut};
use aops_core::model::named::{Named, Stored};
use aops_core::model::phase::Sandbox;
use aops_core::session::fact::Fact;
use aops_core::session::memory::Memory;
use aops_core::session::state::State;
use aops_core::text::sha256::{NO_DIGEST, Sum};
use serde_json::Value;
use std::collections::BTreeMap;

fn text() -> String {
    "text".to_owned()
}

#[expect(clippy::unnecessary_wraps, reason = "stands where the type has an option")]
fn some() -> Option<String> {
    Some(text())
}

fn stored<T: Named>() -> Stored<T> {
    Stored::of(&text())
}

fn digest() -> String {
    NO_DIGEST.to_owned()
}

fn moment() -> String {
    "2026-01-13T10:00:00.123Z".to_owned()
}

/// Each kind of entry, with what this makes of its type.
macro_rules! kinds {
    ($make:ident) => {
        kinds!($make: Open Event Call Question Answer Block Unblock Verdict Waive Task Check Mode Run Violation Recovery Checkpoint Rollback Undo Commit Attest Network Insights Snapshot)
    };
    ($make:ident: $($kind:ident)*) => {
        vec![$({
            let mut name = "";
            let all = $make(|with| {
                let (kind, with) = Fact::$kind(with).stored();
                name = kind;
                serde_json::from_str(&with).unwrap()
            });
            (name, all)
        },)*]
    };
}

/// `session-state.json` as it stands on disk, where it always has its digest and what it says about the
/// ledger.
pub(crate) fn states() -> Vec<Value> {
    let stored = |state: State| serde_json::to_value(state).unwrap();
    let is_on_disk = |state: &Value| state.get("digest").is_some() && state.get("ledger").is_some();
    let mut all = samples(stored);
    let whole = all[0].clone();
    for state in &mut all {
        for key in ["digest", "ledger"] {
            if state.get(key).is_none() {
                state[key] = whole[key].clone();
            }
        }
    }
    assert!(all.iter().all(is_on_disk));
    // What a session remembers is a text of its own there.
    let memories = samples(|memory: Memory| serde_json::to_value(memory).unwrap());
    all.resize(all.len().max(memories.len()), whole);
    for (state, memory) in all.iter_mut().zip(memories.iter().cycle()) {
        state["ledger"]["memory"] = memory.clone();
    }
    all
}

/// Every type of entry in all its forms.
pub(crate) fn facts() -> Vec<(&'static str, Vec<Value>)> {
    kinds!(samples)
}

/// Every type of entry with the most and the least it holds.
pub(crate) fn forms_of_facts() -> Vec<(&'static str, Vec<Value>)> {
    kinds!(forms)
}

/// A checkpoint after ADR-002: identity, phase, PRE or POST, version, timing, orchestrator and agents,
/// artifacts, governance, parent, metadata.
pub(crate) fn checkpoints() -> Vec<Value> {
    let agent = AgentState {
        name: text(),
        status: AgentStatus::Complete,
        summary: some(),
        token_usage: TokenUsage { input: 1000, output: 200 },
        tokens: 1200,
        tool_invocations: Invocations::List(vec![ToolInvocation {
            id: text(),
            outcome: stored(),
            tool: text(),
        }]),
    };
    let idle = AgentState { status: AgentStatus::Pending, summary: None, ..agent.clone() };
    let file = File { mode: 0o644, path: text(), sha256: Sum::default(), size: 17, target: None };
    let link = File { mode: 0o777, target: some(), ..file.clone() };
    let outcome = GateOutcome { name: text(), outcome: stored(), reason: some() };
    let passed = GateOutcome { reason: None, ..outcome.clone() };
    let first = Checkpoint {
        agents: vec![agent, idle],
        artifacts: Artifacts {
            files: vec![file, link],
            folders: vec![Folder { mode: 0o755, path: text() }],
            left_out: vec![LeftOut { path: text(), reason: text(), size: 1 }],
        },
        digest: Some(digest()),
        governance: Governance {
            checks: vec![outcome.clone(), passed.clone()],
            gates: vec![outcome, passed],
            passed: true,
        },
        identity: Identity {
            checkpoint_id: "manual/POST_execute_v1".to_owned(),
            ledger_head: digest(),
            project: text(),
            run_id: "manual".to_owned(),
            session_id: text(),
        },
        metadata: BTreeMap::from([("trigger".to_owned(), text())]),
        orchestrator: Orchestrator {
            completed: vec![text()],
            current_phase: text(),
            incomplete: vec![text()],
            intake_summary: Intake {
                acceptance_criteria: vec![text()],
                context_refs: vec![text()],
                intent: some(),
                project_type: some(),
                prompt: some(),
                workflow: some(),
            },
            policy_hash: digest(),
            sandbox: Sandbox::Open,
            task: some(),
            task_number: 1,
            workflow: some(),
        },
        parent: None,
        phase: "execute".to_owned(),
        schema: 2,
        timing: Timing { created_at: moment(), duration_ms: 12, started_at: moment() },
        kind: CheckpointKind::Post,
        version: 1,
    };
    let second = Checkpoint {
        kind: CheckpointKind::Pre,
        orchestrator: Orchestrator {
            intake_summary: Intake::default(),
            task: None,
            workflow: None,
            ..first.orchestrator.clone()
        },
        parent: some(),
        ..first.clone()
    };
    [first, second].iter().map(|one| serde_json::to_value(one).unwrap()).collect()
}
