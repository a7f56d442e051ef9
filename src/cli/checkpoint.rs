//! Takes, lists, compares and verifies checkpoints, and rolls back to one.
//!
//! Reads and writes the store of the project in the working directory. Invariants: an interrupted rollback is
//! finished before anything else; verbs that change the tree or delete checkpoints need a person.

mod bytes;
mod change;
mod difference;

pub(super) use bytes::size;

use super::table::{Cell, Tone, clean};
use super::{Command, Io, allowed, flag, operand, option, refused, text, who_may, yes};
use aops_core::checkpoint::capture::{Limits, capture};
use aops_core::checkpoint::form::{Checkpoint, Difference, Id, compare};
use aops_core::checkpoint::rollback::{finish_pending, said_in_ledger};
use aops_core::checkpoint::store::Store;
use aops_core::checkpoint::store::index::IndexRow;
use aops_core::checkpoint::tree::{self, Artifacts, Delta, File, Folder, name};
use aops_core::config::texts;
use aops_core::model::error::{Code, Failure};
use aops_core::model::outcome::PhaseOutcome;
use aops_core::model::trigger::CheckpointTrigger;
use aops_core::text::diff::unified;
use aops_core::text::json::cut;
use aops_core::text::plain::count;
use aops_core::text::template::one_line;
use aops_core::text::time;
use clap::{Arg, ArgMatches};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;

pub const COMMAND: Command = Command {
    name: "checkpoint",
    about: "Save the working tree, compare it, and roll it back byte for byte",
    examples: &[
        ("aops-hook checkpoint create", "save the tree as it is now"),
        ("aops-hook checkpoint list", "all checkpoints, the newest first"),
        ("aops-hook checkpoint diff", "what changed since the newest one"),
        ("aops-hook checkpoint rollback latest --dry-run", "what a rollback would do"),
        (
            "aops-hook checkpoint rollback 2",
            "roll back to the second of the list; the present tree is archived first",
        ),
    ],
    arguments: |row| Command::verbs(VERBS, row.arg(yes().global(true))),
    run,
};

pub(super) static VERBS: &[Command] =
    &[change::CREATE, LIST, SHOW, DIFF, change::ROLLBACK, VERIFY, change::GC, change::EXPORT];

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let Some((verb, given)) = Command::find(VERBS, given) else { return refused("say what to do") };
    let name = format!("checkpoint {}", verb.name);
    allowed(&name, who_may(&name), io)?;
    if finish_pending(io.env, &root(io))? && !io.json {
        writeln!(io.out, "an interrupted rollback was finished now")?;
    }
    let done = (verb.run)(given, io);
    match done.as_ref().map_err(|error| error.downcast_ref::<Failure>()) {
        Err(Some(failure)) if failure.code == Code::InTheWay => {
            refused(format!("{}\nhint: {}", failure.what, failure.code.way_out()))
        }
        _ => done,
    }
}

fn root(io: &Io) -> PathBuf {
    texts::project(io.env, &io.env.cwd)
}

fn store(io: &Io) -> anyhow::Result<Store> {
    let none = "this project has no checkpoint\nhint: `aops-hook checkpoint create` takes one";
    Store::look(&root(io))?.map_or_else(|| refused(none), Ok)
}

fn id_operand() -> Arg {
    let help = "A checkpoint's number or id as `checkpoint list` shows it, the beginning of an id, its \
        name, or `latest`";
    operand("id", "ID", help).required(true).allow_negative_numbers(true)
}

fn pick_id(given: &ArgMatches, name: &str, store: &Store) -> anyhow::Result<Id> {
    Store::pick(&store.rows()?, text(given, name).unwrap_or_default()).or_else(refused)
}

/// Prints the lines in which two texts differ.
pub(super) fn print_changes(io: &mut Io, was: &str, is: &str) -> anyhow::Result<()> {
    for line in unified("", "", was, is).lines().skip(2) {
        let tone = match line.as_bytes().first() {
            Some(b'+') => Tone::Good,
            Some(b'-') => Tone::Bad,
            Some(b'@') => Tone::Quiet,
            _ => Tone::Plain,
        };
        writeln!(io.out, "  {}", tone.paint(&clean(line), io))?;
    }
    Ok(())
}

const LIST: Command = Command {
    name: "list",
    about: "List all checkpoints, the newest first",
    examples: &[
        (
            "aops-hook checkpoint list",
            "number, id, age, why it was taken, its prompt, and what had changed since the one before",
        ),
        ("aops-hook checkpoint list --run 20260113-1f3a9c02", "those of one run or session"),
        ("aops-hook checkpoint list --json", "the same for a program: id, version, phase, type, created_at"),
    ],
    arguments: |row| {
        row.arg(option("run", "ID", "Only those of this run or session; the beginning of an id is enough"))
    },
    run: list,
};

