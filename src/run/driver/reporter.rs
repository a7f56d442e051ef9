//! What a driver reports while it works: the trait that the command line implements.
//!
//! Reads nothing, writes nothing. Invariant: no method can fail, so a closed terminal does not end a run.

use crate::run::plan::PlannedStep;
use crate::run::state::RunState;
use crate::run::status::Outcome;
use std::time::Duration;

pub trait Reporter {
    /// A run begins or is resumed.
    fn run_began(&mut self, run: &RunState);
    fn step_began(&mut self, step: &PlannedStep, index: usize);
    /// Called about thirty times a second while a step runs.
    fn step_runs(&mut self, now: &StepProgress);
    /// `cost`: of the whole run so far, in millionths of a dollar.
    fn step_ended(&mut self, step: &str, outcome: Outcome, duration_ms: u64, cost: u64);
    /// One line for a person at a terminal.
    fn note(&mut self, line: &str);
}

/// A step that is running.
pub struct StepProgress<'a> {
    pub step: &'a str,
    pub index: usize,
    pub count: usize,
    pub elapsed: Duration,
    pub tokens: u64,
    /// Millionths of a dollar.
    pub cost: u64,
    /// The tool that the client called last.
    pub tool: Option<&'a str>,
}
