//! What our agents found: who was started for which task, and what each report does to the loop.
//!
//! Reads and changes a session; nothing else. Pure: the fold calls it with facts. Invariants: only a finding of the agent
//! that owes it moves the loop on; a new plan for the same task keeps what that task already owes.

use crate::config::policy::Level;
use crate::model::agent::ours;
use crate::model::phase::Phase;
use crate::session::agent_report::AgentReport;
use crate::session::fact::Reported;
use crate::session::fold::Session;
use crate::session::state::{Sandbox, Started, Waiver};
use crate::text::time;

/// Agents remembered; the oldest that have ended go first.
const MOST_AGENTS: usize = 64;
const QUESTION: &str = "simple-question";

impl Session {
    pub(super) fn agent_started(&mut self, agent_id: &str, agent_type: &str) {
        let Some(agent) = ours(agent_type) else { return };
        let task = self.state.task.as_ref().map_or(0, |task| task.n);
        let course = &mut self.memory.progress;
        if course.agents.len() >= MOST_AGENTS {
            let oldest = course.agents.iter().position(|agent| agent.done).unwrap_or(0);
            course.agents.remove(oldest);
        }
        course.auditing |= agent.name == "custodiet";
        course.agents.retain(|known| known.agent_id != agent_id);
        course.agents.push(Started {
            agent_id: agent_id.to_owned(),
            prompt_count: course.prompt_count,
            name: agent.name.to_owned(),
            task,
            ..Started::default()
        });
    }

    /// The start this report may be counted for: same agent, same type, task in hand, no verdict yet.
    pub fn awaited(&self, agent_id: &str, agent_type: &str) -> Option<&Started> {
        let agent = ours(agent_type)?;
        let task = self.state.task.as_ref().map_or(0, |task| task.n);
        let course = &self.memory.progress;
        let in_hand = |started: &&Started| match agent.name {
            "prompt-hydrator" => started.prompt_count == course.prompt_count,
            _ => {
                started.task == task && !self.state.state.hydration_pending
                    || started.prompt_count == course.prompt_count
            }
        };
        let same =
            |started: &&Started| started.agent_id == agent_id && started.name == agent.name && !started.done;
        course.agents.iter().find(|started| same(started) && in_hand(started))
    }

    pub(super) fn reported(&mut self, ts: &str, report: &Reported) {
        let course = &mut self.memory.progress;
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
            _ => self.memory.progress.reflected = self.memory.progress.verified || !self.holds_qa(ts),
        }
    }

    fn hydrated(&mut self, finding: &AgentReport) {
        let course = &self.memory.progress;
        let known =
            self.state.task.is_some() && course.before.is_none_or(|(phase, _)| phase != Phase::Halted);
        if known && finding.task.as_deref() == Some("continue") {
            let before = self.memory.progress.before.take();
            self.state.state.hydration_pending = false;
            (self.state.phase, self.state.sandbox) = before.unwrap_or((self.state.phase, self.state.sandbox));
            if self.state.phase == Phase::Done {
                self.state.phase = Phase::Execute;
            }
            return;
        }
        let intent = finding.intent.clone().unwrap_or_default();
        // No new prompt since this task began: a new plan, but the same task, with all that it owes.
        let same_task = self.state.task.is_some() && course.task_prompt_count == course.prompt_count;
        if same_task {
            self.state.state.hydration_pending = false;
            self.memory.progress.before = None;
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
        self.memory.progress.gates.clone_from(&finding.gates);
        self.memory.progress.steps.clone_from(&finding.steps);
        let wanted = self.policy().gates.critic == Level::Enforce && !self.policy().mode.observe;
        let reviewed = wanted && finding.gates.iter().any(|gate| gate == "critic");
        let question = finding.workflow.as_deref() == Some(QUESTION);
        (self.state.phase, self.state.sandbox) = match (reviewed, question) {
            (true, _) => (Phase::Review, Sandbox::Shut),
            (_, true) => (Phase::Execute, Sandbox::Shut),
            _ => (Phase::Execute, Sandbox::Open),
        };
    }

    fn reviewed(&mut self, finding: &AgentReport) {
        let verdict = finding.verdict.clone().unwrap_or_default();
        self.state.hydration.critic_verdict = Some(verdict.clone());
        self.memory.progress.problems.clone_from(&finding.problems);
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

    fn audited(&mut self, finding: &AgentReport) {
        if finding.verdict.as_deref() == Some("OK") {
            self.state.audit.done += 1;
            self.state.audit.due = false;
            self.state.audit.writes_since = 0;
        }
    }

    fn verified(&mut self, finding: &AgentReport) {
        let verified = finding.verdict.as_deref() == Some("VERIFIED");
        self.memory.progress.verified = verified;
        self.memory.progress.problems.clone_from(&finding.problems);
        self.memory.progress.rounds += u64::from(!verified);
        self.state.phase = if verified { Phase::Reflect } else { Phase::Intervene };
    }

    pub fn owes_qa(&self) -> bool {
        self.memory.progress.gates.iter().any(|gate| gate == "qa")
    }

    /// Verification is owed and asked for at this time: where nobody asks for it, nothing else waits for it.
    fn holds_qa(&self, ts: &str) -> bool {
        let (policy, now_ms) = (self.policy(), time::parse(ts).unwrap_or(i64::MAX));
        let waived = |waiver: &Waiver| waiver.gate == "qa" && waiver.until_ms > now_ms;
        let enforced = policy.gates.qa == Level::Enforce && !policy.mode.observe;
        self.owes_qa() && enforced && !self.memory.progress.waivers.iter().any(waived)
    }
}
