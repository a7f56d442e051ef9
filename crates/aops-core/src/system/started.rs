//! Who started this process, and what the session tells it later.
//!
//! Plain data; `env` reads it.

use super::held_network::HeldNetwork;
use crate::model::profile::Hold;
use crate::model::verdict::KeptFirst;
use aops_shell::verbs::STARTER;
use std::path::PathBuf;
use std::sync::OnceLock;

/// What the client says about itself and about this start of our program.
#[derive(Clone, Debug, Default)]
pub struct ClientEnv {
    /// Its process ID as text; empty if it does not say.
    pub pid: String,
    /// Its own name for itself: `claude-code_2-1-325_harness`.
    pub agent: String,
    /// The session for which it runs us, if it says so.
    pub session: Option<String>,
    /// The folder where its session began; empty outside of hooks.
    pub project: PathBuf,
    /// According to the environment, we are inside one of its tool calls or hooks. `ledger::clients` checks
    /// for a client among our ancestors.
    pub is_around: bool,
    /// A variable says that Claude Code started us, as a hook or in a tool call.
    pub is_claude: bool,
    /// A person sits at it.
    pub attended: bool,
    /// A file with `export` lines that the client sources before later shell calls.
    pub env_file: Option<PathBuf>,
    /// A valid `$TRACEPARENT`: the span in which it runs us.
    pub traceparent: Option<String>,
    /// The program through which it starts shell commands.
    pub shell_prefix: Option<String>,
    /// The project of the session in which this verb was called, as found by our replacement for the shell.
    pub called_in: Option<PathBuf>,
    /// We are registered as a plugin, so our agents' names have its prefix.
    pub is_plugin: bool,
    /// The plugin's folder, according to the client.
    pub plugin_root: Option<PathBuf>,
}

/// Who started us, and what their terminal can show.
#[derive(Clone, Debug, Default)]
pub struct UserEnv {
    /// Who works here, according to `$LOGNAME` or `$USER`. It is a name and proves nothing.
    pub person: Option<String>,
    /// `$AOPS_MODE`: the mode that the person who started the client wants for this session.
    pub mode: Option<String>,
    pub no_color: bool,
    /// The terminal supports no escape sequences: `TERM=dumb`, or no `TERM` at all.
    pub is_dumb: bool,
    /// Of the variables that determine our folders, those that a project's settings set, with that file. They
    /// keep the values with which the client was started.
    pub moved: Vec<(String, PathBuf)>,
}

/// The run to which this process belongs.
#[derive(Clone, Debug, Default)]
pub struct RunEnv {
    /// The environment claims that a run's driver started the client.
    pub claimed: bool,
    /// The run whose driver started us, and its key, which proves it.
    pub proof: Option<(String, String)>,
    /// This process drives runs, and their steps are executed where it starts programs.
    pub is_driving: bool,
}

/// Values that are not in the environment: each is set once, after the session has been read.
#[derive(Clone, Debug, Default)]
pub struct ToldOnce {
    /// What confines the programs that we start on an agent's files, and their network.
    pub hold: OnceLock<Hold>,
    pub network: OnceLock<HeldNetwork>,
    /// The command that will run in a throwaway layer: its jail is made after the answer.
    pub trial: OnceLock<Trial>,
    /// In a dry run: what would be kept before the call.
    pub kept: OnceLock<KeptFirst>,
}

/// A command for a throwaway layer, and what its jail depends on.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The session's folder.
    pub session: PathBuf,
    pub project: PathBuf,
    pub layer_mb: u64,
    pub network: Option<HeldNetwork>,
}

/// The program in this value of the client's variable is ours.
pub fn names_us(value: &str) -> bool {
    let program = value.rsplit_once(" -").map_or(value, |(program, _)| program);
    let program = program.strip_suffix(" shell").unwrap_or(program);
    program.rsplit('/').next() == Some("aops-hook")
}

/// By this value the client starts shell commands through us. Our plain program takes no lines.
pub fn starts_through_us(value: &str) -> bool {
    names_us(value) && [STARTER, " --shell", " shell"].iter().any(|end| value.ends_with(end))
}
