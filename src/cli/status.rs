//! The state of a session: `status` on one screen, `statusline` in one line for Claude Code.
//!
//! Reads one session and, if the project's folder is known, its working tree; writes nothing. Invariants: a
//! row with nothing to say is left out, and so is an expired waiver; `shut` is said only if changes are
//! really blocked; `statusline` prints no error and always exits with 0, since the client shows its output in
//! the prompt, and for an unknown state it prints nothing.

mod agents;
mod bundled;
mod kept;
mod parked;
mod questions;
mod shut;
mod unfinished;
mod waived;

use agents::describe_agents;
use bundled::describe_bundle;
use kept::describe_kept;
pub(super) use parked::describe_changed;
use parked::{describe_parked, find_parked};
use questions::{describe_questions, describe_quiet};
use shut::is_shut;
pub use shut::{sandbox, waits_for};
use unfinished::{describe_left, describe_tasks, is_between};
use waived::{describe_waivers, waivers};

use super::table::{NamedFact, Tone, clean};
use super::{Command, Io, session, session_arguments};
use aops_core::config::bundle;
use aops_core::config::policy::jail::JailLevel;
use aops_core::config::policy::{Level, ModeLevel};
use aops_core::gate::{Context, owed};
use aops_core::jail::network;
use aops_core::ledger::session_folder::{SessionKey, dashed};
use aops_core::ledger::sessions::{self, SessionOnDisk};
use aops_core::ledger::written;
use aops_core::model::debt::DebtId;
use aops_core::model::error::{Code, Failure};
use aops_core::model::named::join_names;
use aops_core::model::phase::{Phase, Sandbox};
use aops_core::model::profile::Hold;
use aops_core::model::worktree::Worktree;
use aops_core::proof::health::{Health, log_damage};
use aops_core::session::fold::Session;
use aops_core::session::memory::{AtWork, Waiver};
use aops_core::session::state::State;
use aops_core::system::env::{Env, east_of_utc};
use aops_core::text::json::{self, Json};
use aops_core::text::plain::count;
use aops_core::text::template::one_line;
use aops_core::text::time;
use clap::ArgMatches;
use serde_json::{Value, json};
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

pub const STATUS: Command = Command {
    name: "status",
    about: "Show the state of a session: phase, sandbox, what is owed, audit, block, waivers",
    examples: &[
        ("aops-hook status", "the newest session of this project"),
        ("aops-hook status 3f2a --json", "the session whose id begins with 3f2a, for a program"),
    ],
    arguments: |row| row.args(session_arguments()),
    run: show_status,
};

pub const STATUS_LINE: Command = Command {
    name: "statusline",
    about: "Show the state of a session in one line, for Claude Code's status line",
    examples: &[
        (
            "aops-hook statusline < status.json",
            "what the client shows when its settings have `\"statusLine\": {\"type\": \"command\", \
            \"command\": \"aops-hook statusline\"}`",
        ),
        ("aops-hook statusline --json < status.json", "the same for a status line of your own"),
    ],
    arguments: |row| row,
    run: show_status_line,
};

