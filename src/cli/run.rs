//! `run` drives a workflow's steps without a person; `resume` continues a run that paused or whose driver
//! died.
//!
//! Parses arguments and prints: one line that is redrawn on a terminal, JSON lines everywhere else;
//! `crate::run` does the work. Invariants: a failed write does not change the run; the last line says how it
//! ended and what to do next.

use super::control::duration;
use super::table::{Cell, Tone, clean};
use super::{Command, Io, complain, exit_code, flag, operand, option, refused, text};
use crate::run::attempt::RunOutcome;
use crate::run::client::{DRIVEN, micros, usd};
use crate::run::driver::{self, Finish, Reporter, ResumeLimits, RunRequest, StepProgress, plan_workflow};
use crate::run::plan::PlannedStep;
use crate::run::queue;
use crate::run::state::RunState;
use aops_core::config::policy::OnPause;
use aops_core::config::{in_force, texts};
use aops_core::model::client::Client;
use aops_core::system::env::Env;
use aops_core::system::signal;
use aops_core::text::plain::count;
use clap::{Arg, ArgAction, ArgGroup, ArgMatches};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

pub const RUN: Command = Command {
    name: "run",
    about: "Drive a workflow without a person; pause when one is needed",
    examples: &[
        (
            "aops-hook run 'add a --quiet flag'",
            "the build loop: hydrate, policy, design, build, review, steward",
        ),
        ("aops-hook run 'new service' --project-type webapp", "the phases of a project of that type"),
        ("aops-hook run 'fix it' --workflow debugging --dry-run", "only show the steps"),
        ("aops-hook run 'add a --quiet flag' --client codex", "Codex does the steps"),
        (
            "aops-hook run 'tidy up' --budget-usd 2.50 --step-timeout 20m",
            "pause when the budget or the time is used up",
        ),
        (
            "aops-hook run 'build it' --context docs/spec.md --context docs/api.md",
            "with files that belong to the task",
        ),
        ("aops-hook run --queue tasks.txt", "one task per line, one after another"),
        ("aops-hook run --queue tasks.txt --dry-run", "only show the tasks and the steps"),
        ("aops-hook run --from-tracker ready", "the tracker's ready items"),
        (
            "aops-hook run 'fix it' --idempotency-key job-17 --heartbeat 10s",
            "for a durable engine: the run is done once, however often you call it",
        ),
        ("aops-hook run 'tidy up' --on fleet --label linux", "on a machine of the engine; waits for its end"),
    ],
    arguments: |row| {
        let from_tracker = option("from-tracker", "LIST", "Tasks from the tracker").value_parser(["ready"]);
        row.arg(operand("task", "TASK", "What to do"))
            .arg(option("workflow", "ID", "The workflow to drive; default: `build-loop`"))
            .arg(option("project-type", "NAME", "A variant of the workflow; default workflow: `project`"))
            .arg(
                option("context", "FILE", "A file that belongs to the task; may be given again")
                    .action(ArgAction::Append),
            )
            .arg(
                option("client", "NAME", "The client that does the steps; default: claude")
                    .value_parser(DRIVEN.map(Client::name)),
            )
            .arg(option("model", "NAME", "The model of every step that names none"))
            .arg(flag("dry-run", "Show the steps and do nothing"))
            .arg(
                option(
                    "idempotency-key",
                    "KEY",
                    "One run for this key: it is started, continued, or its result is printed again",
                )
                .conflicts_with_all(["queue", "from-tracker"]),
            )
            .arg(option(
                "heartbeat",
                "TIME",
                "A line for programs at least this often while a step runs: 10s",
            ))
            .args(limit_options())
            .args(fleet_options())
            .arg(option("queue", "FILE", "Tasks from a file, one per line; `-` for stdin"))
            .arg(from_tracker)
            .group(ArgGroup::new("tasks").args(["task", "queue", "from-tracker"]).required(true))
    },
    run,
};

pub const RESUME: Command = Command {
    name: "resume",
    about: "Continue a run that paused (needs a person)",
    examples: &[
        ("aops-hook resume CP_20260113-1f3a9c02_build", "with the call that was deferred"),
        ("aops-hook resume 20260113-1f3a9c02", "the same by the run's id"),
        ("aops-hook resume 20260113-1f3a9c02 --budget-usd 5", "with another budget"),
    ],
    arguments: |row| row.arg(run_operand()).args(limit_options()),
    run: resume,
};

