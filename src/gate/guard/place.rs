//! What is protected, and where it is on this machine.

use crate::model::agent::AGENTS;

/// The folders and programs that the guard protects. All paths absolute.
#[derive(Clone, Debug, Default)]
pub struct Protected {
    pub home: String,
    /// Claude Code's configuration folder.
    pub config: String,
    /// Our own user configuration folder.
    pub user_config: String,
    pub project: String,
    /// The running and the registered program.
    pub binaries: Vec<String>,
    /// Processes that must not be killed, as text: the client's.
    pub pids: Vec<String>,
    /// The places above, as the disk names them where that differs.
    pub real: Vec<ProtectedPlace>,
    /// Places that exist; `None` if that was not looked up, and then all may.
    pub standing: Option<Vec<String>>,
}

/// One protected file or folder with a fixed path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectedPlace {
    pub path: String,
    pub what: &'static str,
    /// Everything below it is protected too.
    pub tree: bool,
    /// It lies in the project's own folder.
    pub in_project: bool,
}

pub(super) const SETTINGS: &str = "a settings file that can switch our hooks off";
pub(super) const CONFIGURATION: &str = "our configuration";
pub(super) const SESSIONS: &str = "our record of sessions";
pub(super) const CHECKPOINTS: &str = "where checkpoints are kept";
pub(super) const AGENT: &str = "one of our agents";
pub(super) const BINARY: &str = "our program";
pub(super) const RUNS: &str = "a run's record or packet";
pub(super) const FOLDER: &str = "a folder that holds settings of ours";

impl Protected {
    /// Every place with a fixed path, as configured and as the disk names it.
    pub fn places(&self) -> Vec<ProtectedPlace> {
        let mut all = Vec::with_capacity(24);
        let mut add = |path: String, what, tree| {
            if path.starts_with('/') {
                let in_project = path.strip_prefix(&self.project).is_some_and(|rest| rest.starts_with('/'))
                    && !path.starts_with(&self.config);
                all.push(ProtectedPlace { path, what, tree, in_project });
            }
        };
        for base in [&self.config, &format!("{}/.claude", self.project)] {
            add(format!("{base}/settings.json"), SETTINGS, false);
            add(format!("{base}/settings.local.json"), SETTINGS, false);
        }
        add(format!("{}/.claude.json", self.home), SETTINGS, false);
        add(format!("{}/.claude.json", self.config), SETTINGS, false);
        add(format!("{}/aops", self.config), SESSIONS, true);
        add(format!("{}/projects", self.config), SESSIONS, false);
        add(self.user_config.clone(), CONFIGURATION, true);
        add(format!("{}/.claude/checkpoints", self.project), CHECKPOINTS, true);
        add(format!("{}/.aops", self.project), CONFIGURATION, true);
        add(format!("{}/.aops/config.toml", self.project), CONFIGURATION, true);
        for agent in AGENTS {
            add(format!("{}/agents/{}.md", self.config, agent.name), AGENT, false);
        }
        add(format!("{}/.local/bin/aops-hook", self.home), BINARY, false);
        for binary in &self.binaries {
            add(binary.clone(), BINARY, false);
        }
        all.extend(self.real.iter().cloned());
        all
    }

    /// This place exists, as far as is known.
    pub(super) fn stands(&self, path: &str) -> bool {
        self.standing.as_ref().is_none_or(|standing| standing.iter().any(|known| known == path))
    }
}
