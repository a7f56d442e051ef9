//! `install --managed BUNDLE`: an administrator's bundle and the settings of each client that bring our hooks
//! to everybody.
//!
//! Reads the bundle and what is there; writes below the administrator's folders, as root or below another
//! root. Invariants:
//! nothing is written before the bundle was judged; foreign entries stay; installing twice changes nothing,
//! and repairs what was removed.

use super::plan::{command, read_settings, unreadable};
use super::receipt::quote_path;
use crate::cli::bundle::{described, judge, keys, read};
use crate::cli::{Io, refused, text};
use anyhow::Context;
use aops_core::config::bundle::{self, Bundle};
use aops_core::config::in_force::CONFIG_FILE;
use aops_core::config::policy::{self, Source};
use aops_core::config::texts::{self, Kind};
use aops_core::host::claude::settings::prefix::with_prefix;
use aops_core::host::{self, MANAGED_LINK as LINK, opencode::plugin::MANAGED as PLUGIN, table};
use aops_core::model::client::Client;
use aops_core::system::env::{below_root, system_folder, system_root};
use aops_core::system::files;
use aops_proof::key::PublicKey;
use clap::ArgMatches;
use policy::jail::JailLevel;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
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
                "the administrator's folders are root's\n\
                hint: run it with `sudo`, or with `--root FOLDER` for an image",
            );
        }
        let folder = system_folder(&root, "aops-hook", "aops-hook");
        Ok(Self { claude: system_folder(&root, "claude-code", "ClaudeCode"), folder, root })
    }

    fn agents(&self) -> PathBuf {
        self.claude.join(".claude/agents/aops-hook")
    }

    /// The link through which clients that would run a person's hooks too run ours: so we know whose is
    /// whose.
    fn link(&self) -> PathBuf {
        self.folder.join(LINK)
    }

    /// A file of ours as clients will see it.
    fn seen(&self, path: &Path) -> String {
        format!("/{}", path.strip_prefix(&self.root).unwrap_or(path).display())
    }

    /// The plugin's address, as OpenCode will see it.
    fn plugin(&self) -> String {
        format!("file://{}", self.seen(&self.folder.join(PLUGIN)))
    }

    fn opencode(&self) -> String {
        format!("{{\n  \"plugin\": [\n    \"{}\"\n  ]\n}}\n", self.plugin())
    }

    /// The files that are ours alone.
    fn own_files(&self) -> [PathBuf; 5] {
        [
            self.claude.join("managed-settings.d/aops-hook.json"),
            self.folder.join(PLUGIN),
            self.folder.join(bundle::FILE),
            self.folder.join(bundle::KEYS),
            self.file_of(Client::Copilot),
        ]
    }

    /// The files that others write too, by client.
    fn shared_files(&self) -> [(Client, PathBuf); 2] {
        [Client::Codex, Client::Gemini].map(|client| (client, self.file_of(client)))
    }

    fn opencode_file(&self) -> PathBuf {
        self.file_of(Client::Opencode)
    }

    fn file_of(&self, client: Client) -> PathBuf {
        below_root(&self.root, Path::new(table::host(client).managed))
    }
}

/// What is to be written, and what a person should know.
#[derive(Default)]
struct Plan {
    files: Vec<(PathBuf, String)>,
    /// Where it lies, and where it leads.
    link: (PathBuf, PathBuf),
    stale: Vec<PathBuf>,
    notes: Vec<String>,
}

