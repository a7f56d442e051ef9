//! Takes, restores, exports and deletes checkpoints: `create`, `rollback`, `gc`, `export`.
//!
//! Writes the store; `rollback` also writes the working tree, after a person has seen the changes and agreed,
//! and with the present tree archived first. Invariant of `gc`: the newest start of work of a running session
//! stays.

use super::{Command, Io, allowed, id_operand, pick_id, refused, root, shorten, size, store, text};
use crate::cli::control::duration;
use crate::cli::run::Progress;
use crate::cli::table::{Tone, clean};
use crate::cli::{flag, option};
use crate::run::driver::{WayBack, project_root};
use anyhow::Context;
use aops_core::checkpoint::capture::{Limits, capture};
use aops_core::checkpoint::form::{BY_HAND, Checkpoint, CheckpointKind, Id};
use aops_core::checkpoint::restore::{self, Steps};
use aops_core::checkpoint::rollback::{self, BRIEF, Order, Preview, RolledBack, Wanted};
use aops_core::checkpoint::store::Store;
use aops_core::checkpoint::store::index::IndexRow;
use aops_core::checkpoint::tree::{Artifacts, diff, name};
use aops_core::config::in_force;
use aops_core::ledger::open::Ledger;
use aops_core::ledger::sessions::{self, SessionOnDisk};
use aops_core::model::error::{Code, Failure};
use aops_core::model::phase::Phase;
use aops_core::model::trigger::CheckpointTrigger;
use aops_core::system::env::east_of_utc;
use aops_core::system::files;
use aops_core::text::plain::count;
use aops_core::text::redact::redact;
use aops_core::text::time;
use aops_core::undo::shelf;
use aops_shell::verbs::Who;
use clap::{ArgMatches, value_parser};
use rustix::fs::{CWD, Mode, OFlags};
use serde_json::{Value, json};
use std::io::IsTerminal;
use std::path::Path;
use std::time::Instant;

pub(super) const CREATE: Command = Command {
    name: "create",
    about: "Save the working tree as it is now",
    examples: &[
        ("aops-hook checkpoint create", "your own checkpoint, in the run `manual`"),
        ("aops-hook checkpoint create -m rename", "with a name: `rollback rename` returns to it"),
        ("aops-hook checkpoint create --note 'before the big rename'", "with a note"),
    ],
    arguments: |row| {
        row.arg(option("name", "NAME", "A name of your own, for the other verbs").short('m')).arg(option(
            "note",
            "TEXT",
            "A note that is stored with the checkpoint",
        ))
    },
    run: create,
};

pub(super) const ROLLBACK: Command = Command {
    name: "rollback",
    about: "Roll the working tree back to a checkpoint (needs a person at a terminal)",
    examples: &[
        ("aops-hook checkpoint rollback manual/POST_idle_v1 --dry-run", "what it would do"),
        (
            "aops-hook checkpoint rollback manual/POST_idle_v1",
            "roll back; the present tree is archived first",
        ),
        (
            "aops-hook checkpoint rollback manual/POST_idle_v1 --state-only",
            "the loop goes back, the files stay",
        ),
    ],
    arguments: |row| {
        row.arg(id_operand())
            .arg(flag("dry-run", "Show what it would do, and do nothing"))
            .arg(flag("state-only", "Roll back the loop; leave the files alone"))
    },
    run: rollback,
};

pub(super) const GC: Command = Command {
    name: "gc",
    about: "Delete old checkpoints (needs a person at a terminal)",
    examples: &[
        ("aops-hook checkpoint gc", "keep the newest `checkpoint.keep`"),
        (
            "aops-hook checkpoint gc --keep 5 --older-than 7d",
            "keep the newest five, and all of the last week",
        ),
        ("aops-hook checkpoint gc --dry-run", "show what it would delete"),
    ],
    arguments: |row| {
        let keep = option("keep", "N", "How many of the newest to keep; default: `checkpoint.keep`");
        row.arg(keep.value_parser(value_parser!(u64)))
            .arg(option("older-than", "TIME", "Delete only those that are older: 12h, 7d"))
            .arg(flag("dry-run", "Show what it would delete, and do nothing"))
    },
    run: gc,
};

pub(super) const EXPORT: Command = Command {
    name: "export",
    about: "Write the tree of a checkpoint to a new folder",
    examples: &[(
        "aops-hook checkpoint export manual/POST_idle_v1 --to ../before",
        "`../before/tree` and `../before/checkpoint.json`",
    )],
    arguments: |row| {
        row.args([id_operand(), option("to", "FOLDER", "A folder that does not exist yet").required(true)])
    },
    run: export,
};

