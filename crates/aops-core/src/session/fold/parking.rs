//! Tasks that the person interrupted: set aside, and resumed later.
//!
//! Changes a session and nothing else. Invariants: a parked task owes nothing, forbids nothing, and its size
//! does not count; when it is resumed, it owes what it owed before, and the changes before and after are
//! added up.

use crate::model::call::CallState;
use crate::model::phase::{Phase, Sandbox};
use crate::session::fact::{GoesOn, PromptHeard, Step, TaskChosen, TaskMove};
use crate::session::fold::Session;
use crate::session::growth::{ChangedFile, Growth};
use crate::session::memory::{OpenCall, Parked, Prompts, TaskAudit, TaskProgress};
use crate::session::parked::MOST_PARKED;
use crate::session::prompt::Prompt;
use crate::session::state::{Hydration, Task};

impl Session {
    /// A person or an agent decided about a task. A task that no longer exists is ignored.
    pub(super) fn choose_task(&mut self, chosen: &TaskChosen) {
        let at = chosen.at.map(|at| usize::try_from(at).unwrap_or(usize::MAX));
        match (chosen.how, at) {
            (_, Some(at)) if at >= self.memory.parked.len() => {}
            (TaskMove::Drop, Some(at)) => drop(self.memory.parked.remove(at)),
            (TaskMove::Drop, None) if self.is_unfinished() => {
                self.leave_task();
                // What it changed does not belong to the next task.
                self.memory.progress.let_go = true;
            }
            (how, Some(at)) => {
                let task = self.memory.parked.remove(at);
                self.memory.parked.push(Parked { wanted: how == TaskMove::Want, ..task });
                if how == TaskMove::Resume && chosen.alone {
                    self.leave_finished();
                }
                if how == TaskMove::Resume {
                    self.take_up();
                    self.memory.progress.prompts.resumed = chosen.held;
                }
            }
            _ => {}
        }
    }

    /// Sets the current task aside, so that the next prompt starts from zero.
    pub(super) fn park_task(&mut self, files: u64, paths: &[String]) {
        if self.is_unfinished() {
            self.set_aside(files, paths, false);
            self.leave_task();
        }
    }

    /// Moves the current task to the parked ones; the caller decides what replaces it. `asked`: a question
    /// does.
    pub(super) fn set_aside(&mut self, files: u64, paths: &[String], asked: bool) {
        let (phase, sandbox) = self.memory.progress.before.unwrap_or((self.state.phase, self.state.sandbox));
        let task = self.state.task.clone().unwrap_or_default();
        let parked = Parked {
            asked,
            audit_due: std::mem::take(&mut self.state.audit.due),
            baseline_sha256: self.memory.place.baseline_sha256.clone(),
            files,
            hydration: self.state.hydration.clone(),
            intent: task.intent,
            paths: paths.to_vec(),
            phase,
            progress: Box::new(TaskProgress {
                agents: Vec::new(),
                before: None,
                ..self.memory.progress.clone()
            }),
            sandbox,
            wanted: false,
            workflow: self.state.state.current_workflow.take(),
            writes: task.writes,
        };
        self.memory.parked.push(parked);
        let surplus = self.memory.parked.len().saturating_sub(MOST_PARKED);
        self.memory.parked.drain(..surplus);
    }

    /// No task is current any more.
    pub(super) fn leave_task(&mut self) {
        self.begin_task("");
        self.state.state.current_workflow = None;
        self.state.audit.due = false;
        self.memory.progress.closing.issues.clear();
        if !self.plans_first() {
            self.open_small_task();
        }
        self.state.phase = Phase::Idle;
        if self.plans_first() {
            self.state.sandbox = Sandbox::Shut;
        }
    }

    /// A person's prompt decides which parked task should continue; prompts of the model change nothing.
    pub(super) fn want_parked(&mut self, prompt: &PromptHeard) {
        if prompt.means == Prompt::Machine {
            return;
        }
        let parked = &mut self.memory.parked;
        for task in parked.iter_mut() {
            task.wanted = false;
        }
        let at = match prompt.goes_on {
            Some(GoesOn::Parked(at)) => usize::try_from(at).ok().filter(|at| *at < parked.len()),
            Some(GoesOn::Wished) => parked.len().checked_sub(1),
            _ => None,
        };
        if let Some(at) = at {
            let task = parked.remove(at);
            parked.push(Parked { wanted: true, ..task });
        }
    }

