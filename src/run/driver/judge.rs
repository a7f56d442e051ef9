//! The result of a step, from how its program ended and what the session's ledger contains.
//!
//! Reads its arguments, writes nothing. Invariant: only a clean end with nothing left open passes.

use crate::run::attempt::{RunOutcome, Trigger};
use crate::run::client::Stream;
use crate::run::plan::{PlannedStep, StepAction};
use aops_core::config::policy::Check;
use aops_core::config::policy::check::{Moment, Outcome as OnFailure};
use aops_core::gate::{self, checks::GATE};
use aops_core::model::agent::AgentId;
use aops_core::model::debt::DebtId;
use aops_core::model::named::join_names;
use aops_core::model::outcome::AgentVerdict;
use aops_core::model::phase::Phase;
use aops_core::session::fold::Session;
use aops_core::session::memory::{OpenCall, RunStep};
use aops_core::system::process::Ending;
use aops_core::text::template::one_line;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StepResult {
    Passed,
    Blocked(String),
    /// The verifier found these issues; an intervention follows.
    Issues(String),
    /// The critic found these problems; the plan is made again.
    Revise(String),
    /// The critic says that a revision would not help, and why; a person is asked.
    Halt(String),
    Pause(PauseRequest),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PauseRequest {
    pub(super) trigger: Trigger,
    pub(super) question: String,
    pub(super) tool_use_id: Option<String>,
    pub(super) checks: Vec<String>,
}

impl PauseRequest {
    pub(super) fn new(trigger: Trigger, question: impl Into<String>) -> Self {
        Self { trigger, question: question.into(), tool_use_id: None, checks: Vec::new() }
    }
}

impl StepResult {
    pub(super) fn pause(trigger: Trigger, question: impl Into<String>) -> Self {
        Self::Pause(PauseRequest::new(trigger, question))
    }

    pub(super) fn outcome(&self) -> RunOutcome {
        match self {
            Self::Passed => RunOutcome::Pass,
            Self::Blocked(_) => RunOutcome::Blocked,
            Self::Issues(_) | Self::Revise(_) => RunOutcome::InterventionRequired,
            Self::Halt(_) => RunOutcome::EscalationRequested,
            Self::Pause(request) => request.trigger.outcome(),
        }
    }

    /// What went wrong, or what is asked; `None` if the step passed.
    pub(super) fn reason(&self) -> Option<&str> {
        match self {
            Self::Passed => None,
            Self::Blocked(reason) | Self::Issues(reason) | Self::Revise(reason) | Self::Halt(reason) => {
                Some(reason)
            }
            Self::Pause(request) => Some(&request.question),
        }
    }
}

/// What is known about a step whose program has ended.
pub(super) struct Evidence<'a> {
    pub(super) step: &'a PlannedStep,
    /// `None`: its watcher was killed.
    pub(super) ending: Option<Ending>,
    pub(super) interrupted: bool,
    pub(super) stderr: &'a str,
    pub(super) stream: &'a Stream,
    pub(super) session: Option<&'a Session>,
    pub(super) checks: &'a [Check],
    /// The id of the call that the client did not make.
    pub(super) undone: Option<&'a str>,
    /// That call, described from the session's ledger.
    pub(super) asked: Option<&'a str>,
}