const SHOWN: usize = 20;

fn create(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let env = io.env;
    let root = root(io);
    let began = Instant::now();
    let limits = Limits::of(&in_force::load(env, &root)?.policy);
    let mut about: Vec<_> =
        text(given, "note").map(|note| ("note", redact(note).into_owned())).into_iter().collect();
    about.extend(new_name(given, &root)?.map(|name| ("name", name)));
    let session = here(io, &root);
    let mut brief = session.is_some();
    let taken = loop {
        let of_session = session.as_ref().map(|on_disk| Ledger::at(env, &on_disk.path, &on_disk.session_id));
        let mut ledger = of_session.transpose()?;
        let store = Store::open(env, &root)?;
        let phase = ledger.as_ref().map_or(Phase::default(), |ledger| ledger.session().state.phase);
        let used = ledger.as_ref().map(rollback::used).unwrap_or_default();
        let about = about.clone();
        let wanted = Wanted {
            about,
            used,
            ..Wanted::new(BY_HAND, CheckpointKind::Post, phase.name(), CheckpointTrigger::ByHand)
        };
        let until = brief.then(|| Instant::now() + BRIEF);
        let limits = Limits { until, ..limits.clone() };
        match rollback::take(env, &store, ledger.as_mut(), &limits, &wanted) {
            // Fills the cache first, without holding the session's lock, and tries again.
            Err(failure) if brief && failure.code == Code::TimedOut => {
                drop(ledger);
                capture(env, &store, &Limits { until: None, ..limits }, &[], &[])?;
                brief = false;
            }
            done => break done?,
        }
    };
    let id = &taken.identity.checkpoint_id;
    let files = taken.artifacts.files.len();
    let bytes = size(taken.artifacts.bytes());
    let called = taken.metadata.get("name").map(|name| format!(" ({name})")).unwrap_or_default();
    let words =
        format!("{id}{called}: {}, {bytes}, in {} ms", count(files, "file"), began.elapsed().as_millis());
    io.answer(&json!({"id": id, "version": taken.version}), words)?;
    match taken.artifacts.left_out.len() {
        out if out > 0 && !io.json => {
            io.print(format!("left out: {out}; `aops-hook checkpoint show {id}` lists them"))
        }
        _ => Ok(0),
    }
}

/// The name given by a person; rejected if it could be an id or a position, or is taken.
fn new_name(given: &ArgMatches, root: &Path) -> anyhow::Result<Option<String>> {
    let Some(name) = text(given, "name").map(|name| redact(name.trim()).into_owned()) else {
        return Ok(None);
    };
    let plain = |c: char| c.is_alphanumeric() || "._ ".contains(c) || c == '-';
    let odd = name.is_empty() || name.starts_with('-') || name == "latest" || name.len() > 64;
    if odd || !name.chars().all(plain) {
        return refused(format!(
            "`{}` cannot be a name\nhint: letters, digits, blanks, `.`, `-` and `_`, at most 64, and not \
            `latest`",
            clean(&name)
        ));
    }
    let rows = Store::look(root)?.map_or_else(|| Ok(Vec::new()), |store| store.rows())?;
    if let Some(row) = rows.iter().find(|row| row.name.as_ref() == Some(&name) || row.id.starts_with(&name)) {
        return refused(format!("`{name}` is taken: `{}`\nhint: choose another name", row.id));
    }
    Ok(Some(name))
}

fn here(io: &Io, root: &Path) -> Option<SessionOnDisk> {
    let of_tree = |on_disk: &SessionOnDisk| {
        sessions::session(on_disk).is_some_and(|session| Path::new(&session.memory.place.root) == root)
    };
    sessions::pick(io.env, None).ok().filter(of_tree)
}

