//! A part of a run for the worker of an engine: from its present state to its end or its next question, in a
//! clone of its own.
//!
//! Started by `aops-fleet` under a holder, which ends all its child processes. Reads the leg from one file,
//! writes how it ended into another, and pushes the run's tree and record to its remote after each step.
//! Invariants: an order and a record are trusted only after their checks; an answer counts only for the
//! packet that it was given for; the end is written completely or not at all; a question is announced where
//! the run is.

use super::place::Place;
use super::stop::{Answered, Left, Stop, rejected};
use super::told::{Account, Asked};
use super::{Order, row};
use crate::refusal::Refused;
use crate::remote::announce::announce;
use crate::remote::carried::{Branch, Record};
use crate::run::attempt::{Decision, Delivered, Paused, RunOutcome, RunStatus};
use crate::run::driver::{self, Finish, Reporter, ResumeLimits, RunRequest, StepProgress};
use crate::run::plan::PlannedStep;
use crate::run::state::RunState;
use aops_core::config::in_force;
use aops_core::ledger::clients;
use aops_core::model::error::Failure;
use aops_core::system::env::Env;
use aops_core::system::{files, signal};
use aops_core::text::redact::redact;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// An internal verb.
const VERB: &str = "__leg";

#[derive(Debug, Deserialize)]
struct Leg {
    run: String,
    order: Order,
    #[serde(default)]
    answer: Option<Said>,
    /// Another machine may have worked on it since this one did.
    #[serde(default)]
    restore: bool,
}

#[derive(Debug, Deserialize)]
struct Said {
    about: String,
    approve: bool,
    who: String,
    #[serde(default)]
    at: String,
    #[serde(default)]
    note: Option<String>,
}

/// In the form that the worker reads.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum LegEnd {
    Finished { outcome: &'static str, reason: String, delivered: Option<Delivered>, account: Account },
    Asks { question: String, about: String, pinned: bool, asked: Asked, account: Account },
    GivenBack,
    Failed { words: String },
}

pub fn is_verb(word: &str) -> bool {
    word == VERB
}

/// Prints nothing, since its output is not read. Only a worker gives orders: inside a tool call nothing is
/// read.
pub fn run(arguments: &[String], env: &Env) -> u8 {
    let [_, leg, end] = arguments else { return 2 };
    let own = std::process::id().try_into().unwrap_or_default();
    if env.client.is_around || clients::session_around(env, own).is_some() {
        return 2;
    }
    signal::note_interrupts();
    let read = files::read(Path::new(leg)).map_err(|error| error.to_string());
    let read =
        read.and_then(|bytes| serde_json::from_slice::<Leg>(&bytes).map_err(|error| error.to_string()));
    let told = match read {
        Ok(leg) => drive(env, leg),
        Err(words) => LegEnd::Failed { words: format!("the leg cannot be read: {words}") },
    };
    let text = serde_json::to_vec(&told).unwrap_or_default();
    u8::from(files::replace_private(Path::new(end), &text).is_err())
}

fn drive(env: &Env, Leg { run, order, answer, restore }: Leg) -> LegEnd {
    let env = &env.driving();
    if let Err(words) = row::check(&run, &order, &Record::default()) {
        return told(untrue(&words), None, Asked::default());
    }
    let place = match Place::carried(env, &run, &order, restore) {
        Ok(place) => place,
        Err(words) => return LegEnd::Failed { words },
    };
    let answered = answer.map(|said| Answered {
        approve: said.approve,
        about: said.about,
        who: said.who,
        at: said.at,
        note: said.note,
    });
    let repository = &order.repository;
    let mut reporter = Carrying { env, place: &place, run: &run, repository, is_there: false };
    let stop = go_on(env, &place, &order.run, answered.as_ref(), &mut reporter);
    if matches!(stop.left, Left::Asks(_)) {
        reporter.carry();
    }
    let runs = place.artifacts.runs().unwrap_or_default();
    let known = runs.into_iter().find(|known| known.run_id == run);
    let asked = known.as_ref().map(|known| Asked::of(env, &place, known)).unwrap_or_default();
    match &stop.left {
        Left::Finished { outcome: RunOutcome::Pass, .. } => {
            place.remove();
            let branch = known.as_ref().and_then(|known| known.delivered.as_ref());
            let branch = branch.map(|to| Branch { commit: to.commit.clone(), name: to.branch.clone() });
            let _ = Place::leave(env, &run, repository, branch);
        }
        Left::Asks(question) if !stop.about.is_empty() => {
            if let Ok(found) = in_force::load(env, &env.home) {
                announce(env, &found.policy.fleet, [&run, repository, question]);
            }
        }
        _ => {}
    }
    told(stop, known, asked)
}