const STEP_TIMEOUT: &str = "30m";

fn limit_options() -> [Arg; 2] {
    [
        option("step-timeout", "TIME", "Longest time of one step: 90s, 20m, 1h; default: 30m"),
        option("budget-usd", "DOLLARS", "What the run may cost; it pauses when that is used up"),
    ]
}

/// The options for a run that another machine may take.
fn fleet_options() -> [Arg; 2] {
    let label =
        option("label", "NAME", "Only machines with this label; more with commas between, or given again")
            .action(ArgAction::Append);
    [
        option("on", "WHERE", "Where it runs: `fleet` submits it to the engine of `fleet.engine` and waits")
            .value_parser(["fleet"])
            .conflicts_with_all(["dry-run", "idempotency-key"]),
        label.requires("on"),
    ]
}

/// The operand that names a run; also used by `resolve`.
pub(super) fn run_operand() -> Arg {
    let help = "The packet's id (CP_…), its file, or the run's id; a unique beginning is enough";
    operand("name", "CHECKPOINT", help).required(true)
}

fn limits(given: &ArgMatches) -> anyhow::Result<ResumeLimits> {
    let budget = text(given, "budget-usd").map(|text| match text.parse::<f64>() {
        Ok(dollars) if dollars > 0.0 && dollars.is_finite() => Ok(micros(dollars)),
        _ => refused(format!("`{text}` is not an amount of dollars\nhint: write 2.50")),
    });
    let timeout = text(given, "step-timeout").map(milliseconds);
    Ok(ResumeLimits { budget: budget.transpose()?, step_timeout_ms: timeout.transpose()? })
}

fn milliseconds(text: &str) -> anyhow::Result<u64> {
    duration(text).map(i64::unsigned_abs).or_else(refused)
}

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let word = |name: &str| text(given, name).map(str::to_owned);
    let project_type = word("project-type");
    let usual = if project_type.is_some() { "project" } else { "build-loop" };
    let ResumeLimits { budget, step_timeout_ms } = limits(given)?;
    let request = RunRequest {
        run_id: None,
        task: String::new(),
        client: word("client").filter(|name| name != Client::default().name()).unwrap_or_default(),
        context: given.get_many::<String>("context").into_iter().flatten().cloned().collect(),
        model: word("model"),
        workflow: word("workflow").unwrap_or_else(|| usual.to_owned()),
        project_type,
        budget,
        step_timeout_ms: step_timeout_ms.map_or_else(|| milliseconds(STEP_TIMEOUT), Ok)?,
    };
    let tasks = match (word("task"), word("queue")) {
        (Some(task), _) => vec![task],
        (_, Some(file)) => queue::from_file(io.env, &file)?,
        _ => queue::from_tracker(io.env)?,
    };
    if given.get_flag("dry-run") {
        return show(io, &request, &tasks, !given.contains_id("task"));
    }
    #[cfg(not(feature = "fleet"))]
    if given.contains_id("on") {
        return super::without_fleet::not_built();
    }
    #[cfg(feature = "fleet")]
    if given.contains_id("on") {
        return super::fleet::submit(given, io, &request, &tasks);
    }
    signal::note_interrupts();
    let keyed = Keyed { key: word("idempotency-key"), limits: ResumeLimits { budget, step_timeout_ms } };
    let heartbeat = text(given, "heartbeat").map(milliseconds).transpose()?.map(Duration::from_millis);
    run_all(io, (&request, &keyed), tasks, given.contains_id("from-tracker"), heartbeat)
}

fn resume(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let name = text(given, "name").unwrap_or_default();
    let limits = limits(given)?;
    signal::note_interrupts();
    let ended = drive(io, None, |env, reporter| driver::resume(env, reporter, name, limits))?;
    Ok(ended.outcome.exit())
}

/// The key of the caller, if it has one, and the limits for a run that continues under it.
struct Keyed {
    key: Option<String>,
    limits: ResumeLimits,
}

