//! A run from its first step to its end or its next pause, with the packets that it leaves there.
//!
//! Writes packets and the attempt ledger, starts the command under `[run] notify`. Invariants: a packet is on
//! disk before the ledger says so; if a driver dies in between, the next one ends the run again with the same
//! message.

use super::base::Driver;
use super::judge::{PauseRequest, StepResult};
use super::network::{RunNetwork, tell_refused};
use super::prepare::{
    Prepared, RunRequest, check_free, lock_project, make_run_id, project_root, random_hex, read_context,
};
use super::{Finish, Reporter, describe_next_step};
use crate::refusal::refused;
use crate::run::artifacts::RunArtifacts;
use crate::run::attempt::{AttemptFact, Ended, Init, Paused, Revised, RunOutcome, Trigger};
use crate::run::job::{JobFiles, JobStatus};
use crate::run::packet::{End, Pause, TaskSpec};
use crate::run::plan::{PlannedStep, intervention, plan_step};
use crate::run::state::{MOST_ROUNDS, RunState};
use aops_core::jail::network::{self, run_folder};
use aops_core::model::agent::AgentId;
use aops_core::model::{client::Client, error::Failure};
use aops_core::system::env::{Env, RUN, now_ms};
use aops_core::system::process::program::{Identity, Program};
use aops_core::system::process::{self, Ending, Task, variable};
use aops_core::system::{git, signal};
use aops_core::text::time::timestamp;
use std::path::Path;
use std::time::Duration;

pub fn run(env: &Env, reporter: &mut dyn Reporter, request: &RunRequest) -> anyhow::Result<Finish> {
    let env = Env { host: Client::of(&request.client).unwrap_or_default(), ..env.driving() };
    let root = project_root(&env);
    check_free(&env, &root)?;
    let prepared = Prepared::of(&env, &root, &request.workflow, request.project_type.as_deref())?;
    let context = read_context(&env, &root, &request.context)?;
    let artifacts = RunArtifacts::of(&root);
    artifacts.prepare(&root)?;
    let lock = lock_project(&artifacts)?;
    for dead in artifacts.runs()?.into_iter().filter(|run| run.status.is_driven()) {
        mark_terminated(&env, reporter, &root, &artifacts, dead)?;
    }
    let began = git::status(&env, &root).unwrap_or_default();
    let init = Init {
        base: Some(began.head),
        branch: Some(began.branch),
        budget: request.budget,
        client: request.client.clone(),
        context,
        decides: Some(prepared.decides.clone()),
        model: request.model.clone(),
        policy_hash: prepared.policy_hash.clone(),
        project_type: request.project_type.clone(),
        session_id: session_id()?,
        step_timeout_ms: request.step_timeout_ms,
        steps: prepared.plan.iter().map(|step| step.id.clone()).collect(),
        task: request.task.clone(),
        workflow: request.workflow.clone(),
    };
    let run_id = request.run_id.clone().map_or_else(|| make_run_id(&env), Ok)?;
    let run = RunState { run_id, ..RunState::default() };
    let mut driver = Driver::new(env, root, (artifacts, lock), run, prepared)?;
    driver.append(AttemptFact::Init(init))?;
    driver.walk(reporter)
}

impl Driver {
    pub(super) fn walk(self, reporter: &mut dyn Reporter) -> anyhow::Result<Finish> {
        let network = RunNetwork::start(&self.env, &self.folder, &self.root, &self.prepared.policy)?;
        let finish = self.walk_on(reporter);
        network.end();
        finish
    }

    fn walk_on(mut self, reporter: &mut dyn Reporter) -> anyhow::Result<Finish> {
        reporter.run_began(&self.run);
        loop {
            if let Some(reason) = self.policy_changed() {
                return self.finish(reporter, RunOutcome::Blocked, reason);
            }
            if let Some((index, request)) = self.revise(reporter)? {
                return self.pause(reporter, index, request);
            }
            let Some((index, step)) = self.next_step() else {
                return self.deliver(reporter);
            };
            let result = if signal::interrupted() {
                StepResult::pause(Trigger::Interrupted, "the run was interrupted between two steps")
            } else {
                self.step(reporter, index, &step)?
            };
            match result {
                StepResult::Blocked(reason) => return self.finish(reporter, RunOutcome::Blocked, reason),
                StepResult::Issues(issues) if self.run.is_beyond_mending(&step.id) => {
                    let id = &step.id;
                    let question = format!(
                        "the verifier of step `{id}` still finds issues after {MOST_ROUNDS} interventions: \
                        {issues}; may there be {MOST_ROUNDS} more?"
                    );
                    return self.pause(
                        reporter,
                        index,
                        PauseRequest::new(Trigger::VerificationFailed, question),
                    );
                }
                StepResult::Passed | StepResult::Issues(_) | StepResult::Revise(_) | StepResult::Halt(_) => {}
                StepResult::Pause(request) => return self.pause(reporter, index, request),
            }
        }
    }

