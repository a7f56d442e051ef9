//! `task`: shows the current task and the interrupted ones, abandons one, or resumes one.
//!
//! Writes one entry. Invariants: only a person abandons a task, or resumes it as it was; an agent may say of
//! its own session that a task continues, which allows nothing new: the task resumes with the first edit of
//! its files, or with a plan that continues it.

use super::status::{describe_changed, folder};
use super::table::{Cell, Tone};
use super::{Command, Io, operand, refused, session, session_option, text, yes};
use aops_core::ledger::clients;
use aops_core::ledger::open::Ledger;
use aops_core::ledger::sessions::{self, SessionOnDisk};
use aops_core::ledger::written;
use aops_core::observe::parked;
use aops_core::session::fact::{Fact, TaskChosen, TaskMove};
use aops_core::session::fold::Session;
use aops_core::session::memory::Parked;
use aops_core::system::git;
use aops_core::text::plain::{count, title};
use aops_core::text::template::one_line;
use clap::{Arg, ArgMatches};
use serde_json::{Value, json};
use std::path::Path;

pub const COMMAND: Command = Command {
    name: "task",
    about: "Show the task in hand and the interrupted ones; drop one, or take it up again",
    examples: &[
        ("aops-hook task", "the tasks of the newest session of this project"),
        ("aops-hook task drop --yes", "drop the newest interrupted task, or else the one in hand"),
        ("aops-hook task resume 2", "take up the second of the list"),
    ],
    arguments: |row| {
        let verbs = VERBS.iter().map(|verb| (verb.arguments)(verb.row()));
        row.args([session_option().global(true), yes().global(true)]).subcommands(verbs)
    },
    run,
};

pub(super) static VERBS: &[Command] = &[LIST, DROP, RESUME];

const LIST: Command = Command {
    name: "list",
    about: "List the interrupted tasks, the newest first, and the one in hand",
    examples: &[("aops-hook task list --json", "the same for a program")],
    arguments: |row| row,
    run: list,
};

const DROP: Command = Command {
    name: "drop",
    about: "Let a task go: it owes nothing more (needs a person at a terminal)",
    examples: &[("aops-hook task drop 1 --yes", "the newest interrupted one; its files stay as they are")],
    arguments: |row| row.arg(place()),
    run: drop_task,
};

const RESUME: Command = Command {
    name: "resume",
    about: "Take up an interrupted task; what it changed before and after counts together",
    examples: &[("aops-hook task resume", "the newest one, with its plan and what it owes")],
    arguments: |row| row.arg(place()),
    run: resume,
};

fn place() -> Arg {
    operand("n", "N", "Its number in the list; without it the newest")
        .value_parser(clap::value_parser!(u64).range(1..))
}

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    match Command::run_verb("task", VERBS, given, io)? {
        Some(code) => Ok(code),
        None => list(given, io),
    }
}

fn list(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let found = session(given, io)?;
    let known = read(&found)?;
    let project = folder(io.env, &found, &known);
    let living = parked::living(io.env, project.as_deref(), &known);
    let parked = || (1..).zip(living.iter().rev().map(|(at, files)| (&known.memory.parked[*at], *files)));
    let in_hand = Some(&known).filter(|known| known.is_unfinished());
    if io.json {
        let mut all: Vec<Value> = parked().map(describe).collect();
        all.extend(in_hand.map(|known| {
            let task = known.state.task.as_ref();
            json!({"state": "in hand", "intent": task.and_then(|task| task.intent.clone())})
        }));
        return io.print(Value::Array(all));
    }
    let mut rows: Vec<[Cell; 4]> = parked()
        .map(|(n, (task, files)): (u64, (&Parked, u64))| {
            let changed = describe_changed(files);
            [
                Cell::from(n.to_string()),
                Cell::new("parked", Tone::Warn),
                Cell::from(changed),
                Cell::from(about(task)),
            ]
        })
        .collect();
    rows.extend(in_hand.map(|known| {
        let intent = known.state.task.as_ref().and_then(|task| task.intent.as_deref()).unwrap_or_default();
        let changed = describe_changes(io, &found, known, project.as_deref());
        [
            Cell::from(""),
            Cell::new("in hand", Tone::Good),
            Cell::from(changed),
            Cell::from(one_line(title(intent), 60)),
        ]
    }));
    if rows.is_empty() {
        return io.print("no task is open, and none was interrupted");
    }
    io.table(["n", "state", "changed", "task"], rows)
}