fn show_status(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let shelved = session(given, io)?;
    let session = match sessions::session(&shelved) {
        Some(session) => session,
        None => rebuild(io, &shelved)?,
    };
    let project = folder(io.env, &shelved, &session);
    let owed = owed(io.env, &session, project.as_deref().map(|project| (project, &shelved)));
    let damage = Health::new(io.env, u64::MAX).damage(&shelved);
    let parked = find_parked(io.env, project.as_deref(), &session);
    if io.json {
        let mut value = to_json(io.env, &session, &owed);
        value["parked"] =
            parked.iter().map(|(files, about)| json!({"intent": about, "files": files})).collect();
        value["damage"] = json!(damage);
        value["network"] = json!(network::describe(&session, &shelved.path));
        value["bundle"] =
            bundle::installed(io.env).ok().flatten().map_or(Value::Null, |(bundle, _)| bundle.identity());
        return io.print(value);
    }
    let mut rows = vec![("session", session.state.session_id.clone(), Tone::Plain)];
    rows.extend(
        damage.map(|damage| ("damaged", format!("{damage}  (`aops-hook verify` says more)"), Tone::Bad)),
    );
    rows.extend(describe_bundle(io.env));
    rows.extend(log_damage(io.env).map(|damage| ("log", format!("damaged: {damage}"), Tone::Bad)));
    rows.extend(course(&session, io.env.now_ms));
    rows.extend(network::describe(&session, &shelved.path).map(|words| ("network", words, Tone::Plain)));
    rows.extend(halt(&session, &shelved));
    // Shown only to people: in a tool call the model would read this.
    rows.extend(way_out(&session, io.env.now_ms).filter(|_| !io.env.client.is_around));
    rows.extend(describe_questions(&session, io.env.now_ms));
    rows.extend(describe_kept(&session, project.as_deref()));
    rows.extend(demands(&session, &owed, io.env.now_ms));
    rows.extend(parked.iter().map(|(files, about)| ("parked:", describe_parked(*files, about), Tone::Plain)));
    rows.extend(describe_waivers(io, &session));
    rows.push(describe_agents(&session));
    rows.extend(times(io, &session.state));
    rows.push(("folder", shelved.path.display().to_string(), Tone::Quiet));
    io.facts(rows)
}

/// The state file is derived: without it, the ledger says the same.
fn rebuild(io: &Io, shelved: &SessionOnDisk) -> Result<Session, Failure> {
    let checked = sessions::check(io.env, shelved)?;
    let empty = checked.session.is_new().then(|| Failure::new(Code::RecoveryFailed, "the ledger is empty"));
    checked.failure.or(empty).map_or(Ok(checked.session), Err)
}

/// The phase of the loop, and the task.
fn course(session: &Session, now_ms: i64) -> Vec<NamedFact> {
    let state = &session.state;
    let mut rows = Vec::new();
    rows.extend(session.blocked().map(|reason| ("blocked", one_line(reason, 2000), Tone::Bad)));
    rows.push(("mode", describe_mode(session), Tone::Plain));
    rows.push(("phase", state.phase.name().to_owned(), Tone::Strong));
    let (words, tone) = match (session.policy().gates.sandbox, sandbox(session, now_ms)) {
        _ if session.blocked().is_some() => ("shut: nothing passes until the block is lifted", Tone::Plain),
        (Level::Off, _) => ("off: changes pass", Tone::Plain),
        (Level::Warn, _) => ("warns: changes pass, and what would be refused is shown", Tone::Plain),
        (_, Sandbox::Open) => ("open", Tone::Good),
        (_, Sandbox::Shut) => ("shut: reading is free, changes wait for the loop", Tone::Plain),
    };
    rows.push(("sandbox", words.to_owned(), tone));
    rows.push(("jail", describe_jail(session), Tone::Plain));
    rows.extend(describe_tasks(session));
    if let Some(workflow) = state.state.current_workflow.as_ref().filter(|_| !is_between(session)) {
        let gates = &session.memory.progress.plan.gates;
        let gates = if gates.is_empty() { String::new() } else { format!(" (wants {})", join_names(gates)) };
        rows.push(("workflow", format!("{workflow}{gates}"), Tone::Plain));
    }
    rows
}

/// What confines shell commands.
fn describe_jail(session: &Session) -> String {
    let Some(jail) = &session.memory.client.jail else {
        return match session.policy().jail.level {
            JailLevel::Off => "off: shell commands are judged only by their text",
            JailLevel::Auto => {
                "none: the client does not start commands through us, so they are judged only by their text"
            }
            JailLevel::Require => {
                "none: the client does not start commands through us, and the jail is required: no command \
                may run"
            }
        }
        .to_owned();
    };
    let why = if jail.why.is_empty() { String::new() } else { format!(" ({})", one_line(&jail.why, 160)) };
    match (jail.hold, jail.trial) {
        (Hold::Namespaces, _) if session.policy().gates.sandbox != Level::Enforce => {
            "namespaces: no command can change what guards the session".to_owned()
        }
        (Hold::Namespaces, true) => "namespaces: unknown commands run in a throwaway layer".to_owned(),
        (Hold::Namespaces, false) => format!("namespaces, without throwaway layers{why}"),
        (Hold::Seatbelt, _) => format!("the sandbox of macOS, untested, without throwaway layers{why}"),
        (Hold::Landlock, _) => format!("Landlock, without throwaway layers{why}"),
        (Hold::Words, _) => format!("none: shell commands are judged only by their text{why}"),
    }
}