    /// An edit or command changed a file of the parked task that should continue, so the task is resumed.
    /// Returns what it had changed until then.
    pub(super) fn take_up_touched(&mut self, open: &OpenCall, step: &Step) -> Option<Growth> {
        let parked = self.memory.parked.last().filter(|parked| parked.wanted)?;
        let grown = parked.progress.weight.grown.clone();
        let of_parked = |file: &ChangedFile| grown.file(&file.path).is_some();
        let edited = open.means.grows.iter().filter(|_| step.to == CallState::Completed);
        let changed = step.ended().measured.grown.iter().flat_map(|growth| &growth.files);
        let touches = edited.chain(changed).any(of_parked);
        touches.then(|| {
            self.take_up();
            grown
        })
    }

    /// A plan that continues can only mean the parked task: the current one has changed nothing, and is only
    /// the person's wish to continue, has not begun, or is the question that replaced the task.
    pub(super) fn continues_parked(&self) -> bool {
        let idle = self.memory.progress.before.is_some_and(|(phase, _)| phase == Phase::Idle);
        let unchanged = self.state.task.as_ref().is_none_or(|task| task.writes == 0);
        let newest = self.memory.parked.last();
        unchanged
            && newest.is_some_and(|parked| parked.wanted || idle || parked.asked && self.is_mere_question())
    }

    /// Resumes the parked task at this position. The current task, if it is over, is not added to it.
    pub(super) fn take_up_at(&mut self, at: Option<u64>) -> bool {
        let at = at.and_then(|at| usize::try_from(at).ok()).filter(|at| *at < self.memory.parked.len());
        let Some(at) = at else { return false };
        self.leave_finished();
        let task = self.memory.parked.remove(at);
        self.memory.parked.push(task);
        self.take_up();
        true
    }

    fn leave_finished(&mut self) {
        if !self.is_unfinished() {
            self.begin_task("");
        }
    }

    /// Resumes the newest parked task, together with what was done meanwhile.
    pub(super) fn take_up(&mut self) {
        let Some(parked) = self.memory.parked.pop() else { return };
        let now = std::mem::take(&mut self.memory.progress);
        let meanwhile = self.state.task.take().unwrap_or_default();
        let mut progress = *parked.progress;
        progress.closing.issues.extend(now.closing.issues);
        progress.weight.grown = join(&progress.weight.grown, &now.weight.grown);
        let count = now.prompts.count;
        self.memory.progress = TaskProgress {
            agents: now.agents,
            audit: TaskAudit { rehearsed: progress.audit.rehearsed, ..now.audit },
            prompts: Prompts {
                count,
                first_of_task: count,
                writes_before: parked.writes,
                ..progress.prompts
            },
            waivers: now.waivers,
            ..progress
        };
        let n = meanwhile.n;
        let writes = parked.writes + meanwhile.writes;
        self.state.task = Some(Task { intent: parked.intent, n, waiver: None, writes });
        let before = parked.hydration.original_prompt.as_deref();
        let prompts = match self.state.hydration.original_prompt.take() {
            Some(prompt) => Prompt::join(before, &prompt),
            None => before.unwrap_or_default().to_owned(),
        };
        self.state.hydration = Hydration { original_prompt: Some(prompts), ..parked.hydration };
        self.state.audit.due |= parked.audit_due;
        // What it changed before it was set aside counts as its own again.
        if parked.baseline_sha256.is_some() {
            self.memory.place.baseline_sha256 = parked.baseline_sha256;
        }
        self.state.state.current_workflow = parked.workflow;
        self.state.state.hydration_pending = false;
        self.state.phase = parked.phase;
        self.state.sandbox = parked.sandbox;
        self.name_task();
    }
}

/// Adds up the changes before and after, file by file: their lines are summed.
pub(super) fn join(before: &Growth, after: &Growth) -> Growth {
    let mut all = before.clone();
    for file in &after.files {
        all = all.with(with_known(before, file.clone()));
    }
    Growth {
        more_files: all.more_files + after.more_files,
        more_light: all.more_light + after.more_light,
        more_lines: all.more_lines + after.more_lines,
        ..all
    }
}

/// The same file, together with its earlier changes.
pub(super) fn with_known(before: &Growth, file: ChangedFile) -> ChangedFile {
    match before.file(&file.path) {
        Some(known) => ChangedFile { lines: known.lines + file.lines, was: known.was.clone(), ..file },
        None => file,
    }
}
