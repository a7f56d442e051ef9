//! One step: started once through its watcher, waited for, judged, recorded.
//!
//! Appends to the attempt ledger, writes the job's files. Invariants: the attempt is recorded before anything
//! is started, and every attempt of a step has the same idempotency key; a step that a dead driver started is
//! taken over in its present state, and is started again only if its program never ran or was abandoned.

use super::base::Driver;
use super::judge::{Evidence, StepResult};
use super::prepare::random_hex;
use super::{Reporter, StepProgress};
use crate::run::attempt::{AttemptFact, Begun, Done, RunOutcome, Trigger};
use crate::run::client::{Stream, usd};
use crate::run::job::{Job, JobFiles, JobStatus};
use crate::run::packet::StepSummary;
use crate::run::plan::{PlannedStep, StepAction};
use aops_core::jail::{receipt, shell};
use aops_core::model::call::CallKey;
use aops_core::model::error::{Code, Failure};
use aops_core::system::env::{RUN, RUN_KEY, now_ms};
use aops_core::system::files;
use aops_core::system::process::Ending;
use aops_core::system::{git, signal};
use aops_core::text::sha256::sha256;
use aops_core::text::time;
use rustix::process::Signal;
use std::ffi::OsString;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(30);
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// The time between SIGTERM and killing a program.
const END_TIMEOUT: Duration = Duration::from_secs(10);

impl Driver {
    pub(super) fn step(
        &mut self,
        reporter: &mut dyn Reporter,
        index: usize,
        step: &PlannedStep,
    ) -> anyhow::Result<StepResult> {
        let is_client = step.is_client();
        if let Some(question) = self.ask_for_budget(step).filter(|_| is_client) {
            return Ok(StepResult::pause(Trigger::BudgetExhausted, question));
        }
        let before = git::baseline(&self.env, &self.root).unwrap_or_default();
        reporter.step_began(step, index);
        let begun = match self.take_over(step) {
            Some(begun) => begun,
            None => match self.take_checkpoint(step, None) {
                Ok(()) => self.start_step(reporter, index, step)?,
                Err(failure) => return Ok(no_checkpoint(&failure)),
            },
        };
        let files = JobFiles::of(&self.folder, &begun);
        let mut stream = Stream::of(files.file("out"));
        let (ending, interrupted) = self.wait(reporter, (index, &step.id), &files, &mut stream)?;
        tell_vanished(reporter, &step.id, &files);
        let stderr = read_text(&files, "err");
        let session = is_client.then(|| self.session()).flatten();
        let stderr = stderr.as_str();
        let session = session.as_ref();
        let checks = self.prepared.policy.checks.as_slice();
        let undone = self.undone(&stream).filter(|_| is_client);
        let asked = undone.as_deref().and_then(|id| self.describe_call(id));
        let asked = asked.as_deref();
        let undone = undone.as_deref();
        let evidence =
            Evidence { step, ending, interrupted, stderr, stream: &stream, session, checks, undone, asked };
        let result = evidence.judge();
        let output = if is_client { stream.words().to_owned() } else { read_text(&files, "out") };
        let result = match self.take_checkpoint(step, Some((&result, &output))) {
            Err(failure) if result == StepResult::Passed => no_checkpoint(&failure),
            _ => result,
        };
        let duration_ms = self.duration(&files);
        self.count(&stream);
        self.record(begun, &result, duration_ms, git::touched(&self.env, &self.root, &before))?;
        reporter.step_ended(&step.id, result.outcome(), duration_ms, self.run.cost);
        reporter.recorded();
        Ok(result)
    }

    /// The question to a person if the budget is not enough for another client step.
    fn ask_for_budget(&self, step: &PlannedStep) -> Option<String> {
        if self.run.budget.is_some_and(|budget| self.run.cost >= budget) {
            return Some(format!(
                "the budget is used up before step `{}`; may it cost as much again?",
                step.id
            ));
        }
        (!self.resumed && self.cost_is_unknown()).then(|| {
            format!(
                "what was used before step `{}` has no price in `prices.json`, so the budget cannot be held; \
                may it go on?",
                step.id
            )
        })
    }

    /// The attempt that an earlier driver started, if its program ever ran.
    fn take_over(&self, step: &PlannedStep) -> Option<Begun> {
        let begun = self.run.current.clone().filter(|begun| begun.step == step.id)?;
        let files = JobFiles::of(&self.folder, &begun);
        let ran = match files.status() {
            JobStatus::Running | JobStatus::Ended(_) => true,
            JobStatus::NotStarted => !files.claim(),
            JobStatus::Lost => {
                files.kill_leftovers();
                false
            }
        };
        ran.then_some(begun)
    }