impl Evidence<'_> {
    pub(super) fn judge(&self) -> StepResult {
        let id = &self.step.id;
        match self.ending {
            _ if self.interrupted && !self.finished_anyway() => {
                StepResult::pause(Trigger::Interrupted, format!("step `{id}` was interrupted"))
            }
            None | Some(Ending::Signal(_)) => {
                StepResult::pause(Trigger::Killed, format!("the program of step `{id}` was killed"))
            }
            Some(Ending::TimedOut) => {
                let question =
                    format!("step `{id}` took longer than its time limit; may it have as much again?");
                StepResult::pause(Trigger::StepTimeout, question)
            }
            Some(Ending::Exit(code)) => match &self.step.does {
                StepAction::Run(_) if code == 0 => StepResult::Passed,
                StepAction::Run(line) => failed(&format!("`{}`", one_line(line, 120)), code, self.stderr),
                StepAction::Client { .. } => self.judge_client(code),
            },
        }
    }

    /// It was asked to end, but had already done all its work: a finished step is not repeated.
    fn finished_anyway(&self) -> bool {
        let complete = matches!(self.step.does, StepAction::Run(_)) || self.stream.result.is_some();
        complete && self.ending == Some(Ending::Exit(0))
    }

    fn judge_client(&self, code: i32) -> StepResult {
        let before = self.deferred_call(code).or_else(|| self.budget_exhausted());
        if let Some(pause) = before {
            return pause;
        }
        if code != 0 {
            let said = self.stream.result.as_ref().map_or("", |result| result.words.as_str());
            return failed(
                "the client",
                code,
                if self.stderr.trim().is_empty() { said } else { self.stderr },
            );
        }
        let rules = [
            Self::session_blocked,
            Self::hooks_missing,
            Self::halted,
            Self::bad_verdict,
            Self::failed_checks,
            Self::question,
            Self::debts,
            Self::open_refusal,
        ];
        rules.iter().find_map(|rule| rule(self)).unwrap_or(StepResult::Passed)
    }

    fn run_step(&self) -> Option<&RunStep> {
        self.session?.memory.run.as_ref()
    }

    fn problems(&self, longest: usize) -> String {
        let problems = self.session.map(|session| session.memory.progress.plan.problems.join("; "));
        one_line(&problems.unwrap_or_default(), longest)
    }

    /// The call that the client ended without making, according to the ledger. A client that ends well need
    /// not name it.
    fn deferred_call(&self, code: i32) -> Option<StepResult> {
        let named = self.stream.result.as_ref().is_some_and(|result| result.deferred.is_some());
        let id = self.undone.or(named.then_some("")).filter(|_| named || code == 0)?;
        let is_it = |open: &&OpenCall| open.call.id == id && gate::is_waiting(open);
        let Some(open) = self.session?.memory.calls.iter().find(is_it) else {
            let step = &self.step.id;
            let what = format!(
                "step `{step}` ended before a call was made, and no gate of ours left that call to a person"
            );
            return Some(StepResult::Blocked(what));
        };
        let reason = open.reason.as_deref().unwrap_or_default();
        let why = one_line(reason.split("\nhint:").next().unwrap_or_default(), 400);
        let question = format!("may `{}` be done? {why}", self.asked.unwrap_or(&open.call.tool));
        let tool_use_id = Some(open.call.id.clone());
        Some(StepResult::Pause(PauseRequest { tool_use_id, ..PauseRequest::new(Trigger::AskUser, question) }))
    }

    fn budget_exhausted(&self) -> Option<StepResult> {
        let exhausted = self.stream.result.as_ref()?.subtype == "error_max_budget_usd";
        let id = &self.step.id;
        let question = format!("the budget was used up in step `{id}`; may it cost as much again?");
        exhausted.then(|| StepResult::pause(Trigger::BudgetExhausted, question))
    }

    fn session_blocked(&self) -> Option<StepResult> {
        let reason = self.session.and_then(Session::blocked)?;
        Some(StepResult::Blocked(format!("the session is blocked: {}", one_line(reason, 300))))
    }

    fn hooks_missing(&self) -> Option<StepResult> {
        let missing = self.stream.announced && !self.run_step().is_some_and(|step| step.prompted);
        let what = "our hooks did not run in the client, so the step was not guarded: look for \
            `disableAllHooks` in its settings";
        missing.then(|| StepResult::Blocked(what.to_owned()))
    }

    fn halted(&self) -> Option<StepResult> {
        let halted = self.session?.state.phase == Phase::Halted && self.step.verdict_of().is_none();
        let what = || format!("step `{}` was halted: {}", self.step.id, self.problems(300));
        halted.then(|| StepResult::Blocked(what()))
    }

    /// The step's agent gave no verdict, or one that stops the run.
    fn bad_verdict(&self) -> Option<StepResult> {
        let agent = self.step.verdict_of()?;
        let said = self.run_step().and_then(|step| step.said.as_deref());
        match said.map(AgentVerdict::of) {
            None => {
                let id = &self.step.id;
                Some(StepResult::Blocked(format!(
                    "step `{id}` owes the verdict of `{agent}`, and there is none"
                )))
            }
            Some(Some(AgentVerdict::Issues)) if agent == AgentId::QaVerifier => {
                Some(StepResult::Issues(self.problems(1000)))
            }
            Some(Some(AgentVerdict::Revise)) if agent == AgentId::Critic => {
                Some(StepResult::Revise(self.problems(1000)))
            }
            Some(Some(AgentVerdict::Halt)) if agent == AgentId::Critic => {
                Some(StepResult::Halt(self.problems(1000)))
            }
            Some(Some(bad)) if bad.refuses() => {
                Some(StepResult::Blocked(format!("{agent} says {bad}: {}", self.problems(400))))
            }
            Some(_) => None,
        }
    }

    /// The user's checks that stopped this step: a check refused the last call, a check is owed, or a failed
    /// check asks a person. With approval, the step ends without them.
    fn failed_checks(&self) -> Option<StepResult> {
        let session = self.session?;
        let step = self.run_step()?;
        let check_of = |id: &String| self.checks.iter().find(|check| check.id == *id);
        let ends = |check: &Check| matches!(check.on, Moment::Stop | Moment::Prompt);
        let asks = |check: &Check| ends(check) && check.outcome == OnFailure::AskUser;
        let owed = session.state.stop.owed.contains(&DebtId::Checks.into());
        let refused = step
            .refused
            .as_ref()
            .is_some_and(|refusal| refusal.by.as_ref().is_some_and(|gate| *gate == GATE));
        if !owed && !refused && !step.failing.iter().filter_map(check_of).any(asks) {
            return None;
        }
        let line = |id| check_of(id).map(|check| one_line(&check.run, 100)).unwrap_or_default();
        let names: Vec<String> =
            step.failing.iter().map(|id| format!("`{}` ({})", one_line(id, 64), line(id))).collect();
        let question = format!(
            "the check {} failed in step `{}`; may the step be done without it?",
            names.join(" and "),
            self.step.id
        );
        let checks = step.failing.clone();
        Some(StepResult::Pause(PauseRequest { checks, ..PauseRequest::new(Trigger::CheckFailed, question) }))
    }

    /// The question that the step ended with: the last message of the client, or a planner's plan that is
    /// only a question. For a reviewer only the verdict counts, whatever else was said.
    fn question(&self) -> Option<StepResult> {
        let plans = match self.step.verdict_of() {
            None => false,
            Some(AgentId::Hydrator) => true,
            Some(_) => return None,
        };
        let plan =
            self.session.map(|session| session.memory.progress.plan.steps.as_slice()).filter(|_| plans);
        let asked = match plan {
            Some([only]) => ends_with_question(only),
            _ => None,
        };
        let said = || ends_with_question(&self.stream.result.as_ref()?.words);
        let asked = asked.or_else(said)?;
        Some(StepResult::pause(Trigger::Question, format!("step `{}` asks: {asked}", self.step.id)))
    }

    fn debts(&self) -> Option<StepResult> {
        let owed = join_names(&self.session?.state.stop.owed);
        (!owed.is_empty()).then(|| StepResult::Blocked(format!("step `{}` ended owing {owed}", self.step.id)))
    }

    fn open_refusal(&self) -> Option<StepResult> {
        let refused = one_line(self.run_step()?.refused.as_ref()?.what.as_deref()?, 300);
        let id = &self.step.id;
        Some(StepResult::Blocked(format!("step `{id}` ended on a blocked call: {refused}")))
    }
}

/// The last paragraph, if it ends with a question mark.
fn ends_with_question(words: &str) -> Option<String> {
    let words = words
        .trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`' | '"' | '\'' | ')'));
    let last = words.rsplit("\n\n").next().filter(|_| words.ends_with(['?', '？']))?;
    Some(one_line(last.trim(), 600))
}

fn failed(what: &str, code: i32, stderr: &str) -> StepResult {
    let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
    let words = last.map(|line| format!(": {}", one_line(line.trim(), 300))).unwrap_or_default();
    StepResult::Blocked(format!("{what} ended with {code}{words}"))
}