/// For a halted session: where it says why, and how it can continue.
fn halt(session: &Session, shelved: &SessionOnDisk) -> Vec<NamedFact> {
    let report = Some(shelved.path.join("halt-report.md")).filter(|path| path.is_file());
    let words = match (session.blocked(), session.state.phase) {
        (Some(_), _) => format!("look at it, then run `aops-hook clear-block {}`", session.state.session_id),
        (None, Phase::Halted) => "your next prompt begins anew".to_owned(),
        _ => return Vec::new(),
    };
    let problems = &session.memory.progress.plan.problems;
    let why = Some(problems.join("; ")).filter(|why| !why.is_empty() && session.blocked().is_none());
    let why = why.map(|why| ("halted", one_line(&why, 600), Tone::Bad));
    let report = report.map(|path| ("report", path.display().to_string(), Tone::Plain));
    why.into_iter().chain(report).chain([("way out", words, Tone::Warn)]).collect()
}

/// How a person can continue without the loop, if it is holding something up.
fn way_out(session: &Session, now_ms: i64) -> Option<NamedFact> {
    let words =
        "start a prompt with `.` to skip the loop for that task; change the default with `aops-hook mode`";
    let shut = is_shut(session, now_ms) && session.state.phase != Phase::Halted;
    shut.then(|| ("way out", words.to_owned(), Tone::Quiet))
}

/// The mode with its meaning.
fn describe_mode(session: &Session) -> String {
    let mode = &session.policy().mode;
    let means = match mode.level() {
        ModeLevel::Observe => {
            format!(
                "blocks only changes to aops-hook itself; what `{}` would block is recorded",
                mode.rehearse.name()
            )
        }
        ModeLevel::Guard => "dangerous commands, rules and checks; no loop".to_owned(),
        ModeLevel::Loop => "small tasks are free; a larger task needs a plan".to_owned(),
        ModeLevel::Strict => "every prompt goes through the whole loop".to_owned(),
    };
    let chosen = session.memory.configured.mode.as_ref().is_some_and(|asked| asked.level.is_some());
    let by = if chosen { " (by `AOPS_MODE`)" } else { "" };
    format!("{}{by}: {means}", mode.level().name())
}

/// Our agents that the turn waits for.
fn describe_at_work(session: &Session, now_ms: i64) -> Option<NamedFact> {
    let waited = |agent: &&AtWork| agent.agent_id.as_ref().is_none_or(|id| !session.is_left_behind(id));
    let words = |agent: &AtWork| {
        let since = time::parse(&agent.since).map(|since| format!(" since {}", time::age(now_ms - since)));
        format!("`{}`{}", agent.name, since.unwrap_or_default())
    };
    let agents: Vec<String> = session.memory.agents.at_work.iter().filter(waited).map(words).collect();
    (!agents.is_empty()).then(|| ("at work", format!("waits for {}", agents.join(", ")), Tone::Plain))
}

/// What the loop requires next.
fn demands(session: &Session, owed: &[&str], now_ms: i64) -> Vec<NamedFact> {
    let state = &session.state;
    let mut rows = vec![("waits for", waits_for(session, now_ms).to_owned(), Tone::Warn)];
    rows.extend(describe_at_work(session, now_ms));
    if owed.is_empty() {
        rows.push(("owed", "nothing".to_owned(), Tone::Plain));
    } else {
        let refused = match state.stop.refusals {
            0 => String::new(),
            1 => " (stop refused once)".to_owned(),
            n => format!(" (stop refused {n} times)"),
        };
        rows.push(("owed", format!("{}{refused}", owed.join(", ")), Tone::Warn));
    }
    let audit = &state.audit;
    if session.policy().gates.audit == Level::Off && audit.drawn == 0 {
        return rows;
    }
    let counts = format!("{} drawn, {} done", audit.drawn, audit.done);
    let (words, tone) = match (audit.due, session.memory.progress.audit.under_way) {
        (true, true) => (format!("under way; {counts}"), Tone::Plain),
        (true, false) => (
            format!("due since {}: start `custodiet`; {counts}", count(audit.writes_since, "change")),
            Tone::Warn,
        ),
        (false, _) => (counts, Tone::Plain),
    };
    rows.push(("audit", words, tone));
    rows
}

