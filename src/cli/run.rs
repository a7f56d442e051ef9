//! `run`: drives a workflow's steps without a person.
//!
//! Parses arguments and prints; `crate::run` does the work. Invariant: the last line says how the run ended and what to
//! do next.

pub(super) mod progress;

use super::table::{Cell, Table};
use super::waive::duration;
use super::{Command, Io, Who, exit_code, refused};
use crate::config::in_force;
use crate::config::policy::OnPause;
use crate::config::texts;
use crate::run::attempt::RunOutcome;
use crate::run::client::micros;
use crate::run::driver::{self, Finish, Reporter, ResumeLimits, RunRequest, plan_workflow};
use crate::run::queue;
use crate::system::env::Env;
use crate::system::signal;
use clap::{Arg, ArgAction, ArgMatches};
use progress::Progress;
use serde_json::json;

pub const COMMAND: Command = Command {
    name: "run",
    about: "Drive a workflow without a person; pause when one is needed",
    examples: &[
        ("aops-hook run 'add a --quiet flag'", "the build loop: hydrate, policy, design, build, review, steward"),
        ("aops-hook run 'new service' --project-type webapp", "the phases of a project of that type"),
        ("aops-hook run 'fix it' --workflow debugging --dry-run", "only show the steps"),
        (
            "aops-hook run 'tidy up' --budget-usd 2.50 --step-timeout 20m",
            "pause when the budget or the time is used up",
        ),
        ("aops-hook run --queue tasks.txt", "one task per line, one after another"),
        ("aops-hook run --from-tracker ready", "the tracker's ready items"),
    ],
    who: Who::OutsideClient,
    arguments,
    run,
};

const STEP_TIMEOUT: &str = "30m";

fn arguments(row: clap::Command) -> clap::Command {
    let tasks = ["task", "queue", "from-tracker"];
    let dry_run = Arg::new("dry-run").long("dry-run").action(ArgAction::SetTrue);
    row.arg(Arg::new("task").value_name("TASK").help("What to do"))
        .arg(option("workflow", "ID").help("The workflow to drive; default: `build-loop`"))
        .arg(option("project-type", "NAME").help("A variant of the workflow; default workflow: `project`"))
        .arg(dry_run.help("Show the steps and do nothing"))
        .args(limit_arguments())
        .arg(option("queue", "FILE").help("Tasks from a file, one per line; `-` for stdin"))
        .arg(option("from-tracker", "LIST").value_parser(["ready"]).help("Tasks from the tracker"))
        .group(clap::ArgGroup::new("tasks").args(tasks).required(true))
}

fn option(name: &'static str, value: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value)
}

/// What a run may use; also for `resume`.
pub(super) fn limit_arguments() -> [Arg; 2] {
    [
        option("step-timeout", "TIME").help("Longest time of one step: 90s, 20m, 1h; default: 30m"),
        option("budget-usd", "DOLLARS").help("What the run may cost; it pauses when that is used up"),
    ]
}

pub(super) fn limits(given: &ArgMatches) -> anyhow::Result<ResumeLimits> {
    let text = |name: &str| given.get_one::<String>(name).map(String::as_str);
    let budget = text("budget-usd").map(|text| match text.parse::<f64>() {
        Ok(dollars) if dollars > 0.0 && dollars.is_finite() => Ok(micros(dollars)),
        _ => refused(format!("`{text}` is not an amount of dollars\nhint: write 2.50")),
    });
    let timeout = text("step-timeout").map(milliseconds);
    Ok(ResumeLimits { budget: budget.transpose()?, step_timeout_ms: timeout.transpose()? })
}

fn milliseconds(text: &str) -> anyhow::Result<u64> {
    duration(text).map(i64::unsigned_abs).or_else(refused)
}

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let word = |name: &str| given.get_one::<String>(name).cloned();
    let project_type = word("project-type");
    let usual = if project_type.is_some() { "project" } else { "build-loop" };
    let ResumeLimits { budget, step_timeout_ms } = limits(given)?;
    let request = RunRequest {
        task: String::new(),
        workflow: word("workflow").unwrap_or_else(|| usual.to_owned()),
        project_type,
        budget,
        step_timeout_ms: step_timeout_ms.map_or_else(|| milliseconds(STEP_TIMEOUT), Ok)?,
    };
    if given.get_flag("dry-run") {
        return show(io, &request);
    }
    let tasks = match (word("task"), word("queue")) {
        (Some(task), _) => vec![task],
        (_, Some(file)) => queue::from_file(io.env, &file)?,
        _ => queue::from_tracker(io.env)?,
    };
    signal::note_interrupts();
    run_all(io, &request, tasks, given.contains_id("from-tracker"))
}

/// Runs one task after another; the worst exit code.
fn run_all(io: &mut Io, request: &RunRequest, tasks: Vec<String>, tracked: bool) -> anyhow::Result<u8> {
    let mut worst = 0;
    for (n, task) in tasks.into_iter().enumerate() {
        if tracked && n > 0 && !queue::is_still_ready(io.env, &task)? {
            Progress::new(io).skipped(&task);
            continue;
        }
        let request = RunRequest { task: task.trim().to_owned(), ..request.clone() };
        let ended = drive(io, |env, reporter| match request.task.as_str() {
            "" => refused("a run needs a task\nhint: say what to do"),
            _ => driver::run(env, reporter, &request),
        })?;
        worst = worst.max(ended.outcome.exit());
        let goes_on = in_force::load(io.env, &io.env.cwd)?.policy.run.on_pause == OnPause::Continue;
        if signal::interrupted() || (ended.outcome != RunOutcome::Pass && !goes_on) {
            break;
        }
    }
    Ok(worst)
}

/// Runs a driver and prints how it ended as the last line.
pub(super) fn drive(
    io: &mut Io,
    drive: impl FnOnce(&Env, &mut dyn Reporter) -> anyhow::Result<Finish>,
) -> anyhow::Result<Finish> {
    let env = io.env;
    let mut progress = Progress::new(io);
    let ended = drive(env, &mut progress);
    match &ended {
        Ok(finish) => progress.finished(finish),
        Err(error) => progress.failed(exit_code(error), &format!("{error:#}")),
    }
    ended
}

fn show(io: &mut Io, request: &RunRequest) -> anyhow::Result<u8> {
    let project = texts::project(io.env, &io.env.cwd);
    let (workflow, steps, in_force) =
        plan_workflow(io.env, &project, &request.workflow, request.project_type.as_deref())?;
    if io.json {
        let plan = json!({"workflow": workflow.id, "policy_hash": in_force.hash, "steps": steps});
        writeln!(io.out, "{plan}")?;
        return Ok(0);
    }
    let mut table = Table::new(&["step", "phase", "sandbox", "by", "what"]);
    for step in &steps {
        let word = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let (phase, sandbox) = (word(json!(step.phase)), word(json!(step.sandbox)));
        table.row([step.id.clone(), phase, sandbox, step.by(), step.description.clone()].map(Cell::from));
    }
    table.print(io)?;
    Ok(0)
}
