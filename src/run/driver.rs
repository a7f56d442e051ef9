//! The driver: walks the steps of a run, records each, and stops at everything it does not expect.
//!
//! Reads and writes `artifacts/` and the run's folder; reports through [`Reporter`]. It neither reasons nor
//! retries.
//! Invariants: the policy is the same before and after every step, or the run ends; a step that passed is not
//! started again.

mod judge;
mod prepare;
mod base;
mod codex;
mod prompt;
mod network;
mod step;
mod deliver;
mod walk;
mod way_back;
mod resume;
mod once;

pub use once::{run_id_of, run_once};
pub use prepare::{RunRequest, check_request, lock_project, make_run_id, plan_workflow, project_root};
pub use resume::{ResumeLimits, resume};
pub use walk::{mark_terminated, run};
pub use way_back::WayBack;

use crate::run::attempt::{Decision, Delivered, RunOutcome, Trigger};
use crate::run::{plan::PlannedStep, state::RunState};
use std::path::PathBuf;
use std::time::Duration;

pub trait Reporter {
    fn run_began(&mut self, run: &RunState);
    fn step_began(&mut self, step: &PlannedStep, index: usize);
    /// Called about thirty times a second while a step runs.
    fn step_runs(&mut self, now: &StepProgress);
    /// `cost`: of the whole run so far, in millionths of a dollar.
    fn step_ended(&mut self, step: &str, outcome: RunOutcome, duration_ms: u64, cost: u64);
    /// What a step's command changed in a throwaway layer.
    fn thrown_away(&mut self, step: &str, words: &str);
    fn note(&mut self, line: &str);
    /// A message for everyone who reads the run's output, including programs.
    fn told(&mut self, words: &str) {
        self.note(words);
    }
    /// Another driver is working in this project; called about five times a second.
    fn waits(&mut self) {}
    /// The attempt ledger has grown: called before a step's program is started, and after its end.
    fn recorded(&mut self) {}
}

pub struct StepProgress<'a> {
    pub step: &'a str,
    pub index: usize,
    pub count: usize,
    pub elapsed: Duration,
    pub tokens: u64,
    /// Millionths of a dollar.
    pub cost: u64,
    pub tool: Option<&'a str>,
}

/// The end of a run, or of this part of it.
#[derive(Clone, Debug)]
pub struct Finish {
    pub run_id: String,
    pub outcome: RunOutcome,
    pub reason: String,
    pub packet: PathBuf,
    pub hint: Option<String>,
    /// Where its work is, if it was delivered.
    pub delivered: Option<Delivered>,
    /// It continued after a pause or after its driver died.
    pub resumed: bool,
}

/// The commands that continue a paused run, on one line.
pub fn describe_next_step(checkpoint_id: &str, trigger: Trigger, decided: Option<Decision>) -> String {
    match decided {
        None if trigger.wants_answer() => format!(
            "answer with `aops-hook resolve {checkpoint_id} --answer TEXT`, or end it with `--reject`, then \
            `aops-hook resume {checkpoint_id}`"
        ),
        None if trigger.wants_decision() => format!(
            "decide with `aops-hook resolve {checkpoint_id} --approve` or `--reject`, then `aops-hook resume \
            {checkpoint_id}`"
        ),
        _ => format!("continue with `aops-hook resume {checkpoint_id}`"),
    }
}