    /// The next step of the plan, or the intervention that it waits for.
    fn next_step(&self) -> Option<(usize, PlannedStep)> {
        let (index, id) = self.run.next_step()?;
        let step = &self.prepared.plan[index];
        let issues = self.run.done.get(id).map_or("", |done| done.reason.as_str());
        let mended = self.run.mending(id).map(|round| intervention(step, round, issues));
        Some((index, mended.unwrap_or_else(|| step.clone())))
    }

    /// After the critic sent the plan back, either resets the steps from the plan on, or asks a person.
    /// Called before every step, so that it also happens if the driver died after the critic's verdict.
    fn revise(&mut self, reporter: &mut dyn Reporter) -> Result<Option<(usize, PauseRequest)>, Failure> {
        let Some((index, by)) = self.run.next_step().map(|(index, id)| (index, id.to_owned())) else {
            return Ok(None);
        };
        let is_critic = self.prepared.plan[index].verdict_of() == Some(AgentId::Critic);
        let Some(done) = self.run.sends_back(&by).filter(|_| is_critic) else { return Ok(None) };
        let problems = done.reason.clone();
        let halted = done.outcome == RunOutcome::EscalationRequested;
        let first = plan_step(&self.prepared.plan[..index]);
        if !self.run.may_revise(&by, first.is_some()) {
            let rounds = first.map(|_| format!(" after {MOST_ROUNDS} revisions")).unwrap_or_default();
            let (trigger, verdict) = if halted {
                (Trigger::CriticHalt, "says HALT".to_owned())
            } else {
                (Trigger::CriticRevise, format!("still says REVISE{rounds}"))
            };
            let question = format!("the critic of step `{by}` {verdict}: {problems}; what shall be done?");
            return Ok(Some((index, PauseRequest::new(trigger, question))));
        }
        let again = self.run.init.steps[first.unwrap_or(index)..=index].to_vec();
        self.artifacts.set_aside(&self.run.run_id, &again, self.run.versions + 1)?;
        reporter.note(&format!(
            "the critic of step `{by}` sent the plan back; continuing with step `{}`",
            again[0]
        ));
        self.append(AttemptFact::Revised(Revised { again, by, problems }))?;
        Ok(None)
    }

    fn pause(
        mut self,
        reporter: &mut dyn Reporter,
        index: usize,
        request: PauseRequest,
    ) -> anyhow::Result<Finish> {
        let trigger = request.trigger;
        let (packet, paused) = make_packet(&self.env, &self.root, &self.run, index, request)?;
        let file = self.artifacts.keep_pause(&packet)?;
        self.append(AttemptFact::Checkpoint(paused))?;
        self.leave_step(trigger.outcome())?;
        let hint = describe_next_step(&packet.checkpoint_id, trigger, None);
        let run_id = packet.run_id;
        let reason = packet.question;
        let outcome = trigger.outcome();
        let resumed = self.resumed;
        let hint = Some(hint);
        let delivered = None;
        let finish = Finish { run_id, outcome, reason, packet: file, hint, delivered, resumed };
        self.notify(reporter, &finish);
        Ok(finish)
    }

    pub(super) fn finish(
        self,
        reporter: &mut dyn Reporter,
        outcome: RunOutcome,
        reason: String,
    ) -> anyhow::Result<Finish> {
        self.finish_with(reporter, outcome, reason, None)
    }

