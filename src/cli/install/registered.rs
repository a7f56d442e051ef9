//! The steps of `install --client NAME` for a client other than Claude Code: our registration there, and our
//! agents in its format.
//!
//! Reads these below the client's folder and a receipt of its own; writes nothing. Invariants: foreign
//! content stays byte for byte; a foreign agent with our name is never overwritten; installing twice changes
//! nothing; `uninstall` removes only what is ours, and restores files that were not edited since.

use super::claude::command;
use super::kept::describe_kept;
use super::question;
use super::receipt::{Placed, Receipt, quote_path};
use super::steps::{Readers, Step, Steps, own_texts, placed_texts, read_settings, taken_back, unreadable};
use crate::cli::Io;
use aops_core::host::agents;
use aops_core::host::contract::Companion;
use aops_core::host::table::{adapter, host};
use aops_core::model::client::Client;
use aops_core::proof::keys::Keys;
use aops_core::proof::life;
use aops_core::system::env::Env;
use aops_core::system::files::Found;
use clap::ArgMatches;
use serde_json::json;
use std::path::PathBuf;

struct Plan {
    steps: Steps,
    hooks: PathBuf,
    agents: usize,
}

/// The file that registers us in a client, and its companion file.
struct Registration {
    client: Client,
    file: Found,
    text: String,
    companion: Option<(Found, String)>,
}

impl Registration {
    fn read(env: &Env, client: Client) -> anyhow::Result<Self> {
        let folder = env.folder_of(client);
        let (file, text) = read_settings(&folder.join(host(client).registration))?;
        let companion =
            adapter(client).companion().map(|Companion { file, .. }| read_settings(&folder.join(file)));
        Ok(Self { client, file, text, companion: companion.transpose()? })
    }

    /// The text without our entries. `original`: the text before the installation.
    fn without(&self, original: Option<&str>) -> anyhow::Result<String> {
        let text = adapter(self.client).unregister(&self.text, original);
        text.map_err(|error| unreadable(&self.file.path, &error))
    }

    /// The companion's text that matches the new registration.
    fn accompanied(&self, companion: &(Found, String), new: &str) -> anyhow::Result<String> {
        let (found, text) = companion;
        let path = self.file.path.display().to_string();
        adapter(self.client).accompany(text, &path, &self.text, new).map_err(|error| {
            let path = quote_path(&found.path);
            anyhow::anyhow!(
                "{path} cannot be read: {error}\nhint: nothing was changed; fix it, then install again"
            )
        })
    }
}

fn plan_install(env: &Env, client: Client) -> anyhow::Result<Plan> {
    let program = command(env)?;
    let mut receipt = Receipt::read_of(env, client.name())?;
    receipt.client_program = env.on_path(client.name()).or(receipt.client_program);
    let registration = Registration::read(env, client)?;
    let hooks = registration.file.path.clone();
    let new =
        adapter(client).register(&registration.text, &program).map_err(|error| unreadable(&hooks, &error))?;
    let mut list = place(env, client, &mut receipt)?;
    let agents = list.iter().filter(|step| step.changes()).count();
    let before = receipt.edited(&hooks).and_then(|known| known.original().ok().flatten());
    let without = registration.without(before.as_deref())?;
    if let Some(companion) = &registration.companion {
        let trusting = registration.accompanied(companion, &new)?;
        let plain = registration.accompanied(companion, &without)?;
        list.push(Step::merge(companion.0.clone(), trusting, plain, Readers::Own));
    }
    list.push(Step::merge(registration.file, new, without, Readers::Own));
    let steps = Steps { list, receipt: Some(receipt), ..Steps::default() }.check()?;
    Ok(Plan { steps, hooks, agents })
}

/// Places our agents; refused if a foreign file has the name.
fn place(env: &Env, client: Client, receipt: &mut Receipt) -> anyhow::Result<Vec<Step>> {
    let files = agents::files(client).into_iter();
    let texts = files.map(|(name, text)| (env.folder_of(client).join(name), text, Readers::Own));
    let steps = own_texts(texts, receipt)?;
    for step in &steps {
        let placed = Placed::new(step.found.path.clone(), step.text().unwrap_or_default(), None);
        receipt.files.retain(|old| old.path != placed.path);
        receipt.files.push(placed);
    }
    Ok(steps.into_iter().map(Step::announced).collect())
}