fn rollback(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let env = io.env;
    let root = root(io);
    let dry = given.get_flag("dry-run");
    let state_only = given.get_flag("state-only");
    if !dry {
        allowed("checkpoint rollback", Who::AtTerminal, io)?;
    }
    let store = store(io)?;
    let vouched = Vouched::of(io, &store, pick_id(given, "id", &store)?)?;
    let id = &vouched.id;
    if dry || !io.yes {
        let preview = rollback::preview(env, &Store::open(env, &root)?, id, &[], &Limits::none())?;
        vouched.check(&preview)?;
        show(io, &preview, state_only)?;
        if dry {
            return if io.json { io.print(to_json(&preview)) } else { Ok(0) };
        }
        if !sure(io)? {
            return refused("nothing was done");
        }
    }
    let mut shown = Ok(());
    let mut said = Value::Null;
    let mut target = Checkpoint::default();
    let run = WayBack::of(env, &mut Progress::new(io), &project_root(env), &id.run)?;
    let order = Order { id, alone: &[], by: "a person", state_only, view: run.as_ref().map(WayBack::view) };
    let done = rollback::roll_back(env, &root, &order, None, &mut |preview| {
        vouched.check(preview)?;
        target = Checkpoint { artifacts: Artifacts::default(), ..preview.target.clone() };
        said = if io.json { to_json(preview) } else { Value::Null };
        shown = if io.yes { show(io, preview, state_only) } else { Ok(()) };
        Ok(())
    })?;
    shown?;
    let next = run.map(|run| run.take(env, &project_root(env), &target, &done.result)).transpose()?;
    if io.json {
        said["archive"] = Some(&done.archive).filter(|archive| !archive.is_empty()).cloned().into();
        said["result"] = done.result.into();
        said["dry_run"] = false.into();
        said["next"] = next.into();
        return io.print(said);
    }
    print_done(io, id, &done, next)
}

/// A checkpoint that is restored only in the state that was witnessed.
struct Vouched {
    id: Id,
    session_id: String,
    digest: Option<String>,
}

impl Vouched {
    /// Call before taking any lock.
    fn of(io: &Io, store: &Store, id: Id) -> Result<Self, Failure> {
        let session_id = store.session_of(&id)?;
        let digest = store.witnessed(io.env)?.remove(&id.to_string());
        let said = rollback::said_in_ledger(io.env, &session_id, &id, digest.as_ref())?;
        let vouched = Self { id, session_id, digest };
        if said == Some(false) { Err(vouched.contradiction()) } else { Ok(vouched) }
    }

    fn check(&self, Preview { target, .. }: &Preview) -> Result<(), Failure> {
        let same = target.digest == self.digest && target.identity.session_id == self.session_id;
        if same { Ok(()) } else { Err(self.contradiction()) }
    }

    fn contradiction(&self) -> Failure {
        let what = format!("checkpoint `{}` is not the one in its session's ledger", self.id);
        Failure::new(Code::ChecksumMismatch, what)
    }
}

fn print_done(io: &mut Io, id: &Id, done: &RolledBack, next: Option<String>) -> anyhow::Result<u8> {
    for folder in &done.kept_folders {
        writeln!(io.out, "kept, because it holds ignored files: {}", clean(&name::shown(folder)))?;
    }
    let [id, result, archive] = [&id.to_string(), &done.result, &done.archive].map(|id| shorten(id, io));
    writeln!(io.out, "rolled back to {id}, which is now {result}")?;
    if !done.archive.is_empty() {
        writeln!(io.out, "to return, run `aops-hook checkpoint rollback {archive}`")?;
    }
    next.map_or(Ok(0), |next| io.print(next))
}

fn to_json(preview: &Preview) -> Value {
    let [added, removed, changed] = preview.delta().by_kind();
    json!({
        "id": preview.target.identity.checkpoint_id, "added": added, "removed": removed, "changed": changed,
        "archive": null, "result": null, "dry_run": true,
    })
}

fn show(io: &mut Io, preview: &Preview, state_only: bool) -> anyhow::Result<()> {
    if io.json {
        return Ok(());
    }
    let delta = preview.delta();
    let target = &preview.target;
    let taken = time::parse(&target.timing.created_at).map(|ms| time::local_stamp(ms, east_of_utc(ms)));
    writeln!(
        io.out,
        "to {}, taken {}",
        shorten(&target.identity.checkpoint_id, io),
        taken.unwrap_or_default()
    )?;
    if state_only {
        return Ok(writeln!(io.out, "the loop goes back to `{}`; the files stay as they are", target.phase)?);
    }
    let [added, removed, changed] = delta.by_kind();
    for (words, paths, tone) in [
        ("removed", removed, Tone::Bad),
        ("brought back", added, Tone::Good),
        ("changed back", changed, Tone::Warn),
    ] {
        for path in paths.iter().take(SHOWN) {
            writeln!(io.out, "  {}", tone.paint(&format!("{words:13} {}", clean(&name::shown(path))), io))?;
        }
        if paths.len() > SHOWN {
            writeln!(io.out, "  {words:13} and {} more", paths.len() - SHOWN)?;
        }
    }
    if delta.is_empty() {
        writeln!(io.out, "  no file differs")?;
    }
    for out in target.artifacts.left_out.iter().take(SHOWN) {
        writeln!(io.out, "  {:13} {} ({})", "left alone", clean(&name::shown(&out.path)), out.reason)?;
    }
    Ok(())
}

