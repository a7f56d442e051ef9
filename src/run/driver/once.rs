//! A run under a key of the caller: however often it is requested, it is done once.
//!
//! For durable engines, which repeat a call if they saw no end of it. Waits for a driver that is working in
//! the project, since a killed caller leaves its driver running. Invariant: one key is one run; a finished
//! run is reported again, not repeated.

use super::prepare::project_root;
use super::{Finish, Reporter, ResumeLimits, RunRequest, describe_next_step, resume, run};
use crate::refusal::refused;
use crate::run::artifacts::RunArtifacts;
use crate::run::attempt::{RunOutcome, RunStatus};
use crate::run::state::RunState;
use aops_core::system::{env::Env, signal};
use aops_core::text::sha256::sha256;
use std::thread;
use std::time::Duration;

const LOOK_AGAIN: Duration = Duration::from_millis(200);

pub fn run_id_of(key: &str) -> String {
    format!("key-{}", &sha256(&[key.as_bytes()])[..16])
}

/// Starts the run with this key, continues it, or reports how it ended.
pub fn run_once(
    env: &Env,
    reporter: &mut dyn Reporter,
    key: &str,
    request: &RunRequest,
    limits: ResumeLimits,
) -> anyhow::Result<Finish> {
    let id = run_id_of(key);
    let artifacts = RunArtifacts::of(&project_root(env));
    wait(&artifacts, reporter);
    let Some(known) = artifacts.runs()?.into_iter().find(|known| known.run_id == id) else {
        return run(env, reporter, &RunRequest { run_id: Some(id), ..request.clone() });
    };
    let asked = (&request.task, &request.workflow, &request.project_type);
    if (&known.init.task, &known.init.workflow, &known.init.project_type) != asked {
        return refused(format!(
            "the key `{key}` belongs to run {id}, which does another task: {}\n\
            hint: give each task a key of its own",
            known.init.task
        ));
    }
    match told_again(&artifacts, &known)? {
        Some(finish) => Ok(finish),
        None => resume(env, reporter, &id, limits),
    }
}

/// The end of this run, or the decision that it waits for.
fn told_again(artifacts: &RunArtifacts, known: &RunState) -> anyhow::Result<Option<Finish>> {
    let run_id = known.run_id.clone();
    if known.status == RunStatus::Terminal {
        let outcome = known.outcome.unwrap_or(RunOutcome::Blocked);
        let reason = known.reason.clone();
        return Ok(Some(Finish {
            packet: artifacts.end_file(&run_id),
            run_id,
            outcome,
            reason,
            hint: None,
            delivered: known.delivered.clone(),
            resumed: false,
        }));
    }
    let Some(paused) = known.paused.as_ref().filter(|_| !known.status.is_driven()) else { return Ok(None) };
    if !paused.trigger.asks_person() || artifacts.pause(known)?.decision().is_some() {
        return Ok(None);
    }
    Ok(Some(Finish {
        run_id,
        outcome: paused.trigger.outcome(),
        reason: paused.question.clone(),
        packet: artifacts.pause_file(&paused.checkpoint_id),
        hint: Some(describe_next_step(&paused.checkpoint_id, paused.trigger, None)),
        delivered: None,
        resumed: false,
    }))
}

/// Waits until no driver is working in this project.
fn wait(artifacts: &RunArtifacts, reporter: &mut dyn Reporter) {
    while artifacts.is_driven() && !signal::interrupted() {
        reporter.waits();
        thread::sleep(LOOK_AGAIN);
    }
}
