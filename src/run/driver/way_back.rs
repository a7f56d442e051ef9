//! Checkpoints of a run before and after each step, and how to go back to one of them.
//!
//! Writes the store, the attempt ledger and a packet. Invariants: a checkpoint's phase is the step's id, and
//! says which steps are completed, how each ended, and who approved what; a run goes back only while no
//! driver works on it; files of its later steps are kept under another name.

use super::base::Driver;
use super::judge::{PauseRequest, StepResult};
use super::prepare::lock_project;
use super::walk::{make_packet, mark_terminated};
use super::{Reporter, describe_next_step};
use crate::run::artifacts::RunArtifacts;
use crate::run::attempt::{AttemptFact, TakenBack, Trigger};
use crate::run::plan::PlannedStep;
use crate::run::state::RunState;
use aops_core::checkpoint::capture::Limits;
use aops_core::checkpoint::form::describe::{LONGEST_WORDS, RunView};
use aops_core::checkpoint::form::{Checkpoint, CheckpointKind, GateOutcome};
use aops_core::checkpoint::rollback::{self, LOOP_PHASE, STEP, Wanted};
use aops_core::checkpoint::store::Store;
use aops_core::model::agent::AgentId;
use aops_core::model::error::Failure;
use aops_core::model::trigger::CheckpointTrigger;
use aops_core::system::env::Env;
use aops_core::text::json::cut;
use aops_core::text::redact::redact;
use std::fs::File;
use std::path::Path;

