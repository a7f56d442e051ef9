//! Prints a run while it goes: one line that is redrawn on a terminal, JSON lines everywhere else.
//!
//! Writes to stdout; the end of a run that did not pass also goes to stderr if stdout is not a terminal. Invariants: a
//! failed write does not change the run; the last line says how it ended.

use super::super::Io;
use super::super::table::{Tone, clean};
use crate::run::attempt::RunOutcome;
use crate::run::client::usd;
use crate::run::driver::{Finish, Reporter, StepProgress};
use crate::run::plan::PlannedStep;
use crate::run::state::RunState;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const REDRAW_EVERY: Duration = Duration::from_millis(250);

pub(in crate::cli) struct Progress<'a, 'io> {
    io: &'a mut Io<'io>,
    drawn: Option<Instant>,
    tool: Option<String>,
}

impl<'a, 'io> Progress<'a, 'io> {
    pub(in crate::cli) fn new(io: &'a mut Io<'io>) -> Self {
        Self { io, drawn: None, tool: None }
    }

    /// For a person: on a terminal, without `--json`.
    fn is_live(&self) -> bool {
        self.io.terminal && !self.io.json
    }

    /// One line for programs.
    fn line(&mut self, event: &Value) {
        if !self.is_live() {
            let _ = writeln!(self.io.out, "{event}").and_then(|()| self.io.out.flush());
        }
    }

    /// Replaces the live line with this text.
    fn draw(&mut self, text: &str, end: &str) {
        if self.is_live() {
            let _ = write!(self.io.out, "\r\x1b[K{text}{end}").and_then(|()| self.io.out.flush());
        }
    }

    pub(super) fn skipped(&mut self, task: &str) {
        self.line(&json!({"event": "passed over", "task": task}));
        self.note(&format!("skipped, because it is no longer ready: {task}"));
    }

    pub(super) fn finished(&mut self, finish: &Finish) {
        let Finish { run_id, outcome, reason, packet, hint } = finish;
        let (name, exit) = (outcome.name(), outcome.exit());
        let end = json!({"run_id": run_id, "outcome": name, "reason": reason, "exit": exit, "packet": packet});
        self.line(&end);
        let next = hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        let words = clean(&format!("{name}: {reason}{next}")).into_owned();
        self.note(&words);
        if !self.is_live() && *outcome != RunOutcome::Pass {
            print_aside(&format!("run {run_id} {words}"));
        }
    }

    pub(super) fn failed(&mut self, exit: u8, reason: &str) {
        let nothing = Value::Null;
        let end = json!({"run_id": nothing, "outcome": nothing, "reason": reason, "exit": exit, "packet": nothing});
        self.line(&end);
    }
}

impl Reporter for Progress<'_, '_> {
    fn run_began(&mut self, run: &RunState) {
        let RunState { run_id, init, .. } = run;
        let left: Vec<&String> = init.steps.iter().filter(|step| !run.has_passed(step)).collect();
        let event = json!({"event": "run", "run_id": run_id, "workflow": init.workflow, "session_id": init.session_id, "steps": left});
        self.line(&event);
        self.note(&format!("run {run_id}: {} steps of `{}`", left.len(), init.workflow));
    }

    fn step_began(&mut self, step: &PlannedStep, index: usize) {
        self.line(&json!({"event": "step", "step": step.id, "index": index, "by": step.by()}));
    }

    fn step_runs(&mut self, now: &StepProgress) {
        if self.tool.as_deref() != now.tool {
            self.tool = now.tool.map(str::to_owned);
            self.line(&json!({"event": "tool", "step": now.step, "tool": now.tool, "tokens": now.tokens}));
        }
        if self.drawn.is_some_and(|at| at.elapsed() < REDRAW_EVERY) {
            return;
        }
        self.drawn = Some(Instant::now());
        let (minutes, seconds) = (now.elapsed.as_secs() / 60, now.elapsed.as_secs() % 60);
        let text = format!(
            "{}/{} {}  {minutes}:{seconds:02}  {} tokens  {}  {}",
            now.index + 1,
            now.count,
            now.step,
            now.tokens,
            dollars(now.cost),
            now.tool.unwrap_or_default()
        );
        let width = self.io.width.unwrap_or(80).saturating_sub(1);
        let text: String = clean(&text).chars().take(width).collect();
        self.draw(&text, "");
    }

    fn step_ended(&mut self, step: &str, outcome: RunOutcome, duration_ms: u64, cost: u64) {
        let event = json!({"event": "step", "step": step, "outcome": outcome.name(), "duration_ms": duration_ms, "cost_usd": usd(cost)});
        self.line(&event);
        let tone = if outcome == RunOutcome::Pass { Tone::Good } else { Tone::Warn };
        let word = tone.paint(outcome.name(), self.io).into_owned();
        self.draw(&format!("{word}  {step}  {} s", duration_ms / 1000), "\n");
    }

    fn note(&mut self, line: &str) {
        self.draw(&clean(line), "\n");
    }
}

pub(in crate::cli) fn dollars(micros: u64) -> String {
    format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000)
}

#[expect(clippy::print_stderr, reason = "stdout is for programs here, and a person may read this")]
fn print_aside(words: &str) {
    eprintln!("aops-hook: {words}");
}
