//! Lists the runs of this project: state, age, cost, and what each waits for.
//!
//! Reads the attempt ledger. For a person it also marks runs whose driver died, so that they can be resumed. Invariant: a
//! run without a driver is never shown as running.

use super::run::driver::{root, terminate};
use super::run::next_step;
use super::run::progress::{dollars, usd};
use super::table::{Cell, Table, Tone};
use super::{Command, Io, Who};
use crate::run::artifacts::Artifacts;
use crate::run::state::RunState;
use crate::run::status::{Outcome, State};
use crate::text::template::one_line;
use crate::text::time;
use clap::ArgMatches;
use serde_json::json;

pub const COMMAND: Command = Command {
    name: "runs",
    about: "List the runs of this project",
    examples: &[
        ("aops-hook runs", "state, age, cost, and what each waits for"),
        ("aops-hook runs --json", "for programs"),
    ],
    who: Who::Anyone,
    arguments: |row| row,
    run,
};

fn run(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let artifacts = Artifacts::of(&root(io.env));
    let mut runs = artifacts.runs()?;
    if runs.iter().any(|record| record.state.is_driven()) && !artifacts.is_driven() {
        runs = mark(io, &artifacts, runs)?;
    }
    if io.json {
        let all: Vec<_> = runs.iter().map(|record| value(io, record)).collect();
        writeln!(io.out, "{}", serde_json::Value::Array(all))?;
        return Ok(0);
    }
    let mut table = Table::new(&["run", "state", "outcome", "age", "cost", "task"]);
    for record in &runs {
        let tone = match record.outcome {
            Some(Outcome::Pass) => Tone::Good,
            Some(Outcome::Blocked) => Tone::Bad,
            Some(_) => Tone::Warn,
            None => Tone::Plain,
        };
        let outcome = record.outcome.map_or("-", Outcome::name);
        table.row([
            record.run_id.as_str().into(),
            record.state.name().into(),
            Cell::new(outcome, tone),
            time::age(age_ms(io, record)).into(),
            dollars(record.cost).into(),
            one_line(&format!("{}{}", record.init.task, next(record)), 300).into(),
        ]);
    }
    table.print(io)?;
    Ok(0)
}

/// Runs whose driver died become TERMINATED; a tool call that asks is only told so.
fn mark(io: &mut Io, artifacts: &Artifacts, runs: Vec<RunState>) -> anyhow::Result<Vec<RunState>> {
    let (env, root) = (io.env.later(), root(io.env));
    let alone = if env.inside_client { None } else { artifacts.drive().ok() };
    if alone.is_none() {
        let dead = |record: RunState| {
            let state = if record.state.is_driven() { State::Terminated } else { record.state };
            RunState { state, ..record }
        };
        return Ok(runs.into_iter().map(dead).collect());
    }
    for record in runs.into_iter().filter(|record| record.state.is_driven()) {
        // That its step still runs is no trouble for a list.
        let _ = terminate(io, &env, &root, artifacts, record);
    }
    Ok(artifacts.runs()?)
}

fn age_ms(io: &Io, record: &RunState) -> i64 {
    time::parse(&record.began_at).map_or(0, |began| io.env.now_ms - began).max(0)
}

fn next(record: &RunState) -> String {
    let Some(paused) = &record.paused else { return String::new() };
    let decided = record.resolved.as_ref().map(|resolved| resolved.decision);
    format!(" ({})", next_step(&paused.checkpoint_id, paused.trigger.wants_decision(), decided))
}

fn value(io: &Io, record: &RunState) -> serde_json::Value {
    let checkpoint = record.paused.as_ref().map(|paused| &paused.checkpoint_id);
    json!({
        "run_id": record.run_id,
        "outcome": record.outcome.map(Outcome::name),
        "state": record.state.name(),
        "age_s": age_ms(io, record) / 1000,
        "cost_usd": usd(record.cost),
        "tokens": record.tokens,
        "workflow": record.init.workflow,
        "task": record.init.task,
        "session_id": record.init.session_id,
        "checkpoint_id": checkpoint,
        "reason": record.reason,
    })
}