    /// Waits until the program has ended. Also returns whether it was asked to end.
    fn wait(
        &self,
        reporter: &mut dyn Reporter,
        (index, id): (usize, &str),
        files: &JobFiles,
        stream: &mut Stream,
    ) -> anyhow::Result<(Option<Ending>, bool)> {
        let began = Instant::now();
        let mut asked: Option<Instant> = None;
        let ending = loop {
            let status = files.status();
            stream.follow();
            reporter.step_runs(&StepProgress {
                step: id,
                index,
                count: self.prepared.plan.len(),
                elapsed: began.elapsed(),
                tokens: self.run.tokens.max(stream.tokens),
                cost: self.run.cost,
                tool: stream.last_tool.as_deref(),
            });
            match status {
                JobStatus::Ended(ending) => break Some(ending),
                JobStatus::Lost => {
                    files.kill_leftovers();
                    break None;
                }
                JobStatus::NotStarted if began.elapsed() > START_TIMEOUT && files.claim() => {
                    let what = format!("the program of step `{id}` could not be started");
                    return Err(Failure::new(Code::StorageFailed, what).into());
                }
                _ => {}
            }
            match asked {
                None if signal::interrupted() && files.signal(Signal::TERM) => asked = Some(Instant::now()),
                Some(at) if at.elapsed() > END_TIMEOUT => {
                    files.signal(Signal::KILL);
                }
                _ => {}
            }
            thread::sleep(POLL);
        };
        stream.follow();
        self.complete(stream);
        // A holder asks all processes at the same time, so the program may have ended before we asked it
        // ourselves.
        let ended_with_us = signal::interrupted() && matches!(ending, None | Some(Ending::Signal(_)));
        Ok((ending, asked.is_some() || ended_with_us))
    }

    /// How long its program took, even if an earlier driver started it.
    fn duration(&self, files: &JobFiles) -> u64 {
        let ended = std::fs::metadata(files.file("exit")).and_then(|about| about.modified()).ok();
        let ended = ended.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        let ended = ended.and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or_else(now_ms);
        let began = time::parse(&self.run.current_since).unwrap_or(ended);
        u64::try_from(ended - began).unwrap_or(0)
    }

    /// Adds the step's usage to the run. The client counts over its whole session.
    fn count(&mut self, stream: &Stream) {
        let result = stream.result.as_ref();
        let cost = result.and_then(|result| result.cost).unwrap_or_default();
        self.run.cost = self.run.cost.max(cost);
        let known = result.and_then(|result| result.tokens);
        self.run.tokens = known.unwrap_or(self.run.tokens + stream.tokens).max(self.run.tokens);
    }

    fn record(
        &mut self,
        Begun { call, step, .. }: Begun,
        result: &StepResult,
        duration_ms: u64,
        artifacts: Vec<String>,
    ) -> Result<(), Failure> {
        let outcome = result.outcome();
        let word = if outcome == RunOutcome::Pass { "success" } else { outcome.name() };
        let summary =
            StepSummary { artifacts, duration_ms, outcome: word.to_owned(), step_name: step.clone() };
        self.artifacts.keep_summary(&self.run.run_id, &summary)?;
        let reason = match result {
            StepResult::Pause(_) => return Ok(()),
            ended => ended.reason().unwrap_or_default().to_owned(),
        };
        let cost = self.run.cost;
        let tokens = self.run.tokens;
        self.append(AttemptFact::Done(Done { call, cost, duration_ms, outcome, reason, step, tokens }))
    }
}

fn read_text(files: &JobFiles, name: &str) -> String {
    String::from_utf8_lossy(&files::read(files.file(name)).unwrap_or_default()).into_owned()
}

/// Reports what a step's command changed in a throwaway layer.
fn tell_vanished(reporter: &mut dyn Reporter, id: &str, files: &JobFiles) {
    let receipt = files.file(shell::STEP_RECEIPT);
    let proof = receipt.exists().then(|| receipt::take_at(&receipt, true)).flatten();
    if let Some(proof) = proof.filter(|proof| !proof.lost.is_empty()) {
        let words = format!("not saved, because it ran in a throwaway layer: {}", proof.lost.describe());
        reporter.thrown_away(id, &words);
    }
}

fn no_checkpoint(failure: &Failure) -> StepResult {
    StepResult::Blocked(format!("no checkpoint could be taken: {failure}"))
}

