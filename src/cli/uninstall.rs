//! Removes our entries from a settings file, and the agents and commands beside it.
//!
//! Reads the receipt; writes the settings file and the client's folder. Invariant: edits since the installation stay:
//! from an edited settings file only our entries are removed, and an edited agent or command is left.

use super::install::plan::{named, read_settings, unreadable, writable};
use super::install::{Level, dry_run};
use super::{Command, Io};
use crate::claude::settings::unregister;
use crate::cli::install::receipt::{Edited, Receipt};
use crate::system::env::Env;
use crate::system::files::{self, Found};
use crate::text::diff::unified;
use anyhow::Context;
use clap::ArgMatches;
use serde_json::{Value, json};
use std::fs;

pub const COMMAND: Command = Command {
    name: "uninstall",
    about: "Remove the hooks from Claude Code's settings, byte for byte; ledgers and reports stay",
    examples: &[
        ("aops-hook uninstall", "For this user"),
        ("aops-hook uninstall --project", "For this project"),
        ("aops-hook uninstall --dry-run", "Show what would change, change nothing"),
    ],
    arguments: |row| Level::arguments(row).arg(dry_run()),
    run,
};

fn run(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let undo = Undo::make(io.env, Level::given(given))?;
    let dry_run = given.get_flag("dry-run");
    let (value, words) = (undo.to_json(dry_run), undo.words(dry_run));
    if !dry_run {
        undo.carry_out(io.env)?;
    }
    io.answer(&value, words.trim_end())
}

/// One removal, decided.
struct Undo {
    settings: Found,
    old: String,
    /// Nothing: the file is removed.
    new: Option<String>,
    edited: Option<Edited>,
    /// The original came back to the byte, so its copy is not needed any more.
    exact: bool,
    texts: Vec<Found>,
    /// Edited since, so left.
    left: Vec<Found>,
    receipt: Receipt,
}

impl Undo {
    fn make(env: &Env, level: Level) -> anyhow::Result<Self> {
        let mut receipt = Receipt::read(env)?;
        let (settings, old) = read_settings(&level.path(env))?;
        let edited = receipt.edited(&settings.path).cloned();
        let exact = edited.as_ref().filter(|edited| edited.untouched(&settings));
        let exact = exact.and_then(|edited| edited.original().ok());
        let is_exact = exact.is_some();
        let new = match exact {
            Some(original) => original,
            None => Self::without(&settings, &old, edited.as_ref())?,
        };
        receipt.settings.retain(|other| other.path != settings.path);
        let (texts, left) = if receipt.settings.is_empty() { texts(&receipt)? } else { Default::default() };
        let changed = settings.bytes.is_some() && new.as_ref() != Some(&old);
        for found in texts.iter().chain(changed.then_some(&settings)) {
            writable(found)?;
        }
        Ok(Self { settings, old, new, edited, exact: is_exact, texts, left, receipt })
    }

    /// The file without our entries; no file if there was none and nothing is left.
    fn without(settings: &Found, old: &str, edited: Option<&Edited>) -> anyhow::Result<Option<String>> {
        let original = edited.and_then(|edited| edited.original().ok().flatten());
        let text = unregister(old, original.as_deref()).map_err(|error| unreadable(&settings.path, &error))?;
        let was_absent = edited.is_some_and(|edited| edited.original.is_none());
        let empty = text.split_whitespace().collect::<String>() == "{}";
        Ok((!(was_absent && empty)).then_some(text))
    }

    fn changed(&self) -> bool {
        self.settings.bytes.is_some() && self.new.as_ref() != Some(&self.old)
    }

    fn diff(&self) -> String {
        let path = self.settings.path.display().to_string();
        let after = if self.new.is_some() { path.as_str() } else { "/dev/null" };
        unified(&path, after, &self.old, self.new.as_deref().unwrap_or_default())
    }

    fn to_json(&self, dry_run: bool) -> Value {
        json!({
            "settings": self.settings.path, "changed": self.changed(), "restored": self.exact,
            "removed": paths(&self.texts), "left": paths(&self.left), "dry_run": dry_run, "diff": self.diff(),
        })
    }

    fn words(&self, dry_run: bool) -> String {
        let path = self.settings.path.display();
        let would = if dry_run { "would be " } else { "" };
        let mut lines = vec![match (self.changed(), &self.new, self.exact) {
            (false, ..) => format!("not registered in `{path}`"),
            (true, None, _) => format!("`{path}` {would}removed: the installation made it"),
            (true, _, true) => format!("`{path}` {would}restored as it was before the installation"),
            (true, _, false) => format!("hooks {would}removed from `{path}`; later edits stay"),
        }];
        if !self.texts.is_empty() {
            lines.push(format!("{} agents and commands {would}removed", self.texts.len()));
        }
        lines.extend(paths(&self.left).iter().map(|path| format!("left `{path}`: it was edited")));
        let others = self.receipt.settings.iter();
        lines.extend(others.map(|other| format!("still registered in `{}`", other.path.display())));
        format!("{}{}", if dry_run { self.diff() } else { String::new() }, lines.join("\n"))
    }

    fn carry_out(mut self, env: &Env) -> anyhow::Result<()> {
        let context = || named(&self.settings.path);
        match &self.new {
            Some(new) if self.changed() => self.settings.replace(new.as_bytes(), 0o666),
            None if self.changed() => self.settings.remove(),
            _ => Ok(()),
        }
        .with_context(context)?;
        for found in &self.texts {
            found.remove().with_context(|| named(&found.path))?;
        }
        if self.receipt.settings.is_empty() {
            self.receipt.files.clear();
        }
        if let Some(copy) = self.edited.filter(|_| self.exact).and_then(|edited| edited.original)
            && self.receipt.settings.iter().all(|other| other.original.as_ref() != Some(&copy))
        {
            let _ = fs::remove_file(copy);
        }
        self.receipt.close(env)
    }
}

/// The placed texts that are unchanged, and those that were edited.
fn texts(receipt: &Receipt) -> anyhow::Result<(Vec<Found>, Vec<Found>)> {
    let (mut ours, mut left) = (Vec::new(), Vec::new());
    for placed in &receipt.files {
        let found = files::find(&placed.path).with_context(|| named(&placed.path))?;
        if found.bytes.is_some() {
            if placed.untouched(&found) { &mut ours } else { &mut left }.push(found);
        }
    }
    Ok((ours, left))
}

fn paths(found: &[Found]) -> Vec<String> {
    found.iter().map(|found| found.path.display().to_string()).collect()
}