impl Plan {
    fn make(ground: &Ground, program: &str, file: &str, bundle: &Bundle, keys: &[PublicKey]) -> anyhow::Result<Self> {
        let [claude, plugin, place, list, copilot] = ground.own_files();
        let lines: Vec<String> = keys.iter().map(ToString::to_string).collect();
        let mut plan = Self { link: (ground.link(), program.into()), ..Self::default() };
        plan.files.extend([(list, lines.join("\n") + "\n"), (place, file.to_owned())]);
        plan.agents(ground, bundle);
        let settings = host::register(Client::Claude, "", program).map_err(|error| unreadable(&claude, &error))?;
        let settings = if is_jailed(bundle)? {
            with_prefix(&settings, program).map_err(|error| unreadable(&claude, &error))?
        } else {
            settings
        };
        plan.files.push((claude, settings));
        // Where the others look on macOS was not measured.
        if cfg!(target_os = "linux") {
            let link = ground.seen(&ground.link());
            let register = |client, path: &Path, old: &str| {
                host::register(client, old, &link).map_err(|error| unreadable(path, &error))
            };
            plan.files.push((plugin, register(Client::Opencode, Path::new(""), "")?));
            plan.files.push((copilot, host::copilot::hooks::managed(&link)));
            for (client, path) in ground.shared_files() {
                let (found, old) = read_settings(&path)?;
                plan.files.push((found.path, register(client, &path, &old)?));
            }
            plan.opencode(ground)?;
        }
        let is_roots = fs::metadata(program).is_ok_and(|about| about.uid() == 0 && about.mode() & 0o022 == 0);
        if !is_roots {
            plan.notes.push(format!("`{program}` is not root's alone: who may write it decides what the hooks do"));
        }
        Ok(plan)
    }

    /// Our agents for Claude Code, the bundle's in the place of the shipped ones.
    fn agents(&mut self, ground: &Ground, bundle: &Bundle) {
        let shipped = texts::placed().filter(|asset| asset.kind() == Kind::Agent);
        let mut all: BTreeMap<&str, &str> = shipped.map(|asset| (asset.path, asset.text)).collect();
        all.extend(bundle.files.iter().map(|(path, file)| (path.as_str(), file.text.as_str())));
        let all = all.into_iter().filter_map(|(path, text)| Some((path.strip_prefix("agents/")?, text)));
        let folder = ground.agents();
        let files: Vec<_> = all.map(|(name, text)| (folder.join(name), text.to_owned())).collect();
        let there = fs::read_dir(folder).into_iter().flatten().flatten().map(|item| item.path());
        self.stale.extend(there.filter(|path| files.iter().all(|(known, _)| known != path)));
        self.files.extend(files);
    }

    fn opencode(&mut self, ground: &Ground) -> anyhow::Result<()> {
        let (found, old) = read_settings(&ground.opencode_file())?;
        let known = serde_json::from_str::<serde_json::Value>(&old).unwrap_or_default();
        let is_there = known["plugin"].as_array().is_some_and(|list| list.contains(&json!(ground.plugin())));
        match found.bytes {
            None => self.files.push((found.path, ground.opencode())),
            Some(_) if is_there => {}
            Some(_) => {
                let path = quote_path(&found.path);
                self.notes.push(format!("{path} is another's and was left: add {:?} to its `plugin`", ground.plugin()));
            }
        }
        Ok(())
    }

    /// The files that are not as they should be.
    fn changes(&self) -> Vec<&(PathBuf, String)> {
        let differs = |(path, text): &&(PathBuf, String)| files::read(path).ok().as_deref() != Some(text.as_bytes());
        self.files.iter().filter(differs).collect()
    }

    fn has_link(&self) -> bool {
        fs::read_link(&self.link.0).is_ok_and(|to| to == self.link.1)
    }

    fn carry_out(&self) -> anyhow::Result<()> {
        for (path, text) in self.changes() {
            put(path, text).with_context(|| quote_path(path))?;
        }
        if !self.has_link() {
            let (link, to) = &self.link;
            let _ = fs::remove_file(link);
            std::os::unix::fs::symlink(to, link).with_context(|| quote_path(link))?;
        }
        self.stale.iter().try_for_each(|path| fs::remove_file(path).with_context(|| quote_path(path)))
    }
}

