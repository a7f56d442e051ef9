//! Which agents and commands go where: next to the settings they belong to, under names that no foreign file
//! uses.
//!
//! Reads the folders of agents and commands; writes nothing. Invariants: a foreign file is never overwritten,
//! and is no reason to refuse: its name is reported, and our file gets another name.

use super::Level;
use super::receipt::{Receipt, quote_path};
use super::steps::Readers;
use aops_core::config::texts::{self, Kind};
use aops_core::host::claude::settings::{SCRIPT, SCRIPT_PATH};
use aops_core::model::agent::FILE_PREFIX;
use aops_core::observe::foreign_agents::{clashes, rename};
use aops_core::system::env::Env;
use aops_core::system::files;
use aops_core::text::plain::shell_word;
use std::path::{Path, PathBuf};

/// The program in the shipped commands, as the plugin writes it.
const IN_PLUGIN: &str = "${CLAUDE_PLUGIN_ROOT}/bin/aops-hook";

/// One of our files: its place, its text, and who may read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnText {
    pub path: PathBuf,
    pub text: String,
    pub readers: Readers,
}

/// The files that an installation should leave, and the clashes to report.
#[derive(Debug, Default)]
pub struct Placing {
    pub texts: Vec<OwnText>,
    /// Foreign files with our names, as messages for the person.
    pub clashes: Vec<String>,
}

impl Placing {
    pub fn of(env: &Env, level: Level, command: &str, receipt: &Receipt) -> Self {
        let folder = level.folder(env);
        let mut all = Self::default();
        all.agents(env, &folder, receipt);
        let program = if level == Level::Project { SCRIPT_PATH.to_owned() } else { shell_word(command) };
        all.commands(&folder, &program, receipt);
        if level == Level::Project {
            all.texts.push(OwnText {
                path: env.from_here(SCRIPT_PATH.as_ref()),
                text: SCRIPT.to_owned(),
                readers: Readers::Program,
            });
        }
        all
    }

    fn agents(&mut self, env: &Env, folder: &Path, receipt: &Receipt) {
        let taken = clashes(env, &env.cwd, &|path| receipt.placed(path));
        for asset in texts::placed().filter(|asset| asset.kind() == Kind::Agent) {
            let name = asset.id();
            let clash = taken.iter().find(|(known, _)| *known == name).map(|(_, path)| path);
            // A clash elsewhere concerns only that project: in others the bare name is free.
            if clash.is_none_or(|path| !path.starts_with(folder)) {
                self.add(folder.join(asset.path), asset.text.to_owned());
            }
            if let Some(path) = clash {
                let ours = format!("{FILE_PREFIX}{name}");
                self.add(folder.join(format!("agents/{ours}.md")), rename(asset.text, name));
                let file = quote_path(path);
                self.clashes.push(format!(
                    "{file} is another `{name}`: ours is installed as `{ours}`, and only `{ours}` counts"
                ));
            }
        }
    }

    fn commands(&mut self, folder: &Path, program: &str, receipt: &Receipt) {
        for asset in texts::placed().filter(|asset| asset.kind() == Kind::Command) {
            let name = asset.id();
            let text = asset.text.replace(IN_PLUGIN, program);
            let path = folder.join(asset.path);
            if is_free(&path, &text, receipt) {
                self.add(path, text);
                continue;
            }
            let file = quote_path(&path);
            let ours = format!("{FILE_PREFIX}{name}");
            let second = folder.join(format!("commands/{ours}.md"));
            if name.starts_with(FILE_PREFIX) || !is_free(&second, &text, receipt) {
                self.clashes.push(format!("{file} is another `/{name}`: it stays, and ours is left out"));
            } else {
                self.add(second, text);
                self.clashes.push(format!("{file} is another `/{name}`: ours is installed as `/{ours}`"));
            }
        }
    }

    fn add(&mut self, path: PathBuf, text: String) {
        self.texts.push(OwnText { path, text, readers: Readers::Usual });
    }
}

/// Whether there is no file, or it is ours.
fn is_free(path: &Path, text: &str, receipt: &Receipt) -> bool {
    files::find(path)
        .is_ok_and(|found| found.bytes.is_none_or(|bytes| bytes == text.as_bytes() || receipt.placed(path)))
}

/// The program that a project's script would find on this machine.
pub fn found_by_script(env: &Env) -> Option<PathBuf> {
    let fixed = [env.home.join(".local/bin"), env.home.join(".cargo/bin"), PathBuf::from("/usr/local/bin")];
    let fixed = fixed.into_iter().map(|folder| folder.join("aops-hook"));
    let runs = |path: &PathBuf| rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok();
    fixed.into_iter().find(runs).or_else(|| env.on_path("aops-hook"))
}
