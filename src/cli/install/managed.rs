//! `install --managed BUNDLE`: an administrator's bundle, and the settings that register our hooks for
//! everybody in each client.
//!
//! Reads the bundle and what is installed; writes below the administrator's folders, as root or below another
//! root. Invariants:
//! nothing is written before the bundle was judged; foreign entries stay; installing twice changes nothing,
//! and repairs what was removed.

use super::claude::command;
use super::receipt::quote_path;
use super::steps::{Readers, Step, Steps, read_settings, unreadable};
use crate::cli::bundle::{described, judge, keys, read, revoke};
use crate::cli::{Io, refused, text};
use anyhow::Context;
use aops_core::config::bundle::{self, Bundle};
use aops_core::config::in_force::CONFIG_FILE;
use aops_core::config::policy::{self, Source};
use aops_core::config::texts::{self, Kind};
use aops_core::host::MANAGED_LINK as LINK;
use aops_core::host::claude::settings::prefix::with_prefix;
use aops_core::host::contract::{ForEverybody, Host};
use aops_core::host::table::{HOSTS, adapter};
use aops_core::model::client::Client;
use aops_core::system::env::{below_root, system_folder, system_root};
use aops_core::system::files;
use aops_proof::key::PublicKey;
use clap::ArgMatches;
use policy::jail::JailLevel;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub(super) const MANAGED: &str = "managed";
pub(super) const ROOT: &str = "root";

/// The administrator's folders of this machine, or below another root.
struct Ground {
    root: PathBuf,
    folder: PathBuf,
    claude: PathBuf,
}

impl Ground {
    fn of(given: &ArgMatches, io: &Io) -> anyhow::Result<Self> {
        let root = text(given, ROOT).map_or_else(system_root, |root| io.env.from_here(Path::new(root)));
        if root == Path::new("/") && !rustix::process::geteuid().is_root() {
            return refused(
                "the administrator's folders belong to root\n\
                hint: run it with `sudo`, or with `--root FOLDER` for an image",
            );
        }
        let folder = system_folder(&root, "aops-hook", "aops-hook");
        Ok(Self { claude: system_folder(&root, "claude-code", "ClaudeCode"), folder, root })
    }

    fn agents(&self) -> PathBuf {
        self.claude.join(".claude/agents/aops-hook")
    }

    /// The link through which other clients run us. They would also run a person's own hooks; the link shows
    /// which hooks are the administrator's.
    fn link(&self) -> PathBuf {
        self.folder.join(LINK)
    }

    /// The path of our file as clients will see it.
    fn seen(&self, path: &Path) -> String {
        format!("/{}", path.strip_prefix(&self.root).unwrap_or(path).display())
    }

    /// Our own files, apart from those that depend on a client other than Claude Code.
    fn own_files(&self) -> [PathBuf; 3] {
        [
            self.claude.join("managed-settings.d/aops-hook.json"),
            self.folder.join(bundle::FILE),
            self.folder.join(bundle::KEYS),
        ]
    }

    /// What each other client reads, and how.
    fn of_clients(&self) -> impl Iterator<Item = (&'static dyn Host, PathBuf, ForEverybody)> {
        let hosts = HOSTS.into_iter().map(|host| (host, self.file_of(host), host.for_everybody()));
        hosts.filter(|(_, _, how)| !matches!(how, ForEverybody::No))
    }

    fn file_of(&self, host: &dyn Host) -> PathBuf {
        below_root(&self.root, Path::new(host.row().managed))
    }

    /// The path of one of our files that a client's list names, and its URL in that list.
    fn listed(&self, name: &str) -> (PathBuf, String) {
        let path = self.folder.join(name);
        let address = format!("file://{}", self.seen(&path));
        (path, address)
    }
}

/// The steps that install it for everybody, and what a person should know.
#[derive(Default)]
struct Plan {
    steps: Steps,
    notes: Vec<String>,
}

