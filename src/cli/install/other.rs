//! `install --client NAME` for another client than Claude Code: what registers us there, and our agents in
//! its form.
//!
//! Reads and writes these below the client's folder and a receipt of its own. Invariants: foreign content
//! stays byte for byte; a foreign agent of our name is never written over; installing twice changes nothing;
//! `uninstall` removes only what is ours, and restores files that were not edited since.

use super::kept::describe_kept;
use super::plan::{command, read_settings, refuse_foreign, unreadable, writable};
use super::question;
use super::receipt::{Edited, Placed, Receipt, back_up, quote_path};
use crate::cli::Io;
use anyhow::{Context, bail};
use aops_core::host::codex::{hooks, trust};
use aops_core::host::{self, agents, table};
use aops_core::model::client::Client;
use aops_core::observe::own_changes;
use aops_core::proof::keys::Keys;
use aops_core::proof::life;
use aops_core::system::env::Env;
use aops_core::system::files::{self, Found};
use aops_core::text::diff::unified;
use aops_core::text::sha256::sha256;
use clap::ArgMatches;
use serde_json::json;
use std::path::Path;

/// One file and what becomes of it; nothing: it is removed.
struct Step {
    found: Found,
    new: Option<String>,
    /// Not ours alone: a copy of what it was is kept.
    shared: bool,
}

impl Step {
    fn old(&self) -> String {
        String::from_utf8_lossy(self.found.bytes.as_deref().unwrap_or_default()).into_owned()
    }

    fn changes(&self) -> bool {
        self.found.bytes.as_deref() != self.new.as_ref().map(String::as_bytes)
    }

    fn diff(&self) -> String {
        let path = self.found.path.display().to_string();
        let name = |there: bool| if there { path.clone() } else { "/dev/null".to_owned() };
        let new = self.new.clone().unwrap_or_default();
        unified(&name(self.found.bytes.is_some()), &name(self.new.is_some()), &self.old(), &new)
    }

    fn carry_out(&self) -> anyhow::Result<()> {
        let done = match &self.new {
            _ if !self.changes() => Ok(()),
            Some(new) => self.found.replace(new.as_bytes(), 0o600),
            None => self.found.remove(),
        };
        done.with_context(|| quote_path(&self.found.path))
    }
}

struct Plan {
    steps: Vec<Step>,
    receipt: Receipt,
    hooks: String,
    changes: bool,
    agents: usize,
    /// Files that were edited since, and so stay.
    left: Vec<String>,
}

impl Plan {
    fn diff(&self) -> String {
        self.steps.iter().filter(|step| step.changes()).map(Step::diff).collect()
    }

    fn carry_out(mut self, env: &Env) -> anyhow::Result<()> {
        self.receipt.make_folders(&env.config.join("aops/backup"), 0o700)?;
        for step in self.steps.iter().filter(|step| step.changes() && step.new.is_some()) {
            self.receipt.make_folders(step.found.path.parent().unwrap_or(&env.config), 0o700)?;
        }
        for step in self.steps.iter().filter(|step| step.changes()) {
            own_changes::announce(env, &step.found.path, step.new.as_ref().map(String::as_bytes));
        }
        for step in self.steps.iter().filter(|step| step.shared) {
            enter(env, &mut self.receipt, step)?;
        }
        if self.receipt.settings.is_empty() {
            self.steps.iter().try_for_each(Step::carry_out)?;
            return self.receipt.close(env);
        }
        self.receipt.write(env)?;
        self.steps.iter().try_for_each(Step::carry_out)
    }
}

/// What an installation does.
fn plan_install(env: &Env, client: Client) -> anyhow::Result<Plan> {
    let program = command(env)?;
    let folder = env.folder_of(client);
    let mut receipt = Receipt::read_of(env, client.name())?;
    receipt.client_program = env.on_path(client.name()).or(receipt.client_program);
    let (file, old) = read_settings(&folder.join(table::host(client).registration))?;
    let new = host::register(client, &old, &program).map_err(|error| unreadable(&file.path, &error))?;
    let path = file.path.display().to_string();
    let mut steps = trusting(env, client, &path, &old, &new)?;
    steps.push(Step { found: file, new: Some(new), shared: true });
    let texts = place(env, client, &mut receipt)?;
    let agents = texts.iter().filter(|step| step.changes()).count();
    steps.splice(0..0, texts);
    check(steps, receipt, path, agents, Vec::new())
}

