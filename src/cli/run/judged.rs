//! What a step came to, from how its program ended and what the session's ledger holds.
//!
//! Reads what it is given, writes nothing. Invariant: only a clean end with nothing left open passes.

use crate::config::policy::Check;
use crate::config::policy::check::{Moment, Outcome as Failing};
use crate::gate::checks::GATE;
use crate::model::phase::Phase;
use crate::run::client::Stream;
use crate::run::plan::{Does, Planned};
use crate::run::status::Trigger;
use crate::session::fold::Session;
use crate::session::state::RunStep;
use crate::system::process::Ending;
use crate::text::template::one_line;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Judged {
    Pass,
    Blocked(String),
    Pause(Asked),
}

/// What a person is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Asked {
    pub trigger: Trigger,
    pub question: String,
    /// The call that waits.
    pub tool_use_id: Option<String>,
    /// The checks that failed.
    pub checks: Vec<String>,
}

impl Judged {
    pub(super) fn pause(trigger: Trigger, question: impl Into<String>) -> Self {
        Self::Pause(Asked { trigger, question: question.into(), tool_use_id: None, checks: Vec::new() })
    }
}

/// How a step's program ended.
pub(super) struct Witness<'a> {
    /// Nothing: its watcher was killed.
    pub ending: Option<Ending>,
    pub interrupted: bool,
    pub stderr: &'a str,
    pub stream: &'a Stream,
    pub session: Option<&'a Session>,
    pub checks: &'a [Check],
}

pub(super) fn judge(step: &Planned, seen: &Witness) -> Judged {
    let id = &step.id;
    match seen.ending {
        _ if seen.interrupted && !came_to_its_end(step, seen) => {
            Judged::pause(Trigger::Interrupted, format!("step `{id}` was interrupted"))
        }
        None | Some(Ending::Signal(_)) => {
            Judged::pause(Trigger::Killed, format!("the program of step `{id}` was killed"))
        }
        Some(Ending::TimedOut) => {
            let question = format!("step `{id}` took longer than its time; may it have as much again?");
            Judged::pause(Trigger::StepTimeout, question)
        }
        Some(Ending::Exit(code)) => match &step.does {
            Does::Run(_) if code == 0 => Judged::Pass,
            Does::Run(line) => failed(&format!("`{}`", one_line(line, 120)), code, seen.stderr),
            Does::Client { .. } => client(step, code, seen),
        },
    }
}

/// It was asked to end and had done all its work by then: what is finished is not done again.
fn came_to_its_end(step: &Planned, seen: &Witness) -> bool {
    let told = matches!(step.does, Does::Run(_)) || seen.stream.result.is_some();
    told && seen.ending == Some(Ending::Exit(0))
}

fn failed(what: &str, code: i32, stderr: &str) -> Judged {
    let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
    let words = last.map(|line| format!(": {}", one_line(line.trim(), 300))).unwrap_or_default();
    Judged::Blocked(format!("{what} ended with {code}{words}"))
}