fn times(io: &Io, state: &State) -> Vec<NamedFact> {
    let moment = |ts: &str| {
        let ms = time::parse(ts).unwrap_or_default();
        format!("{} ({} ago)", time::local_stamp(ms, east_of_utc(ms)), time::age(io.env.now_ms - ms))
    };
    let todos = &state.main_agent;
    let mut rows = Vec::new();
    if todos.todos_total > 0 {
        let words = format!("{} of {}", todos.todos_completed, todos.todos_total);
        rows.push(("todos", words, Tone::Plain));
    }
    rows.push(("began", moment(&state.started_at), Tone::Plain));
    rows.extend(state.ended_at.as_ref().map(|ended| ("ended", moment(ended), Tone::Plain)));
    rows
}

/// More than the client ever sends.
const LARGEST_INPUT: u64 = 1 << 20;

fn show_status_line(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let mut input = String::new();
    let session = if std::io::stdin().is_terminal() {
        // When typed by hand, there is no input from a client.
        let newest = sessions::pick(io.env, None).ok().and_then(|found| sessions::session(&found));
        if newest.is_none() {
            return io.print(
                "no session in this project yet; Claude Code shows this line when `aops-hook \
                install --statusline` set it",
            );
        }
        newest
    } else {
        let read = std::io::stdin().lock().take(LARGEST_INPUT).read_to_string(&mut input);
        read.ok().and_then(|_| find_asked(io.env, &input))
    };
    let Some(session) = session else { return Ok(0) };
    // The working tree is not read: the client asks several times a second, and a tree can be large.
    let owed = owed(io.env, &session, None);
    io.answer(&to_json(io.env, &session, &owed), clean(&line(io.env, &session, &owed)))
}

/// The session the client asks about.
fn find_asked(env: &Env, input: &str) -> Option<Session> {
    let json = json::read(input).ok()?;
    let session_id = json.text_of("session_id").filter(|id| !id.is_empty())?;
    let transcript = json.text_of("transcript_path").unwrap_or_default();
    let workspace = json.get("workspace");
    let folder = |name: &str| workspace.and_then(|at: &Json| at.text_of(name));
    // The folder a session began in names its project; its present folder may be another.
    let folders = [folder("project_dir"), json.text_of("cwd"), folder("current_dir"), Some(String::new())];
    let key = |cwd: &String| {
        SessionKey { session_id: &session_id, transcript_path: &transcript, cwd }.projects(env)
    };
    sessions::find_near(env, &session_id, folders.iter().flatten().flat_map(key).collect())
}

fn line(env: &Env, session: &Session, owed: &[&str]) -> String {
    if let Some(reason) = session.blocked() {
        return format!("aops: blocked: {} · clear it with `aops-hook clear-block`", one_line(reason, 80));
    }
    let state = &session.state;
    let policy = session.policy();
    let mut parts = Vec::new();
    if policy.mode.level() >= ModeLevel::Loop || policy.gates.sandbox != Level::Off {
        parts.push(state.phase.name().to_owned());
    }
    match policy.gates.sandbox {
        Level::Off => {}
        Level::Warn => parts.push("sandbox warns".to_owned()),
        Level::Enforce if is_shut(session, env.now_ms) => {
            parts.push("sandbox shut (start a prompt with `.` to skip it)".to_owned());
        }
        Level::Enforce => parts.push(format!("sandbox {}", sandbox(session, env.now_ms).name())),
    }
    parts.push(format!("mode {}", policy.mode.level().name()));
    if !owed.is_empty() {
        parts.push(format!("owes {}", owed.join(", ")));
    }
    parts.extend(describe_left(session).into_iter().chain(describe_quiet(session)));
    match (state.audit.due, session.memory.progress.audit.under_way) {
        (true, true) => parts.push("audit under way".to_owned()),
        (true, false) => parts.push("audit due".to_owned()),
        _ => {}
    }
    let by_person = waivers(env, session);
    let mut waived: Vec<String> =
        by_person.iter().map(|w| format!("{} {}", w.gate, time::age(w.until_ms - env.now_ms))).collect();
    if state.task.as_ref().is_some_and(|task| task.waiver.is_some()) && !state.state.hydration_pending {
        waived.insert(0, "loop".to_owned());
    }
    if !waived.is_empty() {
        parts.push(format!("waived {}", waived.join(", ")));
    }
    format!("aops: {}", parts.join(" · "))
}

