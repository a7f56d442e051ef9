//! How prompts, writes, checks, rollbacks, stops and the steps of a run change phase, plan gate and debts.
//!
//! Changes a session and nothing else. Invariants: a verification is valid until the next write; while a step
//! is under way its prompt begins no task, and the step determines the plan gate.

use crate::config::policy::Level;
use crate::model::call::{CallState, Effect};
use crate::model::debt::DebtId;
use crate::model::named::Stored;
use crate::model::outcome::PhaseOutcome;
use crate::model::phase::{Phase, Sandbox};
use crate::session::fact::{Checked, GoesOn, NO_EFFECT, PromptHeard, Staged, Step, TurnEnded};
use crate::session::fold::Session;
use crate::session::memory::{
    Closing, IssueInHand, LastRun, OpenCall, Prompts, RollbackState, StepRefusal, TaskAudit, TaskProgress,
    Undone,
};
use crate::session::prompt::Prompt;
use crate::session::state::{Stopping, Task, TaskWaiver};
use crate::text::json::cut;

impl Session {
    /// A prompt that was not refused.
    /// `joins`: the prompt before it still waits for its plan.
    pub(super) fn apply_prompt(&mut self, prompt: &str, heard: &PromptHeard, joins: bool) {
        match (heard.means, heard.goes_on) {
            (Prompt::Machine | Prompt::Ours, _) => {}
            (Prompt::Command, _) if self.has_open_task() => {}
            (Prompt::Ordinary, Some(GoesOn::InHand)) if self.is_unfinished() => self.continue_task(prompt),
            (Prompt::Ordinary, _) if self.plans_first() => self.await_plan(prompt, joins),
            (Prompt::Ordinary, _) if self.is_unfinished() && !heard.anew => self.continue_task(prompt),
            (Prompt::Ordinary, _) => self.begin_small_task(prompt),
            (Prompt::Waived, _) => self.begin_waived_task(prompt, TaskWaiver::Prompt, None),
            (Prompt::Command, _) => self.begin_waived_task(prompt, TaskWaiver::Command, Some("direct-skill")),
        }
    }

    /// A task is open that a slash command would be part of. An answered question does not count.
    pub fn has_open_task(&self) -> bool {
        let state = &self.state;
        let over = matches!(state.phase, Phase::Idle | Phase::Done);
        state.state.hydration_pending || !over && state.task.is_some() && !self.is_mere_question()
    }

    /// The current task is a question, and it has changed nothing.
    pub fn is_mere_question(&self) -> bool {
        let question = self.state.state.current_workflow.as_deref() == Some("simple-question");
        question && self.state.task.as_ref().is_some_and(|task| task.writes == 0)
    }

    /// Begins a task without the loop, on the user's authority.
    fn begin_waived_task(&mut self, prompt: &str, waiver: TaskWaiver, workflow: Option<&str>) {
        self.memory.progress.prompts.count += 1;
        self.begin_task(cut(prompt, 500));
        self.state.hydration.original_prompt = Some(Prompt::join(None, prompt));
        self.state.state.current_workflow = workflow.map(str::to_owned);
        if let Some(task) = &mut self.state.task {
            task.waiver = Some(waiver.into());
        }
        self.state.phase = Phase::Execute;
        self.state.sandbox = Sandbox::Open;
    }

