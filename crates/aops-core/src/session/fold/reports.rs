//! How the reports of our agents advance the loop, and which agent was started for which task.
//!
//! Changes a session and nothing else. Invariants: only the report of an agent that owes one advances the
//! loop; a new plan for the same task keeps the task's debts.

use crate::config::policy::Level;
use crate::config::workflow::Gate;
use crate::model::agent::{AgentId, ours};
use crate::model::gate_id::GateId;
use crate::model::named::Stored;
use crate::model::outcome::AgentVerdict;
use crate::model::phase::{Phase, Sandbox};
use crate::session::agent_report::AgentReport;
use crate::session::fact::Reported;
use crate::session::fold::Session;
use crate::session::memory::Started;
use crate::text::time;

/// At most this many agents are remembered; the oldest one that has ended is dropped first. Its BLOCK still
/// counts.
const MOST_AGENTS: usize = 64;
const QUESTION: &str = "simple-question";

impl Session {
    pub(super) fn remember_agent(&mut self, agent_id: &str, agent_type: &str, client: &str) {
        let Some(agent) = ours(agent_type) else { return };
        let task = self.state.task.as_ref().map_or(0, |task| task.n);
        let progress = &mut self.memory.progress;
        if progress.agents.len() >= MOST_AGENTS {
            let oldest = progress.agents.iter().position(|agent| agent.done).unwrap_or(0);
            progress.agents.remove(oldest);
        }
        progress.audit.under_way |= agent.id == AgentId::Custodiet;
        progress.agents.retain(|known| known.agent_id != agent_id);
        progress.agents.push(Started {
            agent_id: agent_id.to_owned(),
            client: client.to_owned(),
            prompt_count: progress.prompts.count,
            name: agent.id.into(),
            task,
            ..Started::default()
        });
    }

    /// An auditor of this client is at work. An agent whose client has died does not count.
    pub fn is_audited_by(&self, client: &str) -> bool {
        let progress = &self.memory.progress;
        let is_here = |started: &&Started| started.client.is_empty() || started.client == client;
        let mut audits =
            progress.agents.iter().filter(|started| started.name == AgentId::Custodiet && !started.done);
        progress.audit.under_way && audits.any(|started| is_here(&started))
    }

    /// The start to which this report belongs: same agent, same type, current task, no verdict yet.
    pub fn awaited(&self, agent_id: &str, agent_type: &str) -> Option<&Started> {
        let agent = ours(agent_type)?;
        let task = self.state.task.as_ref().map_or(0, |task| task.n);
        let progress = &self.memory.progress;
        let in_hand = |started: &&Started| match agent.id {
            // A follow-up prompt continues the task for which the plan is made.
            AgentId::Hydrator if !self.plans_first() && started.task == task => true,
            AgentId::Hydrator => started.prompt_count == progress.prompts.count,
            // A verdict that comes while a newer prompt waits for its plan is still about the task.
            _ => {
                started.task == task && (!self.state.state.hydration_pending || self.may_hear(agent.id))
                    || started.prompt_count == progress.prompts.count
            }
        };
        let same =
            |started: &&Started| started.agent_id == agent_id && started.name == agent.id && !started.done;
        progress.agents.iter().find(|started| same(started) && in_hand(started))
    }

    /// An agent of ours whose report would not count any more, or that was started again since: nobody waits
    /// for it.
    pub fn is_left_behind(&self, agent_id: &str) -> bool {
        let agents = &self.memory.progress.agents;
        let Some(at) = agents.iter().position(|started| started.agent_id == agent_id) else { return false };
        let again = agents[at + 1..].iter().any(|later| later.name == agents[at].name);
        again || self.awaited(agent_id, agents[at].name.name()).is_none()
    }

    /// The task that was current when the prompt came was in the phase that this agent reports on.
    fn may_hear(&self, agent: AgentId) -> bool {
        self.memory.progress.before.is_some_and(|(phase, _)| match agent {
            AgentId::Critic => phase == Phase::Review,
            _ => !matches!(phase, Phase::Idle | Phase::Hydrate | Phase::Review | Phase::Halted | Phase::Done),
        })
    }

    /// The task's phase; while a newer prompt waits for its plan, the phase before that prompt.
    fn task_phase(&self) -> Phase {
        self.memory.progress.before.map_or(self.state.phase, |(phase, _)| phase)
    }