/// What the current task has changed: as it was measured, what git sees of it, or how often the ledger saw a
/// change.
fn describe_changes(io: &Io, found: &SessionOnDisk, known: &Session, project: Option<&Path>) -> String {
    let (files, lines) = known.memory.progress.weight.grown.count();
    let writes = known.state.task.as_ref().map_or(0, |task| task.writes);
    if files > 0 || writes == 0 {
        return format!("{}, {}", count(files, "file"), count(lines, "line"));
    }
    let tree = project.filter(|project| git::status(io.env, project).is_some());
    let uncommitted = tree
        .and_then(|project| written::owed_on_disk(io.env, found, known, project))
        .map(|tree| tree.uncommitted.len() as u64);
    match uncommitted {
        Some(0) => format!("{}, nothing uncommitted", count(writes, "change")),
        Some(files) => format!("{} changed, not committed", count(files, "file")),
        None => count(writes, "change"),
    }
}

fn describe((n, (task, files)): (u64, (&Parked, u64))) -> Value {
    json!({"n": n, "state": "parked", "files": files, "intent": about(task), "workflow": task.workflow})
}

fn about(task: &Parked) -> String {
    one_line(
        title(task.intent.as_deref().or(task.hydration.original_prompt.as_deref()).unwrap_or_default()),
        60,
    )
}

fn read(found: &SessionOnDisk) -> anyhow::Result<Session> {
    let unreadable =
        || refused("the session cannot be read\nhint: `aops-hook verify` says what is wrong with it");
    sessions::session(found).map_or_else(unreadable, Ok)
}

fn drop_task(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let found = session(given, io)?;
    choose(given, io, &found, TaskMove::Drop, "a person")
}

/// Inside a client, this means the client's own session.
fn resume(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let around = clients::session_around(io.env, std::process::id().try_into().unwrap_or_default());
    if around.is_none() && !io.env.client.is_around {
        let found = session(given, io)?;
        return choose(given, io, &found, TaskMove::Resume, "a person");
    }
    let found = sessions::pick(io.env, around.as_deref()).or_else(refused)?;
    if text(given, "session").is_some_and(|name| !found.session_id.starts_with(name)) {
        return refused(
            "an agent can take up only tasks of its own session\n\
            hint: ask the user to run `aops-hook task resume` in their own terminal",
        );
    }
    choose(given, io, &found, TaskMove::Want, "the agent")
}

fn choose(
    given: &ArgMatches,
    io: &mut Io,
    found: &SessionOnDisk,
    how: TaskMove,
    by: &str,
) -> anyhow::Result<u8> {
    let mut ledger = Ledger::at(io.env, &found.path, &found.session_id)?;
    let known = ledger.session();
    let project = folder(io.env, found, known);
    let living = parked::living(io.env, project.as_deref(), known);
    let parked = living.len() as u64;
    let n = given.get_one::<u64>("n").copied();
    let at = match n {
        Some(n) if n > parked => {
            return refused(format!("there is no task {n}\nhint: `aops-hook task list` shows them"));
        }
        n => parked.checked_sub(n.unwrap_or(1)),
    };
    // Tasks with nothing left are not in the list.
    let at = at.and_then(|at| living.get(usize::try_from(at).ok()?)).map(|(at, _)| *at as u64);
    if known.blocked().is_some() {
        return refused("the session is blocked\nhint: look at it, then run `aops-hook clear-block`");
    }
    if at.is_none() && !(how == TaskMove::Drop && known.is_unfinished()) {
        return refused("no task was interrupted\nhint: `aops-hook task list` shows the one in hand");
    }
    let task =
        at.and_then(|at| known.memory.parked.get(usize::try_from(at).unwrap_or(usize::MAX))).map(about);
    let task = task.unwrap_or_else(|| {
        one_line(
            title(known.state.task.as_ref().and_then(|task| task.intent.as_deref()).unwrap_or_default()),
            60,
        )
    });
    let alone = how == TaskMove::Resume && !known.is_unfinished();
    let held = how == TaskMove::Resume;
    ledger.append(io.env, vec![Fact::Task(TaskChosen { alone, at, by: by.to_owned(), held, how })])?;
    ledger.exported()?;
    let words = how.result();
    let value = json!({"session_id": found.session_id, "task": task, "how": how});
    io.answer(&value, format!("{task}: {words}"))
}