    pub(super) fn finish_with(
        mut self,
        reporter: &mut dyn Reporter,
        outcome: RunOutcome,
        reason: String,
        hint: Option<String>,
    ) -> anyhow::Result<Finish> {
        let head = self.leave_step(outcome)?.unwrap_or_else(|| self.artifacts.head());
        let run_id = self.run.run_id.clone();
        let end = End {
            commit_hash: git::status(&self.env, &self.root).unwrap_or_default().head,
            ledger_head: head,
            outcome,
            policy_hash: self.run.init.policy_hash.clone(),
            reason: if outcome == RunOutcome::Pass { "pass".to_owned() } else { reason.clone() },
            run_id: run_id.clone(),
            steps_executed: self.run.executed(),
            timestamp: timestamp(now_ms()),
            workflow: self.run.init.workflow.clone(),
        };
        let packet = self.artifacts.keep_end(&end)?;
        self.append(AttemptFact::Terminal(Ended { outcome, reason: reason.clone() }))?;
        let delivered = self.run.delivered.clone().filter(|_| outcome == RunOutcome::Pass);
        let finish = Finish { run_id, outcome, reason, packet, hint, delivered, resumed: self.resumed };
        self.notify(reporter, &finish);
        tell_refused(&self.folder, reporter);
        if outcome == RunOutcome::Pass {
            // The files in this folder identify the broker, so it ends first.
            network::end(&self.folder);
            let _ = std::fs::remove_dir_all(&self.folder);
        }
        Ok(finish)
    }

    /// Runs the command under `[run] notify`. Its failure does not change the run.
    fn notify(&self, reporter: &mut dyn Reporter, finish: &Finish) {
        let Some(line) = &self.prepared.policy.run.notify else { return };
        let mut variables = self.env.variables(|_| true);
        variables.extend([
            variable(RUN, &finish.run_id),
            variable("AOPS_OUTCOME", finish.outcome.name()),
            variable("AOPS_REASON", &finish.reason),
            variable("AOPS_PACKET", &finish.packet),
        ]);
        let args = ["-c".to_owned(), line.clone()];
        let run = |program: Program| {
            process::run(&Task::new(&program, &args, &self.root, &variables, Duration::from_secs(10)))
        };
        if !Program::find(&self.env, Identity::At(Path::new("/bin/sh")))
            .and_then(run)
            .is_ok_and(|done| done.ending == Ending::Exit(0))
        {
            reporter.note("the command under `[run] notify` failed");
        }
    }
}

/// A new session id: a version 4 UUID, as the client wants it.
fn session_id() -> Result<String, Failure> {
    let hex = random_hex(16)?;
    Ok(format!("{}-{}-4{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..]))
}

/// Marks a run whose driver died as TERMINATED, so that it can be resumed. Refuses if its step is still
/// running.
pub fn mark_terminated(
    env: &Env,
    reporter: &mut dyn Reporter,
    root: &Path,
    artifacts: &RunArtifacts,
    mut run: RunState,
) -> anyhow::Result<RunState> {
    let folder = run_folder(env, &run.run_id);
    let current = run.current.as_ref();
    let running = current.is_some_and(|begun| JobFiles::of(&folder, begun).status() == JobStatus::Running);
    let last = run.init.steps.len().saturating_sub(1);
    let index = run.next_step().map_or(last, |(index, _)| index);
    let why = PauseRequest::new(Trigger::Terminated, "the driver ended before the run did");
    let (packet, paused) = make_packet(&env.driving(), root, &run, index, why)?;
    artifacts.keep_pause(&packet)?;
    run.apply(&artifacts.append(&run.run_id, AttemptFact::Checkpoint(paused))?);
    let hint = describe_next_step(&packet.checkpoint_id, Trigger::Terminated, None);
    reporter.note(&format!("run {} was TERMINATED: its driver ended; {hint}", run.run_id));
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
    let tree = git::tree(env, root)
        .ok_or_else(|| Failure::storage(root.display(), "git cannot read the working tree"))?;
    let step = run.init.steps.get(index).cloned().unwrap_or_default();
    let packet = Pause {
        checkpoint_id: format!("CP_{}_{step}", run.run_id),
        policy_hash: run.init.policy_hash.clone(),
        question: question.clone(),
        run_id: run.run_id.clone(),
        session_id: run.init.session_id.clone(),
        step_index: index as u64,
        task_spec: TaskSpec::of(&run.init),
        timestamp: timestamp(now_ms()),
        tool_use_id: tool_use_id.clone(),
        trigger,
        ..Pause::default()
    }
    .seal(&tree);
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