/// Runs one task after another. Returns the worst exit code.
fn run_all(
    io: &mut Io,
    (request, keyed): (&RunRequest, &Keyed),
    tasks: Vec<String>,
    tracked: bool,
    heartbeat: Option<Duration>,
) -> anyhow::Result<u8> {
    let mut worst = 0;
    for (n, task) in tasks.into_iter().enumerate() {
        if tracked && n > 0 && !queue::is_still_ready(io.env, &task)? {
            Progress::new(io).skipped(&task);
            continue;
        }
        let request = RunRequest { task: task.trim().to_owned(), ..request.clone() };
        let ended = drive(io, heartbeat, |env, reporter| match (request.task.as_str(), &keyed.key) {
            ("", _) => refused("a run needs a task\nhint: say what to do"),
            (_, Some(key)) => driver::run_once(env, reporter, key, &request, keyed.limits),
            (_, None) => driver::run(env, reporter, &request),
        })?;
        worst = worst.max(ended.outcome.exit());
        let goes_on = in_force::load(io.env, &io.env.cwd)?.policy.run.on_pause == OnPause::Continue;
        if signal::interrupted() || (ended.outcome != RunOutcome::Pass && !goes_on) {
            break;
        }
    }
    Ok(worst)
}

/// Runs a driver and prints as the last line how it ended.
fn drive(
    io: &mut Io,
    heartbeat: Option<Duration>,
    drive: impl FnOnce(&Env, &mut dyn Reporter) -> anyhow::Result<Finish>,
) -> anyhow::Result<Finish> {
    let env = io.env;
    let mut progress = Progress { heartbeat, ..Progress::new(io) };
    let ended = drive(env, &mut progress);
    match &ended {
        Ok(finish) => progress.finished(finish),
        Err(error) => progress.failed(exit_code(error), &format!("{error:#}")),
    }
    ended
}

/// Shows the steps and, before them, the tasks of a queue.
fn show(io: &mut Io, request: &RunRequest, tasks: &[String], queued: bool) -> anyhow::Result<u8> {
    let project = texts::project(io.env, &io.env.cwd);
    let (workflow, steps, in_force) =
        plan_workflow(io.env, &project, &request.workflow, request.project_type.as_deref())?;
    if io.json {
        return io.print(
            json!({"workflow": workflow.id, "policy_hash": in_force.hash, "steps": steps, "tasks": tasks}),
        );
    }
    if queued {
        let each = format!("{}, each by these steps of `{}`:", count(tasks.len(), "task"), workflow.id);
        tasks
            .iter()
            .enumerate()
            .try_for_each(|(n, task)| writeln!(io.out, "{:>3}. {}", n + 1, clean(task)))?;
        writeln!(io.out, "{each}")?;
    }
    let client = Client::of(&request.client).unwrap_or_default();
    let word = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let row = |step: &PlannedStep| {
        let phase = word(json!(step.phase));
        let sandbox = word(json!(step.sandbox));
        [step.id.clone(), phase, sandbox, step.by(client), step.description.clone()].map(Cell::from)
    };
    io.table(["step", "phase", "sandbox", "by", "what"], steps.iter().map(row).collect())
}

const REDRAW_EVERY: Duration = Duration::from_millis(250);

pub(super) struct Progress<'a, 'io> {
    io: &'a mut Io<'io>,
    /// The client that the run drives.
    client: Client,
    drawn: Option<Instant>,
    tool: Option<String>,
    /// How often a program wants a sign that a step is still running; `beat` is the last one.
    heartbeat: Option<Duration>,
    beat: Instant,
}

impl<'a, 'io> Progress<'a, 'io> {
    pub(super) fn new(io: &'a mut Io<'io>) -> Self {
        Self { io, client: Client::default(), drawn: None, tool: None, heartbeat: None, beat: Instant::now() }
    }

    /// Whether output is for a person: on a terminal, without `--json`.
    fn is_live(&self) -> bool {
        self.io.terminal && !self.io.json
    }

    /// Prints a sign of life for programs, if one is due.
    fn beat(&mut self, step: Option<&str>) {
        if self.heartbeat.is_some_and(|every| self.beat.elapsed() >= every) {
            self.line(&json!({"event": "heartbeat", "step": step}));
            self.beat = Instant::now();
        }
    }

    /// Prints one line for programs.
    fn line(&mut self, event: &Value) {
        if !self.is_live() {
            let _ = writeln!(self.io.out, "{event}").and_then(|()| self.io.out.flush());
        }
    }

