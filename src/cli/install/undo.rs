//! Decides what an uninstallation removes, restores and leaves, before it does any of it.
//!
//! Reads the settings file, the receipt and our texts; writes the same. Invariant: an edit since the
//! installation stays.

use super::plan::{read_settings, unreadable, writable};
use super::receipt::{Edited, Receipt, quote_path};
use super::{Level, paths};
use anyhow::Context;
use aops_core::host::claude::settings::unregister;
use aops_core::observe::own_changes;
use aops_core::proof::life;
use aops_core::system::env::Env;
use aops_core::system::files::{self, Found};
use aops_core::text::diff::unified;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// What an uninstallation does.
pub(super) struct Undo {
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
    pub(super) fn make(env: &Env, level: Level) -> anyhow::Result<Self> {
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
        let (texts, left) = texts(&receipt, &settings.path)?;
        let needless: Vec<PathBuf> = receipt.needless(&settings.path).map(|placed| placed.path.clone()).collect();
        receipt.settings.retain(|other| other.path != settings.path);
        receipt.files.retain(|placed| !needless.contains(&placed.path));
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

    pub(super) fn to_json(&self, dry_run: bool) -> Value {
        json!({
            "settings": self.settings.path, "changed": self.changed(), "restored": self.exact,
            "removed": paths(&self.texts), "left": paths(&self.left), "dry_run": dry_run, "diff": self.diff(),
        })
    }

    pub(super) fn words(&self, dry_run: bool) -> String {
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

    pub(super) fn carry_out(self, env: &Env) -> anyhow::Result<()> {
        let context = || quote_path(&self.settings.path);
        if self.changed() {
            own_changes::announce(env, &self.settings.path, self.new.as_ref().map(String::as_bytes));
        }
        match &self.new {
            Some(new) if self.changed() => self.settings.replace(new.as_bytes(), 0o666),
            None if self.changed() => self.settings.remove(),
            _ => Ok(()),
        }
        .with_context(context)?;
        for found in &self.texts {
            found.remove().with_context(|| quote_path(&found.path))?;
        }
        if let Some(copy) = self.edited.filter(|_| self.exact).and_then(|edited| edited.original)
            && self.receipt.settings.iter().all(|other| other.original.as_ref() != Some(&copy))
        {
            let _ = fs::remove_file(copy);
        }
        if self.receipt.settings.is_empty() {
            life::forget_unused(env)?;
        }
        self.receipt.close(env)
    }
}

/// The placed texts that are unchanged, and those that were edited.
fn texts(receipt: &Receipt, gone: &Path) -> anyhow::Result<(Vec<Found>, Vec<Found>)> {
    let mut ours = Vec::new();
    let mut left = Vec::new();
    for placed in receipt.needless(gone) {
        let found = files::find(&placed.path).with_context(|| quote_path(&placed.path))?;
        if found.bytes.is_some() {
            if placed.untouched(&found) { &mut ours } else { &mut left }.push(found);
        }
    }
    Ok((ours, left))
}