type About = Vec<(&'static str, String)>;

impl Driver {
    /// Takes a checkpoint before a step, or after it with its result.
    pub(super) fn take_checkpoint(
        &mut self,
        step: &PlannedStep,
        result: Option<(&StepResult, &str)>,
    ) -> Result<(), Failure> {
        let env = self.env.later();
        let mut ledger = self.session().map(|_| self.lock_ledger(&env)).transpose()?;
        let mut used = ledger.as_ref().map(rollback::used).unwrap_or_default();
        let (result, output) = result.unzip();
        let output = output.map(str::trim).filter(|output| !output.is_empty());
        used.words = output.filter(|_| step.is_client()).map(str::to_owned).or(used.words);
        let started = result.map(|_| self.run.current_since.clone());
        let kind = if result.is_some() { CheckpointKind::Post } else { CheckpointKind::Pre };
        let (trigger, mut about) = self.describe_occasion(step, result);
        about.extend(output.map(|output| ("output", redact(tail(output, LONGEST_WORDS)).into_owned())));
        about.extend([(STEP, step.id.clone()), (LOOP_PHASE, step.phase.name().to_owned())]);
        let view = Some(self.view_with(step, result));
        let wanted =
            Wanted { about, used, view, started, ..Wanted::new(&self.run.run_id, kind, &step.id, trigger) };
        let store = Store::open(&env, &self.root)?;
        let limits = Limits::of(&self.prepared.policy);
        rollback::take(&env, &store, ledger.as_mut(), &limits, &wanted).map(drop)
    }

    /// Why it is taken: with the error of a failure, and with who approved what.
    fn describe_occasion(
        &mut self,
        step: &PlannedStep,
        result: Option<&StepResult>,
    ) -> (CheckpointTrigger, About) {
        let said = |text: &str| redact(cut(text, 500)).into_owned();
        match result {
            None => match self.approval.take() {
                None => (CheckpointTrigger::Run, Vec::new()),
                Some((what, note)) => {
                    let note = note.map(|note| ("note", said(&note)));
                    let by = [("approved", said(&what)), ("approved_by", "a person".to_owned())];
                    (CheckpointTrigger::Approval, by.into_iter().chain(note).collect())
                }
            },
            Some(StepResult::Passed) if step.verdict_of() == Some(AgentId::Critic) => (
                CheckpointTrigger::Approval,
                vec![("approved", said(&step.name)), ("approved_by", AgentId::Critic.to_string())],
            ),
            Some(StepResult::Passed) => (CheckpointTrigger::Run, Vec::new()),
            Some(StepResult::Pause(request)) => {
                (CheckpointTrigger::Pause, vec![("error", said(&request.question))])
            }
            Some(failed) => {
                (CheckpointTrigger::Failure, vec![("error", said(failed.reason().unwrap_or_default()))])
            }
        }
    }

    fn view_with(&self, step: &PlannedStep, result: Option<&StepResult>) -> RunView {
        let mut view = self.run.view(&step.id);
        let Some(result) = result else { return view };
        let reason = result.reason().map(str::to_owned);
        let outcome = result.outcome().of_phase().into();
        view.gates.retain(|gate| gate.name != step.id);
        view.gates.push(GateOutcome { name: step.id.clone(), outcome, reason });
        if *result == StepResult::Passed && view.incomplete.contains(&step.id) {
            view.incomplete.retain(|id| *id != step.id);
            view.completed.push(step.id.clone());
        }
        view
    }
}

/// The last bytes of a string, starting at a character boundary.
fn tail(text: &str, most: usize) -> &str {
    let from = text.len().saturating_sub(most);
    &text[(from..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())..]
}

/// A run that can go back to one of its checkpoints; no driver works on it meanwhile.
pub struct WayBack {
    artifacts: RunArtifacts,
    pub run: RunState,
    _lock: File,
}

impl WayBack {
    /// The run with this id, if this project has one.
    pub fn of(
        env: &Env,
        reporter: &mut dyn Reporter,
        root: &Path,
        run_id: &str,
    ) -> anyhow::Result<Option<Self>> {
        let artifacts = RunArtifacts::of(root);
        let find = || anyhow::Ok(artifacts.runs()?.into_iter().find(|run| run.run_id == run_id));
        if find()?.is_none() {
            return Ok(None);
        }
        let lock = lock_project(&artifacts)?;
        let Some(mut run) = find()? else { return Ok(None) };
        if run.status.is_driven() {
            run = mark_terminated(env, reporter, root, &artifacts, run)?;
        }
        Ok(Some(Self { artifacts, run, _lock: lock }))
    }

    /// The run's present state, for a checkpoint of it.
    pub fn view(&self) -> RunView {
        let next =
            self.run.next_step().map(|(_, step)| step).or(self.run.init.steps.last().map(String::as_str));
        self.run.view(next.unwrap_or_default())
    }

    /// Records that the run went back to this checkpoint, where it waits for `resume`. Returns how to
    /// continue.
    pub fn take(
        mut self,
        env: &Env,
        root: &Path,
        target: &Checkpoint,
        result: &str,
    ) -> anyhow::Result<String> {
        let steps = self.run.init.steps.clone();
        let completed = completed_at(&self.run, target);
        let incomplete: Vec<String> = steps.into_iter().filter(|step| !completed.contains(step)).collect();
        let version = self.run.versions + 1;
        self.artifacts.set_aside(&self.run.run_id, &incomplete, version)?;
        let checkpoint = target.identity.checkpoint_id.clone();
        let question = format!("the run was taken back to `{checkpoint}`");
        self.append(AttemptFact::Rollback(TakenBack {
            checkpoint,
            completed,
            incomplete,
            result: result.to_owned(),
        }))?;
        let last = self.run.init.steps.len().saturating_sub(1);
        let index = self.run.next_step().map_or(last, |(index, _)| index);
        let why = PauseRequest::new(Trigger::RolledBack, question);
        let (packet, paused) = make_packet(&env.driving(), root, &self.run, index, why)?;
        self.artifacts.keep_pause(&packet)?;
        let step = paused.step.clone();
        self.append(AttemptFact::Checkpoint(paused))?;
        let hint = describe_next_step(&packet.checkpoint_id, Trigger::RolledBack, None);
        Ok(format!("run {} waits at step `{step}`; {hint}", self.run.run_id))
    }

    fn append(&mut self, deed: AttemptFact) -> Result<(), Failure> {
        self.run.apply(&self.artifacts.append(&self.run.run_id, deed)?);
        Ok(())
    }
}

/// The steps that were completed at a checkpoint. A checkpoint in the first format knows only its own step.
fn completed_at(run: &RunState, target: &Checkpoint) -> Vec<String> {
    let steps = &run.init.steps;
    if !target.orchestrator.current_phase.is_empty() {
        return steps.iter().filter(|step| target.orchestrator.completed.contains(step)).cloned().collect();
    }
    let at =
        target.metadata.get(STEP).and_then(|step| steps.iter().position(|known| known == step)).unwrap_or(0);
    let passed = target.kind == CheckpointKind::Post && target.trigger() == CheckpointTrigger::Run;
    steps[..at + usize::from(passed)].to_vec()
}