    /// Replaces the live line with this text.
    fn draw(&mut self, text: &str, end: &str) {
        if self.is_live() && !(self.io.env.user.is_dumb && end.is_empty()) {
            let clear = if self.io.env.user.is_dumb { "" } else { "\r\x1b[K" };
            let _ = write!(self.io.out, "{clear}{text}{end}").and_then(|()| self.io.out.flush());
        }
    }

    fn skipped(&mut self, task: &str) {
        self.line(&json!({"event": "passed over", "task": task}));
        self.note(&format!("skipped, because it is no longer ready: {task}"));
    }

    fn finished(&mut self, finish: &Finish) {
        let Finish { run_id, outcome, reason, packet, hint, delivered, resumed } = finish;
        let name = outcome.name();
        let exit = outcome.exit();
        self.line(&json!({
            "run_id": run_id, "outcome": name, "reason": reason, "exit": exit, "packet": packet,
            "delivered": delivered, "resumed": resumed
        }));
        let next = hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        let words = clean(&format!("{name}: {reason}{next}")).into_owned();
        self.note(&words);
        if !self.is_live() && *outcome != RunOutcome::Pass {
            // Stdout is for programs here, so the person gets the message on stderr.
            complain(&format!("run {run_id} {words}"), exit);
        }
    }

    fn failed(&mut self, exit: u8, reason: &str) {
        self.line(&json!({"run_id": null, "outcome": null, "reason": reason, "exit": exit, "packet": null}));
    }
}

impl Reporter for Progress<'_, '_> {
    fn run_began(&mut self, run: &RunState) {
        let RunState { run_id, init, .. } = run;
        self.client = init.client();
        let left: Vec<&String> = init.steps.iter().filter(|step| !run.has_passed(step)).collect();
        self.line(&json!({
            "event": "run", "run_id": run_id, "workflow": init.workflow, "session_id": init.session_id,
            "steps": left
        }));
        self.note(&format!("run {run_id}: {} of `{}`", count(left.len(), "step"), init.workflow));
    }

    fn step_began(&mut self, step: &PlannedStep, index: usize) {
        self.line(&json!({"event": "step", "step": step.id, "index": index, "by": step.by(self.client)}));
    }

    fn waits(&mut self) {
        self.beat(None);
    }

    fn step_runs(&mut self, now: &StepProgress) {
        self.beat(Some(now.step));
        if self.tool.as_deref() != now.tool {
            self.tool = now.tool.map(str::to_owned);
            self.line(&json!({"event": "tool", "step": now.step, "tool": now.tool, "tokens": now.tokens}));
        }
        if self.drawn.is_some_and(|at| at.elapsed() < REDRAW_EVERY) {
            return;
        }
        self.drawn = Some(Instant::now());
        let minutes = now.elapsed.as_secs() / 60;
        let seconds = now.elapsed.as_secs() % 60;
        let step = now.step;
        let tokens = now.tokens;
        let tool = now.tool.unwrap_or_default();
        let place = format!("{}/{} {step}", now.index + 1, now.count);
        let text = format!("{place}  {minutes}:{seconds:02}  {tokens} tokens  {}  {tool}", dollars(now.cost));
        let width = self.io.width.unwrap_or(80).saturating_sub(1);
        let text: String = clean(&text).chars().take(width).collect();
        self.draw(&text, "");
    }

    fn step_ended(&mut self, step: &str, outcome: RunOutcome, duration_ms: u64, cost: u64) {
        let name = outcome.name();
        let cost = usd(cost);
        self.line(&json!({
            "event": "step", "step": step, "outcome": name, "duration_ms": duration_ms, "cost_usd": cost
        }));
        let tone = if outcome == RunOutcome::Pass { Tone::Good } else { Tone::Warn };
        let word = tone.paint(name, self.io);
        self.draw(&format!("{word}  {step}  {} s", duration_ms / 1000), "\n");
    }

    fn thrown_away(&mut self, step: &str, words: &str) {
        self.line(&json!({"event": "thrown away", "step": step, "words": words}));
        self.note(&format!("step `{step}`: {words}"));
    }

    fn note(&mut self, line: &str) {
        self.draw(&clean(line), "\n");
    }

    fn told(&mut self, words: &str) {
        self.line(&json!({"event": "told", "words": words}));
        self.note(words);
    }
}

pub(super) fn dollars(micros: u64) -> String {
    format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000)
}