/// Codex runs only hooks that its configuration trusts. `path`: what registers us, from `old` to `new`.
fn trusting(env: &Env, client: Client, path: &str, old: &str, new: &str) -> anyhow::Result<Vec<Step>> {
    if client != Client::Codex {
        return Ok(Vec::new());
    }
    let (config, text) = read_settings(&env.folder_of(client).join("config.toml"))?;
    if let Err(error) = toml::de::DeTable::parse(&text) {
        bail!(
            "{} cannot be read: {error}\nhint: nothing was changed; mend it, then install again",
            quote_path(&config.path)
        );
    }
    let stale = hooks::trusts(old, path).unwrap_or_default();
    let trusts = hooks::trusts(new, path).unwrap_or_default();
    let trusting = trust::with(&trust::without(&text, &stale), &trusts);
    Ok(vec![Step { found: config, new: Some(trusting), shared: true }])
}

fn check(steps: Vec<Step>, receipt: Receipt, hooks: String, agents: usize, left: Vec<String>) -> anyhow::Result<Plan> {
    for step in steps.iter().filter(|step| step.changes()) {
        writable(&step.found)?;
    }
    let changes = steps.iter().any(Step::changes);
    Ok(Plan { steps, receipt, hooks, changes, agents, left })
}

/// Enters an edited file in the receipt, with a copy of what it was.
fn enter(env: &Env, receipt: &mut Receipt, step: &Step) -> anyhow::Result<()> {
    let path = step.found.path.clone();
    let known = receipt.edited(&path).cloned();
    let original = match known {
        Some(known) => known.original,
        None => step.found.bytes.as_ref().map(|bytes| back_up(env, &path, bytes)).transpose()?,
    };
    let wrote_sha256 = sha256(&[step.new.as_deref().unwrap_or_default().as_bytes()]);
    receipt.settings.retain(|edited| edited.path != path);
    receipt.settings.push(Edited { path, wrote_sha256, original });
    Ok(())
}

/// Our agents; refused where a foreign file has the name.
fn place(env: &Env, client: Client, receipt: &mut Receipt) -> anyhow::Result<Vec<Step>> {
    let mut steps = Vec::new();
    let mut foreign = Vec::new();
    for (name, text) in agents::files(client) {
        let folder = env.folder_of(client);
        let found = files::find(&folder.join(name)).with_context(|| quote_path(folder))?;
        let is_foreign =
            found.bytes.as_ref().is_some_and(|bytes| bytes != text.as_bytes()) && !receipt.placed(&found.path);
        if is_foreign {
            foreign.push(quote_path(&found.path));
            continue;
        }
        receipt.files.retain(|placed| placed.path != found.path);
        receipt.files.push(Placed::new(found.path.clone(), &text, None));
        steps.push(Step { found, new: Some(text), shared: false });
    }
    refuse_foreign(&foreign)?;
    Ok(steps)
}

/// What an uninstallation does.
fn plan_uninstall(env: &Env, client: Client) -> anyhow::Result<Plan> {
    let mut receipt = Receipt::read_of(env, client.name())?;
    let folder = env.folder_of(client);
    let (file, old) = read_settings(&folder.join(table::host(client).registration))?;
    let path = file.path.display().to_string();
    let mut steps = Vec::new();
    if client == Client::Codex {
        let (config, text) = read_settings(&folder.join("config.toml"))?;
        let trusts = hooks::trusts(&old, &path).unwrap_or_default();
        let new = restored(&receipt, &config, || Ok(trust::without(&text, &trusts)))?;
        steps.push(Step { found: config, new, shared: false });
    }
    let new = restored(&receipt, &file, || {
        let original = receipt.edited(&file.path).and_then(|edited| edited.original().ok().flatten());
        host::unregister(client, &old, original.as_deref()).map_err(|error| unreadable(&file.path, &error))
    })?;
    steps.push(Step { found: file, new, shared: false });
    let registered = steps.len();
    let mut left = Vec::new();
    for placed in &receipt.files {
        let found = files::find(&placed.path).with_context(|| quote_path(&placed.path))?;
        match &found.bytes {
            None => {}
            Some(_) if placed.untouched(&found) => steps.push(Step { found, new: None, shared: false }),
            Some(_) => left.push(quote_path(&found.path)),
        }
    }
    let agents = steps.len() - registered;
    receipt.settings = Vec::new();
    receipt.files = Vec::new();
    check(steps, receipt, path, agents, left)
}