impl Plan {
    fn make(
        ground: &Ground,
        program: &str,
        file: &str,
        bundle: &Bundle,
        keys: &[PublicKey],
    ) -> anyhow::Result<Self> {
        let [claude, place, list] = ground.own_files();
        let lines: Vec<String> = keys.iter().map(ToString::to_string).collect();
        let mut plan = Self::default();
        plan.put(&list, lines.join("\n") + "\n")?;
        plan.put(&place, file.to_owned())?;
        let stale = plan.agents(ground, bundle)?;
        let settings =
            adapter(Client::default()).register("", program).map_err(|error| unreadable(&claude, &error))?;
        let settings = if is_jailed(bundle)? {
            with_prefix(&settings, program).map_err(|error| unreadable(&claude, &error))?
        } else {
            settings
        };
        plan.put(&claude, settings)?;
        // On macOS, we have not verified where the other clients look.
        if cfg!(target_os = "linux") {
            for (host, path, how) in ground.of_clients() {
                plan.client(ground, host, &path, how)?;
            }
        }
        plan.steps.list.push(Step::link(ground.link(), program.into()));
        plan.steps.list.extend(stale.into_iter().map(Step::remove_at));
        let is_roots = fs::metadata(program).is_ok_and(|about| about.uid() == 0 && about.mode() & 0o022 == 0);
        if !is_roots {
            plan.notes.push(format!(
                "`{program}` can be written by others than root, who then decide what the hooks do"
            ));
        }
        Ok(plan)
    }

    fn put(&mut self, path: &Path, text: String) -> anyhow::Result<()> {
        let found = files::find(path).with_context(|| quote_path(path))?;
        self.steps.list.push(Step::write(found, text, Readers::Everybody));
        Ok(())
    }

    /// Registers us in another client for everybody.
    fn client(
        &mut self,
        ground: &Ground,
        host: &dyn Host,
        path: &Path,
        how: ForEverybody,
    ) -> anyhow::Result<()> {
        let link = ground.seen(&ground.link());
        let register = |path: &Path, old: &str| {
            host.register_for_everybody(old, &link).map_err(|error| unreadable(path, &error))
        };
        match how {
            ForEverybody::No => Ok(()),
            ForEverybody::Own => self.put(path, register(path, "")?),
            ForEverybody::Shared => {
                let (found, old) = read_settings(path)?;
                self.put(&found.path, register(path, &old)?)
            }
            ForEverybody::Listed { name, list, has } => {
                let (own, address) = ground.listed(name);
                self.put(&own, register(&own, "")?)?;
                let (found, old) = read_settings(path)?;
                match found.bytes {
                    None => self.put(&found.path, list(&address))?,
                    Some(_) if has(&old, &address) => {}
                    Some(_) => {
                        let path = quote_path(&found.path);
                        self.notes.push(format!(
                            "{path} is not ours and was left unchanged: add {address:?} to its `plugin`"
                        ));
                    }
                }
                Ok(())
            }
        }
    }

    /// Our agents for Claude Code; the bundle's replace the shipped ones. Returns the existing ones that are
    /// removed.
    fn agents(&mut self, ground: &Ground, bundle: &Bundle) -> anyhow::Result<Vec<PathBuf>> {
        let shipped = texts::placed().filter(|asset| asset.kind() == Kind::Agent);
        let mut all: BTreeMap<&str, &str> = shipped.map(|asset| (asset.path, asset.text)).collect();
        all.extend(bundle.files.iter().map(|(path, file)| (path.as_str(), file.text.as_str())));
        let all = all.into_iter().filter_map(|(path, text)| Some((path.strip_prefix("agents/")?, text)));
        let folder = ground.agents();
        let files: Vec<_> = all.map(|(name, text)| (folder.join(name), text.to_owned())).collect();
        let there = fs::read_dir(folder).into_iter().flatten().flatten().map(|item| item.path());
        let stale = there.filter(|path| files.iter().all(|(known, _)| known != path)).collect();
        files.into_iter().try_for_each(|(path, text)| self.put(&path, text))?;
        Ok(stale)
    }

    /// The files that differ from what they should be.
    fn written(&self) -> Vec<String> {
        let texts = self.steps.list.iter().filter(|step| step.text().is_some() && step.changes());
        texts.map(Step::path).collect()
    }
}

/// Whether the bundle's configuration makes the client start shell commands through us.
fn is_jailed(bundle: &Bundle) -> anyhow::Result<bool> {
    let file = bundle.file(CONFIG_FILE);
    let source = bundle.files.get(CONFIG_FILE).map(|config| Source { file: &file, text: &config.text });
    match policy::read(source, None) {
        Ok((policy, _)) => Ok(cfg!(target_os = "linux") && policy.jail.level != JailLevel::Off),
        Err(problems) => refused(format!(
            "this version of aops-hook cannot read the bundle: {}\n\
            hint: nothing was changed; upgrade aops-hook here, or make the bundle again",
            problems.first().map(ToString::to_string).unwrap_or_default()
        )),
    }
}