impl Driver {
    pub(super) fn start_step(
        &mut self,
        reporter: &mut dyn Reporter,
        index: usize,
        step: &PlannedStep,
    ) -> anyhow::Result<Begun> {
        let attempt = self.run.attempts.get(&step.id).unwrap_or(&0) + 1;
        // A verification that found issues has ended; running it again is a new execution.
        let again = self.run.begun.contains_key(&step.id) && !self.run.done.contains_key(&step.id);
        let id = self.idempotency_key(step);
        let tool = if matches!(step.does, StepAction::Run(_)) { "run" } else { self.env.host.name() };
        let call = CallKey { id, server: "aops-hook".to_owned(), tool: tool.to_owned() };
        let tree = git::tree(&self.env, &self.root).unwrap_or_default();
        let begun = Begun { attempt, call, step: step.id.clone(), tree };
        self.append(AttemptFact::Step(begun.clone()))?;
        reporter.recorded();
        let key = random_hex(16)?;
        let job = self.job(index, step, again, &key)?;
        let variables = self.variables(step, &begun.call.id, key);
        let started = JobFiles::of(&self.folder, &begun).start(&self.env, &job, variables);
        started.map_err(|e| Failure::storage(self.folder.display(), e))?;
        Ok(begun)
    }

    /// The same for every attempt, until the run goes back to a checkpoint, an intervention comes in between
    /// or the critic sends the plan back: then it is another execution.
    fn idempotency_key(&self, step: &PlannedStep) -> String {
        let mended = self.run.rounds.get(&step.id).copied().unwrap_or_default();
        let round = match (self.run.rollbacks, mended) {
            (0, 0) => String::new(),
            (rollbacks, 0) => format!("\0{rollbacks}"),
            (rollbacks, mended) => format!("\0{rollbacks}\0{mended}"),
        };
        let revised = self.run.revisions.get(step.mends.as_ref().unwrap_or(&step.id));
        let round = revised.map_or(round.clone(), |times| format!("{round}\0r{times}"));
        let parts = [self.run.run_id.as_bytes(), b"\0", step.id.as_bytes(), round.as_bytes()];
        sha256(&parts)[..32].to_owned()
    }

    fn variables(&self, step: &PlannedStep, idempotency_key: &str, key: String) -> Vec<(String, OsString)> {
        let mut own: Vec<(&str, OsString)> = vec![
            (RUN, self.run.run_id.clone().into()),
            ("AOPS_STEP", step.id.clone().into()),
            ("AOPS_IDEMPOTENCY_KEY", idempotency_key.into()),
        ];
        match step.does {
            StepAction::Client { .. } => own.push((RUN_KEY, key.into())),
            StepAction::Run(_) => {
                own.extend([("AOPS_TASK", self.run.init.task.clone().into()), ("PATH", self.path_with_us())]);
            }
        }
        let mut all = self.env.variables(|name| name != RUN_KEY && own.iter().all(|(own, _)| *own != name));
        all.extend(own.into_iter().map(|(name, value)| (name.to_owned(), value)));
        all
    }

    fn job(&mut self, index: usize, step: &PlannedStep, again: bool, key: &str) -> anyhow::Result<Job> {
        let timeout_ms = self.run.step_timeout_ms;
        let folder = self.root.clone();
        if let StepAction::Run(line) = &step.does {
            let args = vec![shell::STEP.to_owned(), step.profile().name().to_owned(), line.clone()];
            let program = self.env.program().map_err(|e| Failure::storage("our own program", e))?;
            return Ok(Job { args, folder, program, timeout_ms });
        }
        let approved = self.approved.take();
        self.enter_step(step, key, approved.clone())?;
        self.note = None;
        let known = self.is_known();
        if !known {
            self.begin_thread()?;
        }
        let prompt = match approved {
            None => Some(self.prompt(index, step, again && known)?),
            // Claude Code makes the call by itself.
            Some(_) if !self.env.host.is_registered_by_name() => None,
            Some(id) => Some(self.prompt_approved(&id)),
        };
        let mut args = self.kit.arguments(step, &self.run.init.session_id, known, prompt.as_deref());
        if let Some(model) = step.model.as_ref().or(self.run.init.model.as_ref()) {
            args.extend(["--model".to_owned(), model.clone()]);
        }
        if let Some(left) = self
            .run
            .budget
            .filter(|_| !self.env.host.is_registered_by_name())
            .map(|budget| budget.saturating_sub(self.run.cost))
        {
            args.extend(["--max-budget-usd".to_owned(), usd(left).to_string()]);
        }
        Ok(Job { args, folder, program: self.prepared.client.clone(), timeout_ms })
    }

    /// `PATH` with our own folder last, so that a command step can run `aops-hook`.
    fn path_with_us(&self) -> OsString {
        let own = self.env.program().ok().and_then(|program| Some(program.parent()?.to_owned()));
        let path = self.env.search_path();
        let all: Vec<PathBuf> = std::env::split_paths(&path).chain(own).collect();
        std::env::join_paths(all).unwrap_or(path)
    }
}