/// The session's working directory: the current one or a parent of it, if it belongs to that project;
/// otherwise the recorded root of the project, if it still exists.
pub fn folder(env: &Env, shelved: &SessionOnDisk, session: &Session) -> Option<PathBuf> {
    let name = shelved.path.parent()?.file_name()?.to_str()?;
    let here = env.cwd.ancestors().find(|folder| dashed(&folder.to_string_lossy()) == name);
    let root = Path::new(&session.memory.place.root);
    here.or(Some(root).filter(|root| root.is_absolute() && root.is_dir())).map(Path::to_path_buf)
}

/// What the task owes now. Without a folder to look at, commit and push are as the last Stop found them.
pub(super) fn owed(env: &Env, session: &Session, tree: Option<(&Path, &SessionOnDisk)>) -> Vec<&'static str> {
    let wrote = session.state.task.as_ref().is_some_and(|task| task.writes > 0);
    let tree =
        tree.filter(|_| wrote).and_then(|(folder, found)| written::owed_on_disk(env, found, session, folder));
    let last = |id: DebtId| session.state.stop.owed.contains(&id.into());
    let tree = tree.unwrap_or_else(|| Worktree {
        behind: u64::from(last(DebtId::Pull)),
        uncommitted: last(DebtId::Commit).then(String::new).into_iter().collect(),
        push: last(DebtId::Push).then(Default::default),
        ..Worktree::default()
    });
    let context = Context { now_ms: env.now_ms, tree, ..Context::default() };
    let debts = owed::debts(session, &context);
    // Checks are not run just to show the state, so this shows what the last Stop found.
    let checks =
        last(DebtId::Checks).then_some(DebtId::Checks.name()).filter(|_| session.state.task.is_some());
    checks.into_iter().chain(debts.iter().map(|debt| debt.id.name())).collect()
}

fn to_json(env: &Env, session: &Session, owed: &[&str]) -> Value {
    let state = &session.state;
    let flags = &session.state.state;
    let waiver =
        |w: &Waiver| json!({"gate": w.gate, "reason": w.reason, "until": time::timestamp(w.until_ms)});
    let waivers: Vec<Value> = waivers(env, session).into_iter().map(waiver).collect();
    let parked = session.memory.parked.iter().map(|task| json!({"intent": task.intent, "files": task.files}));
    let calls: Vec<_> = session.memory.calls.iter().map(|open| &open.call.id).collect();
    json!({
        "session_id": state.session_id, "phase": state.phase, "sandbox": sandbox(session, env.now_ms),
        "mode": session.policy().mode.level(), "jail": session.memory.client.jail,
        "blocked": flags.custodiet_blocked, "block_reason": flags.custodiet_block_reason,
        "planned": session.is_planned(), "outgrown": session.memory.progress.weight.outgrown,
        "owed": owed, "audit": state.audit, "task": state.task, "waivers": waivers,
        "workflow": flags.current_workflow, "hydration_pending": flags.hydration_pending,
        "refusals": state.stop.refusals, "agents": state.subagents, "calls": calls,
        "parked": parked.collect::<Vec<_>>(),
        "questions": questions::to_json(session), "kept": session.memory.undo.kept,
        "quiet": session.memory.questions.quiet, "started_at": state.started_at, "ended_at": state.ended_at,
    })
}