/// Writes a file that everybody may read, whatever root's umask is.
fn put(path: &Path, text: &str) -> std::io::Result<()> {
    for folder in files::make_folders(path.parent().unwrap_or(Path::new("/")), 0o755)? {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    }
    let found = files::find(path)?;
    found.replace(text.as_bytes(), 0o644)?;
    if found.bytes.is_none() {
        fs::set_permissions(path, fs::Permissions::from_mode(0o644))?;
    }
    Ok(())
}

/// The client starts shell commands through us, as the bundle's configuration wants it.
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

/// Runs `install --managed BUNDLE`.
pub(super) fn install(name: &str, given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let ground = Ground::of(given, io)?;
    let file = read(io.env, name)?;
    let keys = keys(given, &ground.folder)?;
    let (bundle, signer) = judge(name, &file, &keys, &ground.folder)?;
    let plan = Plan::make(&ground, &command(io.env)?, &file, &bundle, &keys)?;
    let dry_run = given.get_flag("dry-run");
    let written: Vec<String> = plan.changes().iter().map(|(path, _)| path.display().to_string()).collect();
    let changed = !written.is_empty() || !plan.stale.is_empty() || !plan.has_link();
    if !dry_run {
        plan.carry_out()?;
    }
    let value = json!({
        "bundle": described(&bundle), "signer": signer, "changed": changed, "written": written,
        "notes": plan.notes, "dry_run": dry_run,
    });
    let runs = match (dry_run, changed) {
        (true, _) => "would run",
        (false, true) => "runs",
        (false, false) => "already runs",
    };
    let mut lines = vec![format!("this machine {runs} `{}` {}, signed by `{signer}`", bundle.name, bundle.version)];
    let verb = if dry_run { "would write" } else { "wrote" };
    lines.extend(written.iter().map(|path| format!("{verb} `{path}`")));
    lines.extend(plan.notes.iter().map(|note| format!("note: {note}")));
    io.answer(&value, lines.join("\n"))
}

/// Runs `uninstall --managed`.
pub(super) fn uninstall(given: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let ground = Ground::of(given, io)?;
    let dry_run = given.get_flag("dry-run");
    let there = fs::read_dir(ground.agents()).into_iter().flatten().flatten().map(|item| item.path());
    let own = there.chain(ground.own_files()).chain([ground.link()]);
    let mut gone: Vec<PathBuf> = own.filter(|path| path.symlink_metadata().is_ok()).collect();
    let mut changed: Vec<(PathBuf, String)> = Vec::new();
    for (client, path) in ground.shared_files() {
        let (found, old) = read_settings(&path)?;
        let new = host::unregister(client, &old, None).map_err(|error| unreadable(&path, &error))?;
        match new.split_whitespace().collect::<String>().as_str() {
            _ if new == old => {}
            "{}" | "" => gone.push(found.path),
            _ => changed.push((found.path, new)),
        }
    }
    let opencode = ground.opencode_file();
    gone.extend(Some(opencode).filter(|path| files::read_text(path).is_ok_and(|text| text == ground.opencode())));
    if !dry_run {
        changed.iter().try_for_each(|(path, new)| put(path, new).with_context(|| quote_path(path)))?;
        gone.iter().try_for_each(|path| fs::remove_file(path).with_context(|| quote_path(path)))?;
        for folder in [ground.agents(), ground.folder] {
            let _ = fs::remove_dir(folder);
        }
    }
    let would = if dry_run { "would be " } else { "" };
    let edited: Vec<&PathBuf> = changed.iter().map(|(path, _)| path).collect();
    let mut lines: Vec<String> = gone.iter().map(|path| format!("{would}removed: {}", quote_path(path))).collect();
    lines.extend(edited.iter().map(|path| format!("hooks {would}removed from {}", quote_path(path))));
    lines.extend(lines.is_empty().then(|| "this machine runs no bundle".to_owned()));
    io.answer(&json!({"removed": gone, "edited": edited, "dry_run": dry_run}), lines.join("\n"))
}
