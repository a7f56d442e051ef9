//! `runs`: lists the runs of this project with state, age, cost, and what each waits for.
//!
//! Reads the attempt ledger. For a person it also marks runs whose driver died, so that they can be resumed. Invariant: a
//! run without a driver is never shown as running.

use super::run::progress::{Progress, dollars};
use super::table::{Cell, Table, Tone};
use super::{Command, Io, Who};
use crate::run::artifacts::RunArtifacts;
use crate::run::attempt::{RunOutcome, RunStatus};
use crate::run::client::usd;
use crate::run::driver::{describe_next_step, mark_terminated, project_root};
use crate::run::state::RunState;
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
    let artifacts = RunArtifacts::of(&project_root(io.env));
    let mut runs = artifacts.runs()?;
    if runs.iter().any(|run| run.status.is_driven()) && !artifacts.is_driven() {
        runs = mark_dead(io, &artifacts, runs)?;
    }
    if io.json {
        let all: Vec<_> = runs.iter().map(|run| value(io, run)).collect();
        writeln!(io.out, "{}", serde_json::Value::Array(all))?;
        return Ok(0);
    }
    let mut table = Table::new(&["run", "state", "outcome", "age", "cost", "task"]);
    for run in &runs {
        let tone = match run.outcome {
            Some(RunOutcome::Pass) => Tone::Good,
            Some(RunOutcome::Blocked) => Tone::Bad,
            Some(_) => Tone::Warn,
            None => Tone::Plain,
        };
        let outcome = run.outcome.map_or("-", RunOutcome::name);
        table.row([
            run.run_id.as_str().into(),
            run.status.name().into(),
            Cell::new(outcome, tone),
            time::age(age_ms(io, run)).into(),
            dollars(run.cost).into(),
            one_line(&format!("{}{}", run.init.task, next(run)), 300).into(),
        ]);
    }
    table.print(io)?;
    Ok(0)
}

/// Marks runs whose driver died as TERMINATED; inside a tool call they are only shown so.
fn mark_dead(io: &mut Io, artifacts: &RunArtifacts, mut runs: Vec<RunState>) -> anyhow::Result<Vec<RunState>> {
    let (env, root) = (io.env.later(), project_root(io.env));
    let lock = if env.inside_client { None } else { artifacts.drive().ok() };
    if lock.is_none() {
        let dead = runs.iter_mut().filter(|run| run.status.is_driven());
        dead.for_each(|run| run.status = RunStatus::Terminated);
        return Ok(runs);
    }
    for run in runs.into_iter().filter(|run| run.status.is_driven()) {
        // It also refuses if a step still runs; the list does not care.
        let _ = mark_terminated(&env, &mut Progress::new(io), &root, artifacts, run);
    }
    Ok(artifacts.runs()?)
}

fn age_ms(io: &Io, run: &RunState) -> i64 {
    time::parse(&run.began_at).map_or(0, |began| io.env.now_ms - began).max(0)
}

fn next(run: &RunState) -> String {
    let Some(paused) = &run.paused else { return String::new() };
    let decided = run.resolved.as_ref().map(|resolved| resolved.decision);
    format!(" ({})", describe_next_step(&paused.checkpoint_id, paused.trigger.wants_decision(), decided))
}

fn value(io: &Io, run: &RunState) -> serde_json::Value {
    let checkpoint = run.paused.as_ref().map(|paused| &paused.checkpoint_id);
    json!({
        "run_id": run.run_id,
        "outcome": run.outcome.map(RunOutcome::name),
        "state": run.status.name(),
        "age_s": age_ms(io, run) / 1000,
        "cost_usd": usd(run.cost),
        "tokens": run.tokens,
        "workflow": run.init.workflow,
        "task": run.init.task,
        "session_id": run.init.session_id,
        "checkpoint_id": checkpoint,
        "reason": run.reason,
    })
}