const SHOW: Command = Command {
    name: "show",
    about: "Show one checkpoint",
    examples: &[
        ("aops-hook checkpoint show manual/POST_idle_v1", "state of the loop, agents, gates, size"),
        ("aops-hook checkpoint show manual/POST_idle_v1 --files", "every file, with mode, size and digest"),
    ],
    arguments: |row| row.args([id_operand(), flag("files", "Every file")]),
    run: show,
};

const DIFF: Command = Command {
    name: "diff",
    about: "Compare two checkpoints, or one with the present tree",
    examples: &[
        ("aops-hook checkpoint diff", "what changed since the newest one"),
        ("aops-hook checkpoint diff manual/POST_idle_v1", "what changed since that one"),
        ("aops-hook checkpoint diff -2 latest", "from the one before to the newest"),
    ],
    arguments: |row| {
        let other = operand("other", "OTHER", "The later one; without it the present tree")
            .allow_negative_numbers(true);
        row.args([id_operand().required(false), other])
    },
    run: diff,
};

const VERIFY: Command = Command {
    name: "verify",
    about: "Check every checkpoint and everything it holds",
    examples: &[
        ("aops-hook checkpoint verify", "all of them; exit 4 when one was edited or is damaged"),
        ("aops-hook checkpoint verify manual/POST_idle_v1", "one of them"),
    ],
    arguments: |row| row.arg(id_operand().required(false)),
    run: verify,
};

/// Larger files are only named; their text is not shown.
const LONGEST: u64 = 256 << 10;

fn list(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let store = Store::look(&root(io))?;
    let rows = store.as_ref().map_or_else(|| Ok(Vec::new()), Store::rows)?;
    // The newest is number 1, counted before filtering, so a number always means the same checkpoint.
    let all = rows.len();
    let mut rows: Vec<(usize, IndexRow)> =
        rows.into_iter().enumerate().map(|(at, row)| (all - at, row)).collect();
    if let Some(run) = text(given, "run") {
        rows.retain(|(_, row)| row.run().starts_with(run));
    }
    if io.json {
        let row = |(number, row): &(usize, IndexRow)| {
            json!({
                "number": number, "id": row.id, "version": row.version, "phase": row.phase, "type": row.kind,
                "created_at": row.created_at, "name": row.name,
            })
        };
        return io.print(rows.iter().map(row).collect::<Value>());
    }
    if rows.is_empty() {
        writeln!(io.out, "this project has no checkpoint yet")?;
    }
    let mut before = None;
    let row = |(number, row): &(usize, IndexRow)| {
        let age = time::parse(&row.created_at).map(|at| time::age(io.env.now_ms - at)).unwrap_or_default();
        let tone = if row.trigger == CheckpointTrigger::Failure { Tone::Bad } else { Tone::Plain };
        let name = row.name.clone().unwrap_or_default();
        let kept = store.as_ref().and_then(|store| store.read(&Id::read(&row.id)?).ok());
        let prompt = kept
            .as_ref()
            .map(|kept| prompt_of(kept, if io.terminal { 60 } else { 2048 }))
            .unwrap_or_default();
        let tree = kept.map(|kept| kept.artifacts);
        let changed = tree.as_ref().map(|tree| describe_change(before.as_ref(), tree)).unwrap_or_default();
        before = tree;
        let age = Cell::new(age, Tone::Quiet);
        let why = Cell::new(row.trigger.name(), tone);
        [
            number.to_string().into(),
            shorten(&row.id, io).into(),
            name.into(),
            age,
            why,
            prompt.into(),
            changed.into(),
        ]
    };
    let mut rows: Vec<_> = rows.iter().map(row).collect();
    rows.reverse();
    io.table_within(["#", "checkpoint", "name", "age", "why", "prompt", "changed"], rows, &[2, 5])
}

/// An id as shown on a terminal: a session is shortened to the beginning of its name, which is enough to find
/// it.
fn shorten(id: &str, io: &Io) -> String {
    match id.split_once('/') {
        Some((run, rest)) if io.terminal && run.len() > 20 => format!("{}/{rest}", cut(run, 8)),
        _ => id.to_owned(),
    }
}

/// The prompt it belongs to or, in a run, the task.
fn prompt_of(one: &Checkpoint, longest: usize) -> String {
    let asked = one.orchestrator.intake_summary.prompt.as_ref().or(one.orchestrator.task.as_ref());
    asked.map(|asked| one_line(asked, longest)).unwrap_or_default()
}

