//! Compares two checkpoints, or one with the tree as it is: files with their text, the loop, the gates, tokens, time.

use super::{Command, Io, Who, id_argument, picked, root, vault};
use crate::checkpoint::capture::{Limits, capture};
use crate::checkpoint::form::Checkpoint;
use crate::checkpoint::form::compare::{Difference, between, compare, tokens};
use crate::checkpoint::store::Store;
use crate::checkpoint::tree::delta::{Delta, part};
use crate::checkpoint::tree::name;
use crate::checkpoint::tree::{Artifacts, File};
use crate::cli::table::{Tone, clean};
use crate::text::diff::unified;
use crate::text::time;
use clap::{Arg, ArgMatches};
use serde_json::{Map, Value, json};

pub(super) const VERB: Command = Command {
    name: "diff",
    about: "Compare two checkpoints, or one with the tree as it is",
    examples: &[
        ("aops-hook checkpoint diff manual/POST_idle_v1", "what changed since then"),
        ("aops-hook checkpoint diff manual/POST_idle_v1 manual/POST_idle_v2", "from one to the other"),
    ],
    who: Who::Anyone,
    arguments: |row| {
        let other = Arg::new("other").value_name("OTHER").help("The later one; without it the tree as it is");
        id_argument(row).arg(other)
    },
    run,
};

/// Files longer than this are named, not shown.
const LONGEST: u64 = 256 << 10;

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let looked = vault(io)?;
    let old = looked.read(&picked(given, "id", &looked)?)?;
    let new =
        if given.contains_id("other") { Some(looked.read(&picked(given, "other", &looked)?)?) } else { None };
    let present = match &new {
        Some(new) => new.artifacts.clone(),
        None => {
            capture(io.env, &Store::open(io.env, &root(io))?, &Limits::none(), &[], &old.artifacts.left_out)?
        }
    };
    let delta = part(&old.artifacts, &present);
    let state = new.as_ref().map(|new| compare(&old, new)).unwrap_or_default();
    if io.json {
        let told = told(&delta, &state, &old, new.as_ref());
        writeln!(io.out, "{told}")?;
    } else {
        show(io, &looked, &delta, &present)?;
        say(io, &state, &old, new.as_ref())?;
    }
    Ok(0)
}

fn told(delta: &Delta, state: &[Difference], old: &Checkpoint, new: Option<&Checkpoint>) -> Value {
    let paths = |files: &[&File]| files.iter().map(|file| file.path.clone()).collect::<Vec<_>>();
    let changed: Vec<&str> = delta.changed.iter().map(|(_, new)| new.path.as_str()).collect();
    let of = |gates: bool| {
        let wanted = state.iter().filter(|one| one.at.starts_with("governance") == gates);
        wanted.map(|one| (one.at.clone(), json!({"old": one.old, "new": one.new}))).collect::<Map<_, _>>()
    };
    json!({
        "added": paths(&delta.added), "removed": paths(&delta.removed), "changed": changed, "state": of(false),
        "governance": of(true), "tokens": new.map(|new| i128::from(tokens(new)) - i128::from(tokens(old))).and_then(|n| i64::try_from(n).ok()),
        "time_ms": new.map(|new| between(old, new)),
    })
}

fn show(io: &mut Io, vault: &Store, delta: &Delta, present: &Artifacts) -> anyhow::Result<()> {
    let line = |sign: char, path: &str| clean(&format!("{sign} {}", name::shown(path))).into_owned();
    for file in &delta.removed {
        writeln!(io.out, "{}", Tone::Bad.paint(&line('-', &file.path), io))?;
    }
    for file in &delta.added {
        writeln!(io.out, "{}", Tone::Good.paint(&line('+', &file.path), io))?;
    }
    for folder in &delta.gone_folders {
        writeln!(io.out, "{}", Tone::Bad.paint(&line('-', &format!("{}/", folder.path)), io))?;
    }
    for folder in &delta.new_folders {
        writeln!(io.out, "{}", Tone::Good.paint(&line('+', &format!("{}/", folder.path)), io))?;
    }
    for (old, new) in &delta.changed {
        let mode = if old.mode == new.mode {
            String::new()
        } else {
            format!("  {:04o} -> {:04o}", old.mode, new.mode)
        };
        writeln!(io.out, "{}", Tone::Warn.paint(&format!("{}{mode}", line('~', &new.path)), io))?;
        if let (Some(was), Some(is)) = (text(vault, old), text(vault, new)) {
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
        writeln!(io.out, "the same {} files", present.files.len())?;
    }
    Ok(())
}

/// What is in a file, where a person can read it.
fn text(vault: &Store, file: &File) -> Option<String> {
    if let Some(target) = &file.target {
        return Some(format!("{target}\n"));
    }
    let mut bytes = Vec::new();
    if file.size > LONGEST {
        return None;
    }
    vault.unpack(&file.sha256.0, &mut bytes).ok()?;
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

fn say(io: &mut Io, state: &[Difference], old: &Checkpoint, new: Option<&Checkpoint>) -> anyhow::Result<()> {
    for one in state {
        writeln!(io.out, "{}  {} -> {}", one.at, clean(&one.old.to_string()), clean(&one.new.to_string()))?;
    }
    let Some(new) = new else { return Ok(()) };
    let (was, is) = (tokens(old), tokens(new));
    if was != is {
        writeln!(io.out, "tokens  {was} -> {is}")?;
    }
    Ok(writeln!(io.out, "{} later", time::age(between(old, new).abs()))?)
}
