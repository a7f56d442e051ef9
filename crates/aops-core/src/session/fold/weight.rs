//! The life of a task by mode: small at its prompt, continued by the next one, outgrown, planned.
//!
//! Changes a session and nothing else. Invariant: if every prompt waits for a plan (`strict`), nothing here
//! applies.

use super::parking;
use crate::config::policy::{Level, ModeLevel, Rehearse, glob};
use crate::model::agent::AgentId;
use crate::model::call::CallState;
use crate::model::gate_id::GateId;
use crate::model::outcome::AgentVerdict;
use crate::model::phase::{Phase, Sandbox};
use crate::model::trigger::CheckpointTrigger;
use crate::session::fact::{PermissionAsked, Step, Taken};
use crate::session::fold::Session;
use crate::session::growth::Growth;
use crate::session::memory::OpenCall;
use crate::session::prompt::Prompt;
use crate::session::state::Task;
use crate::text::json::cut;
use crate::text::plain::count;
use crate::text::template::one_line;

impl Session {
    /// The mode in force.
    pub fn mode(&self) -> ModeLevel {
        self.policy().mode.level.unwrap_or(ModeLevel::Strict)
    }

    /// Every ordinary prompt closes the plan gate until there is a plan. In mode `loop` only an outgrown task
    /// needs a plan; in `guard` and `observe` none does unless a configuration file sets the plan gate.
    pub fn plans_first(&self) -> bool {
        match self.mode() {
            ModeLevel::Strict => true,
            ModeLevel::Loop => false,
            ModeLevel::Observe | ModeLevel::Guard => self.policy().gates.sandbox != Level::Off,
        }
    }

    /// A plan is in force: a hydrator's report, or one that a person approved in plan mode.
    pub fn is_planned(&self) -> bool {
        self.state.task.is_some() && self.state.hydration.hydrated_intent.is_some()
    }

    /// The agent of ours that must report before the task's plan is in force: until then the task neither
    /// continues nor is verified.
    pub fn awaits_plan_of(&self) -> Option<AgentId> {
        let sent_back = self.state.hydration.critic_said(AgentVerdict::Revise);
        match self.state.phase {
            _ if !self.is_planned() || !self.is_shut() || self.memory.run.is_some() => None,
            Phase::Review => Some(AgentId::Critic),
            Phase::Hydrate if sent_back => Some(AgentId::Hydrator),
            _ => None,
        }
    }

    /// Work is weighed: a small edit needs no plan.
    pub fn weighs(&self) -> bool {
        self.mode() == ModeLevel::Loop && self.policy().gates.sandbox != Level::Off
    }

    /// The current task is a small edit, as far as we know.
    pub fn is_small(&self) -> bool {
        let progress = &self.memory.progress;
        self.weighs()
            && self.state.task.is_some()
            && progress.weight.unplanned
            && progress.weight.outgrown.is_none()
    }

    /// Changes must wait for the loop. In mode `loop` they need not wait before the first prompt.
    pub fn is_shut(&self) -> bool {
        let held = self.policy().gates.sandbox != Level::Off;
        held && self.state.sandbox == Sandbox::Shut && (self.plans_first() || self.state.task.is_some())
    }

    /// No plan is in force, and none is required.
    pub(super) fn needs_no_plan(&self) -> bool {
        !self.plans_first() && (!self.is_planned() || !self.weighs())
    }

    /// The task is not finished, so a new prompt is part of it. A waiver is only for its own prompt.
    pub fn is_unfinished(&self) -> bool {
        let phase = self.memory.progress.before.map_or(self.state.phase, |(phase, _)| phase);
        let over = matches!(phase, Phase::Idle | Phase::Done | Phase::Halted);
        !over && self.state.task.as_ref().is_some_and(|task| task.waiver.is_none())
    }

    /// The previous task is over and changed something: it is done, or did not have to be committed.
    pub fn left_work(&self) -> bool {
        let done = self.memory.progress.before.map_or(self.state.phase, |(phase, _)| phase) == Phase::Done;
        let loose =
            |task: &Task| self.weighs() && (task.waiver.is_some() || self.memory.progress.weight.unplanned);
        let left = |task: &Task| task.writes > 0 && (loose(task) || done && task.waiver.is_none());
        !self.is_unfinished() && self.state.task.as_ref().is_some_and(left)
    }

    /// The last prompt waits for its plan: its turn has not ended, or the hydrator is at work. The next one
    /// needs a plan together with it.
    pub fn is_unanswered(&self) -> bool {
        let open = || self.memory.prompted.as_ref().is_some_and(|prompted| prompted.open);
        let hydrates = || self.memory.agents.at_work.iter().any(|agent| agent.name == AgentId::Hydrator);
        self.state.state.hydration_pending && (open() || hydrates())
    }

