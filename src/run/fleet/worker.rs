//! The worker: takes runs, drives each in a tree of its own, and leaves it finished, paused or given back.
//!
//! Invariants: one run at a time; a run is resumed from the database's state, or from a later state of it on
//! this machine; a decision counts only for the packet it was made about; a worker that lost its lease writes
//! nothing.

use super::place::{self, Place};
use super::ship::{Hold, Line, rest};
use super::stop::{Left, Stop, rejected};
use super::{StoredRequest, row, session};
use crate::refusal::Refused;
use crate::remote::announce;
use crate::remote::asked::SessionQuestion;
use crate::remote::database;
use crate::run::attempt::{Decision, Paused, RunOutcome, RunStatus};
use crate::run::driver::{self, Finish, Reporter, ResumeLimits, RunRequest, StepProgress, random_hex};
use crate::run::plan::PlannedStep;
use crate::run::state::RunState;
use aops_core::config::policy::fleet::Fleet;
use aops_core::config::{bundle, in_force};
use aops_core::system::env::Env;
use aops_core::system::signal;
use aops_core::text::redact::redact;
use aops_fleet::Error;
use aops_fleet::approval::{Answer, Answered, token_digest};
use aops_fleet::queue::{Leave, Progress, TakenRun, Taker};
use aops_fleet::session::Machine;
use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct WorkerOptions {
    pub url: String,
    pub labels: Vec<String>,
    /// End when nothing is waiting.
    pub once: bool,
    pub lease: Duration,
    pub fleet: Fleet,
}

const FIRST_LOOK: Duration = Duration::from_millis(50);
const LAST_LOOK: Duration = Duration::from_secs(5);

/// Takes runs until a signal asks it to end.
pub fn work(
    env: &Env,
    options: &WorkerOptions,
    reporter: &mut dyn Reporter,
    mut left: impl FnMut(&mut dyn Reporter, &str, &Left),
) -> anyhow::Result<()> {
    let env = &env.driving();
    let machine = database::machine(env)?;
    let policy = in_force::load(env, &env.home)?.hash;
    let labels = Some(options.labels.as_slice());
    let bundle = bundle::in_words(env);
    let me = Machine {
        name: &machine,
        version: env!("CARGO_PKG_VERSION"),
        labels,
        policy: &policy,
        bundle: &bundle,
    };
    let mut pause = FIRST_LOOK;
    let mut line = Line::new(env, &options.url);
    // Runs that passed on another machine left their trees here.
    for run in
        line.insist(signal::was_asked, |fleet| fleet.over(&place::trees(env), None)).unwrap_or_default()
    {
        let _ = place::remove(env, &run);
    }
    while !signal::was_asked() {
        let who = Taker {
            machine: &machine,
            labels: &options.labels,
            lease_s: options.lease.as_secs_f64(),
            per_repository: i64::try_from(options.fleet.per_repository).unwrap_or(i64::MAX),
        };
        let taken = line.insist(signal::was_asked, |fleet| {
            fleet.register(&me)?;
            fleet.take(&who)
        });
        let taken = match taken {
            Err(error) if error.is_down() => break,
            taken => taken?,
        };
        let Some(run) = taken else {
            if options.once {
                break;
            }
            rest(pause, &signal::was_asked);
            pause = (pause * 2).min(LAST_LOOK);
            continue;
        };
        pause = FIRST_LOOK;
        let how = Shift { env, options, machine: &machine }.drive(&run, reporter);
        left(reporter, &run.id, &how);
    }
    Ok(())
}

struct Shift<'a> {
    env: &'a Env,
    options: &'a WorkerOptions,
    machine: &'a str,
}

