//! Counts a session's entries one after another, for its insights and its timeline.
//!
//! Pure. Invariant: an entry that does not fold (in a damaged ledger that a person looks at) does not change
//! the state but is counted anyway.

use super::document::{Audits, Calls, Insights, NO_SUMMARY, RuleCounts};
use super::lists::{LONGEST, MOST, count_one, push, push_new};
use super::timeline::{TimelineEntry, describe_moment, spent};
use super::{hosts, outcome::outcome};
use crate::gate::danger::ONLY_COPY;
use crate::host;
use crate::host::claude::transcript::scan::MAIN;
use crate::host::claude::usage::Usage;
use crate::ledger::entry::Line;
use crate::model::agent::{AgentId, bare, ours};
use crate::model::call::{CallKey, CallState, Effect};
use crate::model::debt::DebtId;
use crate::model::event::EventKind;
use crate::model::gate_id::GateId;
use crate::model::outcome::SessionOutcome;
use crate::session::fact::{Fact, Happened, Reported, Said, Seen, Staged, Step, ViolationKind};
use crate::session::memory::RollbackState;
use crate::session::question::{Answered, Asked};
use crate::session::{fold::Session, prompt::Prompt};
use crate::text::json::{self, cut};
use crate::text::template::one_line;
use crate::tool::input::patched_files;
use serde::Serialize;
use std::collections::BTreeMap;

const MOST_MOMENTS: usize = 400;
const LONGEST_MOMENT: usize = 160;

#[derive(Debug, Default)]
pub struct Tally {
    pub session: Session,
    pub insights: Insights,
    pub story: Story,
    pub agents: BTreeMap<String, String>,
    /// The usage of each request, if the client reports it: when, the agent, its model, tokens.
    pub requests: Vec<(i64, String, String, Usage)>,
    /// Refusals that nothing has followed yet.
    waiting: Vec<String>,
    /// How questions were answered, by call.
    answers: BTreeMap<String, Answered>,
    /// Tool calls in flight, with the files that they change.
    open: Vec<(CallKey, Vec<String>)>,
}