/// How many files differ from the checkpoint before, and the first of them.
fn describe_change(before: Option<&Artifacts>, tree: &Artifacts) -> String {
    let Some(before) = before else { return count(tree.files.len(), "file") };
    let delta = tree::diff(before, tree);
    let [added, removed, changed] = delta.by_kind();
    let all: Vec<String> = added
        .iter()
        .map(|path| format!("+{}", name::shown(path)))
        .chain(removed.iter().map(|path| format!("-{}", name::shown(path))))
        .chain(changed.iter().map(|path| name::shown(path)))
        .collect();
    match all.len() {
        0 => "nothing".to_owned(),
        n => format!("{}: {}", count(n, "file"), all.iter().take(10).cloned().collect::<Vec<_>>().join(", ")),
    }
}

fn show(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let store = store(io)?;
    let one = store.read(&pick_id(given, "id", &store)?)?;
    if io.json {
        return io.print(serde_json::to_string_pretty(&one)?);
    }
    writeln!(io.out, "{}", Tone::Strong.paint(&one.identity.checkpoint_id, io))?;
    for (label, text) in describe(&one).into_iter().filter(|(_, text)| !text.is_empty()) {
        writeln!(io.out, "  {label:9} {}", clean(&text))?;
    }
    for file in one.artifacts.files.iter().filter(|_| given.get_flag("files")) {
        let target = file.target.as_deref().map(|target| format!(" -> {target}")).unwrap_or_default();
        let path = format!("{}{target}", name::shown(&file.path));
        writeln!(
            io.out,
            "{:04o} {:>12} {} {}",
            file.mode,
            file.size,
            &file.sha256.to_string()[..12],
            clean(&path)
        )?;
    }
    Ok(0)
}

fn describe(one: &Checkpoint) -> Vec<(&str, String)> {
    let loop_ = &one.orchestrator;
    let tree = &one.artifacts;
    let mut lines = vec![
        ("taken", format!("{} ({})", one.timing.created_at, one.trigger())),
        ("since", format!("{} ({} ms)", one.timing.started_at, one.timing.duration_ms)),
        ("follows", one.parent.clone().unwrap_or_else(|| "nothing".to_owned())),
        ("session", one.identity.session_id.clone()),
        ("task", loop_.task.clone().unwrap_or_default()),
        ("done", loop_.completed.join(", ")),
        ("to do", loop_.incomplete.join(", ")),
    ];
    let notes = one.metadata.iter().filter(|(key, _)| *key != "trigger");
    lines.extend(notes.map(|(key, text)| (key.as_str(), text.clone())));
    for (label, all) in [("gate", &one.governance.gates), ("check", &one.governance.checks)] {
        for found in all.iter().filter(|found| found.outcome != PhaseOutcome::Pass) {
            let why = found.reason.as_deref().unwrap_or_default();
            lines.push((label, format!("{} {} {why}", found.name, found.outcome)));
        }
    }
    for agent in
        one.agents.iter().filter(|agent| agent.tool_invocations.count() > 0 || agent.summary.is_some())
    {
        let calls = agent.tool_invocations.count();
        let tokens = agent.tokens;
        let summary = agent.summary.as_deref();
        let words = format!(
            "{}: {}, {}  {}",
            agent.name,
            count(calls, "call"),
            count(tokens, "token"),
            summary.unwrap_or_default()
        );
        lines.push(("agent", words));
    }
    let files = count(tree.files.len(), "file");
    let folders = count(tree.folders.len(), "folder");
    let words = format!("{files} in {folders}, {}", size(tree.bytes()));
    lines.push(("tree", words));
    lines.extend(
        tree.left_out.iter().map(|out| {
            ("left out", format!("{} ({}, {})", name::shown(&out.path), out.reason, size(out.size)))
        }),
    );
    lines
}

fn diff(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let store = store(io)?;
    let old = Store::pick(&store.rows()?, text(given, "id").unwrap_or("latest")).or_else(refused)?;
    let old = store.read(&old)?;
    let new =
        if given.contains_id("other") { Some(store.read(&pick_id(given, "other", &store)?)?) } else { None };
    let present = match &new {
        Some(new) => new.artifacts.clone(),
        None => {
            capture(io.env, &Store::open(io.env, &root(io))?, &Limits::none(), &[], &old.artifacts.left_out)?
        }
    };
    let delta = tree::diff(&old.artifacts, &present);
    let state = new.as_ref().map(|new| compare(&old, new)).unwrap_or_default();
    if io.json {
        return io.print(to_json(&delta, &state, &old, new.as_ref()));
    }
    print_files(io, &store, &delta, &present)?;
    difference::print_state(io, &state, &old, new.as_ref())
}