fn client(step: &Planned, code: i32, seen: &Witness) -> Judged {
    let result = seen.stream.result.clone().unwrap_or_default();
    if let Some(waiting) = result.deferred.as_deref().and_then(|call| waiting(seen, call)) {
        return waiting;
    }
    if result.subtype == "error_max_budget_usd" {
        let question = format!("the budget was used up in step `{}`; may it cost as much again?", step.id);
        return Judged::pause(Trigger::BudgetExhausted, question);
    }
    if code != 0 {
        let words = if seen.stderr.trim().is_empty() { &result.words } else { seen.stderr };
        return failed("the client", code, words);
    }
    if let Some(reason) = seen.session.and_then(Session::blocked) {
        return Judged::Blocked(format!("the session is blocked: {}", one_line(reason, 300)));
    }
    let stage = seen.session.and_then(|session| session.memory.run.as_ref());
    if seen.stream.announced && !stage.is_some_and(|stage| stage.prompted) {
        return Judged::Blocked(
            "our hooks did not run in the client, so nobody guarded the step: look for `disableAllHooks` in its settings".to_owned(),
        );
    }
    if seen.session.is_some_and(|session| session.state.phase == Phase::Halted) && step.verdict_of().is_none()
    {
        let problems = seen.session.map(|session| session.memory.progress.problems.join("; "));
        let why = one_line(&problems.unwrap_or_default(), 300);
        return Judged::Blocked(format!("step `{}` was halted: {why}", step.id));
    }
    if let Some(blocked) = verdict(step, stage.and_then(|stage| stage.verdict.as_deref()), seen) {
        return blocked;
    }
    if let Some(asked) = checks(step, seen, stage) {
        return asked;
    }
    let owed = seen.session.map(|session| session.state.stop.owed.join(", ")).unwrap_or_default();
    if !owed.is_empty() {
        return Judged::Blocked(format!("step `{}` ended owing {owed}", step.id));
    }
    match stage.and_then(|stage| stage.refused.as_deref()) {
        Some(refused) => {
            let what = one_line(refused, 300);
            Judged::Blocked(format!("step `{}` ended with a refusal left open: {what}", step.id))
        }
        None => Judged::Pass,
    }
}

/// The call the client ended with undone, as the ledger knows it.
fn waiting(seen: &Witness, call: &str) -> Option<Judged> {
    let open = seen.session?.memory.calls.iter().find(|open| open.deferred)?;
    let reason = open.reason.as_deref().unwrap_or_default();
    let why = reason.split("\nhint:").next().unwrap_or_default();
    Some(Judged::Pause(Asked {
        trigger: Trigger::AskUser,
        question: format!("may `{}` be done? {}", one_line(call, 200).replace('`', "'"), one_line(why, 400)),
        tool_use_id: Some(open.call.id.clone()),
        checks: Vec::new(),
    }))
}

/// The user's checks that this step ended with: something they guard was refused last, they are owed, or a person is to
/// be asked. Whoever approves lets the step go without them.
fn checks(step: &Planned, seen: &Witness, stage: Option<&RunStep>) -> Option<Judged> {
    let (session, stage) = (seen.session?, stage?);
    let asks = |id: &String| {
        let known = seen.checks.iter().find(|check| check.id == *id);
        known.is_some_and(|check| check.on == Moment::Stop && check.outcome == Failing::AskUser)
    };
    let owed = session.state.stop.owed.iter().any(|name| name == GATE);
    let refused = stage.refused_by.as_deref() == Some(GATE);
    if !owed && !refused && !stage.failing.iter().any(asks) {
        return None;
    }
    let line =
        |id: &String| seen.checks.iter().find(|check| check.id == *id).map(|check| one_line(&check.run, 100));
    let named = |id: &String| format!("`{}` ({})", one_line(id, 64), line(id).unwrap_or_default());
    let all: Vec<String> = stage.failing.iter().map(named).collect();
    Some(Judged::Pause(Asked {
        trigger: Trigger::CheckFailed,
        question: format!(
            "the check {} failed in step `{}`; may the step be done without it?",
            all.join(" and "),
            step.id
        ),
        tool_use_id: None,
        checks: stage.failing.clone(),
    }))
}

/// Why the verdict of the step's agent does not let the run go on.
fn verdict(step: &Planned, said: Option<&str>, seen: &Witness) -> Option<Judged> {
    let agent = step.verdict_of()?;
    let problems = || {
        let problems = seen.session.map(|session| session.memory.progress.problems.join("; "));
        one_line(&problems.unwrap_or_default(), 400)
    };
    match said {
        None => Some(Judged::Blocked(format!(
            "step `{}` owes the verdict of `{agent}`, and there is none",
            step.id
        ))),
        Some(bad @ ("REVISE" | "HALT" | "ISSUES" | "BLOCK")) => {
            Some(Judged::Blocked(format!("{agent} says {bad}: {}", problems())))
        }
        Some(_) => None,
    }
}