impl Shift<'_> {
    fn drive(&self, run: &TakenRun, reporter: &mut dyn Reporter) -> Left {
        let mut line = Line::new(self.env, &self.options.url);
        let known =
            line.insist(signal::was_asked, |fleet| Ok((fleet.progress(&run.id)?, fleet.answered(&run.id)?)));
        // Nothing to give back: the lease expires by itself.
        let Ok((known, answered)) = known else { return Left::Lost };
        let taken = (run.id.as_str(), run.fence);
        let mut hold = Hold::new(line, taken, self.machine, self.options.lease, known.lines.len());
        if let Ok(asked) = serde_json::from_str::<SessionQuestion>(&run.request) {
            let stop = match row::check_session(run, &asked) {
                Ok(()) => session::go_on(self.env, &asked, answered.as_ref()),
                Err(words) => untrue(&words),
            };
            return self.leave(&mut hold, run, None, stop);
        }
        let request = read(run);
        if let Err(words) = request.as_ref().map_or(Ok(()), |request| row::check(run, request, &known)) {
            return self.leave(&mut hold, run, None, untrue(&words));
        }
        let place = request.and_then(|request| Ok((Place::of(self.env, run, &request, &known)?, request)));
        match place {
            Err(words) => {
                let stop = match answered {
                    Some(Answered { answer: Answer::Reject, about, who, .. }) if about.is_empty() => {
                        rejected(&who)
                    }
                    _ => Stop::asks(format!("{words}; may it be tried again?")),
                };
                self.leave(&mut hold, run, None, stop)
            }
            Ok((place, request)) => {
                let mut reporter =
                    Shipping { hold: &mut hold, place: &place, env: self.env, inner: reporter };
                let stop = go_on(self.env, &place, &request.run, answered.as_ref(), &mut reporter);
                self.leave(&mut hold, run, Some(&place), stop)
            }
        }
    }

    /// Tells the database how the run was left, and people what it asks.
    fn leave(&self, hold: &mut Hold, run: &TakenRun, place: Option<&Place>, stop: Stop) -> Left {
        if hold.is_fenced() {
            return Left::Lost;
        }
        let described = place
            .map_or(Ok((Progress::default(), true)), |place| place.describe(self.env, &run.id, hold.known));
        let (progress, can_travel) = match described {
            Ok(described) => described,
            Err(_) => (
                Progress { lines: place.map(Place::lines).unwrap_or_default(), ..Progress::default() },
                false,
            ),
        };
        let token = random_hex(32).unwrap_or_default();
        let digest = token_digest(&token);
        let words = match &stop.left {
            Left::Finished { reason: words, .. } | Left::Asks(words) => redact(words),
            Left::GivenBack | Left::Lost => Cow::Borrowed(""),
        };
        let how = match &stop.left {
            Left::Finished { outcome, .. } => Leave::Finish { outcome: outcome.name(), reason: &words },
            Left::Asks(_) => Leave::Pause { question: &words, about: &stop.about, token: &digest },
            Left::GivenBack | Left::Lost => Leave::GiveBack,
        };
        match hold.leave(&progress, stop.pinned || !can_travel, &how) {
            Ok(()) => {}
            // Another worker has it, or the lease expires and it is taken again.
            Err(_) => return Left::Lost,
        }
        match (&stop.left, place) {
            (Left::Finished { outcome: RunOutcome::Pass, .. }, Some(place)) => place.remove(),
            (Left::Asks(question), _) => {
                let id = format!("{}-{}", run.id, run.fence);
                announce::announce(
                    self.env,
                    &self.options.fleet,
                    [&id, &run.id, &run.repository, question],
                    Some(&token),
                );
            }
            _ => {}
        }
        stop.left
    }
}

/// Drives the run from its present state to its end or its next pause.
pub(super) fn go_on(
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
        Err(failure) => return Stop::asks(format!("{failure}; may it be tried again?")),
    };
    let answer_to = |about: &str| answered.filter(|answered| answered.about == about);
    let driven = match &state {
        None => match answer_to("") {
            Some(Answered { answer: Answer::Reject, who, .. }) => return rejected(who),
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
                    return Stop::asks(format!("{failure}; may it be tried again?"));
                }
            }
            driver::resume(&env, reporter, &id, ResumeLimits { budget: None, step_timeout_ms: None })
        }
    };
    stop_of(place, &id, driven)
}

fn read(run: &TakenRun) -> Result<StoredRequest, String> {
    serde_json::from_str(&run.request)
        .map_err(|error| format!("the request of run {} cannot be read: {error}", run.id))
}

/// Blocks the run: a row that fails its checks will fail them again tomorrow.
pub(super) fn untrue(words: &str) -> Stop {
    Stop::of(Left::Finished { outcome: RunOutcome::Blocked, reason: format!("nothing was run: {words}") })
}

fn question(paused: &Paused) -> Stop {
    let pinned = paused.tool_use_id.is_some();
    Stop { left: Left::Asks(paused.question.clone()), about: paused.digest.clone(), pinned }
}

fn resolve(place: &Place, run: &RunState, answer: &Answered) -> Result<(), aops_core::model::error::Failure> {
    let decision = if answer.answer == Answer::Approve { Decision::Approved } else { Decision::Rejected };
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
        Err(error) if error.downcast_ref() == Some(&Error::Fenced) => return Stop::of(Left::Lost),
        Err(error) => return Stop::asks(format!("{error:#}; may it be tried again?")),
    };
    let paused =
        place.artifacts.runs().ok().and_then(|runs| runs.into_iter().find(|run| run.run_id == id)?.paused);
    match paused {
        Some(paused) if paused.trigger.asks_person() => question(&paused),
        Some(_) => Stop::of(Left::GivenBack),
        None => Stop::of(Left::Finished { outcome: finish.outcome, reason: finish.reason }),
    }
}

/// Passes the driver's reports on, and stores what it records.
struct Shipping<'a> {
    hold: &'a mut Hold,
    place: &'a Place,
    env: &'a Env,
    inner: &'a mut dyn Reporter,
}

impl Reporter for Shipping<'_> {
    fn run_began(&mut self, run: &RunState) {
        self.inner.run_began(run);
    }

    fn step_began(&mut self, step: &PlannedStep, index: usize) {
        self.inner.step_began(step, index);
    }

    fn step_runs(&mut self, now: &StepProgress) {
        self.inner.step_runs(now);
    }

    fn step_ended(&mut self, step: &str, outcome: RunOutcome, duration_ms: u64, cost: u64) {
        self.inner.step_ended(step, outcome, duration_ms, cost);
    }

    fn thrown_away(&mut self, step: &str, words: &str) {
        self.inner.thrown_away(step, words);
    }

    fn note(&mut self, line: &str) {
        self.inner.note(line);
    }

    fn recorded(&mut self) -> anyhow::Result<()> {
        self.hold.record(self.env, self.place)
    }
}