pub(super) fn install(name: &str, given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let ground = Ground::of(given, io)?;
    let dry_run = given.get_flag("dry-run");
    let revoked = revoke(io.env, name, &ground.folder, dry_run)?;
    let file = read(io.env, name)?;
    let keys = keys(given, &ground.folder)?;
    let (bundle, signer) = judge(name, &file, &keys, &ground.folder)?;
    let plan = Plan::make(&ground, &command(io.env)?, &file, &bundle, &keys)?;
    let written = plan.written();
    let changed = plan.steps.changes();
    if !dry_run {
        plan.steps.carry_out(io.env)?;
    }
    let value = json!({
        "bundle": described(&bundle), "signer": signer, "changed": changed, "written": written,
        "notes": plan.notes, "revoked": revoked, "dry_run": dry_run,
    });
    let runs = match (dry_run, changed) {
        (true, _) => "would run",
        (false, true) => "runs",
        (false, false) => "already runs",
    };
    let mut lines =
        vec![format!("this machine {runs} `{}` {}, signed by `{signer}`", bundle.name, bundle.version)];
    let verb = if dry_run { "would write" } else { "wrote" };
    lines.extend(written.iter().map(|path| format!("{verb} `{path}`")));
    lines.extend(plan.notes.iter().map(|note| format!("note: {note}")));
    io.answer(&value, lines.join("\n"))
}

pub(super) fn uninstall(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let ground = Ground::of(given, io)?;
    let dry_run = given.get_flag("dry-run");
    let there = fs::read_dir(ground.agents()).into_iter().flatten().flatten().map(|item| item.path());
    let own = there.chain(ground.own_files()).chain([ground.link()]);
    let mut list: Vec<Step> = own.map(Step::remove_at).collect();
    for (host, path, how) in ground.of_clients() {
        list.extend(taken_back(&ground, host, path, how)?);
    }
    list.retain(Step::changes);
    let (gone, edited): (Vec<&Step>, Vec<&Step>) = list.iter().partition(|step| step.is_gone());
    let paths = |steps: &[&Step]| steps.iter().map(|step| step.found.path.clone()).collect::<Vec<_>>();
    let gone = paths(&gone);
    let edited = paths(&edited);
    if !dry_run {
        Steps { list, ..Steps::default() }.carry_out(io.env)?;
        for folder in [ground.agents(), ground.folder] {
            let _ = fs::remove_dir(folder);
        }
    }
    let would = if dry_run { "would be " } else { "" };
    let mut lines: Vec<String> =
        gone.iter().map(|path| format!("{would}removed: {}", quote_path(path))).collect();
    lines.extend(edited.iter().map(|path| format!("hooks {would}removed from {}", quote_path(path))));
    lines.extend(lines.is_empty().then(|| "this machine runs no bundle".to_owned()));
    io.answer(&json!({"removed": gone, "edited": edited, "dry_run": dry_run}), lines.join("\n"))
}

/// Removes our hooks from another client.
fn taken_back(
    ground: &Ground,
    host: &dyn Host,
    path: PathBuf,
    how: ForEverybody,
) -> anyhow::Result<Vec<Step>> {
    match how {
        ForEverybody::No => Ok(Vec::new()),
        ForEverybody::Own => Ok(vec![Step::remove_at(path)]),
        ForEverybody::Shared => {
            let (found, old) = read_settings(&path)?;
            let new = host.unregister(&old, None).map_err(|error| unreadable(&path, &error))?;
            let is_empty = matches!(new.split_whitespace().collect::<String>().as_str(), "{}" | "");
            Ok(match new {
                new if new == old => Vec::new(),
                _ if is_empty => vec![Step::remove_at(found.path)],
                new => vec![Step::write(found, new, Readers::Everybody)],
            })
        }
        ForEverybody::Listed { name, list, .. } => {
            let (own, address) = ground.listed(name);
            let is_ours = files::read_text(&path).is_ok_and(|text| text == list(&address));
            let list_of_ours = is_ours.then_some(path).into_iter();
            Ok([own].into_iter().chain(list_of_ours).map(Step::remove_at).collect())
        }
    }
}