    /// The working directory left the project, so the plan that was made there is not valid here.
    pub(super) fn apply_cwd_change(&mut self, cwd: &str) {
        let root = &self.memory.place.root;
        let inside =
            cwd.strip_prefix(root.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if inside || root.is_empty() || self.state.sandbox == Sandbox::Shut || self.needs_no_plan() {
            return;
        }
        if let Some(stage) = &mut self.memory.run {
            stage.sandbox = Sandbox::Shut;
        }
        self.memory.progress.before.get_or_insert((self.state.phase, self.state.sandbox));
        self.state.state.hydration_pending = true;
        self.state.phase = Phase::Hydrate;
        self.state.sandbox = Sandbox::Shut;
    }

    /// The working tree was rolled back, so findings about the old tree are void. If the checkpoint belongs
    /// to the current task, the loop goes back too, but never past a pending prompt or a block.
    pub(super) fn apply_rollback(&mut self, undone: &Undone) {
        match undone.stage {
            RollbackState::Begun => self.memory.undo.rolling_back = Some(Box::new(undone.clone())),
            RollbackState::Dropped => self.memory.undo.rolling_back = None,
            RollbackState::Told => self.memory.undo.rolled_back = None,
            RollbackState::Done => {
                self.memory.undo.rolling_back = None;
                self.memory.undo.rolled_back = Some(Box::new(undone.clone()));
                self.memory.progress.proven.verified = false;
                self.memory.progress.proven.reflected = false;
                self.memory.progress.proven.checks.clear();
                self.forget_growth();
                self.state.stop = Stopping::default();
                let same_task = self.state.task.as_ref().map_or(0, |task| task.n) == undone.task;
                let held = self.state.state.hydration_pending || self.state.phase == Phase::Halted;
                if undone.own && same_task && !held && self.blocked().is_none() {
                    self.state.phase = undone.phase;
                    self.state.sandbox = undone.sandbox;
                }
            }
        }
    }

    pub(super) fn begin_task(&mut self, intent: &str) {
        let n = self.state.task.as_ref().map_or(0, |task| task.n) + 1;
        self.state.task = Some(Task { intent: Some(intent.to_owned()), n, waiver: None, writes: 0 });
        self.state.stop = Stopping::default();
        self.state.hydration.hydrated_intent = None;
        self.state.hydration.acceptance_criteria.clear();
        self.state.hydration.critic_verdict = None;
        self.state.state.hydration_pending = false;
        self.memory.questions.quiet.iter_mut().for_each(|quiet| quiet.hindered.clear());
        self.memory.questions.secrets.clear();
        let old = std::mem::take(&mut self.memory.progress);
        let count = old.prompts.count;
        let since_prompt = |issue: &IssueInHand| issue.prompt_count == count;
        self.memory.progress = TaskProgress {
            agents: old.agents,
            audit: TaskAudit { rehearsed: false, ..old.audit },
            closing: Closing {
                issues: old.closing.issues.into_iter().filter(since_prompt).collect(),
                rejected: false,
                unsynced: old.closing.unsynced,
            },
            prompts: Prompts { count, first_of_task: count, ..Prompts::default() },
            told: old.told,
            waivers: old.waivers,
            ..TaskProgress::default()
        };
        self.name_task();
    }

    /// Records the result of a user's check. A failure sends the work back, or ends it.
    pub(super) fn apply_check(&mut self, checked: &Checked) {
        if let Some(stage) = &mut self.memory.run {
            stage.failing.retain(|id| *id != checked.id);
            stage.failing.extend(checked.failed().then(|| checked.id.clone()));
        }
        let run = LastRun { ending: checked.ending.clone(), outcome: checked.outcome.clone() };
        self.memory.progress.proven.checks.insert(checked.id.clone(), run);
        let policy = self.policy();
        let held = policy.gates.checks == Level::Enforce;
        if checked.failed() {
            self.note_friction();
        }
        match checked.outcome.known() {
            _ if !held => {}
            Some(PhaseOutcome::Halt) => {
                self.memory.progress.plan.problems = vec![format!("check `{}` failed", checked.id)];
                self.state.phase = Phase::Halted;
                self.state.sandbox = Sandbox::Shut;
            }
            Some(PhaseOutcome::InterventionRequired)
                if matches!(
                    self.state.phase,
                    Phase::Execute | Phase::Verify | Phase::Reflect | Phase::Close
                ) =>
            {
                self.state.phase = Phase::Intervene;
            }
            _ => {}
        }
    }

    /// Work began without a plan, so the prompt is the intent. The hydrator may still report.
    fn begin_unplanned(&mut self) {
        let pending = self.state.state.hydration_pending;
        let prompt = self.state.hydration.original_prompt.clone().unwrap_or_default();
        self.begin_task(cut(&prompt, 500));
        self.state.state.hydration_pending = pending;
        if !self.plans_first() {
            self.open_small_task();
        }
    }

    /// A call that changed something has ended. The caller leaves out calls of our agents, which do not
    /// count.
    pub(super) fn count_write(&mut self, effect: Effect, drawn: Option<bool>) {
        if !effect.is_write() {
            return;
        }
        if self.state.task.is_none() && self.memory.run.is_none() {
            self.begin_unplanned();
        }
        self.resume_small_task();
        if let Some(task) = &mut self.state.task {
            task.writes += 1;
        }
        self.state.audit.writes_since += 1;
        self.memory.progress.audit.writes_since_draw += 1;
        if drawn == Some(true) {
            self.state.audit.drawn += 1;
            let asked_for = self.policy().gates.audit != Level::Off;
            self.state.audit.due = asked_for;
            self.memory.progress.audit.rehearsed = !asked_for;
            self.state.audit.writes_since = 0;
            self.memory.progress.audit.writes_since_draw = 0;
        }
        if effect == Effect::Write {
            self.memory.progress.proven.verified = false;
            self.memory.progress.proven.reflected = false;
            self.memory.progress.proven.tested = false;
        }
    }

    /// The end of a turn: refused because of what is owed, or allowed.
    pub(super) fn apply_stop(&mut self, end: &TurnEnded, refused: bool) {
        let Some(owed) = &end.owed else { return };
        self.memory.progress.told.no_git |= end.no_git;
        let waits = self.awaits_plan_of().is_some_and(|agent| owed.contains(&DebtId::from(agent).into()));
        let stop = &mut self.state.stop;
        let planned = is_owed_plan(&stop.owed) && !waits && self.memory.run.is_none();
        if owed.len() < stop.owed.len() || planned {
            stop.refusals = 0;
        }
        stop.owed.clone_from(owed);
        if owed.iter().any(|debt| *debt == DebtId::QaVerifier) {
            self.memory.progress.proven.verified = false;
        }
        if refused {
            stop.refusals += 1;
            self.state.phase = match owed.iter().find(|debt| **debt != DebtId::Format).map(Stored::known) {
                _ if waits => self.state.phase,
                Some(Some(DebtId::Checks)) => Phase::Intervene,
                Some(Some(DebtId::Custodiet | DebtId::Evidence | DebtId::QaVerifier)) => Phase::Verify,
                Some(Some(DebtId::Framework)) => Phase::Reflect,
                None if !owed.is_empty() => Phase::Verify,
                _ => Phase::Close,
            };
        } else if owed.is_empty() {
            if !end.asks {
                self.finish_task(end.shuts);
            }
        } else {
            self.memory.progress.let_go = true;
            if end.ends {
                self.state.phase = Phase::Done;
            }
            if end.shuts {
                self.state.sandbox = Sandbox::Shut;
            }
        }
    }

    /// Nothing is owed: work is done, and a question is answered.
    fn finish_task(&mut self, shuts: bool) {
        let worked = self.state.task.as_ref().is_some_and(|task| task.writes > 0);
        if worked && !matches!(self.state.phase, Phase::Halted | Phase::Hydrate) {
            self.state.phase = Phase::Done;
            if shuts {
                self.state.sandbox = Sandbox::Shut;
            }
        } else if self.memory.progress.weight.unplanned && self.state.phase == Phase::Execute {
            self.state.phase = Phase::Idle;
        }
    }

    /// The driver begins a step, or ends the current one.
    pub(super) fn apply_run_step(&mut self, staged: &Staged) {
        self.state.stop = Stopping::default();
        self.state.state.hydration_pending = false;
        self.memory.progress.before = None;
        self.memory.run.clone_from(&staged.stage);
        let Some(stage) = &staged.stage else {
            self.state.sandbox = Sandbox::Shut;
            return;
        };
        self.state.phase = stage.phase;
        self.state.sandbox = stage.sandbox;
        self.state.hydration.original_prompt = Some(Prompt::join(None, &staged.task));
    }

    /// A refusal in the main conversation stays recorded until a later call completes.
    pub(super) fn update_step_refusal(&mut self, open: &OpenCall, step: &Step) {
        let Some(stage) = self.memory.run.as_mut().filter(|_| open.agent_id.is_none()) else { return };
        let writes = open.means.effect.is_some_and(Effect::is_write);
        let unheard = step.reason.as_deref() == Some(NO_EFFECT);
        match step.to {
            CallState::Denied if step.gate.is_some() => {
                stage.refused = Some(StepRefusal { by: step.gate.clone(), what: step.reason.clone() });
            }
            CallState::Failed if unheard && writes => {
                let what = format!("the client did not run `{}`", cut(&step.call.tool, 64));
                stage.refused = Some(StepRefusal { by: None, what: Some(what) });
            }
            CallState::Completed if writes || open.means.effect == Some(Effect::Spawn) => {
                stage.refused = None;
            }
            _ => {}
        }
    }
}

/// The last Stop owed only the plan's review, or a better plan.
pub fn is_owed_plan(owed: &[Stored<DebtId>]) -> bool {
    matches!(owed, [Stored::Known(DebtId::Critic | DebtId::Hydrator)])
}