fn to_json(delta: &Delta, state: &[Difference], old: &Checkpoint, new: Option<&Checkpoint>) -> Value {
    let [added, removed, changed] = delta.by_kind();
    let of = |gates: bool| {
        let wanted = state.iter().filter(|one| one.at.starts_with("governance") == gates);
        wanted.map(|one| (one.at.clone(), json!({"old": one.old, "new": one.new}))).collect::<Map<_, _>>()
    };
    let more = |new: &Checkpoint| i64::try_from(i128::from(new.tokens()) - i128::from(old.tokens())).ok();
    json!({
        "added": added, "removed": removed, "changed": changed, "state": of(false), "governance": of(true),
        "tokens": new.and_then(more), "time_ms": new.map(|new| new.created_ms() - old.created_ms()),
    })
}

fn print_files(io: &mut Io, store: &Store, delta: &Delta, present: &Artifacts) -> anyhow::Result<()> {
    let line = |sign: char, path: &str| clean(&format!("{sign} {}", name::shown(path))).into_owned();
    let [added, removed, _] = delta.by_kind().map(|paths| paths.into_iter().map(str::to_owned));
    let folders = |all: &[&Folder]| all.iter().map(|folder| format!("{}/", folder.path)).collect::<Vec<_>>();
    for path in removed.chain(folders(&delta.gone_folders)) {
        writeln!(io.out, "{}", Tone::Bad.paint(&line('-', &path), io))?;
    }
    for path in added.chain(folders(&delta.new_folders)) {
        writeln!(io.out, "{}", Tone::Good.paint(&line('+', &path), io))?;
    }
    for (old, new) in &delta.changed {
        let mode = if old.mode == new.mode {
            String::new()
        } else {
            format!("  {:04o} -> {:04o}", old.mode, new.mode)
        };
        writeln!(io.out, "{}", Tone::Warn.paint(&format!("{}{mode}", line('~', &new.path)), io))?;
        let (Some(was), Some(is)) = (text_of(store, old), text_of(store, new)) else { continue };
        print_changes(io, &was, &is)?;
    }
    if delta.is_empty() {
        writeln!(io.out, "no difference in {}", count(present.files.len(), "file"))?;
    }
    Ok(())
}

/// The content of a file, if it is short and text.
fn text_of(store: &Store, file: &File) -> Option<String> {
    if let Some(target) = &file.target {
        return Some(format!("{target}\n"));
    }
    if file.size > LONGEST {
        return None;
    }
    let mut bytes = Vec::new();
    store.unpack(&file.sha256.0, &mut bytes).ok()?;
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

fn verify(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let mut wrong = Vec::new();
    let mut blobs = BTreeSet::new();
    let mut checked = 0;
    if let Some(store) = Store::look(&root(io))? {
        let ids: Vec<Id> = if given.contains_id("id") {
            vec![pick_id(given, "id", &store)?]
        } else {
            store.rows()?.iter().filter_map(|row| Id::read(&row.id)).collect()
        };
        checked = ids.len();
        for id in ids {
            if let Err(why) = check(io, &store, &id, &mut blobs) {
                wrong.push((id.to_string(), why));
            }
        }
    }
    if io.json {
        let problems: Vec<Value> = wrong.iter().map(|(id, why)| json!({"id": id, "problem": why})).collect();
        let ok = wrong.is_empty();
        io.print(json!({"ok": ok, "checkpoints": checked, "blobs": blobs.len(), "problems": problems}))?;
    } else if wrong.is_empty() {
        let verb = if checked + blobs.len() == 1 { "is" } else { "are" };
        let checked = count(checked, "checkpoint");
        let contents = count(blobs.len(), "content");
        writeln!(io.out, "{checked} and {contents} {verb} intact")?;
    } else {
        for (_, why) in &wrong {
            writeln!(io.out, "{}", Tone::Bad.paint(&clean(why), io))?;
        }
    }
    Ok(if wrong.is_empty() { 0 } else { 4 })
}

fn check(io: &Io, store: &Store, id: &Id, seen: &mut BTreeSet<[u8; 32]>) -> Result<(), String> {
    let one = store.vouched(io.env, id).map_err(|failure| failure.to_string())?;
    let said = said_in_ledger(io.env, &one.identity.session_id, id, one.digest.as_ref());
    if said.map_err(|failure| failure.to_string())? == Some(false) {
        return Err(format!(
            "checkpoint `{id}` is not the one in its session's ledger, or the ledger is damaged"
        ));
    }
    for file in one.artifacts.files.iter().filter(|file| file.target.is_none()) {
        let digest = file.sha256.0;
        if !seen.contains(&digest) {
            store
                .unpack(&digest, &mut std::io::sink())
                .map_err(|failure| format!("checkpoint `{id}`: {failure}"))?;
            seen.insert(digest);
        }
    }
    Ok(())
}
