//! How the loop moves: what prompts, our agents' findings, work and stops do to phase, sandbox and what is owed.
//!
//! Reads and changes a session; nothing else. Pure: the fold calls it with facts. Invariants: only a finding of the agent
//! that owes it moves the loop on; what was verified is so until something is written; a new plan for the same task keeps
//! what that task already owes.

use crate::agent::ours;
use crate::call::{CallState, Effect};
use crate::fact::{Checked, Reported, Seen, Step};
use crate::finding::Finding;
use crate::json::cut;
use crate::moment;
use crate::policy::Level;
use crate::prompt::Prompt;
use crate::session::Session;
use crate::state::{Course, LastRun, Phase, Sandbox, Stage, Started, Stopping, Task, Undone, Waiver};

/// Agents remembered; the oldest that have ended go first.
const MOST_AGENTS: usize = 64;
const QUESTION: &str = "simple-question";

impl Session {
    /// A person's prompt that was not refused.
    pub(super) fn prompted(&mut self, prompt: &str) {
        match Prompt::of(prompt) {
            Prompt::Machine => {}
            Prompt::Ordinary => {
                let course = &mut self.memory.course;
                course.epoch += 1;
                course.writes_at_prompt = self.state.task.as_ref().map_or(0, |task| task.writes);
                course.before.get_or_insert((self.state.phase, self.state.sandbox));
                self.state.hydration.original_prompt = Some(cut(prompt, 2048).to_owned());
                self.state.state.hydration_pending = true;
                (self.state.phase, self.state.sandbox) = (Phase::Hydrate, Sandbox::Shut);
            }
            Prompt::Waived => self.waived(prompt, "prompt", None),
            Prompt::Command => self.waived(prompt, "command", Some("direct-skill")),
        }
    }

    /// A task without the loop, on the user's authority.
    fn waived(&mut self, prompt: &str, waiver: &str, workflow: Option<&str>) {
        self.memory.course.epoch += 1;
        self.begin_task(cut(prompt, 500));
        self.state.hydration.original_prompt = Some(cut(prompt, 2048).to_owned());
        self.state.state.current_workflow = workflow.map(str::to_owned);
        if let Some(task) = &mut self.state.task {
            task.waiver = Some(waiver.to_owned());
        }
        (self.state.phase, self.state.sandbox) = (Phase::Execute, Sandbox::Open);
    }