/// Drives the run from its present state to its end or its next pause.
fn go_on(
    env: &Env,
    place: &Place,
    request: &RunRequest,
    answered: Option<&Answered>,
    reporter: &mut dyn Reporter,
) -> Stop {
    let id = request.run_id.clone().unwrap_or_default();
    let env = Env { cwd: place.root.clone(), ..env.later().for_project(Path::new("")) };
    let state = match place.artifacts.runs() {
        Ok(runs) => runs.into_iter().find(|known| known.run_id == id),
        Err(failure) => return Stop::asks(failure.to_string()),
    };
    let answer_to = |about: &str| answered.filter(|answered| answered.about == about);
    let driven = match &state {
        None => match answer_to("") {
            Some(Answered { approve: false, who, .. }) => return rejected(who),
            _ => driver::run(&env, reporter, request),
        },
        Some(RunState { status: RunStatus::Terminal, outcome, reason, .. }) => {
            let outcome = outcome.unwrap_or(RunOutcome::Blocked);
            return Stop::of(Left::Finished { outcome, reason: reason.clone() });
        }
        Some(run) => {
            if let Some(paused) = run.paused.as_ref().filter(|paused| paused.trigger.asks_person()) {
                let Some(answer) = answer_to(&paused.digest) else { return question(paused) };
                if run.resolved.is_none()
                    && let Err(failure) = resolve(place, run, answer)
                {
                    return Stop::asks(failure.to_string());
                }
            }
            driver::resume(&env, reporter, &id, ResumeLimits { budget: None, step_timeout_ms: None })
        }
    };
    stop_of(place, &id, driven)
}

/// Blocks the run: an order that fails its checks will fail them again tomorrow.
fn untrue(words: &str) -> Stop {
    Stop::of(Left::Finished { outcome: RunOutcome::Blocked, reason: format!("nothing was run: {words}") })
}

fn question(paused: &Paused) -> Stop {
    let pinned = paused.tool_use_id.is_some();
    Stop { left: Left::Asks(paused.question.clone()), about: paused.digest.clone(), pinned }
}

fn resolve(place: &Place, run: &RunState, answer: &Answered) -> Result<(), Failure> {
    let decision = if answer.approve { Decision::Approved } else { Decision::Rejected };
    let by = format!("{} at {}", answer.who, answer.at);
    place.artifacts.resolve(run, decision, answer.note.clone(), Some(by))
}

/// How the driver left the run.
fn stop_of(place: &Place, id: &str, driven: anyhow::Result<Finish>) -> Stop {
    let finish = match driven {
        Ok(finish) => finish,
        // A policy or a workflow forbids it, and still will tomorrow.
        Err(error) if error.is::<Refused>() => {
            return Stop::of(Left::Finished { outcome: RunOutcome::Blocked, reason: format!("{error:#}") });
        }
        Err(error) => return Stop::asks(format!("{error:#}")),
    };
    let paused =
        place.artifacts.runs().ok().and_then(|runs| runs.into_iter().find(|run| run.run_id == id)?.paused);
    match paused {
        Some(paused) if paused.trigger.asks_person() => question(&paused),
        Some(_) => Stop::of(Left::GivenBack),
        None => Stop::of(Left::Finished { outcome: finish.outcome, reason: finish.reason }),
    }
}

fn told(stop: Stop, known: Option<RunState>, asked: Asked) -> LegEnd {
    let account = known.as_ref().map(Account::of).unwrap_or_default();
    let delivered = known.and_then(|known| known.delivered);
    match stop.left {
        Left::Finished { outcome, reason } => {
            let delivered = delivered.filter(|_| outcome == RunOutcome::Pass);
            LegEnd::Finished {
                outcome: outcome.name(),
                reason: redact(&reason).into_owned(),
                delivered,
                account,
            }
        }
        // A failure before any pause has no packet that an answer could refer to.
        Left::Asks(words) if stop.about.is_empty() => LegEnd::Failed { words: redact(&words).into_owned() },
        Left::Asks(question) => LegEnd::Asks {
            question: redact(&question).into_owned(),
            about: stop.about,
            pinned: stop.pinned,
            asked,
            account,
        },
        Left::GivenBack => LegEnd::GivenBack,
    }
}

/// Keeps the run's remote up to date with the run. What a leg prints is not read.
struct Carrying<'a> {
    env: &'a Env,
    place: &'a Place,
    run: &'a str,
    repository: &'a str,
    /// The remote has everything up to the last step that ended.
    is_there: bool,
}

impl Carrying<'_> {
    /// If the remote refuses it, the work continues; another machine asks before it starts again.
    fn carry(&mut self) {
        self.is_there = self.place.carry(self.env, self.run, self.repository).is_ok();
    }
}

impl Reporter for Carrying<'_> {
    fn run_began(&mut self, _: &RunState) {}
    fn step_began(&mut self, _: &PlannedStep, _: usize) {}
    fn step_runs(&mut self, _: &StepProgress) {}
    fn step_ended(&mut self, _: &str, _: RunOutcome, _: u64, _: u64) {}
    fn thrown_away(&mut self, _: &str, _: &str) {}
    fn note(&mut self, _: &str) {}

    fn recorded(&mut self) {
        // There is no time for this once we are asked to end.
        let is_known = self.is_there && self.place.is_in_step();
        if !is_known && !signal::interrupted() {
            self.carry();
        }
    }
}