/// What a report shows in addition to the insights; only the ledger knows it.
#[derive(Clone, Debug, Default)]
pub struct Story {
    /// Events that are worth a line in a timeline, and how many lines did not fit.
    pub moments: Vec<TimelineEntry>,
    pub left_out: u64,
    /// When each phase began, and when the last one ended.
    pub phases: Vec<(i64, &'static str)>,
    pub last_ms: i64,
    pub tools: BTreeMap<String, Calls>,
    /// What followed a refusal, by gate.
    pub followed: BTreeMap<String, Followed>,
    /// Blocks, by who set them.
    pub blocks: BTreeMap<String, u64>,
    /// Every verdict of a review or a verification: `critic REVISE`.
    pub verdicts: BTreeMap<String, u64>,
    /// The folder of the project.
    pub root: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Followed {
    /// One of our agents was started.
    pub agent: u64,
    /// Some other call was made.
    pub worked: u64,
    /// Another refusal.
    pub again: u64,
    /// The turn or the session ended.
    pub ended: u64,
}

impl Tally {
    pub fn new() -> Self {
        Self { insights: Insights::new(), ..Self::default() }
    }

    pub fn add(&mut self, trace: &str, line: &Line, fact: &Fact) {
        let ts = line.ts;
        let before = self.session.state.phase;
        let applied = self.session.apply(trace, ts, fact);
        line.digest.clone_into(&mut self.session.head);
        if applied.is_err() {
            self.session.seq = line.seq;
        }
        let at_ms = crate::text::time::parse(ts).unwrap_or(self.story.last_ms);
        self.story.last_ms = self.story.last_ms.max(at_ms);
        if self.story.phases.is_empty() || self.session.state.phase != before {
            self.story.phases.push((at_ms, self.session.state.phase.name()));
        }
        let again = self.count(at_ms, fact);
        match describe_moment(fact).filter(|_| !again) {
            Some(_) if self.story.moments.len() >= MOST_MOMENTS => self.story.left_out += 1,
            Some((kind, text)) => {
                let text = one_line(&text, LONGEST_MOMENT);
                self.story.moments.push(TimelineEntry { at_ms, kind, text });
            }
            None => {}
        }
    }

    /// Counts a fact; returns whether it repeats something that was already counted.
    fn count(&mut self, at_ms: i64, fact: &Fact) -> bool {
        let mut again = false;
        match fact {
            Fact::Open(open) => self.insights.project.clone_from(&open.project),
            Fact::Event(seen) => {
                self.count_event(seen);
                self.count_request(at_ms, seen);
            }
            Fact::Call(step) => self.count_call(step),
            Fact::Question(asked) => self.count_question(asked),
            Fact::Answer(answered) => again = self.count_answer(answered),
            // It is recorded again when the agent is told.
            Fact::Undo(brought) => self.insights.undone += u64::from(!brought.told),
            Fact::Rollback(undone) => self.insights.undone += u64::from(undone.stage == RollbackState::Done),
            Fact::Block(block) => {
                self.insights.custodiet_blocks += u64::from(block.by == AgentId::Custodiet.name());
                count_one(&mut self.story.blocks, &block.by);
            }
            Fact::Verdict(report) => self.count_report(report),
            Fact::Run(staged) => self.count_step(staged),
            Fact::Waive(waiver) => {
                let words = format!("{}: {}", waiver.gate, waiver.reason);
                push(&mut self.insights.waivers, cut(&words, LONGEST));
            }
            // A repeated question is counted once.
            Fact::Violation(second) if second.kind != ViolationKind::AskedAgain => {
                let said = second.said.iter().filter(|said| said.refuses());
                said.for_each(|said| self.count_refusal(said.gate.name()));
            }
            _ => {}
        }
        again
    }

    fn count_step(&mut self, staged: &Staged) {
        staged.workflow.iter().for_each(|workflow| push_new(&mut self.insights.workflows_used, workflow));
        self.insights.run_id = Some(staged.run_id.clone());
        self.insights.run_outcome.clone_from(&staged.run_outcome);
    }

    fn count_request(&mut self, at_ms: i64, seen: &Seen) {
        if let Some((model, usage)) = host::request(seen.event.name(), seen.about.get()) {
            let agent = seen.agent_type.as_deref().map_or(MAIN, bare).to_owned();
            self.requests.push((at_ms, agent, model, usage));
        }
    }

    fn count_event(&mut self, seen: &Seen) {
        self.count_rehearsed(seen.rehearsed.as_ref());
        let refused = seen.said.as_ref().filter(|said| said.refuses());
        if let Some(said) = refused {
            let gate = match seen.owed().and_then(<[_]>::first) {
                Some(first) if said.gate == GateId::Owed => DebtId::gate_name(first),
                _ => said.gate.name(),
            };
            self.count_refusal(gate);
        }
        match &seen.what {
            Happened::SessionStarted(start) => {
                self.insights.stop_reason = None;
                self.insights.end_reason = None;
                if !start.root.is_empty() {
                    self.story.root.clone_from(&start.root);
                }
            }
            Happened::Prompted(prompt) => self.count_prompt(seen, prompt.means, refused.is_some()),
            Happened::AgentStarted(_) => self.count_agent(seen),
            Happened::PermissionAsked(_) => self.insights.questions.dialogs += 1,
            Happened::Stopped(end) if refused.is_none() => {
                end.changed.iter().for_each(|path| push_new(&mut self.insights.files_changed, path));
                self.follow(|next| &mut next.ended);
                let let_go = end.owed.as_ref().is_some_and(|owed| !owed.is_empty());
                self.insights.stop_reason = Some(if let_go { "let_go" } else { "end_turn" }.to_owned());
                end.reflection.iter().for_each(|reflection| self.count_reflection(reflection));
            }
            Happened::SessionEnded(end) => {
                hosts::count(&mut self.insights.hosts, &end.hosts, true);
                self.follow(|next| &mut next.ended);
                self.insights.end_reason = Some(seen.words("reason").unwrap_or_else(|| "other".to_owned()));
            }
            _ if seen.kind() == EventKind::StopFailure => {
                self.insights.stop_reason = Some(seen.words("error").unwrap_or_else(|| "error".to_owned()));
            }
            _ => {}
        }
    }

    fn count_prompt(&mut self, seen: &Seen, means: Prompt, refused: bool) {
        let prompt = seen.words("prompt").unwrap_or_default();
        if means != Prompt::Machine {
            push(&mut self.insights.user_prompts, cut(&prompt, LONGEST));
        }
        if !refused && means == Prompt::Command {
            push_new(&mut self.insights.workflows_used, "direct-skill");
        }
    }

    fn count_agent(&mut self, seen: &Seen) {
        let kind = seen.agent_type.as_deref().unwrap_or_default();
        if ours(kind).is_some() {
            self.follow(|next| &mut next.agent);
        }
        let kind = bare(kind);
        self.insights.subagent_count += 1;
        push_new(&mut self.insights.subagents_invoked, kind);
        if let Some(id) = seen.agent_id.as_ref().filter(|_| self.agents.len() < MOST) {
            self.agents.insert(id.clone(), kind.to_owned());
        }
    }

    fn count_call(&mut self, step: &Step) {
        self.count_rehearsed(step.rehearsed.as_ref());
        hosts::count(&mut self.insights.hosts, &step.ended().under.hosts, false);
        if let Some(kept) = &step.ended().under.kept {
            let rule = kept.rule.as_deref().unwrap_or(ONLY_COPY);
            self.insights.rules.entry(format!("danger:{rule}")).or_default().kept += 1;
        }
        let at = self.open.iter().position(|(key, _)| *key == step.call);
        if step.to == CallState::Pending {
            if self.open.len() >= MOST {
                self.open.remove(0);
            }
            self.open.push((step.call.clone(), changed_files(step)));
            self.insights.questions.quieted += u64::from(step.means().quiet.is_some());
            step.warned().iter().for_each(|rule| self.rule(GateId::Rules.name(), Some(rule)).warned += 1);
        }
        let count: fn(&mut Calls) -> &mut u64 = match step.to {
            CallState::Completed => |calls| &mut calls.completed,
            CallState::Failed => |calls| &mut calls.failed,
            state if state.is_terminal() => |calls| &mut calls.denied,
            _ => return,
        };
        let paths = at.map(|at| self.open.remove(at).1).unwrap_or_default();
        let name = cut(&step.call.tool, 64);
        *count(&mut self.insights.tool_calls) += 1;
        self.insights.tool_calls.unsaved += u64::from(step.is_unsaved());
        if let Some(calls) = self.story.tools.get_mut(name) {
            *count(calls) += 1;
        } else if self.story.tools.len() < MOST {
            *count(self.story.tools.entry(name.to_owned()).or_default()) += 1;
        }
        if !matches!(step.to, CallState::Completed | CallState::Failed) {
            if let Some(gate) = &step.gate {
                self.count_refusal(gate.name());
                self.rule(gate.name(), step.rule()).refused += 1;
            }
            return;
        }
        for path in paths.iter().filter(|_| step.to == CallState::Completed) {
            let inside =
                path.strip_prefix(&format!("{}/", self.story.root)).filter(|_| !self.story.root.is_empty());
            push_new(&mut self.insights.files_changed, inside.unwrap_or(path));
        }
        // What a command changed in the tree, if that was measured.
        for file in step
            .ended()
            .measured
            .grown
            .iter()
            .flat_map(|grown| &grown.files)
            .filter(|file| file.is != file.was)
        {
            push_new(&mut self.insights.files_changed, &file.path);
        }
        if !matches!(name, "Agent" | "Task") {
            self.follow(|next| &mut next.worked);
        }
    }

    /// This followed the refusals that were waiting.
    fn follow(&mut self, count: fn(&mut Followed) -> &mut u64) {
        for gate in self.waiting.drain(..) {
            *count(self.story.followed.entry(gate).or_default()) += 1;
        }
    }

    fn count_question(&mut self, asked: &Asked) {
        self.insights.questions.asked += 1;
        self.rule(asked.gate.name(), asked.rule.as_deref()).asked += 1;
    }

    /// Only the last answer to a call counts. Returns whether there was an earlier one.
    fn count_answer(&mut self, answered: &Answered) -> bool {
        let old = self.answers.get(&answered.call.id).cloned();
        for (one, is_new) in old.iter().map(|old| (old, false)).chain([(answered, true)]) {
            let add = |to: &mut u64, n: u64| *to = if is_new { *to + n } else { to.saturating_sub(n) };
            let yes = u64::from(one.allowed);
            let no = u64::from(!one.allowed);
            let questions = &mut self.insights.questions;
            add(&mut questions.allowed, yes);
            add(&mut questions.refused, no);
            add(&mut questions.overridden, u64::from(one.is_overridden()));
            add(&mut questions.waited_ms, one.ms.unwrap_or(0));
            let rule = self.rule(one.gate.name(), one.rule.as_deref());
            add(&mut rule.allowed, yes);
            add(&mut rule.refused, no);
        }
        if let Some(old) = &old {
            self.retell(old, answered);
        }
        if old.is_some() || self.answers.len() < MOST {
            self.answers.insert(answered.call.id.clone(), answered.clone());
        }
        old.is_some()
    }

    /// We learn later who answered, and correct the line at the time of the answer.
    fn retell(&mut self, old: &Answered, answered: &Answered) {
        let told = |answered: &Answered| describe_moment(&Fact::Answer(answered.clone()));
        let (Some((_, was)), Some((kind, text))) = (told(old), told(answered)) else { return };
        let was = one_line(&was, LONGEST_MOMENT);
        if let Some(moment) = self.story.moments.iter_mut().rfind(|moment| moment.text == was) {
            moment.kind = kind;
            moment.text = one_line(&text, LONGEST_MOMENT);
        }
    }

    fn rule(&mut self, gate: &str, rule: Option<&str>) -> &mut RuleCounts {
        let name = rule.map_or_else(|| gate.to_owned(), |rule| format!("{gate}:{rule}"));
        let rules = &mut self.insights.rules;
        let room = rules.len() < MOST || rules.contains_key(&name);
        rules.entry(if room { cut(&name, 128).to_owned() } else { "others".to_owned() }).or_default()
    }

    fn count_refusal(&mut self, gate: &str) {
        self.follow(|next| &mut next.again);
        self.waiting.push(cut(gate, 64).to_owned());
        count_one(&mut self.insights.gates, gate);
    }

    /// The rehearsed mode would have refused this.
    fn count_rehearsed(&mut self, would: Option<&Said>) {
        if let Some(would) = would {
            count_one(&mut self.insights.rehearsed, would.gate.name());
        }
    }

    fn count_report(&mut self, report: &Reported) {
        let Some(finding) = report.finding.as_ref().filter(|_| !report.sent_on) else { return };
        match report.agent.known() {
            Some(AgentId::Hydrator) => {
                finding
                    .workflow
                    .iter()
                    .for_each(|workflow| push_new(&mut self.insights.workflows_used, workflow));
            }
            Some(AgentId::Critic) => self.insights.critic_verdict.clone_from(&finding.verdict),
            Some(AgentId::QaVerifier) => self.insights.qa_verdict.clone_from(&finding.verdict),
            Some(AgentId::Framework) => self.count_reflection(&finding.reflection),
            _ => {}
        }
        let counts = matches!(report.agent.known(), Some(AgentId::Critic | AgentId::QaVerifier));
        if let Some(verdict) = finding.verdict.as_ref().filter(|_| counts) {
            count_one(&mut self.story.verdicts, &format!("{} {verdict}", report.agent));
        }
        if matches!(report.agent.known(), Some(AgentId::QaVerifier | AgentId::Custodiet)) {
            finding.problems.iter().for_each(|problem| push_new(&mut self.insights.friction_points, problem));
        }
    }

    fn count_reflection(&mut self, reflection: &BTreeMap<String, String>) {
        for (list, name) in [
            (&mut self.insights.accomplishments, "accomplishment"),
            (&mut self.insights.friction_points, "root_cause"),
            (&mut self.insights.proposed_changes, "proposed_change"),
        ] {
            let said = reflection.get(name).filter(|text| says_something(text));
            if let Some(text) = said {
                push_new(list, text);
            }
        }
        self.insights.reflection = Some(reflection.clone());
    }

    pub fn conclude(mut self) -> (Insights, Vec<(i64, &'static str)>, BTreeMap<String, String>) {
        let state = &self.session.state;
        let insights = &mut self.insights;
        insights.session_id.clone_from(&state.session_id);
        insights.date.clone_from(&state.date);
        if let Some(name) = self.story.root.rsplit('/').next().filter(|name| !name.is_empty()) {
            name.clone_into(&mut insights.project);
        }
        insights.started_at = Some(state.started_at.clone()).filter(|at| !at.is_empty());
        insights.ended_at.clone_from(&state.ended_at);
        insights.acceptance_criteria_count = state.hydration.acceptance_criteria.len() as u64;
        insights.audits = Audits { done: state.audit.done, drawn: state.audit.drawn };
        let todos = &state.main_agent;
        insights.todos_completed = todos.todos_completed;
        insights.todos_total = todos.todos_total;
        insights.ledger_head = Some(self.session.head.clone());
        insights.outcome = outcome(&self.session, insights.run_outcome.as_ref()).into();
        if insights.outcome == SessionOutcome::Failure {
            insights.stop_reason = Some("halted".to_owned());
        }
        let wanted = insights.accomplishments.last().or(state.hydration.hydrated_intent.as_ref());
        let wanted = wanted.or_else(|| insights.user_prompts.last());
        insights.summary = Some(wanted.map_or_else(|| NO_SUMMARY.to_owned(), |text| one_line(text, 300)));
        insights.phase_ms = spent(&self.story.phases, self.story.last_ms);
        (self.insights, self.story.phases, self.agents)
    }
}

fn changed_files(step: &Step) -> Vec<String> {
    let input = step.input().filter(|_| step.effect() == Some(Effect::Write)).map_or("", |input| input.get());
    match step.call.tool.as_str() {
        "apply_patch" => patched_files(input),
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => {
            let input = json::read(input).ok();
            let path = |name: &str| input.as_ref().and_then(|input| input.text_of(name));
            path("file_path").or_else(|| path("notebook_path")).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Texts such as `none` and `n/a` say nothing.
pub fn says_something(text: &str) -> bool {
    let text = text.trim().trim_end_matches('.').to_lowercase();
    !matches!(text.as_str(), "" | "none" | "n/a" | "na" | "nothing" | "-" | "null" | "no")
}