fn plan_uninstall(env: &Env, client: Client) -> anyhow::Result<Plan> {
    let mut receipt = Receipt::read_of(env, client.name())?;
    let registration = Registration::read(env, client)?;
    let hooks = registration.file.path.clone();
    let mut list = Vec::new();
    let mut needless = Vec::new();
    if let Some(companion) = &registration.companion {
        let plain = |_: Option<&str>| registration.accompanied(companion, &registration.without(None)?);
        let back = taken_back(&receipt, companion.0.clone(), Readers::Own, plain)?;
        list.push(back.step);
        needless.extend(back.copy);
    }
    let without = |original: Option<&str>| registration.without(original);
    let back = taken_back(&receipt, registration.file.clone(), Readers::Own, without)?;
    list.push(back.step);
    needless.extend(back.copy);
    let (texts, left) = placed_texts(receipt.files.iter())?;
    let agents = texts.len();
    list.extend(texts.into_iter().map(Step::announced));
    receipt.settings.clear();
    receipt.files.clear();
    let steps = Steps {
        list,
        receipt: Some(receipt),
        takes_back: true,
        needless,
        restores: back.is_exact,
        left,
        ..Steps::default()
    }
    .check()?;
    Ok(Plan { steps, hooks, agents })
}

pub(super) fn install(client: Client, given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let plan = plan_install(io.env, client)?;
    let mode = question::change(given, io)?;
    let dry_run = given.get_flag("dry-run");
    let hooks = quote_path(&plan.hooks);
    let diff = plan.steps.diff();
    let changes = plan.steps.changes();
    let value = json!({
        "client": client.name(), "settings": plan.hooks, "changed": changes, "dry_run": dry_run, "diff": diff,
    });
    let done = if changes { "registered" } else { "already registered" };
    let trusted = adapter(client).companion().map_or("", |companion| companion.said);
    let mut lines = vec![format!("{done} for {} in {hooks}{trusted}", host(client).title)];
    if plan.agents > 0 {
        let folder = io.env.folder_of(client).join("agents");
        lines.push(format!("wrote {} agents to {}", plan.agents, quote_path(&folder)));
    }
    if dry_run {
        let nothing = format!("nothing to change: registered in {hooks}");
        let words = if changes { diff } else { nothing };
        return io.answer(&value, words.trim_end());
    }
    plan.steps.carry_out(io.env)?;
    if let Some(mode) = &mode {
        mode.carry_out(io.env)?;
        lines.push(mode.outcome());
    }
    if Keys::open(io.env)?.is_none() {
        life::begin(io.env, None, None)?;
    }
    io.answer(&value, lines.join("\n"))
}

pub(super) fn uninstall(client: Client, given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let plan = plan_uninstall(io.env, client)?;
    let dry_run = given.get_flag("dry-run");
    let hooks = quote_path(&plan.hooks);
    let diff = plan.steps.diff();
    let changes = plan.steps.changes();
    let value = json!({
        "client": client.name(), "settings": plan.hooks, "changed": changes, "dry_run": dry_run, "diff": diff,
    });
    let would = if dry_run { "would be " } else { "" };
    let done = if changes {
        format!("hooks {would}removed from {hooks}")
    } else {
        format!("not registered in {hooks}")
    };
    let agents = (plan.agents > 0).then(|| format!("{} agents {would}removed", plan.agents));
    let left = plan.steps.left.iter().map(|path| format!("left {}: it was edited", quote_path(path)));
    let lines: Vec<String> = std::iter::once(done).chain(agents).chain(left).collect();
    if !dry_run && changes {
        plan.steps.carry_out(io.env)?;
    }
    let shown = if dry_run { diff } else { String::new() };
    io.answer(&value, format!("{shown}{}{}", lines.join("\n"), describe_kept(io.env)))
}