    /// The prompt closes the plan gate until the hydrator has reported. `joins`: together with the prompts
    /// before it.
    pub(super) fn await_plan(&mut self, prompt: &str, joins: bool) {
        self.count_prompt();
        self.memory.progress.before.get_or_insert((self.state.phase, self.state.sandbox));
        let before = self.state.hydration.original_prompt.take().filter(|_| joins);
        self.state.hydration.original_prompt = Some(Prompt::join(before.as_deref(), prompt));
        self.state.state.hydration_pending = true;
        self.state.phase = Phase::Hydrate;
        self.state.sandbox = Sandbox::Shut;
    }

    /// A prompt that continues the current task: plan, criteria, verdicts, debts and plan gate stay.
    pub(super) fn continue_task(&mut self, prompt: &str) {
        self.count_prompt();
        let before = self.state.hydration.original_prompt.take();
        self.state.hydration.original_prompt = Some(Prompt::join(before.as_deref(), prompt));
        // The mode was lowered while a prompt waited for its plan.
        if let Some(before) = self.memory.progress.before.take() {
            (self.state.phase, self.state.sandbox) = before;
            self.state.state.hydration_pending = false;
        }
    }

    pub(super) fn begin_small_task(&mut self, prompt: &str) {
        self.count_prompt();
        self.begin_task(cut(prompt, 500));
        self.state.hydration.original_prompt = Some(Prompt::join(None, prompt));
        self.open_small_task();
    }

    /// The current task works without a plan.
    pub(super) fn open_small_task(&mut self) {
        self.memory.progress.weight.unplanned = true;
        self.state.state.current_workflow = None;
        self.state.state.hydration_pending = false;
        self.state.phase = Phase::Execute;
        self.state.sandbox = Sandbox::Open;
    }

    /// Work continues after the turn's end, for example when a background command has ended.
    pub(super) fn resume_small_task(&mut self) {
        let progress = &self.memory.progress;
        if progress.weight.unplanned
            && !progress.let_go
            && matches!(self.state.phase, Phase::Idle | Phase::Done)
        {
            self.state.phase = Phase::Execute;
        }
    }

    fn count_prompt(&mut self) {
        let progress = &mut self.memory.progress;
        progress.prompts.count += 1;
        progress.prompts.resumed = false;
        progress.prompts.writes_before = self.state.task.as_ref().map_or(0, |task| task.writes);
    }

    pub(super) fn apply_checkpoint(&mut self, taken: &Taken) {
        if taken.trigger == CheckpointTrigger::Start || taken.measures {
            self.memory.progress.weight.start = Some(taken.id.clone());
        }
    }

    /// The tree was rolled back, so the measured changes do not exist any more.
    pub(super) fn forget_growth(&mut self) {
        self.memory.progress.weight.grown = Growth::default();
        if self.memory.progress.weight.outgrown.take().is_some() && self.memory.progress.weight.unplanned {
            self.state.sandbox = Sandbox::Open;
        }
    }

    /// The current task's changes are measured: its weight counts or is rehearsed; or it has a plan and work
    /// is weighed, so that a command that changed nothing does not count as work.
    pub fn measures(&self) -> bool {
        let rehearses = || self.mode() == ModeLevel::Observe && self.policy().mode.rehearse == Rehearse::Loop;
        self.state.task.is_some() && (self.weighs() || self.memory.progress.weight.unplanned && rehearses())
    }

    /// A command of the current task may turn out to have changed nothing. In mode `strict` this matters only
    /// for verified work, whose tree is compared later.
    pub fn measures_commands(&self) -> bool {
        let planned = self.mode() == ModeLevel::Strict && self.is_planned() && self.memory.run.is_none();
        self.measures() || planned && !self.memory.progress.proven.verified
    }

    /// How far this exceeds the small-edit limit.
    pub fn weigh(&self, growth: &Growth) -> Option<String> {
        let small = &self.policy().small;
        let (files, lines) = growth.count();
        let (most_files, most_lines) = small.most();
        let figures = format!("{}, {}", count(files, "file"), count(lines, "line"));
        let most = |files, lines| format!("{} and {}", count(files, "file"), count(lines, "line"));
        if files > small.files && lines > small.lines {
            return Some(format!("{figures}: over both limits, {}", most(small.files, small.lines)));
        }
        if files > most_files || lines > most_lines {
            return Some(format!("{figures}; small is up to {}", most(most_files, most_lines)));
        }
        let named = growth.files.iter().find_map(|file| Some((&file.path, self.never_small(&file.path)?)));
        let (path, pattern) =
            named.map(|(path, pattern)| (one_line(path, 120).replace('`', "'"), pattern))?;
        Some(format!(
            "it changes `{path}`, and a change of `{pattern}` is never small (`small.never` in the configuration)"
        ))
    }

