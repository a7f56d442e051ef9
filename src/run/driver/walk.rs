//! A run from its first step to its end or its next pause.
//!
//! Writes packets and the attempt ledger. Invariants: a packet is on disk before the ledger says so; a driver that dies in
//! between ends the run once more, with the same words.

use super::base::{Driver, random_hex};
use super::finish::{Finish, describe_next_step};
use super::judge::{PauseRequest, StepResult};
use super::notify::notify;
use super::pause::{make_packet, mark_terminated};
use super::prepare::{Prepared, RunRequest, check_clean, lock_project, project_root};
use super::reporter::Reporter;
use crate::model::error::Failure;
use crate::run::artifacts::Artifacts;
use crate::run::attempt::{Deed, Ended, Init};
use crate::run::packet::End;
use crate::run::state::RunState;
use crate::run::status::{Outcome, Trigger};
use crate::system::env::{Env, now_ms};
use crate::system::git;
use crate::system::signal;
use crate::text::time::{day, timestamp};

/// Begins a run and drives it.
pub fn run(env: &Env, reporter: &mut dyn Reporter, request: &RunRequest) -> anyhow::Result<Finish> {
    let env = env.later();
    let root = project_root(&env);
    check_clean(&env, &root)?;
    let prepared = Prepared::of(&env, &root, &request.workflow, request.project_type.as_deref())?;
    let artifacts = Artifacts::of(&root);
    artifacts.prepare(&env, &root)?;
    let lock = lock_project(&artifacts)?;
    for dead in artifacts.runs()?.into_iter().filter(|run| run.status.is_driven()) {
        mark_terminated(&env, reporter, &root, &artifacts, dead)?;
    }
    let init = Init {
        budget: request.budget,
        policy_hash: prepared.policy_hash.clone(),
        project_type: request.project_type.clone(),
        session_id: session_id()?,
        step_timeout_ms: request.step_timeout_ms,
        steps: prepared.plan.iter().map(|step| step.id.clone()).collect(),
        task: request.task.clone(),
        workflow: request.workflow.clone(),
    };
    let run_id = format!("{}-{}", day(env.now_ms), random_hex(4)?);
    let run = RunState { run_id, ..RunState::default() };
    let mut driver = Driver::new(env, root, (artifacts, lock), run, prepared)?;
    driver.append(Deed::Init(init))?;
    driver.walk(reporter)
}

impl Driver {
    pub(super) fn walk(mut self, reporter: &mut dyn Reporter) -> anyhow::Result<Finish> {
        reporter.run_began(&self.run);
        loop {
            if let Some(reason) = self.policy_changed() {
                return self.finish(reporter, Outcome::Blocked, reason);
            }
            let Some((index, _)) = self.run.next_step() else {
                return self.finish(reporter, Outcome::Pass, "every step passed".to_owned());
            };
            let result = if signal::interrupted() {
                StepResult::pause(Trigger::Interrupted, "the run was interrupted between two steps")
            } else {
                self.step(reporter, index)?
            };
            match result {
                StepResult::Passed => {}
                StepResult::Blocked(reason) => return self.finish(reporter, Outcome::Blocked, reason),
                StepResult::Pause(request) => return self.pause(reporter, index, request),
            }
        }
    }

    fn pause(mut self, reporter: &mut dyn Reporter, index: usize, request: PauseRequest) -> anyhow::Result<Finish> {
        let trigger = request.trigger;
        let (packet, paused) = make_packet(&self.env, &self.root, &self.run, index, request)?;
        let file = self.artifacts.keep_pause(&packet)?;
        self.append(Deed::Checkpoint(paused))?;
        self.leave_step()?;
        let hint = describe_next_step(&packet.checkpoint_id, trigger.wants_decision(), None);
        let (run_id, reason) = (packet.run_id, packet.question);
        let finish = Finish { run_id, outcome: trigger.outcome(), reason, packet: file, hint: Some(hint) };
        notify(&self.env, reporter, &self.prepared.policy, &self.root, &finish);
        Ok(finish)
    }

    pub(super) fn finish(
        mut self,
        reporter: &mut dyn Reporter,
        outcome: Outcome,
        reason: String,
    ) -> anyhow::Result<Finish> {
        let head = self.leave_step()?.unwrap_or_else(|| self.artifacts.head());
        let run_id = self.run.run_id.clone();
        let end = End {
            commit_hash: git::status(&self.env, &self.root).unwrap_or_default().head,
            ledger_head: head,
            outcome,
            policy_hash: self.run.init.policy_hash.clone(),
            reason: reason.clone(),
            run_id: run_id.clone(),
            steps_executed: self.run.executed(),
            timestamp: timestamp(now_ms()),
            workflow: self.run.init.workflow.clone(),
        };
        let packet = self.artifacts.keep_end(&end)?;
        self.append(Deed::Terminal(Ended { outcome, reason: reason.clone() }))?;
        if outcome == Outcome::Pass {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
        let finish = Finish { run_id, outcome, reason, packet, hint: None };
        notify(&self.env, reporter, &self.prepared.policy, &self.root, &finish);
        Ok(finish)
    }
}

/// A new session id: a version 4 UUID, as the client wants it.
fn session_id() -> Result<String, Failure> {
    let hex = random_hex(16)?;
    Ok(format!("{}-{}-4{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..]))
}
