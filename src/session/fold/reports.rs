//! How the reports of our agents move the loop, and which agent was started for which task.
//!
//! Changes a session and nothing else. Invariants: only the report of an agent that owes one moves the loop; a new plan for
//! the same task keeps the task's debts.

use crate::config::policy::Level;
use crate::model::agent::ours;
use crate::model::phase::{Phase, Sandbox};
use crate::session::agent_report::AgentReport;
use crate::session::fact::Reported;
use crate::session::fold::Session;
use crate::session::memory::{Started, Waiver};
use crate::text::time;

/// Most agents remembered; the oldest one that has ended is dropped first. The BLOCK of one that was dropped still stands.
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
        progress.auditing |= agent.name == "custodiet";
        progress.agents.retain(|known| known.agent_id != agent_id);
        progress.agents.push(Started {
            agent_id: agent_id.to_owned(),
            client: client.to_owned(),
            prompt_count: progress.prompt_count,
            name: agent.name.to_owned(),
            task,
            ..Started::default()
        });
    }

    /// An auditor of this client is at work: one of a client that has died is not.
    pub fn is_audited_by(&self, client: &str) -> bool {
        let progress = &self.memory.progress;
        let is_here = |started: &&Started| started.client.is_empty() || started.client == client;
        let mut audits = progress.agents.iter().filter(|started| started.name == "custodiet" && !started.done);
        progress.auditing && audits.any(|started| is_here(&started))
    }

    /// The start that this report counts for: same agent, same type, current task, no verdict yet.
    pub fn awaited(&self, agent_id: &str, agent_type: &str) -> Option<&Started> {
        let agent = ours(agent_type)?;
        let task = self.state.task.as_ref().map_or(0, |task| task.n);
        let progress = &self.memory.progress;
        let in_hand = |started: &&Started| match agent.name {
            // A follow-up continues the task that the plan is made for.
            "prompt-hydrator" if !self.plans_first() && started.task == task => true,
            "prompt-hydrator" => started.prompt_count == progress.prompt_count,
            _ => {
                started.task == task && !self.state.state.hydration_pending
                    || started.prompt_count == progress.prompt_count
            }
        };
        let same = |started: &&Started| started.agent_id == agent_id && started.name == agent.name && !started.done;
        progress.agents.iter().find(|started| same(started) && in_hand(started))
    }

    pub(super) fn apply_report(&mut self, ts: &str, report: &Reported) {
        let progress = &mut self.memory.progress;
        if let Some(started) = progress.agents.iter_mut().find(|started| started.agent_id == report.agent_id) {
            started.done = !report.sent_on;
            started.sent_on += u64::from(report.sent_on);
        }
        if report.sent_on {
            return;
        }
        progress.auditing &= report.agent != "custodiet";
        let Some(finding) = &report.finding else { return };
        let said = finding.verdict.clone().or_else(|| finding.workflow.clone());
        if let Some(stage) = self.memory.run.as_mut().filter(|stage| stage.agent.as_ref() == Some(&report.agent)) {
            stage.verdict = said.clone().or_else(|| finding.reflection.get("outcome").cloned());
        }
        if let Some(known) = self.state.subagents.get_mut(&report.agent) {
            let said = said.or_else(|| finding.reflection.get("outcome").cloned());
            let is_result = report.as_result && report.agent != "critic";
            (known.result, known.verdict) = if is_result { (said, None) } else { (None, said) };
            if report.as_result && report.agent == "critic" {
                known.acceptance_criteria.clone_from(&finding.acceptance_criteria);
            }
        }
        // After a HALT only the user's next prompt moves the loop on.
        if self.state.phase == Phase::Halted && report.agent != "custodiet" {
            return;
        }
        match report.agent.as_str() {
            "prompt-hydrator" if self.take_up_at(report.takes_up) && !self.memory.progress.unplanned => {}
            "prompt-hydrator" => self.apply_plan(finding, report.replans),
            "critic" => self.apply_review(finding),
            "custodiet" => self.apply_audit(finding, report.audited),
            "qa-verifier" => self.apply_verification(finding, report.tree.as_ref()),
            _ => {
                self.memory.progress.reflected = self.memory.progress.verified || !self.holds_qa(ts);
                let closes = report.closes && self.memory.progress.reflected && self.memory.run.is_none();
                if closes && self.state.phase == Phase::Reflect {
                    self.state.phase = Phase::Close;
                }
            }
        }
    }

    /// `replans`: the critic had sent the plan back, and this is another one for the same task.
    pub(super) fn apply_plan(&mut self, finding: &AgentReport, replans: bool) {
        if !replans && finding.task.as_deref() == Some("continue") && self.goes_on() {
            return;
        }
        let progress = &self.memory.progress;
        let intent = finding.intent.clone().unwrap_or_default();
        // No new prompt since this task began, or it had no plan yet: a plan for the same task, with its debts.
        let same_prompt = progress.task_prompt_count == progress.prompt_count;
        let continues = progress.unplanned && (!self.plans_first() || finding.task.as_deref() == Some("continue"));
        if self.state.task.is_some() && (same_prompt || continues || replans) {
            self.state.state.hydration_pending = false;
            self.memory.progress.before = None;
        } else {
            self.begin_task(&intent);
        }
        self.memory.progress.unplanned = false;
        if let Some(task) = &mut self.state.task {
            task.intent = Some(intent.clone());
        }
        self.state.hydration.hydrated_intent = Some(intent);
        self.state.hydration.critic_verdict = None;
        self.state.hydration.acceptance_criteria.clone_from(&finding.acceptance_criteria);
        self.state.state.current_workflow.clone_from(&finding.workflow);
        // What the plan that was sent back owed stays owed: another workflow is no way around a review.
        let sent_back = std::mem::replace(&mut self.memory.progress.gates, finding.gates.clone());
        let more = sent_back.into_iter().filter(|gate| replans && !finding.gates.contains(gate));
        self.memory.progress.gates.extend(more);
        self.memory.progress.steps.clone_from(&finding.steps);
        self.memory.progress.kind.clone_from(&finding.kind);
        match &finding.issue {
            Some(id) => self.take_issue(id),
            None => self.name_task(),
        }
        let wanted = self.policy().gates.critic == Level::Enforce;
        let reviewed = wanted && self.memory.progress.gates.iter().any(|gate| gate == "critic");
        let question = finding.workflow.as_deref() == Some(QUESTION);
        (self.state.phase, self.state.sandbox) = match (reviewed, question) {
            (true, _) => (Phase::Review, Sandbox::Shut),
            (_, true) => (Phase::Execute, Sandbox::Shut),
            _ => (Phase::Execute, Sandbox::Open),
        };
    }

    /// The prompt goes on with a task that has its plan, in hand or parked.
    fn goes_on(&mut self) -> bool {
        if self.continues_parked() {
            self.take_up();
            return !self.memory.progress.unplanned;
        }
        let progress = &self.memory.progress;
        let known = self.state.task.is_some() && progress.before.is_none_or(|(phase, _)| phase != Phase::Halted);
        let goes_on = known && !progress.unplanned;
        if goes_on {
            self.resume_task();
        }
        goes_on
    }

    /// The hydrator found that the prompt goes on with the task: everything is as it was before.
    fn resume_task(&mut self) {
        let before = self.memory.progress.before.take();
        self.state.state.hydration_pending = false;
        (self.state.phase, self.state.sandbox) = before.unwrap_or((self.state.phase, self.state.sandbox));
        if self.state.phase == Phase::Done {
            self.state.phase = Phase::Execute;
            if self.state.state.current_workflow.as_deref() != Some(QUESTION) {
                self.state.sandbox = Sandbox::Open;
            }
        }
    }

    fn apply_review(&mut self, finding: &AgentReport) {
        let verdict = finding.verdict.clone().unwrap_or_default();
        self.state.hydration.critic_verdict = Some(verdict.clone());
        self.memory.progress.problems.clone_from(&finding.problems);
        if verdict != "PROCEED" {
            self.note_friction();
        }
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

    fn apply_audit(&mut self, finding: &AgentReport, audited: bool) {
        if audited || finding.verdict.as_deref() == Some("OK") {
            self.state.audit.done += 1;
            self.state.audit.due = false;
            self.state.audit.writes_since = 0;
            self.memory.progress.audit_rehearsed = false;
        }
    }

    fn apply_verification(&mut self, finding: &AgentReport, tree: Option<&String>) {
        let verified = finding.verdict.as_deref() == Some("VERIFIED");
        self.memory.progress.verified = verified;
        self.memory.progress.verified_tree = tree.filter(|_| verified).cloned();
        self.memory.progress.problems.clone_from(&finding.problems);
        self.memory.progress.rounds += u64::from(!verified);
        if !verified {
            self.note_friction();
        }
        self.state.phase = if verified { Phase::Reflect } else { Phase::Intervene };
    }

    /// The plan's workflow asks for verification. Work without a plan is verified too where nothing is small.
    pub fn owes_qa(&self) -> bool {
        let waived = self.state.task.as_ref().is_none_or(|task| task.waiver.is_some());
        // Older versions asked for none, and the shipped policy does not name its version.
        let older = self.memory.policy.as_ref().is_none_or(|policy| policy.mode.level.is_none());
        let wanted = self.memory.progress.gates.iter().any(|gate| gate == "qa");
        wanted || !self.is_planned() && !waived && !older && !self.is_small()
    }

    /// Verification is owed, enforced and not waived at this time; otherwise a reflection need not wait for it.
    fn holds_qa(&self, ts: &str) -> bool {
        let (policy, now_ms) = (self.policy(), time::parse(ts).unwrap_or(i64::MAX));
        let waived = |waiver: &Waiver| waiver.gate == "qa" && waiver.until_ms > now_ms;
        let enforced = policy.gates.qa == Level::Enforce;
        self.owes_qa() && enforced && !self.memory.progress.waivers.iter().any(waived)
    }
}
