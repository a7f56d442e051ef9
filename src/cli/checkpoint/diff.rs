//! Compares two checkpoints, or one with the present tree: files with their text, loop, gates, tokens, time.

use super::{Command, Io, Who, id_argument, pick_id, root, store};
use crate::checkpoint::capture::{Limits, capture};
use crate::checkpoint::form::Checkpoint;
use crate::checkpoint::form::{Difference, compare};
use crate::checkpoint::store::Store;
use crate::checkpoint::tree::name;
use crate::checkpoint::tree::{Artifacts, File, Folder};
use crate::checkpoint::tree::{Delta, diff};
use crate::cli::table::{Tone, clean};
use crate::text::diff::unified;
use crate::text::time;
use clap::{Arg, ArgMatches};
use serde_json::{Map, Value, json};

pub(super) const VERB: Command = Command {
    name: "diff",
    about: "Compare two checkpoints, or one with the present tree",
    examples: &[
        ("aops-hook checkpoint diff manual/POST_idle_v1", "what changed since then"),
        ("aops-hook checkpoint diff manual/POST_idle_v1 manual/POST_idle_v2", "from one to the other"),
    ],
    who: Who::Anyone,
    arguments: |row| {
        let other = Arg::new("other").value_name("OTHER").help("The later one; without it the present tree");
        id_argument(row).arg(other)
    },
    run,
};

/// Larger files are named, and their text is not shown.
const LONGEST: u64 = 256 << 10;

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let store = store(io)?;
    let old = store.read(&pick_id(given, "id", &store)?)?;
    let new = if given.contains_id("other") { Some(store.read(&pick_id(given, "other", &store)?)?) } else { None };
    let present = match &new {
        Some(new) => new.artifacts.clone(),
        None => capture(io.env, &Store::open(io.env, &root(io))?, &Limits::none(), &[], &old.artifacts.left_out)?,
    };
    let delta = diff(&old.artifacts, &present);
    let state = new.as_ref().map(|new| compare(&old, new)).unwrap_or_default();
    if io.json {
        writeln!(io.out, "{}", to_json(&delta, &state, &old, new.as_ref()))?;
    } else {
        show(io, &store, &delta, &present)?;
        say(io, &state, &old, new.as_ref())?;
    }
    Ok(0)
}

fn to_json(delta: &Delta, state: &[Difference], old: &Checkpoint, new: Option<&Checkpoint>) -> Value {
    let [added, removed, changed] = delta.by_kind();
    let of = |gates: bool| {
        let wanted = state.iter().filter(|one| one.at.starts_with("governance") == gates);
        wanted.map(|one| (one.at.clone(), json!({"old": one.old, "new": one.new}))).collect::<Map<_, _>>()
    };
    json!({
        "added": added, "removed": removed, "changed": changed, "state": of(false),
        "governance": of(true), "tokens": new.map(|new| i128::from(new.tokens()) - i128::from(old.tokens())).and_then(|n| i64::try_from(n).ok()),
        "time_ms": new.map(|new| new.created_ms() - old.created_ms()),
    })
}

fn show(io: &mut Io, store: &Store, delta: &Delta, present: &Artifacts) -> anyhow::Result<()> {
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
        let mode = if old.mode == new.mode { String::new() } else { format!("  {:04o} -> {:04o}", old.mode, new.mode) };
        writeln!(io.out, "{}", Tone::Warn.paint(&format!("{}{mode}", line('~', &new.path)), io))?;
        if let (Some(was), Some(is)) = (text(store, old), text(store, new)) {
            let shown = name::shown(&new.path);
            for line in unified(&shown, &shown, &was, &is).lines().skip(2) {
                let tone = match line.as_bytes().first() {
                    Some(b'+') => Tone::Good,
                    Some(b'-') => Tone::Bad,
                    Some(b'@') => Tone::Quiet,
                    _ => Tone::Plain,
                };
                writeln!(io.out, "  {}", tone.paint(&clean(line), io))?;
            }
        }
    }
    if delta.is_empty() {
        writeln!(io.out, "no difference in {} files", present.files.len())?;
    }
    Ok(())
}

/// The content of a file, if it is short and text.
fn text(store: &Store, file: &File) -> Option<String> {
    if let Some(target) = &file.target {
        return Some(format!("{target}\n"));
    }
    let mut bytes = Vec::new();
    if file.size > LONGEST {
        return None;
    }
    store.unpack(&file.sha256.0, &mut bytes).ok()?;
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

fn say(io: &mut Io, state: &[Difference], old: &Checkpoint, new: Option<&Checkpoint>) -> anyhow::Result<()> {
    for one in state {
        writeln!(io.out, "{}  {} -> {}", one.at, clean(&one.old.to_string()), clean(&one.new.to_string()))?;
    }
    let Some(new) = new else { return Ok(()) };
    let (was, is) = (old.tokens(), new.tokens());
    if was != is {
        writeln!(io.out, "tokens  {was} -> {is}")?;
    }
    Ok(writeln!(io.out, "{} later", time::age((new.created_ms() - old.created_ms()).abs()))?)
}
