//! Pause packets: made and written, also for a run whose driver died.
//!
//! Writes below `artifacts/`. Invariant: the packet is on disk before the attempt ledger says so.

use super::finish::describe_next_step;
use super::judge::PauseRequest;
use super::reporter::Reporter;
use crate::model::error::Failure;
use crate::model::refusal::refused;
use crate::run::artifacts::Artifacts;
use crate::run::attempt::{Deed, Paused};
use crate::run::job::{JobFiles, JobStatus};
use crate::run::packet::Pause;
use crate::run::state::RunState;
use crate::run::status::Trigger;
use crate::system::env::{Env, now_ms};
use crate::system::git;
use crate::text::time::timestamp;
use std::path::{Path, PathBuf};

/// The run's own folder, below the client's.
pub(super) fn run_folder(env: &Env, run_id: &str) -> PathBuf {
    env.config.join("aops/runs").join(run_id)
}

/// Marks a run whose driver died as TERMINATED, so that it can be resumed. Refuses if its step is still running.
pub fn mark_terminated(
    env: &Env,
    reporter: &mut dyn Reporter,
    root: &Path,
    artifacts: &Artifacts,
    mut run: RunState,
) -> anyhow::Result<RunState> {
    let folder = run_folder(env, &run.run_id);
    let current = run.current.as_ref();
    let running = current.is_some_and(|begun| JobFiles::of(&folder, begun).status() == JobStatus::Running);
    let last = run.init.steps.len().saturating_sub(1);
    let index = run.next_step().map_or(last, |(index, _)| index);
    let why = PauseRequest::new(Trigger::Terminated, "the driver ended before the run did");
    let (packet, paused) = make_packet(env, root, &run, index, why)?;
    artifacts.keep_pause(&packet)?;
    run.apply(&artifacts.append(&run.run_id, Deed::Checkpoint(paused))?);
    let hint = describe_next_step(&packet.checkpoint_id, false, None);
    reporter.note(&format!("run {} was TERMINATED: its driver is gone; {hint}", run.run_id));
    if running {
        return refused(format!("a step of run {} is still running\nhint: {hint}", run.run_id));
    }
    Ok(run)
}

/// The packet of a pause at this step, and its line in the attempt ledger.
pub(super) fn make_packet(
    env: &Env,
    root: &Path,
    run: &RunState,
    index: usize,
    PauseRequest { trigger, question, tool_use_id, checks }: PauseRequest,
) -> Result<(Pause, Paused), Failure> {
    let tree =
        git::tree(env, root).ok_or_else(|| Failure::storage(root.display(), "git cannot read the working tree"))?;
    let step = run.init.steps.get(index).cloned().unwrap_or_default();
    let packet = Pause {
        checkpoint_id: format!("CP_{}_{step}", run.run_id),
        policy_hash: run.init.policy_hash.clone(),
        question: question.clone(),
        run_id: run.run_id.clone(),
        session_id: run.init.session_id.clone(),
        step_index: index as u64,
        task_spec: run.init.task.clone(),
        timestamp: timestamp(now_ms()),
        tool_use_id: tool_use_id.clone(),
        trigger,
        ..Pause::default()
    }
    .sealed(&tree);
    let paused = Paused {
        checkpoint_id: packet.checkpoint_id.clone(),
        checks,
        cost: run.cost,
        digest: packet.digest.clone(),
        outcome: trigger.outcome(),
        question,
        step,
        tokens: run.tokens,
        tool_use_id,
        tree,
        trigger,
    };
    Ok((packet, paused))
}
