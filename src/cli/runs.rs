//! `runs` lists the runs of this project, `runs gc` removes old ones; `resolve` records a person's decision
//! on a paused one.
//!
//! Reads the attempt ledger; for a person `runs` also marks runs whose driver died, so that they can be
//! resumed, and `resolve` writes the packet and one line. Invariants: a run without a driver is never shown
//! as running; a packet that differs from what the run wrote is refused; a decision starts nothing.

use super::gc::{self, Wish};
use super::run::{Progress, dollars, run_operand};
use super::table::{Cell, Tone};
use super::{Command, Io, flag, option, refused, text, yes};
use crate::run::artifacts::RunArtifacts;
use crate::run::attempt::{Decision, RunOutcome, RunStatus};
use crate::run::client::usd;
use crate::run::driver::{describe_next_step, lock_project, mark_terminated, project_root};
use crate::run::state::{RunState, pick};
use aops_core::text::json::cut;
use aops_core::text::redact::redact;
use aops_core::text::template::one_line;
use aops_core::text::time;
use clap::{ArgGroup, ArgMatches};
use serde_json::{Value, json};

pub const RUNS: Command = Command {
    name: "runs",
    about: "List the runs of this project",
    examples: &[
        ("aops-hook runs", "state, age, cost, and what each waits for"),
        ("aops-hook runs --json", "for programs"),
    ],
    arguments: |row| {
        let fleet = flag("fleet", "The runs of the engine (`fleet.engine`)");
        row.arg(yes().global(true)).arg(fleet).subcommand((GC.arguments)(GC.row()))
    },
    run: runs,
};

pub(super) static VERBS: &[Command] = &[GC];

const GC: Command = Command {
    name: "gc",
    about: "Remove the files of old runs that passed or were rejected (needs a person at a terminal)",
    examples: &[
        ("aops-hook runs gc --older-than 30d --dry-run", "show what it would remove"),
        (
            "aops-hook runs gc --older-than 30d",
            "remove their packets and step summaries; the attempt ledger stays whole",
        ),
    ],
    arguments: |row| gc::arguments(row, "Only runs that ended longer ago: 12h, 30d"),
    run: collect,
};

pub const RESOLVE: Command = Command {
    name: "resolve",
    about: "Decide on a paused run (needs a person at a terminal)",
    examples: &[
        ("aops-hook resolve CP_20260113-1f3a9c02_build --approve", "allow the deferred call"),
        (
            "aops-hook resolve CP_20260113-1f3a9c02_build --reject --note 'not on a Friday'",
            "end the run when it is resumed",
        ),
        (
            "aops-hook resolve CP_20260113-1f3a9c02_build --answer 'the second one'",
            "answer what a step asked",
        ),
    ],
    arguments: |row| {
        row.arg(run_operand())
            .arg(flag("approve", "Allow it"))
            .arg(flag("reject", "Refuse it; the run ends as BLOCKED"))
            .arg(option("answer", "TEXT", "Allow it, and answer its question; every later step is printed"))
            .arg(
                option("note", "TEXT", "A note for the record and for the agent that continues")
                    .conflicts_with("answer"),
            )
            .group(ArgGroup::new("decision").args(["approve", "reject", "answer"]).required(true))
    },
    run: resolve,
};

fn runs(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    if let Some(code) = Command::run_verb("runs", VERBS, given, io)? {
        return Ok(code);
    }
    #[cfg(not(feature = "fleet"))]
    if given.get_flag("fleet") {
        return super::without_fleet::not_built();
    }
    #[cfg(feature = "fleet")]
    if given.get_flag("fleet") {
        // Like `fleet status`: what machines share is for people.
        super::allowed("runs --fleet", super::who_may("fleet status"), io)?;
        return super::fleet::runs(io);
    }
    let artifacts = RunArtifacts::of(&project_root(io.env));
    let mut runs = artifacts.runs()?;
    if runs.iter().any(|run| run.status.is_driven()) && !artifacts.is_driven() {
        runs = mark_dead(io, &artifacts, runs)?;
    }
    if io.json {
        return io.print(runs.iter().map(|run| to_json(io, run)).collect::<Value>());
    }
    let rows = runs.iter().map(|run| row(io, run)).collect();
    io.table(["run", "state", "outcome", "age", "cost", "task"], rows)
}

fn row(io: &Io, run: &RunState) -> [Cell; 6] {
    let tone = match run.outcome {
        Some(RunOutcome::Pass) => Tone::Good,
        Some(RunOutcome::Blocked) => Tone::Bad,
        Some(_) => Tone::Warn,
        None => Tone::Plain,
    };
    let next = run.paused.as_ref().map(|paused| {
        let decided = run.resolved.as_ref().map(|resolved| resolved.decision);
        let next = describe_next_step(&paused.checkpoint_id, paused.trigger, decided);
        format!(" ({next})")
    });
    [
        run.run_id.as_str().into(),
        run.status.name().into(),
        Cell::new(run.outcome.map_or("-", RunOutcome::name), tone),
        time::age(age_ms(io, run)).into(),
        dollars(run.cost).into(),
        one_line(&format!("{}{}", run.init.task, next.unwrap_or_default()), 300).into(),
    ]
}