fn sure(io: &mut Io) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    let answer = io.ask("the present tree is archived first; continue? [y/N] ")?;
    Ok(matches!(answer.as_deref(), Some("y" | "Y" | "yes")))
}

fn gc(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let env = io.env;
    let root = root(io);
    let dry = given.get_flag("dry-run");
    if !dry {
        allowed("checkpoint gc", Who::AtTerminal, io)?;
    }
    let keep = match given.get_one::<u64>("keep") {
        Some(keep) => *keep,
        None => in_force::load(env, &root)?.policy.checkpoint.keep,
    };
    let age = text(given, "older-than").map_or(Ok(0), |text| duration(text).or_else(refused))?;
    let store = Store::open(env, &root)?;
    let rows = store.rows()?;
    let held: Vec<String> =
        rollback::sessions_in(env, &root, "").into_iter().map(|on_disk| on_disk.session_id).collect();
    let old = |row: &IndexRow| time::parse(&row.created_at).is_none_or(|at| env.now_ms - at >= age);
    let beyond = rows.len().saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX));
    let goes = |at: usize, row: &IndexRow| at < beyond && old(row) && !is_way_back(&rows, at, &held);
    let all = || rows.iter().enumerate();
    let gone: Vec<IndexRow> = all().filter(|(at, row)| goes(*at, row)).map(|(_, row)| row.clone()).collect();
    let kept: Vec<IndexRow> = all().filter(|(at, row)| !goes(*at, row)).map(|(_, row)| row.clone()).collect();
    let swept = store.sweep(env, &kept, &gone, shelf::live(&store), dry)?;
    if io.json {
        let ids: Vec<&str> = gone.iter().map(|row| row.id.as_str()).collect();
        let contents = swept.contents;
        let bytes = swept.bytes;
        let said =
            json!({"removed": ids, "kept": kept.len(), "blobs": contents, "bytes": bytes, "dry_run": dry});
        return io.print(said);
    }
    let verb = if dry { "would delete" } else { "deleted" };
    for row in &gone {
        writeln!(io.out, "{verb} {}", row.id)?;
    }
    if let Some(why) = &swept.unread {
        writeln!(io.out, "all contents stay, because a checkpoint cannot be read: {why}")?;
    }
    let freed = if dry { String::new() } else { format!(", {}", size(swept.bytes)) };
    let gone = gone.len();
    let all = count(rows.len(), "checkpoint");
    let dead = count(swept.contents, "content");
    io.print(format!("{verb} {gone} of {all}, {dead}{freed}"))
}

/// The newest start of work of a running session.
fn is_way_back(rows: &[IndexRow], at: usize, running: &[String]) -> bool {
    let row = &rows[at];
    let same = |other: &IndexRow| {
        other.run() == row.run() && other.kind == CheckpointKind::Pre && other.phase == row.phase
    };
    let newest = row.kind == CheckpointKind::Pre && !rows[at + 1..].iter().any(same);
    newest && running.contains(&row.session_id)
}

fn export(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let store = store(io)?;
    let id = pick_id(given, "id", &store)?;
    let one = store.vouched(io.env, &id)?;
    let to = io.env.from_here(Path::new(text(given, "to").unwrap_or_default()));
    if to.symlink_metadata().is_ok() {
        return refused(format!(
            "`{}` exists already\nhint: name a folder that does not exist",
            to.display()
        ));
    }
    let nothing = Artifacts::default();
    let tree = to.join("tree");
    let delta = diff(&nothing, &one.artifacts);
    restore::check_contents(&store, &delta)?;
    let steps = Steps { delta, folders: one.artifacts.folders.iter().collect(), fresh: true };
    files::make_folders(&tree, 0o755).with_context(|| tree.display().to_string())?;
    let folder = rustix::fs::openat(
        CWD,
        &tree,
        OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW,
        Mode::empty(),
    )?;
    restore::apply(&store, &folder, &steps)?.sync(&store)?;
    let text = serde_json::to_string_pretty(&one)? + "\n";
    files::find(&to.join("checkpoint.json"))?.replace(text.as_bytes(), 0o644)?;
    let files = one.artifacts.files.len();
    let bytes = size(one.artifacts.bytes());
    let words = format!("{}, {bytes}, in `{}`", count(files, "file"), to.display());
    io.answer(&json!({"id": id.to_string(), "folder": to, "files": files}), words)
}