    /// The working folder left the project: what was planned there does not hold here.
    pub(super) fn moved(&mut self, cwd: &str) {
        let root = &self.memory.root;
        let inside =
            cwd.strip_prefix(root.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if inside || root.is_empty() || self.state.sandbox == Sandbox::Shut {
            return;
        }
        if let Some(stage) = &mut self.memory.run {
            stage.sandbox = Sandbox::Shut;
        }
        self.memory.course.before.get_or_insert((self.state.phase, self.state.sandbox));
        self.state.state.hydration_pending = true;
        (self.state.phase, self.state.sandbox) = (Phase::Hydrate, Sandbox::Shut);
    }

    /// The working tree went back to a checkpoint. What was found about the tree of before holds no longer; the loop goes
    /// back too where the checkpoint is of the task in hand, but never past a prompt that waits or a block.
    pub(super) fn undone(&mut self, undone: &Undone) {
        match undone.stage {
            Stage::Begun => self.memory.undoing = Some(Box::new(undone.clone())),
            Stage::Dropped => self.memory.undoing = None,
            Stage::Told => self.memory.undone = None,
            Stage::Done => {
                self.memory.undoing = None;
                self.memory.undone = Some(Box::new(undone.clone()));
                (self.memory.course.verified, self.memory.course.reflected) = (false, false);
                self.memory.course.checks.clear();
                self.state.stop = Stopping::default();
                let same_task = self.state.task.as_ref().map_or(0, |task| task.n) == undone.task;
                let held = self.state.state.hydration_pending || self.state.phase == Phase::Halted;
                if undone.own && same_task && !held && self.blocked().is_none() {
                    (self.state.phase, self.state.sandbox) = (undone.phase, undone.sandbox);
                }
            }
        }
    }

    fn begin_task(&mut self, intent: &str) {
        let n = self.state.task.as_ref().map_or(0, |task| task.n) + 1;
        self.state.task = Some(Task { intent: Some(intent.to_owned()), n, waiver: None, writes: 0 });
        self.state.main_agent.current_task = Some(intent.to_owned());
        self.state.stop = Stopping::default();
        self.state.hydration.hydrated_intent = None;
        self.state.hydration.acceptance_criteria.clear();
        self.state.hydration.critic_verdict = None;
        self.state.state.hydration_pending = false;
        let old = std::mem::take(&mut self.memory.course);
        self.memory.course = Course {
            agents: old.agents,
            auditing: old.auditing,
            epoch: old.epoch,
            task_epoch: old.epoch,
            told_no_git: old.told_no_git,
            waivers: old.waivers,
            writes_since_draw: old.writes_since_draw,
            ..Course::default()
        };
    }

    pub(super) fn agent_started(&mut self, agent_id: &str, agent_type: &str) {
        let Some(agent) = ours(agent_type) else { return };
        let task = self.state.task.as_ref().map_or(0, |task| task.n);
        let course = &mut self.memory.course;
        if course.agents.len() >= MOST_AGENTS {
            let oldest = course.agents.iter().position(|agent| agent.done).unwrap_or(0);
            course.agents.remove(oldest);
        }
        course.auditing |= agent.name == "custodiet";
        course.agents.retain(|known| known.agent_id != agent_id);
        course.agents.push(Started {
            agent_id: agent_id.to_owned(),
            epoch: course.epoch,
            name: agent.name.to_owned(),
            task,
            ..Started::default()
        });
    }

    /// The start this report may be counted for: same agent, same type, task in hand, no verdict yet.
    pub fn awaited(&self, agent_id: &str, agent_type: &str) -> Option<&Started> {
        let agent = ours(agent_type)?;
        let task = self.state.task.as_ref().map_or(0, |task| task.n);
        let course = &self.memory.course;
        let in_hand = |started: &&Started| match agent.name {
            "prompt-hydrator" => started.epoch == course.epoch,
            _ => started.task == task && !self.state.state.hydration_pending || started.epoch == course.epoch,
        };
        let same =
            |started: &&Started| started.agent_id == agent_id && started.name == agent.name && !started.done;
        course.agents.iter().find(|started| same(started) && in_hand(started))
    }

    pub(super) fn reported(&mut self, ts: &str, report: &Reported) {
        let course = &mut self.memory.course;
        if let Some(started) = course.agents.iter_mut().find(|started| started.agent_id == report.agent_id) {
            started.done = !report.sent_on;
            started.sent_on += u64::from(report.sent_on);
        }
        if report.sent_on {
            return;
        }
        course.auditing &= report.agent != "custodiet";
        let Some(finding) = &report.finding else { return };
        let said = finding.verdict.clone().or_else(|| finding.workflow.clone());
        if let Some(stage) =
            self.memory.run.as_mut().filter(|stage| stage.agent.as_ref() == Some(&report.agent))
        {
            stage.verdict = said.clone().or_else(|| finding.reflection.get("outcome").cloned());
        }
        if let Some(known) = self.state.subagents.get_mut(&report.agent) {
            known.verdict = said.or_else(|| finding.reflection.get("outcome").cloned());
            known.result = None;
        }
        // After a HALT only the user's next prompt moves the loop.
        if self.state.phase == Phase::Halted && report.agent != "custodiet" {
            return;
        }
        match report.agent.as_str() {
            "prompt-hydrator" => self.hydrated(finding),
            "critic" => self.reviewed(finding),
            "custodiet" => self.audited(finding),
            "qa-verifier" => self.verified(finding),
            _ => self.memory.course.reflected = self.memory.course.verified || !self.holds_qa(ts),
        }
    }

    fn hydrated(&mut self, finding: &Finding) {
        let course = &self.memory.course;
        let known =
            self.state.task.is_some() && course.before.is_none_or(|(phase, _)| phase != Phase::Halted);
        if known && finding.task.as_deref() == Some("continue") {
            let before = self.memory.course.before.take();
            self.state.state.hydration_pending = false;
            (self.state.phase, self.state.sandbox) = before.unwrap_or((self.state.phase, self.state.sandbox));
            if self.state.phase == Phase::Done {
                self.state.phase = Phase::Execute;
            }
            return;
        }
        let intent = finding.intent.clone().unwrap_or_default();
        // No new prompt since this task began: a new plan, but the same task, with all that it owes.
        let same_task = self.state.task.is_some() && course.task_epoch == course.epoch;
        if same_task {
            self.state.state.hydration_pending = false;
            self.memory.course.before = None;
        } else {
            self.begin_task(&intent);
        }
        if let Some(task) = &mut self.state.task {
            task.intent = Some(intent.clone());
        }
        self.state.main_agent.current_task = Some(intent.clone());
        self.state.hydration.hydrated_intent = Some(intent);
        self.state.hydration.critic_verdict = None;
        self.state.hydration.acceptance_criteria.clone_from(&finding.acceptance_criteria);
        self.state.state.current_workflow.clone_from(&finding.workflow);
        self.memory.course.gates.clone_from(&finding.gates);
        self.memory.course.steps.clone_from(&finding.steps);
        let wanted = self.policy().gates.critic == Level::Enforce && !self.policy().mode.observe;
        let reviewed = wanted && finding.gates.iter().any(|gate| gate == "critic");
        let question = finding.workflow.as_deref() == Some(QUESTION);
        (self.state.phase, self.state.sandbox) = match (reviewed, question) {
            (true, _) => (Phase::Review, Sandbox::Shut),
            (_, true) => (Phase::Execute, Sandbox::Shut),
            _ => (Phase::Execute, Sandbox::Open),
        };
    }

    fn reviewed(&mut self, finding: &Finding) {
        let verdict = finding.verdict.clone().unwrap_or_default();
        self.state.hydration.critic_verdict = Some(verdict.clone());
        self.memory.course.problems.clone_from(&finding.problems);
        match verdict.as_str() {
            "PROCEED" if self.state.phase == Phase::Review => {
                self.state.hydration.acceptance_criteria.clone_from(&finding.acceptance_criteria);
                (self.state.phase, self.state.sandbox) = (Phase::Execute, Sandbox::Open);
            }
            "REVISE" => {
                self.state.state.hydration_pending = true;
                (self.state.phase, self.state.sandbox) = (Phase::Hydrate, Sandbox::Shut);
            }
            "HALT" => (self.state.phase, self.state.sandbox) = (Phase::Halted, Sandbox::Shut),
            _ => {}
        }
    }

    fn audited(&mut self, finding: &Finding) {
        if finding.verdict.as_deref() == Some("OK") {
            self.state.audit.done += 1;
            self.state.audit.due = false;
            self.state.audit.writes_since = 0;
        }
    }

    fn verified(&mut self, finding: &Finding) {
        let verified = finding.verdict.as_deref() == Some("VERIFIED");
        self.memory.course.verified = verified;
        self.memory.course.problems.clone_from(&finding.problems);
        self.memory.course.rounds += u64::from(!verified);
        self.state.phase = if verified { Phase::Reflect } else { Phase::Intervene };
    }

    /// A check of the user's was run; one that failed sends the work back, or ends it.
    pub(super) fn checked(&mut self, checked: &Checked) {
        let run = LastRun { ending: checked.ending.clone(), outcome: checked.outcome.clone() };
        self.memory.course.checks.insert(checked.id.clone(), run);
        let policy = self.policy();
        let held = policy.gates.checks == Level::Enforce && !policy.mode.observe;
        match checked.outcome.as_str() {
            _ if !held => {}
            "HALT" => {
                self.memory.course.problems = vec![format!("check `{}` failed", checked.id)];
                (self.state.phase, self.state.sandbox) = (Phase::Halted, Sandbox::Shut);
            }
            "INTERVENTION_REQUIRED"
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

    pub fn owes_qa(&self) -> bool {
        self.memory.course.gates.iter().any(|gate| gate == "qa")
    }

    /// Verification is owed and asked for at this time: where nobody asks for it, nothing else waits for it.
    fn holds_qa(&self, ts: &str) -> bool {
        let (policy, now_ms) = (self.policy(), moment::parse(ts).unwrap_or(i64::MAX));
        let waived = |waiver: &Waiver| waiver.gate == "qa" && waiver.until_ms > now_ms;
        let enforced = policy.gates.qa == Level::Enforce && !policy.mode.observe;
        self.owes_qa() && enforced && !self.memory.course.waivers.iter().any(waived)
    }

    /// A call of anyone but our agents that changed something has ended.
    pub(super) fn worked(&mut self, effect: Effect, step: &Step) {
        if !effect.is_write()
            || step.agent_type.as_deref().is_some_and(|name| ours(name).is_some() && step.agent_id.is_some())
        {
            return;
        }
        if let Some(task) = &mut self.state.task {
            task.writes += 1;
        }
        self.state.audit.writes_since += 1;
        self.memory.course.writes_since_draw += 1;
        if step.drawn == Some(true) {
            self.state.audit.drawn += 1;
            self.state.audit.due = true;
            self.state.audit.writes_since = 0;
            self.memory.course.writes_since_draw = 0;
        }
        if effect == Effect::Write {
            self.memory.course.verified = false;
            self.memory.course.reflected = false;
        }
        debug_assert!(matches!(step.to, CallState::Completed | CallState::Failed));
    }

    /// The end of a turn: refused with what is owed, or allowed.
    pub(super) fn stopped(&mut self, seen: &Seen, refused: bool) {
        let Some(owed) = &seen.owed else { return };
        self.memory.course.told_no_git |= seen.no_git;
        let stop = &mut self.state.stop;
        if owed.len() < stop.owed.len() {
            stop.refusals = 0;
        }
        stop.owed.clone_from(owed);
        if refused {
            stop.refusals += 1;
            self.state.phase = match owed.first().map(String::as_str) {
                Some("checks") => Phase::Intervene,
                Some("qa-verifier") => Phase::Verify,
                Some("framework") => Phase::Reflect,
                _ => Phase::Close,
            };
        } else if owed.is_empty() {
            let worked = self.state.task.as_ref().is_some_and(|task| task.writes > 0);
            if worked && !matches!(self.state.phase, Phase::Halted | Phase::Hydrate) {
                self.state.phase = Phase::Done;
            }
        } else {
            self.memory.course.let_go = true;
        }
    }
}