    /// Advances the task; if a newer prompt closed the plan gate, it stays closed until the plan exists.
    fn move_task(&mut self, to: Phase, sandbox: Option<Sandbox>) {
        let (_, now) = self.memory.progress.before.unwrap_or((to, self.state.sandbox));
        let sandbox = sandbox.unwrap_or(now);
        if let Some(before) = &mut self.memory.progress.before {
            *before = (to, sandbox);
        } else {
            self.state.phase = to;
            self.state.sandbox = sandbox;
        }
    }

    /// An agent of ours ended with a report that does not count: it is over anyway.
    pub(super) fn end_unheard(&mut self, agent_id: &str) {
        let mut agents = self.memory.progress.agents.iter_mut();
        if let Some(started) = agents.find(|started| started.agent_id == agent_id) {
            started.done = true;
        }
    }

    pub(super) fn apply_report(&mut self, ts: &str, report: &Reported) {
        let progress = &mut self.memory.progress;
        if let Some(started) = progress.agents.iter_mut().find(|started| started.agent_id == report.agent_id)
        {
            started.done = !report.sent_on;
            started.sent_on += u64::from(report.sent_on);
        }
        if report.sent_on {
            return;
        }
        progress.audit.under_way &= report.agent != AgentId::Custodiet;
        let Some(finding) = &report.finding else { return };
        let said = finding.verdict.as_ref().map(ToString::to_string).or_else(|| finding.workflow.clone());
        if let Some(stage) =
            self.memory.run.as_mut().filter(|stage| stage.agent.as_ref() == Some(&report.agent))
        {
            stage.said = said.clone().or_else(|| finding.reflection.get("outcome").cloned());
        }
        if let Some(known) = self.state.subagents.get_mut(report.agent.name()) {
            let said = said.or_else(|| finding.reflection.get("outcome").cloned());
            let is_review = report.agent == AgentId::Critic;
            (known.result, known.verdict) = if is_review { (None, said) } else { (said, None) };
            if is_review {
                known.acceptance_criteria.clone_from(&finding.acceptance_criteria);
            }
        }
        // After a HALT only the user's next prompt continues the loop.
        if self.state.phase == Phase::Halted && report.agent != AgentId::Custodiet {
            return;
        }
        self.apply_finding(ts, report, finding);
    }

    fn apply_finding(&mut self, ts: &str, report: &Reported, finding: &AgentReport) {
        match report.agent.known() {
            Some(AgentId::Hydrator)
                if self.take_up_at(report.takes_up) && !self.memory.progress.weight.unplanned => {}
            Some(AgentId::Hydrator) => {
                if let Some(files) = report.parks.filter(|_| self.is_left_by(finding)) {
                    self.set_aside(files, &report.parked_paths, true);
                }
                if !self.apply_plan(finding, report.replans) {
                    return;
                }
            }
            Some(AgentId::Critic) => self.apply_review(finding),
            Some(AgentId::Custodiet) => self.apply_audit(),
            Some(AgentId::QaVerifier) => self.apply_verification(finding, report.tree.as_ref()),
            _ => {
                self.memory.progress.proven.reflected =
                    self.memory.progress.proven.verified || !self.holds_qa(ts);
                // Closing begins when the reflection agent itself has reported a reflection.
                let counts = report.problem.is_none()
                    && self.memory.progress.proven.reflected
                    && self.memory.run.is_none();
                if counts && self.task_phase() == Phase::Reflect {
                    self.move_task(Phase::Close, None);
                }
            }
        }
        if let Some(todos) = report.todos {
            self.set_todos(todos, true);
        }
    }

    /// The steps of a new plan are todos, which are done when the work is verified. A list that the client
    /// makes replaces them.
    pub fn planned_todos(&self, agent: AgentId, finding: &AgentReport) -> Option<(u64, u64)> {
        let verified = finding.says(AgentVerdict::Verified);
        let all = match agent {
            AgentId::Hydrator => finding.steps.len() as u64,
            AgentId::QaVerifier if verified && self.memory.progress.plan.todos => {
                self.state.main_agent.todos_total
            }
            _ => 0,
        };
        (all > 0).then_some((if verified { all } else { 0 }, all))
    }

    pub(super) fn set_todos(&mut self, (done, all): (u64, u64), of_plan: bool) {
        let main = &mut self.state.main_agent;
        main.todos_completed = done;
        main.todos_total = all;
        self.memory.progress.plan.todos = of_plan;
    }

