//! Resumes a run that paused or whose driver died.
//!
//! Reads the packet and the attempt ledger, then drives. Invariants: packet, tree, policy and decision are
//! checked before anything is started; a finished run stays finished.

use super::base::{Driver, digest_like};
use super::prepare::{Prepared, lock_project, project_root};
use super::walk::mark_terminated;
use super::{Finish, Reporter, describe_next_step};
use crate::refusal::{Refused, refused};
use crate::run::artifacts::RunArtifacts;
use crate::run::attempt::{
    AttemptFact, Decision, Init, Paused, Resolved, Resumed, RunOutcome, RunStatus, Trigger,
};
use crate::run::state::{RunState, pick};
use aops_core::config::in_force::{self, InForce};
use aops_core::system::{env::Env, git};
use std::path::Path;

/// The limits of a resumed run from now on; `None` leaves a limit unchanged.
#[derive(Clone, Copy, Debug)]
pub struct ResumeLimits {
    /// Millionths of a dollar.
    pub budget: Option<u64>,
    pub step_timeout_ms: Option<u64>,
}

pub fn resume(
    env: &Env,
    reporter: &mut dyn Reporter,
    name: &str,
    limits: ResumeLimits,
) -> anyhow::Result<Finish> {
    let env = env.driving();
    let root = project_root(&env);
    let artifacts = RunArtifacts::of(&root);
    let find = |name: &str| pick(artifacts.runs()?, name).or_else(refused);
    find(name)?;
    let lock = lock_project(&artifacts)?;
    // Read again: another driver may have changed it before we had the lock.
    let mut run = find(name)?;
    if run.status == RunStatus::Terminal {
        return refuse_finished(&run);
    }
    if run.status.is_driven() {
        let id = run.run_id.clone();
        // A step that is still running is taken over, so it is no reason to refuse.
        run = mark_terminated(&env, reporter, &root, &artifacts, run).or_else(|_| find(&id))?;
    }
    let decision = artifacts.pause(&run)?.decision();
    let Some(paused) = run.paused.clone() else {
        return refused(format!("run {} is not paused", run.run_id));
    };
    let env = Env { host: run.init.client(), ..env };
    let prepared = prepare(&env, &root, &run)?;
    let mut driver = Driver::new(env, root, (artifacts, lock), run, prepared)?;
    driver.resumed = true;
    driver.check_tree(&paused)?;
    if let Some(reason) = driver.policy_changed() {
        return driver.finish(reporter, RunOutcome::Blocked, reason);
    }
    match decision {
        None if paused.trigger.wants_decision() => return Err(wait_for_decision(&paused).into()),
        Some(Decision::Rejected) => return driver.reject(reporter, &paused),
        Some(Decision::Approved) => {
            driver.note = driver.take_note(Decision::Approved)?;
            driver.approval = Some((paused.question.clone(), driver.note.clone()));
        }
        None => {}
    }
    driver.record_resume(&paused, limits)?;
    reporter.note(&format!("resumed at step `{}`", paused.step));
    driver.walk(reporter)
}

fn refuse_finished<T>(run: &RunState) -> anyhow::Result<T> {
    let outcome = run.outcome.map_or("", RunOutcome::name);
    refused(format!(
        "run {} is finished: {outcome}, {}\nhint: begin a new one with `aops-hook run`",
        run.run_id, run.reason
    ))
}

fn wait_for_decision(Paused { checkpoint_id, question, trigger, .. }: &Paused) -> Refused {
    let hint = describe_next_step(checkpoint_id, *trigger, None);
    Refused { code: 3, words: format!("`{checkpoint_id}` waits for a decision: {question}\nhint: {hint}") }
}

fn prepare(env: &Env, root: &Path, run: &RunState) -> anyhow::Result<Prepared> {
    match Prepared::of(env, root, &run.init.workflow, run.init.project_type.as_deref()) {
        // The policy changed so that the workflow can no longer be planned; the run ends later for that
        // reason.
        Err(_) if !in_force::load(env, root).is_ok_and(|now| is_same(&run.init, &now)) => {
            Ok(Prepared::default())
        }
        prepared => prepared,
    }
}

fn is_same(init: &Init, now: &InForce) -> bool {
    digest_like(init, now) == *init.decides.as_ref().unwrap_or(&init.policy_hash)
}

impl Driver {
    /// Checks that the working tree is the one the packet was made with, unless a step was still running
    /// then.
    fn check_tree(&self, paused: &Paused) -> anyhow::Result<()> {
        let in_flight = self.run.current.is_some();
        if in_flight || git::tree(&self.env, &self.root).unwrap_or_default() == paused.tree {
            return Ok(());
        }
        refused(format!(
            "the working tree is not the one that run {} paused with\n\
            hint: `git status` shows what changed; put it back, then resume again",
            self.run.run_id
        ))
    }

    fn reject(mut self, reporter: &mut dyn Reporter, paused: &Paused) -> anyhow::Result<Finish> {
        let note = self.take_note(Decision::Rejected)?;
        self.reject_deferred_call(note.as_deref())?;
        let why = note.map(|note| format!(": {note}")).unwrap_or_default();
        let reason = format!("a person rejected step `{}`{why}", paused.step);
        self.finish(reporter, RunOutcome::Blocked, reason)
    }

    /// The person's note. A decision that was written into the packet by hand is recorded now.
    fn take_note(&mut self, decision: Decision) -> anyhow::Result<Option<String>> {
        if let Some(resolved) = self.run.resolved.clone().filter(|resolved| resolved.decision == decision) {
            return Ok(resolved.note);
        }
        let checkpoint_id = self.run.paused.as_ref().map(|paused| paused.checkpoint_id.clone());
        let checkpoint_id = checkpoint_id.unwrap_or_default();
        self.append(AttemptFact::Resolved(Resolved { by: None, checkpoint_id, decision, note: None }))?;
        Ok(None)
    }

    fn record_resume(&mut self, paused: &Paused, limits: ResumeLimits) -> anyhow::Result<()> {
        let run = &self.run;
        let granted = match paused.trigger {
            // Approved without an amount: the original budget is granted again.
            Trigger::BudgetExhausted => run.init.budget.map(|first| run.cost + first),
            _ => run.budget,
        };
        let resumed = Resumed {
            budget: limits.budget.or(granted),
            checkpoint_id: paused.checkpoint_id.clone(),
            step_timeout_ms: limits.step_timeout_ms.unwrap_or(run.step_timeout_ms),
        };
        self.append(AttemptFact::Resumed(resumed))?;
        // Needed if a driver or a client was killed between the decision and the call.
        self.approved = self.run.approved.clone().filter(|id| self.is_deferred(id));
        Ok(())
    }
}
