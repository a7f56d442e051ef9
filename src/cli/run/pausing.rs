//! Pauses: the packet, the line in the attempt ledger, and what is said about it.
//!
//! Writes below `artifacts/`. Invariant: the packet is there before the ledger says so.

use super::super::Io;
use super::driver::{Driver, Finish};
use super::judged::Asked;
use super::{next_step, notice};
use crate::model::error::Failure;
use crate::run::artifacts::Artifacts;
use crate::run::attempt::{Deed, Paused};
use crate::run::packet::Pause;
use crate::run::state::RunState;
use crate::run::status::Trigger;
use crate::system::env::{Env, now_ms};
use crate::system::git;
use crate::text::time::timestamp;
use std::path::Path;

impl Driver {
    pub(super) fn pause(mut self, io: &mut Io, index: usize, asked: Asked) -> anyhow::Result<Finish> {
        let trigger = asked.trigger;
        let (packet, paused) = made(&self.env, &self.root, &self.record, index, asked)?;
        let file = self.artifacts.keep_pause(&packet)?;
        self.tell(Deed::Checkpoint(paused))?;
        self.leave_session()?;
        let hint = next_step(&packet.checkpoint_id, trigger.wants_decision(), None);
        let finish = Finish {
            run_id: packet.run_id,
            outcome: trigger.outcome(),
            reason: packet.question,
            packet: file,
            hint: Some(hint),
        };
        notice::send(io, &self.policy, &self.root, &finish);
        Ok(finish)
    }
}

/// The packet of a run whose driver died, at the step that had not ended.
pub(super) fn terminated(
    env: &Env,
    root: &Path,
    artifacts: &Artifacts,
    mut record: RunState,
) -> Result<(RunState, Pause), Failure> {
    let last = record.init.steps.len().saturating_sub(1);
    let index = record.next_step().map_or(last, |(index, _)| index);
    let question = "the driver ended before the run did".to_owned();
    let asked = Asked { trigger: Trigger::Terminated, question, tool_use_id: None, checks: Vec::new() };
    let (packet, paused) = made(env, root, &record, index, asked)?;
    artifacts.keep_pause(&packet)?;
    let told = artifacts.append(&record.run_id, Deed::Checkpoint(paused))?;
    record.take(&told);
    Ok((record, packet))
}

fn made(
    env: &Env,
    root: &Path,
    record: &RunState,
    index: usize,
    Asked { trigger, question, tool_use_id, checks }: Asked,
) -> Result<(Pause, Paused), Failure> {
    let tree = git::tree(env, root)
        .ok_or_else(|| Failure::storage(root.display(), "git does not tell the working tree"))?;
    let step = record.init.steps.get(index).cloned().unwrap_or_default();
    let packet = Pause {
        checkpoint_id: format!("CP_{}_{step}", record.run_id),
        digest: String::new(),
        policy_hash: record.init.policy_hash.clone(),
        question: question.clone(),
        resolution_decision: None,
        resolved: false,
        run_id: record.run_id.clone(),
        session_id: record.init.session_id.clone(),
        step_index: index as u64,
        task_spec: record.init.task.clone(),
        timestamp: timestamp(now_ms()),
        tool_use_id: tool_use_id.clone(),
        trigger,
    }
    .sealed(&tree);
    let paused = Paused {
        checkpoint_id: packet.checkpoint_id.clone(),
        checks,
        cost: record.cost,
        digest: packet.digest.clone(),
        outcome: trigger.outcome(),
        question,
        step,
        tokens: record.tokens,
        tool_use_id,
        tree,
        trigger,
    };
    Ok((packet, paused))
}