    /// The client names one more todo. Its first one replaces the plan's steps as todos.
    pub(super) fn add_todo(&mut self) {
        if self.memory.progress.plan.todos {
            self.set_todos((0, 0), false);
        }
        self.state.main_agent.todos_total += 1;
    }

    /// This is the plan for a question that came while a task was unfinished.
    pub fn is_left_by(&self, plan: &AgentReport) -> bool {
        let question = plan.workflow.as_deref() == Some(QUESTION) && !plan.continues();
        let worked = self.state.task.as_ref().is_some_and(|task| task.writes > 0);
        question
            && worked
            && self.plans_first()
            && self.memory.progress.before.is_some()
            && self.is_unfinished()
    }

    /// Puts the plan in force; returns false if the previous one stays. `replans`: the critic rejected the
    /// plan, and this is another one for the same task.
    pub(super) fn apply_plan(&mut self, finding: &AgentReport, replans: bool) -> bool {
        if !replans && finding.continues() && self.goes_on() {
            return false;
        }
        let progress = &self.memory.progress;
        let intent = finding.intent.clone().unwrap_or_default();
        // No new prompt came since this task began, or it had no plan yet: so this plan is for the same task,
        // with its debts.
        let same_prompt = progress.prompts.first_of_task == progress.prompts.count;
        let continues = progress.weight.unplanned && (!self.plans_first() || finding.continues());
        let known = self.state.task.is_some() && !progress.let_go;
        if known && (same_prompt || continues || replans) {
            self.state.state.hydration_pending = false;
            self.memory.progress.before = None;
        } else {
            self.begin_task(&intent);
        }
        self.memory.progress.weight.unplanned = false;
        if let Some(task) = &mut self.state.task {
            task.intent = Some(intent.clone());
        }
        self.state.hydration.hydrated_intent = Some(intent);
        self.state.hydration.critic_verdict = None;
        self.state.hydration.acceptance_criteria.clone_from(&finding.acceptance_criteria);
        self.state.state.current_workflow.clone_from(&finding.workflow);
        // Gates of the rejected plan stay required: choosing another workflow does not avoid a review.
        // What the work of this task owes is owed under any later plan.
        let worked = self.state.task.as_ref().is_some_and(|task| task.writes > 0);
        let before = std::mem::replace(&mut self.memory.progress.plan.gates, finding.gates.clone());
        let stays = |gate: &Stored<Gate>| replans || worked && *gate == Gate::Qa;
        let more = before.into_iter().filter(|gate| stays(gate) && !finding.gates.contains(gate));
        self.memory.progress.plan.gates.extend(more);
        self.memory.progress.plan.steps.clone_from(&finding.steps);
        self.memory.progress.plan.kind.clone_from(&finding.kind);
        match &finding.issue {
            Some(id) => self.take_issue(id),
            None => self.name_task(),
        }
        let question = finding.workflow.as_deref() == Some(QUESTION);
        (self.state.phase, self.state.sandbox) = match (self.wants_review(), question) {
            (true, _) => (Phase::Review, Sandbox::Shut),
            (_, true) => (Phase::Execute, Sandbox::Shut),
            _ => (Phase::Execute, Sandbox::Open),
        };
        true
    }

    /// The prompt continues a task that has a plan, current or parked.
    fn goes_on(&mut self) -> bool {
        if self.continues_parked() {
            self.take_up();
            return !self.memory.progress.weight.unplanned;
        }
        let progress = &self.memory.progress;
        let known =
            self.state.task.is_some() && progress.before.is_none_or(|(phase, _)| phase != Phase::Halted);
        // A task that was let go is over.
        let goes_on = known && !progress.weight.unplanned && !progress.let_go;
        if goes_on {
            self.resume_task();
        }
        goes_on
    }

    /// The hydrator found that the prompt continues the task: everything is as it was before.
    fn resume_task(&mut self) {
        let before = self.memory.progress.before.take();
        if let Some(baseline) = self.memory.progress.baseline_before.take() {
            self.memory.place.baseline_sha256 = Some(baseline);
        }
        self.state.state.hydration_pending = false;
        (self.state.phase, self.state.sandbox) = before.unwrap_or((self.state.phase, self.state.sandbox));
        if matches!(self.state.phase, Phase::Done | Phase::Idle) {
            self.take_up_plan();
        }
    }

