//! Walks a workflow's steps without a person: `run`.
//!
//! Starts the client and commands, writes below `artifacts/`. Invariants: a repository that is not clean is left as it is,
//! with no artifact; what is printed last says how it ended and what to do next.

pub(super) mod judged;
mod before;
pub(super) mod driver;
pub(super) mod progress;
mod notice;
mod pausing;
mod prompt;
mod queue;
mod stage;
mod step;

use super::table::{Cell, Table};
use super::waive::duration;
use super::{Command, Io, Who, exit_code, refused};
use crate::config::in_force;
use crate::config::policy::OnPause;
use crate::config::texts::{self, Library, Origin};
use crate::config::workflow::{Workflow, meant};
use crate::run::client::micros;
use crate::run::plan::{Planned, plan};
use crate::run::status::{Decision, Outcome};
use crate::system::signal;
use clap::{Arg, ArgAction, ArgMatches};
use driver::{Driver, Finish, Wants};
use serde_json::json;
use std::path::Path;

pub const COMMAND: Command = Command {
    name: "run",
    about: "Walk a workflow's steps without a person; pauses when one is needed",
    examples: &[
        (
            "aops-hook run 'add a --quiet flag'",
            "the build loop: hydrate, policy, design, build, review, steward",
        ),
        ("aops-hook run 'new service' --project-type webapp", "the phases of a project of that type"),
        ("aops-hook run 'fix it' --workflow debugging --dry-run", "only show the steps"),
        (
            "aops-hook run 'tidy up' --budget-usd 2.50 --step-timeout 20m",
            "pause when money or time is used up",
        ),
        ("aops-hook run --queue tasks.txt", "one task a line, one after another"),
        ("aops-hook run --from-tracker ready", "what the tracker says can be begun"),
    ],
    who: Who::OutsideClient,
    arguments,
    run,
};

const STEP_TIMEOUT: &str = "30m";

fn arguments(row: clap::Command) -> clap::Command {
    let option = |name: &'static str, value: &'static str| Arg::new(name).long(name).value_name(value);
    let tasks = ["task", "queue", "from-tracker"];
    row.arg(Arg::new("task").value_name("TASK").help("What is to be done"))
        .arg(option("workflow", "ID").help("Which workflow to walk; `build-loop` if nothing is said"))
        .arg(option("project-type", "NAME").help("A variant of the workflow; of `project` if none is named"))
        .arg(dry_run())
        .args(limits())
        .arg(option("queue", "FILE").help("Tasks from a file, one a line; `-` for stdin"))
        .arg(option("from-tracker", "LIST").value_parser(["ready"]).help("Tasks from the tracker"))
        .group(clap::ArgGroup::new("tasks").args(tasks).required(true))
}

fn dry_run() -> Arg {
    Arg::new("dry-run").long("dry-run").action(ArgAction::SetTrue).help("Show the steps and do nothing")
}

/// What a run may use; also for `resume`.
pub(super) fn limits() -> [Arg; 2] {
    let option = |name: &'static str, value: &'static str| Arg::new(name).long(name).value_name(value);
    [
        option("step-timeout", "TIME")
            .help("Longest time of one step: 90s, 20m, 1h (30m if nothing is said)"),
        option("budget-usd", "DOLLARS").help("What the run may cost; it pauses when that is used up"),
    ]
}

pub(super) fn budget(given: &ArgMatches) -> anyhow::Result<Option<u64>> {
    let Some(text) = given.get_one::<String>("budget-usd") else { return Ok(None) };
    match text.parse::<f64>() {
        Ok(dollars) if dollars > 0.0 && dollars.is_finite() => Ok(Some(micros(dollars))),
        _ => refused(format!("`{text}` is no amount of dollars\nhint: write 2.50")),
    }
}

