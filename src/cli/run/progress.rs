//! Shows a run while it goes: one living line on a terminal, JSON lines everywhere else.
//!
//! Writes to the io. Invariants: what cannot be written changes nothing about the run; the last line says how it ended.

use super::super::Io;
use super::super::table::{Tone, clean};
use super::driver::Finish;
use crate::run::status::Outcome;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_millis(250);

/// What the living line shows.
#[derive(Debug, Default)]
pub(in crate::cli) struct Progress {
    shown: Option<Instant>,
    tool: Option<String>,
}

/// Where a step is.
pub(super) struct Now<'a> {
    pub step: &'a str,
    pub index: usize,
    pub count: usize,
    pub elapsed: Duration,
    pub tokens: u64,
    pub cost: u64,
    pub tool: Option<&'a str>,
}

impl Progress {
    pub(super) fn tick(&mut self, io: &mut Io, now: &Now) {
        if self.tool.as_deref() != now.tool {
            self.tool = now.tool.map(str::to_owned);
            line(io, &json!({"event": "tool", "step": now.step, "tool": now.tool, "tokens": now.tokens}));
        }
        let fresh = self.shown.is_some_and(|at| at.elapsed() < EVERY);
        if !lives(io) || fresh {
            return;
        }
        self.shown = Some(Instant::now());
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
        let width = io.width.unwrap_or(80).saturating_sub(1);
        let text: String = clean(&text).chars().take(width).collect();
        let _ = write!(io.out, "\r\x1b[K{text}").and_then(|()| io.out.flush());
    }
}

/// On a terminal, and nobody asked for JSON.
fn lives(io: &Io) -> bool {
    io.terminal && !io.json
}

pub(in crate::cli) fn dollars(micros: u64) -> String {
    format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000)
}

/// One line for programs.
pub(in crate::cli) fn line(io: &mut Io, said: &Value) {
    if !lives(io) {
        let _ = writeln!(io.out, "{said}").and_then(|()| io.out.flush());
    }
}

/// One line for people at a terminal, in the place of the living one.
pub(in crate::cli) fn words(io: &mut Io, said: &str) {
    if lives(io) {
        let said = clean(said).into_owned();
        let _ = writeln!(io.out, "\r\x1b[K{said}").and_then(|()| io.out.flush());
    }
}

/// The step is over.
pub(super) fn step_ended(io: &mut Io, step: &str, outcome: Outcome, duration_ms: u64, cost: u64) {
    let said = json!({"event": "step", "step": step, "outcome": outcome.name(), "duration_ms": duration_ms, "cost_usd": usd(cost)});
    line(io, &said);
    let tone = if outcome == Outcome::Pass { Tone::Good } else { Tone::Warn };
    let word = tone.paint(outcome.name(), io).into_owned();
    if lives(io) {
        let seconds = duration_ms / 1000;
        let _ = writeln!(io.out, "\r\x1b[K{word}  {step}  {seconds} s").and_then(|()| io.out.flush());
    }
}

#[expect(clippy::cast_precision_loss, reason = "no run costs a billion dollars")]
pub(in crate::cli) fn usd(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// How it ended, and what to do next.
pub(super) fn conclude(io: &mut Io, finish: &Finish) {
    let Finish { run_id, outcome, reason, packet, hint } = finish;
    line(
        io,
        &json!({"run_id": run_id, "outcome": outcome.name(), "reason": reason, "exit": outcome.exit(), "packet": packet}),
    );
    let next = hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    let said = clean(&format!("{}: {reason}{next}", outcome.name())).into_owned();
    words(io, &said);
    if !lives(io) && *outcome != Outcome::Pass {
        aside(&format!("run {run_id} {said}"));
    }
}

#[expect(clippy::print_stderr, reason = "stdout is for programs here, and a person may read this")]
fn aside(words: &str) {
    eprintln!("aops-hook: {words}");
}