    /// Work on the task continues after it was done, or after a person cleared a block.
    fn take_up_plan(&mut self) {
        let needs_review = self.state.phase == Phase::Idle
            && self.wants_review()
            && !self.state.hydration.critic_said(AgentVerdict::Proceed);
        let question = self.state.state.current_workflow.as_deref() == Some(QUESTION);
        (self.state.phase, self.state.sandbox) = match (needs_review, question) {
            (true, _) => (Phase::Review, Sandbox::Shut),
            (_, true) => (Phase::Execute, self.state.sandbox),
            _ => (Phase::Execute, Sandbox::Open),
        };
    }

    /// The current plan must be reviewed before work begins.
    fn wants_review(&self) -> bool {
        let wanted = self.policy().gates.critic == Level::Enforce;
        wanted && self.memory.progress.wants(Gate::Critic)
    }

    fn apply_review(&mut self, finding: &AgentReport) {
        let verdict = finding.verdict.clone().unwrap_or_default();
        self.state.hydration.critic_verdict = Some(verdict.clone());
        self.memory.progress.plan.problems.clone_from(&finding.problems);
        if verdict != AgentVerdict::Proceed {
            self.note_friction();
        }
        match verdict.known() {
            Some(AgentVerdict::Proceed) if self.task_phase() == Phase::Review => {
                self.state.hydration.acceptance_criteria.clone_from(&finding.acceptance_criteria);
                self.move_task(Phase::Execute, Some(Sandbox::Open));
            }
            Some(AgentVerdict::Revise) => {
                self.state.state.hydration_pending = true;
                self.state.phase = Phase::Hydrate;
                self.state.sandbox = Sandbox::Shut;
            }
            Some(AgentVerdict::Halt) => {
                self.memory.progress.before = None;
                self.state.phase = Phase::Halted;
                self.state.sandbox = Sandbox::Shut;
            }
            _ => {}
        }
    }

    /// An audit is done with any verdict.
    fn apply_audit(&mut self) {
        self.state.audit.done += 1;
        self.state.audit.due = false;
        self.state.audit.writes_since = 0;
        self.memory.progress.audit.rehearsed = false;
    }

    fn apply_verification(&mut self, finding: &AgentReport, tree: Option<&String>) {
        let verified = finding.says(AgentVerdict::Verified);
        self.memory.progress.proven.verified = verified;
        self.memory.progress.proven.tree = tree.filter(|_| verified).cloned();
        self.memory.progress.plan.problems.clone_from(&finding.problems);
        self.memory.progress.proven.rounds += u64::from(!verified);
        if !verified {
            self.note_friction();
        }
        self.move_task(if verified { Phase::Reflect } else { Phase::Intervene }, None);
    }

    /// The plan's workflow requires verification. In modes without small tasks, work without a plan is
    /// verified, too.
    pub fn owes_qa(&self) -> bool {
        let waived = self.state.task.as_ref().is_none_or(|task| task.waiver.is_some());
        // Older versions required none, and the shipped policy does not name its version.
        let older = self.memory.configured.policy.as_ref().is_none_or(|policy| policy.mode.level.is_none());
        let wanted = self.memory.progress.wants(Gate::Qa);
        wanted || !self.is_planned() && !waived && !older && !self.is_small()
    }

    /// Verification is owed, enforced and not waived at this time; otherwise a reflection need not wait for
    /// it.
    fn holds_qa(&self, ts: &str) -> bool {
        let policy = self.policy();
        let now_ms = time::parse(ts).unwrap_or(i64::MAX);
        let enforced = policy.gates.qa == Level::Enforce;
        self.owes_qa() && enforced && !self.is_waived_by_person(GateId::Qa, now_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_auditor_that_is_done_audits_no_longer() {
        let mut session = Session::default();
        session.memory.progress.audit.under_way = true;
        let auditor = |done| Started {
            name: AgentId::Custodiet.into(),
            client: "c".into(),
            done,
            ..Started::default()
        };
        session.memory.progress.agents = vec![auditor(true)];
        assert!(!session.is_audited_by("c"), "it has reported, or was stopped");
        session.memory.progress.agents.push(auditor(false));
        assert!(session.is_audited_by("c") && !session.is_audited_by("another client"));
        session.memory.progress.audit.under_way = false;
        assert!(!session.is_audited_by("c"), "nothing is audited");
    }
}