pub(super) fn step_timeout(given: &ArgMatches) -> anyhow::Result<Option<u64>> {
    let text = given.get_one::<String>("step-timeout").map(String::as_str);
    text.map(|text| duration(text).map(i64::unsigned_abs).or_else(refused)).transpose()
}

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let word = |name: &str| given.get_one::<String>(name).cloned();
    let project_type = word("project-type");
    let usual = if project_type.is_some() { "project" } else { "build-loop" };
    let usual_timeout = || duration(STEP_TIMEOUT).map(i64::unsigned_abs).or_else(refused);
    let wants = Wants {
        task: String::new(),
        workflow: word("workflow").unwrap_or_else(|| usual.to_owned()),
        project_type,
        budget: budget(given)?,
        step_timeout_ms: step_timeout(given)?.map_or_else(usual_timeout, Ok)?,
    };
    if given.get_flag("dry-run") {
        return show(io, &wants);
    }
    let tasks = match (word("task"), word("queue")) {
        (Some(task), _) => vec![task],
        (_, Some(file)) => queue::from_file(io, &file)?,
        _ => queue::from_tracker(io)?,
    };
    signal::note_interrupts();
    let tracked = given.contains_id("from-tracker");
    let mut worst = 0;
    for (n, task) in tasks.into_iter().enumerate() {
        if tracked && n > 0 && !queue::is_still_ready(io, &task)? {
            progress::line(io, &json!({"event": "passed over", "task": task}));
            progress::words(io, &format!("passed over, since it is no longer ready: {task}"));
            continue;
        }
        let ended = concluded(io, |io| {
            let task = Some(task.trim()).filter(|task| !task.is_empty());
            let Some(task) = task else { return refused("a run needs a task\nhint: say what is to be done") };
            Driver::begin(io, &Wants { task: task.to_owned(), ..wants.clone() })?.walk(io)
        })?;
        worst = worst.max(ended.outcome.exit());
        let goes_on = in_force::load(io.env, &io.env.cwd)?.policy.run.on_pause == OnPause::Continue;
        if signal::interrupted() || (ended.outcome != Outcome::Pass && !goes_on) {
            break;
        }
    }
    Ok(worst)
}

/// Whatever a driver came to, as the last thing that is said.
pub(super) fn concluded(
    io: &mut Io,
    drive: impl FnOnce(&mut Io) -> anyhow::Result<Finish>,
) -> anyhow::Result<Finish> {
    let ended = drive(io);
    match &ended {
        Ok(finish) => progress::conclude(io, finish),
        Err(error) => {
            let (exit, reason) = (exit_code(error), format!("{error:#}"));
            let nothing = serde_json::Value::Null;
            let said = json!({"run_id": nothing, "outcome": nothing, "reason": reason, "exit": exit, "packet": nothing});
            progress::line(io, &said);
        }
    }
    ended
}

/// The steps of this workflow as a run would walk them.
pub(super) fn planned(
    env: &crate::system::env::Env,
    project: &Path,
    wants: &Wants,
) -> anyhow::Result<(Workflow, Vec<Planned>, in_force::InForce)> {
    let in_force = in_force::load(env, project)?;
    let library = Library::of(env, &in_force.texts);
    let id = &wants.workflow;
    let Some(whole) = library.workflow(id) else {
        let near = meant(id, library.catalogue.ids());
        return refused(format!(
            "there is no workflow `{id}`{near}\nhint: `aops-hook workflow list` shows what there is"
        ));
    };
    if let Some(problem) = library.problems.first() {
        return refused(format!("{problem}\nhint: repair it, then run `aops-hook workflow check`"));
    }
    let workflow = match &wants.project_type {
        None => whole.clone(),
        Some(name) => {
            let known: Vec<_> = whole.variants.iter().map(|variant| variant.name.as_str()).collect();
            let near = meant(name, known.iter().copied());
            match whole.variant(name) {
                Some(workflow) => workflow,
                None if known.is_empty() => {
                    return refused(format!(
                        "`{id}` has no project types\nhint: `--workflow project` has some"
                    ));
                }
                None => {
                    let known = known.join(", ");
                    return refused(format!(
                        "`{id}` has no project type `{name}`{near}\nhint: there are {known}"
                    ));
                }
            }
        }
    };
    let owed = match library.origins.get(id) {
        Some(Origin::Embedded) => workflow.gates.clone(),
        _ => library.catalogue.get(id).map(|held| held.owed.clone()).unwrap_or_default(),
    };
    let steps = plan(&workflow, &owed, &in_force.policy.gates).or_else(refused)?;
    Ok((workflow, steps, in_force))
}

fn show(io: &mut Io, wants: &Wants) -> anyhow::Result<u8> {
    let project = texts::project(io.env, &io.env.cwd);
    let (workflow, steps, in_force) = planned(io.env, &project, wants)?;
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

/// What a person must do about a pause, on one line.
pub(super) fn next_step(checkpoint_id: &str, wants_decision: bool, decided: Option<Decision>) -> String {
    match decided {
        None if wants_decision => format!(
            "decide with `aops-hook resolve {checkpoint_id} --approve` or `--reject`, then `aops-hook resume {checkpoint_id}`"
        ),
        _ => format!("go on with `aops-hook resume {checkpoint_id}`"),
    }
}