    /// The pattern of `small.never` that matches this path. A pattern with a folder is relative to the
    /// project, like the path; letter case is ignored.
    fn never_small(&self, path: &str) -> Option<&str> {
        let root = self.memory.place.root.trim_end_matches('/').to_lowercase();
        let path = path.to_lowercase();
        let (inside, whole) = if path.starts_with('/') {
            (path.clone(), path)
        } else {
            (format!("/{path}"), format!("{root}/{path}"))
        };
        let home = self.memory.watched.folders.get("HOME").map_or("/", String::as_str).to_lowercase();
        let covers = |pattern: &String| {
            let pattern = pattern.to_lowercase();
            let text = if pattern.starts_with(['/', '~']) { &whole } else { &inside };
            glob::covers(&pattern, text, "", &home)
        };
        self.policy().small.never.iter().find(|pattern| covers(pattern)).map(String::as_str)
    }

    /// A person is asked to approve the plan that the main agent made in plan mode.
    pub(super) fn apply_plan_question(&mut self, question: &PermissionAsked) {
        let asked = |open: &&OpenCall| open.call.tool == "ExitPlanMode" && open.agent_id.is_none();
        let open = self.memory.calls.iter().rfind(asked);
        self.memory.progress.plan.asked = open.map(|open| open.call.id.clone());
        self.memory.progress.plan.shown.clone_from(&question.plan_shown);
    }

    /// A call was refused. If it would have outgrown a small edit, the plan gate closes until there is a
    /// plan.
    pub(super) fn apply_refusal(&mut self, step: &Step) {
        if let Some(words) = step.denied.as_ref().and_then(|denied| denied.outgrown.as_ref()) {
            self.outgrow(words.clone());
        }
        let Some(gate) = &step.gate else { return };
        if *gate != GateId::Repeat && !(*gate == GateId::Sandbox && self.memory.progress.weight.unplanned) {
            self.note_friction();
        }
    }

    fn outgrow(&mut self, words: String) {
        self.memory.progress.weight.outgrown = Some(words);
        self.state.sandbox = Sandbox::Shut;
    }

    /// Something went wrong in the task, so an agent will reflect on it.
    pub(super) fn note_friction(&mut self) {
        if self.mode() == ModeLevel::Loop {
            self.memory.progress.friction = true;
        }
    }

    /// A call ended that may have changed something. A command that changed only ignored files is not work.
    pub(super) fn apply_end(&mut self, open: &OpenCall, step: &Step) {
        if let Some(plan) = step.ended().plan.as_deref().filter(|_| self.state.phase != Phase::Halted) {
            self.memory.progress.plan.asked = None;
            self.memory.progress.plan.shown = None;
            self.apply_plan(plan, false);
        }
        self.apply_tracking(open, step);
        let Some(effect) = open.means.effect else { return };
        let parked = self.take_up_touched(open, step);
        let before = self.memory.progress.weight.grown.clone();
        let edited =
            open.means.grows.clone().filter(|_| step.to == CallState::Completed).map(|file| match &parked {
                Some(parked) => before.with(parking::with_known(parked, file)),
                None => before.with(file),
            });
        let grown = step.ended().measured.grown.clone().map(|grown| match &parked {
            Some(parked) => parking::join(parked, &grown),
            None => grown,
        });
        let measured = grown.or(edited);
        let unmade = open.means.grows.is_some() && measured.is_none();
        let seen = &step.ended().measured;
        let unchanged = seen.unchanged || unmade || measured.as_ref() == Some(&before) && !seen.moved;
        self.note_unmeasured(open, step);
        self.memory.progress.weight.moved += u64::from(step.ended().measured.moved);
        if !unchanged && !step.is_by_ours() {
            self.count_write(effect, step.ended().drawn);
        }
        if let Some(growth) = measured.filter(|_| !unchanged) {
            self.grow(growth);
        }
        self.apply_closing(open, step, !unchanged);
    }

    /// A command's changes could not be measured when it ended, or it still runs: changes since its start may
    /// be its own.
    fn note_unmeasured(&mut self, open: &OpenCall, step: &Step) {
        let seen = &step.ended().measured;
        let unseen = seen.grown.is_none() && !seen.unchanged && self.memory.progress.weight.unplanned;
        let goes_on = open.state == CallState::Executing && (seen.lasts || unseen);
        if let Some(since) = open.means.since_ms.filter(|_| goes_on) {
            let known = self.memory.progress.weight.unmeasured_ms.get_or_insert(since);
            *known = since.min(*known);
        }
    }

    /// Records how much the task has changed by now.
    pub(super) fn grow(&mut self, growth: Growth) {
        let words =
            if self.weighs() && self.memory.progress.weight.unplanned { self.weigh(&growth) } else { None };
        self.memory.progress.weight.grown = growth;
        if let Some(words) = words {
            self.outgrow(words);
        }
    }
}