/// Marks runs whose driver died as TERMINATED; inside a tool call they are only displayed that way.
fn mark_dead(
    io: &mut Io,
    artifacts: &RunArtifacts,
    mut runs: Vec<RunState>,
) -> anyhow::Result<Vec<RunState>> {
    let env = io.env.later();
    let root = project_root(io.env);
    let lock = if env.client.is_around { None } else { artifacts.drive().ok() };
    if lock.is_none() {
        let dead = runs.iter_mut().filter(|run| run.status.is_driven());
        dead.for_each(|run| run.status = RunStatus::Terminated);
        return Ok(runs);
    }
    for run in runs.into_iter().filter(|run| run.status.is_driven()) {
        // It fails if a step still runs, which does not matter for the list.
        let _ = mark_terminated(&env, &mut Progress::new(io), &root, artifacts, run);
    }
    Ok(artifacts.runs()?)
}

fn age_ms(io: &Io, run: &RunState) -> i64 {
    time::parse(&run.began_at).map_or(0, |began| io.env.now_ms - began).max(0)
}

fn to_json(io: &Io, run: &RunState) -> Value {
    let checkpoint = run.paused.as_ref().map(|paused| &paused.checkpoint_id);
    json!({
        "run_id": run.run_id, "outcome": run.outcome.map(RunOutcome::name), "state": run.status.name(),
        "age_s": age_ms(io, run) / 1000, "cost_usd": usd(run.cost), "tokens": run.tokens,
        "workflow": run.init.workflow, "task": run.init.task, "session_id": run.init.session_id,
        "checkpoint_id": checkpoint, "reason": run.reason,
    })
}

/// Removes runs that passed or that a person rejected. A blocked or paused run stays, however old it is. For
/// finished runs of the engine, the trees on this machine are removed too.
fn collect(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let wish = Wish::read("runs gc", given, io)?;
    let artifacts = RunArtifacts::of(&project_root(io.env));
    let all = artifacts.runs()?;
    let gone = all
        .iter()
        .filter(|run| run.is_settled() && time::parse(&run.changed_at).is_some_and(|at| wish.covers(at)));
    let gone: Vec<String> = gone.map(|run| run.run_id.clone()).collect();
    #[cfg(feature = "fleet")]
    let trees = crate::run::fleet::place::over(io.env, io.env.now_ms - wish.before_ms);
    #[cfg(not(feature = "fleet"))]
    let trees: Vec<String> = Vec::new();
    let _lock = if wish.dry || gone.is_empty() { None } else { Some(lock_project(&artifacts)?) };
    let mut files = 0;
    for id in &gone {
        files += if wish.dry { artifacts.files_of(id).len() } else { artifacts.remove(id)? };
    }
    #[cfg(feature = "fleet")]
    for run in trees.iter().filter(|_| !wish.dry) {
        crate::run::fleet::place::remove(io.env, run)?;
    }
    let more = [("file", files as u64), ("tree", trees.len() as u64)];
    wish.report(io, "run", (&gone, all.len()), if trees.is_empty() { &more[..1] } else { &more })
}

fn resolve(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let decision = if given.get_flag("reject") { Decision::Rejected } else { Decision::Approved };
    let note =
        text(given, "answer").or(text(given, "note")).map(|note| cut(&redact(note.trim()), 1000).to_owned());
    let note = note.filter(|note| !note.is_empty());
    let artifacts = RunArtifacts::of(&project_root(io.env));
    let name = text(given, "name").unwrap_or_default();
    let run = pick(artifacts.runs()?, name);
    #[cfg(feature = "fleet")]
    if run.is_err()
        && let Some(code) = super::fleet::resolve(io, name, decision == Decision::Approved, note.as_deref())?
    {
        return Ok(code);
    }
    let run = run.or_else(refused)?;
    let Some(paused) = run.paused.clone() else { return not_paused(&run) };
    artifacts.resolve(&run, decision, note, None)?;
    let checkpoint_id = paused.checkpoint_id;
    let decided = decision.name();
    let said = json!({"checkpoint_id": checkpoint_id, "run_id": run.run_id, "resolution_decision": decided});
    let next = describe_next_step(&checkpoint_id, paused.trigger, Some(decision));
    io.answer(&said, format!("{checkpoint_id} is {decided}; {next}"))
}

fn not_paused(run: &RunState) -> anyhow::Result<u8> {
    let id = &run.run_id;
    let status = run.status.name();
    let outcome = run.outcome.map(|outcome| format!(", {}", outcome.name())).unwrap_or_default();
    let hint =
        if run.status == RunStatus::Terminal { "it is over" } else { "`aops-hook runs` shows its state" };
    refused(format!("run {id} does not wait for a decision: {status}{outcome}\nhint: {hint}"))
}
