//! How a run's driver and its steps change a session.
//!
//! Changes a session and nothing else. Invariant: while a step is under way its prompt begins no task, and the sandbox is
//! the step's.

use crate::model::call::{CallState, Effect};
use crate::session::fact::{Checked, NO_EFFECT, Staged, Step};
use crate::session::fold::Session;
use crate::session::state::{OpenCall, Sandbox, Stopping};
use crate::text::json::cut;

impl Session {
    /// The driver begins a step, or ends the one under way.
    pub(super) fn apply_run_step(&mut self, staged: &Staged) {
        self.state.stop = Stopping::default();
        self.state.state.hydration_pending = false;
        self.memory.progress.before = None;
        self.memory.run.clone_from(&staged.stage);
        let Some(stage) = &staged.stage else {
            self.state.sandbox = Sandbox::Shut;
            return;
        };
        (self.state.phase, self.state.sandbox) = (stage.phase, stage.sandbox);
        self.state.hydration.original_prompt = Some(cut(&staged.task, 2048).to_owned());
    }

    pub(super) fn mark_step_prompted(&mut self) {
        if let Some(stage) = &mut self.memory.run {
            stage.prompted = true;
        }
    }

    /// A refusal in the main conversation stays open until a later call completes.
    pub(super) fn update_step_refusal(&mut self, open: &OpenCall, step: &Step) {
        let Some(stage) = self.memory.run.as_mut().filter(|_| open.agent_id.is_none()) else { return };
        let writes = open.effect.is_some_and(Effect::is_write);
        let unheard = step.reason.as_deref() == Some(NO_EFFECT);
        match step.to {
            CallState::Denied if step.gate.is_some() => {
                (stage.refused, stage.refused_by) = (step.reason.clone(), step.gate.clone());
            }
            CallState::Failed if unheard && writes => {
                let what = format!("the client did not run `{}`", cut(&step.call.tool, 64));
                (stage.refused, stage.refused_by) = (Some(what), None);
            }
            CallState::Completed if writes || open.effect == Some(Effect::Spawn) => {
                (stage.refused, stage.refused_by) = (None, None);
            }
            _ => {}
        }
    }

    /// One of the user's checks was run in the step.
    pub(super) fn update_failing_checks(&mut self, checked: &Checked) {
        let Some(stage) = &mut self.memory.run else { return };
        stage.failing.retain(|id| *id != checked.id);
        if checked.failed() {
            stage.failing.push(checked.id.clone());
        }
    }
}