/// The file as it was, where it was not edited since; else without what is ours.
fn restored(
    receipt: &Receipt,
    found: &Found,
    without: impl FnOnce() -> anyhow::Result<String>,
) -> anyhow::Result<Option<String>> {
    if found.bytes.is_none() {
        return Ok(None);
    }
    let edited = receipt.edited(&found.path);
    if let Some(original) = edited.filter(|edited| edited.untouched(found)).and_then(|edited| edited.original().ok()) {
        return Ok(original);
    }
    let text = without()?;
    let was_absent = edited.is_some_and(|edited| edited.original.is_none());
    let blank = text.split_whitespace().collect::<String>();
    Ok(Some(text).filter(|_| !(was_absent && (blank.is_empty() || blank == "{}"))))
}

/// Runs `install --client NAME`.
pub(super) fn install(client: Client, given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let plan = plan_install(io.env, client)?;
    let mode = question::change(given, io)?;
    let dry_run = given.get_flag("dry-run");
    let hooks = quote_path(Path::new(&plan.hooks));
    let diff = plan.diff();
    let value = json!({"client": client.name(), "settings": plan.hooks, "changed": plan.changes,
    "dry_run": dry_run, "diff": diff});
    let done = if plan.changes { "registered" } else { "already registered" };
    let trusted = if client == Client::Codex { ", trusted in its `config.toml`" } else { "" };
    let mut lines = vec![format!("{done} for {} in {hooks}{trusted}", table::host(client).title)];
    if plan.agents > 0 {
        let folder = io.env.folder_of(client).join("agents");
        lines.push(format!("wrote {} agents to {}", plan.agents, quote_path(&folder)));
    }
    if dry_run {
        let nothing = format!("nothing to change: registered in {hooks}");
        let words = if plan.changes { diff } else { nothing };
        return io.answer(&value, words.trim_end());
    }
    plan.carry_out(io.env)?;
    if let Some(mode) = &mode {
        mode.carry_out(io.env)?;
        lines.push(mode.outcome());
    }
    if Keys::open(io.env)?.is_none() {
        life::begin(io.env, None, None)?;
    }
    io.answer(&value, lines.join("\n"))
}

/// Runs `uninstall --client NAME`.
pub(super) fn uninstall(client: Client, given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let plan = plan_uninstall(io.env, client)?;
    let dry_run = given.get_flag("dry-run");
    let hooks = quote_path(Path::new(&plan.hooks));
    let diff = plan.diff();
    let value = json!({"client": client.name(), "settings": plan.hooks, "changed": plan.changes,
    "dry_run": dry_run, "diff": diff});
    let would = if dry_run { "would be " } else { "" };
    let done =
        if plan.changes { format!("hooks {would}removed from {hooks}") } else { format!("not registered in {hooks}") };
    let agents = (plan.agents > 0).then(|| format!("{} agents {would}removed", plan.agents));
    let left = plan.left.iter().map(|path| format!("left {path}: it was edited"));
    let lines: Vec<String> = std::iter::once(done).chain(agents).chain(left).collect();
    if !dry_run && plan.changes {
        plan.carry_out(io.env)?;
    }
    let shown = if dry_run { diff } else { String::new() };
    io.answer(&value, format!("{shown}{}{}", lines.join("\n"), describe_kept(io.env)))
}
