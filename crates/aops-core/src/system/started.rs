//! Who started this process, and what the session tells it later.
//!
//! Plain data; `env` reads it.

use super::held_network::HeldNetwork;
use crate::model::profile::Hold;
use crate::model::verdict::KeptFirst;
use std::path::PathBuf;
use std::sync::OnceLock;

/// What the client says about itself and this start of ours.
#[derive(Clone, Debug, Default)]
pub struct ClientEnv {
    /// Its process, as text; empty where it does not say.
    pub pid: String,
    /// What it calls itself: `claude-code_2-1-325_harness`.
    pub agent: String,
    /// The session that it runs this for, where it says so.
    pub session: Option<String>,
    /// Where its session began; empty outside of hooks.
    pub project: PathBuf,
    /// We are inside one of its tool calls or hooks, as the environment says. A client above us is
    /// `ledger::clients`' business.
    pub is_around: bool,
    /// A variable says that Claude Code started us, as a hook or in a tool call.
    pub is_claude: bool,
    /// A person sits at it.
    pub attended: bool,
    /// The file with `export` lines that it sources before later shell calls.
    pub env_file: Option<PathBuf>,
    /// `$TRACEPARENT`, where it is one: the span in which it runs us.
    pub traceparent: Option<String>,
    /// The program through which it starts shell commands.
    pub shell_prefix: Option<String>,
    /// The project of the session in which this verb was called, as the shell in its place found it.
    pub called_in: Option<PathBuf>,
    /// Registered as a plugin: our agents carry its prefix.
    pub is_plugin: bool,
    /// Where that plugin is, as the client says.
    pub plugin_root: Option<PathBuf>,
}

/// Who started us, and what their terminal can show.
#[derive(Clone, Debug, Default)]
pub struct UserEnv {
    /// Who works here, as the system says it to every program: `$LOGNAME`, else `$USER`. It names, and proves
    /// nothing.
    pub person: Option<String>,
    /// `$AOPS_MODE`: the mode that the person who started the client wants for this start.
    pub mode: Option<String>,
    pub no_color: bool,
    /// The terminal knows no escape sequences: `TERM=dumb`, or no `TERM` at all.
    pub is_dumb: bool,
}

/// The run that this process belongs to.
#[derive(Clone, Debug, Default)]
pub struct RunEnv {
    /// The environment claims that a run's driver started the client.
    pub claimed: bool,
    /// The run whose driver started us, and its key, which proves it.
    pub proof: Option<(String, String)>,
    /// This process drives runs, whose steps work where it starts programs.
    pub is_driving: bool,
}

/// What the environment does not say, and the session tells once it is read.
#[derive(Clone, Debug, Default)]
pub struct ToldOnce {
    /// What holds the programs that we start on an agent's files, and their network.
    pub hold: OnceLock<Hold>,
    pub network: OnceLock<HeldNetwork>,
    /// The command that was let go to be tried out: its jail is made after the answer.
    pub trial: OnceLock<Trial>,
    /// In a dry run: what would be kept before the call.
    pub kept: OnceLock<KeptFirst>,
}

/// A command that is tried out, and what its jail depends on.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The session's folder.
    pub session: PathBuf,
    pub project: PathBuf,
    pub layer_mb: u64,
    pub network: Option<HeldNetwork>,
}
